/* test_expr.c - unit tests of src/graph/expr*.c: canonical form, printing and parsing, bounds,
 * evaluation, limits, failing allocations. A property test builds random trees twice, as sdx_expr
 * and as plain code that computes with numbers, and wants the same value from both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "graph/expr.h"

/* ---- helpers -------------------------------------------------------------------------------- */

static sdx_expr_pool *pool; /* of the running test */

static int make_pool(void **state) {
    (void)state;
    if (sdx_expr_pool_create(&sdx_default_allocator, &pool, NULL) != SDX_STATUS_OK) return -1;
    static const char *const names[] = {"batch", "h", "w", "c"};
    for (size_t i = 0; i < 4; i++)
        if (sdx_expr_is_unknown(sdx_expr_symbol(pool, names[i], strlen(names[i])))) return -1;
    return 0;
}

static int drop_pool(void **state) {
    (void)state;
    sdx_expr_pool_release(pool);
    pool = NULL;
    return 0;
}

static sdx_expr symbol(const char *name) { return sdx_expr_symbol(pool, name, strlen(name)); }
static sdx_expr number(int64_t value) { return sdx_expr_const(value); }

static sdx_expr parse(const char *text) {
    sdx_expr e;
    sdx_error error;
    sdx_error_clear(&error);
    if (sdx_expr_parse(pool, text, strlen(text), &e, &error) != SDX_STATUS_OK)
        fail_msg("%s", error.message);
    return e;
}

static void same(const char *a, const char *b) {
    sdx_expr left = parse(a), right = parse(b);
    if (!sdx_expr_same(left, right)) {
        char x[512], y[512];
        sdx_expr_text(pool, left, x, sizeof x);
        sdx_expr_text(pool, right, y, sizeof y);
        fail_msg("%s and %s differ: %s, %s", a, b, x, y);
    }
}

static void differ(const char *a, const char *b) {
    if (sdx_expr_same(parse(a), parse(b))) fail_msg("%s and %s are the same", a, b);
}

static void prints(const char *text, const char *expected) {
    char buffer[1024];
    size_t length = sdx_expr_text(pool, parse(text), buffer, sizeof buffer);
    assert_string_equal(buffer, expected);
    assert_int_equal(length, strlen(expected));
    same(expected, text);
}

/* Evaluates e with batch, h, w, c bound in turn. */
static int64_t value_of(sdx_expr e, int64_t batch, int64_t h, int64_t w, int64_t c) {
    int64_t symbols[64] = {batch, h, w, c};
    size_t size = sdx_expr_pool_size(pool);
    assert_true(sdx_expr_symbol_count(pool) <= 64);
    for (size_t i = 4; i < 64; i++) symbols[i] = -1;
    int64_t *results = malloc(size * sizeof *results);
    assert_non_null(results);
    sdx_expr_evaluate(pool, symbols, results);
    int64_t value = sdx_expr_result(e, results);
    free(results);
    return value;
}

/* ---- constants ------------------------------------------------------------------------------ */

/* All of it with no pool at all: the way that shape rules run on plain numbers. */
static void test_constants(void **state) {
    (void)state;
    assert_true(sdx_expr_is(sdx_expr_add(NULL, number(2), number(3)), 5));
    assert_true(sdx_expr_is(sdx_expr_sub(NULL, number(2), number(3)), -1));
    assert_true(sdx_expr_is(sdx_expr_mul(NULL, number(-2), number(3)), -6));
    static const struct {
        int64_t a, b, floor, ceiling, rest;
    } cases[] = {{7, 2, 3, 4, 1},   {-7, 2, -4, -3, 1}, {7, -2, -4, -3, -1}, {-7, -2, 3, 4, -1},
                 {6, 3, 2, 2, 0},   {-6, 3, -2, -2, 0}, {0, 5, 0, 0, 0},     {1, 5, 0, 1, 1},
                 {-1, 5, -1, 0, 4}, {4, 1, 4, 4, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sdx_expr a = number(cases[i].a), b = number(cases[i].b);
        assert_int_equal(sdx_expr_value(sdx_expr_floordiv(NULL, a, b)), cases[i].floor);
        assert_int_equal(sdx_expr_value(sdx_expr_ceildiv(NULL, a, b)), cases[i].ceiling);
        assert_int_equal(sdx_expr_value(sdx_expr_mod(NULL, a, b)), cases[i].rest);
        sdx_expr exact = sdx_expr_divide_exact(NULL, a, b);
        if (cases[i].rest == 0)
            assert_true(sdx_expr_is(exact, cases[i].floor));
        else
            assert_true(sdx_expr_is_unknown(exact));
    }
    assert_true(sdx_expr_is(sdx_expr_min(NULL, number(-3), number(2)), -3));
    assert_true(sdx_expr_is(sdx_expr_max(NULL, number(-3), number(2)), 2));
    assert_true(sdx_expr_is(sdx_expr_broadcast(NULL, number(1), number(5)), 5));
    assert_true(sdx_expr_is(sdx_expr_broadcast(NULL, number(5), number(1)), 5));
    assert_true(sdx_expr_is(sdx_expr_broadcast(NULL, number(5), number(5)), 5));
    assert_true(sdx_expr_is(sdx_expr_broadcast(NULL, number(0), number(1)), 0));
    assert_true(sdx_expr_is_unknown(sdx_expr_broadcast(NULL, number(2), number(3))));
    int64_t bound;
    assert_true(sdx_expr_lower_bound(NULL, number(-9), &bound) && bound == -9);
    assert_true(sdx_expr_upper_bound(NULL, number(-9), &bound) && bound == -9);
    char text[8];
    assert_int_equal(sdx_expr_text(NULL, number(-42), text, sizeof text), 3);
    assert_string_equal(text, "-42");
}

static void test_constant_limits(void **state) {
    (void)state;
    sdx_expr highest = number(SDX_EXPR_MAX - 1), lowest = number(-SDX_EXPR_MAX);
    assert_int_equal(sdx_expr_value(lowest), -SDX_EXPR_MAX);
    assert_true(sdx_expr_is_unknown(sdx_expr_add(NULL, highest, number(1))));
    assert_true(sdx_expr_is_unknown(sdx_expr_add(NULL, lowest, number(-1))));
    assert_true(sdx_expr_is(sdx_expr_add(NULL, highest, lowest), -1));
    assert_true(sdx_expr_is_unknown(sdx_expr_sub(NULL, lowest, number(1))));
    assert_true(sdx_expr_is_unknown(sdx_expr_sub(NULL, number(0), lowest)));
    assert_true(sdx_expr_is(sdx_expr_sub(NULL, lowest, lowest), 0));
    assert_true(sdx_expr_is_unknown(sdx_expr_mul(NULL, highest, number(2))));
    assert_true(sdx_expr_is_unknown(sdx_expr_mul(NULL, highest, highest)));
    assert_true(sdx_expr_is_unknown(sdx_expr_mul(NULL, lowest, number(-1))));
    const int64_t root = (int64_t)1 << 31;
    assert_true(sdx_expr_is(sdx_expr_mul(NULL, number(-root), number(root)), -SDX_EXPR_MAX));
    assert_true(sdx_expr_is_unknown(sdx_expr_floordiv(NULL, lowest, number(-1))));
    assert_true(sdx_expr_is_unknown(sdx_expr_ceildiv(NULL, lowest, number(-1))));
    assert_true(sdx_expr_is_unknown(sdx_expr_divide_exact(NULL, lowest, number(-1))));
    assert_true(sdx_expr_is_unknown(sdx_expr_floordiv(NULL, number(1), number(0))));
    assert_true(sdx_expr_is_unknown(sdx_expr_ceildiv(NULL, number(1), number(0))));
    assert_true(sdx_expr_is_unknown(sdx_expr_mod(NULL, number(1), number(0))));
    assert_true(sdx_expr_is_unknown(sdx_expr_divide_exact(NULL, number(0), number(0))));
}

typedef sdx_expr (*binary)(sdx_expr_pool *, sdx_expr, sdx_expr);
static const binary OPERATIONS[] = {sdx_expr_add,      sdx_expr_sub, sdx_expr_mul,
                                    sdx_expr_floordiv, sdx_expr_ceildiv, sdx_expr_mod,
                                    sdx_expr_min,      sdx_expr_max, sdx_expr_broadcast,
                                    sdx_expr_divide_exact};

static void test_unknown_propagates(void **state) {
    (void)state;
    sdx_expr others[] = {number(0), number(1), number(7), symbol("h"), parse("h*2 + 1"),
                         SDX_EXPR_UNKNOWN};
    for (size_t op = 0; op < sizeof OPERATIONS / sizeof OPERATIONS[0]; op++)
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
            assert_true(sdx_expr_is_unknown(OPERATIONS[op](pool, SDX_EXPR_UNKNOWN, others[i])));
            assert_true(sdx_expr_is_unknown(OPERATIONS[op](pool, others[i], SDX_EXPR_UNKNOWN)));
        }
    int64_t bound;
    assert_false(sdx_expr_same(SDX_EXPR_UNKNOWN, SDX_EXPR_UNKNOWN));
    assert_false(sdx_expr_lower_bound(pool, SDX_EXPR_UNKNOWN, &bound));
    assert_false(sdx_expr_upper_bound(pool, SDX_EXPR_UNKNOWN, &bound));
    assert_int_equal(sdx_expr_symbol_index(pool, SDX_EXPR_UNKNOWN), SIZE_MAX);
    assert_int_equal(value_of(SDX_EXPR_UNKNOWN, 1, 1, 1, 1), SDX_EVAL_FAILED);
    assert_true(sdx_expr_is_unknown(sdx_expr_floordiv(pool, symbol("h"), number(0))));
    assert_true(sdx_expr_is_unknown(sdx_expr_mod(pool, symbol("h"), number(0))));
    assert_true(sdx_expr_is_unknown(sdx_expr_add(NULL, symbol("h"), number(1))));
}

/* ---- symbols -------------------------------------------------------------------------------- */

static void test_symbols(void **state) {
    (void)state;
    sdx_expr h = symbol("h");
    assert_true(sdx_expr_same(h, sdx_expr_symbol(pool, "hx", 1)));
    assert_false(sdx_expr_same(h, symbol("w")));
    assert_int_equal(sdx_expr_symbol_count(pool), 4);
    assert_int_equal(sdx_expr_symbol_index(pool, h), 1);
    assert_int_equal(sdx_expr_symbol_index(pool, parse("h + 1")), SIZE_MAX);
    assert_int_equal(sdx_expr_symbol_index(pool, parse("h//2")), SIZE_MAX);
    assert_int_equal(sdx_expr_symbol_index(pool, number(1)), SIZE_MAX);
    assert_int_equal(sdx_expr_symbol_index(NULL, number(1)), SIZE_MAX);
    assert_string_equal(sdx_expr_symbol_name(pool, 2), "w");
    assert_null(sdx_expr_symbol_name(pool, 4));
    assert_int_equal(sdx_expr_find_symbol(pool, "c", 1), 3);
    assert_int_equal(sdx_expr_find_symbol(pool, "cc", 2), SIZE_MAX);
}

static void test_fresh(void **state) {
    (void)state;
    symbol("input.d1");
    static const char *const expected[] = {"input.d0", "input.d2", "input.d3"};
    for (size_t i = 0; i < 3; i++) {
        size_t index = sdx_expr_symbol_index(pool, sdx_expr_fresh(pool, "input.d"));
        assert_string_equal(sdx_expr_symbol_name(pool, index), expected[i]);
    }
    size_t other = sdx_expr_symbol_index(pool, sdx_expr_fresh(pool, "x"));
    assert_string_equal(sdx_expr_symbol_name(pool, other), "x0");
}

/* Would take minutes if any of it were quadratic. */
static void test_many(void **state) {
    (void)state;
    enum { COUNT = 200000 };
    char name[32];
    sdx_expr sum = number(0);
    for (int i = 0; i < COUNT; i++) {
        int size = snprintf(name, sizeof name, "s%d", i);
        sdx_expr s = sdx_expr_symbol(pool, name, (size_t)size);
        assert_int_equal(sdx_expr_symbol_index(pool, s), i + 4);
        assert_false(sdx_expr_is_unknown(sdx_expr_add(pool, s, number(i + 1))));
        sum = sdx_expr_add(pool, symbol("h"), number(i + 1));
    }
    for (int i = 0; i < COUNT; i++) assert_false(sdx_expr_is_unknown(sdx_expr_fresh(pool, "s")));
    assert_int_equal(sdx_expr_symbol_count(pool), 2 * COUNT + 4);
    assert_true(sdx_expr_same(sum, sdx_expr_add(pool, symbol("h"), number(COUNT))));
}

static void test_pool_limit(void **state) {
    (void)state;
    sdx_expr e = number(0), h = symbol("h");
    int64_t made = 0;
    while (made < 1 << 21 && !sdx_expr_is_unknown(e))
        e = sdx_expr_add(pool, h, number(++made));
    assert_int_equal(sdx_expr_pool_size(pool), 1 << 20);
    assert_true(sdx_expr_is_unknown(symbol("one more")));
    assert_true(sdx_expr_is_unknown(sdx_expr_fresh(pool, "one more")));
    /* What exists stays usable. */
    assert_false(sdx_expr_is_unknown(sdx_expr_add(pool, h, number(made - 1))));
    assert_int_equal(value_of(sdx_expr_add(pool, h, number(17)), 0, 3, 0, 0), 20);
}

/* ---- canonical form ------------------------------------------------------------------------- */

static void test_polynomials(void **state) {
    (void)state;
    same("h + w", "w + h");
    same("h*w", "w*h");
    same("h + h", "2*h");
    same("h - h", "0");
    same("(h + w)*(h - w)", "h*h - w*w");
    same("(h + 1)**3", "h**3 + 3*h**2 + 3*h + 1");
    same("(h + w)*c - h*c", "c*w");
    same("2*(3*(h + 1) - 3)", "6*h");
    same("h**0", "1");
    same("h*0", "0");
    same("-(-h)", "h");
    differ("h", "w");
    differ("h*w", "h + w");
    differ("h", "h + 1");
    differ("h*2", "h*3");
    differ("h**2", "h**3");
}

static void test_floordiv(void **state) {
    (void)state;
    same("(2*h + 4)//2", "h + 2");
    same("(4*h + 3)//4", "h");
    same("(4*h + 4)//4", "h + 1");
    same("(h + 5)//4", "(h + 1)//4 + 1");
    same("(h - 1)//2", "(h + 1)//2 - 1");
    same("(6*h)//4", "(3*h)//2");
    same("(3*h)//2", "h + h//2");
    same("(6*h + 5)//4", "(3*h + 2)//2");
    same("(h//2)//3", "h//6");
    same("(h//3)//2", "h//6");
    same("(h//2 + 1)//2", "(h + 2)//4");
    same("(1 - h//2)//3", "(3 - h)//6");
    same("((h//w)//c)", "h//(w*c)");
    same("(h//w)//2", "h//(2*w)");
    same("(2 - h//w)//3", "-(h//(3*w))");
    same("h//1", "h");
    same("h//-1", "-h");
    same("h//-2", "(-h)//2");
    same("h//h", "1");
    same("0//h", "0");
    same("(h*w)//w", "h");
    same("(h*w*6)//(w*4)", "(3*h)//2");
    same("(h*w + 2*h)//h", "w + 2");
    same("(h*w + c)//h", "w + c//h");
    same("((h + 1)*(w + 2))//(h + 1)", "w + 2");
    same("((h + 1)*w + c)//(h + 1)", "w + c//(h + 1)");
    same("(h*c)//(w*c)", "h//w");
    same("(2*h + 2)//(2*w + 4)", "(h + 1)//(w + 2)");
    same("(2*h + 3)//(2*w + 4)", "(h + 1)//(w + 2)");
    same("h//(w - c)", "(-h)//(c - w)");
    same("h//(h + 1)", "0");
    same("(-1)//(h + 1)", "-1");
    same("min(h, 3)//4", "0");
    same("(h % 4)//4", "0");
    same("5//(2*h)", "2//h");
    differ("h//2", "(h + 1)//2");
    differ("h//2", "h//3");
    differ("(h + w)//2", "h//2 + w//2");
    differ("(3*h)//2", "3*(h//2)");
    differ("(h//2)*2", "h");
    differ("(h//2 + w//2)//2", "(h + w)//4");
    differ("h//w", "w//h");
    /* A divisor that may be negative: no rounding of the constant. */
    differ("(2*h + 3)//(2*w - 2*c)", "(h + 1)//(w - c)");
    differ("(h//w)//(c - 1)", "h//(w*c - w)");
}

static void test_ceildiv_and_mod(void **state) {
    (void)state;
    same("ceil(h/2)", "(h + 1)//2");
    same("ceil(h/2)", "-((-h)//2)");
    same("ceil(h/4)", "(h + 3)//4");
    same("ceil(h/2)", "(h - 1)//2 + 1");
    same("ceil(ceil(h/2)/2)", "ceil(h/4)");
    same("ceil((2*h)/2)", "h");
    same("ceil(h/w)", "(h - 1)//w + 1");
    same("ceil(h/w)", "-((-h)//w)");
    same("ceil(h/w)", "(h + w - 1)//w");
    same("ceil((h*w)/w)", "h");
    same("ceil(h/(w - c))", "-((-h)//(w - c))");
    differ("ceil(h/2)", "h//2");
    assert_true(sdx_expr_same(sdx_expr_ceildiv(pool, symbol("h"), number(2)), parse("(h + 1)//2")));
    same("h % 2", "h - 2*(h//2)");
    same("(h + 2) % 2", "h % 2");
    same("(3*h) % 2", "h % 2");
    same("(2*h) % 2", "0");
    same("(2*h + 1) % 2", "1");
    same("(2*h - 1) % 2", "1");
    same("h % 1", "0");
    same("h % h", "0");
    same("(h*w) % h", "0");
    same("(h*w + 3) % h", "3 % h");
    same("h//2*2 + h % 2", "h");
    differ("h % 2", "h % 3");
}

/* Convolution, pooling and slicing as shape rules write them. */
static void test_shape_rules(void **state) {
    (void)state;
    same("(h + 2*1 - 3)//1 + 1", "h");
    same("(h + 2*3 - 7)//2 + 1", "ceil(h/2)");
    same("(((h + 6 - 7)//2 + 1) + 2 - 3)//2 + 1", "ceil(h/4)");
    same("((h - 2)//2 + 1 - 2)//2 + 1", "h//4");
    same("max(min(h, h) - 0, 0)", "h");
    same("max(min(h//2, h), 0)", "h//2");
    same("h - h//2 + h//2", "h");
    same("(batch*h*w*64)//(batch*h*w)", "64");
    same("(batch*h*12)//(batch*h*3)", "4");
    same("max(h - h//2, 0)", "h - h//2");
}

static void test_min_max(void **state) {
    (void)state;
    same("max(h, 0)", "h");
    same("max(h, -3)", "h");
    same("min(h, 0)", "0");
    same("min(h + 1, h)", "h");
    same("max(h + 1, h)", "h + 1");
    same("min(h, w)", "min(w, h)");
    same("min(h, h)", "h");
    same("min(h, min(w, c))", "min(min(h, w), c)");
    same("min(min(h, w), min(w, c))", "min(c, w, h)");
    same("max(h, max(w, 3), 5)", "max(w, 5, h)");
    same("min(h + w, h)", "h");
    same("max(h, h//2)", "h");
    same("min(h, h//w)", "h//w");
    same("min(h, max(h, w))", "h");
    same("max(h, min(h, w))", "h");
    same("max(min(h, 5), 7)", "7");
    same("min(h - min(h, 5), 0)", "0");
    same("max(h % 4, 3)", "3");
    same("max(w*(h//2)*2, w*h)", "w*h");
    /* Two forms of one number (the upper half of h) leave the elder, in whatever order. */
    sdx_expr upper_half = parse("h - h//2");
    same("max((h + 1)//2, h - h//2)", "h - h//2");
    same("max(max((h + 1)//2, w), max(h - h//2, c))", "max(h - h//2, w, c)");
    assert_true(sdx_expr_same(parse("min((h + 1)//2, h - h//2)"), upper_half));
    same("Max(1, Min(h, w))", "max(min(w, h), 1)");
    differ("min(h, w)", "max(h, w)");
    differ("max(h, 1)", "h");
    differ("max(h - 1, 0)", "h - 1");
    differ("min(h, w)", "h");
    differ("max(h//2, w)", "w");
}

static void test_broadcast(void **state) {
    (void)state;
    same("broadcast(h, h)", "h");
    same("broadcast(1, h)", "h");
    same("broadcast(h, 1)", "h");
    same("broadcast(4, h)", "4");
    same("broadcast(h, 4)", "4");
    same("broadcast(0, h)", "0");
    same("broadcast(h, w)", "broadcast(w, h)");
    same("broadcast(h, broadcast(w, c))", "broadcast(broadcast(h, w), c)");
    same("broadcast(broadcast(h, w), w)", "broadcast(h, w)");
    differ("broadcast(h, w)", "h");
    differ("broadcast(h, w)", "max(h, w)");
    sdx_expr e = parse("broadcast(h, w)");
    assert_int_equal(value_of(e, 0, 1, 5, 0), 5);
    assert_int_equal(value_of(e, 0, 5, 1, 0), 5);
    assert_int_equal(value_of(e, 0, 5, 5, 0), 5);
    assert_int_equal(value_of(e, 0, 0, 1, 0), 0);
    assert_int_equal(value_of(e, 0, 2, 3, 0), SDX_EVAL_FAILED);
    assert_int_equal(value_of(e, 0, 0, 2, 0), SDX_EVAL_FAILED);
    sdx_expr three = parse("broadcast(h, w, c)");
    assert_int_equal(value_of(three, 0, 1, 1, 7), 7);
    assert_int_equal(value_of(three, 0, 7, 1, 6), SDX_EVAL_FAILED);
}

static void test_divide_exact(void **state) {
    (void)state;
    sdx_expr h = symbol("h");
    assert_true(sdx_expr_same(sdx_expr_divide_exact(pool, parse("h*w*4"), parse("h*2")),
                              parse("w*2")));
    assert_true(sdx_expr_same(sdx_expr_divide_exact(pool, parse("h*w + h"), h), parse("w + 1")));
    assert_true(sdx_expr_same(sdx_expr_divide_exact(pool, parse("h**2 - w**2"), parse("h + w")),
                              parse("h - w")));
    assert_true(sdx_expr_is(sdx_expr_divide_exact(pool, h, h), 1));
    assert_true(sdx_expr_is(sdx_expr_divide_exact(pool, number(0), h), 0));
    assert_true(sdx_expr_is_unknown(sdx_expr_divide_exact(pool, h, number(2))));
    assert_true(sdx_expr_is_unknown(sdx_expr_divide_exact(pool, h, symbol("w"))));
    assert_true(sdx_expr_is_unknown(sdx_expr_divide_exact(pool, parse("h*w + 1"), h)));
    assert_true(sdx_expr_is_unknown(sdx_expr_divide_exact(pool, parse("h*3"), parse("h*2"))));
    assert_true(sdx_expr_is_unknown(sdx_expr_divide_exact(pool, h, number(0))));
}

/* ---- text ----------------------------------------------------------------------------------- */

static void test_printing(void **state) {
    (void)state;
    prints("2*batch", "batch*2");
    prints("w*h", "h*w");
    prints("3 + 2*h*batch", "batch*h*2 + 3");
    prints("ceil(h/2)", "(h + 1)//2");
    prints("max(w, h)", "max(h, w)");
    prints("max(0, h - 1)", "max(h - 1, 0)");
    prints("h - 1", "h - 1");
    prints("1 - h", "-h + 1");
    prints("-2*h", "-h*2");
    prints("broadcast(w, h)", "broadcast(h, w)");
    prints("h*h", "h**2");
    prints("-(h**2)*3", "-h**2*3");
    prints("1 + w + h*w + h", "h*w + h + w + 1");
    prints("h//2", "h//2");
    prints("h//w", "h//w");
    prints("3*(h//2)", "(h//2)*3");
    prints("w*(h//2)", "w*(h//2)");
    prints("(h//2)**2", "(h//2)**2");
    prints("1 - h//2", "-(h//2) + 1");
    prints("w - h//2", "w - h//2");
    prints("(h*w)//3", "h*w//3");
    prints("(h*w + 1)//(c + 1)", "(h*w + 1)//(c + 1)");
    prints("h//(w*c)", "h//(w*c)");
    prints("(h//2 + w//2)//2", "(h//2 + w//2)//2");
    prints("min(h, 2*w, 7)", "min(h, w*2, 7)");
    prints("-7", "-7");
    prints("-4611686018427387904", "-4611686018427387904");
    prints("4611686018427387903", "4611686018427387903");
    char text[16];
    assert_int_equal(sdx_expr_text(pool, SDX_EXPR_UNKNOWN, text, sizeof text), 1);
    assert_string_equal(text, "?");
}

static void test_text_buffer(void **state) {
    (void)state;
    sdx_expr e = parse("batch*h*2 + 3");
    char buffer[32];
    for (size_t size = 1; size < 20; size++) {
        memset(buffer, '#', sizeof buffer);
        assert_int_equal(sdx_expr_text(pool, e, buffer, size), 13);
        size_t shown = size - 1 < 13 ? size - 1 : 13;
        assert_int_equal(strlen(buffer), shown);
        assert_memory_equal(buffer, "batch*h*2 + 3", shown);
        assert_int_equal(buffer[shown + 1], '#');
    }
    assert_int_equal(sdx_expr_text(pool, e, NULL, 0), 13);
}

/* Names that are none by the grammar, as a caller makes them from text that did not parse. */
static void test_odd_names(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t size;
        const char *text;
    } cases[] = {{"a b", 3, "'a b'"},          {"h/2", 3, "'h/2'"},   {"", 0, "''"},
                 {"it's", 4, "'it''s'"},       {"'", 1, "''''"},      {"2d", 2, "'2d'"},
                 {"?", 1, "'?'"},              {"min", 3, "min"},     {"x.1:0", 5, "x.1:0"},
                 {"gr\xc3\xb6\xc3\x9f" "e", 7, "gr\xc3\xb6\xc3\x9f" "e"}, {"_", 1, "_"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sdx_expr s = sdx_expr_symbol(pool, cases[i].name, cases[i].size);
        char buffer[64], product[80];
        sdx_expr_text(pool, s, buffer, sizeof buffer);
        assert_string_equal(buffer, cases[i].text);
        assert_true(sdx_expr_same(parse(buffer), s));
        snprintf(product, sizeof product, "2*%s + 1", buffer);
        sdx_expr expected = sdx_expr_add(pool, sdx_expr_mul(pool, s, number(2)), number(1));
        assert_true(sdx_expr_same(parse(product), expected));
    }
    /* A NUL inside a name is a byte like any other. */
    sdx_expr with_nul = sdx_expr_symbol(pool, "a\0b", 3), back;
    char buffer[16];
    size_t length = sdx_expr_text(pool, with_nul, buffer, sizeof buffer);
    assert_int_equal(length, 5);
    assert_int_equal(sdx_expr_parse(pool, buffer, length, &back, NULL), SDX_STATUS_OK);
    assert_true(sdx_expr_same(back, with_nul));
}

static void test_parsing(void **state) {
    (void)state;
    same(" h\t+\n1 ", "h+1");
    same("1 + 2*3", "7");
    same("(1 + 2)*3", "9");
    same("7 - 2 - 1", "4");
    same("100//7//3", "4");
    same("7*3//2", "10");
    same("7//2*2", "6");
    same("-7//2", "-4");
    same("-(7//2)", "-3");
    same("7 % 4 % 2", "1");
    same("-2**2", "-4");
    same("(-2)**2", "4");
    same("2**10", "1024");
    same("2**0", "1");
    same("3 - -2", "5");
    same("+h", "h");
    same("floor(h/2)", "h//2");
    same("floor(h/2 - 1/2)", "(h - 1)//2");
    same("floor(h/2 - 1/2) + 1", "ceil(h/2)");
    same("floor((h - 1)/2)", "(h - 1)//2");
    same("floor(h/2 - 1/3)", "(3*h - 2)//6");
    same("floor(h/2/3)", "h//6");
    same("floor(3*(h/2 + 1/2))", "(3*h + 3)//2");
    same("floor(h/-2)", "h//-2");
    same("floor(h)", "h");
    same("floor(h/w + 1)", "h//w + 1");
    same("floor(h//2/3)", "h//6");
    same("floor(floor(h/2)/3 + 1/3)", "(h//2 + 1)//3");
    same("floor((h/2)**2)", "h**2//4");
    same("floor(-h/2)", "(-h)//2");
    same("ceil(w/4)", "(w + 3)//4");
    same("ceiling(w/4)", "ceil(w/4)");
    same("floor(7/2)", "3");
    same("ceil(7/2)", "4");
    same("floor((h/2)//(1/2))", "h");
    same("floor(min(h, w)/2)", "min(h, w)//2");
    same("Min(h, w)", "min(h, w)");
    same("Max(h, w, c)", "max(max(h, w), c)");
    same("Mod(h, 4)", "h % 4");
    same("FloorDiv(h, 4)", "h//4");
    same("min(h)", "h");
    same("min*2", "2*min"); /* a name is a function only before a parenthesis */
}

static void refused(const char *text, sdx_status status, const char *what) {
    sdx_expr e = number(1);
    sdx_error error;
    sdx_error_clear(&error);
    size_t symbols = sdx_expr_symbol_count(pool);
    assert_int_equal(sdx_expr_parse(pool, text, strlen(text), &e, &error), status);
    assert_true(sdx_expr_is_unknown(e));
    assert_int_equal(error.code, status);
    if (strstr(error.message, what) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, what);
    if (status == SDX_STATUS_BAD_MODEL && strstr(what, "zero") == NULL)
        assert_int_equal(sdx_expr_symbol_count(pool), symbols); /* none left behind */
    assert_int_equal(sdx_expr_parse(pool, text, strlen(text), &e, NULL), status);
}

static void test_malformed(void **state) {
    (void)state;
    const sdx_status bad = SDX_STATUS_BAD_MODEL, big = SDX_STATUS_UNSUPPORTED;
    refused("", bad, "ends too early at position 0");
    refused("  ", bad, "position 2");
    refused("x +", bad, "ends too early at position 3");
    refused("x + * 2", bad, "expected a number, a name or '(' at position 4");
    refused("x y", bad, "unexpected text at position 2");
    refused("2x", bad, "unexpected text at position 1");
    refused("(x + 1", bad, "expected ')' at position 6");
    refused("x + 1)", bad, "unexpected text at position 5");
    refused("x/2", bad, "'/' outside floor() and ceil() at position 1");
    refused("floor(min(x/2, 3))", bad, "'/' outside floor() and ceil() at position 11");
    refused("floor(x/2) + x/2", bad, "position 14");
    refused("foo(x)", bad, "unknown function at position 0");
    refused("1 + foo(x)", bad, "unknown function at position 4");
    refused("min(x, )", bad, "position 7");
    refused("min()", bad, "position 4");
    refused("min(x; 2)", bad, "expected ')' at position 5");
    refused("floor(x, 2)", bad, "expected ')' at position 7");
    refused("Mod(x)", bad, "expected a second argument at position 5");
    refused("Mod(x, 2, 3)", bad, "expected ')' at position 8");
    refused("x**y", bad, "expected a number as power at position 3");
    refused("x**-1", bad, "expected a number as power at position 3");
    refused("x**2**3", bad, "power of a power at position 4");
    refused("x?", bad, "unexpected text at position 1");
    refused("?", bad, "position 0");
    refused("'x", bad, "a quote that is not closed at position 0");
    refused("1.5*x", bad, "unexpected text at position 1");
    refused("x//0", bad, "division by zero at position 1");
    refused("x % 0", bad, "division by zero at position 2");
    refused("floor(x/0)", bad, "division by zero at position 7");
    refused("floor(h/2 % 2)", bad, "remainder of a fraction at position 10");
    refused("4611686018427387904", big, "number too large at position 0");
    refused("1 + 99999999999999999999999", big, "number too large at position 4");
    refused("4611686018427387903 + 1", big, "position 20");
    refused("h*-4611686018427387904", big, "position 1");
    refused("2**63", big, "power too large at position 3");
    refused("2**62", big, "undefined or too large at position 0");
    refused("h**9", big, "undefined or too large at position 0");
    refused("broadcast(2, 3)", big, "undefined or too large at position 0");
    sdx_expr e;
    assert_int_equal(sdx_expr_parse(NULL, "1", 1, &e, NULL), SDX_STATUS_INVALID_ARGUMENT);
}

static void test_parse_depth(void **state) {
    (void)state;
    char text[512];
    for (int depth = 63; depth < 67; depth++) {
        int at = 0;
        for (int i = 0; i < depth; i++) text[at++] = '(';
        text[at++] = 'h';
        for (int i = 0; i < depth; i++) text[at++] = ')';
        text[at] = '\0';
        if (depth <= 64)
            same(text, "h");
        else
            refused(text, SDX_STATUS_BAD_MODEL, "nested too deeply at position 64");
    }
    /* Signs do not nest. */
    enum { SIGNS = 100001 };
    char *signs = malloc(SIGNS + 2);
    assert_non_null(signs);
    memset(signs, '-', SIGNS);
    memcpy(signs + SIGNS, "h", 2);
    same(signs, "-h");
    free(signs);
}

/* ---- bounds --------------------------------------------------------------------------------- */

#define NONE INT64_MAX

static void bounds(const char *text, int64_t lower, int64_t upper) {
    int64_t bound;
    bool found = sdx_expr_lower_bound(pool, parse(text), &bound);
    if (found != (lower != NONE) || (found && bound != lower))
        fail_msg("lower bound of %s: %lld", text, found ? (long long)bound : -999);
    found = sdx_expr_upper_bound(pool, parse(text), &bound);
    if (found != (upper != NONE) || (found && bound != upper))
        fail_msg("upper bound of %s: %lld", text, found ? (long long)bound : -999);
}

static void test_bounds(void **state) {
    (void)state;
    bounds("h", 0, NONE);
    bounds("-h", NONE, 0);
    bounds("3*h + 2", 2, NONE);
    bounds("5 - h*w", NONE, 5);
    bounds("h - w", NONE, NONE);
    bounds("h//2", 0, NONE);
    bounds("(h + 7)//3", 2, NONE);
    bounds("h//w", 0, NONE);
    bounds("(h + 3)//(w + 2)", 0, NONE);
    bounds("7//(w + 2)", 0, 3);
    bounds("min(h, 5)", 0, 5);
    bounds("max(h, 5)", 5, NONE);
    bounds("min(h, 5) - min(w, 3)", -3, 5);
    bounds("min(h, 5)*min(w, 3)", 0, 15);
    bounds("broadcast(h, w)", 0, NONE);
    bounds("broadcast(h + 1, w + 2)", 2, NONE);
    bounds("h % 4", 0, 3);
    bounds("h - h//2", 0, NONE);
    bounds("2*(h//2) - h", -1, 0);
    bounds("h - min(h, w)", 0, NONE);
    bounds("max(h, w) - w", 0, NONE);
    bounds("min(h, w) - max(h, w)", NONE, 0);
    bounds("h*w - w*(h//2)", 0, NONE);
    bounds("h - h//w", 0, NONE);
    bounds("(min(h, 5) - 10)//(w - c)", -10, 10);
    bounds("h//(w - c)", NONE, NONE);
    bounds("h*4611686018427387903 + 4611686018427387903", 4611686018427387903, NONE);
}

/* ---- evaluation ----------------------------------------------------------------------------- */

static void test_evaluation(void **state) {
    (void)state;
    assert_int_equal(value_of(parse("batch*h*2 + 3"), 4, 5, 0, 0), 43);
    assert_int_equal(value_of(parse("(h + 1)//2"), 0, 7, 0, 0), 4);
    assert_int_equal(value_of(parse("(h - w)//4"), 0, 1, 4, 0), -1);
    assert_int_equal(value_of(parse("h//(w - c)"), 0, 7, 1, 3), -4);
    assert_int_equal(value_of(parse("h % w"), 0, 17, 5, 0), 2);
    assert_int_equal(value_of(parse("min(h, w, 4)"), 0, 9, 6, 0), 4);
    assert_int_equal(value_of(parse("max(h, w, 4)"), 0, 9, 6, 0), 9);
    assert_int_equal(value_of(parse("h**3"), 0, 5, 0, 0), 125);
    assert_int_equal(value_of(number(-3), 0, 0, 0, 0), -3);
}

static void test_evaluation_failures(void **state) {
    (void)state;
    const int64_t failed = SDX_EVAL_FAILED, large = ((int64_t)1 << 40) + 7;
    assert_int_equal(value_of(parse("h + w"), 0, 5, -1, 0), failed); /* unbound */
    assert_int_equal(value_of(parse("h"), 0, 5, -1, 0), 5);
    assert_int_equal(value_of(parse("min(h, w)"), 0, 5, -1, 0), failed);
    assert_int_equal(value_of(parse("(h + w)//2"), 0, 5, -1, 0), failed);
    assert_int_equal(value_of(parse("h//w"), 0, 5, 0, 0), failed); /* by zero */
    assert_int_equal(value_of(parse("1 + 2*(h//w)"), 0, 5, 0, 0), failed);
    assert_int_equal(value_of(parse("max(h//w, 3)"), 0, 5, 0, 0), failed);
    assert_int_equal(value_of(parse("broadcast(h, w) + 1"), 0, 5, 3, 0), failed);
    assert_int_equal(value_of(parse("h*w"), 0, large, large, 0), failed); /* overflow */
    assert_int_equal(value_of(parse("h*4 + w"), 0, SDX_EXPR_MAX / 2, 0, 0), failed);
    assert_int_equal(value_of(parse("h + w"), 0, SDX_EXPR_MAX - 1, SDX_EXPR_MAX - 1, 0), failed);
    /* 2^66, which wraps to 0, and 2^64 + 2^33, which wraps to 2^33. */
    const sdx_expr power = sdx_expr_const((int64_t)1 << 33);
    assert_true(sdx_expr_is_unknown(sdx_expr_mul(pool, power, power)));
    assert_true(sdx_expr_is_unknown(
        sdx_expr_mul(pool, power, sdx_expr_const(((int64_t)1 << 31) + 1))));
    /* Past the range of constants, although it fits 64 bits. */
    assert_int_equal(value_of(parse("h*2"), 0, SDX_EXPR_MAX / 2, 0, 0), failed);
    assert_int_equal(value_of(parse("h"), 0, SDX_EXPR_MAX, 0, 0), failed);
    assert_int_equal(value_of(parse("h"), 0, SDX_EXPR_MAX - 1, 0, 0), SDX_EXPR_MAX - 1);
    /* A zero dim makes the product zero. */
    assert_int_equal(value_of(parse("batch*h*w"), large, large, 0, 0), 0);
    assert_int_equal(value_of(parse("batch*h*w"), 0, large, large, 0), 0);
    assert_int_equal(value_of(parse("batch*h*w"), 0, large, -1, 0), failed);
}

/* ---- limits --------------------------------------------------------------------------------- */

static void test_size_limits(void **state) {
    (void)state;
    sdx_expr sum = number(0), h = symbol("h");
    char name[16];
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "t%d", i);
        sum = sdx_expr_add(pool, sum, symbol(name));
    }
    assert_false(sdx_expr_is_unknown(sum));
    assert_true(sdx_expr_is_unknown(sdx_expr_add(pool, sum, h)));
    assert_true(sdx_expr_is_unknown(sdx_expr_add(pool, sum, number(1))));
    assert_true(sdx_expr_is_unknown(sdx_expr_mul(pool, sum, sum)));
    assert_false(sdx_expr_is_unknown(sdx_expr_mul(pool, sum, h)));

    sdx_expr power = number(1);
    for (int i = 0; i < 8; i++) power = sdx_expr_mul(pool, power, h);
    assert_false(sdx_expr_is_unknown(power));
    assert_true(sdx_expr_is_unknown(sdx_expr_mul(pool, power, h)));
    assert_true(sdx_expr_is_unknown(sdx_expr_mul(pool, h, power)));

    sdx_expr list = symbol("t0");
    for (int i = 1; i < 32; i++) {
        snprintf(name, sizeof name, "t%d", i);
        list = sdx_expr_broadcast(pool, list, symbol(name));
    }
    assert_false(sdx_expr_is_unknown(list));
    assert_true(sdx_expr_is_unknown(sdx_expr_broadcast(pool, list, h)));
}

static void round_trip(sdx_expr e) {
    static char text[1 << 17];
    sdx_expr back;
    sdx_error error;
    sdx_error_clear(&error);
    size_t length = sdx_expr_text(pool, e, text, sizeof text);
    assert_true(length < sizeof text);
    if (sdx_expr_parse(pool, text, length, &back, &error) != SDX_STATUS_OK)
        fail_msg("%.500s", error.message);
    if (!sdx_expr_same(back, e)) {
        char other[500];
        sdx_expr_text(pool, back, other, sizeof other);
        fail_msg("%.500s reads back as %s", text, other);
    }
}

/* The deepest nesting of each kind still prints and reads back; one more is unknown. */
static void test_nesting(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        sdx_expr e = symbol("h"), w = symbol("w");
        for (int depth = 1; depth <= 33; depth++) {
            /* -((x*3 + w)//7*2)-like forms need most parentheses */
            sdx_expr inner = sdx_expr_add(pool, sdx_expr_mul(pool, e, number(3)), w);
            if (kind == 0) e = sdx_expr_floordiv(pool, inner, number(7));
            if (kind == 1) e = sdx_expr_floordiv(pool, w, inner);
            inner = sdx_expr_sub(pool, inner, number(9));
            if (kind == 2) e = sdx_expr_max(pool, inner, symbol("c"));
            if (depth <= 32) {
                assert_false(sdx_expr_is_unknown(e));
                round_trip(sdx_expr_sub(pool, number(1), sdx_expr_mul(pool, e, number(2))));
            } else {
                assert_true(sdx_expr_is_unknown(e));
            }
        }
    }
}

/* Shared parts print as often as they are used. That must not grow without bound. */
static void test_weight(void **state) {
    (void)state;
    sdx_expr e = symbol("h");
    int rounds = 0;
    for (; rounds < 32 && !sdx_expr_is_unknown(e); rounds++) {
        sdx_expr square = sdx_expr_add(pool, sdx_expr_mul(pool, e, e), symbol("w"));
        e = sdx_expr_floordiv(pool, square, sdx_expr_add(pool, e, number(2)));
        if (!sdx_expr_is_unknown(e)) {
            assert_true(sdx_expr_text(pool, e, NULL, 0) < 1 << 17);
            round_trip(e);
        }
    }
    assert_in_range(rounds, 4, 16);

    /* The same without sums. By nesting alone, 16 rounds would pass. */
    sdx_expr heavy = symbol("h");
    char name[16];
    for (rounds = 0; rounds < 16 && !sdx_expr_is_unknown(heavy); rounds++) {
        snprintf(name, sizeof name, "a%d", rounds);
        sdx_expr left = sdx_expr_max(pool, heavy, symbol(name));
        name[0] = 'b';
        heavy = sdx_expr_min(pool, left, sdx_expr_max(pool, heavy, symbol(name)));
        if (!sdx_expr_is_unknown(heavy)) round_trip(heavy);
    }
    assert_in_range(rounds, 8, 15);
}

/* ---- property test -------------------------------------------------------------------------- */

static uint64_t random_state;

static uint32_t draw(uint32_t limit) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32) % limit;
}

typedef enum shape {
    ADD,
    SUB,
    MUL,
    FLOORDIV,
    CEILDIV,
    MOD,
    MINIMUM,
    MAXIMUM,
    BROADCAST,
    NUMBER,
    SYMBOL
} shape;

typedef struct node {
    shape shape;
    int64_t value; /* of a number; index of a symbol */
    int left, right;
} node;

enum { NODES = 256, SYMBOLS = 4 };
static node tree[NODES];
static int tree_count;

static int grow_tree(int depth) {
    int index = tree_count++;
    node *n = &tree[index];
    if (depth == 0 || tree_count > NODES - 64 || draw(6) == 0) {
        bool numeric = draw(3) == 0;
        *n = (node){.shape = numeric ? NUMBER : SYMBOL};
        n->value = numeric ? (int64_t)draw(16) - 5 : (int64_t)draw(SYMBOLS);
        return index;
    }
    static const shape weighted[] = {ADD, ADD,      ADD,     SUB, SUB,     MUL,     MUL,
                                     FLOORDIV, FLOORDIV, FLOORDIV, CEILDIV, MOD, MINIMUM, MAXIMUM,
                                     BROADCAST};
    shape what = weighted[draw(sizeof weighted / sizeof weighted[0])];
    int left = grow_tree(depth - 1);
    int right;
    if ((what == FLOORDIV || what == CEILDIV || what == MOD) && draw(3) > 0) {
        right = tree_count++; /* mostly divide by a constant, as models do */
        tree[right] = (node){.shape = NUMBER, .value = draw(10) == 0 ? -3 : 1 + (int64_t)draw(8)};
    } else {
        right = grow_tree(depth - 1);
    }
    *n = (node){.shape = what, .left = left, .right = right};
    return index;
}

static const binary SHAPE_OPERATIONS[] = {sdx_expr_add,     sdx_expr_sub, sdx_expr_mul,
                                          sdx_expr_floordiv, sdx_expr_ceildiv, sdx_expr_mod,
                                          sdx_expr_min,     sdx_expr_max, sdx_expr_broadcast};

static sdx_expr build(int index) {
    const node *n = &tree[index];
    if (n->shape == NUMBER) return number(n->value);
    static const char *const names[SYMBOLS] = {"batch", "h", "w", "c"};
    if (n->shape == SYMBOL) return symbol(names[n->value]);
    sdx_expr a = build(n->left), b = build(n->right);
    sdx_expr e = SHAPE_OPERATIONS[n->shape](pool, a, b);
    bool commutes = n->shape == ADD || n->shape == MUL || n->shape >= MINIMUM;
    if (commutes) {
        sdx_expr other = SHAPE_OPERATIONS[n->shape](pool, b, a);
        assert_true(e.word == other.word);
    }
    return e;
}

/* The same tree with numbers, by the definitions and without sdx_expr. */
static int64_t compute(int index, const int64_t *symbols) {
    const node *n = &tree[index];
    if (n->shape == NUMBER) return n->value;
    if (n->shape == SYMBOL) return symbols[n->value];
    int64_t a = compute(n->left, symbols), b = compute(n->right, symbols), out = 0;
    if (a == SDX_EVAL_FAILED || b == SDX_EVAL_FAILED) return SDX_EVAL_FAILED;
    bool fits = true;
    switch (n->shape) {
    case ADD: fits = sdx_i64_add(a, b, &out); break;
    case SUB: fits = sdx_i64_sub(a, b, &out); break;
    case MUL: fits = sdx_i64_mul(a, b, &out); break;
    case FLOORDIV:
    case CEILDIV:
    case MOD: {
        if (b == 0) return SDX_EVAL_FAILED;
        int64_t rest = a % b;
        if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
        int64_t whole = (a - rest) / b;
        out = n->shape == MOD ? rest : n->shape == FLOORDIV || rest == 0 ? whole : whole + 1;
        break;
    }
    case MINIMUM: out = a < b ? a : b; break;
    case MAXIMUM: out = a > b ? a : b; break;
    default:
        if (a != b && a != 1 && b != 1) return SDX_EVAL_FAILED;
        out = a == 1 ? b : a;
    }
    return fits && out > -SDX_EXPR_MAX && out < SDX_EXPR_MAX ? out : SDX_EVAL_FAILED;
}

static void check_bounds(sdx_expr e, int64_t value) {
    int64_t bound;
    if (sdx_expr_lower_bound(pool, e, &bound)) assert_true(bound <= value);
    if (sdx_expr_upper_bound(pool, e, &bound)) assert_true(bound >= value);
}

static void check_tree(sdx_expr e, int root, size_t *compared) {
    static const uint32_t spans[] = {2, 4, 8, 60};
    size_t size = sdx_expr_pool_size(pool);
    int64_t *results = malloc(size * sizeof *results);
    assert_non_null(results);
    for (int round = 0; round < 16; round++) {
        int64_t symbols[SYMBOLS];
        for (int i = 0; i < SYMBOLS; i++) symbols[i] = draw(spans[round % 4]);
        int64_t expected = compute(root, symbols);
        if (expected == SDX_EVAL_FAILED) continue;
        sdx_expr_evaluate(pool, symbols, results);
        int64_t value = sdx_expr_result(e, results);
        if (value != expected) {
            char text[500];
            sdx_expr_text(pool, e, text, sizeof text);
            fail_msg("%s = %lld, not %lld, for %lld %lld %lld %lld", text, (long long)value,
                     (long long)expected, (long long)symbols[0], (long long)symbols[1],
                     (long long)symbols[2], (long long)symbols[3]);
        }
        check_bounds(e, value);
        (*compared)++;
    }
    free(results);
}

static void test_random_trees(void **state) {
    (void)state;
    enum { TREES = 8000 };
    size_t unknown = 0, compared = 0;
    random_state = 20240611;
    for (int i = 0; i < TREES; i++) {
        if (i % 20 == 0) { /* a pool of moderate size, with shared parts */
            drop_pool(NULL);
            assert_int_equal(make_pool(NULL), 0);
        }
        tree_count = 0;
        int root = grow_tree(1 + (int)draw(5));
        sdx_expr e = build(root);
        if (sdx_expr_is_unknown(e)) {
            unknown++;
            continue;
        }
        check_tree(e, root, &compared);
        round_trip(e);
        assert_true(sdx_expr_same(build(root), e));
    }
    /* Unknown are divisions by constant zero, impossible broadcasts, and the largest. */
    assert_true(unknown < TREES / 8);
    assert_true(compared > 8 * (size_t)TREES);
}

static void test_random_products(void **state) {
    (void)state;
    random_state = 77;
    for (int i = 0; i < 1000; i++) {
        if (i % 20 == 0) {
            drop_pool(NULL);
            assert_int_equal(make_pool(NULL), 0);
        }
        tree_count = 0;
        sdx_expr a = build(grow_tree(3)), b = build(grow_tree(2));
        sdx_expr product = sdx_expr_mul(pool, a, b);
        if (sdx_expr_is_unknown(product) || sdx_expr_is(b, 0)) continue;
        assert_true(sdx_expr_same(sdx_expr_divide_exact(pool, product, b), a));
        assert_true(sdx_expr_same(sdx_expr_floordiv(pool, product, b), a));
        assert_true(sdx_expr_is(sdx_expr_mod(pool, product, b), 0));
    }
}

/* ---- failing allocations -------------------------------------------------------------------- */

typedef struct counter {
    size_t calls, fail_at; /* the call from which on nothing is given; 0: never */
    bool once;             /* only that call fails */
    size_t held;           /* bytes */
} counter;

static void *counted_allocate(void *user, size_t size, size_t alignment) {
    counter *c = user;
    c->calls++;
    bool refuse = c->fail_at != 0 && (c->once ? c->calls == c->fail_at : c->calls >= c->fail_at);
    if (refuse) return NULL;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, size) != 0) return NULL;
    c->held += size;
    return memory;
}

static void counted_release(void *user, void *memory, size_t size) {
    counter *c = user;
    c->held -= size;
    free(memory);
}

/* Enough to grow every table at least once. */
static void run_scenario(counter *c) {
    sdx_allocator allocator = {c, counted_allocate, counted_release};
    sdx_expr_pool *p = NULL;
    sdx_error error;
    sdx_error_clear(&error);
    if (sdx_expr_pool_create(&allocator, &p, &error) != SDX_STATUS_OK) {
        assert_null(p);
        assert_int_equal(error.code, SDX_STATUS_NO_MEMORY);
        return;
    }
    sdx_expr h = sdx_expr_symbol(p, "h", 1), w = sdx_expr_symbol(p, "w", 1);
    static const char text[] = "max(h*2 + (w + 1)//3, 'it''s'*4) - broadcast(h, w)";
    sdx_expr parsed;
    sdx_status status = sdx_expr_parse(p, text, sizeof text - 1, &parsed, NULL);
    assert_true(status == SDX_STATUS_OK || status == SDX_STATUS_NO_MEMORY);
    assert_int_equal(sdx_expr_is_unknown(parsed), status != SDX_STATUS_OK);
    char prefix[600];
    memset(prefix, 'p', sizeof prefix);
    prefix[sizeof prefix - 1] = '\0';
    for (int i = 0; i < 90; i++) {
        sdx_expr fresh = sdx_expr_fresh(p, i % 3 == 0 ? prefix : "x");
        for (size_t op = 0; op < sizeof OPERATIONS / sizeof OPERATIONS[0]; op++) {
            sdx_expr a = sdx_expr_add(p, h, fresh), b = sdx_expr_add(p, w, number(i));
            sdx_expr e = OPERATIONS[op](p, a, b);
            char buffer[64];
            sdx_expr_text(p, e, buffer, sizeof buffer);
        }
    }
    /* Whatever failed, the pool is consistent: it still finds what it has. */
    if (!sdx_expr_is_unknown(h)) assert_true(sdx_expr_same(sdx_expr_symbol(p, "h", 1), h));
    size_t symbols = sdx_expr_symbol_count(p), size = sdx_expr_pool_size(p);
    int64_t *values = calloc(symbols + 1, sizeof *values);
    int64_t *results = malloc(size * sizeof *results);
    assert_non_null(values);
    assert_non_null(results);
    sdx_expr_evaluate(p, values, results);
    free(values);
    free(results);
    sdx_expr_pool_release(p);
}

static void test_failing_allocations(void **state) {
    (void)state;
    counter whole = {0};
    run_scenario(&whole);
    assert_int_equal(whole.held, 0);
    assert_in_range(whole.calls, 15, 2000);
    for (int once = 0; once < 2; once++)
        for (size_t n = 1; n <= whole.calls; n++) {
            counter c = {.fail_at = n, .once = once == 1};
            run_scenario(&c);
            assert_true(c.calls >= n);
            assert_int_equal(c.held, 0);
        }
    sdx_expr_pool_release(NULL);
}

int main(void) {
#define WITH_POOL(test) cmocka_unit_test_setup_teardown(test, make_pool, drop_pool)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_constant_limits),
        WITH_POOL(test_unknown_propagates),
        WITH_POOL(test_symbols),
        WITH_POOL(test_fresh),
        WITH_POOL(test_many),
        WITH_POOL(test_pool_limit),
        WITH_POOL(test_polynomials),
        WITH_POOL(test_floordiv),
        WITH_POOL(test_ceildiv_and_mod),
        WITH_POOL(test_shape_rules),
        WITH_POOL(test_min_max),
        WITH_POOL(test_broadcast),
        WITH_POOL(test_divide_exact),
        WITH_POOL(test_printing),
        WITH_POOL(test_text_buffer),
        WITH_POOL(test_odd_names),
        WITH_POOL(test_parsing),
        WITH_POOL(test_malformed),
        WITH_POOL(test_parse_depth),
        WITH_POOL(test_bounds),
        WITH_POOL(test_evaluation),
        WITH_POOL(test_evaluation_failures),
        WITH_POOL(test_size_limits),
        WITH_POOL(test_nesting),
        WITH_POOL(test_weight),
        WITH_POOL(test_random_trees),
        WITH_POOL(test_random_products),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
