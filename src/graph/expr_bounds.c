/* expr_bounds.c - bounds of symbolic integers that hold for every binding with symbols >= 0.
 *
 * Each pool entry keeps its range, computed once when it is made. Interval arithmetic gives a
 * first bound. A search then replaces atoms by what they are related to (h//2 <= h/2, min(a, b) is
 * a or b), so that h - h//2 >= 0 and min(h//2, h) = h//2 are seen. The search has a fixed budget.
 * A bound assumes that evaluation succeeds, that is, that no divisor is 0.
 */
#include "base/checked.h"
#include "graph/expr_internal.h"

#define SEARCH_BUDGET 16 /* replacements tried per bound */
#define SEARCH_DEPTH 4   /* replacements after one another; bounds the stack too */
#define SEARCH_TERMS 16  /* longer sums, which models rarely have, get the interval alone */

/* ---- intervals ------------------------------------------------------------------------------ */

static const sdx_range EVERYTHING = {SDX_NO_LOWER, SDX_NO_UPPER};

/* Rounds bounds outside the range of constants outward, so that sums of two never overflow. */
static sdx_range clamp(int64_t lower, int64_t upper) {
    sdx_range range = {lower, upper};
    if (lower < -SDX_EXPR_MAX) range.lower = SDX_NO_LOWER;
    if (lower >= SDX_EXPR_MAX) range.lower = SDX_EXPR_MAX - 1;
    if (upper >= SDX_EXPR_MAX) range.upper = SDX_NO_UPPER;
    if (upper < -SDX_EXPR_MAX) range.upper = -SDX_EXPR_MAX;
    return range;
}

static sdx_range add_ranges(sdx_range a, sdx_range b) {
    bool no_lower = a.lower == SDX_NO_LOWER || b.lower == SDX_NO_LOWER;
    bool no_upper = a.upper == SDX_NO_UPPER || b.upper == SDX_NO_UPPER;
    return clamp(no_lower ? SDX_NO_LOWER : a.lower + b.lower,
                 no_upper ? SDX_NO_UPPER : a.upper + b.upper);
}

/* Product of two interval ends; the extreme numbers act as infinities, and 0 times one is 0. */
static int64_t multiply_ends(int64_t a, int64_t b) {
    int64_t product;
    if (a == 0 || b == 0) return 0;
    bool infinite = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
    if (!infinite && sdx_i64_mul(a, b, &product)) return product;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static sdx_range multiply_ranges(sdx_range a, sdx_range b) {
    int64_t ll = multiply_ends(a.lower, b.lower), lu = multiply_ends(a.lower, b.upper);
    int64_t ul = multiply_ends(a.upper, b.lower), uu = multiply_ends(a.upper, b.upper);
    return clamp(smaller(smaller(ll, lu), smaller(ul, uu)), larger(larger(ll, lu), larger(ul, uu)));
}

static sdx_range term_range(const sdx_expr_pool *pool, const sdx_term *term) {
    sdx_range range = clamp(term->coefficient, term->coefficient);
    for (uint32_t i = 0; i < term->degree; i++)
        range = multiply_ranges(range, sdx_pool_entry(pool, term->atoms[i])->range);
    return range;
}

static sdx_range interval(const sdx_expr_pool *pool, const sdx_poly *poly) {
    sdx_range range = {0, 0};
    for (uint32_t i = 0; i < poly->count; i++)
        range = add_ranges(range, term_range(pool, &poly->terms[i]));
    return range;
}

/* ---- ranges of atoms ------------------------------------------------------------------------ */

static int64_t floor_end(int64_t end, int64_t divisor) {
    return end == INT64_MIN || end == INT64_MAX ? end : sdx_floor_i64(end, divisor);
}

static sdx_range floordiv_range(sdx_range a, sdx_range b) {
    if (b.lower >= 0) {
        /* The divisor is at least 1, or else evaluation fails. A large one brings the quotient
         * near 0 (from above) or to -1 (from below). */
        int64_t least = larger(b.lower, 1);
        int64_t lower = a.lower < 0             ? floor_end(a.lower, least)
                        : b.upper == SDX_NO_UPPER ? 0
                                                  : floor_end(a.lower, larger(b.upper, 1));
        int64_t upper = a.upper >= 0              ? floor_end(a.upper, least)
                        : b.upper == SDX_NO_UPPER ? -1
                                                  : floor_end(a.upper, larger(b.upper, 1));
        return clamp(lower, upper);
    }
    if (a.lower == SDX_NO_LOWER || a.upper == SDX_NO_UPPER) return EVERYTHING;
    /* A divisor other than 0 makes nothing larger in magnitude. */
    int64_t magnitude = larger(-a.lower, a.upper);
    magnitude = larger(magnitude, larger(a.lower, -a.upper));
    return clamp(-magnitude, magnitude);
}

sdx_range sdx_atom_range(const sdx_expr_pool *pool, sdx_expr_kind kind, const sdx_expr *operands,
                         size_t count) {
    sdx_range range = sdx_expr_range(pool, operands[0]);
    if (kind == SDX_EXPR_KIND_FLOORDIV)
        return floordiv_range(range, sdx_expr_range(pool, operands[1]));
    int64_t least = range.lower, greatest_lower = range.lower;
    for (size_t i = 1; i < count; i++) {
        sdx_range next = sdx_expr_range(pool, operands[i]);
        least = smaller(least, next.lower);
        greatest_lower = larger(greatest_lower, next.lower);
        if (kind == SDX_EXPR_KIND_MIN)
            range.upper = smaller(range.upper, next.upper);
        else
            range.upper = larger(range.upper, next.upper);
    }
    /* A broadcast is one of its operands; only a 0 among them keeps it from being the largest. */
    bool largest = kind == SDX_EXPR_KIND_MAX || (kind == SDX_EXPR_KIND_BROADCAST && least >= 1);
    range.lower = largest ? greatest_lower : least;
    return range;
}

sdx_range sdx_expr_range(const sdx_expr_pool *pool, sdx_expr e) {
    if (sdx_expr_is_const(e)) return clamp(sdx_expr_value(e), sdx_expr_value(e));
    if (!sdx_expr_usable(pool, e)) return EVERYTHING;
    return sdx_pool_entry(pool, sdx_expr_index(e))->range;
}

/* ---- search --------------------------------------------------------------------------------- */

#define SCRATCH 5 /* polynomials of one step of the search */

static int64_t search_lower(const sdx_expr_pool *pool, const sdx_poly *poly, int depth,
                            int *budget);

/* The highest atom below `limit` in poly that is not a symbol; 0 if there is none. */
static uint32_t next_compound(const sdx_expr_pool *pool, const sdx_poly *poly, uint32_t limit) {
    uint32_t best = 0;
    for (uint32_t i = 0; i < poly->count; i++) {
        const sdx_term *term = &poly->terms[i];
        for (uint32_t k = 0; k < term->degree; k++) {
            uint32_t atom = term->atoms[k];
            bool symbol = sdx_pool_entry(pool, atom)->kind == SDX_EXPR_KIND_SYMBOL;
            if (atom > best && atom < limit && !symbol) best = atom;
        }
    }
    return best;
}

/* out = poly * scale, where scale * atom becomes `positive` in terms that grow with the atom and
 * `negative` in those that fall with it. NULL refuses that sign. */
static bool replace_atom(const sdx_expr_pool *pool, const sdx_poly *poly, uint32_t atom,
                         int64_t scale, const sdx_poly *positive, const sdx_poly *negative,
                         sdx_poly *out, sdx_poly scratch[2]) {
    const sdx_term one_atom = {.coefficient = 1, .degree = 1, .atoms = {atom}};
    sdx_term others, none;
    /* First the terms without the atom, which keep their order. */
    out->count = 0;
    for (uint32_t i = 0; i < poly->count; i++)
        if (!sdx_term_remove(&poly->terms[i], &one_atom, &none))
            out->terms[out->count++] = poly->terms[i];
    if (scale != 1 && !sdx_poly_scale(out, scale)) return false;

    for (uint32_t i = 0; i < poly->count; i++) {
        const sdx_term *term = &poly->terms[i];
        if (!sdx_term_remove(term, &one_atom, &others)) continue;
        if (sdx_term_remove(&others, &one_atom, &none)) return false; /* a power */
        const sdx_poly *with = term->coefficient > 0 ? positive : negative;
        if (with == NULL) return false;
        if (positive != negative) { /* the sign of the cofactor matters */
            sdx_term cofactor = others;
            cofactor.coefficient = 1;
            if (term_range(pool, &cofactor).lower < 0) return false;
        }
        sdx_poly *product = &scratch[0], *sum = &scratch[1];
        if (!sdx_poly_mul_term(product, with, &others)) return false;
        if (!sdx_poly_add(sum, out, product, 1)) return false;
        sdx_poly_copy(out, sum);
    }
    return true;
}

/* floor(a/n) lies between (a - n + 1)/n and a/n. For a divisor that is a symbol, 0 <= floor(a/b)
 * <= a is all that can be used, and only where a >= 0. */
static int64_t lower_by_floordiv(const sdx_expr_pool *pool, const sdx_poly *poly, uint32_t atom,
                                 int depth, int *budget, sdx_poly scratch[SCRATCH]) {
    const sdx_expr_entry *entry = sdx_pool_entry(pool, atom);
    sdx_expr a = sdx_entry_operand(pool, entry, 0), b = sdx_entry_operand(pool, entry, 1);
    sdx_poly *above = &scratch[0], *below = &scratch[1], *replaced = &scratch[2];
    int64_t scale = 1;
    if (!sdx_poly_load(pool, a, above)) return SDX_NO_LOWER;
    if (sdx_expr_is_const(b)) {
        scale = sdx_expr_value(b);
        sdx_poly_copy(below, above);
        if (scale < 1 || !sdx_poly_add_const(below, 1 - scale)) return SDX_NO_LOWER;
    } else {
        if (sdx_expr_range(pool, a).lower < 0 || sdx_expr_range(pool, b).lower < 0)
            return SDX_NO_LOWER;
        below->count = 0;
    }
    if (!replace_atom(pool, poly, atom, scale, below, above, replaced, &scratch[3]))
        return SDX_NO_LOWER;
    int64_t bound = search_lower(pool, replaced, depth - 1, budget);
    return bound == SDX_NO_LOWER ? bound : -sdx_floor_i64(-bound, scale);
}

/* A list atom equals one of its operands. Where replacing it by any operand can only lower the
 * value, the best of these bounds holds; otherwise the worst. */
static int64_t lower_by_list(const sdx_expr_pool *pool, const sdx_poly *poly, uint32_t atom,
                             int depth, int *budget, sdx_poly scratch[SCRATCH]) {
    const sdx_expr_entry *entry = sdx_pool_entry(pool, atom);
    int64_t best = SDX_NO_LOWER, worst = INT64_MAX;
    sdx_poly *operand = &scratch[0], *replaced = &scratch[1];
    for (size_t i = 0; i < sdx_entry_operands(entry); i++) {
        if (!sdx_poly_load(pool, sdx_entry_operand(pool, entry, i), operand)) return best;
        const sdx_poly *growing = entry->kind == SDX_EXPR_KIND_MAX ? operand : NULL;
        const sdx_poly *falling = entry->kind == SDX_EXPR_KIND_MIN ? operand : NULL;
        bool any = replace_atom(pool, poly, atom, 1, growing, falling, replaced, &scratch[3]);
        if (!any && !replace_atom(pool, poly, atom, 1, operand, operand, replaced, &scratch[3]))
            return best;
        if (i > 0 && --*budget < 0) return best;
        int64_t bound = search_lower(pool, replaced, depth - 1, budget);
        if (any) best = larger(best, bound);
        worst = smaller(worst, bound);
    }
    return larger(best, worst);
}

static int64_t search_lower(const sdx_expr_pool *pool, const sdx_poly *poly, int depth,
                            int *budget) {
    int64_t best = interval(pool, poly).lower;
    if (depth == 0 || poly->count > SEARCH_TERMS) return best;
    uint32_t atom = UINT32_MAX;
    sdx_poly *scratch = sdx_polys_take(pool, SCRATCH);
    if (!scratch) return best;
    while ((atom = next_compound(pool, poly, atom)) != 0) {
        if (--*budget < 0) break;
        bool division = sdx_pool_entry(pool, atom)->kind == SDX_EXPR_KIND_FLOORDIV;
        int64_t bound = division ? lower_by_floordiv(pool, poly, atom, depth, budget, scratch)
                                 : lower_by_list(pool, poly, atom, depth, budget, scratch);
        best = larger(best, bound);
    }
    sdx_polys_give(pool, SCRATCH);
    return best;
}

int64_t sdx_poly_lower(const sdx_expr_pool *pool, const sdx_poly *poly) {
    int budget = SEARCH_BUDGET;
    return search_lower(pool, poly, SEARCH_DEPTH, &budget);
}

int64_t sdx_poly_upper(const sdx_expr_pool *pool, const sdx_poly *poly) {
    sdx_poly *negative = sdx_polys_take(pool, 1);
    if (!negative) return SDX_NO_UPPER;
    sdx_poly_copy(negative, poly);
    int64_t lower = SDX_NO_LOWER;
    if (sdx_poly_scale(negative, -1)) lower = sdx_poly_lower(pool, negative);
    sdx_polys_give(pool, 1);
    return lower == SDX_NO_LOWER ? SDX_NO_UPPER : -lower;
}

bool sdx_expr_lower_bound(const sdx_expr_pool *pool, sdx_expr e, int64_t *bound) {
    if (sdx_expr_is_unknown(e)) return false;
    *bound = sdx_expr_is_const(e) ? sdx_expr_value(e) : sdx_expr_range(pool, e).lower;
    return *bound != SDX_NO_LOWER;
}

bool sdx_expr_upper_bound(const sdx_expr_pool *pool, sdx_expr e, int64_t *bound) {
    if (sdx_expr_is_unknown(e)) return false;
    *bound = sdx_expr_is_const(e) ? sdx_expr_value(e) : sdx_expr_range(pool, e).upper;
    return *bound != SDX_NO_UPPER;
}
