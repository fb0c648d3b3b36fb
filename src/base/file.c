/* file.c - mapping and reading files. The only place that opens a model. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static sdx_status read_all(int fd, const char *name, sdx_file *out, sdx_error *error) {
    uint8_t *memory = sdx_alloc(out->allocator, out->size, SDX_CACHE_LINE);
    if (!memory) return sdx_fail_memory(error, out->size, name);
    size_t have = 0;
    while (have < out->size) {
        ssize_t got = read(fd, memory + have, out->size - have);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            int reason = errno;
            sdx_free(out->allocator, memory, out->size);
            if (got == 0) return sdx_fail(error, SDX_STATUS_IO, "%s: shrank while it was read", name);
            return sdx_fail(error, SDX_STATUS_IO, "%s: cannot read: %s", name, strerror(reason));
        }
        have += (size_t)got;
    }
    out->data = memory;
    return SDX_STATUS_OK;
}

sdx_status sdx_file_from_fd(int fd, const char *name, bool copy, const sdx_allocator *allocator,
                            sdx_file *out, sdx_error *error) {
    memset(out, 0, sizeof *out);
    out->allocator = allocator ? allocator : &sdx_default_allocator;
    struct stat info;
    sdx_status status = SDX_STATUS_OK;
    if (fstat(fd, &info) != 0) {
        status = sdx_fail(error, SDX_STATUS_IO, "%s: cannot stat: %s", name, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        status = sdx_fail(error, SDX_STATUS_IO, "%s: not a regular file", name);
    } else if ((uint64_t)info.st_size > SIZE_MAX / 2) {
        status = sdx_fail(error, SDX_STATUS_IO, "%s: too large for this machine", name);
    } else if (info.st_size > 0) {
        out->size = (size_t)info.st_size;
        void *map = copy ? MAP_FAILED : mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            out->mapped = true;
            out->data = map;
        } else {
            status = read_all(fd, name, out, error); /* a file system without mmap, or a copy */
        }
    }
    close(fd);
    if (status != SDX_STATUS_OK) out->size = 0;
    return status;
}

sdx_status sdx_file_open(const char *path, bool copy, const sdx_allocator *allocator,
                         sdx_file *out, sdx_error *error) {
    memset(out, 0, sizeof *out);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sdx_fail(error, SDX_STATUS_IO, "%s: cannot open: %s", path, strerror(errno));
    return sdx_file_from_fd(fd, path, copy, allocator, out, error);
}

void sdx_file_close(sdx_file *file) {
    if (file->data) {
        if (file->mapped) munmap((void *)(uintptr_t)file->data, file->size);
        else sdx_free(file->allocator, (void *)(uintptr_t)file->data, file->size);
    }
    memset(file, 0, sizeof *file);
}

/* Where the page cache keeps a file in large pages, which depends on who wrote or read it and how, each look at
 * it maps 2 MiB, those that were given back too; the peak then varies with the file's past. Small pages
 * come 16 at a time. */
void sdx_file_read_once(const sdx_file *file) {
#ifdef MADV_NOHUGEPAGE
    if (file->mapped) madvise((void *)(uintptr_t)file->data, file->size, MADV_NOHUGEPAGE); /* a hint */
#else
    (void)file;
#endif
}

bool sdx_file_forget(const sdx_file *file, const void *data, size_t size) {
    uintptr_t begin = (uintptr_t)file->data, at = (uintptr_t)data;
    if (!file->data || at < begin || at - begin > file->size || size > file->size - (at - begin))
        return false;
    if (!file->mapped) return true;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (at + page - 1) / page * page, last = (at + size) / page * page;
    if (first < last) madvise((void *)first, last - first, MADV_DONTNEED);
    return true;
}
