/* run_results.c - the outputs of `sardonyx run`: as files, and as a summary in text or JSON. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"
#include "run.h"

static const char *output_name(const run_session *s, size_t index) {
    sdx_value_info info = {.struct_size = sizeof info};
    sdx_model_get_value(s->model, sdx_model_output(s->model, index), &info);
    return info.name;
}

/* ---- files ---------------------------------------------------------------------------------- */

static bool taken(const run_session *s, size_t count, const char *path) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(s->files[i], path) == 0) return true;
    return false;
}

/* FOLDER/NAME.npy with a name that is safe in any file system. Two outputs whose names become the
 * same that way are told apart by their number. */
static char *choose_path(const run_session *s, const char *folder, size_t index, bool pb) {
    char *name = strdup(output_name(s, index));
    char number[24] = "";
    for (char *c = name; c && *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '_';
    if (name && (name[0] == '.' || name[0] == '-')) name[0] = '_';
    for (size_t attempt = index; name; attempt++) {
        char *path = NULL;
        if (asprintf(&path, "%s/%s%s.%s", folder, name, number, pb ? "pb" : "npy") < 0) break;
        if (!taken(s, index, path)) {
            free(name);
            return path;
        }
        free(path);
        snprintf(number, sizeof number, "_%zu", attempt);
    }
    free(name);
    out_of_memory();
    return NULL;
}

int write_results(run_session *s, const char *folder, bool pb) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        complain("%s: cannot make the folder: %s", folder, strerror(errno));
        return EXIT_BAD_INPUT;
    }
    for (size_t i = 0; i < s->info.output_count; i++) {
        const sdx_value *value = sdx_context_output_value(s->context, i);
        const sdx_tensor *tensor = sdx_value_tensor(value);
        bool as_pb = pb || !tensor;
        s->files[i] = choose_path(s, folder, i, as_pb);
        if (!s->files[i]) return EXIT_NO;
        sdx_error error;
        sdx_error_clear(&error);
        sdx_status status = as_pb
                                ? sdx_value_write_pb(s->files[i], value, output_name(s, i), &error)
                                : sdx_value_write_npy(s->files[i], tensor, &error);
        if (status != SDX_STATUS_OK) return report_error(s->files[i], &error);
    }
    return EXIT_OK;
}

/* ---- summaries ------------------------------------------------------------------------------- */

typedef struct summary {
    double low, high, mean;
    size_t counted, nan_count;
} summary;

static summary summarise(const sdx_tensor *tensor) {
    summary s = {.low = INFINITY, .high = -INFINITY};
    double sum = 0;
    for (size_t i = 0; i < tensor->count && tensor->dtype != SDX_DTYPE_STRING; i++) {
        double x = sdx_element_as_double(tensor, i);
        if (isnan(x)) {
            s.nan_count++;
            continue;
        }
        if (x < s.low) s.low = x;
        if (x > s.high) s.high = x;
        sum += x;
        s.counted++;
    }
    s.mean = s.counted ? sum / (double)s.counted : 0;
    return s;
}

static const char *kind_name(sdx_kind kind) {
    return kind == SDX_KIND_TENSOR     ? "tensor"
           : kind == SDX_KIND_SEQUENCE ? "sequence"
           : kind == SDX_KIND_MAP      ? "map"
                                       : "nothing"; /* an optional without content */
}

/* Items of a sequence, or entries of a map. */
static size_t item_count(const sdx_value *value) {
    if (sdx_value_kind(value) != SDX_KIND_MAP) return sdx_value_count(value);
    const sdx_tensor *keys = sdx_value_tensor(sdx_value_map_keys(value));
    return keys ? keys->count : 0;
}

static void add_tensor(text *t, const sdx_tensor *tensor) {
    summary r = summarise(tensor);
    text_add_shape(t, tensor);
    if (r.counted) text_add(t, "  min %.6g  max %.6g  mean %.6g", r.low, r.high, r.mean);
    if (r.nan_count) text_add(t, "  %zu NaN", r.nan_count);
}

void print_results_text(const run_session *s) {
    text line = {0};
    for (size_t i = 0; i < s->info.output_count; i++) {
        const sdx_value *value = sdx_context_output_value(s->context, i);
        sdx_kind kind = sdx_value_kind(value);
        text_clear(&line);
        text_add(&line, "%s: ", output_name(s, i));
        if (kind == SDX_KIND_TENSOR) add_tensor(&line, sdx_value_tensor(value));
        else if (kind == SDX_KIND_NONE) text_add(&line, "%s", kind_name(kind));
        else text_add(&line, "%s of %zu", kind_name(kind), item_count(value));
        if (s->files[i]) text_add(&line, "  -> %s", s->files[i]);
        put_safe(stdout, line.data ? line.data : "");
        putchar('\n');
    }
    text_free(&line);
    fflush(stdout);
    fprintf(stderr, "loaded in %.2f ms, run in %.2f ms", s->load_ms, s->best_ms);
    if (s->repeat > 1) fprintf(stderr, " (best of %zu, median %.2f ms)", s->repeat, s->median_ms);
    fputc('\n', stderr);
}

static void tensor_json(json_writer *json, const sdx_tensor *tensor) {
    summary r = summarise(tensor);
    json_string(json, "dtype", sdx_dtype_name(tensor->dtype));
    json_row(json, "dims");
    for (int32_t d = 0; d < tensor->rank; d++) json_integer(json, NULL, tensor->dims[d]);
    json_end(json);
    if (tensor->dtype == SDX_DTYPE_STRING) return;
    if (r.counted) {
        json_number(json, "min", r.low);
        json_number(json, "max", r.high);
        json_number(json, "mean", r.mean);
    }
    json_integer(json, "nan", (int64_t)r.nan_count);
}

static void outputs_json(const run_session *s, json_writer *json) {
    json_array(json, "outputs");
    for (size_t i = 0; i < s->info.output_count; i++) {
        const sdx_value *value = sdx_context_output_value(s->context, i);
        const sdx_tensor *tensor = sdx_value_tensor(value);
        json_object(json, NULL);
        json_string(json, "name", output_name(s, i));
        json_string(json, "kind", kind_name(sdx_value_kind(value)));
        if (tensor) tensor_json(json, tensor);
        else json_integer(json, "items", (int64_t)item_count(value));
        if (s->files[i]) json_string(json, "file", s->files[i]);
        json_end(json);
    }
    json_end(json);
}

void print_results_json(const run_session *s) {
    json_writer json;
    sdx_memory_info memory = {.struct_size = sizeof memory};
    sdx_context_get_memory(s->context, &memory);
    json_start(&json, stdout);
    json_object(&json, NULL);
    outputs_json(s, &json);
    json_object(&json, "memory");
    json_integer(&json, "arena_bytes", (int64_t)memory.arena_bytes);
    json_integer(&json, "arena_used", (int64_t)memory.arena_used);
    json_integer(&json, "heap_peak", (int64_t)memory.heap_peak);
    json_integer(&json, "constant_bytes_copied", (int64_t)memory.constant_bytes);
    json_integer(&json, "naive_bytes", (int64_t)memory.naive_bytes);
    json_integer(&json, "slice", (int64_t)memory.slice);
    json_integer(&json, "lanes", memory.lanes);
    json_integer(&json, "output_bytes", (int64_t)memory.output_bytes);
    json_end(&json);
    json_object(&json, "time_ms");
    json_number(&json, "load", s->load_ms);
    json_number(&json, "best", s->best_ms);
    json_number(&json, "median", s->median_ms);
    json_integer(&json, "runs", (int64_t)s->repeat);
    json_end(&json);
    json_end(&json);
    json_finish(&json);
}
