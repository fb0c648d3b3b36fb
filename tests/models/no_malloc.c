/* no_malloc.c - a model from its bytes to its result in memory that the caller provides and nothing else: one
 * static buffer holds model, program, context and arena. From the first call of the library on, malloc and its
 * like abort (the linker puts those below in their place), and the result must have the bits of a run that
 * may take memory as it likes. docs/small-targets.md leans on this file.
 *
 * usage: no_malloc MODEL.onnx..
 * Prints what each part holds. Exit codes: 0 all passed, 1 one failed, 77 no model is there. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sardonyx.h"

#define ROOM ((size_t)512 << 20) /* pages that nobody touches cost nothing */
#define MOST_INPUTS 4

static _Alignas(64) unsigned char buffer[ROOM];
static bool forbidden;

/* ---- what must not be called -------------------------------------------------------------------- */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
char *__wrap_strndup(const char *text, size_t size);
void *__real_mmap(void *at, size_t size, int access, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int file, off_t offset);
void *__real_mmap64(void *at, size_t size, int access, int flags, int file, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int access, int flags, int file, off_t offset);

static void refuse(const char *name) {
    if (!forbidden) return;
    fprintf(stderr, "%s was called\n", name);
    abort();
}
void *__wrap_malloc(size_t size) { return refuse("malloc"), __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) {
    return refuse("calloc"), __real_calloc(count, size);
}
void *__wrap_realloc(void *memory, size_t size) {
    return refuse("realloc"), __real_realloc(memory, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return refuse("aligned_alloc"), __real_aligned_alloc(alignment, size);
}
int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
    return refuse("posix_memalign"), __real_posix_memalign(out, alignment, size);
}
char *__wrap_strdup(const char *text) { return refuse("strdup"), __real_strdup(text); }
char *__wrap_strndup(const char *text, size_t size) {
    return refuse("strndup"), __real_strndup(text, size);
}
void *__wrap_mmap(void *at, size_t size, int access, int flags, int file, off_t offset) {
    return refuse("mmap"), __real_mmap(at, size, access, flags, file, offset);
}
void *__wrap_mmap64(void *at, size_t size, int access, int flags, int file, off_t offset) {
    return refuse("mmap"), __real_mmap64(at, size, access, flags, file, offset);
}

/* ---- the caller's memory ------------------------------------------------------------------------- */

/* A heap in the buffer: pieces one after the other, each behind a header of a cache line; a free one takes
 * in what is free behind it when somebody looks for room. */
typedef struct piece {
    size_t size; /* with the header, a multiple of 64 */
    bool taken;
} piece;
static size_t end; /* of the pieces */

static piece *piece_at(size_t offset) { return (piece *)(void *)(buffer + offset); }

static void *take(void *user, size_t size, size_t alignment) {
    (void)user;
    size_t need = (size + 63) / 64 * 64 + 64;
    if (alignment > 64 || size > ROOM / 2) return NULL;
    for (size_t at = 0; at < end; at += piece_at(at)->size) {
        piece *p = piece_at(at);
        if (p->taken) continue;
        while (at + p->size < end && !piece_at(at + p->size)->taken)
            p->size += piece_at(at + p->size)->size;
        if (p->size < need) continue;
        if (p->size > need) *piece_at(at + need) = (piece){p->size - need, false};
        *p = (piece){need, true};
        return buffer + at + 64;
    }
    if (need > ROOM - end) return NULL;
    *piece_at(end) = (piece){need, true};
    end += need;
    return buffer + end - need + 64;
}

static void give(void *user, void *memory, size_t size) {
    (void)user;
    (void)size;
    piece_at((size_t)((unsigned char *)memory - buffer) - 64)->taken = false;
}

static size_t bytes_taken(void) {
    size_t sum = 0;
    for (size_t at = 0; at < end; at += piece_at(at)->size)
        if (piece_at(at)->taken) sum += piece_at(at)->size;
    return sum;
}

/* ---- a model -------------------------------------------------------------------------------------- */

typedef struct subject {
    const char *file;
    void *bytes;
    size_t size;
    float *result; /* of the run with malloc */
    size_t result_bytes;
    sdx_tensor inputs[MOST_INPUTS];
    size_t input_count;
} subject;

static bool complain(const subject *s, const char *what) {
    forbidden = false;
    printf("%s: %s\n", s->file, what);
    return false;
}

static bool read_file(subject *s) {
    int file = open(s->file, O_RDONLY);
    struct stat info;
    if (file < 0 || fstat(file, &info) != 0) return complain(s, "cannot be read");
    s->size = (size_t)info.st_size;
    s->bytes = __real_malloc(s->size);
    for (size_t have = 0; s->bytes && have < s->size;) {
        ssize_t got = read(file, (char *)s->bytes + have, s->size - have);
        if (got <= 0) break;
        have += (size_t)got;
    }
    close(file);
    return s->bytes != NULL;
}

/* One sample of a pattern for each input; open sizes are 1. */
static bool make_inputs(subject *s, const sdx_model *model) {
    sdx_model_info model_info = {.struct_size = sizeof model_info};
    sdx_model_get_info(model, &model_info);
    s->input_count = model_info.input_count;
    if (s->input_count > MOST_INPUTS) return complain(s, "too many inputs");
    for (size_t i = 0; i < s->input_count; i++) {
        sdx_value_info info = {.struct_size = sizeof info};
        sdx_error error;
        sdx_model_get_value(model, sdx_model_input(model, i), &info);
        for (int32_t d = 0; d < info.rank; d++)
            if (info.dims[d] < 0) info.dims[d] = 1;
        sdx_tensor *tensor = &s->inputs[i];
        if (info.dtype != SDX_DTYPE_FLOAT32 ||
            sdx_tensor_init(tensor, info.dtype, info.rank, info.dims, NULL, &error) != SDX_STATUS_OK)
            return complain(s, "an input that this program does not make");
        float *data = __real_malloc(tensor->count * sizeof *data);
        if (!data) return complain(s, "out of memory");
        for (size_t k = 0; k < tensor->count; k++) data[k] = (float)(k * 7919 % 1013) / 1013;
        tensor->data = data;
    }
    return true;
}

static bool run(subject *s, sdx_context *context, const sdx_tensor **output) {
    sdx_error error;
    for (size_t i = 0; i < s->input_count; i++)
        if (sdx_context_set_input(context, i, &s->inputs[i], &error) != SDX_STATUS_OK)
            return complain(s, error.message);
    if (sdx_context_run(context, &error) != SDX_STATUS_OK) return complain(s, error.message);
    *output = sdx_context_output(context, 0);
    return true;
}

/* The result to compare with, and the arena that a run needs. */
static bool run_freely(subject *s, size_t *arena) {
    sdx_error error;
    sdx_model *model = NULL;
    sdx_program *program = NULL;
    sdx_context *context = NULL;
    const sdx_tensor *output;
    sdx_program_options options = {.struct_size = sizeof options, .optimize = 3};
    bool good = (sdx_model_load_memory(s->bytes, s->size, NULL, &model, &error) == SDX_STATUS_OK &&
                 sdx_program_create(model, &options, &program, &error) == SDX_STATUS_OK &&
                 sdx_context_create(program, NULL, &context, &error) == SDX_STATUS_OK) ||
                complain(s, error.message);
    good = good && make_inputs(s, model) && run(s, context, &output);
    if (good) {
        sdx_memory_info memory = {.struct_size = sizeof memory};
        sdx_context_get_memory(context, &memory);
        *arena = memory.arena_bytes;
        s->result_bytes = output->count * sizeof *s->result;
        s->result = __real_malloc(s->result_bytes);
        if (s->result) memcpy(s->result, output->data, s->result_bytes);
    }
    sdx_context_release(context);
    sdx_program_release(program);
    sdx_model_release(model);
    return good && s->result;
}

/* The same in the buffer, with one thread. */
static bool run_confined(subject *s, size_t arena) {
    const sdx_allocator allocator = {NULL, take, give};
    sdx_error error;
    sdx_model *model = NULL;
    sdx_program *program = NULL;
    sdx_context *context = NULL;
    const sdx_tensor *output = NULL;
    size_t held[4];
    forbidden = true;
    sdx_load_options load = {.struct_size = sizeof load, .allocator = &allocator};
    if (sdx_model_load_memory(s->bytes, s->size, &load, &model, &error) != SDX_STATUS_OK)
        return complain(s, error.message);
    held[0] = bytes_taken();
    sdx_program_options options = {.struct_size = sizeof options, .allocator = &allocator,
                                   .optimize = 3, .threads = 1};
    if (sdx_program_create(model, &options, &program, &error) != SDX_STATUS_OK)
        return complain(s, error.message);
    held[1] = bytes_taken();
    sdx_context_options with = {.struct_size = sizeof with, .allocator = &allocator, .threads = 1,
                                .arena = take(NULL, arena, 64), .arena_size = arena};
    held[2] = bytes_taken();
    if (sdx_context_create(program, &with, &context, &error) != SDX_STATUS_OK)
        return complain(s, error.message);
    for (int round = 0; round < 2; round++)
        if (!run(s, context, &output)) return false;
    held[3] = bytes_taken();
    bool same = output->count * sizeof *s->result == s->result_bytes &&
                memcmp(output->data, s->result, s->result_bytes) == 0;
    sdx_context_release(context);
    give(NULL, with.arena, arena);
    sdx_program_release(program);
    sdx_model_release(model);
    forbidden = false;
    if (bytes_taken()) return complain(s, "something is still held at the end");
    if (!same) return complain(s, "the result differs from that of an ordinary run");
    printf("%s: %zu bytes of tables, %zu of weights and program, %zu of arena, %zu of context\n",
           s->file, held[0], held[1] - held[0], arena, held[3] - held[2]);
    return true;
}

int main(int argc, char **argv) {
    int passed = 0, failed = 0, skipped = 0;
    for (int i = 1; i < argc; i++) {
        subject s = {.file = argv[i]};
        size_t arena = 0;
        if (access(argv[i], R_OK) != 0) {
            printf("skipped: %s is missing\n", argv[i]);
            skipped++;
            continue;
        }
        end = 0;
        if (read_file(&s) && run_freely(&s, &arena) && run_confined(&s, arena)) passed++;
        else failed++;
        for (size_t k = 0; k < MOST_INPUTS; k++) free(s.inputs[k].data);
        free(s.result);
        free(s.bytes);
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed ? 1 : passed ? 0 : 77;
}
