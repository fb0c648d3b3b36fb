/* runner.c - Sardonyx's side of the peers' protocol, through the public interface alone;
 * bench/peers/runners holds the same for the other engines. */
#include "runner.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "runner_image.h"
#include "sardonyx.h"

enum { MAX_FIELDS = 16, MAX_SETS = 16, MAX_INPUTS = 16 };

/* The inputs of one choice of sizes, by the key that commands call it by. */
typedef struct input_set {
    char key[32];
    sdx_tensor tensors[MAX_INPUTS];
    char *names[MAX_INPUTS];
    runner_image *images[MAX_INPUTS]; /* where it is made from pictures in every run; else NULL */
    size_t indices[MAX_INPUTS];       /* of the model's inputs */
    size_t count;
} input_set;

/* What the library took by the allocator that it was given, where that is counted. */
typedef struct heap_count {
    atomic_size_t now, peak;
} heap_count;

typedef struct session {
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    sdx_model_info info;
    input_set sets[MAX_SETS];
    size_t set_count;
    heap_count heap;
    sdx_allocator counting;
    bool counts_heap;
    sdx_program_options program_options; /* of the latest load */
} session;

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static void put_json_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') printf("\\%c", c);
        else if (c < 32) printf("\\u%04x", c);
        else putchar(c);
    }
    putchar('"');
}

static void fail(const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    printf("{\"error\": ");
    put_json_text(message);
    printf("}\n");
}

/* "rss": resident now, "peak": resident at most, both in bytes, from /proc/self/status. */
static void put_memory(void) {
    long long rss = 0, peak = 0, kilobytes;
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmRSS: %lld", &kilobytes) == 1) rss = kilobytes * 1024;
        if (sscanf(line, "VmHWM: %lld", &kilobytes) == 1) peak = kilobytes * 1024;
    }
    if (file) fclose(file);
    printf("\"rss\": %lld, \"peak\": %lld", rss, peak);
}

/* ---- an allocator that counts ------------------------------------------------------------------
 */

static void *count_allocate(void *user, size_t size, size_t alignment) {
    heap_count *count = user;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    if (size > SIZE_MAX - alignment) return NULL;
    void *memory = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (!memory) return NULL;
    size_t now = atomic_fetch_add(&count->now, size) + size;
    size_t peak = atomic_load(&count->peak);
    while (now > peak && !atomic_compare_exchange_weak(&count->peak, &peak, now)) {
    }
    return memory;
}

static void count_release(void *user, void *memory, size_t size) {
    heap_count *count = user;
    if (memory) atomic_fetch_sub(&count->now, size);
    free(memory);
}

/* ---- commands ---------------------------------------------------------------------------------
 */

static bool read_number(const char *text, long *number) {
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= 0;
}

typedef struct load_settings {
    sdx_load_options model;
    sdx_program_options program;
    sdx_context_options context;
    bool counts_heap, import_only;
} load_settings;

/* One of the options after the model and the threads. */
static bool load_option(const char *option, load_settings *to) {
    long number = 0;
    const char *value = strchr(option, '=');
    size_t length = value ? (size_t)(value - option) : 0;
    if (length == 6 && strncmp(option, "shapes", 6) == 0) return true; /* found out by itself */
    if (!value || !read_number(value + 1, &number)) return false;
    if (length == 8 && strncmp(option, "optimize", 8) == 0) to->program.optimize = (int)number;
    else if (length == 8 && strncmp(option, "winograd", 8) == 0)
        to->program.kernels = number ? 0 : SDX_KERNELS_NO_WINOGRAD;
    else if (length == 5 && strncmp(option, "slice", 5) == 0)
        to->program.slice = number ? number : SDX_SLICE_OFF;
    else if (length == 4 && strncmp(option, "heap", 4) == 0) to->counts_heap = number != 0;
    else if (length == 4 && strncmp(option, "only", 4) == 0) to->import_only = number != 0;
    else return false;
    return true;
}

static void unload(session *s) {
    sdx_context_release(s->context);
    sdx_program_release(s->program);
    sdx_model_release(s->model);
    s->context = NULL;
    s->program = NULL;
    s->model = NULL;
}

static size_t find_input(const session *s, const char *name);

/* Inputs that were given before the model was loaded again. */
static void find_inputs_again(session *s) {
    for (size_t i = 0; i < s->set_count; i++)
        for (size_t k = 0; k < s->sets[i].count; k++)
            s->sets[i].indices[k] = find_input(s, s->sets[i].names[k]);
}

static void do_load(session *s, char **fields, size_t count) {
    long threads = 0;
    if (count < 3 || !read_number(fields[2], &threads)) {
        fail("load: expected a model and a number of threads");
        return;
    }
    sdx_error error;
    sdx_error_clear(&error);
    load_settings to = {
        .model = {.struct_size = sizeof to.model},
        .program = {.struct_size = sizeof to.program, .optimize = 3, .threads = (uint32_t)threads},
        .context = {.struct_size = sizeof to.context, .threads = (uint32_t)threads}};
    for (size_t i = 3; i < count; i++)
        if (!load_option(fields[i], &to)) {
            fail("load: this library has no option '%s'", fields[i]);
            return;
        }
    unload(s);
    atomic_store(&s->heap.now, 0);
    atomic_store(&s->heap.peak, 0);
    s->counting = (sdx_allocator){&s->heap, count_allocate, count_release};
    s->counts_heap = to.counts_heap;
    if (s->counts_heap)
        to.model.allocator = to.program.allocator = to.context.allocator = &s->counting;
    s->program_options = to.program;
    long long start = now_ns();
    bool good = sdx_model_load_file(fields[1], &to.model, &s->model, &error) == SDX_STATUS_OK;
    long long imported = now_ns();
    if (!to.import_only)
        good = good &&
               sdx_program_create(s->model, &to.program, &s->program, &error) == SDX_STATUS_OK &&
               sdx_context_create(s->program, &to.context, &s->context, &error) == SDX_STATUS_OK;
    long long end = now_ns();
    if (!good) {
        fail("%s", error.message);
        unload(s);
        return;
    }
    s->info.struct_size = sizeof s->info;
    sdx_model_get_info(s->model, &s->info);
    find_inputs_again(s);
    printf("{\"ns\": %lld, \"import_ns\": %lld, ", end - start, imported - start);
    if (s->counts_heap) printf("\"heap\": %zu, ", atomic_load(&s->heap.peak));
    put_memory();
    printf("}\n");
}

static size_t find_input(const session *s, const char *name) {
    for (size_t i = 0; s->model && i < s->info.input_count; i++) {
        sdx_value_info info = {.struct_size = sizeof info};
        sdx_model_get_value(s->model, sdx_model_input(s->model, i), &info);
        if (strcmp(info.name, name) == 0) return i;
    }
    return SIZE_MAX;
}

static input_set *find_set(session *s, const char *key, bool make) {
    for (size_t i = 0; i < s->set_count; i++)
        if (strcmp(s->sets[i].key, key) == 0) return &s->sets[i];
    const size_t size = strlen(key) + 1;
    if (!make || s->set_count == MAX_SETS || size > sizeof s->sets->key) return NULL;
    input_set *set = &s->sets[s->set_count++];
    memcpy(set->key, key, size);
    return set;
}

static bool parse_tensor(const char *type, char *dims, sdx_tensor *tensor) {
    sdx_dtype dtype = SDX_DTYPE_UNDEFINED;
    for (int i = 1; i < SDX_DTYPE_COUNT; i++)
        if (strcmp(sdx_dtype_name((sdx_dtype)i), type) == 0) dtype = (sdx_dtype)i;
    int64_t sizes[SDX_MAX_RANK];
    int32_t rank = 0;
    for (char *at = strtok(dims, ","); at; at = strtok(NULL, ",")) {
        long size;
        if (rank == SDX_MAX_RANK || !read_number(at, &size)) return false;
        sizes[rank++] = size;
    }
    return sdx_tensor_init(tensor, dtype, rank, sizes, NULL, NULL) == SDX_STATUS_OK;
}

/* Where an input goes: the place of an earlier one of that name, or a new one. False: no room. */
static bool find_place(input_set *set, size_t index, size_t *at) {
    *at = 0;
    while (set && *at < set->count && set->indices[*at] != index) (*at)++;
    return set && *at < MAX_INPUTS;
}

static void free_input(input_set *set, size_t at) {
    free(set->tensors[at].data);
    free(set->names[at]);
    runner_image_free(set->images[at]);
}

static void store(input_set *set, size_t at, size_t index, const sdx_tensor *tensor, char *name,
                  runner_image *image) {
    if (at == set->count) set->count++;
    else free_input(set, at);
    set->tensors[at] = *tensor;
    set->names[at] = name;
    set->images[at] = image;
    set->indices[at] = index;
}

static bool allocate(sdx_tensor *tensor, size_t *size) {
    *size = tensor->count * sdx_dtype_size(tensor->dtype);
    tensor->data = aligned_alloc(64, (*size + 64) / 64 * 64);
    return tensor->data != NULL;
}

static void refuse_input(const session *s, const char *command, size_t index) {
    if (index != SIZE_MAX && (s->set_count == MAX_SETS || s->info.input_count > MAX_INPUTS))
        fail("%s: there is room for %d inputs of %d sizes", command, MAX_INPUTS, MAX_SETS);
    else fail("%s: bad arguments, or no such input", command);
}

/* input KEY NAME TYPE DIMS FILE, the file holding the elements alone. */
static void do_input(session *s, char **fields, size_t count) {
    sdx_tensor tensor;
    size_t at, size, index = count == 6 ? find_input(s, fields[2]) : SIZE_MAX;
    input_set *set = index == SIZE_MAX ? NULL : find_set(s, fields[1], true);
    if (!find_place(set, index, &at) || !parse_tensor(fields[3], fields[4], &tensor)) {
        refuse_input(s, "input", index);
        return;
    }
    char *name = strdup(fields[2]);
    bool good = allocate(&tensor, &size) && name;
    FILE *file = fopen(fields[5], "rb");
    if (file) setvbuf(file, NULL, _IONBF, 0);
    if (!good || !file || fread(tensor.data, 1, size, file) != size) {
        free(tensor.data);
        free(name);
        fail("input: cannot read %zu bytes of %s", size, fields[5]);
    } else {
        store(set, at, index, &tensor, name, NULL);
        printf("{\"bytes\": %zu}\n", size);
    }
    if (file) fclose(file);
}

/* image KEY NAME TYPE DIMS PRESET FILE..: pictures that are made into a tensor in every run. */
static void do_image(session *s, char **fields, size_t count) {
    sdx_tensor tensor;
    sdx_error error;
    size_t at, size = 0, wanted = SIZE_MAX,
               index = count >= 7 ? find_input(s, fields[2]) : SIZE_MAX;
    input_set *set = index == SIZE_MAX ? NULL : find_set(s, fields[1], true);
    if (!find_place(set, index, &at) || !parse_tensor(fields[3], fields[4], &tensor)) {
        refuse_input(s, "image", index);
        return;
    }
    sdx_error_clear(&error);
    runner_image *image =
        runner_image_open(s->model, fields[5], &tensor, fields + 6, count - 6, &wanted, &error);
    char *name = strdup(fields[2]);
    tensor.data = NULL;
    if (image && wanted == index && allocate(&tensor, &size) && name) {
        store(set, at, index, &tensor, name, image);
        printf("{\"bytes\": %zu}\n", size);
        return;
    }
    fail("image: %s", error.message[0] ? error.message : "that input takes no pictures");
    runner_image_free(image);
    free(tensor.data);
    free(name);
}

static sdx_status run_once(session *s, input_set *set, long long *taken, sdx_error *error) {
    long long start = now_ns();
    sdx_status status = SDX_STATUS_OK;
    for (size_t i = 0; status == SDX_STATUS_OK && i < set->count; i++)
        if (set->images[i]) status = runner_image_fill(set->images[i], &set->tensors[i], error);
    for (size_t i = 0; status == SDX_STATUS_OK && i < set->count; i++)
        status = sdx_context_set_input(s->context, set->indices[i], &set->tensors[i], error);
    if (status == SDX_STATUS_OK) status = sdx_context_run(s->context, error);
    *taken = now_ns() - start;
    return status;
}

/* run KEY,KEY.. N: N times through the keys, in their order. */
static void do_run(session *s, char **fields, size_t count) {
    long times = 0;
    input_set *sets[MAX_SETS];
    size_t set_count = 0;
    bool good = count == 3 && s->context && read_number(fields[2], &times) && times < 1 << 20;
    for (char *key = good ? strtok(fields[1], ",") : NULL; key; key = strtok(NULL, ",")) {
        input_set *set = find_set(s, key, false);
        good = good && set && set_count < MAX_SETS;
        if (good) sets[set_count++] = set;
    }
    size_t total = good ? (size_t)times * set_count : 0;
    long long *taken = calloc(total + 1, sizeof *taken);
    if (!good || !taken) {
        fail("run: expected keys of inputs and a number of times, after load");
        free(taken);
        return;
    }
    sdx_error error;
    sdx_error_clear(&error);
    sdx_status status = SDX_STATUS_OK;
    for (size_t i = 0; status == SDX_STATUS_OK && i < total; i++)
        status = run_once(s, sets[i % set_count], &taken[i], &error);
    if (status != SDX_STATUS_OK) fail("%s", error.message);
    else {
        printf("{\"ns\": [");
        for (size_t i = 0; i < total; i++) printf("%s%lld", i ? ", " : "", taken[i]);
        printf("], ");
        put_memory();
        printf("}\n");
    }
    free(taken);
}

/* output FOLDER: the latest results as FOLDER/0.npy, FOLDER/1.npy … */
static void do_output(const session *s, char **fields, size_t count) {
    if (count != 2 || !s->context || !sdx_context_output(s->context, 0)) {
        fail("output: expected a folder, after a run");
        return;
    }
    mkdir(fields[1], 0777);
    for (size_t i = 0; i < s->info.output_count; i++) {
        char path[4096];
        sdx_error error;
        sdx_error_clear(&error);
        snprintf(path, sizeof path, "%s/%zu.npy", fields[1], i);
        const sdx_tensor *tensor = sdx_context_output(s->context, i);
        if (!tensor || sdx_value_write_npy(path, tensor, &error) != SDX_STATUS_OK) {
            fail("output %zu: %s", i, tensor ? error.message : "not a tensor");
            return;
        }
    }
    printf("{\"count\": %zu}\n", s->info.output_count);
}

/* save FILE: what is loaded, packed, as `sardonyx pack` writes it. */
static void do_save(const session *s, char **fields, size_t count) {
    sdx_error error;
    sdx_error_clear(&error);
    if (count != 2 || !s->model) {
        fail("save: expected a file, after load");
        return;
    }
    long long start = now_ns();
    sdx_status status = sdx_model_pack_file(s->model, &s->program_options, NULL, fields[1], &error);
    long long taken = now_ns() - start;
    if (status != SDX_STATUS_OK) {
        fail("save: %s", error.message);
        return;
    }
    struct stat file = {0};
    stat(fields[1], &file);
    printf("{\"ns\": %lld, \"bytes\": %lld, ", taken, (long long)file.st_size);
    if (s->counts_heap) printf("\"heap\": %zu, ", atomic_load(&s->heap.peak));
    put_memory();
    printf("}\n");
}

static void do_memory(const session *s) {
    printf("{");
    if (s->context) {
        sdx_memory_info info = {.struct_size = sizeof info};
        sdx_context_get_memory(s->context, &info);
        printf("\"arena\": %zu, ", info.arena_bytes);
    }
    if (s->counts_heap) printf("\"heap\": %zu, ", atomic_load(&s->heap.peak));
    put_memory();
    printf("}\n");
}

/* Returns false where the session is to end. */
static bool obey(session *s, char *line, bool (*extra)(const char *command)) {
    char *fields[MAX_FIELDS];
    size_t count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && count < MAX_FIELDS;) {
        fields[count++] = at;
        at = strchr(at, '\t');
        if (at) *at++ = '\0';
    }
    const char *command = fields[0];
    if (strcmp(command, "quit") == 0) return false;
    if (strcmp(command, "load") == 0) do_load(s, fields, count);
    else if (strcmp(command, "input") == 0) do_input(s, fields, count);
    else if (strcmp(command, "image") == 0) do_image(s, fields, count);
    else if (strcmp(command, "run") == 0) do_run(s, fields, count);
    else if (strcmp(command, "output") == 0) do_output(s, fields, count);
    else if (strcmp(command, "save") == 0) do_save(s, fields, count);
    else if (strcmp(command, "memory") == 0) do_memory(s);
    else if (!extra || !extra(command)) fail("no command '%s'", command);
    fflush(stdout);
    return true;
}

int runner_serve(bool (*extra)(const char *command)) {
    static session s;
    char *line = NULL;
    size_t capacity = 0;
    printf("{\"engine\": \"sardonyx\", \"label\": \"Sardonyx\", \"version\": ");
    put_json_text(sdx_version());
    printf(", ");
    put_memory();
    printf("}\n");
    fflush(stdout);
    while (getline(&line, &capacity, stdin) > 0 && obey(&s, line, extra)) {
    }
    free(line);
    unload(&s);
    for (size_t i = 0; i < s.set_count; i++)
        for (size_t k = 0; k < s.sets[i].count; k++) free_input(&s.sets[i], k);
    return 0;
}
