/* fuzz_tensor.c - any bytes as a file with a TensorProto, SequenceProto or OptionalProto. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const sdx_kind kinds[] = {SDX_KIND_TENSOR, SDX_KIND_SEQUENCE, SDX_KIND_OPTIONAL,
                                     SDX_KIND_MAP};
    const char *path = fuzz_file(data, size);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        fuzz_memory memory;
        fuzz_memory_init(&memory, SIZE_MAX / 2);
        sdx_value *value = NULL;
        sdx_error error = {0};
        fuzz_check_error(sdx_value_read_pb(path, kinds[i], &memory.allocator, &value, &error),
                         &error);
        sdx_value_release(value);
        fuzz_memory_check(&memory);
    }
    return 0;
}
