/* plan_model.c - `sardonyx plan MODEL`: the arena of a model's program as a placement problem, what else
 * a run takes, and the plan as expressions of the sizes. */
#include <stdlib.h>
#include <string.h>

#include "plan.h"

/* ---- making the problem ----------------------------------------------------------------------------- */

static int check_sizes(const plan_session *s) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(s->model, &info);
    sdx_shapes *shapes = NULL;
    sdx_error error;
    if (sdx_shapes_create(s->model, s->dims.items, s->dims.count, &shapes, &error) !=
        SDX_STATUS_OK)
        return report_error(s->path, &error);
    bool complete = true;
    for (size_t i = 0; complete && i < info.input_count; i++) {
        uint32_t value = sdx_model_input(s->model, i);
        int32_t rank = -1;
        int64_t dims[SDX_MAX_RANK];
        sdx_shapes_get(shapes, value, &rank, dims);
        for (int32_t axis = 0; complete && axis < rank; axis++) {
            if (dims[axis] >= 0) continue;
            complain_open_dim(s->model, value, axis, "a plan in bytes (--symbolic needs none)");
            complete = false;
        }
    }
    sdx_shapes_release(shapes);
    return complete ? EXIT_OK : EXIT_USAGE;
}

int plan_load_model(plan_session *s) {
    sdx_error error;
    sdx_load_options load = {.struct_size = sizeof load, .flags = load_flags_given(),
                             .limits = limits_given()};
    if (sdx_model_load_file(s->path, &load, &s->model, &error) != SDX_STATUS_OK)
        return report_error(s->path, &error);
    if (!dims_check(&s->dims, s->model)) return EXIT_USAGE;
    int code = s->symbolic ? EXIT_OK : check_sizes(s);
    if (code != EXIT_OK) return code;
    sdx_program_options program = {.struct_size = sizeof program, .optimize = (int)s->optimize,
                                   .memory = s->memory, .strategy = NULL,
                                   .fixed = s->dims.items, .fixed_count = s->dims.count,
                                   .slice = s->slice};
    if (s->symbolic) program.memory |= SDX_MEMORY_DESCRIBE;
    if (sdx_program_create(s->model, &program, &s->program, &error) != SDX_STATUS_OK)
        return report_error(s->path, &error);
    if (s->symbolic) return EXIT_OK;
    sdx_context_options context = {.struct_size = sizeof context, .threads = 1};
    if (sdx_context_create(s->program, &context, &s->context, &error) != SDX_STATUS_OK ||
        sdx_context_bind_dims(s->context, s->dims.items, s->dims.count, &error) !=
            SDX_STATUS_OK ||
        sdx_context_get_plan(s->context, &s->problem, &error) != SDX_STATUS_OK)
        return report_error(s->path, &error);
    return EXIT_OK;
}

void plan_free_model(plan_session *s) {
    sdx_context_release(s->context);
    sdx_program_release(s->program);
    sdx_model_release(s->model);
}

/* ---- what a run takes --------------------------------------------------------------------------------- */

static void print_sum(const char *label, uint64_t bytes, const char *remark) {
    text t = {0};
    text_add_bytes(&t, bytes);
    printf("%-9s %s%s\n", label, t.data ? t.data : "", remark);
    text_free(&t);
}

static uint64_t tables_of(const sdx_memory_info *m) {
    return (uint64_t)m->model_bytes + m->program_bytes + m->context_bytes;
}

void report_model_head(plan_session *s) {
    sdx_program_order order = {.struct_size = sizeof order};
    sdx_program_get_order(s->program, &order);
    printf("sizes    ");
    for (size_t i = 0; i < s->dims.count; i++) {
        fputs(" ", stdout);
        put_safe(stdout, s->dims.items[i].name);
        printf("=%lld", (long long)s->dims.items[i].value);
    }
    puts(s->dims.count ? "" : " all fixed by the model");
    printf("steps     %zu, ", sdx_program_step_count(s->program));
    fputs(s->memory & SDX_MEMORY_KEEP_ORDER ? "in the order of the file"
          : order.changed                   ? "in a better order than the file's"
                                            : "in the order of the file",
          stdout);
    puts(order.proved ? "; no order needs less" : "");
    sdx_memory_info memory = {.struct_size = sizeof memory};
    sdx_context_get_memory(s->context, &memory);
    if (memory.slice) printf("slices    %llu samples at a time\n", (unsigned long long)memory.slice);
    print_sum("unshared", memory.naive_bytes, ", each value in memory of its own");
}

void report_model_needs(plan_session *s) {
    sdx_memory_info m = {.struct_size = sizeof m};
    sdx_context_get_memory(s->context, &m);
    uint64_t total = m.arena_bytes + tables_of(&m) + m.constant_bytes + m.mapped_bytes;
    if (s->as_json) {
        json_object(&s->json, "memory");
        json_integer(&s->json, "arena_bytes", (int64_t)m.arena_bytes);
        json_integer(&s->json, "slice", (int64_t)m.slice);
        json_integer(&s->json, "scratch_bytes", (int64_t)m.scratch_bytes);
        json_integer(&s->json, "mapped_bytes", (int64_t)m.mapped_bytes);
        json_integer(&s->json, "copied_bytes", (int64_t)m.constant_bytes);
        json_integer(&s->json, "table_bytes", (int64_t)tables_of(&m));
        json_integer(&s->json, "total_bytes", (int64_t)total);
        json_end(&s->json);
        return;
    }
    text t = {0};
    text_add(&t, ", with up to ");
    text_add_bytes(&t, m.scratch_bytes);
    text_add(&t, " of a step's scratch");
    puts("\nwhat a run takes");
    print_sum("  arena", m.arena_bytes, t.data ? t.data : "");
    print_sum("  file", m.mapped_bytes, ", mapped: shared with other processes, dropped under need");
    print_sum("  copied", m.constant_bytes, " of the weights, which cannot be used where they lie");
    print_sum("  tables", tables_of(&m), "");
    print_sum("  in all", total, "");
    text_free(&t);
}

/* Facts on each buffer, for JSON. */
void report_model_buffers(plan_session *s) {
    text t = {0};
    json_array(&s->json, "buffers");
    for (size_t i = 0; i < sdx_program_buffer_count(s->program); i++) {
        sdx_buffer_info info = {.struct_size = sizeof info};
        sdx_plan_buffer buffer = {.struct_size = sizeof buffer};
        sdx_program_get_buffer(s->program, i, &info);
        sdx_plan_problem_get(s->problem, i, &buffer);
        json_object(&s->json, NULL);
        json_string(&s->json, "name", info.name);
        json_bool(&s->json, "scratch", info.is_scratch);
        if (info.value != SDX_NO_INDEX) {
            text_clear(&t);
            text_add_type(&t, s->model, info.value);
            json_string(&s->json, "type", t.data ? t.data : "");
            json_integer(&s->json, "values", (int64_t)info.value_count);
        }
        json_integer(&s->json, "first_step", info.first_step);
        json_integer(&s->json, "last_step", info.last_step);
        json_integer(&s->json, "size", (int64_t)buffer.size);
        json_integer(&s->json, "offset", (int64_t)buffer.offset);
        json_end(&s->json);
    }
    json_end(&s->json);
    text_free(&t);
}

/* ---- as expressions ------------------------------------------------------------------------------------- */

static char *expression(const plan_session *s, size_t index, sdx_buffer_fact fact) {
    size_t length = sdx_program_buffer_text(s->program, index, fact, NULL, 0);
    char *data = malloc(length + 1);
    if (data) sdx_program_buffer_text(s->program, index, fact, data, length + 1);
    return data;
}

static void print_symbolic(plan_session *s, size_t i, const sdx_buffer_info *info,
                           const char *size, const char *offset) {
    if (s->as_json) {
        json_object(&s->json, NULL);
        json_string(&s->json, "name", info->name);
        json_bool(&s->json, "scratch", info->is_scratch);
        json_integer(&s->json, "first_step", info->first_step);
        json_integer(&s->json, "last_step", info->last_step);
        json_string(&s->json, "size", size);
        json_string(&s->json, "offset", offset);
        json_end(&s->json);
        return;
    }
    if (i == 0) printf("%11s  %-32s %-32s %s\n", "steps", "size", "offset", "buffer");
    printf("%5u %5u  ", info->first_step, info->last_step);
    put_safe(stdout, size);
    printf("%*s ", strlen(size) < 32 ? (int)(32 - strlen(size)) : 0, "");
    put_safe(stdout, offset);
    printf("%*s ", strlen(offset) < 32 ? (int)(32 - strlen(offset)) : 0, "");
    if (info->is_scratch) fputs("scratch of ", stdout);
    put_safe(stdout, info->name);
    putchar('\n');
}

int plan_show_symbolic(plan_session *s) {
    int code = EXIT_OK;
    if (s->as_json) {
        json_start(&s->json, stdout);
        json_object(&s->json, NULL);
        json_string(&s->json, "problem", s->path);
        json_array(&s->json, "buffers");
    }
    for (size_t i = 0; i < sdx_program_buffer_count(s->program) && code == EXIT_OK; i++) {
        sdx_buffer_info info = {.struct_size = sizeof info};
        sdx_program_get_buffer(s->program, i, &info);
        char *size = expression(s, i, SDX_BUFFER_SIZE), *offset = expression(s, i, SDX_BUFFER_OFFSET);
        if (size && offset) print_symbolic(s, i, &info, size, offset);
        else code = out_of_memory();
        free(size);
        free(offset);
    }
    if (s->as_json) {
        json_end(&s->json);
        json_integer(&s->json, "layouts", (int64_t)sdx_program_layout_count(s->program));
        json_end(&s->json);
        json_finish(&s->json);
    } else if (sdx_program_layout_count(s->program) > 1) {
        printf("\nThese are the offsets of the first of %zu layouts; each size takes the one that needs "
               "least.\n",
               sdx_program_layout_count(s->program));
    }
    return code;
}
