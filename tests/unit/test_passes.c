/* test_passes.c - a program's own module: copying it, who reads what, putting values in place of others,
 * removing nodes, the order afterwards, where nodes come from, and constants that steps pack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "exec/program.h"
#include "passes/passes.h"
#include "sardonyx.h"
#include "onnx_model.h"

static sdx_id find_value(const sdx_module *module, const char *name) {
    for (size_t i = 0; i < module->values.count; i++)
        if (strcmp(sdx_value_at(module, (sdx_id)i)->name, name) == 0) return (sdx_id)i;
    fail_msg("no value %s", name);
    return SDX_NONE;
}

static sdx_id maker_of(const sdx_module *module, const char *name) {
    return sdx_value_at(module, find_value(module, name))->producer;
}

/* y = Identity(Relu(x)) * Relu(x); z = Identity(y), both outputs; batch is open. */
static void chain_model(tiny_model *m) {
    tiny_begin(m, 17);
    tiny_value(m, 11, "x", 1, "batch,3");
    tiny_node(m, "Relu", "x", "a");
    tiny_node(m, "Identity", "a", "b");
    tiny_node(m, "Mul", "b,a", "y");
    tiny_node(m, "Identity", "y", "z");
    tiny_node(m, "Neg", "x", "unused");
    tiny_value(m, 12, "z", 1, "");
    tiny_end(m);
}

/* x where c, else Neg of a captured Abs(x). */
static void branch_model(tiny_model *m) {
    tiny_begin(m, 17);
    tiny_value(m, 11, "x", 1, "n");
    tiny_value(m, 11, "c", 9, "");
    tiny_node(m, "Abs", "x", "a");
    size_t node = node_begin(&m->out, 1, "If", "", "c", "y");
    for (int side = 0; side < 2; side++) {
        size_t attr = attr_begin(&m->out, 5, side ? "else_branch" : "then_branch", A_GRAPH);
        size_t graph = sdx_pb_write_begin(&m->out, 6);
        tiny_text(&m->out, 2, side ? "else" : "then");
        size_t inner = node_begin(&m->out, 1, side ? "Neg" : "Identity", "", side ? "a" : "x",
                                  side ? "e" : "t");
        sdx_pb_write_end(&m->out, inner);
        size_t info = sdx_pb_write_begin(&m->out, 12);
        tiny_text(&m->out, 1, side ? "e" : "t");
        sdx_pb_write_end(&m->out, info);
        sdx_pb_write_end(&m->out, graph);
        sdx_pb_write_end(&m->out, attr);
    }
    sdx_pb_write_end(&m->out, node);
    tiny_value(m, 12, "y", 1, "");
    tiny_end(m);
}

typedef struct fixture {
    tiny_model bytes;
    sdx_model *model;
    sdx_module *module; /* the copy */
    sdx_rewrite r;
    sdx_error error;
} fixture;

static void start(fixture *f, void (*make)(tiny_model *)) {
    memset(f, 0, sizeof *f);
    make(&f->bytes);
    sdx_status status = sdx_model_load_memory(f->bytes.out.data, f->bytes.out.size, NULL, &f->model,
                                              &f->error);
    if (status != SDX_STATUS_OK) print_message("%s\n", f->error.message);
    assert_int_equal(status, SDX_STATUS_OK);
    assert_int_equal(sdx_module_copy(f->model->module, NULL, NULL, &f->module, &f->error),
                     SDX_STATUS_OK);
    assert_int_equal(sdx_rewrite_init(&f->r, f->module, 3, &f->error), SDX_STATUS_OK);
}

static void finish(fixture *f) {
    sdx_rewrite_free(&f->r);
    sdx_module_release(f->module);
    sdx_model_release(f->model);
    tiny_free(&f->bytes);
}

/* ---- copies ------------------------------------------------------------------------------------ */

static void a_copy_has_the_same_indices_and_its_own_lists(void **state) {
    (void)state;
    fixture f;
    start(&f, branch_model);
    const sdx_module *from = f.model->module, *to = f.module;
    assert_int_equal(to->values.count, from->values.count);
    assert_int_equal(to->nodes.count, from->nodes.count);
    assert_int_equal(to->graphs.count, 3);
    for (sdx_id i = 0; i < from->values.count; i++) {
        char a[128], b[128];
        sdx_type_text(from, &sdx_value_at(from, i)->type, a, sizeof a);
        sdx_type_text(to, &sdx_value_at(to, i)->type, b, sizeof b);
        assert_string_equal(a, b);
        assert_ptr_equal(sdx_value_at(from, i)->name, sdx_value_at(to, i)->name);
    }
    for (sdx_id i = 0; i < from->nodes.count; i++) {
        const sdx_node *a = sdx_node_at(from, i), *b = sdx_node_at(to, i);
        assert_ptr_equal(a->params, b->params);
        assert_ptr_not_equal(a->inputs, b->inputs);
        assert_memory_equal(a->inputs, b->inputs, a->input_count * sizeof(sdx_id));
        assert_int_equal(b->origin, i);
    }
    assert_int_equal(sdx_graph_at(to, 2)->capture_count, 1);
    finish(&f);
}

static void fixed_sizes_are_numbers_in_a_copy(void **state) {
    (void)state;
    fixture f;
    start(&f, chain_model);
    size_t symbols = sdx_expr_symbol_count(f.model->module->pool);
    int64_t *fixed = calloc(symbols + 1, sizeof *fixed);
    assert_non_null(fixed);
    for (size_t i = 0; i < symbols; i++) fixed[i] = 7;
    sdx_module *copy;
    assert_int_equal(sdx_module_copy(f.model->module, NULL, fixed, &copy, &f.error), SDX_STATUS_OK);
    char text[64];
    sdx_type_text(copy, &sdx_value_at(copy, find_value(copy, "z"))->type, text, sizeof text);
    assert_string_equal(text, "float32[7,3]");
    sdx_type_text(f.module, &sdx_value_at(f.module, find_value(copy, "z"))->type, text, sizeof text);
    assert_string_equal(text, "float32[batch,3]");
    sdx_module_release(copy);
    free(fixed);
    finish(&f);
}

static void copies_survive_any_failed_allocation(void **state) {
    (void)state;
    fixture f;
    start(&f, branch_model);
    for (size_t fail = 1;; fail++) {
        purse p = {.fail_at = fail};
        sdx_allocator allocator = {&p, purse_allocate, purse_release};
        sdx_module *copy = NULL;
        sdx_status status =
            sdx_module_copy(f.model->module, &allocator, NULL, &copy, &f.error);
        sdx_module_release(copy);
        assert_int_equal(p.held, 0);
        if (status == SDX_STATUS_OK) break;
        assert_int_equal(status, SDX_STATUS_NO_MEMORY);
        assert_true(fail < 1000);
        sdx_error_clear(&f.error);
    }
    finish(&f);
}

/* ---- uses and changes --------------------------------------------------------------------------- */

static void uses_count_nodes_and_outputs(void **state) {
    (void)state;
    fixture f;
    start(&f, chain_model);
    sdx_id a = find_value(f.module, "a"), z = find_value(f.module, "z");
    assert_int_equal(sdx_use_count(&f.r, a), 2);
    assert_int_equal(sdx_use_count(&f.r, z), 1);
    assert_true(sdx_use_is_output(&f.r, z));
    assert_false(sdx_use_is_output(&f.r, a));
    assert_int_equal(sdx_sole_user(&f.r, a), SDX_NONE);
    assert_int_equal(sdx_sole_user(&f.r, z), SDX_NONE);
    assert_int_equal(sdx_sole_user(&f.r, find_value(f.module, "b")), maker_of(f.module, "y"));
    assert_int_equal(sdx_use_count(&f.r, find_value(f.module, "x")), 2);
    sdx_kill(&f.r, maker_of(f.module, "unused"));
    assert_int_equal(sdx_use_count(&f.r, find_value(f.module, "x")), 1);
    finish(&f);
}

static void replacing_an_output_renames_what_is_put_there(void **state) {
    (void)state;
    fixture f;
    start(&f, chain_model);
    sdx_id a = find_value(f.module, "a"), b = find_value(f.module, "b");
    sdx_id y = find_value(f.module, "y"), z = find_value(f.module, "z");
    sdx_id mul = maker_of(f.module, "y");
    assert_true(sdx_supplant(&f.r, b, a));
    assert_true(sdx_supplant(&f.r, z, y));
    assert_int_equal(f.r.changes, 2);
    assert_int_equal(sdx_value_at(f.module, z)->producer, mul);
    assert_int_equal(sdx_node_at(f.module, mul)->outputs[0], z);
    assert_int_equal(sdx_node_at(f.module, mul)->inputs[0], a);
    assert_int_equal(sdx_use_count(&f.r, a), 2);
    assert_int_equal(sdx_use_count(&f.r, z), 1);
    assert_int_equal(sdx_rewrite_tidy(&f.r), SDX_STATUS_OK);
    assert_int_equal(sdx_graph_at(f.module, 0)->node_count, 3);
    assert_int_equal(sdx_graph_at(f.module, 0)->outputs[0], z);
    /* An input cannot become an output's maker. */
    assert_false(sdx_replace(&f.r, z, find_value(f.module, "x")));
    finish(&f);
}

static void subgraphs_are_readers_too(void **state) {
    (void)state;
    fixture f;
    start(&f, branch_model);
    sdx_id a = find_value(f.module, "a"), x = find_value(f.module, "x");
    assert_int_equal(sdx_use_count(&f.r, a), 1);
    assert_int_equal(sdx_sole_user(&f.r, a), SDX_NONE); /* stands deeper */
    assert_true(sdx_supplant(&f.r, a, x));
    assert_int_equal(sdx_rewrite_tidy(&f.r), SDX_STATUS_OK);
    assert_int_equal(sdx_graph_at(f.module, 0)->node_count, 1);
    assert_int_equal(sdx_graph_at(f.module, 2)->capture_count, 1);
    assert_int_equal(sdx_graph_at(f.module, 2)->captures[0], x);
    /* With the If goes what stands in its branches. */
    sdx_kill(&f.r, maker_of(f.module, "y"));
    assert_int_equal(sdx_use_count(&f.r, x), 0);
    finish(&f);
}

static void new_nodes_come_before_their_readers_and_know_their_origin(void **state) {
    (void)state;
    fixture f;
    start(&f, chain_model);
    sdx_id mul = maker_of(f.module, "y"), relu = maker_of(f.module, "a");
    const sdx_id from[] = {mul, relu};
    sdx_rewrite_from(&f.r, from, 2);
    sdx_id squared = SDX_EMIT(&f.r.build, "Abs", find_value(f.module, "a"));
    assert_int_equal(f.r.build.status, SDX_STATUS_OK);
    assert_true(sdx_supplant(&f.r, find_value(f.module, "y"), squared));
    assert_int_equal(sdx_rewrite_tidy(&f.r), SDX_STATUS_OK);
    const sdx_graph *graph = sdx_graph_at(f.module, 0);
    sdx_id made = sdx_value_at(f.module, squared)->producer, last = SDX_NONE;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        assert_int_not_equal(graph->nodes[i], mul);
        if (graph->nodes[i] == made) last = i;
        if (graph->nodes[i] == maker_of(f.module, "z")) assert_true(last < i);
    }
    const sdx_node *node = sdx_node_at(f.module, made);
    assert_int_equal(node->origin, mul);
    assert_int_equal(node->origin_count, 2);
    assert_int_equal(node->origins[1], relu);
    assert_string_equal(node->name, sdx_node_at(f.module, mul)->name);
    finish(&f);
}

static void files_cannot_name_what_passes_make(void **state) {
    (void)state;
    tiny_model m;
    sdx_model *model = NULL;
    sdx_error error;
    tiny_begin(&m, 17);
    import(&m.out, 8, SDX_DOMAIN_FUSED, 1);
    tiny_value(&m, 11, "x", 1, "2");
    node(&m.out, 1, "Conv", SDX_DOMAIN_FUSED, "x", "y");
    tiny_value(&m, 12, "y", 1, "");
    tiny_end(&m);
    sdx_status status = sdx_model_load_memory(m.out.data, m.out.size, NULL, &model, &error);
    assert_int_not_equal(status, SDX_STATUS_OK);
    tiny_free(&m);
}

/* Something for most passes: constants to fold, a bias, a Swish, an Identity, a shape. */
static void busy_model(tiny_model *m) {
    static const float numbers[4] = {1, 2, 3, 4};
    static const int64_t axes[1] = {0};
    tiny_begin(m, 17);
    tiny_value(m, 11, "x", 1, "batch,4");
    tiny_constant(m, "w", 1, 4, numbers, sizeof numbers);
    tiny_constant(m, "axes", 7, 1, axes, sizeof axes);
    tiny_node(m, "Unsqueeze", "w,axes", "row");
    tiny_node(m, "Transpose", "row", "column");
    tiny_node(m, "Mul", "row,column", "weights");
    tiny_node(m, "MatMul", "x,weights", "product");
    tiny_node(m, "Add", "product,w", "sum");
    tiny_node(m, "Identity", "sum", "same");
    tiny_node(m, "Sigmoid", "same", "gate");
    tiny_node(m, "Mul", "same,gate", "swish");
    tiny_node(m, "Shape", "x", "shape");
    tiny_node(m, "Reshape", "swish,shape", "y");
    tiny_value(m, 12, "y", 1, "");
    tiny_end(m);
}

static void programs_survive_any_failed_allocation(void **state) {
    (void)state;
    tiny_model m;
    sdx_model *model = NULL;
    sdx_error error;
    busy_model(&m);
    assert_int_equal(sdx_model_load_memory(m.out.data, m.out.size, NULL, &model, &error),
                     SDX_STATUS_OK);
    for (size_t fail = 1;; fail++) {
        purse p = {.fail_at = fail};
        sdx_allocator allocator = {&p, purse_allocate, purse_release};
        sdx_program_options options = {.struct_size = sizeof options, .optimize = 3,
                                       .allocator = &allocator};
        sdx_program *program = NULL;
        sdx_status status = sdx_program_create(model, &options, &program, &error);
        /* A pass may do without: what it could not hold is computed during the run. */
        size_t nodes = sdx_program_node_count(program);
        sdx_program_release(program);
        assert_int_equal(p.held, 0);
        assert_true(status == SDX_STATUS_OK || error.code != SDX_STATUS_OK);
        if (status == SDX_STATUS_OK && p.calls < fail) {
            assert_int_equal(nodes, 1); /* a product with bias and Swish */
            break;
        }
        assert_true(fail < 5000);
    }
    sdx_model_release(model);
    tiny_free(&m);
}

/* ---- packing ------------------------------------------------------------------------------------ */

static int packs; /* how often it filled a piece */

/* Doubles the second input, as a layout of its own. */
static sdx_status double_pack(sdx_pack *pack) {
    const sdx_const *weights = sdx_pack_constant(pack, 1);
    const void *floats;
    if (!weights) return SDX_STATUS_OK;
    float *packed = sdx_pack_piece(pack, SDX_DTYPE_FLOAT32, weights->count);
    if (!packed) return SDX_STATUS_NO_MEMORY;
    pack->packed = packed;
    pack->taken = 1u << 1;
    if (pack->filled) return SDX_STATUS_OK; /* its size alone was asked for */
    packs++;
    SDX_TRY(sdx_pack_floats(pack, 1, &floats));
    for (size_t i = 0; i < weights->count; i++) packed[i] = 2 * ((const float *)floats)[i];
    return SDX_STATUS_OK;
}

static sdx_status double_run(sdx_call *call) {
    const float *x = sdx_in(call, 0)->data, *w = call->packed;
    float *y = sdx_out(call, 0)->data;
    if (!w) return sdx_call_fail(call, "nothing packed");
    for (size_t i = 0; i < sdx_out(call, 0)->count; i++) y[i] = x[i] * w[i % 1024];
    return SDX_STATUS_OK;
}

/* y = x * w, with Mul replaced by the operator above; also read by a second node if `shared`. */
static void pack_model(tiny_model *m, bool shared) {
    static float weights[1024];
    for (size_t i = 0; i < 1024; i++) weights[i] = (float)i;
    tiny_begin(m, 17);
    tiny_value(m, 11, "x", 1, "n,1024");
    tiny_constant(m, "w", 1, 1024, weights, sizeof weights);
    tiny_node(m, "Mul", "x,w", "y");
    tiny_value(m, 12, "y", 1, "");
    if (shared) {
        tiny_node(m, "Add", "y,w", "v");
        tiny_value(m, 12, "v", 1, "");
    }
    tiny_end(m);
}

static void run_packed(bool shared, bool from_file) {
    tiny_model m;
    sdx_model *model = NULL;
    sdx_program *program = NULL;
    sdx_context *context = NULL;
    sdx_error error;
    char path[] = "/tmp/sardonyx-pack-XXXXXX";
    pack_model(&m, shared);
    if (from_file) {
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, m.out.data, m.out.size), (ssize_t)m.out.size);
        close(fd);
        assert_int_equal(sdx_model_load_file(path, NULL, &model, &error), SDX_STATUS_OK);
    } else {
        assert_int_equal(sdx_model_load_memory(m.out.data, m.out.size, NULL, &model, &error),
                         SDX_STATUS_OK);
    }
    sdx_node *mul = sdx_node_at(model->module, sdx_graph_at(model->module, 0)->nodes[0]);
    sdx_op_def def = *mul->op->def;
    sdx_op op = *mul->op;
    def.pack = double_pack;
    def.run = double_run;
    op.def = &def;
    mul->op = &op;
    packs = 0;
    assert_int_equal(sdx_program_create(model, NULL, &program, &error), SDX_STATUS_OK);
    assert_int_equal(packs, 1);
    assert_int_equal(program->blocks[0].steps[0].taken, 2);
    assert_int_equal(sdx_context_create(program, NULL, &context, &error), SDX_STATUS_OK);
    float *data = calloc(2048, sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < 2048; i++) data[i] = 1;
    const int64_t dims[] = {2, 1024};
    sdx_tensor x;
    sdx_tensor_init(&x, SDX_DTYPE_FLOAT32, 2, dims, data, NULL);
    assert_int_equal(sdx_context_set_input(context, 0, &x, &error), SDX_STATUS_OK);
    assert_int_equal(sdx_context_run(context, &error), SDX_STATUS_OK);
    const float *y = sdx_context_output(context, 0)->data;
    for (size_t i = 0; i < 2048; i++) assert_true(y[i] == 2 * (float)(i % 1024));
    if (shared) {
        const float *v = sdx_context_output(context, 1)->data;
        for (size_t i = 0; i < 2048; i++) assert_true(v[i] == 3 * (float)(i % 1024));
    }
    sdx_memory_info memory = {.struct_size = sizeof memory};
    sdx_context_get_memory(context, &memory);
    assert_true(memory.constant_bytes >= 4096 && memory.constant_bytes <= (shared ? 8192 : 4096));
    free(data);
    sdx_context_release(context);
    sdx_program_release(program);
    sdx_model_release(model);
    tiny_free(&m);
    if (from_file) unlink(path);
}

static void steps_pack_their_constants(void **state) {
    (void)state;
    run_packed(false, false);
    run_packed(false, true);
}

static void a_constant_stays_while_others_read_it(void **state) {
    (void)state;
    run_packed(true, false);
    run_packed(true, true);
}

/* ---- Winograd's budget -------------------------------------------------------------------------- */

enum { CONVS = 6, MAPS = 512 };

/* 3x3 convolutions one after the other, each two pixels smaller, from 24x24 on; all have the same weights. */
static void convs_model(tiny_model *m) {
    static const float weights[MAPS * MAPS * 9];
    static const uint64_t dims[4] = {MAPS, MAPS, 3, 3};
    tiny_begin(m, 17);
    tiny_value(m, 11, "c0", 1, "1,512,24,24");
    size_t tensor = sdx_pb_write_begin(&m->out, 5);
    for (size_t i = 0; i < 4; i++) sdx_pb_write_varint(&m->out, 1, dims[i]);
    sdx_pb_write_varint(&m->out, 2, 1);
    tiny_text(&m->out, 8, "w");
    sdx_pb_write_bytes(&m->out, 9, weights, sizeof weights);
    sdx_pb_write_end(&m->out, tensor);
    for (int i = 0; i < CONVS; i++) {
        char in[16], out[16];
        snprintf(in, sizeof in, "c%d,w", i);
        snprintf(out, sizeof out, "c%d", i + 1);
        tiny_node(m, "Conv", in, out);
    }
    tiny_value(m, 12, "c6", 1, "");
    tiny_end(m);
}

/* All may have tiles of 2x2, for 7.3 MB each; of 64 MiB the rest is enough for 4x4 once, where the image is
 * largest. */
static void winograd_keeps_to_its_budget(void **state) {
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        fixture f;
        start(&f, convs_model);
        assert_int_equal(sdx_passes_run(f.module, 3, allowed ? 0 : SDX_KERNELS_NO_WINOGRAD, NULL,
                                        &f.error),
                         SDX_STATUS_OK);
        size_t count = 0;
        for (size_t id = 0; id < f.module->nodes.count; id++) {
            const sdx_node *node = sdx_node_at(f.module, (sdx_id)id);
            if (node->dead || strcmp(node->op_type, "Conv") != 0) continue;
            const sdx_type *type = &sdx_value_at(f.module, node->outputs[0])->type;
            bool largest = sdx_expr_is(type->dims[1], 22);
            assert_int_equal(sdx_node_int(node, "winograd", -1), !allowed ? 0 : largest ? 4 : 2);
            count++;
        }
        assert_int_equal(count, CONVS);
        finish(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_the_same_indices_and_its_own_lists),
        cmocka_unit_test(fixed_sizes_are_numbers_in_a_copy),
        cmocka_unit_test(copies_survive_any_failed_allocation),
        cmocka_unit_test(uses_count_nodes_and_outputs),
        cmocka_unit_test(replacing_an_output_renames_what_is_put_there),
        cmocka_unit_test(subgraphs_are_readers_too),
        cmocka_unit_test(new_nodes_come_before_their_readers_and_know_their_origin),
        cmocka_unit_test(files_cannot_name_what_passes_make),
        cmocka_unit_test(programs_survive_any_failed_allocation),
        cmocka_unit_test(steps_pack_their_constants),
        cmocka_unit_test(a_constant_stays_while_others_read_it),
        cmocka_unit_test(winograd_keeps_to_its_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
