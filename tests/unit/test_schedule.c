/* test_schedule.c - the search for an order: against every order of small random problems, and as an
 * order at all (each step behind what it needs, the peak as a second account finds it). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "plan/schedule.h"

#define MOST 64

typedef struct sample {
    sdx_schedule_step steps[MOST];
    uint32_t lists[MOST][3][8];
    size_t sizes[MOST];
    bool kept[MOST];
    sdx_schedule_problem problem;
} sample;

static uint32_t state;
static uint32_t draw(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(state >> 8) * below) >> 24);
}

/* Each step makes one piece and reads up to three earlier ones. */
static void make_sample(sample *s, uint32_t seed, uint32_t count) {
    memset(s, 0, sizeof *s);
    state = seed * 2654435761u + 1;
    for (uint32_t i = 0; i < count; i++) {
        sdx_schedule_step *step = &s->steps[i];
        step->after = s->lists[i][0];
        step->reads = s->lists[i][0]; /* piece i is step i's */
        step->makes = s->lists[i][1];
        step->over = s->lists[i][2];
        step->makes[0] = i;
        step->make_count = 1;
        s->sizes[i] = draw(4) == 0 ? 0 : 1 + draw(5);
        step->scratch = draw(3) == 0 ? draw(4) : 0;
        for (uint32_t k = 0; i > 0 && k < draw(4); k++) {
            uint32_t from = draw(i);
            bool again = false;
            for (uint32_t j = 0; j < step->after_count; j++) again |= step->after[j] == from;
            if (again) continue;
            step->after[step->after_count++] = from;
            if (draw(2) && s->sizes[from] == s->sizes[i]) step->over[step->over_count++] = from;
        }
        step->read_count = step->after_count;
        s->kept[i] = draw(8) == 0;
    }
    s->problem = (sdx_schedule_problem){.steps = s->steps, .step_count = count, .sizes = s->sizes,
                                        .kept = s->kept, .piece_count = count};
}

/* Most live at once in an order; SIZE_MAX if a step comes too early. By lifetimes, not step by step. */
static size_t account(const sdx_schedule_problem *p, const uint32_t *order) {
    uint32_t place[MOST], last[MOST];
    size_t most = 0;
    for (uint32_t q = 0; q < p->step_count; q++) place[order[q]] = q;
    for (uint32_t i = 0; i < p->step_count; i++) last[i] = p->kept[i] ? MOST : place[i];
    for (uint32_t i = 0; i < p->step_count; i++)
        for (uint32_t k = 0; k < p->steps[i].after_count; k++) {
            uint32_t from = p->steps[i].after[k];
            if (place[from] >= place[i]) return SIZE_MAX;
            if (place[i] > last[from]) last[from] = place[i];
        }
    for (uint32_t q = 0; q < p->step_count; q++) {
        const sdx_schedule_step *step = &p->steps[order[q]];
        size_t live = step->scratch;
        for (uint32_t i = 0; i < p->step_count; i++)
            if (place[i] <= q && last[i] >= q) live += p->sizes[i];
        for (uint32_t k = 0; k < step->over_count; k++)
            if (last[step->over[k]] == q) {
                live -= p->sizes[order[q]];
                break;
            }
        if (live > most) most = live;
    }
    return most;
}

/* The least over all orders. */
static size_t best_of_all(const sdx_schedule_problem *p, uint32_t *order, uint32_t used,
                          uint32_t done, size_t best) {
    if (used == p->step_count) {
        size_t peak = account(p, order);
        return peak < best ? peak : best;
    }
    for (uint32_t i = 0; i < p->step_count; i++) {
        bool ready = !(done >> i & 1);
        for (uint32_t k = 0; ready && k < p->steps[i].after_count; k++)
            ready = done >> p->steps[i].after[k] & 1;
        if (!ready) continue;
        order[used] = i;
        best = best_of_all(p, order, used + 1, done | 1u << i, best);
    }
    return best;
}

static void small_ones_are_solved(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < 3000; seed++) {
        sample s;
        uint32_t order[MOST], scratch[MOST];
        sdx_schedule_result result;
        make_sample(&s, seed, 2 + seed % 7);
        assert_int_equal(sdx_schedule(&s.problem, 1000000, &sdx_default_allocator, order, &result,
                                      NULL),
                         SDX_STATUS_OK);
        size_t best = best_of_all(&s.problem, scratch, 0, 0, SIZE_MAX);
        assert_int_equal(account(&s.problem, order), result.peak);
        assert_int_equal(result.peak, best);
        assert_true(result.proved);
        assert_int_equal(result.bound, best);
    }
}

static void larger_ones_stay_orders(void **unused) {
    (void)unused;
    for (uint32_t seed = 0; seed < 200; seed++) {
        sample s;
        uint32_t order[MOST], again[MOST], given[MOST];
        sdx_schedule_result result, second;
        make_sample(&s, seed, MOST);
        for (uint32_t i = 0; i < MOST; i++) given[i] = i;
        /* with no states allowed the beam does all the work */
        uint64_t nodes = seed % 2 ? 0 : 200;
        assert_int_equal(
            sdx_schedule(&s.problem, nodes, &sdx_default_allocator, order, &result, NULL),
            SDX_STATUS_OK);
        assert_int_equal(account(&s.problem, order), result.peak);
        assert_int_equal(account(&s.problem, given), result.given);
        assert_true(result.peak <= result.given);
        assert_true(result.bound <= result.peak);
        sdx_schedule(&s.problem, nodes, &sdx_default_allocator, again, &second, NULL);
        assert_memory_equal(order, again, sizeof order);
    }
}

/* Three parts, the beam's work each: 0 -> 1 2 3 -> 4 -> 5 6 7 -> 8 …, and steps of a later part read what
 * one before made, past the step between. */
static void parts_may_be_read_from_later_ones(void **unused) {
    (void)unused;
    enum { COUNT = 13 };
    for (uint32_t seed = 0; seed < 50; seed++) {
        sample s;
        uint32_t order[MOST];
        sdx_schedule_result result;
        make_sample(&s, seed, COUNT);
        for (uint32_t i = 0; i < COUNT; i++) {
            sdx_schedule_step *step = &s.steps[i];
            uint32_t waist = (i - 1) / 4 * 4;
            step->over_count = step->after_count = 0;
            s.sizes[i] = 1 + draw(5);
            s.kept[i] = false;
            for (uint32_t k = 1; i && i % 4 == 0 && k < 4; k++)
                step->after[step->after_count++] = waist + k;
            if (i % 4) step->after[step->after_count++] = waist;
            if (i % 4 && waist) step->after[step->after_count++] = waist - i % 4;
            step->read_count = step->after_count;
        }
        assert_int_equal(sdx_schedule(&s.problem, 0, &sdx_default_allocator, order, &result, NULL),
                         SDX_STATUS_OK);
        assert_int_equal(account(&s.problem, order), result.peak);
    }
}

static void chain_and_nothing(void **unused) {
    (void)unused;
    sample s;
    uint32_t order[MOST];
    sdx_schedule_result result;
    make_sample(&s, 1, 0);
    assert_int_equal(sdx_schedule(&s.problem, 0, &sdx_default_allocator, order, &result, NULL),
                     SDX_STATUS_OK);
    assert_true(result.proved);
    /* in a chain nothing can be chosen: proved without looking at a state */
    make_sample(&s, 1, 20);
    for (uint32_t i = 0; i < 20; i++) {
        s.steps[i].after_count = s.steps[i].read_count = i > 0;
        s.steps[i].over_count = 0;
        if (i) s.steps[i].after[0] = i - 1;
    }
    assert_int_equal(sdx_schedule(&s.problem, 0, &sdx_default_allocator, order, &result, NULL),
                     SDX_STATUS_OK);
    assert_true(result.proved);
    assert_int_equal(result.nodes, 0);
    for (uint32_t i = 0; i < 20; i++) assert_int_equal(order[i], i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_are_solved),
        cmocka_unit_test(larger_ones_stay_orders),
        cmocka_unit_test(parts_may_be_read_from_later_ones),
        cmocka_unit_test(chain_and_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
