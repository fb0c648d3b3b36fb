/* file.c - mapping, reading and atomically replacing files. The only place that opens a model. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"

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

static bool write_all(int fd, const void *data, size_t size) {
    const char *bytes = data;
    while (size) {
        ssize_t put = write(fd, bytes, size);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

/* The rename at the end would put a file in the place of a device or a pipe, and fails only then for a
 * folder. */
static sdx_status check_place(const char *path, sdx_error *error) {
    struct stat there;
    if (stat(path, &there) != 0 || S_ISREG(there.st_mode)) return SDX_STATUS_OK;
    return sdx_fail(error, SDX_STATUS_IO, "%s: cannot write: %s", path,
                    S_ISDIR(there.st_mode) ? strerror(EISDIR) : "it is no regular file");
}

sdx_status sdx_file_write(const char *path, const sdx_piece *pieces, size_t count,
                          sdx_error *error) {
    SDX_TRY(check_place(path, error));
    size_t size = strlen(path) + 16;
    char *temporary = malloc(size);
    if (!temporary) return sdx_fail_memory(error, size, "a file name");
    snprintf(temporary, size, "%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    bool ok = fd >= 0 && fchmod(fd, 0644) == 0;
    for (size_t i = 0; ok && i < count; i++) ok = write_all(fd, pieces[i].data, pieces[i].size);
    int reason = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        reason = errno;
        ok = false;
    }
    if (ok && rename(temporary, path) != 0) {
        reason = errno;
        ok = false;
    }
    if (!ok && fd >= 0) unlink(temporary);
    free(temporary);
    return ok ? SDX_STATUS_OK
              : sdx_fail(error, SDX_STATUS_IO, "%s: cannot write: %s", path, strerror(reason));
}

/* ---- in steps ---------------------------------------------------------------------------------- */

static sdx_status cannot_write(const sdx_file_out *out, sdx_error *error) {
    return sdx_fail(error, SDX_STATUS_IO, "%s: cannot write: %s", out->path, strerror(errno));
}

/* Of the path, for a file without a name and for making the rename last. */
static int open_folder(const char *path, int flags) {
    const char *slash = strrchr(path, '/');
    char *folder = !slash ? strdup(".") : slash == path ? strdup("/")
                                                        : strndup(path, (size_t)(slash - path));
    int fd = folder ? open(folder, flags | O_CLOEXEC, 0644) : -1;
    free(folder);
    return fd;
}

/* A name beside the path that no file has. */
static bool make_name(sdx_file_out *out) {
    size_t size = strlen(out->path) + 16;
    out->temporary = malloc(size);
    if (out->temporary) snprintf(out->temporary, size, "%s.XXXXXX", out->path);
    return out->temporary != NULL;
}

sdx_status sdx_file_begin(const char *path, sdx_file_out *out, sdx_error *error) {
    *out = (sdx_file_out){.path = path, .fd = -1};
    SDX_TRY(check_place(path, error));
#ifdef O_TMPFILE
    out->fd = open_folder(path, O_TMPFILE | O_RDWR); /* vanishes with the process */
    if (out->fd >= 0) return SDX_STATUS_OK;
#endif
    out->fd = make_name(out) ? mkostemp(out->temporary, O_CLOEXEC) : -1;
    if (out->fd >= 0 && fchmod(out->fd, 0644) == 0) return SDX_STATUS_OK;
    sdx_status status = cannot_write(out, error);
    sdx_file_abandon(out);
    return status;
}

sdx_status sdx_file_put(sdx_file_out *out, const void *data, size_t size, sdx_error *error) {
    if (!write_all(out->fd, data, size)) return cannot_write(out, error);
    out->at += size;
    return SDX_STATUS_OK;
}

sdx_status sdx_file_put_at(sdx_file_out *out, uint64_t at, const void *data, size_t size,
                           sdx_error *error) {
    const char *bytes = data;
    while (size) {
        ssize_t put = pwrite(out->fd, bytes, size, (off_t)at);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return cannot_write(out, error);
        bytes += put;
        at += (uint64_t)put;
        size -= (size_t)put;
    }
    return SDX_STATUS_OK;
}

/* A file without a name gets one beside the path, as a rename needs. */
static bool give_name(sdx_file_out *out) {
    char self[64];
    if (out->temporary) return true;
    snprintf(self, sizeof self, "/proc/self/fd/%d", out->fd);
    if (!make_name(out)) return false;
    for (int tries = 0; tries < 16; tries++) {
        /* mkostemp finds a free name; linkat takes it over. */
        int taken = mkostemp(out->temporary, O_CLOEXEC);
        if (taken < 0) break;
        close(taken);
        unlink(out->temporary);
        if (linkat(AT_FDCWD, self, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW) == 0) return true;
        if (errno != EEXIST) break;
        snprintf(out->temporary, strlen(out->path) + 16, "%s.XXXXXX", out->path);
    }
    int reason = errno;
    free(out->temporary);
    out->temporary = NULL;
    errno = reason;
    return false;
}

sdx_status sdx_file_commit(sdx_file_out *out, sdx_error *error) {
    bool ok = fsync(out->fd) == 0 && give_name(out) && rename(out->temporary, out->path) == 0;
    if (!ok) {
        sdx_status status = cannot_write(out, error);
        sdx_file_abandon(out);
        return status;
    }
    int folder = open_folder(out->path, O_RDONLY | O_DIRECTORY);
    if (folder >= 0) {
        fsync(folder); /* some file systems cannot: the name is there all the same */
        close(folder);
    }
    close(out->fd);
    free(out->temporary);
    *out = (sdx_file_out){.fd = -1};
    return SDX_STATUS_OK;
}

void sdx_file_abandon(sdx_file_out *out) {
    if (out->fd >= 0) {
        close(out->fd);
        if (out->temporary) unlink(out->temporary);
    }
    free(out->temporary);
    *out = (sdx_file_out){.fd = -1};
}
