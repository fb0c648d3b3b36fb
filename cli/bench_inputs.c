/* bench_inputs.c - what the models of a benchmark are fed, the same bytes for every engine, and
 * whether engines agree on what comes out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

/* Of the largest value: nothing may be further apart, however small all values are, because beside
 * the absolute tolerance outputs of 1e-5 equal anything. */
#define MOST_APART 1e-2

static bool is_symbol(const sdx_model *model, const char *name) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(model, &info);
    for (size_t i = 0; i < info.symbol_count; i++)
        if (strcmp(sdx_model_symbol(model, i), name) == 0) return true;
    return false;
}

static void describe_model(bench *b, size_t index, const sdx_model *model) {
    bench_model *m = &b->r.models[index];
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(model, &info);
    m->bytes = (double)info.file_bytes;
    m->nodes = info.node_count;
    text inputs = {0};
    for (size_t i = 0; i < info.input_count; i++) {
        sdx_value_info value = {.struct_size = sizeof value};
        sdx_model_get_value(model, sdx_model_input(model, i), &value);
        text_add(&inputs, "%s%s ", i ? ", " : "", value.name);
        text_add_type(&inputs, model, sdx_model_input(model, i));
    }
    bench_set_text(&b->r, &m->inputs, inputs.data);
    text_free(&inputs);
}

bool models_describe(bench *b, int *code) {
    bool *used = calloc(b->o.dims.count + 1, sizeof *used);
    if (!used) {
        *code = out_of_memory();
        return false;
    }
    *code = EXIT_OK;
    for (size_t i = 0; *code == EXIT_OK && i < b->o.models.count; i++) {
        const char *file = b->o.models.items[i];
        size_t index = bench_add_model(&b->r, file);
        sdx_model *model = NULL;
        sdx_error error;
        sdx_error_clear(&error);
        if (index == BENCH_NONE) *code = out_of_memory();
        else if (sdx_model_load_file(file, NULL, &model, &error) != SDX_STATUS_OK)
            *code = report_error(file, &error);
        if (*code != EXIT_OK) break;
        describe_model(b, index, model);
        for (size_t d = 0; d < b->o.dims.count; d++)
            used[d] |= is_symbol(model, b->o.dims.items[d].name);
        sdx_model_release(model);
    }
    for (size_t d = 0; *code == EXIT_OK && d < b->o.dims.count; d++)
        if (!used[d]) {
            complain("--dim %s: no model has a dimension of that name", b->o.dims.items[d].name);
            *code = EXIT_USAGE;
        }
    free(used);
    return *code == EXIT_OK;
}

/* ---- sizes --------------------------------------------------------------------------------------
 */

/* Sizes for all symbols of a model: those of --dim, and the batch for the rest. */
static bool bind(const bench *b, const sdx_model *model, int64_t batch, dim_list *out) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(model, &info);
    *out = (dim_list){.items = calloc(info.symbol_count + 1, sizeof *out->items)};
    if (!out->items) return false;
    for (size_t i = 0; i < info.symbol_count; i++) {
        sdx_binding one = {sdx_model_symbol(model, i), batch};
        for (size_t d = 0; d < b->o.dims.count; d++)
            if (strcmp(b->o.dims.items[d].name, one.name) == 0)
                one.value = b->o.dims.items[d].value;
        out->items[out->count++] = one;
    }
    return true;
}

static bool has_open_dim(const bench *b, const sdx_model *model) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(model, &info);
    for (size_t i = 0; i < info.symbol_count; i++) {
        bool given = false;
        for (size_t d = 0; d < b->o.dims.count; d++)
            given |= strcmp(b->o.dims.items[d].name, sdx_model_symbol(model, i)) == 0;
        if (!given) return true;
    }
    return false;
}

/* The first dimension of the first input that has one, for these sizes; 1 where none has. */
static int64_t batch_of(const sdx_model *model, const dim_list *dims) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(model, &info);
    sdx_shapes *shapes = NULL;
    int64_t found = 1;
    if (sdx_shapes_create(model, dims->items, dims->count, &shapes, NULL) != SDX_STATUS_OK)
        return 1;
    for (size_t i = 0; i < info.input_count; i++) {
        int32_t rank;
        int64_t sizes[SDX_MAX_RANK];
        sdx_shapes_get(shapes, sdx_model_input(model, i), &rank, sizes);
        if (rank < 1 || sizes[0] < 1) continue;
        found = sizes[0];
        break;
    }
    sdx_shapes_release(shapes);
    return found;
}

void batches_of(const bench *b, size_t index, number_list *out) {
    *out = b->o.batches;
    sdx_model *model = NULL;
    if (sdx_model_load_file(b->r.models[index].file, NULL, &model, NULL) != SDX_STATUS_OK) return;
    bool open = has_open_dim(b, model);
    if (out->count == 0 && open) *out = (number_list){.items = {1}, .count = 1};
    if (out->count == 0) {
        dim_list dims;
        if (bind(b, model, 1, &dims))
            *out = (number_list){.items = {batch_of(model, &dims)}, .count = 1};
        free(dims.items);
    }
    sdx_model_release(model);
}

/* ---- inputs -------------------------------------------------------------------------------------
 */

void inputs_free(bench_inputs *inputs) {
    for (size_t i = 0; i < inputs->count; i++) {
        free(inputs->items[i].name);
        free(inputs->items[i].file);
        free(inputs->items[i].dims);
        free(inputs->items[i].preset);
    }
    free(inputs->items);
    free(inputs->shapes);
    *inputs = (bench_inputs){0};
}

static bool write_bytes(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool good = fwrite(bytes, 1, size, file) == size;
    return fclose(file) == 0 && good;
}

/* One input as a file of its elements, unless an earlier case has written it. */
static bool make_input(bench *b, size_t index, size_t number, const sdx_tensor *like, int64_t batch,
                       bench_input *to) {
    text path = {0}, dims = {0};
    text_add(&path, "%s/%zu-%lld-%zu.bin", b->scratch, index, (long long)batch, number);
    text_add(&dims, "%s", "");
    for (int32_t d = 0; d < like->rank; d++)
        text_add(&dims, "%s%lld", d ? "," : "", (long long)like->dims[d]);
    to->file = path.data;
    to->dims = dims.data;
    to->type = sdx_dtype_name(like->dtype);
    if (!to->file || !to->dims) return false;
    sdx_value *value = NULL;
    if (sdx_value_new_tensor(NULL, like, &value, NULL) != SDX_STATUS_OK) return false;
    sdx_tensor tensor = *sdx_value_tensor(value);
    to->bytes = tensor.count * sdx_dtype_size(tensor.dtype);
    bool good = true;
    if (access(to->file, R_OK) != 0) {
        fill_random(&tensor, (uint64_t)b->o.seed + number);
        good = write_bytes(to->file, tensor.data, to->bytes);
    }
    sdx_value_release(value);
    return good;
}

/* The tensors to make for these sizes; false with a reason. */
static bool shape_of(const sdx_model *model, const sdx_shapes *shapes, size_t number,
                     sdx_tensor *like, char *reason, size_t size) {
    sdx_value_info info = {.struct_size = sizeof info};
    uint32_t value = sdx_model_input(model, number);
    sdx_model_get_value(model, value, &info);
    *like = (sdx_tensor){.dtype = info.dtype};
    sdx_shapes_get(shapes, value, &like->rank, like->dims);
    bool known = like->rank >= 0 && info.dtype != SDX_DTYPE_UNDEFINED &&
                 info.dtype != SDX_DTYPE_STRING && info.kind == SDX_KIND_TENSOR;
    for (int32_t d = 0; d < like->rank; d++) known = known && like->dims[d] >= 0;
    if (!known)
        snprintf(reason, size, "input '%s' cannot be made: its type or size is open", info.name);
    return known;
}

/* The input that takes pictures, and the preset in plain words, with nothing left to the model;
 * false: none does. */
static bool find_image_input(const bench *b, const sdx_model *model, size_t *input, char *words,
                             size_t size) {
    sdx_tensor one;
    sdx_image_preset preset = {.struct_size = sizeof preset};
    return b->o.image && sdx_image_preset_set(&preset, b->o.preset, NULL) == SDX_STATUS_OK &&
           sdx_image_preset_fit(&preset, model, input, &one, NULL) == SDX_STATUS_OK &&
           sdx_image_preset_text(&preset, words, size) < size;
}

bool image_line(const bench *b, const bench_inputs *inputs, const char *key, text *line) {
    for (size_t i = 0; i < inputs->count; i++) {
        const bench_input *in = &inputs->items[i];
        if (!in->preset) continue;
        text_add(line, "image\t%s\t%s\t%s\t%s\t%s\t%s", key, in->name, in->type, in->dims,
                 in->preset, b->o.image);
        return line->data != NULL;
    }
    return false;
}

static bool make_all(bench *b, size_t index, const sdx_model *model, const sdx_shapes *shapes,
                     int64_t batch, bench_inputs *out, char *reason, size_t size) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(model, &info);
    text facts = {0};
    text_add(&facts, "shapes=");
    char words[400];
    size_t picture = SIZE_MAX;
    if (!find_image_input(b, model, &picture, words, sizeof words)) picture = SIZE_MAX;
    bool good = true;
    out->items = calloc(info.input_count + 1, sizeof *out->items);
    for (size_t i = 0; good && out->items && i < info.input_count; i++) {
        sdx_value_info value = {.struct_size = sizeof value};
        sdx_model_get_value(model, sdx_model_input(model, i), &value);
        if (value.has_default) continue;
        sdx_tensor like;
        good = shape_of(model, shapes, i, &like, reason, size);
        if (!good) break;
        bench_input *to = &out->items[out->count++];
        to->name = strdup(value.name);
        good = to->name && field_ok(to->name) && make_input(b, index, i, &like, batch, to);
        if (!good) {
            snprintf(reason, size, "input '%s' cannot be made: %s", value.name,
                     errno ? strerror(errno) : "no memory");
            break;
        }
        if (i == picture) to->preset = strdup(words);
        out->bytes += (double)to->bytes;
        text_add(&facts, "%s%s%s%s", out->count > 1 ? ";" : "", to->dims, to->dims[0] ? "," : "",
                 to->type);
    }
    out->shapes = facts.data;
    if (!out->items || !facts.data) {
        b->r.no_memory = true;
        snprintf(reason, size, "no memory");
        good = false;
    }
    return good;
}

bool inputs_make(bench *b, size_t index, int64_t batch, bench_inputs *out, char *reason,
                 size_t size) {
    *out = (bench_inputs){0};
    sdx_model *model = NULL;
    sdx_shapes *shapes = NULL;
    dim_list dims = {0};
    sdx_error error;
    sdx_error_clear(&error);
    errno = 0;
    bool good =
        sdx_model_load_file(b->r.models[index].file, NULL, &model, &error) == SDX_STATUS_OK &&
        bind(b, model, batch, &dims) &&
        sdx_shapes_create(model, dims.items, dims.count, &shapes, &error) == SDX_STATUS_OK;
    if (!good) snprintf(reason, size, "%s", error.message[0] ? error.message : "no memory");
    int64_t fixed = good && !has_open_dim(b, model) ? batch_of(model, &dims) : batch;
    if (good && fixed != batch) {
        snprintf(reason, size, "the model takes batch %lld only", (long long)fixed);
        good = false;
    }
    good = good && make_all(b, index, model, shapes, batch, out, reason, size);
    if (!good) inputs_free(out);
    sdx_shapes_release(shapes);
    free(dims.items);
    sdx_model_release(model);
    return good;
}

/* ---- outputs ------------------------------------------------------------------------------------
 */

typedef struct difference {
    double largest, scale; /* difference, and wanted value */
    size_t wrong, first;   /* beyond the tolerance, and the first of them */
} difference;

/* What float32 loses in the sums behind an output goes by its large values, of which small ones are
 * differences: beyond 1 the absolute part grows with the largest, `scale`. */
static bool is_close(const bench *b, double got, double want, double scale) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want)) return got == want;
    return fabs(got - want) <= b->o.atol * fmax(1, scale) + b->o.rtol * fabs(want);
}

static void compare_tensors(const bench *b, const sdx_tensor *got, const sdx_tensor *want,
                            difference *d) {
    for (size_t i = 0; i < want->count; i++) {
        double z = fabs(sdx_element_as_double(want, i));
        if (isfinite(z) && z > d->scale) d->scale = z;
    }
    for (size_t i = 0; i < got->count; i++) {
        double a = sdx_element_as_double(got, i), z = sdx_element_as_double(want, i);
        if (!is_close(b, a, z, d->scale) && d->wrong++ == 0) d->first = i;
        double apart = isnan(a) && isnan(z) ? 0 : a == z ? 0 : fabs(a - z);
        if (isnan(apart)) apart = INFINITY;
        if (apart > d->largest) d->largest = apart;
    }
}

/* Whether one output is close enough; if not, a message says where it is not. */
static bool output_agrees(const bench *b, size_t number, const sdx_tensor *got,
                          const sdx_tensor *want, double *error, char *message, size_t size) {
    difference d = {0};
    if (got->count != want->count) {
        snprintf(message, size, "output %zu has %zu values, not %zu", number, got->count,
                 want->count);
        return false;
    }
    compare_tensors(b, got, want, &d);
    double relative = d.scale > 0 ? d.largest / d.scale : d.largest;
    if (relative > *error) *error = relative;
    if (d.wrong)
        snprintf(message, size,
                 "%zu of %zu values differ, element %zu of output %zu: %.6g, not %.6g", d.wrong,
                 got->count, d.first, number, sdx_element_as_double(got, d.first),
                 sdx_element_as_double(want, d.first));
    else if (relative > fmax(MOST_APART, b->o.rtol))
        snprintf(message, size, "output %zu differs by %.2g of its largest value", number,
                 relative);
    else return true;
    return false;
}

bool outputs_agree(const bench *b, const char *got_folder, const char *want_folder, size_t count,
                   double *error, char *message, size_t size) {
    bool good = true;
    *error = 0;
    message[0] = 0;
    for (size_t i = 0; good && i < count; i++) {
        char got_path[400], want_path[400];
        sdx_value *got = NULL, *want = NULL;
        snprintf(got_path, sizeof got_path, "%s/%zu.npy", got_folder, i);
        snprintf(want_path, sizeof want_path, "%s/%zu.npy", want_folder, i);
        bool read = sdx_value_read_npy(got_path, NULL, &got, NULL) == SDX_STATUS_OK &&
                    sdx_value_read_npy(want_path, NULL, &want, NULL) == SDX_STATUS_OK;
        if (!read) snprintf(message, size, "output %zu cannot be read", i);
        good = read && output_agrees(b, i, sdx_value_tensor(got), sdx_value_tensor(want), error,
                                     message, size);
        sdx_value_release(got);
        sdx_value_release(want);
    }
    return good;
}
