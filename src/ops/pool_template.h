/* pool_template.h - a pool over planes for one kind and element type. The includer defines T,
 * LOCAL (names), START, STEP(result, element), PREPARE (constants for STEP, from `job`) and
 * FINISH(row, width) (may use `job`, `w` and `at`).
 *
 * An output row is built tap by tap: each tap adds a stretch of an input row, which vectorises for
 * the strides that occur. */

/* Adds one tap of the innermost axis, over input row `in`, to output row `out`. */
static void LOCAL(tap)(const sdx_pool_job *job, int64_t tap, const T *restrict in,
                       T *restrict out) {
    const sdx_window *w = &job->window;
    PREPARE
    int32_t last = w->rank - 1;
    int64_t lo, hi, stride = w->stride[last];
    sdx_window_outputs(w, last, tap, &lo, &hi);
    if (lo >= hi) return;
    const T *from = in + (lo * stride + tap * w->dilation[last] - w->pad[last]);
    int64_t n = hi - lo;
    out += lo;
    if (stride == 1)
        for (int64_t i = 0; i < n; i++) out[i] = (T)STEP(out[i], from[i]);
    else if (stride == 2)
        for (int64_t i = 0; i < n; i++) out[i] = (T)STEP(out[i], from[2 * i]);
    else
        for (int64_t i = 0; i < n; i++) out[i] = (T)STEP(out[i], from[i * stride]);
}

/* The same for all taps at once, output by output: for windows that are mostly padding. */
static void LOCAL(outputs)(const sdx_pool_job *job, const T *restrict in, T *restrict out) {
    const sdx_window *w = &job->window;
    PREPARE
    int32_t last = w->rank - 1;
    for (int64_t o = 0; o < w->out[last]; o++) {
        int64_t lo, hi, at = o * w->stride[last] - w->pad[last];
        sdx_window_taps(w, last, o, 0, 0, &lo, &hi);
        if (hi - lo > SDX_WORTH_WATCHING && sdx_watch_work((size_t)(hi - lo))) return;
        for (int64_t t = lo; t < hi; t++)
            out[o] = (T)STEP(out[o], in[at + t * w->dilation[last]]);
    }
}

/* The output row at `at` (outer axes), from a plane. */
static void LOCAL(row)(const sdx_pool_job *job, const int64_t *at, const T *plane, T *out) {
    const sdx_window *w = &job->window;
    PREPARE
    int32_t outer = w->rank - 1;
    int64_t lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], tap[SDX_MAX_RANK], first, last;
    bool any = w->in_count > 0;
    for (int64_t o = 0; o < w->out[outer]; o++) out[o] = START;
    for (int32_t a = 0; a < outer; a++) {
        sdx_window_taps(w, a, at[a], 0, 0, &lo[a], &hi[a]);
        tap[a] = lo[a];
        any = any && lo[a] < hi[a];
    }
    sdx_window_used_taps(w, outer, &first, &last);
    while (any) {
        int64_t from = 0;
        for (int32_t a = 0; a < outer; a++)
            from = (from + at[a] * w->stride[a] + tap[a] * w->dilation[a] - w->pad[a]) *
                   w->in[a + 1];
        if (last - first > 2 * w->in[outer] + 16)
            LOCAL(outputs)(job, plane + from, out);
        else
            for (int64_t t = first; t < last; t++) {
                if (w->out[outer] > SDX_WORTH_WATCHING && sdx_watch_work((size_t)w->out[outer])) return;
                LOCAL(tap)(job, t, plane + from, out);
            }
        if (sdx_watch_work((size_t)(last - first) * (size_t)w->out[outer] / 4)) return;
        int32_t a = outer - 1;
        for (; a >= 0 && ++tap[a] == hi[a]; a--) tap[a] = lo[a];
        any = a >= 0;
    }
    FINISH(out, w->out[outer])
}

static void LOCAL(planes)(void *arg, size_t begin, size_t end) {
    const sdx_pool_job *job = arg;
    const sdx_window *w = &job->window;
    size_t width = (size_t)w->out[w->rank - 1], rows = w->out_count / width;
    for (size_t p = begin; p < end; p++) {
        const T *plane = (const T *)job->x + p * w->in_count;
        T *out = (T *)job->y + p * w->out_count;
        int64_t at[SDX_MAX_RANK] = {0};
        for (size_t r = 0; r < rows && !sdx_watch_work(0); r++, out += width) {
            LOCAL(row)(job, at, plane, out);
            for (int32_t a = w->rank - 2; a >= 0 && ++at[a] == w->out[a]; a--) at[a] = 0;
        }
    }
}
