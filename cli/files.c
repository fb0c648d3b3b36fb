/* files.c - whole files into memory, for every command that reads one that is no model. */
#include <errno.h>
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
    if (good && feof(file)) {
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
