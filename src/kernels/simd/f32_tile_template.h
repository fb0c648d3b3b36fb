/* f32_tile_template.h - one tile: TILE_ROWS rows by TILE_VECTORS vectors of columns, all of it in
 * registers. Four vectors are two panels side by side. Included by f32_tile.c with the two set. */
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

static void TILE_NAME(TILE_ROWS, TILE_VECTORS)(const sdx_tiles *job, size_t first,
                                                const char *next, size_t step, float *totals) {
    const size_t taps = job->taps, depth = job->depth, stride = job->out_stride;
    const float *const *rows = job->rows + first * job->row_taps;
    float *out = job->out + first * stride;
    const float *addend = job->finish ? job->tail.addend : NULL;
    const float *b = job->panel;
#if TILE_VECTORS == 4
    const size_t pair = job->pair;
#endif
    const bool whole = job->columns >= TILE_VECTORS * VL;
    /* What the chains are added to, and the floats from row to row there. */
    const bool bias_first = sdx_bias_first(job);
    const float *before = bias_first ? NULL : job->tail.bias;
    size_t before_step = 0;
    vf sum[TILE_ROWS][TILE_VECTORS];
    if (addend) addend += first * job->tail.addend_stride;
    if (job->add && whole) {
        before = out;
        before_step = stride;
    } else if (job->add) {
        load_part(job, out, TILE_ROWS, TILE_VECTORS, totals);
        before = totals;
        before_step = TILE_VECTORS * VL;
    }
    SIMD_UNROLL
    for (size_t v = 0; v < TILE_VECTORS; v++) {
        const vf start = bias_first ? vf_load(job->tail.bias + v * VL) : vf_set1(0.0f);
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++) sum[i][v] = start;
    }
    /* A tile of few terms is over before that would tell. */
    if (whole && !bias_first) tile_prefetch(out, stride, TILE_ROWS, TILE_VECTORS);
    if (addend && whole) tile_prefetch(addend, job->tail.addend_stride, TILE_ROWS, TILE_VECTORS);
    const size_t chain = taps > 1 ? sdx_chain_taps(depth) : 1;
    size_t pieces = chain; /* until the chain ends */
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
                pieces = chain - 1;
            }
#pragma GCC unroll 4
            for (size_t k = 0; k < count; k++) {
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
                SIMD_UNROLL
                for (size_t v = 0; v < TILE_VECTORS; v++)
                    if (v * VL % LINE == 0)
                        __builtin_prefetch(next + TILE_AT(v) * sizeof(float), 0, 2);
                next += step;
                b += TILE_STEP;
            }
        }
    }
    TILE_ADD_BEFORE
    if (!whole) {
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++)
                vf_store(totals + (i * TILE_VECTORS + v) * VL, sum[i][v]);
        store_part(job, addend, out, TILE_ROWS, TILE_VECTORS, totals);
        return;
    }
    if (addend)
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++)
                sum[i][v] += vf_load(addend + i * job->tail.addend_stride + v * VL);
    if (job->finish && job->tail.act == SDX_ACT_CLIP) {
        const vf low = vf_set1(job->tail.a), high = vf_set1(job->tail.b);
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++) sum[i][v] = vf_max(low, sum[i][v]);
        if (job->tail.b < __builtin_inff()) /* else it would change nothing: Relu */
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
