/* test_lanes.c - slices side by side: the same bits and the same error as one after another, memory that is
 * known beforehand, callbacks of the caller one at a time. With one usable CPU there are no lanes; what must
 * hold all the same is tested then. */
#include <stdatomic.h>

#include "base/threads.h"
#include "slice_fixture.h"

/* Lanes that a context with two threads has. */
static uint32_t lanes_here(void) { return sdx_useful_threads(2) > 1 ? 2 : 0; }

static void lanes_give_the_same_bits(void **state) {
    (void)state;
    static float y[MOST * 20], z[MOST * 4];
    fixture f = {0};
    sdx_memory_info memory, one;
    good_model(&f.bytes);
    load(&f, SDX_SLICE_OFF, 1);
    run(&f, MOST, &memory);
    memcpy(y, sdx_context_output(f.context, 0)->data, sizeof y);
    memcpy(z, sdx_context_output(f.context, 1)->data, sizeof z);
    for (int64_t slice = 2; slice <= 7; slice++) {
        drop_program(&f);
        make_program(&f, slice / 2, 1);
        run(&f, MOST, &one);
        drop_program(&f);
        make_program(&f, slice, 2);
        const int64_t batches[] = {MOST, 1, 7, MOST, 2, slice, slice + 1, 2 * slice, 13, MOST};
        for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
            run(&f, batches[i], &memory);
            check_same(&f, y, z, batches[i]);
            assert_true(memory.slice <= (uint64_t)slice);
            assert_int_equal(memory.arena_used, memory.arena_bytes);
        }
        assert_int_equal(memory.lanes, lanes_here());
        if (memory.lanes) assert_int_equal(memory.arena_bytes, 2 * one.arena_bytes);
    }
    unload(&f);
}

/* An odd sample would leave a thread idle; a small batch is run whole where nobody asked for slices. */
static void few_samples_are_run_together(void **state) {
    (void)state;
    fixture f = {0};
    sdx_memory_info memory;
    good_model(&f.bytes);
    load(&f, 2, 2);
    const int64_t together[] = {1, 3, 5};
    for (size_t i = 0; i < 3; i++) {
        run(&f, together[i], &memory);
        assert_int_equal(memory.lanes, 0);
    }
    const int64_t apart[] = {2, 4, 6, 7, 11};
    for (size_t i = 0; i < 5; i++) {
        run(&f, apart[i], &memory);
        assert_int_equal(memory.lanes, lanes_here());
    }
    drop_program(&f);
    make_program(&f, 0, 2);
    run(&f, MOST, &memory);
    assert_int_equal(memory.slice, 0);
    assert_int_equal(memory.lanes, 0);
    unload(&f);
}

/* What a run takes is told beforehand, and an arena of so much is enough; with less there are no lanes. Both threads
 * on one slice may need less or more than each on its own: where it is less, they do that. */
static bool falls_back(fixture *f, int64_t slice) {
    sdx_memory_info memory = {.struct_size = sizeof memory};
    sdx_status status = SDX_STATUS_OK;
    drop_program(f);
    make_program(f, slice, 2);
    const sdx_binding sizes = {"batch", MOST};
    assert_int_equal(sdx_context_bind_dims(f->context, &sizes, 1, &f->error), SDX_STATUS_OK);
    sdx_context_get_memory(f->context, &memory);
    const size_t planned = memory.arena_bytes;
    assert_int_equal(memory.lanes, lanes_here());
    run(f, MOST, &memory);
    assert_int_equal(memory.arena_bytes, planned);
    for (size_t less = 0; less <= 64; less += 64) {
        sdx_context_release(f->context);
        void *arena = aligned_alloc(64, planned);
        assert_non_null(arena);
        sdx_context_options options = {.struct_size = sizeof options, .threads = 2, .arena = arena,
                                       .arena_size = planned - less};
        assert_int_equal(sdx_context_create(f->program, &options, &f->context, &f->error), SDX_STATUS_OK);
        assert_int_equal(sdx_context_bind_dims(f->context, &sizes, 1, &f->error), SDX_STATUS_OK);
        sdx_context_get_memory(f->context, &memory);
        assert_int_equal(memory.lanes, less ? 0 : lanes_here());
        set_input(f, MOST);
        status = sdx_context_run(f->context, &f->error);
        sdx_context_get_memory(f->context, &memory);
        if (less == 0) assert_int_equal(status, SDX_STATUS_OK);
        if (status != SDX_STATUS_OK) assert_non_null(strstr(f->error.message, "the arena given has"));
        assert_int_equal(memory.lanes, less ? 0 : lanes_here());
        sdx_context_release(f->context);
        f->context = NULL;
        free(arena);
    }
    return status == SDX_STATUS_OK;
}

static void lanes_fit_a_given_arena(void **state) {
    (void)state;
    fixture f = {0};
    bool any = false;
    good_model(&f.bytes);
    load(&f, 2, 2);
    for (int64_t slice = 2; slice <= 9; slice++) any = falls_back(&f, slice) || any;
    if (lanes_here()) assert_true(any);
    unload(&f);
}

/* ---- the caller's functions ------------------------------------------------------------------------ */

typedef struct watched {
    atomic_int inside;
    int calls, together, lanes[2];
} watched;

static void enter(watched *w) {
    if (atomic_fetch_add(&w->inside, 1) != 0) w->together++;
    w->calls++;
}

static void leave(watched *w) { atomic_fetch_sub(&w->inside, 1); }

static void see_step(void *user, const sdx_step_profile *step) {
    watched *w = user;
    enter(w);
    assert_true(step->lane < 2);
    w->lanes[step->lane]++;
    leave(w);
}

/* A context whose steps are seen. */
static void watch_steps(fixture *f, watched *w) {
    sdx_context_release(f->context);
    sdx_context_options options = {.struct_size = sizeof options, .threads = 2, .profile = see_step,
                                   .profile_user = w};
    assert_int_equal(sdx_context_create(f->program, &options, &f->context, &f->error), SDX_STATUS_OK);
}

/* ---- errors ------------------------------------------------------------------------------------- */

#define IDS 20000 /* so many that the other thread has woken up before the first bad sample comes */

/* y = table[ids], row by row; ids [batch,20000]. */
static void lookup_model(tiny_model *m) {
    float table[5 * 3];
    for (size_t i = 0; i < 15; i++) table[i] = (float)i;
    tiny_begin(m, 18);
    tiny_value(m, 11, "ids", 7, "batch,20000");
    size_t weights = sdx_pb_write_begin(&m->out, 5);
    sdx_pb_write_varint(&m->out, 1, 5);
    sdx_pb_write_varint(&m->out, 1, 3);
    sdx_pb_write_varint(&m->out, 2, 1);
    tiny_text(&m->out, 8, "table");
    tiny_raw(&m->out, SDX_DTYPE_FLOAT32, table, sizeof table);
    sdx_pb_write_end(&m->out, weights);
    tiny_node(m, "Gather", "table,ids", "y");
    tiny_value(m, 12, "y", 1, "");
    tiny_end(m);
}

/* Two samples are bad: the one that comes first is complained of, whoever runs into the other one. What counts are
 * runs that both threads have had a part in, which a busy machine may let happen seldom. */
static void the_first_error_is_told(void **state) {
    (void)state;
    fixture f = {0};
    watched w = {0};
    lookup_model(&f.bytes);
    load(&f, 2, 2);
    watch_steps(&f, &w);
    static int64_t ids[MOST * IDS];
    const int64_t dims[2] = {MOST, IDS};
    sdx_tensor x;
    for (int round = 0, shared = 0; round < 300 && shared < 30; round++) {
        w = (watched){0};
        for (size_t i = 0; i < MOST * IDS; i++) ids[i] = (int64_t)(i % 5);
        const int bad = 12 + round % 8, gap = round % 2 ? 1 : 1 + round % 6; /* side by side, both threads meet one */
        ids[IDS * bad + IDS - 1] = 70;
        ids[IDS * (bad + gap) + IDS - 1] = 80;
        assert_int_equal(sdx_tensor_init(&x, SDX_DTYPE_INT64, 2, dims, ids, NULL), SDX_STATUS_OK);
        assert_int_equal(sdx_context_set_input(f.context, 0, &x, &f.error), SDX_STATUS_OK);
        assert_int_equal(sdx_context_run(f.context, &f.error), SDX_STATUS_BAD_INPUT);
        assert_non_null(strstr(f.error.message, "70"));
        assert_null(sdx_context_output(f.context, 0));
        shared += w.lanes[0] > 0 && w.lanes[1] > 0;
    }
    for (size_t i = 0; i < MOST * IDS; i++) ids[i] = (int64_t)(i % 5);
    assert_int_equal(sdx_context_run(f.context, &f.error), SDX_STATUS_OK);
    const float *y = sdx_context_output(f.context, 0)->data;
    for (size_t i = 0; i < MOST * IDS * 3; i++) assert_true(y[i] == (float)(i / 3 % 5 * 3 + i % 3));
    unload(&f);
}

static void a_cancelled_run_ends(void **state) {
    (void)state;
    fixture f = {0};
    sdx_memory_info memory;
    good_model(&f.bytes);
    load(&f, 2, 2);
    set_input(&f, MOST);
    sdx_context_cancel(f.context);
    assert_int_equal(sdx_context_run(f.context, &f.error), SDX_STATUS_CANCELLED);
    run(&f, MOST, &memory);
    unload(&f);
}

static void a_profile_is_called_by_one_at_a_time(void **state) {
    (void)state;
    fixture f = {0};
    watched w = {0};
    good_model(&f.bytes);
    load(&f, 2, 2);
    watch_steps(&f, &w);
    sdx_memory_info memory;
    run(&f, 2, &memory);
    const int once = w.calls / 2; /* two slices with lanes, else one of two samples */
    w = (watched){0};
    for (int i = 0; i < 20; i++) run(&f, MOST, &memory);
    assert_int_equal(w.together, 0);
    assert_int_equal(w.lanes[0] + w.lanes[1], w.calls);
    if (memory.lanes) assert_int_equal(w.calls, 20 * MOST * once);
    unload(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_give_the_same_bits),
        cmocka_unit_test(few_samples_are_run_together),
        cmocka_unit_test(lanes_fit_a_given_arena),
        cmocka_unit_test(the_first_error_is_told),
        cmocka_unit_test(a_cancelled_run_ends),
        cmocka_unit_test(a_profile_is_called_by_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
