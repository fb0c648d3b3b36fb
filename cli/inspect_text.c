/* inspect_text.c - `sardonyx inspect` for people: one fact a line, one value or node a line. */
#include "inspect.h"

#include <string.h>

#define LONG_VALUE 400 /* bytes of a metadata value that are shown */

/* ---- facts, one a line ------------------------------------------------------------------------ */

static void label(const char *name) { printf("%-12s ", name); }

static void print_fact(const char *name, const char *value) {
    if (!value || !value[0]) return;
    label(name);
    put_safe(stdout, value);
    putchar('\n');
}

static void print_count(const char *name, size_t count) {
    label(name);
    printf("%zu\n", count);
}

static void print_bytes(inspection *in, const char *name, uint64_t bytes, const char *remark) {
    text_clear(&in->scratch);
    text_add_bytes(&in->scratch, bytes);
    label(name);
    printf("%s%s\n", in->scratch.data, remark);
}

static void print_header(inspection *in) {
    const sdx_model_info *info = &in->info;
    print_fact("file", in->path);
    print_bytes(in, "size", info->file_bytes, "");
    label("IR version");
    printf("%lld\n", (long long)info->ir_version);
    text *t = &in->scratch;
    text_clear(t);
    text_add(t, "%s%s%s", info->producer_name, info->producer_version[0] ? " " : "",
             info->producer_version);
    print_fact("producer", t->data);
    print_fact("domain", info->domain);
    if (info->model_version) {
        label("version");
        printf("%lld\n", (long long)info->model_version);
    }
    print_fact("graph", info->graph_name);
    print_fact("doc", info->doc);
    text_clear(t);
    for (size_t i = 0; i < info->opset_count; i++) {
        const char *domain;
        int64_t version;
        sdx_model_opset(in->model, i, &domain, &version);
        text_add(t, "%s%s %lld", i ? ", " : "", domain, (long long)version);
    }
    print_fact("opsets", t->data);
}

static void print_dims(inspection *in) {
    text *t = &in->scratch;
    text_clear(t);
    for (size_t i = 0; i < in->info.symbol_count; i++) {
        const char *name = sdx_model_symbol(in->model, i);
        text_add(t, "%s%s", i ? ", " : "", name);
        for (size_t k = 0; k < in->dims.count; k++)
            if (strcmp(in->dims.items[k].name, name) == 0)
                text_add(t, "=%lld", (long long)in->dims.items[k].value);
    }
    print_fact("dimensions", in->info.symbol_count ? t->data : "none");
}

/* ---- values ----------------------------------------------------------------------------------- */

#define WIDEST_NAME 40 /* longer names push their line to the right, not all lines */

/* "float32[batch,3]", and with --dim also "= float32[4,3]" where that says more. */
static void print_type(inspection *in, size_t value) {
    text *t = &in->scratch;
    text_clear(t);
    text_add_type(t, in->model, value);
    size_t split = t->length;
    put_safe(stdout, t->data ? t->data : "");
    if (!in->dims.count) return;
    add_concrete_type(t, in, value);
    if (!t->data || (t->length == 2 * split && memcmp(t->data, t->data + split, split) == 0))
        return;
    fputs(" = ", stdout);
    put_safe(stdout, t->data + split);
}

static size_t name_width(const char *name, size_t width) {
    size_t length = strlen(name);
    return length <= WIDEST_NAME && length > width ? length : width;
}

static void print_name(const char *name, size_t width) {
    put_safe(stdout, name);
    size_t length = strlen(name);
    printf("%*s", length < width ? (int)(width - length) : 0, "");
}

static void print_ends(inspection *in, const char *title, size_t count,
                       uint32_t (*at)(const sdx_model *, size_t)) {
    size_t width = 0;
    for (size_t i = 0; i < count; i++)
        width = name_width(value_name(in->model, at(in->model, i)), width);
    print_count(title, count);
    for (size_t i = 0; i < count; i++) {
        sdx_value_info info = {.struct_size = sizeof info};
        uint32_t value = at(in->model, i);
        sdx_model_get_value(in->model, value, &info);
        fputs("  ", stdout);
        print_name(info.name, width);
        fputs("  ", stdout);
        print_type(in, value);
        fputs(info.has_default ? "  has a default\n" : "\n", stdout);
    }
}

static const char *origin(const inspection *in, const sdx_value_info *info) {
    if (info->is_constant) return "constant";
    if (info->is_input) return info->has_default ? "default" : "input";
    sdx_node_info node = {.struct_size = sizeof node};
    if (sdx_model_get_node(in->model, info->producer, &node) != SDX_STATUS_OK) return "";
    return node.op;
}

/* The names that the file has for sizes that depend on data, or a shape that cannot be. */
static void print_declared(inspection *in, size_t value) {
    text_clear(&in->scratch);
    text_add_declared(&in->scratch, in->model, value);
    if (in->scratch.length == 0) return;
    fputs(", ", stdout);
    put_safe(stdout, in->scratch.data);
    fputs(" in the file", stdout);
}

static void print_values(inspection *in) {
    size_t name = 0, from = 8;
    for (size_t i = 0; i < in->info.value_count; i++) {
        sdx_value_info info = {.struct_size = sizeof info};
        sdx_model_get_value(in->model, i, &info);
        name = name_width(info.name, name);
        from = name_width(origin(in, &info), from);
    }
    print_count("values", in->info.value_count);
    for (size_t i = 0; i < in->info.value_count; i++) {
        sdx_value_info info = {.struct_size = sizeof info};
        sdx_model_get_value(in->model, i, &info);
        fputs("  ", stdout);
        print_name(origin(in, &info), from);
        fputs("  ", stdout);
        print_name(info.name, name);
        fputs("  ", stdout);
        print_type(in, i);
        if (info.graph) printf("  in graph %u", info.graph);
        if (info.is_output) fputs("  output", stdout);
        bool open = depends_on_data(in, i, &info);
        if (open) fputs("  depends on data", stdout);
        if (info.is_contradicted) fputs("  contradicted", stdout);
        if (open || info.is_contradicted) print_declared(in, i);
        putchar('\n');
    }
}

/* ---- nodes ------------------------------------------------------------------------------------ */

static void print_operator(const char *domain, const char *name) {
    if (strcmp(domain, "ai.onnx") != 0) {
        put_safe(stdout, domain);
        putchar('.');
    }
    put_safe(stdout, name);
}

static void print_edges(const inspection *in, const uint32_t *values, size_t count) {
    putchar('(');
    for (size_t i = 0; i < count; i++) {
        const char *name = value_name(in->model, values[i]);
        if (i) fputs(", ", stdout);
        put_safe(stdout, name ? name : "-");
    }
    putchar(')');
}

static void print_nodes(inspection *in) {
    print_count("nodes", in->info.node_count);
    for (size_t i = 0; i < in->info.node_count; i++) {
        sdx_node_info node = {.struct_size = sizeof node};
        sdx_model_get_node(in->model, i, &node);
        fputs("  ", stdout);
        put_safe(stdout, node.name);
        fputs(": ", stdout);
        print_operator(node.domain, node.op);
        printf(" %lld ", (long long)node.version);
        print_edges(in, node.inputs, node.input_count);
        fputs(" -> ", stdout);
        print_edges(in, node.outputs, node.output_count);
        for (size_t k = 0; k < node.attribute_count; k++) {
            set_attribute_text(&in->scratch, in->model, i, k);
            putchar(' ');
            put_safe(stdout, in->scratch.data ? in->scratch.data : "");
        }
        if (node.graph) printf("  in graph %u", node.graph);
        fputs(node.supported ? "\n" : "  unsupported\n", stdout);
    }
}

static void print_operators(const inspection *in) {
    print_count("operators", in->operator_count);
    for (size_t i = 0; i < in->operator_count; i++) {
        const operator_use *use = &in->operators[i];
        printf("  %6zu  ", use->count);
        print_operator(use->domain, use->name);
        if (use->unsupported == use->count) fputs("  unsupported", stdout);
        else if (use->unsupported) printf("  %zu unsupported", use->unsupported);
        putchar('\n');
    }
}

/* ---- after the passes -------------------------------------------------------------------------- */

static void print_program_edges(const inspection *in, const uint32_t *values, size_t count) {
    putchar('(');
    for (size_t i = 0; i < count; i++) {
        const char *name = sdx_program_value_name(in->program, values[i]);
        if (i) fputs(", ", stdout);
        put_safe(stdout, name ? name : "-");
    }
    putchar(')');
}

static void print_program_node(inspection *in, size_t index) {
    sdx_program_node node = {.struct_size = sizeof node};
    sdx_program_get_node(in->program, index, &node);
    fputs("  ", stdout);
    print_operator(node.domain, node.op);
    putchar(' ');
    print_program_edges(in, node.inputs, node.input_count);
    fputs(" -> ", stdout);
    print_program_edges(in, node.outputs, node.output_count);
    for (size_t k = 0; k < node.attribute_count; k++) {
        set_program_attribute_text(&in->scratch, in->program, index, k);
        putchar(' ');
        put_safe(stdout, in->scratch.data ? in->scratch.data : "");
    }
    if (node.graph) printf("  in graph %u", node.graph);
    fputs("  from ", stdout);
    for (size_t k = 0; k < node.origin_count; k++) {
        sdx_node_info origin = {.struct_size = sizeof origin};
        sdx_model_get_node(in->model, node.origins[k], &origin);
        if (k) fputs(", ", stdout);
        put_safe(stdout, origin.name);
        fputs(" (", stdout);
        put_safe(stdout, origin.op);
        putchar(')');
    }
    putchar('\n');
}

static void print_optimized(inspection *in) {
    print_fact("file", in->path);
    print_dims(in);
    if (in->info.problem_count) return; /* no program; the reasons follow on stderr */
    print_count("passes", sdx_program_pass_count(in->program));
    for (size_t i = 0; i < sdx_program_pass_count(in->program); i++) {
        sdx_pass_info pass = {.struct_size = sizeof pass};
        sdx_program_get_pass(in->program, i, &pass);
        printf("  %6u  %-10s %s\n", pass.changes, pass.name, pass.summary);
    }
    label("nodes");
    printf("%zu, of %zu in the model\n", sdx_program_node_count(in->program),
           in->info.node_count);
    for (size_t i = 0; i < sdx_program_node_count(in->program); i++) print_program_node(in, i);
}

/* What a packed file holds beside the graph. */
static void print_packing(inspection *in) {
    sdx_packing_info packing = {.struct_size = sizeof packing};
    if (sdx_model_get_packing(in->model, &packing) != SDX_STATUS_OK) return;
    text *t = &in->scratch;
    text_clear(t);
    text_add(t, "format %u, by version %s, level %d", packing.version, packing.library,
             packing.optimize);
    for (size_t i = 0; i < packing.set_count; i++) {
        const char *name;
        uint64_t bytes;
        sdx_model_packed_set(in->model, i, &name, &bytes);
        text_add(t, "; for %s ", name);
        text_add_bytes(t, bytes);
    }
    if (packing.flags & SDX_PACK_PLAIN) text_add(t, "; plain weights");
    if (packing.flags & SDX_PACK_HALF) text_add(t, "; weights in half precision");
    if (packing.set_count && !packing.ready) text_add(t, "; none for the kernels at hand");
    print_fact("packed", t->data);
}

/* ---- stages ----------------------------------------------------------------------------------- */

static void print_load(inspection *in) {
    const sdx_model_info *info = &in->info;
    print_header(in);
    print_ends(in, "inputs", info->input_count, sdx_model_input);
    print_ends(in, "outputs", info->output_count, sdx_model_output);
    print_dims(in);
    if (!in->nodes) print_count("nodes", info->node_count);
    if (!in->values) print_count("values", info->value_count);
    print_count("graphs", info->graph_count);
    print_count("functions", info->function_count);
    text_clear(&in->scratch);
    text_add(&in->scratch, "%zu, ", info->constant_count);
    text_add_bytes(&in->scratch, info->constant_bytes);
    print_fact("constants", in->scratch.data);
    print_packing(in);
    print_operators(in);
    print_count("metadata", info->metadata_count);
    for (size_t i = 0; i < info->metadata_count; i++) {
        const char *key, *value;
        sdx_model_metadata(in->model, i, &key, &value);
        fputs("  ", stdout);
        put_safe(stdout, key);
        fputs(" = ", stdout);
        size_t size = strlen(value);
        char begin[LONG_VALUE + 1];
        snprintf(begin, sizeof begin, "%s", value);
        put_safe(stdout, begin);
        if (size > LONG_VALUE) printf(" … (%zu bytes)", size);
        putchar('\n');
    }
}

/* Whether batches are run in slices, or why not. */
static void print_slices(const inspection *in) {
    sdx_slice_info slice = {.struct_size = sizeof slice};
    sdx_program_get_slice(in->program, &slice);
    label("slices");
    fputs(slice.symbol ? "of '" : "none: ", stdout);
    put_safe(stdout, slice.symbol ? slice.symbol : slice.reason);
    if (!slice.symbol) putchar('\n');
    else if (!in->memory.slice) puts("', which is run whole at this size");
    else printf("', %llu at a time\n", (unsigned long long)in->memory.slice);
}

static void print_plan(inspection *in) {
    print_fact("file", in->path);
    print_dims(in);
    if (in->info.problem_count) return; /* no plan; the reasons follow on stderr */
    print_count("steps", in->steps);
    print_slices(in);
    print_bytes(in, "arena", in->memory.arena_bytes, " for the intermediates");
    print_bytes(in, "unshared", in->memory.naive_bytes, " if each had memory of its own");
    print_bytes(in, "constants", in->info.constant_bytes, "");
    print_bytes(in, "copied", in->memory.constant_bytes,
                " of the constants, which cannot be used where they lie");
    label("heap");
    printf("%zu values whose shape depends on data\n", count_data_dependent(in));
}

void print_inspection_text(inspection *in) {
    if (in->stage == STAGE_LOAD) {
        print_load(in);
    } else if (in->stage == STAGE_PLAN) {
        print_plan(in);
    } else if (in->stage == STAGE_OPTIMIZED) {
        print_optimized(in);
    } else {
        print_fact("file", in->path);
        print_dims(in);
    }
    if (in->values) print_values(in);
    if (in->nodes) print_nodes(in);
}
