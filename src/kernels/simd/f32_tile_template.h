/* f32_tile_template.h - one tile: TILE_ROWS rows by TILE_VECTORS vectors of columns, all of it in
 * registers. Four vectors are two panels side by side. With TILE_HALF the last vector of the panel is one for
 * two rows (panels.h): its sums of even and odd terms stand side by side, until they are joined where a
 * chain ends. With TILE_SHARED two terms of a row come with one load. Included by f32_tile.c with all of
 * them set.
 * What lies between the sums of one tile and of the next is kept short, since it is hidden only as
 * far as the machine looks ahead: whatever is the same for all tiles of a job is found before. */
#define TILE_NAME_(r, v) tile_##r##x##v
#define TILE_HALF_(r, v) half_##r##x##v
#define TILE_SHARED_(r, v) shared_##r##x##v
#if TILE_HALF
#define TILE_NAME(r, v) TILE_HALF_(r, v)
#define TILE_WHOLE      (TILE_VECTORS - 1) /* vectors of a row */
/* The last vector of results has fewer columns than a vector in any case. */
#define TILE_LOAD(p, v)     ((v) + 1 < TILE_VECTORS ? vf_load(p) : vf_load_n(p, rest))
#define TILE_STORE(p, v, a) ((v) + 1 < TILE_VECTORS ? vf_store(p, a) : vf_store_n(p, a, rest))
#define TILE_JOIN                                                                                 \
    SIMD_UNROLL                                                                                   \
    for (size_t i = 0; i < TILE_ROWS; i++) sum[i][TILE_WHOLE] = vf_join(sum[i][TILE_WHOLE]);
#else
#if TILE_SHARED
#define TILE_NAME(r, v) TILE_SHARED_(r, v)
#else
#define TILE_NAME(r, v) TILE_NAME_(r, v)
#endif
#define TILE_LOAD(p, v)     vf_load(p)
#define TILE_STORE(p, v, a) vf_store(p, a)
#define TILE_JOIN
#endif
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
                sum[i][v] += TILE_LOAD(before + i * before_step + v * VL, v);

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
#if TILE_HALF
    const size_t rest = job->columns - TILE_WHOLE * VL;
#endif
    /* What the chains are added to, and the floats from row to row there. */
    const float *before = run->before;
    size_t before_step = run->before_step;
    vf sum[TILE_ROWS][TILE_VECTORS];
    SIMD_UNROLL
    for (size_t v = 0; v < TILE_VECTORS; v++) {
        vf start = run->start ? TILE_LOAD(run->start + v * VL, v) : vf_set1(0.0f);
#if TILE_HALF
        if (v == TILE_WHOLE) start = vf_spread(start);
#endif
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++) sum[i][v] = start;
    }
    if (TILE_HALF || run->whole) {
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
                TILE_JOIN
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
#if TILE_HALF
            size_t k = 0;
            for (; k + 2 <= count; k += 2, b += (2 * TILE_WHOLE + 1) * VL) {
                vf column[2][TILE_VECTORS];
                SIMD_UNROLL
                for (size_t v = 0; v + 1 < TILE_VECTORS; v++) {
                    column[0][v] = vf_load(b + v * VL);
                    column[1][v] = vf_load(b + (TILE_WHOLE + v) * VL);
                }
                const vf shared = vf_load(b + 2 * TILE_WHOLE * VL);
                SIMD_UNROLL
                for (size_t i = 0; i < TILE_ROWS; i++) {
                    const vf both = vf_broadcast_2(a[i] + k);
                    SIMD_UNROLL
                    for (size_t r = 0; r < 2; r++) {
                        /* The second one is not loaded again: loads would be more than multiply-adds. */
                        const vf x = r ? vf_odd(both) : vf_broadcast(a[i] + k);
                        SIMD_UNROLL
                        for (size_t v = 0; v + 1 < TILE_VECTORS; v++)
                            sum[i][v] = vf_fma(x, column[r][v], sum[i][v]);
                    }
                    sum[i][TILE_WHOLE] = vf_fma(both, shared, sum[i][TILE_WHOLE]);
                }
                SIMD_UNROLL
                for (size_t v = 0; v < 2; v++) __builtin_prefetch(next + v * LINE * sizeof(float));
                next += 2 * fetch;
            }
            if (k < count) {
                const vf shared = vf_load(b + 2 * TILE_WHOLE * VL);
                SIMD_UNROLL
                for (size_t i = 0; i < TILE_ROWS; i++) {
                    const vf x = vf_broadcast(a[i] + k);
                    SIMD_UNROLL
                    for (size_t v = 0; v + 1 < TILE_VECTORS; v++)
                        sum[i][v] = vf_fma(x, vf_load(b + v * VL), sum[i][v]);
                    sum[i][TILE_WHOLE] = vf_fma(vf_broadcast_even(a[i] + k), shared, sum[i][TILE_WHOLE]);
                }
            }
#else
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
                size_t k = k0;
#if TILE_SHARED
                /* A load for each multiply-add holds up processors that do as many of these as of those: one
                 * for two of them, taken apart in registers, but not always, since that is work as well. */
                for (; k + 2 <= k0 + some; k += 2, b += 2 * VL, next += 2 * fetch) {
                    const vf column[2] = {vf_load(b), vf_load(b + VL)};
                    SIMD_UNROLL
                    for (size_t i = 0; i < TILE_ROWS; i++) {
                        const vf both = vf_broadcast_2(a[i] + k);
                        const vf x = i % 3 ? vf_even(both) : vf_broadcast(a[i] + k);
                        sum[i][0] = vf_fma(x, column[0], sum[i][0]);
                        sum[i][0] = vf_fma(vf_odd(both), column[1], sum[i][0]);
                    }
                    __builtin_prefetch(next, 0, 2);
                }
#endif
#pragma GCC unroll 4
                for (; k < k0 + some; k++) {
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
#endif
        }
    }
    TILE_JOIN
    TILE_ADD_BEFORE
    run->next = next;
#if !TILE_HALF
    if (!run->whole) {
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++)
                vf_store(totals + (i * TILE_VECTORS + v) * VL, sum[i][v]);
        store_part(job, run->addend, out, TILE_ROWS, TILE_VECTORS, totals);
        return;
    }
#endif
    if (run->addend)
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++)
                sum[i][v] += TILE_LOAD(run->addend + i * job->tail.addend_stride + v * VL, v);
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
        for (size_t v = 0; v < TILE_VECTORS; v++) TILE_STORE(out + i * stride + v * VL, v, sum[i][v]);
}

#undef TILE_ADD_BEFORE
#undef TILE_JOIN
#undef TILE_LOAD
#undef TILE_STORE
#undef TILE_WHOLE
#undef TILE_HALF_
#undef TILE_SHARED_
#undef TILE_STEP
#undef TILE_AT
#undef TILE_NAME
#undef TILE_NAME_
#undef TILE_ROWS
