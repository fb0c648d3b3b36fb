/* expr_parse.c - reads the text of a symbolic integer: what expr_text.c writes, and what exporters
 * put into dim_param ("batch*2", "floor(h/2 - 1/2)", "Max(1, w//4)"). Called while a model loads.
 * The text is read twice: first for syntax alone, so that refused text leaves no symbols behind.
 */
#include <string.h>

#include "base/checked.h"
#include "graph/expr_internal.h"

/* sum      = product (("+" | "-") product)*
 * product  = unary (("*" | "//" | "%" | "/") unary)*          "/" only within floor() and ceil()
 * unary    = ("+" | "-")* power
 * power    = primary ("**" number)?
 * primary  = number | name | 'any name' | function "(" sum ("," sum)* ")" | "(" sum ")"
 *
 * Inside floor() and ceil() a value is a fraction of two expressions, elsewhere its denominator is
 * 1. Signs bind as in Python: -h//2 is (-h)//2, and -h**2 is -(h**2). */

#define MAX_DEPTH 64 /* of parentheses; twice SDX_EXPR_NESTING, which is what printing may need */
#define MAX_POWER 62
#define QUOTED_IN_ERROR 80

typedef struct fraction {
    sdx_expr top, bottom;
} fraction;

typedef struct parser {
    sdx_expr_pool *pool;
    const char *text;
    size_t size, at;
    int depth;
    bool building;  /* second reading */
    bool fractions; /* "/" is allowed here */
    sdx_status status;
    sdx_error *error;
} parser;

static bool parse_sum(parser *p, fraction *out);

/* ---- errors --------------------------------------------------------------------------------- */

static bool refuse(parser *p, sdx_status status, size_t at, const char *what) {
    int shown = (int)(p->size < QUOTED_IN_ERROR ? p->size : QUOTED_IN_ERROR);
    p->status = sdx_fail(p->error, status, "expression \"%.*s\"%s: %s at position %zu", shown,
                         p->text, p->size > QUOTED_IN_ERROR ? "..." : "", what, at);
    return false;
}

static bool wrong(parser *p, size_t at, const char *what) {
    return refuse(p, SDX_STATUS_BAD_MODEL, at, what);
}

/* Keeps the result of an operation that started at `at`, unless it is unknown. */
static bool keep(parser *p, size_t at, sdx_expr value, sdx_expr *out) {
    *out = value;
    if (!sdx_expr_is_unknown(value)) return true;
    if (p->pool->out_of_memory) return refuse(p, SDX_STATUS_NO_MEMORY, at, "out of memory");
    return refuse(p, SDX_STATUS_UNSUPPORTED, at, "a value that is undefined or too large");
}

/* ---- tokens --------------------------------------------------------------------------------- */

static void skip_space(parser *p) {
    while (p->at < p->size && memchr(" \t\r\n", p->text[p->at], 4) != NULL) p->at++;
}

static bool next_is(parser *p, const char *token) {
    skip_space(p);
    size_t length = strlen(token);
    return p->size - p->at >= length && memcmp(p->text + p->at, token, length) == 0;
}

static bool take(parser *p, const char *token) {
    if (!next_is(p, token)) return false;
    p->at += strlen(token);
    return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* -2^62 is a constant although 2^62 is none, so the sign is part of the number. */
static bool parse_number(parser *p, bool negative, int64_t *out) {
    size_t start = p->at;
    int64_t value = 0;
    for (; p->at < p->size && is_digit(p->text[p->at]); p->at++) {
        int64_t digit = p->text[p->at] - '0';
        if (!sdx_i64_mul(value, 10, &value) ||
            !sdx_i64_add(value, negative ? -digit : digit, &value) || !sdx_expr_in_range(value))
            return refuse(p, SDX_STATUS_UNSUPPORTED, start, "a number too large");
    }
    *out = value;
    return true;
}

/* ---- fractions ------------------------------------------------------------------------------ */

static fraction whole(sdx_expr e) { return (fraction){e, sdx_expr_const(1)}; }

/* out = a + b * sign */
static bool add_fractions(parser *p, size_t at, fraction a, fraction b, bool minus, fraction *out) {
    sdx_expr left, right;
    if (!p->building) return true;
    if (sdx_expr_same(a.bottom, b.bottom)) {
        left = a.top;
        right = b.top;
        out->bottom = a.bottom;
    } else {
        if (!keep(p, at, sdx_expr_mul(p->pool, a.top, b.bottom), &left)) return false;
        if (!keep(p, at, sdx_expr_mul(p->pool, b.top, a.bottom), &right)) return false;
        if (!keep(p, at, sdx_expr_mul(p->pool, a.bottom, b.bottom), &out->bottom)) return false;
    }
    sdx_expr sum = minus ? sdx_expr_sub(p->pool, left, right) : sdx_expr_add(p->pool, left, right);
    return keep(p, at, sum, &out->top);
}

static bool multiply_fractions(parser *p, size_t at, fraction a, fraction b, fraction *out) {
    if (!p->building) return true;
    return keep(p, at, sdx_expr_mul(p->pool, a.top, b.top), &out->top) &&
           keep(p, at, sdx_expr_mul(p->pool, a.bottom, b.bottom), &out->bottom);
}

static bool divide_fractions(parser *p, size_t at, fraction a, fraction b, fraction *out) {
    if (p->building && sdx_expr_is(b.top, 0)) return wrong(p, at, "a division by zero");
    return multiply_fractions(p, at, a, (fraction){b.bottom, b.top}, out);
}

/* The floor or ceiling of a fraction, which is whole again. */
static bool round_fraction(parser *p, size_t at, fraction a, bool up, fraction *out) {
    if (!p->building) return true;
    sdx_expr value = up ? sdx_expr_ceildiv(p->pool, a.top, a.bottom)
                        : sdx_expr_floordiv(p->pool, a.top, a.bottom);
    out->bottom = sdx_expr_const(1);
    return keep(p, at, value, &out->top);
}

static bool take_modulo(parser *p, size_t at, fraction a, fraction b, fraction *out) {
    if (!p->building) return true;
    if (!sdx_expr_is(a.bottom, 1) || !sdx_expr_is(b.bottom, 1))
        return wrong(p, at, "a remainder of a fraction");
    if (sdx_expr_is(b.top, 0)) return wrong(p, at, "a division by zero");
    out->bottom = sdx_expr_const(1);
    return keep(p, at, sdx_expr_mod(p->pool, a.top, b.top), &out->top);
}

/* ---- grammar -------------------------------------------------------------------------------- */

typedef enum function {
    FUNCTION_FLOOR,
    FUNCTION_CEIL,
    FUNCTION_MIN,
    FUNCTION_MAX,
    FUNCTION_BROADCAST,
    FUNCTION_FLOORDIV,
    FUNCTION_MOD,
    FUNCTION_UNKNOWN
} function;

/* SymPy and PyTorch spell some of them in their own way. */
static function find_function(const char *name, size_t size) {
    static const struct {
        const char *name;
        function meaning;
    } known[] = {{"floor", FUNCTION_FLOOR},         {"ceil", FUNCTION_CEIL},
                 {"ceiling", FUNCTION_CEIL},        {"min", FUNCTION_MIN},
                 {"Min", FUNCTION_MIN},             {"max", FUNCTION_MAX},
                 {"Max", FUNCTION_MAX},             {"broadcast", FUNCTION_BROADCAST},
                 {"FloorDiv", FUNCTION_FLOORDIV},   {"Mod", FUNCTION_MOD}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i].name) == size && memcmp(known[i].name, name, size) == 0)
            return known[i].meaning;
    return FUNCTION_UNKNOWN;
}

static bool combine(parser *p, size_t at, function what, fraction a, fraction b, fraction *out) {
    if (!p->building) return true;
    out->bottom = sdx_expr_const(1);
    switch (what) {
    case FUNCTION_MIN: return keep(p, at, sdx_expr_min(p->pool, a.top, b.top), &out->top);
    case FUNCTION_MAX: return keep(p, at, sdx_expr_max(p->pool, a.top, b.top), &out->top);
    case FUNCTION_BROADCAST:
        return keep(p, at, sdx_expr_broadcast(p->pool, a.top, b.top), &out->top);
    case FUNCTION_MOD: return take_modulo(p, at, a, b, out);
    default:
        return divide_fractions(p, at, a, b, out) && round_fraction(p, at, *out, false, out);
    }
}

/* After the "(". */
static bool parse_arguments(parser *p, size_t at, function what, fraction *out) {
    bool outer = p->fractions, rounds = what == FUNCTION_FLOOR || what == FUNCTION_CEIL;
    bool two = what == FUNCTION_FLOORDIV || what == FUNCTION_MOD;
    size_t count = 1;
    p->fractions = rounds;
    if (!parse_sum(p, out)) return false;
    for (; !rounds && !(two && count == 2) && take(p, ","); count++) {
        fraction next;
        if (!parse_sum(p, &next) || !combine(p, at, what, *out, next, out)) return false;
    }
    if (two && count < 2) return wrong(p, p->at, "expected a second argument");
    p->fractions = outer;
    if (rounds && !round_fraction(p, at, *out, what == FUNCTION_CEIL, out)) return false;
    return take(p, ")") || wrong(p, p->at, "expected ')'");
}

static bool parse_name(parser *p, fraction *out) {
    size_t start = p->at;
    while (p->at < p->size && sdx_name_goes_on((uint8_t)p->text[p->at])) p->at++;
    size_t size = p->at - start;
    if (take(p, "(")) {
        function what = find_function(p->text + start, size);
        if (what == FUNCTION_UNKNOWN) return wrong(p, start, "an unknown function");
        if (++p->depth > MAX_DEPTH) return wrong(p, start, "nested too deeply");
        if (!parse_arguments(p, start, what, out)) return false;
        p->depth--;
        return true;
    }
    if (!p->building) return true;
    return keep(p, start, sdx_expr_symbol(p->pool, p->text + start, size), &out->top);
}

/* A name in quotes; a quote within it is doubled. Only then are its bytes copied. */
static bool parse_quoted(parser *p, fraction *out) {
    size_t start = p->at++, doubled = 0;
    const char *name = p->text + p->at;
    for (;; p->at++) {
        if (p->at == p->size) return wrong(p, start, "a quote that is not closed");
        if (p->text[p->at] != '\'') continue;
        if (p->at + 1 == p->size || p->text[p->at + 1] != '\'') break;
        p->at++;
        doubled++;
    }
    size_t size = (size_t)(p->text + p->at - name);
    p->at++;
    if (!p->building) return true;
    if (doubled == 0) return keep(p, start, sdx_expr_symbol(p->pool, name, size), &out->top);

    char *copy = sdx_alloc(p->pool->allocator, size, 1);
    if (copy == NULL) return refuse(p, SDX_STATUS_NO_MEMORY, start, "out of memory");
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        copy[length++] = name[i];
        if (name[i] == '\'') i++;
    }
    sdx_expr symbol = sdx_expr_symbol(p->pool, copy, length);
    sdx_free(p->pool->allocator, copy, size);
    return keep(p, start, symbol, &out->top);
}

static bool parse_primary(parser *p, bool negative, fraction *out) {
    *out = whole(sdx_expr_const(1));
    skip_space(p);
    if (p->at == p->size) return wrong(p, p->at, "the text ends too early");
    char c = p->text[p->at];
    if (is_digit(c)) {
        int64_t value;
        if (!parse_number(p, negative, &value)) return false;
        out->top = sdx_expr_const(value);
        return true;
    }
    if (c == '\'') return parse_quoted(p, out);
    if (sdx_name_begins((uint8_t)c)) return parse_name(p, out);
    size_t start = p->at;
    if (!take(p, "(")) return wrong(p, p->at, "expected a number, a name or '('");
    if (++p->depth > MAX_DEPTH) return wrong(p, start, "nested too deeply");
    if (!parse_sum(p, out)) return false;
    p->depth--;
    return take(p, ")") || wrong(p, p->at, "expected ')'");
}

/* The minus signs before a power; -2**2 is -(2**2) as in Python. */
static bool parse_unary(parser *p, fraction *out) {
    bool negative = false;
    skip_space(p);
    size_t start = p->at;
    for (;;) {
        if (take(p, "-"))
            negative = !negative;
        else if (!take(p, "+"))
            break;
    }
    skip_space(p);
    bool number = p->at < p->size && is_digit(p->text[p->at]);
    size_t base_at = p->at;
    if (!parse_primary(p, negative && number, out)) return false;
    if (take(p, "**")) {
        int64_t power = 0;
        skip_space(p);
        size_t power_at = p->at;
        if (p->at == p->size || !is_digit(p->text[p->at]))
            return wrong(p, p->at, "expected a number as power");
        if (!parse_number(p, false, &power)) return false;
        if (power > MAX_POWER)
            return refuse(p, SDX_STATUS_UNSUPPORTED, power_at, "a power too large");
        if (next_is(p, "**")) return wrong(p, p->at, "a power of a power");
        if (negative && number) { /* the sign was taken into the number; it belongs to the power */
            if (p->building && !keep(p, base_at, sdx_expr_sub(NULL, sdx_expr_const(0), out->top),
                                     &out->top))
                return false;
            number = false;
        }
        fraction base = *out;
        *out = whole(sdx_expr_const(1));
        for (int64_t i = 0; i < power; i++)
            if (!multiply_fractions(p, base_at, *out, base, out)) return false;
    }
    if (!negative || number || !p->building) return true;
    return keep(p, start, sdx_expr_sub(p->pool, sdx_expr_const(0), out->top), &out->top);
}

static bool parse_product(parser *p, fraction *out) {
    if (!parse_unary(p, out)) return false;
    for (;;) {
        skip_space(p);
        size_t at = p->at;
        fraction next;
        if (take(p, "*")) {
            if (!parse_unary(p, &next) || !multiply_fractions(p, at, *out, next, out)) return false;
        } else if (take(p, "//")) {
            if (!parse_unary(p, &next) || !divide_fractions(p, at, *out, next, out) ||
                !round_fraction(p, at, *out, false, out))
                return false;
        } else if (take(p, "/")) {
            if (!p->fractions) return wrong(p, at, "'/' outside floor() and ceil()");
            if (!parse_unary(p, &next) || !divide_fractions(p, at, *out, next, out)) return false;
        } else if (take(p, "%")) {
            if (!parse_unary(p, &next) || !take_modulo(p, at, *out, next, out)) return false;
        } else {
            return true;
        }
    }
}

static bool parse_sum(parser *p, fraction *out) {
    if (!parse_product(p, out)) return false;
    for (;;) {
        skip_space(p);
        size_t at = p->at;
        fraction next;
        bool minus = take(p, "-");
        if (!minus && !take(p, "+")) return true;
        if (!parse_product(p, &next) || !add_fractions(p, at, *out, next, minus, out)) return false;
    }
}

/* Read twice: the first time to find what is wrong with it, before anything is built. */
static sdx_status parse_text(sdx_expr_pool *pool, const char *text, size_t size, sdx_expr *out,
                             sdx_error *error) {
    fraction value = whole(sdx_expr_const(0));
    for (int reading = 0; reading < 2; reading++) {
        parser p = {.pool = pool, .text = text, .size = size, .building = reading == 1,
                    .error = error};
        if (!parse_sum(&p, &value)) return p.status;
        skip_space(&p);
        if (p.at < size) {
            wrong(&p, p.at, "unexpected text");
            return p.status;
        }
    }
    *out = value.top;
    return SDX_STATUS_OK;
}

sdx_status sdx_expr_parse(sdx_expr_pool *pool, const char *text, size_t size, sdx_expr *out,
                          sdx_error *error) {
    *out = SDX_EXPR_UNKNOWN;
    if (pool == NULL || (text == NULL && size > 0))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "no pool or text to parse");
    /* What is unknown here is judged by this text's own allocations; those before it stay on record. */
    const bool before = pool->out_of_memory;
    pool->out_of_memory = false;
    const sdx_status status = parse_text(pool, text, size, out, error);
    pool->out_of_memory = pool->out_of_memory || before;
    return status;
}
