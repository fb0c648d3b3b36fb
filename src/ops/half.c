/* half.c - stand-ins for float16 and bfloat16 tensors; see half.h. */
#include "ops/half.h"

#include <math.h>

#include "ops/elementwise.h"

enum { MAX_IN = 9, MAX_OUT = 5 };

/* ---- while loading --------------------------------------------------------------------------- */

void sdx_infer_add_scratch(sdx_infer *inf, size_t bytes) {
    size_t rounded;
    if (sdx_size_align(bytes, SDX_CACHE_LINE, &rounded) && rounded <= PTRDIFF_MAX / 4)
        sdx_infer_add_scratch_expr(inf, sdx_expr_const((int64_t)rounded));
}

void sdx_infer_add_scratch_expr(sdx_infer *inf, sdx_expr bytes) {
    sdx_expr sum = sdx_inf_add(inf, inf->scratch, bytes);
    if (!sdx_expr_is_unknown(sum)) inf->scratch = sum;
}

static void add_stand_in(sdx_infer *inf, sdx_expr count) {
    sdx_expr bytes = sdx_inf_mul(inf, count, sdx_expr_const((int64_t)sizeof(float)));
    sdx_infer_add_scratch_expr(inf, sdx_inf_add(inf, bytes, sdx_expr_const(SDX_CACHE_LINE)));
}

void sdx_infer_half_scratch(sdx_infer *inf) {
    for (uint32_t i = 0; i < inf->in_count && i < MAX_IN; i++) {
        if (!sdx_is_half(sdx_infer_dtype(inf, i))) continue;
        int32_t rank = sdx_infer_rank(inf, i);
        add_stand_in(inf, rank < 0 ? SDX_EXPR_UNKNOWN : sdx_infer_product(inf, i, 0, rank));
    }
    for (uint32_t o = 0; o < inf->out_count && o < MAX_OUT; o++) {
        const sdx_infer_out *out = &inf->out[o];
        if (!out->wanted || !sdx_is_half(out->type.dtype)) continue;
        sdx_expr count = out->rank_known ? sdx_expr_const(1) : SDX_EXPR_UNKNOWN;
        for (int32_t a = 0; out->rank_known && a < out->type.rank; a++)
            count = sdx_inf_mul(inf, count, out->dims[a]);
        add_stand_in(inf, count);
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

/* The largest and smallest double that each type can hold. */
static void range_of(sdx_dtype dtype, double *lo, double *hi) {
    bool is_signed = sdx_dtypes_has(SDX_T_SIGNED, dtype);
    double half = ldexp(1, (int)sdx_dtype_size(dtype) * 8 - 1); /* 2^(bits - 1) */
    double end = is_signed ? half : 2 * half;
    *lo = is_signed ? -half : 0;
    *hi = sdx_dtype_size(dtype) < 8 ? end - 1 : nextafter(end, 0);
}

void sdx_from_f64(sdx_dtype to, double *values, void *out, size_t count) {
    if (sdx_dtypes_has(SDX_T_INTS, to)) {
        double lo, hi;
        range_of(to, &lo, &hi);
        for (size_t i = 0; i < count; i++) {
            double v = values[i];
            values[i] = v > hi ? hi : v > lo ? v : lo; /* not a number becomes the lowest */
        }
    }
    sdx_convert(SDX_DTYPE_FLOAT64, to, values, out, count);
}

/* ---- during a run ---------------------------------------------------------------------------- */

sdx_status sdx_call_scratch(sdx_call *call, size_t bytes, sdx_scratch *scratch) {
    scratch->temp = NULL;
    scratch->data = call->scratch;
    if (bytes <= call->scratch_bytes) return SDX_STATUS_OK;
    scratch->data = scratch->temp = sdx_call_temp(call, bytes, 1);
    if (scratch->data) return SDX_STATUS_OK;
    bool known = call->error && call->error->code != SDX_STATUS_OK;
    return known ? call->error->code : SDX_STATUS_NO_MEMORY;
}

void sdx_call_scratch_end(sdx_call *call, sdx_scratch *scratch) {
    if (scratch->temp) sdx_call_temp_free(call, scratch->temp);
    scratch->temp = NULL;
}

sdx_status sdx_call_ready(sdx_call *call, bool *run) {
    *run = false;
    for (uint32_t o = 0; o < call->out_count; o++) {
        if (!sdx_call_wanted(call, o)) continue;
        *run = true;
        if (!call->out[o])
            return sdx_call_fail_with(call, SDX_STATUS_LIMIT, "output %u has no size that fits", o);
    }
    return SDX_STATUS_OK;
}

typedef struct stand_ins {
    sdx_value in[MAX_IN], out[MAX_OUT];
    sdx_value *in_slots[MAX_IN], *out_slots[MAX_OUT];
    size_t used; /* bytes of the memory that holds their data */
} stand_ins;

/* Gives a stand-in its place; false if the size does not fit. */
static bool place(stand_ins *s, const sdx_value *real, sdx_value *fake, size_t *offset) {
    size_t bytes;
    fake->kind = SDX_KIND_TENSOR;
    fake->borrowed = true;
    fake->tensor = real->tensor;
    fake->tensor.dtype = SDX_DTYPE_FLOAT32;
    *offset = s->used;
    return sdx_size_mul(real->tensor.count, sizeof(float), &bytes) &&
           sdx_size_align(bytes, SDX_CACHE_LINE, &bytes) && sdx_size_add(s->used, bytes, &s->used);
}

static bool half_value(const sdx_value *value) {
    return value && value->kind == SDX_KIND_TENSOR && sdx_is_half(value->tensor.dtype);
}

static bool place_all(stand_ins *s, const sdx_call *call, size_t *in_at, size_t *out_at) {
    for (uint32_t i = 0; i < call->in_count; i++) {
        s->in_slots[i] = call->in[i];
        if (!half_value(call->in[i])) continue;
        s->in_slots[i] = &s->in[i];
        if (!place(s, call->in[i], &s->in[i], &in_at[i])) return false;
    }
    for (uint32_t o = 0; o < call->out_count; o++) {
        s->out_slots[o] = call->out[o];
        if (!half_value(call->out[o])) continue;
        s->out_slots[o] = &s->out[o];
        if (!place(s, call->out[o], &s->out[o], &out_at[o])) return false;
    }
    return true;
}

sdx_status sdx_call_half(sdx_call *call, sdx_status (*body)(sdx_call *call)) {
    bool any = false, wanted;
    SDX_TRY(sdx_call_ready(call, &wanted));
    if (!wanted) return SDX_STATUS_OK;
    for (uint32_t i = 0; i < call->in_count; i++) any = any || half_value(call->in[i]);
    for (uint32_t o = 0; o < call->out_count; o++) any = any || half_value(call->out[o]);
    if (!any) return body(call);
    if (call->in_count > MAX_IN || call->out_count > MAX_OUT)
        return sdx_call_fail_with(call, SDX_STATUS_INTERNAL, "more tensors than stand-ins");

    stand_ins s = {0};
    size_t in_at[MAX_IN] = {0}, out_at[MAX_OUT] = {0};
    if (!place_all(&s, call, in_at, out_at))
        return sdx_call_fail_with(call, SDX_STATUS_LIMIT, "float32 copies do not fit into memory");
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, s.used, &scratch));
    char *memory = scratch.data;

    for (uint32_t i = 0; i < call->in_count; i++) {
        if (s.in_slots[i] != &s.in[i]) continue;
        const sdx_tensor *real = &call->in[i]->tensor;
        if (real->count == 0) continue;
        s.in[i].tensor.data = memory + in_at[i];
        sdx_to_f32(real->dtype, real->data, s.in[i].tensor.data, real->count);
    }
    for (uint32_t o = 0; o < call->out_count; o++)
        if (s.out_slots[o] == &s.out[o] && s.out[o].tensor.count > 0)
            s.out[o].tensor.data = memory + out_at[o];

    sdx_call inner = *call;
    inner.in = s.in_slots;
    inner.out = s.out_slots;
    if (!scratch.temp && memory) { /* the body gets what is left of the scratch memory */
        inner.scratch = memory + s.used;
        inner.scratch_bytes = call->scratch_bytes - s.used;
    }
    sdx_status status = body(&inner);
    for (uint32_t o = 0; status == SDX_STATUS_OK && o < call->out_count; o++) {
        if (s.out_slots[o] != &s.out[o]) continue;
        const sdx_tensor *real = &call->out[o]->tensor, *fake = &s.out[o].tensor;
        if (real->count > 0) sdx_from_f32(real->dtype, fake->data, real->data, real->count);
    }
    sdx_call_scratch_end(call, &scratch);
    return status;
}
