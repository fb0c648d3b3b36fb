/* elementwise.c - the walk over broadcast operands that the whole elementwise family runs on (see
 * elementwise.h). Dims are merged where every operand allows it; what is left is cut into tiles of
 * whole rows, so "same shape", "one scalar", "row vector" and "per channel" all end in long plain
 * inner loops, and no element ever costs an index division. */
#include "ops/elementwise.h"

#include "kernels/kernels.h"

/* ---- building ------------------------------------------------------------------------------ */

void sdx_ew_begin(sdx_ew *ew, const sdx_tensor *out) {
    memset(ew, 0, sizeof *ew);
    ew->out = out->data;
    ew->out_type = ew->out_compute = out->dtype;
    ew->out_size = sdx_dtype_size(out->dtype);
    ew->rank = out->rank;
    ew->count = out->count;
    for (int32_t d = 0; d < out->rank; d++) ew->dims[d] = (size_t)out->dims[d];
}

void sdx_ew_operand_at(sdx_ew *ew, const sdx_tensor *in, int32_t axis) {
    const uint32_t k = ew->inputs++;
    if (!in) return; /* in[k] stays NULL: the kernel looks */
    ew->in[k] = in->data;
    ew->in_type[k] = ew->in_compute[k] = in->dtype;
    ew->in_size[k] = sdx_dtype_size(in->dtype);
    if (in->count == 1) return; /* stays put, whatever its rank */
    size_t step = 1;
    for (int32_t d = in->rank - 1; d >= 0; d--) {
        if (in->dims[d] != 1) ew->stride[k][d + axis] = step;
        step *= (size_t)in->dims[d];
    }
}

void sdx_ew_operand(sdx_ew *ew, const sdx_tensor *in) {
    sdx_ew_operand_at(ew, in, in ? ew->rank - in->rank : 0);
}

/* Whether dims d and d + 1 are one to operand k: it stays put along both or runs through both. */
static bool joins(const sdx_ew *ew, uint32_t k, int32_t d) {
    return ew->stride[k][d] == ew->stride[k][d + 1] * ew->dims[d + 1];
}

void sdx_ew_collapse(sdx_ew *ew) {
    const uint32_t first = ew->accumulates ? 1 : 0;
    int32_t kept = 0;
    for (int32_t d = 0; d < ew->rank; d++) {
        if (ew->dims[d] == 1) continue;
        ew->dims[kept] = ew->dims[d];
        for (uint32_t k = first; k < ew->inputs; k++) ew->stride[k][kept] = ew->stride[k][d];
        kept++;
    }
    if (kept == 0) {
        ew->dims[0] = 1;
        for (uint32_t k = first; k < ew->inputs; k++) ew->stride[k][0] = 0;
        kept = 1;
    }
    for (int32_t d = kept - 2; d >= 0; d--) {
        bool all = true;
        for (uint32_t k = first; k < ew->inputs && all; k++) all = joins(ew, k, d);
        if (!all) continue;
        for (int32_t e = d; e + 1 < kept; e++) {
            ew->dims[e] = e == d ? ew->dims[d] * ew->dims[d + 1] : ew->dims[e + 1];
            for (uint32_t k = first; k < ew->inputs; k++) ew->stride[k][e] = ew->stride[k][e + 1];
        }
        kept--;
    }
    ew->rank = kept;
    if (ew->accumulates) { /* operand 0 is the output, in the kernel's type already */
        ew->in_type[0] = ew->in_compute[0] = ew->out_type;
        ew->in_size[0] = ew->out_size;
    }
    ew->converts = ew->out_type != ew->out_compute;
    for (uint32_t k = first; k < ew->inputs; k++)
        if (ew->in[k] && ew->in_type[k] != ew->in_compute[k]) ew->converts = true;
}

/* ---- walking ------------------------------------------------------------------------------- */

/* A tile whose operands are not in the kernel's types: block by block through the stack. */
static void convert_tile(const sdx_ew *ew, const sdx_tile *t) {
    _Alignas(64) unsigned char in[SDX_EW_INPUTS][SDX_EW_BLOCK * 8];
    _Alignas(64) unsigned char result[SDX_EW_BLOCK * 8];
    const bool out_direct = ew->out_type == ew->out_compute;
    for (size_t r = 0; r < t->rows; r++) {
        for (size_t begin = 0; begin < t->n; begin += SDX_EW_BLOCK) {
            const size_t n = t->n - begin < SDX_EW_BLOCK ? t->n - begin : SDX_EW_BLOCK;
            sdx_tile block = {.rows = 1, .n = n, .params = t->params};
            for (uint32_t k = 0; k < ew->inputs; k++) {
                if (!t->in[k]) continue;
                const size_t at = r * t->row[k] + (t->step[k] ? begin : 0);
                const uint8_t *from = (const uint8_t *)t->in[k] + at * ew->in_size[k];
                block.step[k] = t->step[k];
                block.in[k] = from;
                if (ew->in_type[k] == ew->in_compute[k]) continue;
                sdx_convert(ew->in_type[k], ew->in_compute[k], from, in[k], t->step[k] ? n : 1);
                block.in[k] = in[k];
            }
            uint8_t *to = (uint8_t *)t->out + (r * t->out_row + begin) * ew->out_size;
            block.out = out_direct ? (void *)to : result;
            ew->kernel(&block);
            if (!out_direct) sdx_convert(ew->out_compute, ew->out_type, result, to, n);
        }
    }
}

/* The tile of `rows` rows of n elements whose first element has coordinates `at`. */
static void run_tile(const sdx_ew *ew, const size_t *at, uint8_t *out, size_t rows, size_t n) {
    const int32_t last = ew->rank - 1;
    sdx_tile t = {.out = out, .rows = rows, .n = n, .out_row = n, .params = ew->params};
    for (uint32_t k = 0; k < ew->inputs; k++) {
        if (!ew->in[k]) continue;
        size_t offset = 0;
        for (int32_t d = 0; d <= last; d++) offset += at[d] * ew->stride[k][d];
        t.in[k] = ew->in[k] + offset * ew->in_size[k];
        t.row[k] = last > 0 ? ew->stride[k][last - 1] : 0;
        t.step[k] = ew->stride[k][last] != 0;
    }
    if (ew->accumulates) {
        t.in[0] = t.out;
        t.row[0] = n;
        t.step[0] = true;
    }
    if (ew->converts) {
        convert_tile(ew, &t);
    } else {
        ew->kernel(&t);
    }
}

void sdx_ew_range(const sdx_ew *ew, size_t begin, size_t end, uint8_t *to) {
    const int32_t last = ew->rank - 1;
    size_t at[SDX_MAX_RANK];
    size_t rest = begin;
    for (int32_t d = last; d >= 0; d--) {
        at[d] = rest % ew->dims[d];
        rest /= ew->dims[d];
    }
    for (size_t position = begin; position < end;) {
        size_t n = ew->dims[last] - at[last], rows = 1;
        if (n >= end - position) {
            run_tile(ew, at, to, 1, end - position);
            return;
        }
        if (at[last] == 0 && last > 0) {
            const size_t whole = (end - position) / n, left = ew->dims[last - 1] - at[last - 1];
            rows = whole < left ? whole : left;
        }
        run_tile(ew, at, to, rows, n);
        position += rows * n;
        to += rows * n * ew->out_size;
        at[last] = 0;
        if (last == 0) continue;
        at[last - 1] += rows;
        for (int32_t d = last - 1; d > 0 && at[d] == ew->dims[d]; d--) {
            at[d] = 0;
            at[d - 1]++;
        }
    }
}

static void run_piece(void *arg, size_t begin, size_t end) {
    const sdx_ew *ew = arg;
    sdx_ew_range(ew, begin, end, ew->out + begin * ew->out_size);
}

void sdx_ew_run(sdx_call *call, sdx_ew *ew, size_t grain) {
    if (ew->count == 0) return;
    sdx_ew_collapse(ew);
    sdx_call_parallel(call, ew->count, grain != 0 ? grain : SDX_EW_GRAIN, run_piece, ew);
}

/* ---- kernels by instruction set ------------------------------------------------------------- */

void sdx_ew_f32_unary(const sdx_tile *t, sdx_f32_function function, float a, float b) {
    const sdx_kernels *kernels = sdx_kernels_get();
    for (size_t r = 0; r < t->rows; r++)
        SDX_KERNEL_OF(kernels, f32_unary)(function, (const float *)t->in[0] + r * t->row[0],
                           (float *)t->out + r * t->out_row, t->n, a, b);
}

void sdx_ew_f32_binary(const sdx_tile *t, sdx_f32_operator operator) {
    const sdx_f32_pairs job = {.operator = operator,
                               .a = t->in[0], .b = t->in[1], .out = t->out,
                               .rows = t->rows, .n = t->n,
                               .a_row = t->row[0], .b_row = t->row[1], .out_row = t->out_row,
                               .a_step = t->step[0], .b_step = t->step[1]};
    SDX_KERNEL_OF(sdx_kernels_get(), f32_binary)(&job);
}

/* ---- kernels by type ----------------------------------------------------------------------- */

sdx_tile_kernel sdx_ew_pick(const sdx_ew_kernels *kernels, sdx_dtype dtype, sdx_dtype *compute) {
    *compute = dtype;
    if (kernels->of[dtype]) return kernels->of[dtype];
    *compute = sdx_dtypes_has(SDX_T_INTS, dtype) ? SDX_DTYPE_FLOAT64 : SDX_DTYPE_FLOAT32;
    return kernels->of[*compute];
}

void sdx_ew_apply(sdx_call *call, const sdx_ew_kernels *kernels, const void *params,
                  sdx_tensor *out, const sdx_tensor *const *in, uint32_t count) {
    sdx_ew ew;
    sdx_dtype compute;
    sdx_ew_begin(&ew, out);
    ew.kernel = sdx_ew_pick(kernels, in[0]->dtype, &compute);
    ew.params = params;
    for (uint32_t k = 0; k < count; k++) {
        sdx_ew_operand(&ew, in[k]);
        ew.in_compute[k] = compute;
    }
    /* Where the output has a type of its own (bool), kernels write that. */
    if (out->dtype == in[0]->dtype) ew.out_compute = compute;
    sdx_ew_run(call, &ew, kernels->grain);
}
