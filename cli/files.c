/* files.c - whole files into memory, for every command that reads one that is no model; and whole files out of
 * memory, for every command that writes one. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    size_t capacity = 0;
    *size = 0;
    bool good = file != NULL;
    while (good && !feof(file)) {
        if (*size == capacity) {
            capacity = capacity ? capacity * 2 : 65536;
            char *more = realloc(bytes, capacity + 1);
            if (!more) break;
            bytes = more;
        }
        *size += fread(bytes + *size, 1, capacity - *size, file);
        good = !ferror(file);
    }
    if (good && bytes && feof(file)) {
        fclose(file);
        bytes[*size] = 0;
        return bytes;
    }
    if (good) out_of_memory();
    else complain("%s: cannot read: %s", path, strerror(errno));
    if (file) fclose(file);
    free(bytes);
    return NULL;
}

/* ---- writing ---------------------------------------------------------------------------------- */

bool whole_begin(whole_file *o, const char *path) {
    *o = (whole_file){.path = path};
    o->file = open_memstream(&o->bytes, &o->size);
    if (!o->file) out_of_memory();
    return o->file != NULL;
}

int whole_end(whole_file *o, bool good) {
    sdx_error error;
    good = good && ferror(o->file) == 0;
    good = fclose(o->file) == 0 && good;
    good = good && o->bytes; /* glibc's fclose says nothing of a lack of memory, and leaves no bytes */
    sdx_status status = SDX_STATUS_OK;
    if (good) status = sdx_replace_file(o->path, o->bytes, o->size, &error);
    else complain("%s: cannot write: out of memory", o->path);
    free(o->bytes);
    if (!good) return EXIT_NO;
    return status == SDX_STATUS_OK ? EXIT_OK : report_error(NULL, &error);
}

void hold_interrupts(bool hold) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}
