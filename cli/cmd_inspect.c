/* cmd_inspect.c - `sardonyx inspect`: what a model holds, the shapes of its values, what a run
 * would need. Loads what it cannot run too, and lists every reason why it cannot. */
#include "inspect.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: sardonyx inspect MODEL [--dim NAME=N].. [--stage load|shape|optimized|plan]\n"
    "                        [--optimize 0|1|2|3] [--nodes] [--values] [--json]\n\n"
    "Shows a model without running it.\n\n"
    "  --stage load   header, inputs, outputs, dimensions, counts, operators (default)\n"
    "  --stage shape  every value with its shape; \"?\" depends on data\n"
    "  --stage optimized  the nodes after the passes, the nodes of the model that each stands for,\n"
    "                 and how much each pass did\n"
    "  --stage plan   what a run needs: steps and memory; every dimension needs a --dim\n"
    "  --optimize L   optimisation level of the last two (default 3)\n"
    "  --dim NAME=N   the size of a named dimension: shapes are shown with it put in\n"
    "  --nodes        list the nodes, with inputs, outputs and attributes\n"
    "  --values       list the values (--stage shape always does)\n"
    "  --json         everything as JSON\n\n"
    "Operators, types and the like that this program does not support are listed at the end, on\n"
    "standard error; the exit code is 4 then.\n\n"
    "example: sardonyx inspect resnet50.onnx --stage shape --dim batch=4\n";

/* ---- facts ----------------------------------------------------------------------------------- */

const char *value_name(const sdx_model *model, uint32_t value) {
    sdx_value_info info = {.struct_size = sizeof info};
    if (value == SDX_NO_INDEX || sdx_model_get_value(model, value, &info) != SDX_STATUS_OK)
        return NULL;
    return info.name;
}

void add_concrete_type(text *t, const inspection *in, size_t value) {
    sdx_value_info info = {.struct_size = sizeof info};
    sdx_model_get_value(in->model, value, &info);
    int32_t rank = -1;
    int64_t dims[SDX_MAX_RANK];
    sdx_shapes_get(in->shapes, value, &rank, dims);
    if (rank < 0) {
        text_add_type(t, in->model, value);
        return;
    }
    text_add(t, "%s[", info.dtype == SDX_DTYPE_UNDEFINED ? "?" : sdx_dtype_name(info.dtype));
    for (int32_t i = 0; i < rank; i++) {
        char dim[256];
        if (i) text_add(t, ",");
        if (dims[i] >= 0) {
            text_add(t, "%lld", (long long)dims[i]);
        } else {
            sdx_model_dim_text(in->model, value, i, dim, sizeof dim);
            text_add(t, "%s", dim);
        }
    }
    text_add(t, "]");
}

bool depends_on_data(const inspection *in, size_t value, const sdx_value_info *info) {
    if (info->kind != SDX_KIND_TENSOR || info->is_input) return false;
    if (info->rank < 0) return true;
    for (int32_t i = 0; i < info->rank; i++) {
        char dim[8];
        if (info->dims[i] >= 0) continue;
        sdx_model_dim_text(in->model, value, i, dim, sizeof dim);
        if (strcmp(dim, "?") == 0) return true;
    }
    return false;
}

size_t count_data_dependent(const inspection *in) {
    size_t count = 0;
    for (size_t i = 0; i < in->info.value_count; i++) {
        sdx_value_info info = {.struct_size = sizeof info};
        sdx_model_get_value(in->model, i, &info);
        count += depends_on_data(in, i, &info);
    }
    return count;
}

void set_attribute_text(text *t, const sdx_model *model, size_t node, size_t attribute) {
    char small[256];
    size_t needed = sdx_model_attribute_text(model, node, attribute, small, sizeof small);
    text_clear(t);
    if (needed < sizeof small) {
        text_add(t, "%s", small);
        return;
    }
    char *large = malloc(needed + 1);
    if (large) sdx_model_attribute_text(model, node, attribute, large, needed + 1);
    text_add(t, "%s", large ? large : small);
    free(large);
}

void set_program_attribute_text(text *t, const sdx_program *program, size_t node,
                                size_t attribute) {
    size_t needed = sdx_program_attribute_text(program, node, attribute, NULL, 0);
    char *room = malloc(needed + 1);
    text_clear(t);
    if (room) sdx_program_attribute_text(program, node, attribute, room, needed + 1);
    text_add(t, "%s", room ? room : "");
    free(room);
}

/* ---- operators ------------------------------------------------------------------------------ */

static int by_identity(const void *a, const void *b) {
    const operator_use *x = a, *y = b;
    int order = strcmp(x->domain, y->domain);
    return order ? order : strcmp(x->name, y->name);
}

static int by_count(const void *a, const void *b) {
    const operator_use *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return by_identity(a, b);
}

/* A search tree finds the entry of each node: models of 100,000 nodes use some ten operators, but
 * nothing keeps a file from naming another operator in every node. */
typedef struct use_node {
    operator_use use; /* first, so that by_identity works on it */
    struct use_node *next;
} use_node;

static bool count_node(void **tree, use_node **list, const sdx_node_info *node) {
    use_node key = {.use = {.domain = node->domain, .name = node->op}};
    use_node *const *found = tfind(&key, tree, by_identity);
    use_node *entry = found ? *found : NULL;
    if (!entry) {
        entry = malloc(sizeof *entry);
        if (!entry) return false;
        *entry = key;
        if (!tsearch(entry, tree, by_identity)) {
            free(entry);
            return false;
        }
        entry->next = *list;
        *list = entry;
    }
    entry->use.count++;
    entry->use.unsupported += !node->supported;
    return true;
}

static void keep(void *entry) { (void)entry; } /* the list frees the entries */

static bool count_operators(inspection *in) {
    void *tree = NULL;
    use_node *list = NULL;
    bool good = true;
    for (size_t i = 0; good && i < in->info.node_count; i++) {
        sdx_node_info node = {.struct_size = sizeof node};
        sdx_model_get_node(in->model, i, &node);
        good = count_node(&tree, &list, &node);
    }
    for (const use_node *at = list; at; at = at->next) in->operator_count++;
    in->operators = calloc(in->operator_count + 1, sizeof *in->operators);
    good = good && in->operators;
    size_t filled = 0;
    while (list) {
        use_node *next = list->next;
        if (good) in->operators[filled++] = list->use;
        free(list);
        list = next;
    }
    tdestroy(tree, keep);
    if (good) qsort(in->operators, in->operator_count, sizeof *in->operators, by_count);
    return good;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void list_problems(const inspection *in) {
    fflush(stdout);
    complain("%s: %zu unsupported:", in->path, in->info.problem_count);
    for (size_t i = 0; i < in->info.problem_count; i++) {
        const sdx_error *problem = sdx_model_problem(in->model, i);
        fputs("  ", stderr);
        put_safe(stderr, problem->message);
        if (problem->position != SDX_NO_POSITION)
            fprintf(stderr, " (byte %llu)", (unsigned long long)problem->position);
        fputc('\n', stderr);
    }
}

static bool sizes_complete(const inspection *in) {
    for (size_t i = 0; i < in->info.input_count; i++) {
        uint32_t value = sdx_model_input(in->model, i);
        int32_t rank = -1;
        int64_t dims[SDX_MAX_RANK];
        sdx_shapes_get(in->shapes, value, &rank, dims);
        for (int32_t axis = 0; axis < rank; axis++) {
            if (dims[axis] >= 0) continue;
            complain_open_dim(in->model, value, axis, "--stage plan");
            return false;
        }
    }
    return true;
}

/* The program, and for STAGE_PLAN what a run of it needs. */
static int make_program(inspection *in) {
    if (in->info.problem_count) return EXIT_OK; /* listed in its place */
    if (in->stage == STAGE_PLAN && !sizes_complete(in)) return EXIT_USAGE;
    sdx_context *context = NULL;
    sdx_error error;
    sdx_context_options options = {.struct_size = sizeof options, .threads = 1};
    sdx_program_options made_for = {.struct_size = sizeof made_for, .optimize = (int)in->optimize,
                                    .fixed = in->dims.items, .fixed_count = in->dims.count};
    bool good = sdx_program_create(in->model, &made_for, &in->program, &error) == SDX_STATUS_OK;
    if (in->stage == STAGE_OPTIMIZED) return good ? EXIT_OK : report_error(in->path, &error);
    good =
        good && sdx_context_create(in->program, &options, &context, &error) == SDX_STATUS_OK &&
        sdx_context_bind_dims(context, in->dims.items, in->dims.count, &error) == SDX_STATUS_OK;
    in->memory.struct_size = sizeof in->memory;
    if (good) {
        in->steps = sdx_program_step_count(in->program);
        sdx_context_get_memory(context, &in->memory);
    }
    sdx_context_release(context);
    return good ? EXIT_OK : report_error(in->path, &error);
}

static int inspect(inspection *in, bool as_json) {
    sdx_error error;
    sdx_load_options load = {.struct_size = sizeof load,
                             .flags = SDX_LOAD_KEEP_UNSUPPORTED | SDX_LOAD_VERIFY |
                                      load_flags_given(),
                             .limits = limits_given()};
    if (sdx_model_load_file(in->path, &load, &in->model, &error) != SDX_STATUS_OK)
        return report_error(in->path, &error);
    in->info.struct_size = sizeof in->info;
    sdx_model_get_info(in->model, &in->info);
    if (!dims_check(&in->dims, in->model)) return EXIT_USAGE;
    if (sdx_shapes_create(in->model, in->dims.items, in->dims.count, &in->shapes, &error) !=
        SDX_STATUS_OK)
        return report_error(in->path, &error);
    if (!count_operators(in)) return out_of_memory();
    int code = in->stage >= STAGE_OPTIMIZED ? make_program(in) : EXIT_OK;
    if (code != EXIT_OK) return code;
    if (as_json) print_inspection_json(in);
    else print_inspection_text(in);
    if (in->info.problem_count == 0) return EXIT_OK;
    list_problems(in);
    return EXIT_UNSUPPORTED;
}

static int run(int argc, char **argv) {
    inspection in = {.optimize = 3};
    text_list models = {0}, dims = {0};
    bool as_json = false;
    int stage = STAGE_LOAD, code = EXIT_USAGE;
    const option options[] = {
        {.name = "--dim", .kind = OPTION_LIST, .to = &dims},
        {.name = "--stage", .kind = OPTION_CHOICE, .to = &stage,
         .choices = "load|shape|optimized|plan"},
        {.name = "--optimize", .kind = OPTION_INTEGER, .to = &in.optimize, .low = 0, .high = 3},
        {.name = "--nodes", .kind = OPTION_FLAG, .to = &in.nodes},
        {.name = "--values", .kind = OPTION_FLAG, .to = &in.values},
        {.name = "--json", .kind = OPTION_FLAG, .to = &as_json},
    };
    if (!parse_arguments(&cmd_inspect, argc, argv, options, sizeof options / sizeof *options,
                         &models) ||
        !dims_parse(&in.dims, &dims, &cmd_inspect)) {
        /* said already */
    } else if (models.count != 1) {
        usage_error(&cmd_inspect, models.count ? "more than one model given" : "no model given");
    } else {
        in.path = models.items[0];
        in.stage = (inspect_stage)stage;
        in.values = in.values || in.stage == STAGE_SHAPE;
        code = inspect(&in, as_json);
    }
    text_free(&in.scratch);
    free(in.operators);
    sdx_program_release(in.program);
    sdx_shapes_release(in.shapes);
    sdx_model_release(in.model);
    dims_free(&in.dims);
    text_list_free(&dims);
    text_list_free(&models);
    return code;
}

const command cmd_inspect = {"inspect", "show what a model holds", help, run, true};
