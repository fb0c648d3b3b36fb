/* fuzz_npy.c - any bytes as a .npy file. What was read is written and read again. */
#include <string.h>

#include "fuzz.h"

static sdx_value *read_npy(const char *path, fuzz_memory *memory) {
    sdx_value *value = NULL;
    sdx_error error = {0};
    fuzz_check_error(sdx_value_read_npy(path, &memory->allocator, &value, &error), &error);
    return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char again[] = "/dev/shm/sardonyx-fuzz.npy";
    fuzz_memory memory;
    fuzz_memory_init(&memory, SIZE_MAX / 2);
    sdx_value *first = read_npy(fuzz_file(data, size), &memory);
    const sdx_tensor *a = first ? sdx_value_tensor(first) : NULL;
    if (a && a->dtype != SDX_DTYPE_STRING) {
        fuzz_touch(a->data, a->count * sdx_dtype_size(a->dtype));
        sdx_error error = {0};
        sdx_status status = sdx_value_write_npy(again, a, &error);
        fuzz_check_error(status, &error);
        sdx_value *second = status == SDX_STATUS_OK ? read_npy(again, &memory) : NULL;
        const sdx_tensor *b = second ? sdx_value_tensor(second) : NULL;
        if (status == SDX_STATUS_OK) {
            FUZZ_CHECK(b && b->dtype == a->dtype && b->rank == a->rank && b->count == a->count);
            FUZZ_CHECK(!a->count ||
                       memcmp(a->data, b->data, a->count * sdx_dtype_size(a->dtype)) == 0);
        }
        sdx_value_release(second);
    }
    sdx_value_release(first);
    fuzz_memory_check(&memory);
    return 0;
}
