/* constant.c - the attribute of a Constant node, in all its spellings, as an sdx_const. */
#include <string.h>

#include "onnx/loader.h"

static sdx_status make(sdx_loader *loader, sdx_dtype dtype, int32_t rank, size_t count,
                       const void *data, size_t size, const sdx_const **out) {
    sdx_const *constant = sdx_arena_alloc(&loader->module->arena, sizeof *constant);
    int64_t *dims = sdx_arena_array(&loader->module->arena, 1, sizeof *dims);
    if (!constant || !dims) return sdx_load_no_memory(loader);
    dims[0] = (int64_t)count;
    *constant = (sdx_const){.dtype = dtype, .rank = rank, .dims = dims, .count = count,
                            .data = data, .bytes = count * size, .host = true,
                            .position = SDX_NO_POSITION, .name = ""};
    *out = constant;
    return SDX_STATUS_OK;
}

sdx_status sdx_constant_from_attr(sdx_loader *loader, const sdx_attr *attr,
                                  const sdx_const **out) {
    static const struct {
        const char *name;
        sdx_attr_kind kind;
        sdx_dtype dtype;
        int32_t rank;
        size_t size;
    } spellings[] = {
        {"value", SDX_ATTR_TENSOR, SDX_DTYPE_UNDEFINED, 0, 0},
        {"sparse_value", SDX_ATTR_SPARSE_TENSOR, SDX_DTYPE_UNDEFINED, 0, 0},
        {"value_float", SDX_ATTR_FLOAT, SDX_DTYPE_FLOAT32, 0, sizeof(float)},
        {"value_floats", SDX_ATTR_FLOATS, SDX_DTYPE_FLOAT32, 1, sizeof(float)},
        {"value_int", SDX_ATTR_INT, SDX_DTYPE_INT64, 0, sizeof(int64_t)},
        {"value_ints", SDX_ATTR_INTS, SDX_DTYPE_INT64, 1, sizeof(int64_t)},
        {"value_string", SDX_ATTR_STRING, SDX_DTYPE_STRING, 0, sizeof(sdx_string)},
        {"value_strings", SDX_ATTR_STRINGS, SDX_DTYPE_STRING, 1, sizeof(sdx_string)},
    };
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (strcmp(attr->name, spellings[i].name) != 0) continue;
        if (attr->kind != spellings[i].kind)
            return sdx_bad(loader, SDX_NO_POSITION, "attribute '%s' is %s, expected %s",
                           attr->name, sdx_attr_kind_name(attr->kind),
                           sdx_attr_kind_name(spellings[i].kind));
        if (spellings[i].size == 0) {
            *out = attr->as.tensors[0];
            return SDX_STATUS_OK;
        }
        return make(loader, spellings[i].dtype, spellings[i].rank, attr->count, attr->as.ints,
                    spellings[i].size, out);
    }
    return sdx_bad(loader, SDX_NO_POSITION, "Constant has the unknown attribute '%s'", attr->name);
}
