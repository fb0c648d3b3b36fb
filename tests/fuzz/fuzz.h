/* fuzz.h - what the fuzzers of this folder share. Each fuzz_*.c is one of them: it has the function
 * that libFuzzer calls, and is linked with libFuzzer in the tree `fuzz`, with replay.c for AFL++
 * and elsewhere. */
#ifndef SDX_TESTS_FUZZ_H
#define SDX_TESTS_FUZZ_H

#include "sardonyx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Of libFuzzer: changes the bytes somehow; in replay.c it does nothing. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);
/* A fuzzer may have them; where it has, libFuzzer uses them. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t capacity, unsigned seed);

#define FUZZ_MEMORY ((size_t)32 << 20)

/* Memory that counts: more than `limit` and a little held at a time, or something not given back,
 * is a finding. */
typedef struct fuzz_memory {
    sdx_allocator allocator;
    size_t held, limit;
} fuzz_memory;
void fuzz_memory_init(fuzz_memory *memory, size_t limit);
void fuzz_memory_check(const fuzz_memory *memory); /* nothing is held any more */

/* Ends the program with a report unless it holds. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) fuzz_fail(__FILE__, __LINE__, #condition);                               \
    } while (0)
_Noreturn void fuzz_fail(const char *file, int line, const char *condition);
/* Every failing call says what went wrong, in a sentence, and success says nothing. */
void fuzz_check_error(sdx_status status, const sdx_error *error);

/* Reads the bytes, so that sanitizers look at each. */
void fuzz_touch(const void *data, size_t size);

/* The bytes as a file, for what reads files alone; valid until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* Loads a model (ONNX or packed), asks everything that can be asked of it, makes programs and runs
 * them. */
void fuzz_model(const uint8_t *data, size_t size);

/* Numbers that look random, for mutators. */
typedef struct fuzz_random {
    uint64_t state;
} fuzz_random;
uint64_t fuzz_next(fuzz_random *random);
static inline size_t fuzz_below(fuzz_random *random, size_t bound) {
    return bound ? (size_t)(fuzz_next(random) % bound) : 0;
}

#endif
