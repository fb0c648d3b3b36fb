/* plan_picture.c - `sardonyx plan --svg` and `--html`: keeps the answer of each strategy and hands them
 * all to report/arena.h. */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "plan.h"

bool plan_keep_view(plan_session *s, const char *name, const sdx_plan_result *result) {
    size_t count = sdx_plan_problem_count(s->problem);
    plan_view *views = realloc(s->views, (s->view_count + 1) * sizeof *views);
    uint64_t *offsets = calloc(count + 1, sizeof *offsets);
    char *label = strdup(name);
    if (views) s->views = views;
    if (!views || !offsets || !label) {
        free(offsets);
        free(label);
        out_of_memory();
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        sdx_plan_buffer buffer = {.struct_size = sizeof buffer};
        sdx_plan_problem_get(s->problem, i, &buffer);
        offsets[i] = buffer.offset;
    }
    views[s->view_count++] = (plan_view){label, offsets, result->arena, result->proved};
    return true;
}

void plan_free_views(plan_session *s) {
    for (size_t i = 0; i < s->view_count; i++) {
        free(s->views[i].name);
        free(s->views[i].offsets);
    }
    free(s->views);
}

/* Type, and what is made there; NULL: no memory. */
static char *detail_of(const plan_session *s, size_t index) {
    text t = {0};
    if (s->program) {
        sdx_buffer_info info = {.struct_size = sizeof info};
        sdx_node_info node = {.struct_size = sizeof node};
        sdx_program_get_buffer(s->program, index, &info);
        if (info.value != SDX_NO_INDEX) {
            text_add_type(&t, s->model, info.value);
            if (info.value_count > 1) text_add(&t, ", shared by %zu values", info.value_count);
        }
        if (sdx_model_get_node(s->model, info.node, &node) == SDX_STATUS_OK)
            text_add(&t, "%smade by %s", t.length ? ", " : "", node.op);
    } else {
        text_add(&t, "%s", "");
    }
    return t.data;
}

static bool fill_buffers(const plan_session *s, arena_buffer *buffers, char **details) {
    for (size_t i = 0; i < sdx_plan_problem_count(s->problem); i++) {
        sdx_plan_buffer from = {.struct_size = sizeof from};
        sdx_plan_problem_get(s->problem, i, &from);
        details[i] = detail_of(s, i);
        if (!details[i]) return false;
        bool scratch = false;
        if (s->program) {
            sdx_buffer_info info = {.struct_size = sizeof info};
            sdx_program_get_buffer(s->program, i, &info);
            scratch = info.is_scratch;
        }
        buffers[i] = (arena_buffer){.name = from.id, .detail = details[i], .size = from.size,
                                    .lower = from.lower, .upper = from.upper, .scratch = scratch};
    }
    return true;
}

/* The smallest arena first: it is the one that a picture with room for one shows. */
static void fill_views(const plan_session *s, arena_view *views) {
    size_t best = 0;
    for (size_t i = 1; i < s->view_count; i++)
        if (s->views[i].arena < s->views[best].arena) best = i;
    for (size_t i = 0, k = 1; i < s->view_count; i++)
        views[i == best ? 0 : k++] = (arena_view){s->views[i].name, s->views[i].offsets,
                                                  s->views[i].arena, s->views[i].proved};
}

static int write_picture(const arena_picture *picture, const char *path,
                         bool (*write)(const arena_picture *, FILE *)) {
    whole_file file;
    if (!whole_begin(&file, path)) return EXIT_NO;
    return whole_end(&file, write(picture, file.file));
}

int plan_draw(const plan_session *s) {
    if (s->view_count == 0 || (!s->svg && !s->html)) return EXIT_OK;
    size_t count = sdx_plan_problem_count(s->problem);
    arena_buffer *buffers = calloc(count + 1, sizeof *buffers);
    char **details = calloc(count + 1, sizeof *details);
    arena_view *views = calloc(s->view_count, sizeof *views);
    int code = EXIT_OK;
    if (!buffers || !details || !views || !fill_buffers(s, buffers, details)) {
        code = out_of_memory();
    } else {
        fill_views(s, views);
        const char *slash = strrchr(s->path, '/');
        arena_picture picture = {.title = slash ? slash + 1 : s->path, .buffers = buffers,
                                 .buffer_count = count, .views = views,
                                 .view_count = s->view_count, .bound = s->best.lower_bound};
        if (s->svg) code = write_picture(&picture, s->svg, arena_write_svg);
        if (code == EXIT_OK && s->html) code = write_picture(&picture, s->html, arena_write_html);
    }
    for (size_t i = 0; details && i < count; i++) free(details[i]);
    free(details);
    free(buffers);
    free(views);
    return code;
}
