/* fuzz_model.c - any bytes as a model. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_model(data, size);
    return 0;
}
