/* control_stack.c - collects the tensors that a body makes round by round: the scan outputs of Loop
 * and Scan. Each is copied to its place at once, so that nothing of a round has to be kept; where
 * the number of rounds is not known, the memory doubles when it is full. */
#include <string.h>

#include "ops/control.h"
#include "ops/movement.h"

#define FIRST_CAPACITY 8

/* ---- stacks --------------------------------------------------------------------------------- */

static sdx_status allocate(sdx_call *call, sdx_stack *stack, sdx_dtype dtype, int32_t rank,
                           const int64_t *element) {
    int64_t dims[SDX_MAX_RANK];
    const int32_t total = rank + stack->lead_rank;
    const int64_t axis = stack->axis_given < 0 ? stack->axis_given + rank + 1 : stack->axis_given;
    if (total > SDX_MAX_RANK)
        return sdx_call_fail(call, "a result would have rank %d; at most %d is supported", total,
                             SDX_MAX_RANK);
    if (axis < 0 || axis > rank)
        return sdx_call_fail(call, "axis %lld lies outside [%d, %d)",
                             (long long)stack->axis_given, -rank - 1, rank + 1);
    stack->axis = (int32_t)axis;
    for (int32_t i = 0; i < total; i++)
        dims[i] = i < axis                      ? element[i]
                  : i < axis + stack->lead_rank ? stack->lead[i - axis]
                                                : element[i - stack->lead_rank];
    SDX_TRY(sdx_value_alloc_tensor(call->host->heap, dtype, total, dims, &stack->value,
                                   call->error));
    const sdx_tensor *tensor = &stack->value->tensor;
    if (stack->sparse && tensor->count)
        memset(tensor->data, 0, tensor->count * sdx_dtype_size(dtype));
    return SDX_STATUS_OK;
}

static sdx_status grow(sdx_call *call, sdx_stack *stack) {
    sdx_tensor *old = &stack->value->tensor;
    int64_t dims[SDX_MAX_RANK];
    sdx_value *bigger;
    memcpy(dims, old->dims, sizeof dims);
    if (dims[0] > INT64_MAX / 2) return sdx_fail_memory(call->error, SIZE_MAX, "a scan output");
    dims[0] *= 2;
    SDX_TRY(sdx_value_alloc_tensor(call->host->heap, old->dtype, old->rank, dims, &bigger,
                                   call->error));
    sdx_move_bytes(old->data, bigger->tensor.data, old->count * sdx_dtype_size(old->dtype),
                   call->host->pool);
    sdx_value_release(stack->value);
    stack->value = bigger;
    stack->lead[0] = dims[0];
    return SDX_STATUS_OK;
}

static bool same_element(const sdx_stack *stack, const sdx_tensor *element) {
    const sdx_tensor *all = &stack->value->tensor;
    if (all->dtype != element->dtype || all->rank != element->rank + stack->lead_rank)
        return false;
    for (int32_t i = 0; i < element->rank; i++)
        if (element->dims[i] != all->dims[i < stack->axis ? i : i + stack->lead_rank])
            return false;
    return true;
}

sdx_status sdx_stack_put(sdx_call *call, sdx_stack *stack, int64_t position,
                         const sdx_value *element, const char *what) {
    if (element->kind != SDX_KIND_TENSOR) return sdx_call_fail(call, "%s is not a tensor", what);
    const sdx_tensor *tensor = &element->tensor;
    if (!stack->value) {
        if (stack->grows) stack->lead[0] = FIRST_CAPACITY;
        SDX_TRY(allocate(call, stack, tensor->dtype, tensor->rank, tensor->dims));
    }
    if (!same_element(stack, tensor))
        return sdx_call_fail(call, "%s changed its shape or type from one round to the next "
                                   "(now %s of rank %d)",
                             what, sdx_dtype_name(tensor->dtype), tensor->rank);
    if (stack->grows && position >= stack->lead[0]) SDX_TRY(grow(call, stack));
    sdx_tensor *all = &stack->value->tensor;
    const size_t bytes = tensor->count * sdx_dtype_size(tensor->dtype);
    if (stack->axis == 0)
        sdx_move_bytes(tensor->data, (char *)all->data + (size_t)position * bytes, bytes,
                       call->host->pool);
    else sdx_part_write(all, stack->axis, position, 1, tensor->data, call->host->pool);
    return SDX_STATUS_OK;
}

/* A result without any element. Dims of an element that are not plain numbers become 0. */
static sdx_status make_empty(sdx_call *call, sdx_stack *stack, const sdx_type *shown) {
    int64_t dims[SDX_MAX_RANK];
    const int32_t rank = shown->rank < 0 ? 0 : shown->rank;
    if (shown->dtype == SDX_DTYPE_UNDEFINED)
        return sdx_call_fail(call, "no round was run, and the model does not tell the type of an "
                                   "element");
    for (int32_t i = 0; i < rank; i++)
        dims[i] = sdx_expr_is_const(shown->dims[i]) ? sdx_expr_value(shown->dims[i]) : 0;
    stack->sparse = true;
    return allocate(call, stack, shown->dtype, rank, dims);
}

sdx_status sdx_stack_finish(sdx_call *call, sdx_stack *stack, uint32_t o, int64_t rounds,
                            const sdx_type *shown) {
    if (stack->grows && rounds == 0) stack->lead[0] = 0;
    if (!stack->value) SDX_TRY(make_empty(call, stack, shown));
    sdx_value *value = stack->value;
    stack->value = NULL;
    if (stack->grows && rounds < stack->lead[0]) {
        /* The memory behind the last element stays unused. */
        value->tensor.count = value->tensor.count / (size_t)stack->lead[0] * (size_t)rounds;
        value->tensor.dims[0] = rounds;
    }
    return sdx_call_give(call, o, value);
}
