/* checked.c - the one size computation too long for the header: elements of a shape.
 * Used by everything that turns dims into a count: files, planning, kernels' run-time shapes. */
#include "base/checked.h"

bool sdx_dims_count(const int64_t *dims, int32_t rank, size_t *count) {
    if (rank < 0) return false;
    /* Zeros are looked for first: [2^62, 2^62, 0] is an empty tensor, not an overflow, and
     * [0, -1] is an error, not an empty tensor. */
    bool empty = false;
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] < 0) return false;
        if (dims[i] == 0) empty = true;
    }
    size_t product = empty ? 0 : 1;
    for (int32_t i = 0; i < rank && !empty; i++) {
        uint64_t dim = (uint64_t)dims[i];
        if (dim > SIZE_MAX || !sdx_size_mul(product, (size_t)dim, &product)) return false;
    }
    *count = product;
    return true;
}
