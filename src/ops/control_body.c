/* control_body.c - running a subgraph: its arguments and results, the limits on rounds, and reading
 * the small inputs that steer it. Used by the bodies of If, Loop, Scan, SequenceMap and by the
 * sequence operators. */
#include <string.h>

#include "ops/control.h"

/* ---- a subgraph and its arguments ----------------------------------------------------------- */

sdx_status sdx_body_open(sdx_body *body, sdx_call *call, const sdx_subgraph *graph) {
    size_t count = (size_t)graph->in_count + graph->out_count;
    *body = (sdx_body){.call = call, .graph = *graph};
    body->in = sdx_call_temp(call, count + 1, sizeof *body->in);
    if (!body->in) return SDX_STATUS_NO_MEMORY;
    memset(body->in, 0, (count + 1) * sizeof *body->in);
    body->out = body->in + graph->in_count;
    return SDX_STATUS_OK;
}

static void drop_results(sdx_body *body) {
    for (uint32_t o = 0; o < body->graph.out_count; o++) {
        sdx_value_release(body->out[o]);
        body->out[o] = NULL;
    }
}

void sdx_body_close(sdx_body *body) {
    if (!body->in) return;
    drop_results(body);
    for (uint32_t i = 0; i < body->graph.in_count; i++) sdx_value_release(body->in[i]);
    sdx_call_temp_free(body->call, body->in);
    body->in = NULL;
}

void sdx_body_set(sdx_body *body, uint32_t i, sdx_value *value) {
    sdx_body_give(body, i, sdx_value_retain(value));
}

void sdx_body_give(sdx_body *body, uint32_t i, sdx_value *value) {
    sdx_value_release(body->in[i]);
    body->in[i] = value;
}

sdx_status sdx_body_run(sdx_body *body) {
    sdx_call *call = body->call;
    drop_results(body);
    SDX_TRY(call->host->run_graph(call->host, body->graph.graph, body->in, body->graph.in_count,
                                  body->out, body->graph.out_count, call->error));
    for (uint32_t o = 0; o < body->graph.out_count; o++)
        if (!body->out[o])
            return sdx_call_fail_with(call, SDX_STATUS_BAD_MODEL,
                                      "output %u of its subgraph has no value", o);
    return SDX_STATUS_OK;
}

static const char *kind_name(sdx_kind kind) {
    switch (kind) {
    case SDX_KIND_TENSOR: return "a tensor";
    case SDX_KIND_SEQUENCE: return "a sequence";
    case SDX_KIND_MAP: return "a map";
    default: return "nothing";
    }
}

sdx_status sdx_body_carry(sdx_body *body, uint32_t o, uint32_t i, const char *what) {
    const sdx_value *before = body->in[i], *after = body->out[o];
    /* An optional may gain or lose its content. */
    bool both = before->kind != SDX_KIND_NONE && after->kind != SDX_KIND_NONE;
    if (both && before->kind != after->kind)
        return sdx_call_fail(body->call, "%s %u was %s and became %s", what, o,
                             kind_name(before->kind), kind_name(after->kind));
    if (both && after->kind == SDX_KIND_TENSOR && before->tensor.dtype != after->tensor.dtype)
        return sdx_call_fail(body->call, "%s %u was %s and became %s", what, o,
                             sdx_dtype_name(before->tensor.dtype),
                             sdx_dtype_name(after->tensor.dtype));
    sdx_body_give(body, i, body->out[o]);
    body->out[o] = NULL;
    return SDX_STATUS_OK;
}

sdx_status sdx_body_finish(sdx_body *body, uint32_t i, uint32_t o, bool filled) {
    if (filled && body->in[i]->kind == SDX_KIND_NONE)
        return sdx_call_fail(body->call, "output %u would be an optional without content, but its "
                                         "type is not optional",
                             o);
    return sdx_call_set(body->call, o, body->in[i]);
}

sdx_status sdx_round_allowed(sdx_call *call, uint64_t round) {
    sdx_host *host = call->host;
    if (host->cancelled(host))
        return sdx_call_fail_with(call, SDX_STATUS_CANCELLED, "the run was cancelled");
    if (round >= host->max_rounds)
        return sdx_call_fail_with(call, SDX_STATUS_LIMIT,
                                  "it wants more rounds than the limit max_rounds, %llu, allows",
                                  (unsigned long long)host->max_rounds);
    return SDX_STATUS_OK;
}

/* ---- small inputs --------------------------------------------------------------------------- */

sdx_status sdx_call_scalar(sdx_call *call, sdx_dtype dtype, int32_t rank, int64_t value,
                           sdx_value **out) {
    static const int64_t one = 1;
    SDX_TRY(sdx_value_alloc_tensor(call->host->heap, dtype, rank, &one, out, call->error));
    if (dtype == SDX_DTYPE_BOOL) *(uint8_t *)(*out)->tensor.data = value != 0;
    else *(int64_t *)(*out)->tensor.data = value;
    return SDX_STATUS_OK;
}

static sdx_status one_element(sdx_call *call, const sdx_value *value, sdx_dtypes types,
                              const char *what) {
    if (!value || value->kind != SDX_KIND_TENSOR)
        return sdx_call_fail(call, "%s is %s, expected a tensor", what,
                             kind_name(value ? value->kind : SDX_KIND_NONE));
    const sdx_tensor *tensor = &value->tensor;
    if (!sdx_dtypes_has(types, tensor->dtype)) {
        char text[64];
        return sdx_call_fail(call, "%s is of type %s, expected %s", what,
                             sdx_dtype_name(tensor->dtype),
                             sdx_dtypes_text(types, text, sizeof text));
    }
    if (tensor->count != 1)
        return sdx_call_fail(call, "%s has %zu elements, expected one", what, tensor->count);
    return SDX_STATUS_OK;
}

sdx_status sdx_call_read_bool(sdx_call *call, const sdx_value *value, const char *what,
                              bool *out) {
    SDX_TRY(one_element(call, value, SDX_T(BOOL), what));
    *out = *(const uint8_t *)value->tensor.data != 0;
    return SDX_STATUS_OK;
}

sdx_status sdx_call_read_index(sdx_call *call, const sdx_value *value, const char *what,
                               int64_t *out) {
    SDX_TRY(one_element(call, value, SDX_T_INDEX, what));
    *out = sdx_tensor_int(&value->tensor, 0);
    return SDX_STATUS_OK;
}

sdx_status sdx_call_sequence(sdx_call *call, uint32_t i, sdx_value **out) {
    sdx_value *value = i < call->in_count ? call->in[i] : NULL;
    if (!value || value->kind != SDX_KIND_SEQUENCE)
        return sdx_call_fail(call, "input %u is %s, expected a sequence", i,
                             kind_name(value ? value->kind : SDX_KIND_NONE));
    *out = value;
    return SDX_STATUS_OK;
}
