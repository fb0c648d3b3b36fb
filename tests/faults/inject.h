/* inject.h - calls that fail on purpose: of memory, files and threads, the n-th of a kind, once or from then on.
 * The linker puts these functions between the library and the system (CMakeLists.txt lists them). */
#ifndef SDX_TESTS_FAULTS_INJECT_H
#define SDX_TESTS_FAULTS_INJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "sardonyx.h"

typedef enum fault_kind {
    FAULT_MEMORY,    /* malloc and its like, whoever calls */
    FAULT_ALLOCATOR, /* fault_allocator, as a caller of the library would give it */
    FAULT_OPEN,
    FAULT_READ,
    FAULT_MAP,
    FAULT_WRITE,
    FAULT_SYNC,
    FAULT_NAME, /* rename, linkat, close of a file that was written */
    FAULT_THREAD,
    FAULT_KINDS
} fault_kind;

typedef enum fault_way {
    FAULT_ONCE,
    FAULT_ON,   /* that call and all after it */
    FAULT_SHORT /* reads and writes do a part of what they were asked for, or are interrupted */
} fault_way;

/* The at-th call from now on fails (0: none does, they are counted). */
void fault_arm(fault_kind kind, fault_way way, size_t at);
void fault_disarm(void);
size_t fault_count(fault_kind kind); /* calls since fault_arm */
bool fault_happened(void);
const char *fault_name(fault_kind kind);
/* Blocks that were taken and not given back; only where malloc itself is replaced, else 0. */
long fault_live(void);

extern const sdx_allocator fault_allocator; /* checks sizes and alignments, too */
long fault_allocator_live(void);

#endif
