/* f32_winograd_template.h - the transforms of one vector of channels of a tile. Included by
 * f32_winograd.c with WINOGRAD_NAME and WINOGRAD_UNROLL set. */

SIMD_INLINE void WINOGRAD_NAME(in)(const sdx_winograd_in *job, size_t channel, const size_t lanes,
                                   const size_t edge, const size_t rows, const size_t columns) {
    vf half[EDGE][EDGE]; /* [row of points][column of pixels] */
    WINOGRAD_UNROLL
    for (size_t x = 0; x < columns; x++) {
        vf d[EDGE], t[EDGE];
        WINOGRAD_UNROLL
        for (size_t y = 0; y < rows; y++)
            d[y] = vf_load_lanes(job->from[y * edge + x] + channel, lanes);
        in_line(edge, rows, d, t);
        WINOGRAD_UNROLL
        for (size_t y = 0; y < rows; y++) half[y][x] = t[y];
    }
    WINOGRAD_UNROLL
    for (size_t y = 0; y < rows; y++) {
        vf t[EDGE];
        float *const *to = job->to + place(y, rows, edge) * edge;
        in_line(edge, columns, half[y], t);
        WINOGRAD_UNROLL
        for (size_t x = 0; x < columns; x++)
            vf_store_lanes(to[place(x, columns, edge)] + channel, t[x], lanes);
    }
}

SIMD_INLINE void WINOGRAD_NAME(out)(const sdx_winograd_out *job, size_t channel,
                                    const size_t lanes, const size_t edge, const size_t rows,
                                    const size_t columns) {
    vf half[EDGE - 2][EDGE]; /* [row of results][column of points] */
    WINOGRAD_UNROLL
    for (size_t x = 0; x < columns; x++) {
        const float *const *from = job->from + place(x, columns, edge);
        vf m[EDGE], t[EDGE - 2];
        WINOGRAD_UNROLL
        for (size_t y = 0; y < rows; y++)
            m[y] = vf_load_lanes(from[place(y, rows, edge) * edge] + channel, lanes);
        out_line(rows, m, t);
        WINOGRAD_UNROLL
        for (size_t y = 0; y < rows - 2; y++) half[y][x] = t[y];
    }
    const vf bias = vf_load_lanes(job->bias + channel, lanes);
    const vf low = vf_set1(job->a), high = vf_set1(job->b);
    WINOGRAD_UNROLL
    for (size_t y = 0; y < rows - 2; y++) {
        vf t[EDGE - 2];
        out_line(columns, half[y], t);
        WINOGRAD_UNROLL
        for (size_t x = 0; x < columns - 2; x++) {
            const size_t at = y * (edge - 2) + x;
            vf sum = t[x] + bias;
            if (job->addend) sum += vf_load_lanes(job->addend[at] + channel, lanes);
            if (job->act == SDX_ACT_CLIP) sum = vf_clip(sum, low, high);
            vf_store_lanes(job->to[at] + channel, sum, lanes);
        }
    }
}

#undef WINOGRAD_NAME
#undef WINOGRAD_UNROLL
