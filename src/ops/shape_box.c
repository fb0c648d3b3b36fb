/* shape_box.c - the strided copy under every operator that rearranges data. A box is reduced
 * first (axes of size 1 dropped, axes that continue each other joined, a short contiguous last
 * axis taken as one bigger element); what is left is either one block of bytes, a set of equally
 * long strided rows, or a stack of matrix transpositions, which go in tiles. Work is cut into
 * pieces over all axes, so that a single long axis runs in parallel too. */
#include "kernels/kernels.h"
#include "ops/movement.h"

#define PIECE_BYTES ((size_t)1 << 16) /* about what one piece of parallel work moves */
#define TILE        16                /* elements across that a strip of transposition takes */

typedef struct box_job {
    /* The nest over pieces, in bytes. The last axis counts pieces of `chunk` rounds of the row. */
    int32_t rank;
    int64_t size[SDX_BOX_RANK], from[SDX_BOX_RANK], to[SDX_BOX_RANK];
    const char *source;
    char *target;
    size_t unit;
    int64_t length, chunk;               /* rounds of the row, and of a piece of it */
    int64_t row_from, row_to;            /* steps along the row */
    int64_t cross, cross_from, cross_to; /* transposition: the other axis */
    void (*move)(const struct box_job *job, const char *from, char *to, int64_t count);
} box_job;

typedef struct pair {
    uint64_t low, high;
} pair;

/* Rows: elements are read and written through memcpy of a fixed size, which is one instruction
 * and asks for no alignment (joined elements may have less than their size). */
#define DEFINE_ROW(name, fill, type)                                                               \
    static void fill(const char *from, char *to, int64_t count) {                                  \
        type element;                                                                              \
        memcpy(&element, from, sizeof element);                                                    \
        for (int64_t i = 0; i < count; ++i)                                                        \
            memcpy(to + i * (int64_t)sizeof(type), &element, sizeof element);                      \
    }                                                                                              \
    static void name(const box_job *job, const char *from, char *to, int64_t count) {              \
        const int64_t row_from = job->row_from, row_to = job->row_to;                              \
        type element;                                                                              \
        if (row_from == 0 && row_to == (int64_t)sizeof(type)) {                                    \
            fill(from, to, count);                                                                 \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < count; ++i) {                                                      \
            memcpy(&element, from + i * row_from, sizeof element);                                 \
            memcpy(to + i * row_to, &element, sizeof element);                                     \
        }                                                                                          \
    }
DEFINE_ROW(row_1, fill_1, uint8_t)
DEFINE_ROW(row_2, fill_2, uint16_t)
DEFINE_ROW(row_4, fill_4, uint32_t)
DEFINE_ROW(row_8, fill_8, uint64_t)
DEFINE_ROW(row_16, fill_16, pair)

static void row_blocks(const box_job *job, const char *from, char *to, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        memcpy(to + i * job->row_to, from + i * job->row_from, job->unit);
}

/* Transpositions: the row runs along the source's contiguous axis, `cross` along the target's.
 * Square blocks go through vector registers: zipping the rows of a block, first half with second,
 * as often as it takes to halve the block to one row, turns it over. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLE 1
#endif
#endif
#if defined(HAVE_SHUFFLE)
#define DEFINE_BLOCK(name, type, lanes, LOW, HIGH)                                                 \
    typedef type name##_vector __attribute__((vector_size(16)));                                   \
    static inline void name(const char *from, int64_t from_step, char *to, int64_t to_step) {      \
        name##_vector a[lanes], b[lanes];                                                          \
        for (int i = 0; i < lanes; ++i) memcpy(&a[i], from + i * from_step, sizeof a[i]);          \
        for (int zips = 1; zips < lanes; zips *= 2) {                                              \
            for (int i = 0; i < lanes / 2; ++i) {                                                  \
                b[2 * i] = __builtin_shufflevector(a[i], a[i + lanes / 2], LOW);                   \
                b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + lanes / 2], HIGH);              \
            }                                                                                      \
            for (int i = 0; i < lanes; ++i) a[i] = b[i];                                           \
        }                                                                                          \
        for (int i = 0; i < lanes; ++i) memcpy(to + i * to_step, &a[i], sizeof a[i]);              \
    }
#else
#define DEFINE_BLOCK(name, type, lanes, LOW, HIGH)                                                 \
    static inline void name(const char *from, int64_t from_step, char *to, int64_t to_step) {      \
        for (int i = 0; i < lanes; ++i)                                                            \
            for (int k = 0; k < lanes; ++k)                                                        \
                memcpy(to + i * to_step + k * (int64_t)sizeof(type),                               \
                       from + k * from_step + i * (int64_t)sizeof(type), sizeof(type));            \
    }
#endif
#define LOW_1  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_1 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_2  0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_2 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_4  0, 4, 1, 5
#define HIGH_4 2, 6, 3, 7
#define LOW_8  0, 2
#define HIGH_8 1, 3
DEFINE_BLOCK(block_1, uint8_t, 16, LOW_1, HIGH_1)
DEFINE_BLOCK(block_2, uint16_t, 8, LOW_2, HIGH_2)
DEFINE_BLOCK(block_4, uint32_t, 4, LOW_4, HIGH_4)
DEFINE_BLOCK(block_8, uint64_t, 2, LOW_8, HIGH_8)

static inline void block_16(const char *from, int64_t from_step, char *to, int64_t to_step) {
    (void)from_step, (void)to_step;
    memcpy(to, from, 16);
}

#define DEFINE_TURN(name, size, lanes, block)                                                      \
    static void name##_edge(const box_job *job, const char *from, char *to, int64_t r0,            \
                            int64_t r1, int64_t c0, int64_t c1) {                                  \
        for (int64_t r = r0; r < r1; ++r)                                                          \
            for (int64_t c = c0; c < c1; ++c)                                                      \
                memcpy(to + r * job->row_to + c * size, from + c * job->cross_from + r * size,     \
                       size);                                                                      \
    }                                                                                              \
    static void name(const box_job *job, const char *from, char *to, int64_t count) {              \
        const int64_t rows = count - count % lanes, crosses = job->cross - job->cross % lanes;     \
        for (int64_t c0 = 0; c0 < crosses; c0 += TILE) {                                           \
            const int64_t c1 = c0 + TILE < crosses ? c0 + TILE : crosses;                          \
            for (int64_t r = 0; r < rows; r += lanes)                                              \
                for (int64_t c = c0; c < c1; c += lanes)                                           \
                    block(from + c * job->cross_from + r * size, job->cross_from,                  \
                          to + r * job->row_to + c * size, job->row_to);                           \
        }                                                                                          \
        name##_edge(job, from, to, 0, rows, crosses, job->cross);                                  \
        name##_edge(job, from, to, rows, count, 0, job->cross);                                    \
    }
DEFINE_TURN(turn_1, 1, 16, block_1)
DEFINE_TURN(turn_2, 2, 8, block_2)
DEFINE_TURN(turn_any_4, 4, 4, block_4)
DEFINE_TURN(turn_8, 8, 2, block_8)
DEFINE_TURN(turn_16, 16, 1, block_16)

/* Four bytes have a kernel for each instruction set, which takes whole elements as steps. */
static void turn_4(const box_job *job, const char *from, char *to, int64_t count) {
    if (((uintptr_t)from | (uintptr_t)to | (uintptr_t)job->cross_from | (uintptr_t)job->row_to) %
        4 != 0) {
        turn_any_4(job, from, to, count);
        return;
    }
    SDX_KERNEL_OF(sdx_kernels_get(), f32_transpose)((const float *)(const void *)from,
                                     (ptrdiff_t)(job->cross_from / 4), (float *)(void *)to,
                                     (ptrdiff_t)(job->row_to / 4), (size_t)job->cross,
                                     (size_t)count);
}

/* The same where the source's contiguous axis is short, as channels may be: the row then runs along
 * the target's, and `cross` along the source's, so that there is something to cut into pieces. */
static void across_4(const box_job *job, const char *from, char *to, int64_t count) {
    if (((uintptr_t)from | (uintptr_t)to | (uintptr_t)job->row_from | (uintptr_t)job->cross_to) %
        4 == 0) {
        SDX_KERNEL_OF(sdx_kernels_get(), f32_transpose)((const float *)(const void *)from,
                                         (ptrdiff_t)(job->row_from / 4), (float *)(void *)to,
                                         (ptrdiff_t)(job->cross_to / 4), (size_t)count,
                                         (size_t)job->cross);
        return;
    }
    for (int64_t c = 0; c < job->cross; ++c)
        for (int64_t r = 0; r < count; ++r)
            memcpy(to + c * job->cross_to + r * 4, from + r * job->row_from + c * 4, 4);
}

static void run_pieces(void *arg, size_t begin, size_t end) {
    const box_job *job = arg;
    const int32_t last = job->rank - 1;
    int64_t index[SDX_BOX_RANK], from = 0, to = 0;
    size_t rest = begin;
    for (int32_t i = last; i >= 0; --i) {
        index[i] = (int64_t)(rest % (size_t)job->size[i]);
        rest /= (size_t)job->size[i];
        from += index[i] * job->from[i];
        to += index[i] * job->to[i];
    }
    for (size_t piece = begin; piece < end; ++piece) {
        const int64_t left = job->length - index[last] * job->chunk;
        job->move(job, job->source + from, job->target + to, left < job->chunk ? left : job->chunk);
        for (int32_t i = last; i >= 0; --i) {
            from += job->from[i];
            to += job->to[i];
            if (++index[i] < job->size[i]) break;
            from -= job->size[i] * job->from[i];
            to -= job->size[i] * job->to[i];
            index[i] = 0;
        }
    }
}

/* Takes the box over in bytes, without axes of size 1 and with continuing axes joined. False when
 * there is nothing to copy. */
static bool reduce(const sdx_box *box, size_t unit, box_job *job) {
    job->rank = 0;
    for (int32_t i = 0; i < box->rank; ++i)
        if (box->size[i] <= 0) return false;
    for (int32_t i = 0; i < box->rank; ++i) {
        if (box->size[i] == 1) continue;
        const int64_t from = box->from[i] * (int64_t)unit, to = box->to[i] * (int64_t)unit;
        const int32_t p = job->rank - 1;
        if (p >= 0 && job->from[p] == from * box->size[i] && job->to[p] == to * box->size[i]) {
            job->size[p] *= box->size[i];
            job->from[p] = from;
            job->to[p] = to;
            continue;
        }
        job->size[p + 1] = box->size[i];
        job->from[p + 1] = from;
        job->to[p + 1] = to;
        ++job->rank;
    }
    return true;
}

static void remove_axis(box_job *job, int32_t axis) {
    for (int32_t i = axis; i + 1 < job->rank; ++i) {
        job->size[i] = job->size[i + 1];
        job->from[i] = job->from[i + 1];
        job->to[i] = job->to[i + 1];
    }
    --job->rank;
}

/* The axis becomes the row: it leaves the nest and comes back as its innermost axis of pieces. */
static void take_row(box_job *job, int32_t axis, size_t bytes_per_round, int64_t least) {
    int64_t chunk = (int64_t)(PIECE_BYTES / bytes_per_round);
    const int64_t length = job->size[axis], from = job->from[axis], to = job->to[axis];
    remove_axis(job, axis);
    job->length = length;
    job->row_from = from;
    job->row_to = to;
    if (chunk < least) chunk = least;
    if (chunk > 16) chunk &= ~(int64_t)15; /* whole blocks of a transposition */
    job->chunk = chunk < length ? chunk : length;
    const int32_t last = job->rank++;
    job->size[last] = (length + job->chunk - 1) / job->chunk;
    job->from[last] = job->chunk * from;
    job->to[last] = job->chunk * to;
}

/* Axis whose elements lie side by side in the source while the last axis' do in the target. */
static int32_t find_turn(const box_job *job) {
    const int32_t last = job->rank - 1;
    if (job->to[last] != (int64_t)job->unit || job->from[last] == 0) return -1;
    for (int32_t i = last - 1; i >= 0; --i)
        if (job->from[i] == (int64_t)job->unit) return i;
    return -1;
}

static void choose(box_job *job) {
    static const struct {
        size_t unit;
        void (*row)(const struct box_job *, const char *, char *, int64_t);
        void (*turn)(const struct box_job *, const char *, char *, int64_t);
    } table[] = {{1, row_1, turn_1},
                 {2, row_2, turn_2},
                 {4, row_4, turn_4},
                 {8, row_8, turn_8},
                 {16, row_16, turn_16}};
    job->move = row_blocks;
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
        if (table[i].unit != job->unit) continue;
        const int32_t axis = find_turn(job);
        if (axis >= 0) {
            const int32_t last = job->rank - 1;
            if (job->unit == 4 && job->size[axis] <= TILE && job->size[last] > 4 * TILE) {
                job->move = across_4;
                job->cross = job->size[axis];
                job->cross_from = job->from[axis];
                job->cross_to = job->to[axis];
                remove_axis(job, axis);
                take_row(job, last - 1, job->unit * (size_t)job->cross, 2 * TILE);
                return;
            }
            job->move = table[i].turn;
            job->cross = job->size[last];
            job->cross_from = job->from[last];
            job->cross_to = job->to[last];
            --job->rank;
            take_row(job, axis, job->unit * (size_t)job->cross, 2 * TILE);
            return;
        }
        job->move = table[i].row;
    }
    take_row(job, job->rank - 1, job->unit, 1);
}

void sdx_box_copy(const sdx_box *box, size_t unit, const void *from, void *to, sdx_pool *pool) {
    box_job job;
    if (!reduce(box, unit, &job)) return;
    job.unit = unit;
    job.source = from;
    job.target = to;
    const int32_t last = job.rank - 1;
    if (last >= 0 && job.from[last] == (int64_t)unit && job.to[last] == (int64_t)unit) {
        job.unit = unit * (size_t)job.size[last];
        --job.rank;
    }
    if (job.rank == 0) {
        sdx_move_bytes(from, to, job.unit, pool);
        return;
    }
    job.cross = 1;
    choose(&job);
    size_t pieces = 1;
    for (int32_t i = 0; i < job.rank; ++i) pieces *= (size_t)job.size[i];
    const size_t bytes = (size_t)(job.chunk * job.cross) * job.unit;
    sdx_parallel_for(pool, pieces, 1 + PIECE_BYTES / bytes, run_pieces, &job);
}

/* ---- bytes and fills ------------------------------------------------------------------------ */

typedef struct bytes_job {
    const char *from;
    char *to;
    size_t bytes;
} bytes_job;

static void copy_pieces(void *arg, size_t begin, size_t end) {
    const bytes_job *job = arg;
    const size_t first = begin * PIECE_BYTES;
    const size_t stop = end * PIECE_BYTES < job->bytes ? end * PIECE_BYTES : job->bytes;
    memcpy(job->to + first, job->from + first, stop - first);
}

void sdx_move_bytes(const void *from, void *to, size_t bytes, sdx_pool *pool) {
    if (bytes == 0 || from == to) return;
    if (bytes <= PIECE_BYTES) {
        memcpy(to, from, bytes);
        return;
    }
    bytes_job job = {from, to, bytes};
    sdx_parallel_for(pool, (bytes - 1) / PIECE_BYTES + 1, 4, copy_pieces, &job);
}

void sdx_fill_row(void *to, const void *element, size_t unit, size_t count) {
    switch (unit) {
    case 1: fill_1(element, to, (int64_t)count); break;
    case 2: fill_2(element, to, (int64_t)count); break;
    case 4: fill_4(element, to, (int64_t)count); break;
    case 8: fill_8(element, to, (int64_t)count); break;
    default: fill_16(element, to, (int64_t)count); break;
    }
}

void sdx_move_fill(void *to, const void *element, size_t unit, size_t count, sdx_pool *pool) {
    sdx_box box = {0};
    sdx_box_add(&box, (int64_t)count, 0, 1);
    sdx_box_copy(&box, unit, element, to, pool);
}
