/* external.c - external data, contained by the kernel: a path is resolved beneath the folder's
 * descriptor (openat2, RESOLVE_BENEATH), so that "..", absolute paths and links cannot leave it.
 * Where openat2 is missing, each component is opened in turn and no link is followed. */
#include "onnx/external.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha1.h"

#define LONGEST_PATH 4095

typedef struct data_file {
    sdx_span location; /* as written in the model */
    sdx_file file;
    bool digest_known;
    uint8_t digest[20];
} data_file;

struct sdx_external {
    const sdx_allocator *allocator;
    int root; /* descriptor, or -1 */
    bool copy;
    bool allowed;
    sdx_vector files; /* data_file */
    uint64_t bytes;
};

sdx_status sdx_external_create(const sdx_allocator *allocator, const char *root, bool copy,
                               sdx_external **out, sdx_error *error) {
    sdx_external *external = sdx_alloc(allocator, sizeof *external, _Alignof(max_align_t));
    if (!external) return sdx_fail_memory(error, sizeof *external, "external data");
    memset(external, 0, sizeof *external);
    external->allocator = allocator;
    external->root = -1;
    external->copy = copy;
    external->allowed = root != NULL;
    if (root) {
        external->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (external->root < 0) {
            int reason = errno;
            sdx_free(allocator, external, sizeof *external);
            return sdx_fail(error, SDX_STATUS_IO, "%s: cannot open the folder: %s", root,
                            strerror(reason));
        }
    }
    *out = external;
    return SDX_STATUS_OK;
}

void sdx_external_release(sdx_external *external) {
    if (!external) return;
    data_file *files = external->files.data;
    for (size_t i = 0; i < external->files.count; i++) sdx_file_close(&files[i].file);
    sdx_vector_free(&external->files, external->allocator, sizeof(data_file));
    if (external->root >= 0) close(external->root);
    sdx_free(external->allocator, external, sizeof *external);
}

uint64_t sdx_external_bytes(const sdx_external *external) {
    return external ? external->bytes : 0;
}

bool sdx_external_forget(const sdx_external *external, const void *data, size_t size) {
    const data_file *files = external ? external->files.data : NULL;
    for (size_t i = 0; files && i < external->files.count; i++)
        if (sdx_file_forget(&files[i].file, data, size)) return true;
    return false;
}

/* What can be said from the text alone; the kernel then enforces it on the real file system. */
static const char *path_mistake(const char *path) {
    if (path[0] == 0) return "is empty";
    if (path[0] == '/') return "is absolute";
    if (strchr(path, '\\')) return "has a backslash";
    for (const char *at = path; at;) {
        if (at[0] == '.' && at[1] == '.' && (at[2] == 0 || at[2] == '/')) return "has '..' in it";
        at = strchr(at, '/');
        if (at) at++;
    }
    return NULL;
}

static int open_by_component(int root, char *path) {
    int folder = dup(root);
    for (char *part = path; folder >= 0;) {
        char *slash = strchr(part, '/');
        if (slash) *slash = 0;
        int flags = slash ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY;
        int next = *part ? openat(folder, part, flags | O_NOFOLLOW | O_CLOEXEC) : dup(folder);
        int reason = errno;
        close(folder);
        errno = reason;
        if (!slash) return next;
        folder = next;
        part = slash + 1;
    }
    return -1;
}

static int open_beneath(int root, char *path) {
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    long fd = syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return open_by_component(root, path);
    return (int)fd;
}

/* path and shown: the same text, of which opening may change the first. */
static sdx_status open_path(sdx_external *external, const sdx_external_request *request, char *path,
                            const char *shown, data_file **out, sdx_error *error) {
    const char *mistake = path_mistake(path);
    if (mistake)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, request->position,
                           "tensor '%s': the path of its external data, '%s', %s; only files "
                           "beneath the model's folder are read",
                           request->tensor, path, mistake);
    int fd = open_beneath(external->root, path);
    if (fd < 0) {
        /* What the file has no part in is no fault of it. */
        bool system = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO;
        return sdx_fail_at(error, system ? SDX_STATUS_IO : SDX_STATUS_BAD_MODEL, request->position,
                           "tensor '%s': external data '%s': %s", request->tensor, shown,
                           errno == EXDEV ? "leads out of the model's folder" : strerror(errno));
    }
    struct stat info = {0};
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink > 1) {
        bool linked = S_ISREG(info.st_mode);
        close(fd);
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, request->position,
                           "tensor '%s': external data '%s' %s", request->tensor, shown,
                           linked ? "has more than one hard link, so it may lie outside the "
                                    "model's folder; copy it"
                                  : "is not a regular file");
    }
    data_file *file = sdx_vector_push(&external->files, external->allocator, sizeof *file);
    if (!file) {
        close(fd);
        return sdx_fail_memory(error, sizeof *file, "external data");
    }
    file->location = request->location;
    sdx_status status =
        sdx_file_from_fd(fd, shown, external->copy, external->allocator, &file->file, error);
    if (status != SDX_STATUS_OK) {
        external->files.count--;
        return status;
    }
    sdx_file_read_once(&file->file);
    external->bytes += file->file.size;
    *out = file;
    return SDX_STATUS_OK;
}

static sdx_status open_file(sdx_external *external, const sdx_external_request *request,
                            data_file **out, sdx_error *error) {
    const size_t size = request->location.size, room = 2 * (size + 1);
    if (size > LONGEST_PATH)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, request->position,
                           "tensor '%s': the path of its external data has %zu bytes, at most "
                           "%d are allowed",
                           request->tensor, size, LONGEST_PATH);
    char *path = sdx_alloc(external->allocator, room, 1);
    if (!path) return sdx_fail_memory(error, room, "a path");
    char *shown = path + size + 1;
    if (size) memcpy(path, request->location.data, size);
    path[size] = 0;
    memcpy(shown, path, size + 1);
    sdx_status status = open_path(external, request, path, shown, out, error);
    sdx_free(external->allocator, path, room);
    return status;
}

static int hex_digit(uint8_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static sdx_status check_digest(data_file *file, const sdx_external_request *request,
                               sdx_error *error) {
    if (request->checksum.size == 0) return SDX_STATUS_OK;
    bool good = request->checksum.size == 40;
    if (good && !file->digest_known) {
        sdx_sha1(file->file.data, file->file.size, file->digest);
        file->digest_known = true;
    }
    for (size_t i = 0; good && i < 20; i++) {
        int high = hex_digit(request->checksum.data[2 * i]);
        int low = hex_digit(request->checksum.data[2 * i + 1]);
        good = high >= 0 && low >= 0 && high * 16 + low == file->digest[i];
    }
    if (good) return SDX_STATUS_OK;
    return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, request->position,
                       "tensor '%s': the SHA-1 checksum of external data '%.*s' does not match",
                       request->tensor, (int)request->location.size,
                       (const char *)request->location.data);
}

sdx_status sdx_external_get(sdx_external *external, const sdx_external_request *request,
                            size_t needed, sdx_span *out, sdx_error *error) {
    if (!external || !external->allowed)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, request->position,
                           "tensor '%s' has external data, but the model was not loaded from a "
                           "file and no folder was named for it",
                           request->tensor);
    data_file *file = NULL;
    data_file *files = external->files.data;
    for (size_t i = 0; i < external->files.count && !file; i++)
        if (files[i].location.size == request->location.size &&
            memcmp(files[i].location.data, request->location.data, request->location.size) == 0)
            file = &files[i];
    if (!file) SDX_TRY(open_file(external, request, &file, error));
    SDX_TRY(check_digest(file, request, error));
    size_t size = file->file.size;
    uint64_t length = request->has_length ? request->length : needed;
    if (request->offset > size || length > size - request->offset)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, request->position,
                           "tensor '%s': external data '%.*s' has %zu bytes, offset %llu and "
                           "length %llu pass its end",
                           request->tensor, (int)request->location.size,
                           (const char *)request->location.data, size,
                           (unsigned long long)request->offset, (unsigned long long)length);
    /* An empty file has no address to add to. */
    *out = (sdx_span){size ? file->file.data + request->offset : NULL, (size_t)length};
    return SDX_STATUS_OK;
}
