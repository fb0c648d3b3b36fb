/* control_scan.c - Scan: a body run once per slice of its inputs. From version 9 on the slices are
 * taken along any axis, in either direction, and likewise put together. Version 8 has a batch axis
 * before the sequence axis instead: there the whole loop is run for each batch entry by itself, and
 * the sequences may be of different lengths. */
#include <string.h>

#include "ops/control.h"
#include "ops/movement.h"

typedef struct scan_params {
    sdx_subgraph body; /* inputs: states, elements; outputs: states, elements */
    bool batched;      /* version 8 */
    uint32_t first;    /* node input of the first state */
    uint32_t states, inputs, scans;
    const int64_t *in_axes, *in_reverse, *out_axes, *out_reverse; /* NULL: all 0 */
    sdx_type *shown;   /* by output; filled in while shapes are inferred */
    bool *filled;      /* by state; likewise */
} scan_params;

static int64_t entry(const int64_t *list, uint32_t i) { return list ? list[i] : 0; }

static sdx_status read_list(sdx_prep *prep, const char *name, uint32_t wanted, bool flags,
                            const int64_t **out) {
    size_t count;
    SDX_TRY(sdx_attr_get_ints(prep, name, out, &count));
    if (count == 0) {
        *out = NULL;
        return SDX_STATUS_OK;
    }
    if (count != wanted)
        return sdx_prep_fail(prep, "attribute '%s' has %zu entries, expected %u", name, count,
                             wanted);
    for (size_t i = 0; flags && i < count; i++)
        if ((*out)[i] != 0 && (*out)[i] != 1)
            return sdx_prep_fail(prep, "attribute '%s' has entry %lld, expected 0 or 1", name,
                                 (long long)(*out)[i]);
    return SDX_STATUS_OK;
}

static sdx_status scan_prepare(sdx_prep *prep) {
    scan_params *p = prep->params;
    const sdx_node *node = prep->node;
    int64_t inputs;
    p->batched = prep->version < 9;
    p->first = p->batched ? 1 : 0;
    SDX_TRY(sdx_subgraph_need_inputs(prep, p->first));
    SDX_TRY(sdx_attr_need_int(prep, "num_scan_inputs", &inputs));
    const uint32_t given = node->input_count > p->first ? node->input_count - p->first : 0;
    if (inputs < 1 || inputs > given)
        return sdx_prep_fail(prep, "num_scan_inputs is %lld, expected 1 to %u, the inputs given",
                             (long long)inputs, given);
    p->inputs = (uint32_t)inputs;
    p->states = given - p->inputs;
    if (node->output_count < p->states)
        return sdx_prep_fail(prep, "%u outputs for %u variables", node->output_count, p->states);
    p->scans = node->output_count - p->states;
    SDX_TRY(sdx_subgraph_need(prep, "body", given, node->output_count, &p->body));
    if (p->batched) {
        SDX_TRY(read_list(prep, "directions", p->inputs, true, &p->in_reverse));
    } else {
        SDX_TRY(read_list(prep, "scan_input_axes", p->inputs, false, &p->in_axes));
        SDX_TRY(read_list(prep, "scan_input_directions", p->inputs, true, &p->in_reverse));
        SDX_TRY(read_list(prep, "scan_output_axes", p->scans, false, &p->out_axes));
        SDX_TRY(read_list(prep, "scan_output_directions", p->scans, true, &p->out_reverse));
    }
    p->shown = sdx_prep_array(prep, node->output_count, sizeof *p->shown);
    p->filled = sdx_prep_array(prep, p->states, sizeof *p->filled);
    if (!p->shown || !p->filled) return SDX_STATUS_NO_MEMORY;
    for (uint32_t o = 0; o < node->output_count; o++) p->shown[o].rank = -1;
    return SDX_STATUS_OK;
}

/* ---- while loading -------------------------------------------------------------------------- */

/* Type of input i without `count` dims from `axis` on; those are compared with (or first become)
 * what other inputs have there. */
static sdx_status element_type(sdx_infer *inf, uint32_t i, int64_t axis, int32_t count,
                               sdx_expr *removed, sdx_type *out) {
    const sdx_type *type = &inf->in[i].type;
    sdx_expr dims[SDX_MAX_RANK];
    int32_t at, used = 0;
    *out = (sdx_type){.rank = -1};
    if (type->kind == SDX_KIND_NONE) return SDX_STATUS_OK;
    if (type->kind != SDX_KIND_TENSOR) return sdx_infer_fail(inf, "input %u is not a tensor", i);
    if (type->rank < 0) return sdx_type_tensor(inf, type->dtype, -1, NULL, out);
    SDX_TRY(sdx_infer_require_min_rank(inf, i, count));
    SDX_TRY(sdx_infer_axis(inf, axis, type->rank, &at));
    for (int32_t d = 0; d < type->rank; d++) {
        if (d < at || d >= at + count) {
            dims[used++] = type->dims[d];
            continue;
        }
        sdx_expr *common = &removed[at + count - 1 - d]; /* the batch axis is the outer one */
        SDX_TRY(sdx_infer_require_equal(inf, *common, type->dims[d],
                                        "sizes of the scanned or batch axes"));
        if (!sdx_expr_is_const(*common) && !sdx_expr_is_unknown(type->dims[d]))
            *common = type->dims[d];
    }
    return sdx_type_tensor(inf, type->dtype, used, dims, out);
}

static sdx_status scan_infer(sdx_infer *inf) {
    const scan_params *p = inf->params;
    sdx_expr sizes[2] = {SDX_EXPR_UNKNOWN, SDX_EXPR_UNKNOWN}; /* length, batch */
    sdx_rounds rounds;
    SDX_TRY(sdx_rounds_begin(inf, &p->body, p->states, 0, &rounds));
    for (uint32_t i = 0; i < p->inputs; i++)
        SDX_TRY(element_type(inf, p->first + p->states + i, p->batched ? 0 : entry(p->in_axes, i),
                             p->batched ? 2 : 1, sizes, &rounds.in[p->states + i]));
    for (uint32_t s = 0; s < p->states; s++) {
        if (p->batched) SDX_TRY(element_type(inf, p->first + s, 0, 1, sizes + 1, &rounds.in[s]));
        else rounds.in[s] = inf->in[p->first + s].type;
    }
    SDX_TRY(sdx_rounds_infer(inf, &rounds));
    for (uint32_t s = 0; s < p->states; s++) {
        p->filled[s] = rounds.filled[s];
        if (!p->batched) sdx_rounds_set_state(inf, &rounds, s, s);
        else SDX_TRY(sdx_rounds_set_stack(inf, s, &rounds.in[s], &sizes[1], 1, 0, true,
                                          &p->shown[s]));
    }
    const sdx_expr lead[2] = {p->batched ? sizes[1] : sizes[0], sizes[0]};
    const bool full = !p->batched || !sdx_infer_present(inf, 0);
    for (uint32_t k = 0; k < p->scans; k++)
        SDX_TRY(sdx_rounds_set_stack(inf, p->states + k, &rounds.out[p->states + k], lead,
                                     p->batched ? 2 : 1, entry(p->out_axes, k), full,
                                     &p->shown[p->states + k]));
    return SDX_STATUS_OK;
}

/* ---- during a run --------------------------------------------------------------------------- */

typedef struct scan {
    sdx_call *call;
    const scan_params *p;
    sdx_body body;
    sdx_stack *stacks; /* by output */
    int64_t batch, length;
    uint64_t rounds; /* of all batch entries */
} scan;

/* Common size of an axis over all inputs; *size is -1 before the first. */
static sdx_status agree(sdx_call *call, const char *what, int64_t found, int64_t *size) {
    if (*size >= 0 && *size != found)
        return sdx_call_fail(call, "%s: %lld and %lld differ", what, (long long)*size,
                             (long long)found);
    *size = found;
    return SDX_STATUS_OK;
}

static sdx_status check_input(scan *s, uint32_t i, int32_t min_rank, const sdx_tensor **out) {
    *out = sdx_in(s->call, s->p->first + i);
    if (!*out) return sdx_call_fail(s->call, "input %u is not a tensor", s->p->first + i);
    if ((*out)->rank < min_rank)
        return sdx_call_fail(s->call, "input %u has rank %d, expected at least %d",
                             s->p->first + i, (*out)->rank, min_rank);
    return SDX_STATUS_OK;
}

static sdx_status find_sizes(scan *s) {
    const scan_params *p = s->p;
    const sdx_tensor *tensor;
    s->batch = s->length = -1;
    for (uint32_t i = 0; i < p->inputs; i++) {
        SDX_TRY(check_input(s, p->states + i, p->batched ? 2 : 1, &tensor));
        int64_t axis = p->batched ? 1 : 0;
        if (!p->batched)
            SDX_TRY(sdx_call_index(s->call, entry(p->in_axes, i), tensor->rank, "scan_input_axes",
                                   &axis));
        SDX_TRY(agree(s->call, "sizes of the scanned axes", tensor->dims[axis], &s->length));
        if (p->batched)
            SDX_TRY(agree(s->call, "sizes of the batch axes", tensor->dims[0], &s->batch));
    }
    for (uint32_t i = 0; p->batched && i < p->states; i++) {
        SDX_TRY(check_input(s, i, 1, &tensor));
        SDX_TRY(agree(s->call, "sizes of the batch axes", tensor->dims[0], &s->batch));
    }
    if (!p->batched) s->batch = 1;
    return SDX_STATUS_OK;
}

/* One entry along the leading `lead` dims: it is contiguous, so no copy is needed. Input data
 * outlives the call. */
static sdx_status leading_slice(sdx_call *call, const sdx_tensor *whole, int32_t lead,
                                int64_t position, sdx_value **out) {
    sdx_tensor slice;
    SDX_TRY(sdx_tensor_init(&slice, whole->dtype, whole->rank - lead, whole->dims + lead, NULL,
                            call->error));
    if (slice.count)
        slice.data = (char *)whole->data +
                     (size_t)position * slice.count * sdx_dtype_size(whole->dtype);
    return sdx_value_alloc_borrowed(call->host->heap, &slice, out, call->error);
}

static sdx_status inner_slice(sdx_call *call, const sdx_tensor *whole, int32_t axis,
                              int64_t position, sdx_value **out) {
    int64_t dims[SDX_MAX_RANK];
    for (int32_t d = 0; d < whole->rank - 1; d++) dims[d] = whole->dims[d < axis ? d : d + 1];
    SDX_TRY(sdx_value_alloc_tensor(call->host->heap, whole->dtype, whole->rank - 1, dims, out,
                                   call->error));
    sdx_part_read(whole, axis, position, 1, (*out)->tensor.data, call->host->pool);
    return SDX_STATUS_OK;
}

static sdx_status set_elements(scan *s, int64_t batch, int64_t round, int64_t length) {
    const scan_params *p = s->p;
    for (uint32_t i = 0; i < p->inputs; i++) {
        const sdx_tensor *whole = sdx_in(s->call, p->first + p->states + i);
        const int64_t at = entry(p->in_reverse, i) ? length - 1 - round : round;
        const int64_t given = entry(p->in_axes, i);
        const int32_t axis = (int32_t)(given < 0 ? given + whole->rank : given);
        sdx_value *element;
        if (p->batched)
            SDX_TRY(leading_slice(s->call, whole, 2, batch * s->length + at, &element));
        else if (axis == 0) SDX_TRY(leading_slice(s->call, whole, 1, at, &element));
        else SDX_TRY(inner_slice(s->call, whole, axis, at, &element));
        sdx_body_give(&s->body, p->states + i, element);
    }
    return SDX_STATUS_OK;
}

static sdx_status run_round(scan *s, int64_t batch, int64_t round, int64_t length) {
    const scan_params *p = s->p;
    SDX_TRY(sdx_round_allowed(s->call, s->rounds++));
    SDX_TRY(set_elements(s, batch, round, length));
    SDX_TRY(sdx_body_run(&s->body));
    for (uint32_t k = 0; k < p->scans; k++) {
        const uint32_t o = p->states + k;
        int64_t at = entry(p->out_reverse, k) ? length - 1 - round : round;
        if (p->batched) at += batch * s->length;
        if (sdx_call_wanted(s->call, o))
            SDX_TRY(sdx_stack_put(s->call, &s->stacks[o], at, s->body.out[o], "a scan output"));
    }
    for (uint32_t i = 0; i < p->states; i++)
        SDX_TRY(sdx_body_carry(&s->body, i, i, "state"));
    return SDX_STATUS_OK;
}

/* Number of rounds for an entry of the batch. */
static sdx_status find_length(scan *s, int64_t batch, int64_t *out) {
    const sdx_tensor *lengths = s->p->batched ? sdx_in(s->call, 0) : NULL;
    *out = s->length;
    if (!lengths) return SDX_STATUS_OK;
    if (!sdx_dtypes_has(SDX_T_INDEX, lengths->dtype) || lengths->count != (size_t)s->batch)
        return sdx_call_fail(s->call, "sequence_lens has %zu elements of type %s, expected %lld "
                                      "of type int64",
                             lengths->count, sdx_dtype_name(lengths->dtype),
                             (long long)s->batch);
    *out = sdx_tensor_int(lengths, (size_t)batch);
    if (*out >= 0 && *out <= s->length) return SDX_STATUS_OK;
    return sdx_call_fail(s->call, "sequence_lens[%lld] is %lld, expected 0 to %lld",
                         (long long)batch, (long long)*out, (long long)s->length);
}

static sdx_status run_batch(scan *s, int64_t batch) {
    const scan_params *p = s->p;
    int64_t length;
    SDX_TRY(find_length(s, batch, &length));
    for (uint32_t i = 0; i < p->states; i++) {
        sdx_value *state = s->call->in[p->first + i];
        if (p->batched) {
            SDX_TRY(leading_slice(s->call, &state->tensor, 1, batch, &state));
            sdx_body_give(&s->body, i, state);
        } else {
            sdx_body_set(&s->body, i, state);
        }
    }
    for (int64_t round = 0; round < length; round++)
        SDX_TRY(run_round(s, batch, round, length));
    for (uint32_t i = 0; i < p->states; i++) {
        if (!p->batched) SDX_TRY(sdx_body_finish(&s->body, i, i, p->filled[i]));
        else if (sdx_call_wanted(s->call, i))
            SDX_TRY(sdx_stack_put(s->call, &s->stacks[i], batch, s->body.in[i], "a state"));
    }
    return SDX_STATUS_OK;
}

static sdx_status run_all(scan *s) {
    const scan_params *p = s->p;
    SDX_TRY(find_sizes(s));
    for (uint32_t o = 0; o < s->call->out_count; o++) {
        const bool scans = o >= p->states;
        s->stacks[o] = (sdx_stack){.lead_rank = p->batched && scans ? 2 : 1,
                                   .lead = {p->batched ? s->batch : s->length, s->length},
                                   .axis_given = scans ? entry(p->out_axes, o - p->states) : 0,
                                   .sparse = p->batched && scans};
    }
    for (int64_t batch = 0; batch < s->batch; batch++) SDX_TRY(run_batch(s, batch));
    for (uint32_t o = p->batched ? 0 : p->states; o < s->call->out_count; o++)
        if (sdx_call_wanted(s->call, o))
            SDX_TRY(sdx_stack_finish(s->call, &s->stacks[o], o, 0, &p->shown[o]));
    return SDX_STATUS_OK;
}

static sdx_status scan_run(sdx_call *call) {
    const scan_params *p = call->params;
    scan s = {.call = call, .p = p};
    s.stacks = sdx_call_temp(call, call->out_count, sizeof *s.stacks);
    if (!s.stacks) return SDX_STATUS_NO_MEMORY;
    memset(s.stacks, 0, call->out_count * sizeof *s.stacks);
    sdx_status status = sdx_body_open(&s.body, call, &p->body);
    if (status == SDX_STATUS_OK) status = run_all(&s);
    sdx_body_close(&s.body);
    for (uint32_t o = 0; o < call->out_count; o++) sdx_value_release(s.stacks[o].value);
    sdx_call_temp_free(call, s.stacks);
    return status;
}

const sdx_op_def sdx_op_scan = {
    .min_in = 0, .max_in = SDX_VARIADIC, .min_out = 1, .max_out = SDX_VARIADIC,
    .flags = SDX_OP_HEAP,
    .params_size = sizeof(scan_params),
    .prepare = scan_prepare, .infer = scan_infer, .run = SDX_BODY(sdx_op_scan, scan_run),
};
