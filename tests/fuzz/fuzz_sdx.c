/* fuzz_sdx.c - any bytes as a packed file. Digests would stop nearly all of them at the door: the
 * mutator changes the index or the header and seals the file again, as an attacker would. */

#include "base/sha1.h"
#include "fuzz.h"
#include "pack/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_model(data, size);
    return 0;
}

static uint64_t get64(const uint8_t *at) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

static void put64(uint8_t *at, uint64_t value) {
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(value >> 8 * i);
}

/* Where the index begins; 0 where there is none behind the header. */
static size_t find_index(const uint8_t *data, size_t size) {
    uint64_t at = size > SDX_PACKED_HEADER ? get64(data + SDX_HEADER_INDEX_AT) : 0;
    return at >= SDX_PACKED_HEADER && at < size ? (size_t)at : 0;
}

static void seal(uint8_t *data, size_t size, size_t index) {
    put64(data + SDX_HEADER_FILE_SIZE, size);
    put64(data + SDX_HEADER_INDEX_SIZE, size - index);
    sdx_sha1(data + index, size - index, data + SDX_HEADER_INDEX_DIGEST);
    sdx_sha1(data, SDX_HEADER_DIGEST, data + SDX_HEADER_DIGEST);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    fuzz_random random = {seed};
    size_t index = find_index(data, size);
    if (!index || fuzz_below(&random, 20) == 0) return LLVMFuzzerMutate(data, size, capacity);
    if (fuzz_below(&random, 20) == 0) { /* the header, and a digest that fits */
        data[fuzz_below(&random, SDX_HEADER_DIGEST)] ^= (uint8_t)(1u << fuzz_below(&random, 8));
        sdx_sha1(data, SDX_HEADER_DIGEST, data + SDX_HEADER_DIGEST);
        return size;
    }
    size_t changed = size - index;
    for (size_t i = 1 + fuzz_below(&random, 3); i > 0; i--)
        changed = LLVMFuzzerMutate(data + index, changed, capacity - index);
    seal(data, index + changed, index);
    return index + changed;
}
