/* f32_tile_template.h - one tile: TILE_ROWS rows by TILE_VECTORS vectors of columns, all of it in
 * registers. Included by f32_tile.c with the two set. */
#define TILE_NAME_(r, v) tile_##r##x##v
#define TILE_NAME(r, v)  TILE_NAME_(r, v)

static void TILE_NAME(TILE_ROWS, TILE_VECTORS)(const sdx_tiles *job, size_t first) {
    const size_t taps = job->taps, depth = job->depth;
    const float *const *rows = job->rows + first * job->row_taps;
    float *out = job->out + first * job->out_stride;
    const float *b = job->panel;
    const ptrdiff_t ahead = job->ahead;
    vf sum[TILE_ROWS][TILE_VECTORS];
    if (job->add) {
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++)
                sum[i][v] = load_columns(out + i * job->out_stride + v * VL, job->columns, v);
    } else {
        SIMD_UNROLL
        for (size_t v = 0; v < TILE_VECTORS; v++) {
            vf start = job->tail.bias ? vf_load(job->tail.bias + v * VL) : vf_set1(0.0f);
            SIMD_UNROLL
            for (size_t i = 0; i < TILE_ROWS; i++) sum[i][v] = start;
        }
    }
    for (size_t t = 0; t < taps; t++) {
        const float *a[TILE_ROWS];
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++) a[i] = rows[i * job->row_taps + t] + job->offset;
#pragma GCC unroll 4
        for (size_t k = 0; k < depth; k++) {
            vf column[TILE_VECTORS];
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++) column[v] = vf_load(b + v * VL);
            SIMD_UNROLL
            for (size_t i = 0; i < TILE_ROWS; i++) {
                const vf x = vf_broadcast(a[i] + k);
                SIMD_UNROLL
                for (size_t v = 0; v < TILE_VECTORS; v++)
                    sum[i][v] = vf_fma(x, column[v], sum[i][v]);
            }
            __builtin_prefetch((const char *)b + ahead, 0, 2);
            b += TILE_VECTORS * VL;
        }
    }
    if (job->finish && job->tail.addend) {
        const float *addend = job->tail.addend + first * job->tail.addend_stride;
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++)
                sum[i][v] += load_columns(addend + i * job->tail.addend_stride + v * VL,
                                          job->columns, v);
    }
    if (job->finish && job->tail.act == SDX_ACT_CLIP) {
        const vf low = vf_set1(job->tail.a), high = vf_set1(job->tail.b);
        SIMD_UNROLL
        for (size_t i = 0; i < TILE_ROWS; i++)
            SIMD_UNROLL
            for (size_t v = 0; v < TILE_VECTORS; v++) sum[i][v] = vf_clip(sum[i][v], low, high);
    }
    SIMD_UNROLL
    for (size_t i = 0; i < TILE_ROWS; i++)
        SIMD_UNROLL
        for (size_t v = 0; v < TILE_VECTORS; v++)
            store_columns(out + i * job->out_stride + v * VL, sum[i][v], job->columns, v);
}

#undef TILE_NAME
#undef TILE_NAME_
#undef TILE_ROWS
