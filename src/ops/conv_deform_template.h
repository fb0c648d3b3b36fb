/* conv_deform_template.h - patches of conv_deform.c for one element type T, which the includer
 * defines along with LOCAL, the maker of names. */

/* Output planes start as their bias. */
static void LOCAL(start)(const T *bias, size_t planes, size_t count, T *out) {
    for (size_t p = 0; p < planes; p++)
        for (size_t i = 0; i < count; i++) out[p * count + i] = bias ? bias[p] : 0;
}

/* Where a tap of each output position of the block falls: the cell's lower corner and the
 * distance from it, axis by axis. */
typedef struct LOCAL(places) {
    int64_t cell[PLACES]; /* [axis][column] */
    T part[PLACES];
} LOCAL(places);

/* offset points at the first axis's offsets of this tap. */
static void LOCAL(locate)(const job *j, size_t tap, const T *offset, LOCAL(places) *places) {
    const sdx_window *w = &j->conv.window;
    int64_t at[SDX_MAX_RANK], taps[SDX_MAX_RANK];
    size_t column = j->column;
    for (int32_t a = w->rank - 1; a >= 0; a--) {
        at[a] = (int64_t)(column % (size_t)w->out[a]);
        column /= (size_t)w->out[a];
        taps[a] = (int64_t)(tap % (size_t)w->kernel[a]);
        tap /= (size_t)w->kernel[a];
    }
    for (size_t c = 0; c < j->columns; c++) {
        for (int32_t a = 0; a < w->rank; a++) {
            int64_t base = at[a] * w->stride[a] + taps[a] * w->dilation[a] - w->pad[a];
            T where = (T)base + offset[(size_t)a * w->out_count + j->column + c];
            /* What is a whole element away from the image, or not a number, sees nothing of it. */
            if (!(where > -1 && where < (T)w->in[a])) where = -2;
            T cell = (T)floor((double)where);
            places->cell[(size_t)a * j->columns + c] = (int64_t)cell;
            places->part[(size_t)a * j->columns + c] = where - cell;
        }
        for (int32_t a = w->rank - 1; a >= 0 && ++at[a] == w->out[a]; a--) at[a] = 0;
    }
}

/* Index and weight of one corner of every cell; corners outside the image weigh nothing. */
static void LOCAL(corner)(const job *j, const LOCAL(places) *places, size_t corner, const T *mask,
                          int64_t *index, T *weight) {
    const sdx_window *w = &j->conv.window;
    for (size_t c = 0; c < j->columns; c++) {
        int64_t at = 0;
        T product = mask ? mask[c] : 1;
        for (int32_t a = 0; a < w->rank; a++) {
            bool upper = (corner >> a & 1u) != 0;
            int64_t i = places->cell[(size_t)a * j->columns + c] + upper;
            product *= upper ? places->part[(size_t)a * j->columns + c] : 1 - places->part[(size_t)a * j->columns + c];
            if (i < 0 || i >= w->in[a]) {
                product = 0;
                i = 0;
            }
            at = at * w->in[a] + i;
        }
        index[c] = at;
        weight[c] = product;
    }
}

/* (offset group, tap) pairs [begin, end): the rows of their channels. */
static void LOCAL(fill)(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    const sdx_window *w = &j->conv.window;
    size_t taps = w->kernel_count;
    for (size_t pair = begin; pair < end; pair++) {
        LOCAL(places) places;
        size_t tap = pair % taps, first = pair / taps * j->planes_per_offset;
        const T *offset = (const T *)j->offset + pair * (size_t)w->rank * w->out_count;
        LOCAL(locate)(j, tap, offset, &places);
        for (size_t p = first; p < first + j->planes_per_offset; p++)
            memset((T *)j->rows + (p * taps + tap) * j->columns, 0, j->columns * sizeof(T));
        if (w->in_count == 0) continue;
        const T *mask = j->mask ? (const T *)j->mask + pair * w->out_count + j->column : NULL;
        for (size_t k = 0; k < (size_t)1 << w->rank; k++) {
            int64_t index[COLUMNS];
            T weight[COLUMNS];
            LOCAL(corner)(j, &places, k, mask, index, weight);
            for (size_t p = first; p < first + j->planes_per_offset; p++) {
                const T *plane = (const T *)j->x + p * w->in_count;
                T *row = (T *)j->rows + (p * taps + tap) * j->columns;
                for (size_t c = 0; c < j->columns; c++) /* infinities outside must not count */
                    if (weight[c] != 0) row[c] += weight[c] * plane[index[c]];
            }
        }
    }
}
