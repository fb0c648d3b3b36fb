/* conv_direct_template.h - body of conv_direct.c for one element type T; LOCAL makes the names.
 * Output rows are computed in chunks that stay in registers while all taps pass by. */

typedef T LOCAL(vec) __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
#define WIDTH (16 / sizeof(T))
#define LOAD(p) (*(const LOCAL(vec) *)(p))
#define STORE(p, v) (*(LOCAL(vec) *)(p) = (v))

/* Writes a plane into rows without borders: padding is there as zeros, and elements that are a
 * stride apart lie side by side. */
static void LOCAL(spread)(const job *j, const T *plane, T *to) {
    const sdx_window *w = &j->conv->window;
    int32_t last = w->rank - 1;
    int64_t at[SDX_MAX_RANK] = {0}, width = w->in[last], pad = w->pad[last];
    for (size_t r = 0; r < j->rows; r++, to += j->pitch) {
        int64_t from = 0;
        bool inside = true;
        for (int32_t a = 0; a < last; a++) {
            int64_t i = at[a] - w->pad[a];
            inside = inside && i >= 0 && i < w->in[a];
            from = (from + i) * w->in[a + 1];
        }
        for (int32_t a = last - 1; a >= 0 && ++at[a] == j->extent[a]; a--) at[a] = 0;
        if (!inside) {
            memset(to, 0, j->pitch * sizeof(T));
            continue;
        }
        for (int64_t phase = 0; phase < w->stride[last]; phase++) {
            T *out = to + (size_t)phase * j->lane;
            int64_t step = w->stride[last], x = phase - pad, lane = (int64_t)j->lane;
            /* Positions k with 0 <= x + k * step < width. */
            int64_t lo = x >= 0 ? 0 : (-x + step - 1) / step;
            int64_t hi = x >= width ? 0 : (width - x + step - 1) / step;
            lo = lo > lane ? lane : lo;
            hi = hi > lane ? lane : hi < lo ? lo : hi;
            memset(out, 0, (size_t)lo * sizeof(T));
            if (step == 1 && hi > lo)
                memcpy(out + lo, plane + (from + x + lo), (size_t)(hi - lo) * sizeof(T));
            else
                for (int64_t k = lo; k < hi; k++) out[k] = plane[from + x + k * step];
            memset(out + hi, 0, (size_t)(lane - hi) * sizeof(T));
        }
    }
}

/* 4 vectors of outputs whose first tap reads at `in`. */
static void LOCAL(chunk4)(const T *in, const T *w, const size_t *offset, size_t taps, T bias,
                          T *out) {
    LOCAL(vec) s0 = bias - (LOCAL(vec)){0}, s1 = s0, s2 = s0, s3 = s0;
    for (size_t t = 0; t < taps; t++) {
        const T *p = in + offset[t];
        T x = w[t];
        s0 += x * LOAD(p);
        s1 += x * LOAD(p + WIDTH);
        s2 += x * LOAD(p + 2 * WIDTH);
        s3 += x * LOAD(p + 3 * WIDTH);
    }
    STORE(out, s0);
    STORE(out + WIDTH, s1);
    STORE(out + 2 * WIDTH, s2);
    STORE(out + 3 * WIDTH, s3);
}

/* 1 vector; two sums, so that one addition need not wait for the other. */
static LOCAL(vec) LOCAL(chunk1)(const T *in, const T *w, const size_t *offset, size_t taps,
                                T bias) {
    LOCAL(vec) s0 = bias - (LOCAL(vec)){0}, s1 = {0};
    size_t t = 0;
    for (; t + 2 <= taps; t += 2) {
        s0 += w[t] * LOAD(in + offset[t]);
        s1 += w[t + 1] * LOAD(in + offset[t + 1]);
    }
    if (t < taps) s0 += w[t] * LOAD(in + offset[t]);
    return s0 + s1;
}

static void LOCAL(row)(const job *j, const T *in, const T *w, T bias, T *out, size_t width) {
    size_t taps = j->conv->window.kernel_count, o = 0;
    for (; o + 4 * WIDTH <= width; o += 4 * WIDTH) {
        if (taps > 4096 && sdx_watch_work(taps * WIDTH)) return;
        LOCAL(chunk4)(in + o, w, j->offset, taps, bias, out + o);
    }
    if (sdx_watch_work(taps * (width / WIDTH + 1))) return;
    for (; o + WIDTH <= width; o += WIDTH)
        STORE(out + o, LOCAL(chunk1)(in + o, w, j->offset, taps, bias));
    if (o < width) { /* reads past the row's end, where there is room for it */
        LOCAL(vec) rest = LOCAL(chunk1)(in + o, w, j->offset, taps, bias);
        memcpy(out + o, &rest, (width - o) * sizeof(T));
    }
}

/* Output planes [first, end), by way of the piece's memory. */
static void LOCAL(planes)(const job *j, size_t first, size_t end, void *memory) {
    const sdx_conv *conv = j->conv;
    const sdx_window *w = &conv->window;
    size_t maps = conv->groups * conv->out_planes, source = SIZE_MAX;
    size_t width = (size_t)w->out[w->rank - 1], rows = w->out_count / width;
    for (size_t p = first; p < end; p++) {
        if (p / conv->out_planes != source) {
            source = p / conv->out_planes;
            LOCAL(spread)(j, (const T *)j->x + source * w->in_count, memory);
        }
        const T *kernel = (const T *)j->w + p % maps * w->kernel_count;
        T bias = j->bias ? ((const T *)j->bias)[p % maps] : 0;
        T *out = (T *)j->y + p * w->out_count;
        int64_t at[SDX_MAX_RANK] = {0};
        for (size_t r = 0; r < rows && !sdx_watch_work(0); r++, out += width) {
            int64_t row = 0;
            for (int32_t a = 0; a < w->rank - 1; a++)
                row = row * j->extent[a] + at[a] * w->stride[a];
            LOCAL(row)(j, (const T *)memory + (size_t)row * j->pitch, kernel, bias, out, width);
            for (int32_t a = w->rank - 2; a >= 0 && ++at[a] == w->out[a]; a--) at[a] = 0;
        }
    }
}

#undef WIDTH
#undef LOAD
#undef STORE
