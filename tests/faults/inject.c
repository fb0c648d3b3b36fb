/* inject.c - see inject.h. In the plain tree malloc and its like are defined here, so that libraries beneath
 * (codecs, PCRE2, the C library) meet failing memory as well; sanitizers bring a malloc of their own, and there
 * the linker wraps the calls of Sardonyx's code alone (FAULT_WRAP). In a program that knows nothing of this file
 * the variable FAULT says what fails: FAULT=write:3 or FAULT=memory:17+ (from then on). */
#include "inject.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const names[FAULT_KINDS] = {"memory", "allocator", "open", "read", "map",
                                               "write",  "sync",      "name", "thread"};
static atomic_size_t counts[FAULT_KINDS];
static atomic_size_t target; /* 0: nothing fails */
static _Atomic fault_kind armed_kind;
static _Atomic fault_way armed_way;
static atomic_bool happened;
static atomic_long live, allocator_live;
static atomic_uint turns; /* of short reads and writes */

void fault_arm(fault_kind kind, fault_way way, size_t at) {
    atomic_store(&target, 0);
    for (int i = 0; i < FAULT_KINDS; i++) atomic_store(&counts[i], 0);
    atomic_store(&armed_kind, kind);
    atomic_store(&armed_way, way);
    atomic_store(&happened, false);
    atomic_store(&target, at);
}

void fault_disarm(void) { atomic_store(&target, 0); }
size_t fault_count(fault_kind kind) { return atomic_load(&counts[kind]); }
bool fault_happened(void) { return atomic_load(&happened); }
const char *fault_name(fault_kind kind) { return names[kind]; }
long fault_live(void) { return atomic_load(&live); }
long fault_allocator_live(void) { return atomic_load(&allocator_live); }

static bool fails(fault_kind kind, int reason) {
    size_t at = atomic_fetch_add(&counts[kind], 1) + 1, wanted = atomic_load(&target);
    if (!wanted || atomic_load(&armed_kind) != kind) return false;
    fault_way way = atomic_load(&armed_way);
    if (way == FAULT_SHORT || !(way == FAULT_ON ? at >= wanted : at == wanted)) return false;
    atomic_store(&happened, true);
    errno = reason;
    return true;
}

/* How much of `size` a short call does; 0: it is interrupted. */
static size_t shortened(fault_kind kind, size_t size) {
    if (!atomic_load(&target) || atomic_load(&armed_kind) != kind ||
        atomic_load(&armed_way) != FAULT_SHORT)
        return size;
    unsigned turn = atomic_fetch_add(&turns, 1);
    atomic_store(&happened, true);
    if (turn % 3 == 0) errno = EINTR;
    return turn % 3 == 0 ? 0 : size > 700 ? size / 2 : size;
}

__attribute__((constructor)) static void arm_by_environment(void) {
    const char *text = getenv("FAULT"), *colon = text ? strchr(text, ':') : NULL;
    char *end = NULL;
    for (int i = 0; colon && i < FAULT_KINDS; i++) {
        if (strncmp(text, names[i], (size_t)(colon - text)) != 0 || names[i][colon - text]) continue;
        unsigned long at = strtoul(colon + 1, &end, 10);
        fault_arm((fault_kind)i, *end == '+' ? FAULT_ON : *end == '~' ? FAULT_SHORT : FAULT_ONCE, at);
    }
}

/* Where FAULT_LOG says, the numbers of calls, for whoever wants to know how far to count. */
__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("FAULT_LOG");
    char line[400];
    size_t length = 0;
    for (int i = 0; path && i < FAULT_KINDS; i++)
        length += (size_t)snprintf(line + length, sizeof line - length, "%s %zu\n", names[i],
                                   fault_count((fault_kind)i));
    fault_disarm();
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fwrite(line, 1, length, file);
    fclose(file);
}

/* ---- memory -------------------------------------------------------------------------------------- */

#ifdef FAULT_WRAP
#define HOOK(name) __wrap_##name
#define REAL(name) __real_##name
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
char *__wrap_strdup(const char *text) {
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : __real_strdup(text);
}
char *__wrap_strndup(const char *text, size_t size) {
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : __real_strndup(text, size);
}
#else
#define HOOK(name) name
#define REAL(name) __libc_##name
void *__libc_memalign(size_t alignment, size_t size);
#endif
#pragma GCC visibility push(default) /* so that libraries beneath find these first */
void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t count, size_t size);
void *REAL(realloc)(void *memory, size_t size);
void REAL(free)(void *memory);
void *HOOK(malloc)(size_t size);
void *HOOK(calloc)(size_t count, size_t size);
void *HOOK(realloc)(void *memory, size_t size);
void HOOK(free)(void *memory);
void *HOOK(aligned_alloc)(size_t alignment, size_t size);
int HOOK(posix_memalign)(void **memory, size_t alignment, size_t size);
#pragma GCC visibility pop

static void *counted(void *memory) {
    if (memory) atomic_fetch_add(&live, 1);
    return memory;
}

static void *aligned(size_t alignment, size_t size) {
#ifdef FAULT_WRAP
    void *memory = NULL;
    return __real_posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
#else
    return __libc_memalign(alignment, size);
#endif
}

void *HOOK(malloc)(size_t size) {
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(REAL(malloc)(size));
}
void *HOOK(calloc)(size_t count, size_t size) {
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(REAL(calloc)(count, size));
}
void *HOOK(realloc)(void *memory, size_t size) {
    if (fails(FAULT_MEMORY, ENOMEM)) return NULL;
    if (!memory) return counted(REAL(realloc)(NULL, size));
    return REAL(realloc)(memory, size);
}
void HOOK(free)(void *memory) {
    if (memory) atomic_fetch_sub(&live, 1);
    REAL(free)(memory);
}
void *HOOK(aligned_alloc)(size_t alignment, size_t size) {
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(aligned(alignment, size));
}
int HOOK(posix_memalign)(void **memory, size_t alignment, size_t size) {
    void *made = fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(aligned(alignment, size));
    if (made) *memory = made;
    return made ? 0 : ENOMEM;
}

/* ---- the caller's allocator ------------------------------------------------------------------------- */

/* Size and alignment stand before the block, and are compared with what it is given back as. */
typedef struct header {
    size_t size, offset;
} header;

static void *allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    size_t room = alignment < sizeof(header) ? sizeof(header) : alignment;
    if (fails(FAULT_ALLOCATOR, ENOMEM)) return NULL;
    char *memory = aligned(room, size + room);
    if (!memory) return NULL;
    atomic_fetch_add(&allocator_live, 1);
    header *h = (header *)(void *)(memory + room) - 1;
    *h = (header){size, room};
    memset(memory + room, 0xa5, size < 4096 ? size : 4096); /* nothing may count on zeros */
    return memory + room;
}

static void release(void *user, void *memory, size_t size) {
    (void)user;
    header *h = (header *)memory - 1;
    if (h->size != size) {
        fprintf(stderr, "a block of %zu bytes is given back as one of %zu\n", h->size, size);
        abort();
    }
    atomic_fetch_sub(&allocator_live, 1);
    REAL(free)((char *)memory - h->offset);
}

const sdx_allocator fault_allocator = {NULL, allocate, release};

/* ---- files and threads ------------------------------------------------------------------------------ */

#define CALL(type, name, parameters, arguments, kind, reason, failed)                             \
    type __real_##name parameters;                                                                \
    type __wrap_##name parameters;                                                                \
    type __wrap_##name parameters { return fails(kind, reason) ? failed : __real_##name arguments; }

CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode), FAULT_OPEN, EMFILE, NULL)
CALL(DIR *, opendir, (const char *path), (path), FAULT_OPEN, EMFILE, NULL)
CALL(int, mkstemp, (char *path), (path), FAULT_OPEN, EMFILE, -1)
CALL(char *, mkdtemp, (char *path), (path), FAULT_OPEN, ENOSPC, NULL)
CALL(int, fsync, (int fd), (fd), FAULT_SYNC, EIO, -1)
CALL(int, rename, (const char *from, const char *to), (from, to), FAULT_NAME, EIO, -1)
CALL(int, linkat, (int a, const char *from, int b, const char *to, int flags),
     (a, from, b, to, flags), FAULT_NAME, ENOSPC, -1)
CALL(void *, mmap, (void *at, size_t size, int protection, int flags, int fd, off_t offset),
     (at, size, protection, flags, fd, offset), FAULT_MAP, ENOMEM, MAP_FAILED)
CALL(pid_t, fork, (void), (), FAULT_THREAD, EAGAIN, -1)

int __real_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*body)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*body)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*body)(void *),
                          void *arg) {
    if (fails(FAULT_THREAD, EAGAIN)) return EAGAIN;
    return __real_pthread_create(id, attributes, body, arg);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    mode_t mode = va_arg(args, mode_t);
    va_end(args);
    if ((flags & O_TMPFILE) == O_TMPFILE && getenv("FAULT_NO_TMPFILE")) { /* as on NFS and others */
        errno = EOPNOTSUPP;
        return -1;
    }
    return fails(FAULT_OPEN, EMFILE) ? -1 : __real_open(path, flags, mode);
}

/* openat2 has no function of its own. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_openat2 && fails(FAULT_OPEN, EMFILE)) return -1;
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size) {
    if (fails(FAULT_READ, EIO)) return -1;
    size_t part = shortened(FAULT_READ, size);
    return size && !part ? -1 : __real_read(fd, to, part);
}

ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size) {
    if (fails(FAULT_WRITE, ENOSPC)) return -1;
    size_t part = shortened(FAULT_WRITE, size);
    return size && !part ? -1 : __real_write(fd, from, part);
}

ssize_t __real_pwrite(int fd, const void *from, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *from, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *from, size_t size, off_t at) {
    if (fails(FAULT_WRITE, ENOSPC)) return -1;
    size_t part = shortened(FAULT_WRITE, size);
    return size && !part ? -1 : __real_pwrite(fd, from, part, at);
}
