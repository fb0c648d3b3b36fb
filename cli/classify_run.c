/* classify_run.c - the work of `sardonyx classify`: images are read and prepared a batch at a time, and
 * each batch is one run. The program is made after the first batch is decoded, so that the memory for
 * decoding is free again before weights are packed. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "classify.h"

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Decodes one image to where `image` points. */
static int prepare_image(classify_session *s, image_result *result, sdx_tensor *image) {
    size_t size;
    sdx_error error;
    char *bytes = read_file(result->file, &size);
    if (!bytes) {
        result->error = strdup("cannot read");
        return EXIT_BAD_INPUT;
    }
    sdx_status status =
        sdx_image_to_tensor(&s->preset, bytes, size, &s->limits, NULL, image, &error);
    free(bytes);
    if (status == SDX_STATUS_OK) return EXIT_OK;
    result->error = strdup(error.message);
    return report_error(result->file, &error);
}

static int make_program(classify_session *s) {
    if (s->context) return EXIT_OK;
    sdx_error error;
    double start = now_ms();
    sdx_program_options program = {.struct_size = sizeof program, .optimize = s->optimize,
                                   .threads = s->threads};
    sdx_context_options context = {.struct_size = sizeof context, .threads = s->threads};
    if (sdx_program_create(s->model, &program, &s->program, &error) != SDX_STATUS_OK ||
        sdx_context_create(s->program, &context, &s->context, &error) != SDX_STATUS_OK)
        return report_error(s->model_file, &error);
    s->load_ms += now_ms() - start;
    return EXIT_OK;
}

/* Scores for each image: rows of one dimension, others being 1. A model of one image may leave out the batch. */
static bool are_scores(const sdx_tensor *scores, size_t rows) {
    if (!scores || scores->dtype == SDX_DTYPE_STRING || scores->rank == 0 || scores->count == 0)
        return false;
    int32_t wide = 0;
    const bool batched = scores->rank > 1;
    for (int32_t i = batched ? 1 : 0; i < scores->rank; i++) wide += scores->dims[i] > 1;
    return wide <= 1 && (batched ? scores->dims[0] == (int64_t)rows : rows == 1);
}

/* The `count` images that `members` lists have been run: takes their scores. */
static int take_scores(classify_session *s, const size_t *members, size_t count, size_t rows) {
    const sdx_tensor *scores = sdx_context_output(s->context, s->output);
    if (!are_scores(scores, rows)) {
        text shape = {0};
        if (scores) text_add_shape(&shape, scores);
        complain("%s: output %zu is %s for %zu image%s, expected a row of scores for each; --output names "
                 "another",
                 s->model_file, s->output, shape.data ? shape.data : "no tensor", rows,
                 rows == 1 ? "" : "s");
        text_free(&shape);
        return EXIT_UNSUPPORTED;
    }
    size_t classes = scores->count / rows;
    int code = labels_fit(&s->labels, classes);
    for (size_t i = 0; code == EXIT_OK && i < count; i++) {
        image_result *result = &s->results[members[i]];
        result->count = s->top < classes ? s->top : classes;
        result->top = calloc(result->count, sizeof *result->top);
        if (!result->top || !rank_scores(scores, i * classes, classes, s->scores, s->raw, result->top,
                                         result->count))
            code = out_of_memory();
    }
    return code;
}

static int run_batch(classify_session *s, uint8_t *data, size_t *members, size_t count) {
    /* A model whose batch is fixed gets zeros for the rest. */
    size_t rows = s->fixed_batch ? (size_t)s->batch : count;
    sdx_tensor batch;
    sdx_error error;
    int64_t dims[4];
    memcpy(dims, s->one.dims, sizeof dims);
    dims[0] = (int64_t)rows;
    int code = make_program(s);
    if (code != EXIT_OK) return code;
    if (sdx_tensor_init(&batch, s->one.dtype, 4, dims, data, &error) != SDX_STATUS_OK)
        return report_error(s->model_file, &error);
    if (s->save_input && sdx_value_write_npy(s->save_input, &batch, &error) != SDX_STATUS_OK)
        return report_error(s->save_input, &error);
    double start = now_ms();
    if (sdx_context_set_input(s->context, s->input, &batch, &error) != SDX_STATUS_OK ||
        sdx_context_run(s->context, &error) != SDX_STATUS_OK)
        return report_error(s->model_file, &error);
    s->run_ms += now_ms() - start;
    return take_scores(s, members, count, rows);
}

int classify_images(classify_session *s) {
    size_t bytes = s->one.count * sdx_dtype_size(s->one.dtype), batch = (size_t)s->batch;
    if (batch > s->count && !s->fixed_batch) batch = s->count;
    uint8_t *data = calloc(batch, bytes);
    size_t *members = calloc(batch, sizeof *members);
    int worst = data && members ? EXIT_OK : out_of_memory();
    bool stop = !data || !members;
    for (size_t next = 0; next < s->count && !stop;) {
        size_t count = 0;
        double start = now_ms();
        for (; next < s->count && count < batch; next++) {
            sdx_tensor image = s->one;
            image.data = data + count * bytes;
            int code = prepare_image(s, &s->results[next], &image);
            if (code == EXIT_OK) members[count++] = next;
            else if (worst == EXIT_OK) worst = code;
        }
        s->decode_ms += now_ms() - start;
        if (count == 0) continue;
        memset(data + count * bytes, 0, (batch - count) * bytes);
        int code = run_batch(s, data, members, count);
        if (code != EXIT_OK) {
            worst = code;
            stop = true;
        }
    }
    free(data);
    free(members);
    return worst;
}
