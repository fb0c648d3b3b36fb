/* file.h - a file's bytes in memory, mapped where possible or read on request; and files written whole or
 * not at all. */
#ifndef SDX_BASE_FILE_H
#define SDX_BASE_FILE_H

#include <signal.h>

#include "base/memory.h"

typedef struct sdx_file {
    const uint8_t *data; /* NULL for an empty file */
    size_t size;
    bool mapped;
    const sdx_allocator *allocator; /* of a copy */
} sdx_file;

/* Refuses anything but a regular file. `copy` reads the file in place of mapping it. */
sdx_status sdx_file_open(const char *path, bool copy, const sdx_allocator *allocator,
                         sdx_file *out, sdx_error *error);
/* Takes an open descriptor (and closes it); name is for messages. */
sdx_status sdx_file_from_fd(int fd, const char *name, bool copy, const sdx_allocator *allocator,
                            sdx_file *out, sdx_error *error);
void sdx_file_close(sdx_file *file);
/* Its bytes are read about once, here and there, and then forgotten: no page comes into memory for more than a
 * few of its neighbours. */
void sdx_file_read_once(const sdx_file *file);
/* Whether [data, data + size) lies in the file's bytes; and if so and it is mapped, the pages wholly
 * inside may leave memory: they are read again when somebody looks. */
bool sdx_file_forget(const sdx_file *file, const void *data, size_t size);

/* ---- writing: file_out.c ----
 * A file appears under its name when it is whole, or not at all: whatever fails or ends the process in
 * between, path stays as it was. What is no regular file (a device, a pipe) is written to as it is. */

typedef struct sdx_piece {
    const void *data;
    size_t size;
} sdx_piece;
sdx_status sdx_file_write(const char *path, const sdx_piece *pieces, size_t count,
                          sdx_error *error);

/* The same in steps, by one thread. */
typedef struct sdx_file_out {
    int fd;             /* -1: none */
    const char *path;   /* the caller's, for messages */
    char *target;       /* what it leads to: a link stays one */
    char *temporary;    /* name beside the target, or NULL while the file has none */
    bool direct;        /* no regular file: there is nothing to rename */
    bool held;          /* signals wait while the file has a temporary name */
    sigset_t before;    /* the thread's signals, once they need not wait any more */
    uint64_t at;        /* bytes written */
} sdx_file_out;
/* in_order: nothing is put at places of its own, so that a pipe or a device can be written to. */
sdx_status sdx_file_begin(const char *path, bool in_order, sdx_file_out *out, sdx_error *error);
sdx_status sdx_file_put(sdx_file_out *out, const void *data, size_t size, sdx_error *error);
/* Writes again over bytes that are there. */
sdx_status sdx_file_put_at(sdx_file_out *out, uint64_t at, const void *data, size_t size,
                           sdx_error *error);
/* Puts the file where it belongs; `safely`: once it is on its device. */
sdx_status sdx_file_commit(sdx_file_out *out, bool safely, sdx_error *error);
/* Gives up; does nothing after a commit. */
void sdx_file_abandon(sdx_file_out *out);

#endif
