/* fuzz.c - what the fuzzers share: memory that counts, checks, files in memory. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Noreturn void fuzz_fail(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

/* What tables and the like may hold above the limit before they notice. */
#define SLACK ((size_t)1 << 20)

static void *allocate(void *user, size_t size, size_t alignment) {
    fuzz_memory *memory = user;
    /* Not counted before it is there: what malloc refuses is nobody's fault. */
    FUZZ_CHECK(memory->held + size <= memory->limit + SLACK);
    void *made = NULL;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    if (posix_memalign(&made, alignment, size ? size : 1) != 0) return NULL;
    memset(made, 0xa5, size); /* what nobody wrote is no zero */
    memory->held += size;
    return made;
}

static void release(void *user, void *data, size_t size) {
    fuzz_memory *memory = user;
    if (data) {
        FUZZ_CHECK(memory->held >= size);
        memory->held -= size;
    }
    free(data);
}

void fuzz_memory_init(fuzz_memory *memory, size_t limit) {
    *memory = (fuzz_memory){{memory, allocate, release}, 0, limit};
}

void fuzz_memory_check(const fuzz_memory *memory) { FUZZ_CHECK(memory->held == 0); }

void fuzz_check_error(sdx_status status, const sdx_error *error) {
    FUZZ_CHECK(status != SDX_STATUS_INTERNAL);
    FUZZ_CHECK(error->code == status);
    FUZZ_CHECK(memchr(error->message, 0, sizeof error->message) != NULL);
    FUZZ_CHECK((status == SDX_STATUS_OK) == (error->message[0] == 0));
}

void fuzz_touch(const void *data, size_t size) {
    static volatile uint8_t sum;
    uint8_t all = 0;
    for (size_t i = 0; i < size; i++) all = (uint8_t)(all ^ ((const uint8_t *)data)[i]);
    sum = all;
    (void)sum;
}

const char *fuzz_file(const uint8_t *data, size_t size) {
    static int fd = -1;
    static char path[64];
    if (fd >= 0) close(fd);
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0);
    for (size_t at = 0; at < size;) {
        ssize_t done = write(fd, data + at, size - at);
        FUZZ_CHECK(done > 0);
        at += (size_t)done;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

uint64_t fuzz_next(fuzz_random *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
