/* file_out.c - files that appear whole or not at all: written without a name where the system can
 * (O_TMPFILE: such a file vanishes with the process), else under a temporary name, and renamed at the end.
 * While a temporary name exists, signals to the thread wait, so that none of them leaves it behind. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"

#define NAME_TRIES 64
#define NAME_ROOM  32 /* of a temporary name behind its folder */

static sdx_status cannot_write(const sdx_file_out *out, sdx_error *error) {
    return sdx_fail(error, errno == ENOMEM ? SDX_STATUS_NO_MEMORY : SDX_STATUS_IO,
                    "%s: cannot write: %s", out->path, strerror(errno));
}

/* ---- signals ----------------------------------------------------------------------------------- */

static void hold_signals(sdx_file_out *out) {
    static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t block;
    if (out->held) return;
    sigfillset(&block);
    for (size_t i = 0; i < sizeof own_faults / sizeof *own_faults; i++)
        sigdelset(&block, own_faults[i]);
    out->held = pthread_sigmask(SIG_BLOCK, &block, &out->before) == 0;
}

static void let_signals(sdx_file_out *out) {
    if (out->held) pthread_sigmask(SIG_SETMASK, &out->before, NULL);
    out->held = false;
}

/* ---- names ------------------------------------------------------------------------------------- */

/* Length of the part of a path that names its folder, with the slash; 0: the current one. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static int open_folder(const char *path, int flags) {
    size_t length = folder_length(path);
    char *folder = length ? strndup(path, length) : strdup(".");
    int fd = folder ? open(folder, flags | O_CLOEXEC, 0666) : -1;
    int reason = errno;
    free(folder);
    errno = reason;
    return fd;
}

/* Gives the file a name that no other has: an open one without a name, or (fd -1) a new one. */
static bool take_name(sdx_file_out *out) {
    size_t length = folder_length(out->target);
    char *name = malloc(length + NAME_ROOM), self[64];
    uint64_t seed = sdx_nanoseconds() ^ (uint64_t)getpid() << 32;
    bool done = false;
    if (!name) return false;
    memcpy(name, out->target, length);
    snprintf(self, sizeof self, "/proc/self/fd/%d", out->fd);
    hold_signals(out);
    errno = EEXIST;
    for (int tries = 0; !done && errno == EEXIST && tries < NAME_TRIES; tries++) {
        seed = sdx_hash_add(sdx_hash_mul(seed, 6364136223846793005u), 1442695040888963407u);
        snprintf(name + length, NAME_ROOM, ".sardonyx-%08lx", (unsigned long)(seed >> 32));
        if (out->fd >= 0) {
            done = linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
        } else {
            out->fd = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
            done = out->fd >= 0;
        }
    }
    if (done) {
        out->temporary = name;
        return true;
    }
    int reason = errno;
    free(name);
    errno = reason;
    return false;
}

/* ---- in steps ---------------------------------------------------------------------------------- */

/* What lies there already decides: a device or a pipe is opened, and a file leaves its permissions behind. */
static bool open_out(sdx_file_out *out) {
    struct stat there;
    bool exists = stat(out->path, &there) == 0;
    if (exists && !S_ISREG(there.st_mode)) {
        out->direct = true;
        out->fd = open(out->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return out->fd >= 0;
    }
    out->target = exists ? realpath(out->path, NULL) : strdup(out->path);
    if (!out->target) return false;
#ifdef O_TMPFILE
    /* Its name is made through /proc in the end. */
    if (access("/proc/self/fd", X_OK) == 0) out->fd = open_folder(out->target, O_TMPFILE | O_RDWR);
#endif
    if (out->fd < 0 && !take_name(out)) return false;
    return !exists || fchmod(out->fd, there.st_mode & 0777) == 0;
}

sdx_status sdx_file_begin(const char *path, bool in_order, sdx_file_out *out, sdx_error *error) {
    struct stat there;
    *out = (sdx_file_out){.fd = -1, .path = path};
    if (!in_order && stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return sdx_fail(error, SDX_STATUS_IO, "%s: cannot write: %s", path,
                        S_ISDIR(there.st_mode) ? strerror(EISDIR) : "it is no regular file");
    if (open_out(out)) return SDX_STATUS_OK;
    sdx_status status = cannot_write(out, error);
    sdx_file_abandon(out);
    return status;
}

sdx_status sdx_file_put(sdx_file_out *out, const void *data, size_t size, sdx_error *error) {
    const char *bytes = data;
    while (size) {
        ssize_t put = write(out->fd, bytes, size);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return cannot_write(out, error);
        bytes += put;
        out->at += (uint64_t)put;
        size -= (size_t)put;
    }
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

static bool finish(sdx_file_out *out, bool safely) {
    if (!out->direct && safely && fsync(out->fd) != 0) return false;
    if (!out->direct && !out->temporary && !take_name(out)) return false;
    int fd = out->fd;
    out->fd = -1;
    if (close(fd) != 0) return false; /* some systems tell only now that the disk is full */
    return out->direct || rename(out->temporary, out->target) == 0;
}

sdx_status sdx_file_commit(sdx_file_out *out, bool safely, sdx_error *error) {
    if (!finish(out, safely)) {
        sdx_status status = cannot_write(out, error);
        sdx_file_abandon(out);
        return status;
    }
    int folder = safely && !out->direct ? open_folder(out->target, O_RDONLY | O_DIRECTORY) : -1;
    if (folder >= 0) {
        fsync(folder); /* some file systems cannot: the name is there all the same */
        close(folder);
    }
    free(out->temporary);
    out->temporary = NULL;
    sdx_file_abandon(out);
    return SDX_STATUS_OK;
}

void sdx_file_abandon(sdx_file_out *out) {
    if (out->fd >= 0) close(out->fd);
    if (out->temporary) unlink(out->temporary);
    let_signals(out);
    free(out->temporary);
    free(out->target);
    *out = (sdx_file_out){.fd = -1};
}

/* ---- at once ----------------------------------------------------------------------------------- */

static sdx_status write_pieces(const char *path, const sdx_piece *pieces, size_t count, bool safely,
                               sdx_error *error) {
    sdx_file_out out;
    SDX_TRY(sdx_file_begin(path, true, &out, error));
    sdx_status status = SDX_STATUS_OK;
    for (size_t i = 0; status == SDX_STATUS_OK && i < count; i++)
        status = sdx_file_put(&out, pieces[i].data, pieces[i].size, error);
    if (status == SDX_STATUS_OK) status = sdx_file_commit(&out, safely, error);
    sdx_file_abandon(&out);
    return status;
}

sdx_status sdx_file_write(const char *path, const sdx_piece *pieces, size_t count,
                          sdx_error *error) {
    return write_pieces(path, pieces, count, false, error);
}

sdx_status sdx_replace_file(const char *path, const void *bytes, size_t size, sdx_error *error) {
    sdx_error_clear(error);
    if (!path || (!bytes && size))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_replace_file: NULL given");
    return write_pieces(path, &(sdx_piece){bytes, size}, 1, true, error);
}
