/* steady.c - runs of real models after the first take no memory: not from the allocator that the caller gave,
 * and none from malloc behind its back (the linker puts counting functions in its place). Batches of several
 * sizes in turn, whole and in slices.
 * usage: steady MODEL.onnx.. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sardonyx.h"

enum { MOST_INPUTS = 8, SIZES = 3, ROUNDS = 2 };

static atomic_size_t by_allocator, by_malloc;

/* ---- what counts -------------------------------------------------------------------------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
    atomic_fetch_add(&by_malloc, 1);
    return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
    atomic_fetch_add(&by_malloc, 1);
    return __real_calloc(count, size);
}
void *__wrap_realloc(void *memory, size_t size) {
    atomic_fetch_add(&by_malloc, 1);
    return __real_realloc(memory, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    atomic_fetch_add(&by_malloc, 1);
    return __real_aligned_alloc(alignment, size);
}
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
    atomic_fetch_add(&by_malloc, 1);
    return __real_posix_memalign(memory, alignment, size);
}

static void *allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    atomic_fetch_add(&by_allocator, 1);
    return __real_aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
static void release(void *user, void *memory, size_t size) {
    (void)user, (void)size;
    free(memory);
}

/* ---- a model -------------------------------------------------------------------------------------- */

typedef struct subject {
    const char *file;
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    size_t inputs;
    sdx_tensor tensors[SIZES][MOST_INPUTS];
} subject;

static bool complain(const subject *s, const char *what) {
    printf("%s: %s\n", s->file, what);
    return false;
}

/* Inputs of zeros for a batch; other sizes that the model leaves open are 32. */
static bool make_inputs(subject *s, int64_t batch, sdx_tensor *tensors) {
    for (size_t i = 0; i < s->inputs; i++) {
        sdx_value_info info = {.struct_size = sizeof info};
        int32_t rank;
        int64_t dims[SDX_MAX_RANK];
        sdx_shapes *shapes = NULL;
        sdx_error error;
        sdx_model_get_value(s->model, sdx_model_input(s->model, i), &info);
        if (sdx_shapes_create(s->model, NULL, 0, &shapes, &error) != SDX_STATUS_OK) return false;
        sdx_shapes_get(shapes, sdx_model_input(s->model, i), &rank, dims);
        sdx_shapes_release(shapes);
        for (int32_t d = 0; d < rank; d++)
            if (dims[d] < 0) dims[d] = d == 0 ? batch : 32;
        if (sdx_tensor_init(&tensors[i], info.dtype, rank, dims, NULL, &error) != SDX_STATUS_OK)
            return complain(s, error.message);
        size_t bytes = tensors[i].count * sdx_dtype_size(info.dtype);
        tensors[i].data = __real_calloc(1, bytes + 64);
        if (!tensors[i].data) return complain(s, "out of memory");
    }
    return true;
}

static bool run(subject *s, const sdx_tensor *tensors) {
    sdx_error error;
    for (size_t i = 0; i < s->inputs; i++)
        if (sdx_context_set_input(s->context, i, &tensors[i], &error) != SDX_STATUS_OK)
            return complain(s, error.message);
    if (sdx_context_run(s->context, &error) == SDX_STATUS_OK) return true;
    return complain(s, error.message);
}

/* All sizes once, the largest first or last, then in turn: nothing may be taken. */
static bool check_runs(subject *s, int64_t slice) {
    for (size_t i = 0; i < SIZES; i++)
        if (!run(s, s->tensors[i])) return false;
    size_t before = atomic_load(&by_allocator), hidden = atomic_load(&by_malloc);
    for (size_t i = 0; i < ROUNDS * SIZES; i++)
        if (!run(s, s->tensors[i % SIZES])) return false;
    size_t more = atomic_load(&by_allocator) - before, behind = atomic_load(&by_malloc) - hidden;
    if (!more && !behind) return true;
    printf("%s, slices of %lld: %d runs took memory %zu times, and %zu times by malloc\n", s->file,
           (long long)slice, ROUNDS * SIZES, more, behind);
    return false;
}

static bool check(const char *file) {
    static const int64_t slices[] = {0, 2, SDX_SLICE_OFF}, batches[SIZES] = {1, 5, 3};
    const sdx_allocator allocator = {NULL, allocate, release};
    subject s = {.file = file};
    sdx_error error;
    sdx_load_options load = {.struct_size = sizeof load, .allocator = &allocator};
    if (sdx_model_load_file(file, &load, &s.model, &error) != SDX_STATUS_OK)
        return complain(&s, error.message);
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(s.model, &info);
    s.inputs = info.input_count;
    bool good = s.inputs <= MOST_INPUTS;
    for (size_t i = 0; good && i < SIZES; i++) good = make_inputs(&s, batches[i], s.tensors[i]);
    for (size_t k = 0; good && k < sizeof slices / sizeof *slices; k++) {
        sdx_program_options options = {.struct_size = sizeof options, .optimize = 3,
                                       .slice = slices[k]};
        sdx_context_options with = {.struct_size = sizeof with, .threads = 2};
        good = (sdx_program_create(s.model, &options, &s.program, &error) == SDX_STATUS_OK &&
                sdx_context_create(s.program, &with, &s.context, &error) == SDX_STATUS_OK) ||
               complain(&s, error.message);
        good = good && check_runs(&s, slices[k]);
        sdx_context_release(s.context);
        sdx_program_release(s.program);
        s.context = NULL;
        s.program = NULL;
    }
    for (size_t i = 0; i < SIZES * MOST_INPUTS; i++)
        free(s.tensors[i / MOST_INPUTS][i % MOST_INPUTS].data);
    sdx_model_release(s.model);
    return good;
}

int main(int argc, char **argv) {
    int passed = 0, failed = 0, skipped = 0;
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) {
            printf("skipped: %s is missing\n", argv[i]);
            skipped++;
            continue;
        }
        fclose(file);
        if (check(argv[i])) passed++;
        else failed++;
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed ? 1 : passed ? 0 : 77;
}
