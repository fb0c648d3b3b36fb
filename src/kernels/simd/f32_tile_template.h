/* f32_tile_template.h - one tile: TILE_ROWS rows by TILE_VECTORS vectors of columns, all of it in
 * registers. Four vectors are two panels side by side. Included by f32_tile.c with the two set.
 * What lies between the sums of one tile and of the next is kept short, since it is hidden only as
 * far as the machine looks ahead: whatever is the same for all tiles of a job is found before. */
#define TILE_NAME_(r, v) tile_##r##x##v
#define TILE_NAME(r, v)  TILE_NAME_(r, v)
#if TILE_VECTORS == 4
#define TILE_STEP (2 * VL) /* floats of a panel's row */
#define TILE_AT(v) ((v) / 2 * pair + (v) % 2 * VL)
#else
#define TILE_STEP (TILE_VECTORS * VL)
#define TILE_AT(v) ((v) * VL)
#endif
#define TILE_ADD_BEFORE                                                                           \
    if (before)                                                                                   \
        SIMD_UNROLL                                                                               \
        for (size_t i = 0; i < TILE_ROWS; i++)                                                    \
            SIMD_UNROLL                                                                           \
            for (size_t v = 0; v < TILE_VECTORS; v++)                                             \
                sum[i][v] += vf_load(before + i * before_step + v * VL);

static void TILE_NAME(TILE_ROWS, TILE_VECTORS)(const sdx_tiles *job, tile_run *run,
                                                const float *const *rows, float *out) {
    const size_t taps = job->taps, depth = job->depth, stride = job->out_stride;
    float *totals = run->totals;
    const float *b = job->panel;
    const char *next = run->next;
    const size_t fetch = run->fetch;
#if TILE_VECTORS == 4
    const size_t pair = job->pair;
#endif
    /* What the chains are added to, and the floats from row to row there. */
    const float *before = run->before;
    size_t before_step = run->before_step;
    vf sum[TILE_ROWS][TILE_VECTORS];
    SIMD_UNROLL
    for (size_t v = 0; v < TILE_VECTORS; v++) {
        const vf start = run->start ? vf_load(run->start + v * VL) : vf_set1(0.0f);
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++) sum[i][v] = start;
    }
    if (run->whole) {
        /* A tile of few terms is over before that would tell. */
        if (!run->start) tile_prefetch(out, stride, TILE_ROWS, TILE_VECTORS, true);
        if (run->addend)
            tile_prefetch(run->addend, job->tail.addend_stride, TILE_ROWS, TILE_VECTORS, false);
    } else if (job->add) {
        load_part(job, out, TILE_ROWS, TILE_VECTORS, totals);
        before = totals;
        before_step = TILE_VECTORS * VL;
    }
    size_t pieces = run->chain; /* until the chain ends */
    for (size_t t = 0; t < taps; t++) {
        for (size_t from = 0; from < depth; from += SDX_CHAIN) {
            const size_t count = depth - from < SDX_CHAIN ? depth - from : SDX_CHAIN;
            const float *a[TILE_ROWS];
            SIMD_UNROLL
            for (size_t i = 0; i < TILE_ROWS; i++)
                a[i] = rows[i * job->row_taps + t] + job->offset + from;
            if (pieces-- == 0) {
                TILE_ADD_BEFORE
                SIMD_UNROLL
                for (size_t i = 0; i < TILE_ROWS; i++)
                    SIMD_UNROLL
                    for (size_t v = 0; v < TILE_VECTORS; v++) {
                        vf_store(totals + (i * TILE_VECTORS + v) * VL, sum[i][v]);
                        sum[i][v] = vf_set1(0.0f);
                    }
                before = totals;
                before_step = TILE_VECTORS * VL;
                pieces = run->chain - 1;
            }
            for (size_t k0 = 0; k0 < count; k0 += TILE_FETCH) {
                const size_t some = count - k0 < TILE_FETCH ? count - k0 : TILE_FETCH;
                if (!TILE_EACH_ROW) {
                    for (size_t at = 0; at < fetch; at += LINE * sizeof(float)) {
                        __builtin_prefetch(next + at, 0, 2);
#if TILE_VECTORS == 4
                        __builtin_prefetch(next + pair * sizeof(float) + at, 0, 2);
#endif
                    }
                    next += fetch;
                }
#pragma GCC unroll 4
                for (size_t k = k0; k < k0 + some; k++) {
                    vf column[TILE_VECTORS];
                    SIMD_UNROLL
                    for (size_t v = 0; v < TILE_VECTORS; v++) column[v] = vf_load(b + TILE_AT(v));
                    SIMD_UNROLL
                    for (size_t i = 0; i < TILE_ROWS; i++) {
                        const vf x = vf_broadcast(a[i] + k);
                        SIMD_UNROLL
                        for (size_t v = 0; v < TILE_VECTORS; v++)
                            sum[i][v] = vf_fma(x, column[v], sum[i][v]);
                    }
                    if (TILE_EACH_ROW) {
                        SIMD_UNROLL
                        for (size_t v = 0; v < TILE_VECTORS; v++)
                            __builtin_prefetch(next + TILE_AT(v) * sizeof(float), 0, 2);
                        next += fetch;
                    }
                    b += TILE_STEP;
                }
            }
        }
    }
    run->next = next;
    TILE_ADD_BEFORE
    if (!run->whole) {
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++)
                vf_store(totals + (i * TILE_VECTORS + v) * VL, sum[i][v]);
        store_part(job, run->addend, out, TILE_ROWS, TILE_VECTORS, totals);
        return;
    }
    if (run->addend)
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++)
                sum[i][v] += vf_load(run->addend + i * job->tail.addend_stride + v * VL);
    if (run->low) {
        const vf low = vf_set1(job->tail.a);
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++) sum[i][v] = vf_max(low, sum[i][v]);
    }
    if (run->high) {
        const vf high = vf_set1(job->tail.b);
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++) sum[i][v] = vf_min(high, sum[i][v]);
    }
    SIMD_UNROLL
    for (size_t i = 0; i < TILE_ROWS; i++)
        SIMD_UNROLL
        for (size_t v = 0; v < TILE_VECTORS; v++) vf_store(out + i * stride + v * VL, sum[i][v]);
}

#undef TILE_ADD_BEFORE
#undef TILE_STEP
#undef TILE_AT
#undef TILE_NAME
#undef TILE_NAME_
#undef TILE_ROWS
