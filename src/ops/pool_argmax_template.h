/* pool_argmax_template.h - MaxPool with indices for one element type T. LOCAL makes the names,
 * START is that of pool_template.h, BETTER(best, v) says whether v is to replace best. One output
 * element at a time; of equal maxima the first counts. A window without any element gets index
 * -1. */

static void LOCAL(argmax_one)(const sdx_pool_job *job, const int64_t *at, const T *plane, T *best,
                              int64_t *best_index) {
    const sdx_window *w = &job->window;
    int32_t last = w->rank - 1;
    int64_t lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], tap[SDX_MAX_RANK];
    *best = START;
    *best_index = -1;
    for (int32_t a = 0; a < w->rank; a++) {
        sdx_window_taps(w, a, at[a], 0, 0, &lo[a], &hi[a]);
        tap[a] = lo[a];
        if (lo[a] >= hi[a]) return;
    }
    for (;;) {
        int64_t from = 0;
        for (int32_t a = 0; a < last; a++)
            from = (from + at[a] * w->stride[a] + tap[a] * w->dilation[a] - w->pad[a]) *
                   w->in[a + 1];
        from += at[last] * w->stride[last] - w->pad[last];
        if (sdx_watch_work((size_t)(hi[last] - lo[last]))) return;
        for (int64_t t = lo[last]; t < hi[last]; t++) {
            int64_t i = from + t * w->dilation[last];
            T v = plane[i];
            if (*best_index < 0 || BETTER(*best, v)) {
                *best = v;
                *best_index = i;
            }
        }
        int32_t a = last - 1;
        for (; a >= 0 && ++tap[a] == hi[a]; a--) tap[a] = lo[a];
        if (a < 0) break;
    }
    if (job->params->column_major) *best_index = column_major(w, *best_index);
}

static void LOCAL(argmax)(void *arg, size_t begin, size_t end) {
    const sdx_pool_job *job = arg;
    const sdx_window *w = &job->window;
    for (size_t p = begin; p < end; p++) {
        const T *plane = (const T *)job->x + p * w->in_count;
        int64_t at[SDX_MAX_RANK] = {0};
        for (size_t i = p * w->out_count; i < (p + 1) * w->out_count && !sdx_watch_work(0); i++) {
            T best;
            LOCAL(argmax_one)(job, at, plane, &best, &job->indices[i]);
            if (job->indices[i] >= 0) job->indices[i] += (int64_t)(p * w->in_count);
            if (job->y) ((T *)job->y)[i] = best;
            for (int32_t a = w->rank - 1; a >= 0 && ++at[a] == w->out[a]; a--) at[a] = 0;
        }
    }
}
