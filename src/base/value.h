/* value.h - what flows along the graph's edges at run time: a tensor, a sequence, a map, or
 * nothing. Reference-counted. A value either owns its bytes (heap) or borrows them (arena, model
 * file, caller); a borrowed one must be copied before it is kept beyond the step at hand. */
#ifndef SDX_BASE_VALUE_H
#define SDX_BASE_VALUE_H

#include <stdatomic.h>

#include "base/memory.h"

struct sdx_value {
    atomic_uint references;
    sdx_kind kind; /* NONE, TENSOR, SEQUENCE or MAP */
    bool borrowed; /* tensor.data belongs to someone else */
    const sdx_allocator *allocator; /* NULL: the struct itself is part of a bigger object */
    size_t allocation;              /* bytes behind this struct, for release */
    sdx_tensor tensor;
    sdx_value *base;   /* a view's owner, retained; NULL otherwise */
    sdx_value **items; /* SEQUENCE: elements; MAP: items[0] keys, items[1] values; retained */
    size_t item_count;
};

/* A tensor with uninitialised data of its own, one allocation, data aligned to a cache line. */
sdx_status sdx_value_alloc_tensor(const sdx_allocator *allocator, sdx_dtype dtype, int32_t rank,
                                  const int64_t *dims, sdx_value **out, sdx_error *error);
/* Another shape over the bytes of `base` (retained unless borrowed); counts must agree. */
sdx_status sdx_value_alloc_view(const sdx_allocator *allocator, sdx_value *base, sdx_dtype dtype,
                                int32_t rank, const int64_t *dims, sdx_value **out,
                                sdx_error *error);
/* A tensor value over memory that someone else keeps alive. */
sdx_status sdx_value_alloc_borrowed(const sdx_allocator *allocator, const sdx_tensor *tensor,
                                    sdx_value **out, sdx_error *error);
sdx_status sdx_value_alloc_list(const sdx_allocator *allocator, sdx_kind kind, size_t count,
                                sdx_value **out, sdx_error *error);
sdx_status sdx_value_alloc_none(const sdx_allocator *allocator, sdx_value **out, sdx_error *error);
/* value itself, retained, if it (and all inside) owns its bytes, else a deep copy. */
sdx_status sdx_value_keep(const sdx_allocator *allocator, sdx_value *value, sdx_value **out,
                          sdx_error *error);

#endif
