/* conv_direct_template.h - body of conv_direct.c for one element type T; LOCAL makes the names.
 *
 * An output row is computed in chunks of LANES elements that stay in registers while all taps
 * pass by. The ends of a row, where taps fall outside the image, are done one by one. */

typedef T LOCAL(vec) __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
#define WIDTH (16 / sizeof(T))
#define LANES (4 * WIDTH)
#define LOAD(p) (*(const LOCAL(vec) *)(p))

/* Kernel rows that meet the output row at hand: where they lie in the image and in the kernel. */
typedef struct LOCAL(rows) {
    const T *in[MAX_ROWS], *w[MAX_ROWS];
    size_t count;
} LOCAL(rows);

/* out[0..LANES) += all taps. in points at what tap 0 of out[0] sees. */
static void LOCAL(chunk)(const LOCAL(rows) *rows, int64_t at, int64_t taps, int64_t dilation,
                         T *out) {
    LOCAL(vec) s0 = LOAD(out), s1 = LOAD(out + WIDTH), s2 = LOAD(out + 2 * WIDTH),
               s3 = LOAD(out + 3 * WIDTH);
    for (size_t r = 0; r < rows->count; r++) {
        const T *in = rows->in[r] + at, *w = rows->w[r];
        for (int64_t t = 0; t < taps; t++, in += dilation) {
            T x = w[t];
            s0 += x * LOAD(in);
            s1 += x * LOAD(in + WIDTH);
            s2 += x * LOAD(in + 2 * WIDTH);
            s3 += x * LOAD(in + 3 * WIDTH);
        }
    }
    *(LOCAL(vec) *)out = s0;
    *(LOCAL(vec) *)(out + WIDTH) = s1;
    *(LOCAL(vec) *)(out + 2 * WIDTH) = s2;
    *(LOCAL(vec) *)(out + 3 * WIDTH) = s3;
}

/* The same where neighbours in the output are `stride` apart in the image. */
static void LOCAL(strided_chunk)(const LOCAL(rows) *rows, int64_t at, int64_t taps,
                                 int64_t dilation, int64_t stride, T *out) {
    T sum[LANES];
    memcpy(sum, out, sizeof sum);
    for (size_t r = 0; r < rows->count; r++) {
        const T *in = rows->in[r] + at, *w = rows->w[r];
        for (int64_t t = 0; t < taps; t++, in += dilation)
            if (stride == 2)
                for (size_t i = 0; i < LANES; i++) sum[i] += w[t] * in[2 * i];
            else
                for (size_t i = 0; i < LANES; i++) sum[i] += w[t] * in[(int64_t)i * stride];
    }
    memcpy(out, sum, sizeof sum);
}

static void LOCAL(one)(const sdx_window *window, const LOCAL(rows) *rows, int64_t o, T *out) {
    int32_t last = window->rank - 1;
    int64_t lo, hi, dilation = window->dilation[last];
    sdx_window_taps(window, last, o, 0, 0, &lo, &hi);
    T sum = *out;
    for (size_t r = 0; r < rows->count; r++) {
        const T *in = rows->in[r];
        int64_t at = o * window->stride[last] - window->pad[last];
        for (int64_t t = lo; t < hi; t++) sum += rows->w[r][t] * in[at + t * dilation];
    }
    *out = sum;
}

/* Adds all collected kernel rows to an output row. */
static void LOCAL(row)(const sdx_window *window, const LOCAL(rows) *rows, T *out) {
    int32_t last = window->rank - 1;
    int64_t taps = window->kernel[last], dilation = window->dilation[last];
    int64_t stride = window->stride[last], pad = window->pad[last], lo, hi, skip;
    if (rows->count == 0) return;
    sdx_window_outputs(window, last, 0, &lo, &skip);
    sdx_window_outputs(window, last, taps - 1, &skip, &hi);
    int64_t o = 0;
    for (; o < lo; o++) LOCAL(one)(window, rows, o, out + o);
    for (; o + (int64_t)LANES <= hi; o += (int64_t)LANES)
        if (stride == 1)
            LOCAL(chunk)(rows, o - pad, taps, dilation, out + o);
        else
            LOCAL(strided_chunk)(rows, o * stride - pad, taps, dilation, stride, out + o);
    for (; o < window->out[last]; o++) LOCAL(one)(window, rows, o, out + o);
}

/* Collects the kernel rows that meet the output row at `at`, and adds them. */
static void LOCAL(meet)(const sdx_window *window, const int64_t *at, const T *plane, const T *w,
                        T *out) {
    int32_t outer = window->rank - 1;
    int64_t lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], tap[SDX_MAX_RANK];
    for (int32_t a = 0; a < outer; a++) {
        sdx_window_taps(window, a, at[a], 0, 0, &lo[a], &hi[a]);
        if (lo[a] >= hi[a]) return;
        tap[a] = lo[a];
    }
    LOCAL(rows) rows = {.count = 0};
    for (;;) {
        int64_t from = 0, kernel = 0;
        for (int32_t a = 0; a < outer; a++) {
            int64_t index = at[a] * window->stride[a] + tap[a] * window->dilation[a] -
                            window->pad[a];
            from = (from + index) * window->in[a + 1];
            kernel = (kernel + tap[a]) * window->kernel[a + 1];
        }
        rows.in[rows.count] = plane + from;
        rows.w[rows.count++] = w + kernel;
        int32_t a = outer - 1;
        for (; a >= 0 && ++tap[a] == hi[a]; a--) tap[a] = lo[a];
        if (a < 0 || rows.count == MAX_ROWS) {
            LOCAL(row)(window, &rows, out);
            rows.count = 0;
            if (a < 0) return;
        }
    }
}

/* Output planes [begin, end). */
static void LOCAL(planes)(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    const sdx_window *window = &j->conv->window;
    size_t maps = j->conv->groups * j->conv->out_planes;
    size_t width = (size_t)window->out[window->rank - 1], rows = window->out_count / width;
    for (size_t p = begin; p < end; p++) {
        const T *plane = (const T *)j->x + p / j->conv->out_planes * window->in_count;
        const T *w = (const T *)j->w + p % maps * window->kernel_count;
        T *out = (T *)j->y + p * window->out_count;
        T start = j->bias ? ((const T *)j->bias)[p % maps] : 0;
        int64_t at[SDX_MAX_RANK] = {0};
        for (size_t i = 0; i < window->out_count; i++) out[i] = start;
        for (size_t r = 0; window->in_count > 0 && r < rows; r++, out += width) {
            LOCAL(meet)(window, at, plane, w, out);
            for (int32_t a = window->rank - 2; a >= 0 && ++at[a] == window->out[a]; a--) at[a] = 0;
        }
    }
}

#undef WIDTH
#undef LANES
#undef LOAD
