/* replay.c - the main() of a fuzzer where libFuzzer is not: hands it every file that is named, and
 * every file in the folders that are named. Under AFL++ it takes what AFL++ sends, many in one
 * process. usage: fuzz_NAME FILE_OR_FOLDER.. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity) {
    (void)data;
    (void)capacity;
    return size;
}

#if defined(__AFL_COMPILER)
#include <unistd.h>
__AFL_FUZZ_INIT();
#endif

static size_t done;

static void replay_file(const char *path, size_t size) {
    FILE *file = fopen(path, "rb");
    /* Exactly as many bytes as there are, so that a sanitizer sees who reads one more. */
    uint8_t *bytes = malloc(size ? size : 1);
    if (!file || !bytes || fread(bytes, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    /* Who crashes leaves the file's name behind. */
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    done++;
}

static void replay(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) {
        fprintf(stderr, "%s: not there\n", path);
        exit(1);
    }
    if (S_ISREG(info.st_mode)) replay_file(path, (size_t)info.st_size);
    if (!S_ISDIR(info.st_mode)) return;
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char inner[4096];
        int length = snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && length < (int)sizeof inner) replay(inner);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
}

int main(int argc, char **argv) {
#if defined(__AFL_COMPILER)
    __AFL_INIT();
    uint8_t *sent = __AFL_FUZZ_TESTCASE_BUF;
    while (argc < 2 && __AFL_LOOP(1000)) {
        size_t size = (size_t)__AFL_FUZZ_TESTCASE_LEN;
        uint8_t *bytes = malloc(size ? size : 1);
        memcpy(bytes, sent, size);
        LLVMFuzzerTestOneInput(bytes, size);
        free(bytes);
    }
    if (argc < 2) return 0;
#endif
    for (int i = 1; i < argc; i++) replay(argv[i]);
    printf("%zu files\n", done);
    return done ? 0 : 1;
}
