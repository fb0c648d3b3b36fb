/* expr_poly.c - polynomials over atoms, as scratch values on the stack. All arithmetic of
 * symbolic dims goes through them: load the operands from the pool, compute, intern the result.
 * The sorted form is unique, so two ways to the same polynomial end in the same pool entry.
 * Every coefficient keeps |c| < 2^62; what would pass that, or a size limit, is refused. */
#include <string.h>

#include "base/checked.h"
#include "graph/expr_internal.h"

#define WORDS_PER_TERM (3 + SDX_EXPR_DEGREE)
#define DIVISION_STEPS 256 /* more than any polynomial of this size needs in practice */

static bool coefficient_fits(int64_t c) { return c > -SDX_EXPR_MAX && c < SDX_EXPR_MAX; }

/* ---- terms ---------------------------------------------------------------------------------- */

int sdx_term_compare(const sdx_term *a, const sdx_term *b) {
    if (a->degree != b->degree) return a->degree > b->degree ? -1 : 1;
    for (uint32_t i = 0; i < a->degree; i++)
        if (a->atoms[i] != b->atoms[i]) return a->atoms[i] < b->atoms[i] ? -1 : 1;
    return 0;
}

static bool multiply_terms(const sdx_term *a, const sdx_term *b, sdx_term *out) {
    if (a->degree + b->degree > SDX_EXPR_DEGREE) return false;
    if (!sdx_i64_mul(a->coefficient, b->coefficient, &out->coefficient)) return false;
    if (!coefficient_fits(out->coefficient)) return false;
    uint32_t i = 0, j = 0;
    out->degree = a->degree + b->degree;
    for (uint32_t k = 0; k < out->degree; k++) {
        bool from_a = j == b->degree || (i < a->degree && a->atoms[i] <= b->atoms[j]);
        out->atoms[k] = from_a ? a->atoms[i++] : b->atoms[j++];
    }
    return true;
}

bool sdx_term_remove(const sdx_term *term, const sdx_term *divisor, sdx_term *out) {
    uint32_t j = 0;
    out->coefficient = term->coefficient;
    out->degree = 0;
    for (uint32_t i = 0; i < term->degree; i++) {
        if (j < divisor->degree && divisor->atoms[j] == term->atoms[i])
            j++;
        else
            out->atoms[out->degree++] = term->atoms[i];
    }
    return j == divisor->degree;
}

/* ---- scratch -------------------------------------------------------------------------------- */

sdx_poly *sdx_polys_take(const sdx_expr_pool *pool, size_t count) {
    sdx_expr_pool *owner = (sdx_expr_pool *)pool; /* no pool is made const */
    if (!owner->polys)
        owner->polys = sdx_alloc(owner->allocator, SDX_POLYS * sizeof(sdx_poly), _Alignof(sdx_poly));
    if (!owner->polys) owner->out_of_memory = true;
    if (!owner->polys || count > SDX_POLYS - owner->polys_used) return NULL;
    owner->polys_used += count;
    return owner->polys + owner->polys_used - count;
}

void sdx_polys_give(const sdx_expr_pool *pool, size_t count) {
    ((sdx_expr_pool *)pool)->polys_used -= count;
}

/* ---- construction --------------------------------------------------------------------------- */

void sdx_poly_copy(sdx_poly *out, const sdx_poly *from) {
    out->count = from->count;
    memcpy(out->terms, from->terms, from->count * sizeof from->terms[0]);
}

void sdx_poly_set(sdx_poly *out, int64_t value) {
    out->count = value == 0 ? 0 : 1;
    out->terms[0].coefficient = value;
    out->terms[0].degree = 0;
}

void sdx_poly_set_atom(sdx_poly *out, uint32_t atom) {
    out->count = 1;
    out->terms[0].coefficient = 1;
    out->terms[0].degree = 1;
    out->terms[0].atoms[0] = atom;
}

bool sdx_poly_is_const(const sdx_poly *poly) {
    return poly->count == 0 || (poly->count == 1 && poly->terms[0].degree == 0);
}

int64_t sdx_poly_constant(const sdx_poly *poly) {
    if (poly->count == 0 || poly->terms[poly->count - 1].degree != 0) return 0;
    return poly->terms[poly->count - 1].coefficient;
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

static bool append_term(sdx_poly *out, const sdx_term *term, int64_t coefficient) {
    if (coefficient == 0) return true;
    if (out->count == SDX_EXPR_TERMS || !coefficient_fits(coefficient)) return false;
    out->terms[out->count] = *term;
    out->terms[out->count++].coefficient = coefficient;
    return true;
}

bool sdx_poly_add(sdx_poly *out, const sdx_poly *a, const sdx_poly *b, int64_t scale) {
    uint32_t i = 0, j = 0;
    out->count = 0;
    while (i < a->count || j < b->count) {
        int order = i == a->count   ? 1
                    : j == b->count ? -1
                                    : sdx_term_compare(&a->terms[i], &b->terms[j]);
        const sdx_term *term = order <= 0 ? &a->terms[i] : &b->terms[j];
        int64_t sum = order <= 0 ? a->terms[i++].coefficient : 0;
        if (order >= 0) {
            int64_t scaled;
            if (!sdx_i64_mul(b->terms[j++].coefficient, scale, &scaled)) return false;
            if (!sdx_i64_add(sum, scaled, &sum)) return false;
        }
        if (!append_term(out, term, sum)) return false;
    }
    return true;
}

bool sdx_poly_add_const(sdx_poly *poly, int64_t value) {
    bool present = poly->count > 0 && poly->terms[poly->count - 1].degree == 0;
    int64_t sum;
    if (!sdx_i64_add(sdx_poly_constant(poly), value, &sum)) return false;
    if (present) poly->count--;
    sdx_term unit = {.coefficient = 1};
    return append_term(poly, &unit, sum);
}

bool sdx_poly_scale(sdx_poly *poly, int64_t factor) {
    if (factor == 0) poly->count = 0;
    for (uint32_t i = 0; i < poly->count; i++) {
        int64_t *c = &poly->terms[i].coefficient;
        if (!sdx_i64_mul(*c, factor, c) || !coefficient_fits(*c)) return false;
    }
    return true;
}

bool sdx_poly_mul_term(sdx_poly *out, const sdx_poly *poly, const sdx_term *term) {
    out->count = poly->count;
    for (uint32_t i = 0; i < poly->count; i++)
        if (!multiply_terms(&poly->terms[i], term, &out->terms[i])) return false;
    return true;
}

static bool multiply(sdx_poly *out, const sdx_poly *a, const sdx_poly *b, sdx_poly scratch[2]) {
    sdx_poly *row = &scratch[0], *sum = &scratch[1];
    out->count = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        if (!sdx_poly_mul_term(row, a, &b->terms[i])) return false;
        if (!sdx_poly_add(sum, out, row, 1)) return false;
        sdx_poly_copy(out, sum);
    }
    return true;
}

bool sdx_poly_mul(const sdx_expr_pool *pool, sdx_poly *out, const sdx_poly *a, const sdx_poly *b) {
    sdx_poly *scratch = sdx_polys_take(pool, 2);
    if (!scratch) return false;
    bool done = multiply(out, a, b, scratch);
    sdx_polys_give(pool, 2);
    return done;
}

/* Takes multiples of b out of a, term by term from the top. A coefficient that b's leading one
 * does not divide keeps the rest of a truncating division, so rests are unique. */
static bool divide(const sdx_poly *a, const sdx_poly *b, bool exact, sdx_poly *quotient,
                   sdx_poly *rest, sdx_poly scratch[2]) {
    const sdx_term *lead = &b->terms[0];
    sdx_poly *product = &scratch[0], *difference = &scratch[1];
    sdx_poly_copy(rest, a);
    quotient->count = 0;
    uint32_t at = 0;
    for (int steps = 0; at < rest->count; steps++) {
        sdx_term part;
        bool divides = sdx_term_remove(&rest->terms[at], lead, &part);
        int64_t factor = divides ? part.coefficient / lead->coefficient : 0;
        if (exact && (!divides || part.coefficient % lead->coefficient != 0)) return false;
        if (steps == DIVISION_STEPS) return false;
        if (factor == 0) {
            at++;
            continue;
        }
        part.coefficient = 1;
        if (!append_term(quotient, &part, factor)) return false;
        part.coefficient = factor;
        if (!sdx_poly_mul_term(product, b, &part)) return false;
        if (!sdx_poly_add(difference, rest, product, -1)) return false;
        sdx_poly_copy(rest, difference);
        /* The term at `at` is gone now, or is what truncation left and divides no further. */
    }
    return true;
}

bool sdx_poly_divide(const sdx_expr_pool *pool, const sdx_poly *a, const sdx_poly *b, bool exact,
                     sdx_poly *quotient, sdx_poly *rest) {
    sdx_poly *scratch = sdx_polys_take(pool, 2);
    if (!scratch) return false;
    bool done = divide(a, b, exact, quotient, rest, scratch);
    sdx_polys_give(pool, 2);
    return done;
}

/* ---- to and from the pool ------------------------------------------------------------------- */

bool sdx_poly_load(const sdx_expr_pool *pool, sdx_expr e, sdx_poly *out) {
    if (sdx_expr_is_const(e)) {
        sdx_poly_set(out, sdx_expr_value(e));
        return true;
    }
    if (!sdx_expr_usable(pool, e)) return false;
    const sdx_expr_entry *entry = sdx_pool_entry(pool, sdx_expr_index(e));
    if (entry->kind != SDX_EXPR_KIND_SUM) {
        sdx_poly_set_atom(out, sdx_expr_index(e));
        return true;
    }
    const uint32_t *word = pool->words + entry->first, *end = word + entry->count;
    for (out->count = 0; word < end; out->count++) {
        sdx_term *term = &out->terms[out->count];
        memcpy(&term->coefficient, word, sizeof term->coefficient);
        term->degree = word[2];
        memcpy(term->atoms, word + 3, term->degree * sizeof *word);
        word += 3 + term->degree;
    }
    return true;
}

/* Nesting and weight follow from the atoms; false when over the limit. */
static bool measure(const sdx_expr_pool *pool, const sdx_poly *poly, sdx_expr_entry *entry) {
    uint32_t weight = 0;
    for (uint32_t i = 0; i < poly->count; i++) {
        const sdx_term *term = &poly->terms[i];
        weight++;
        for (uint32_t k = 0; k < term->degree; k++) {
            const sdx_expr_entry *atom = sdx_pool_entry(pool, term->atoms[k]);
            weight += atom->weight;
            if (atom->nesting > entry->nesting) entry->nesting = atom->nesting;
        }
    }
    entry->weight = (uint16_t)weight;
    return weight <= SDX_EXPR_WEIGHT;
}

sdx_expr sdx_poly_intern(sdx_expr_pool *pool, const sdx_poly *poly) {
    if (sdx_poly_is_const(poly)) return sdx_expr_const(sdx_poly_constant(poly));
    const sdx_term *first = &poly->terms[0];
    if (poly->count == 1 && first->degree == 1 && first->coefficient == 1)
        return sdx_expr_of(first->atoms[0]);

    uint32_t words[SDX_EXPR_TERMS * WORDS_PER_TERM];
    sdx_expr_entry entry = {.kind = SDX_EXPR_KIND_SUM};
    for (uint32_t i = 0; i < poly->count; i++) {
        const sdx_term *term = &poly->terms[i];
        if (!coefficient_fits(term->coefficient)) return SDX_EXPR_UNKNOWN;
        memcpy(words + entry.count, &term->coefficient, sizeof term->coefficient);
        words[entry.count + 2] = term->degree;
        memcpy(words + entry.count + 3, term->atoms, term->degree * sizeof *words);
        entry.count += 3 + term->degree;
    }
    uint32_t found = sdx_pool_find(pool, SDX_EXPR_KIND_SUM, words, entry.count, &entry.hash);
    if (found != 0) return sdx_expr_of(found);
    if (!measure(pool, poly, &entry)) return SDX_EXPR_UNKNOWN;
    entry.range = (sdx_range){sdx_poly_lower(pool, poly), sdx_poly_upper(pool, poly)};
    return sdx_pool_insert(pool, &entry, words);
}
