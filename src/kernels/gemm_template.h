/* gemm_template.h - body of gemm.c for one element type T. The includer defines T, MATRIX, NAME
 * (public names) and LOCAL (private names).
 *
 * Packed path: for each block of NC columns and KC of k, B is packed into panels of NR columns;
 * for each block of MC rows, A into panels of MR rows; then every MR x NR tile of the block is
 * one call of the tile kernel. All packing goes to one shared scratch before the tiles begin, so
 * scratch is bounded and does not depend on the number of threads.
 * Skinny path: with a handful of rows packing would cost more than the product; B is streamed. */

/* Two SSE registers, or what the compiler makes of them elsewhere. Aligned like an element, since
 * C and unpacked operands have any alignment. */
typedef T LOCAL(vec) __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
#define LANES (16 / sizeof(T))
#define MR 4
#define NR (2 * LANES)

size_t NAME(gemm_scratch)(size_t m, size_t n, size_t k) {
    size_t kc = min_size(k, SDX_GEMM_KC);
    size_t rows = round_up(min_size(m, SDX_GEMM_MC), MR);
    size_t columns = round_up(min_size(n, SDX_GEMM_NC), NR);
    size_t packed = (rows + columns) * kc;
    size_t skinny = SDX_GEMM_SKINNY * k;
    return (packed > skinny ? packed : skinny) * sizeof(T) + 128;
}

/* ---- packing --------------------------------------------------------------------------------- */

/* `wide` rows of length depth become depth groups of `unit` elements; missing rows are zero. */
static void LOCAL(pack_panel)(const T *from, size_t across, size_t along, size_t wide, size_t unit,
                              size_t depth, T *to) {
    if (wide < unit) memset(to, 0, depth * unit * sizeof(T));
    if (across == 1 && wide == unit) {
        for (size_t p = 0; p < depth; p++)
            memcpy(to + p * unit, from + p * along, unit * sizeof(T));
        return;
    }
    for (size_t i = 0; i < wide; i++) {
        const T *row = from + i * across;
        T *out = to + i;
        for (size_t p = 0; p < depth; p++) out[p * unit] = row[p * along];
    }
}

/* Transposes 4 rows at a time so that each source line is read once and the writes are dense. */
static void LOCAL(pack_rows)(const T *from, size_t across, size_t unit, size_t depth, T *to) {
    for (size_t i = 0; i < unit; i += 4) {
        const T *r0 = from + i * across, *r1 = r0 + across, *r2 = r1 + across, *r3 = r2 + across;
        T *out = to + i;
        for (size_t p = 0; p < depth; p++, out += unit) {
            out[0] = r0[p];
            out[1] = r1[p];
            out[2] = r2[p];
            out[3] = r3[p];
        }
    }
}

typedef struct LOCAL(job) {
    size_t m, n, k;      /* of the block at hand */
    MATRIX a, b;         /* its operands */
    T *c;
    size_t ldc;
    bool accumulate;
    T *packed_a, *packed_b;
    size_t panels_a, panels_b;
    size_t strip, step; /* skinny path: columns of a piece; distance of C's columns */
} LOCAL(job);

static void LOCAL(pack_one)(const T *data, size_t across, size_t along, size_t wide, size_t unit,
                            size_t depth, T *to) {
    if (along == 1 && wide == unit && across != 1)
        LOCAL(pack_rows)(data, across, unit, depth, to);
    else
        LOCAL(pack_panel)(data, across, along, wide, unit, depth, to);
}

/* Panels [begin, end): first those of A, then those of B. */
static void LOCAL(pack_body)(void *arg, size_t begin, size_t end) {
    const LOCAL(job) *job = arg;
    for (size_t i = begin; i < end; i++) {
        if (i < job->panels_a) {
            size_t at = i * MR;
            LOCAL(pack_one)(job->a.data + at * job->a.row, job->a.row, job->a.col,
                            min_size(job->m - at, MR), MR, job->k, job->packed_a + at * job->k);
        } else {
            size_t at = (i - job->panels_a) * NR;
            LOCAL(pack_one)(job->b.data + at * job->b.col, job->b.col, job->b.row,
                            min_size(job->n - at, NR), NR, job->k, job->packed_b + at * job->k);
        }
    }
}

/* ---- tiles ----------------------------------------------------------------------------------- */

#define LOAD(p) (*(const LOCAL(vec) *)(p))
#define STORE(p, v) (*(LOCAL(vec) *)(p) = (v))

/* One MR x NR tile over k; c is written or added to. Four rows by two vectors keep eight sums in
 * registers, which leaves room for the operands in the sixteen that SSE has. */
static void LOCAL(tile)(size_t k, const T *restrict a, const T *restrict b, T *restrict c,
                        size_t ldc, bool accumulate) {
    LOCAL(vec) s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0};
    LOCAL(vec) s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};
    for (size_t p = 0; p < k; p++, a += MR, b += NR) {
        LOCAL(vec) b0 = LOAD(b), b1 = LOAD(b + LANES);
        s00 += a[0] * b0;
        s01 += a[0] * b1;
        s10 += a[1] * b0;
        s11 += a[1] * b1;
        s20 += a[2] * b0;
        s21 += a[2] * b1;
        s30 += a[3] * b0;
        s31 += a[3] * b1;
    }
    T *c1 = c + ldc, *c2 = c1 + ldc, *c3 = c2 + ldc;
    if (accumulate) {
        s00 += LOAD(c), s01 += LOAD(c + LANES);
        s10 += LOAD(c1), s11 += LOAD(c1 + LANES);
        s20 += LOAD(c2), s21 += LOAD(c2 + LANES);
        s30 += LOAD(c3), s31 += LOAD(c3 + LANES);
    }
    STORE(c, s00), STORE(c + LANES, s01);
    STORE(c1, s10), STORE(c1 + LANES, s11);
    STORE(c2, s20), STORE(c2 + LANES, s21);
    STORE(c3, s30), STORE(c3 + LANES, s31);
}

/* A tile that sticks out of C: computed whole, copied in part. */
static void LOCAL(edge_tile)(size_t rows, size_t columns, size_t k, const T *a, const T *b, T *c,
                             size_t ldc, bool accumulate) {
    T whole[MR * NR];
    LOCAL(tile)(k, a, b, whole, NR, false);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            T *at = &c[i * ldc + j];
            *at = accumulate ? *at + whole[i * NR + j] : whole[i * NR + j];
        }
}

/* Tiles [begin, end) of the block, numbered down the columns: a panel of B stays in the first
 * cache while the panels of A pass by. */
static void LOCAL(tile_body)(void *arg, size_t begin, size_t end) {
    const LOCAL(job) *job = arg;
    size_t jp = begin / job->panels_a, ip = begin % job->panels_a;
    for (size_t t = begin; t < end; t++) {
        const T *a = job->packed_a + ip * MR * job->k, *b = job->packed_b + jp * NR * job->k;
        T *c = job->c + ip * MR * job->ldc + jp * NR;
        size_t rows = min_size(job->m - ip * MR, MR), columns = min_size(job->n - jp * NR, NR);
        if (rows == MR && columns == NR)
            LOCAL(tile)(job->k, a, b, c, job->ldc, job->accumulate);
        else
            LOCAL(edge_tile)(rows, columns, job->k, a, b, c, job->ldc, job->accumulate);
        if (++ip == job->panels_a) {
            ip = 0;
            jp++;
        }
    }
}

static void LOCAL(packed_gemm)(sdx_pool *pool, size_t m, size_t n, size_t k, MATRIX a, MATRIX b,
                               T *c, size_t ldc, bool accumulate, T *scratch) {
    for (size_t jc = 0; jc < n; jc += SDX_GEMM_NC)
        for (size_t pc = 0; pc < k; pc += SDX_GEMM_KC)
            for (size_t ic = 0; ic < m; ic += SDX_GEMM_MC) {
                LOCAL(job) job = {.m = min_size(m - ic, SDX_GEMM_MC),
                                  .n = min_size(n - jc, SDX_GEMM_NC),
                                  .k = min_size(k - pc, SDX_GEMM_KC),
                                  .ldc = ldc,
                                  .accumulate = accumulate || pc > 0};
                job.a = (MATRIX){a.data + ic * a.row + pc * a.col, a.row, a.col};
                job.b = (MATRIX){b.data + pc * b.row + jc * b.col, b.row, b.col};
                job.c = c + ic * ldc + jc;
                job.panels_a = (job.m + MR - 1) / MR;
                job.panels_b = (job.n + NR - 1) / NR;
                job.packed_b = scratch;
                job.packed_a = scratch + round_up(job.n, NR) * job.k;
                /* B is packed once for all row blocks. */
                size_t panels = job.panels_a + (ic == 0 ? job.panels_b : 0);
                sdx_parallel_for(pool, panels, PIECE_WORK / 8 / (job.k * NR) + 1,
                                 LOCAL(pack_body), &job);
                sdx_parallel_for(pool, job.panels_a * job.panels_b,
                                 PIECE_WORK / (job.k * MR * NR) + 1, LOCAL(tile_body), &job);
            }
}

/* ---- skinny ---------------------------------------------------------------------------------- */

/* Columns of one pass: the piece of C stays in the first cache while rows of B stream through.
 * Wide enough for long runs in memory, narrow enough for some pieces to share out. */
static size_t LOCAL(strip)(size_t n) {
    size_t wide = round_up(n / 16, 64);
    return wide < 256 ? 256 : min_size(wide, 2048);
}

/* c[j] += sum over 4 rows of B; element j is (((c + a0 b0) + a1 b1) + ...) whatever the strip. */
static void LOCAL(add_rows)(size_t n, const T x[4], const T *restrict b, size_t ldb,
                            T *restrict c) {
    const T *restrict b1 = b + ldb, *restrict b2 = b1 + ldb, *restrict b3 = b2 + ldb;
    T x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
    for (size_t j = 0; j < n; j++)
        c[j] = (c[j] + x0 * b[j]) + x1 * b1[j] + x2 * b2[j] + x3 * b3[j];
}

/* Strips [begin, end) of columns, where rows of B are contiguous. a is m x k, dense. */
static void LOCAL(stream_rows)(void *arg, size_t begin, size_t end) {
    const LOCAL(job) *job = arg;
    for (size_t s = begin; s < end; s++) {
        size_t at = s * job->strip, wide = min_size(job->n - at, job->strip), ldb = job->b.row;
        size_t p = 0;
        const T *b = job->b.data + at;
        T *c = job->c + at;
        for (size_t i = 0; i < job->m && !job->accumulate; i++)
            memset(c + i * job->ldc, 0, wide * sizeof(T));
        for (; p + 4 <= job->k; p += 4)
            for (size_t i = 0; i < job->m; i++)
                LOCAL(add_rows)(wide, job->a.data + i * job->k + p, b + p * ldb, ldb,
                                c + i * job->ldc);
        for (; p < job->k; p++)
            for (size_t i = 0; i < job->m; i++) {
                T x = job->a.data[i * job->k + p];
                T *out = c + i * job->ldc;
                for (size_t j = 0; j < wide; j++) out[j] += x * b[p * ldb + j];
            }
    }
}

static T LOCAL(dot)(size_t k, const T *restrict a, const T *restrict b) {
    LOCAL(vec) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    size_t p = 0;
    for (; p + 4 * LANES <= k; p += 4 * LANES) {
        s0 += LOAD(a + p) * LOAD(b + p);
        s1 += LOAD(a + p + LANES) * LOAD(b + p + LANES);
        s2 += LOAD(a + p + 2 * LANES) * LOAD(b + p + 2 * LANES);
        s3 += LOAD(a + p + 3 * LANES) * LOAD(b + p + 3 * LANES);
    }
    s0 = (s0 + s1) + (s2 + s3);
    T sum = 0;
    for (size_t i = 0; i < LANES; i++) sum += s0[i];
    for (; p < k; p++) sum += a[p] * b[p];
    return sum;
}

/* Columns [begin, end), where columns of B are contiguous. */
static void LOCAL(stream_columns)(void *arg, size_t begin, size_t end) {
    const LOCAL(job) *job = arg;
    size_t step = job->step;
    for (size_t j = begin; j < end; j++)
        for (size_t i = 0; i < job->m; i++) {
            T sum = LOCAL(dot)(job->k, job->a.data + i * job->k, job->b.data + j * job->b.col);
            T *at = &job->c[i * job->ldc + j * step];
            *at = job->accumulate ? *at + sum : sum;
        }
}

/* m rows against a B that is contiguous one way; C's columns lie `step` apart (1 unless the
 * product was turned over). The rows of A are made dense in scratch if they are not. */
static bool LOCAL(skinny_gemm)(sdx_pool *pool, size_t m, size_t n, size_t k, MATRIX a, MATRIX b,
                               T *c, size_t ldc, size_t step, bool accumulate, T *scratch) {
    bool by_rows = b.col == 1 && step == 1 && n > 1, by_columns = b.row == 1;
    if (m > SDX_GEMM_SKINNY || (!by_rows && !by_columns)) return false;
    LOCAL(job) job = {.m = m, .n = n, .k = k, .a = a, .b = b, .c = c, .ldc = ldc,
                      .accumulate = accumulate, .strip = LOCAL(strip)(n), .step = step};
    if (a.col != 1 || (m > 1 && a.row != k)) {
        for (size_t i = 0; i < m; i++)
            for (size_t p = 0; p < k; p++) scratch[i * k + p] = a.data[i * a.row + p * a.col];
        job.a.data = scratch;
    }
    if (by_rows)
        sdx_parallel_for(pool, (n + job.strip - 1) / job.strip,
                         PIECE_WORK / 4 / (m * k * job.strip) + 1, LOCAL(stream_rows), &job);
    else
        sdx_parallel_for(pool, n, PIECE_WORK / 4 / (m * k) + 1, LOCAL(stream_columns), &job);
    return true;
}

/* ---- entry ----------------------------------------------------------------------------------- */

void NAME(gemm_strided)(sdx_pool *pool, size_t m, size_t n, size_t k, MATRIX a, MATRIX b, T *c,
                        size_t ldc, bool accumulate, void *scratch) {
    if (m == 0 || n == 0) return;
    if (k == 0) {
        for (size_t i = 0; i < m && !accumulate; i++) memset(c + i * ldc, 0, n * sizeof(T));
        return;
    }
    if (LOCAL(skinny_gemm)(pool, m, n, k, a, b, c, ldc, 1, accumulate, scratch)) return;
    /* Few columns: the same turned over, C' = B' A', where only dot products serve. */
    MATRIX at = {a.data, a.col, a.row}, bt = {b.data, b.col, b.row};
    if (at.row == 1 &&
        LOCAL(skinny_gemm)(pool, n, m, k, bt, at, c, 1, ldc, accumulate, scratch))
        return;
    LOCAL(packed_gemm)(pool, m, n, k, a, b, c, ldc, accumulate, scratch);
}

void NAME(gemm)(sdx_pool *pool, size_t m, size_t n, size_t k, const T *a, size_t lda, const T *b,
                size_t ldb, T *c, size_t ldc, bool accumulate, void *scratch) {
    NAME(gemm_strided)(pool, m, n, k, (MATRIX){a, lda, 1}, (MATRIX){b, ldb, 1}, c, ldc, accumulate,
                       scratch);
}

#undef LANES
#undef MR
#undef NR
#undef LOAD
#undef STORE
