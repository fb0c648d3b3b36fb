/* expr_divide.c - floor division of symbolic integers and what is built on it: ceiling, modulo,
 * exact division. Shape rules of convolution, pooling, slicing and reshaping end here.
 * floor(a/b) becomes quotient ± floor(rest/divisor), where as much as possible moved into the
 * polynomial quotient, so that equal sizes computed in different ways become the same entry.
 */
#include <string.h>

#include "base/checked.h"
#include "graph/expr_internal.h"

/* The canonical form, by example:
 *   (4h + 3)//4 = h      (3h)//2 = h + h//2      (6h)//4 = (3h)//2      (h//2)//3 = h//6
 *   (h*w)//h = w         ceil(h/2) = -((-h)//2) = (h + 1)//2            (h - 1)//2 = (h + 1)//2 - 1
 * The divisor's leading coefficient is made positive, then the rest's. A constant divisor n leaves
 * coefficients |c| < n and a constant 0 <= c < n. Cancelling a symbolic factor assumes that it is
 * not 0, for then the division could not be evaluated at all.
 */

#define ROUNDS 32 /* a form that does not settle by then is taken as it is */

#define SCRATCH 3
/* The value is quotient + sign * floor(rest / divisor). */
typedef struct division {
    sdx_poly *quotient, *rest, *divisor;
    sdx_poly *scratch; /* for one step at a time; the last one is add_to_quotient's */
    int64_t sign;
} division;

typedef enum progress {
    FAILED,  /* overflow or limit */
    DONE,    /* the quotient is all */
    SETTLED, /* rest and divisor make an atom */
    CHANGED  /* look again */
} progress;

static int64_t gcd(int64_t a, int64_t b) {
    if (a < 0) a = -a;
    if (b < 0) b = -b;
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool add_to_quotient(division *d, const sdx_poly *poly) {
    sdx_poly *sum = &d->scratch[SCRATCH - 1];
    if (!sdx_poly_add(sum, d->quotient, poly, d->sign)) return false;
    sdx_poly_copy(d->quotient, sum);
    return true;
}

static progress finish(division *d, int64_t value) {
    return sdx_poly_add_const(d->quotient, d->sign * value) ? DONE : FAILED;
}

/* ---- rules for any divisor ------------------------------------------------------------------ */

/* floor((k*b + r)/b) = k + floor(r/b). A divisor of several terms can make the rest longer than
 * what it came from; that is not taken. */
static progress split_multiples(const sdx_expr_pool *pool, division *d) {
    sdx_poly *quotient = &d->scratch[0], *rest = &d->scratch[1];
    if (!sdx_poly_divide(pool, d->rest, d->divisor, false, quotient, rest)) return SETTLED;
    if (quotient->count == 0 || (d->divisor->count > 1 && rest->count >= d->rest->count))
        return SETTLED;
    if (!add_to_quotient(d, quotient)) return FAILED;
    sdx_poly_copy(d->rest, rest);
    return CHANGED;
}

/* The rest as a lone floor division that can be merged into this one, else NULL. */
static const sdx_expr_entry *floordiv_of_term(const sdx_expr_pool *pool, const sdx_term *term) {
    if (term->degree != 1) return NULL;
    const sdx_expr_entry *entry = sdx_pool_entry(pool, term->atoms[0]);
    return entry->kind == SDX_EXPR_KIND_FLOORDIV ? entry : NULL;
}

/* floor(floor(a/m)/b) = floor(a/(m*b)) for b > 0. */
static progress merge_nested(const sdx_expr_pool *pool, division *d) {
    sdx_poly *inner = &d->scratch[0], *product = &d->scratch[1];
    if (d->rest->count != 1 || d->rest->terms[0].coefficient != 1) return SETTLED;
    const sdx_expr_entry *entry = floordiv_of_term(pool, &d->rest->terms[0]);
    if (entry == NULL || sdx_poly_lower(pool, d->divisor) < 0) return SETTLED;
    if (!sdx_poly_load(pool, sdx_entry_operand(pool, entry, 1), inner)) return SETTLED;
    if (!sdx_poly_mul(pool, product, inner, d->divisor)) return SETTLED;
    if (!sdx_poly_load(pool, sdx_entry_operand(pool, entry, 0), inner)) return SETTLED;
    sdx_poly_copy(d->divisor, product);
    sdx_poly_copy(d->rest, inner);
    return CHANGED;
}

/* ---- a constant divisor --------------------------------------------------------------------- */

/* floor((s + floor(a/m))/n) = floor((m*s + a)/(m*n)); also for s - floor(a/m), where -floor(a/m) is
 * floor((-a + m - 1)/m). Done only if there is one such term: with two, the choice would matter. */
static progress merge_inner(const sdx_expr_pool *pool, division *d, int64_t *n) {
    uint32_t found = SDX_EXPR_TERMS;
    int64_t m = 0, product;
    for (uint32_t i = 0; i < d->rest->count; i++) {
        const sdx_term *term = &d->rest->terms[i];
        if (term->coefficient != 1 && term->coefficient != -1) continue;
        const sdx_expr_entry *entry = floordiv_of_term(pool, term);
        if (entry == NULL || !sdx_expr_is_const(sdx_entry_operand(pool, entry, 1))) continue;
        if (found != SDX_EXPR_TERMS) return SETTLED;
        found = i;
        m = sdx_expr_value(sdx_entry_operand(pool, entry, 1));
    }
    if (found == SDX_EXPR_TERMS) return SETTLED;
    if (!sdx_i64_mul(m, *n, &product) || product >= SDX_EXPR_MAX) return SETTLED;

    sdx_poly *inner = &d->scratch[0], *outer = &d->scratch[1], *sum = &d->scratch[2];
    const sdx_expr_entry *entry = sdx_pool_entry(pool, d->rest->terms[found].atoms[0]);
    int64_t sign = d->rest->terms[found].coefficient;
    if (!sdx_poly_load(pool, sdx_entry_operand(pool, entry, 0), inner)) return SETTLED;
    sdx_poly_copy(outer, d->rest);
    outer->count--;
    memmove(&outer->terms[found], &outer->terms[found + 1],
            (outer->count - found) * sizeof outer->terms[0]);
    if (!sdx_poly_scale(outer, m) || !sdx_poly_add(sum, outer, inner, sign)) return SETTLED;
    if (sign < 0 && !sdx_poly_add_const(sum, m - 1)) return SETTLED;
    sdx_poly_copy(d->rest, sum);
    *n = product;
    return CHANGED;
}

/* Cancels what the coefficients and n share. The constant is rounded down: what it has beyond a
 * multiple of the factor can never lift the quotient. */
static bool cancel_constant(division *d, int64_t *n) {
    int64_t common = *n, constant = sdx_poly_constant(d->rest);
    uint32_t variable = d->rest->count - (constant != 0 ? 1u : 0u);
    for (uint32_t i = 0; i < variable; i++) common = gcd(common, d->rest->terms[i].coefficient);
    d->rest->count = variable;
    for (uint32_t i = 0; i < variable; i++) d->rest->terms[i].coefficient /= common;
    *n /= common;
    constant = sdx_floor_i64(constant, common);
    int64_t whole = sdx_floor_i64(constant, *n);
    return sdx_poly_add_const(d->rest, constant - whole * *n) &&
           sdx_poly_add_const(d->quotient, d->sign * whole);
}

static progress reduce_by_constant(const sdx_expr_pool *pool, division *d) {
    int64_t n = sdx_poly_constant(d->divisor);
    progress step = split_multiples(pool, d);
    if (step == FAILED || !cancel_constant(d, &n)) return FAILED;
    sdx_poly_set(d->divisor, n);
    if (n == 1) return add_to_quotient(d, d->rest) ? DONE : FAILED;
    if (sdx_poly_is_const(d->rest)) return finish(d, 0); /* 0 <= rest < n */

    step = merge_inner(pool, d, &n);
    sdx_poly_set(d->divisor, n);
    if (step == SETTLED) step = merge_nested(pool, d);
    if (step != SETTLED) return step;

    int64_t lower = sdx_poly_lower(pool, d->rest), upper = sdx_poly_upper(pool, d->rest);
    if (lower != SDX_NO_LOWER && upper != SDX_NO_UPPER &&
        sdx_floor_i64(lower, n) == sdx_floor_i64(upper, n))
        return finish(d, sdx_floor_i64(lower, n));
    if (d->rest->terms[0].coefficient < 0) { /* floor(-x/n) = -floor((x + n - 1)/n) */
        if (!sdx_poly_scale(d->rest, -1) || !sdx_poly_add_const(d->rest, n - 1)) return FAILED;
        d->sign = -d->sign;
        return CHANGED; /* the constant may be 0 now, and the rest a lone division */
    }
    return SETTLED;
}

/* ---- a symbolic divisor --------------------------------------------------------------------- */

static void keep_common_atoms(sdx_term *common, const sdx_poly *poly) {
    for (uint32_t i = 0; i < poly->count; i++) {
        const sdx_term *term = &poly->terms[i];
        uint32_t kept = 0, j = 0;
        for (uint32_t k = 0; k < common->degree; k++) {
            while (j < term->degree && term->atoms[j] < common->atoms[k]) j++;
            if (j == term->degree || term->atoms[j] != common->atoms[k]) continue;
            common->atoms[kept++] = common->atoms[k];
            j++;
        }
        common->degree = kept;
    }
}

static void remove_atoms(sdx_poly *poly, const sdx_term *common) {
    for (uint32_t i = 0; i < poly->count; i++) {
        sdx_term others;
        sdx_term_remove(&poly->terms[i], common, &others);
        poly->terms[i] = others;
    }
}

/* floor((x*a)/(x*b)) = floor(a/b), for a product of atoms x and for a number x. */
static progress cancel_common(const sdx_expr_pool *pool, division *d) {
    sdx_term common = d->divisor->terms[0];
    keep_common_atoms(&common, d->divisor);
    keep_common_atoms(&common, d->rest);
    if (common.degree > 0) {
        remove_atoms(d->rest, &common);
        remove_atoms(d->divisor, &common);
        return CHANGED;
    }
    int64_t factor = 0, constant = sdx_poly_constant(d->rest);
    /* Rounding the constant down, as for a constant divisor, needs b > 0. */
    if (sdx_poly_lower(pool, d->divisor) < 0) factor = gcd(factor, constant);
    uint32_t variable = d->rest->count - (constant != 0 ? 1u : 0u);
    for (uint32_t i = 0; i < d->divisor->count; i++)
        factor = gcd(factor, d->divisor->terms[i].coefficient);
    for (uint32_t i = 0; i < variable; i++) factor = gcd(factor, d->rest->terms[i].coefficient);
    if (factor <= 1) return SETTLED; /* no coefficient is 0, and so is no factor */
    for (uint32_t i = 0; i < d->divisor->count; i++) d->divisor->terms[i].coefficient /= factor;
    for (uint32_t i = 0; i < variable; i++) d->rest->terms[i].coefficient /= factor;
    d->rest->count = variable;
    return sdx_poly_add_const(d->rest, sdx_floor_i64(constant, factor)) ? CHANGED : FAILED;
}

/* 0 <= a < b gives 0, and -b <= a < 0 gives -1. */
static progress decide_by_bounds(const sdx_expr_pool *pool, division *d) {
    sdx_poly *distance = &d->scratch[0];
    if (sdx_poly_lower(pool, d->rest) >= 0) {
        if (sdx_poly_add(distance, d->divisor, d->rest, -1) &&
            sdx_poly_lower(pool, distance) >= 1)
            return finish(d, 0);
    } else if (sdx_poly_upper(pool, d->rest) < 0) {
        if (sdx_poly_add(distance, d->divisor, d->rest, 1) &&
            sdx_poly_lower(pool, distance) >= 0)
            return finish(d, -1);
    }
    return SETTLED;
}

static progress reduce_by_symbolic(const sdx_expr_pool *pool, division *d) {
    if (d->divisor->terms[0].coefficient < 0 &&
        (!sdx_poly_scale(d->divisor, -1) || !sdx_poly_scale(d->rest, -1)))
        return FAILED;
    progress step = split_multiples(pool, d);
    if (step == FAILED) return FAILED;
    if (d->rest->count == 0) return DONE;
    step = cancel_common(pool, d);
    if (step == SETTLED) step = merge_nested(pool, d);
    if (step == SETTLED) step = decide_by_bounds(pool, d);
    if (step != SETTLED) return step;

    /* floor(-x/b) = -1 - floor((x - 1)/b) for b > 0 */
    if (d->rest->terms[0].coefficient < 0 && sdx_poly_lower(pool, d->divisor) >= 0) {
        if (!sdx_poly_add_const(d->quotient, -d->sign)) return FAILED;
        if (!sdx_poly_scale(d->rest, -1) || !sdx_poly_add_const(d->rest, -1)) return FAILED;
        d->sign = -d->sign;
        return CHANGED;
    }
    return SETTLED;
}

/* ---- floor and ceiling ---------------------------------------------------------------------- */

static progress reduce(const sdx_expr_pool *pool, division *d) {
    if (d->rest->count == 0) return DONE;
    if (!sdx_poly_is_const(d->divisor)) return reduce_by_symbolic(pool, d);
    if (sdx_poly_constant(d->divisor) < 0 &&
        (!sdx_poly_scale(d->divisor, -1) || !sdx_poly_scale(d->rest, -1)))
        return FAILED;
    return reduce_by_constant(pool, d);
}

/* sign * floor(sign * a / b): the floor for sign 1, the ceiling for -1. */
static sdx_expr divide_with(sdx_expr_pool *pool, sdx_expr a, sdx_expr b, division *d) {
    d->quotient->count = 0;
    if (!sdx_poly_load(pool, a, d->rest) || !sdx_poly_load(pool, b, d->divisor))
        return SDX_EXPR_UNKNOWN;
    if (d->sign < 0 && !sdx_poly_scale(d->rest, -1)) return SDX_EXPR_UNKNOWN;
    progress step = CHANGED;
    for (int round = 0; step == CHANGED && round < ROUNDS; round++) step = reduce(pool, d);
    if (step == FAILED) return SDX_EXPR_UNKNOWN;
    if (step != DONE) {
        sdx_expr pair[2] = {sdx_poly_intern(pool, d->rest), sdx_poly_intern(pool, d->divisor)};
        if (sdx_expr_is_unknown(pair[0]) || sdx_expr_is_unknown(pair[1])) return SDX_EXPR_UNKNOWN;
        sdx_expr made = sdx_pool_make_atom(pool, SDX_EXPR_KIND_FLOORDIV, pair, 2);
        if (sdx_expr_is_unknown(made)) return SDX_EXPR_UNKNOWN;
        sdx_poly *atom = &d->scratch[0];
        sdx_poly_set_atom(atom, sdx_expr_index(made));
        if (!add_to_quotient(d, atom)) return SDX_EXPR_UNKNOWN;
    }
    return sdx_poly_intern(pool, d->quotient);
}

static sdx_expr divide(sdx_expr_pool *pool, sdx_expr a, sdx_expr b, int64_t sign) {
    sdx_poly *p = sdx_polys_take(pool, 3 + SCRATCH);
    if (!p) return SDX_EXPR_UNKNOWN;
    division d = {.quotient = &p[0], .rest = &p[1], .divisor = &p[2], .scratch = &p[3], .sign = sign};
    sdx_expr result = divide_with(pool, a, b, &d);
    sdx_polys_give(pool, 3 + SCRATCH);
    return result;
}

static bool divisible(const sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    return sdx_expr_usable(pool, a) && sdx_expr_usable(pool, b) && !sdx_expr_is(b, 0);
}

sdx_expr sdx_expr_floordiv(sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    if (SDX_LIKELY((a.word & b.word & 1) != 0)) {
        if (sdx_expr_is(b, 0)) return SDX_EXPR_UNKNOWN;
        int64_t value = sdx_floor_i64(sdx_expr_value(a), sdx_expr_value(b));
        return sdx_expr_in_range(value) ? sdx_expr_const(value) : SDX_EXPR_UNKNOWN;
    }
    if (sdx_expr_is(b, 1)) return a;
    if (!divisible(pool, a, b)) return SDX_EXPR_UNKNOWN;
    /* What is an atom already is in canonical form; so text always reads back as itself. */
    sdx_expr known = sdx_pool_find_atom(pool, SDX_EXPR_KIND_FLOORDIV, (sdx_expr[]){a, b}, 2);
    return sdx_expr_is_unknown(known) ? divide(pool, a, b, 1) : known;
}

sdx_expr sdx_expr_ceildiv(sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    if (SDX_LIKELY((a.word & b.word & 1) != 0)) {
        if (sdx_expr_is(b, 0)) return SDX_EXPR_UNKNOWN;
        int64_t value = -sdx_floor_i64(-sdx_expr_value(a), sdx_expr_value(b));
        return sdx_expr_in_range(value) ? sdx_expr_const(value) : SDX_EXPR_UNKNOWN;
    }
    if (sdx_expr_is(b, 1)) return a;
    if (!divisible(pool, a, b)) return SDX_EXPR_UNKNOWN;
    return divide(pool, a, b, -1);
}

/* ---- modulo and exact division -------------------------------------------------------------- */

sdx_expr sdx_expr_mod(sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    if (SDX_LIKELY((a.word & b.word & 1) != 0)) {
        int64_t divisor = sdx_expr_value(b);
        if (divisor == 0) return SDX_EXPR_UNKNOWN;
        int64_t rest = sdx_expr_value(a) % divisor;
        return sdx_expr_const(rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest);
    }
    /* a - b*(a//b): multiples of b cancel, so equal rests become equal expressions. */
    sdx_expr whole = sdx_expr_floordiv(pool, a, b);
    if (sdx_expr_is_unknown(whole) || !divisible(pool, a, b)) return SDX_EXPR_UNKNOWN;
    sdx_poly *p = sdx_polys_take(pool, 4);
    if (!p) return SDX_EXPR_UNKNOWN;
    sdx_poly *left = &p[0], *right = &p[1], *product = &p[2], *difference = &p[3];
    bool good = sdx_poly_load(pool, b, left) && sdx_poly_load(pool, whole, right) &&
                sdx_poly_mul(pool, product, left, right) && sdx_poly_load(pool, a, left) &&
                sdx_poly_add(difference, left, product, -1);
    sdx_expr result = good ? sdx_poly_intern(pool, difference) : SDX_EXPR_UNKNOWN;
    sdx_polys_give(pool, 4);
    return result;
}

sdx_expr sdx_expr_divide_exact(sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    if (SDX_LIKELY((a.word & b.word & 1) != 0)) {
        int64_t divisor = sdx_expr_value(b);
        if (divisor == 0 || sdx_expr_value(a) % divisor != 0) return SDX_EXPR_UNKNOWN;
        int64_t value = sdx_expr_value(a) / divisor;
        return sdx_expr_in_range(value) ? sdx_expr_const(value) : SDX_EXPR_UNKNOWN;
    }
    if (sdx_expr_is(b, 1)) return a;
    if (!divisible(pool, a, b)) return SDX_EXPR_UNKNOWN;
    sdx_poly *p = sdx_polys_take(pool, 4);
    if (!p) return SDX_EXPR_UNKNOWN;
    sdx_poly *dividend = &p[0], *divisor = &p[1], *quotient = &p[2], *rest = &p[3];
    bool good = sdx_poly_load(pool, a, dividend) && sdx_poly_load(pool, b, divisor) &&
                sdx_poly_divide(pool, dividend, divisor, true, quotient, rest);
    sdx_expr result = good ? sdx_poly_intern(pool, quotient) : SDX_EXPR_UNKNOWN;
    sdx_polys_give(pool, 4);
    return result;
}
