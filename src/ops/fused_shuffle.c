/* fused_shuffle.c - sardonyx:Shuffle, which passes put in place of the Reshape, Transpose, Reshape by which
 * exporters write a shuffle of channels, with a Concat before and the slices behind it. The inputs one
 * after the other have `groups` groups of channels; the results, in parts of the given `sizes`, have
 * first the first channel of each group, then the second of each, and so on. An input has whole
 * groups; a part has whole turns. `axis`: where the channels stand. */
#include <string.h>

#include "kernels/kernels.h"
#include "ops/op.h"

#define MOST_GROUPS 64

typedef struct params {
    int64_t axis, groups;
    const int64_t *sizes;
    size_t count; /* of sizes and outputs */
} params;

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    SDX_TRY(sdx_attr_need_int(prep, "axis", &p->axis));
    SDX_TRY(sdx_attr_need_int(prep, "groups", &p->groups));
    SDX_TRY(sdx_attr_get_ints(prep, "sizes", &p->sizes, &p->count));
    if (p->axis < 0 || p->axis > 3 || p->groups < 1 || p->groups > MOST_GROUPS)
        return sdx_prep_fail(prep, "axis or groups out of range");
    return SDX_STATUS_OK;
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    int64_t total = 0, sum = 0;
    sdx_expr dims[4];
    for (uint32_t i = 0; i < inf->in_count; i++) {
        SDX_TRY(sdx_infer_require_rank(inf, i, 4));
        const sdx_expr dim = sdx_infer_dim(inf, i, (int32_t)p->axis);
        if (!sdx_expr_is_const(dim) || sdx_expr_value(dim) < 1 || sdx_expr_value(dim) > INT32_MAX)
            return sdx_infer_fail(inf, "channels are not known");
        total += sdx_expr_value(dim);
        for (int32_t a = 0; i > 0 && a < 4; a++)
            if (a != p->axis)
                SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 0, a),
                                                sdx_infer_dim(inf, i, a), "sizes of the inputs"));
    }
    bool whole = total % p->groups == 0;
    for (uint32_t i = 0; whole && i < inf->in_count; i++)
        whole = sdx_expr_value(sdx_infer_dim(inf, i, (int32_t)p->axis)) % (total / p->groups) == 0;
    for (size_t o = 0; whole && o < p->count; o++) {
        whole = p->sizes[o] >= 0 && p->sizes[o] <= total - sum && p->sizes[o] % p->groups == 0;
        sum += p->sizes[o];
    }
    if (!whole || sum != total || p->count != inf->out_count)
        return sdx_infer_fail(inf, "parts do not make up the channels");
    for (int32_t a = 0; a < 4; a++) dims[a] = sdx_infer_dim(inf, 0, a);
    for (uint32_t o = 0; o < inf->out_count; o++) {
        sdx_infer_set_dtype(inf, o, SDX_DTYPE_FLOAT32);
        dims[p->axis] = sdx_expr_const(p->sizes[o]);
        SDX_TRY(sdx_infer_set_shape(inf, o, 4, dims));
    }
    return SDX_STATUS_OK;
}

/* One part of the results, as rows of `size` channels. */
typedef struct part {
    const float *from[MOST_GROUPS]; /* first channel of the part in each group */
    size_t step[MOST_GROUPS];       /* floats from row to row there */
    float *out;
    size_t groups, turns, inner; /* turns * groups channels of `inner` floats */
} part;

static void some_rows(void *arg, size_t begin, size_t end) {
    const part *p = arg;
    const size_t width = p->turns * p->groups * p->inner;
    if (p->inner == 1 && p->groups == 2 && p->step[0] == p->step[1]) {
        SDX_KERNEL_OF(sdx_kernels_get(), f32_interleave)(p->from[0] + begin * p->step[0],
                                          p->from[1] + begin * p->step[1], p->step[0],
                                          p->out + begin * width, width, end - begin, p->turns);
        return;
    }
    for (size_t row = begin; row < end; row++)
        for (size_t g = 0; g < p->groups; g++) {
            const float *from = p->from[g] + row * p->step[g];
            float *to = p->out + row * width + g * p->inner;
            for (size_t t = 0; t < p->turns; t++, from += p->inner, to += p->groups * p->inner)
                memcpy(to, from, p->inner * sizeof *to);
        }
}

static sdx_status run(sdx_call *call) {
    const params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0);
    const size_t groups = (size_t)p->groups;
    size_t rows = 1, inner = 1, channels = 0, done = 0;
    for (int64_t a = 0; a < p->axis; a++) rows *= (size_t)x->dims[a];
    for (int64_t a = p->axis + 1; a < 4; a++) inner *= (size_t)x->dims[a];
    for (size_t o = 0; o < p->count; o++) channels += (size_t)p->sizes[o];
    for (uint32_t o = 0; o < p->count; o++) {
        part job = {.groups = groups, .turns = (size_t)p->sizes[o] / groups, .inner = inner};
        uint32_t input = 0;
        for (size_t g = 0, at = 0; g < groups; g++, at += channels / groups) {
            const sdx_tensor *in = sdx_in(call, input);
            while (at == (size_t)in->dims[p->axis]) {
                at = 0;
                in = sdx_in(call, ++input);
            }
            job.from[g] = (const float *)in->data + (at + done) * inner;
            job.step[g] = (size_t)in->dims[p->axis] * inner;
        }
        done += job.turns;
        const sdx_tensor *out = call->out[o] ? sdx_out(call, o) : NULL;
        if (!out || out->count == 0) continue;
        job.out = out->data;
        sdx_call_parallel(call, rows, ((size_t)1 << 13) / (job.turns * groups * inner) + 1, some_rows,
                          &job);
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_fused_shuffle = {
    .min_in = 1, .max_in = SDX_VARIADIC, .min_out = 1, .max_out = SDX_VARIADIC,
    .in_types = {SDX_T(FLOAT32)},
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_shuffle, run),
};
