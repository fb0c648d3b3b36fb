/* expr_text.c - symbolic integers as text: "batch*h*2 + 3", "(h + 1)//2", "max(h, w)".
 * Reports, error messages and type strings show dims this way. The order is that of the canonical
 * form (falling degree, elder symbols first, the constant last), so the text is deterministic, and
 * expr_parse.c reads it back as the same expression. Nesting is bounded by SDX_EXPR_NESTING and
 * length by SDX_EXPR_WEIGHT, so the recursion is too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph/expr_internal.h"

typedef struct writer {
    const sdx_expr_pool *pool;
    char *buffer;
    size_t size;
    size_t length; /* of the whole text, also beyond the buffer */
} writer;

static void write_bytes(writer *out, const char *bytes, size_t count) {
    if (out->length < out->size) {
        size_t room = out->size - out->length;
        memcpy(out->buffer + out->length, bytes, count < room ? count : room);
    }
    out->length += count;
}

static void write_text(writer *out, const char *text) { write_bytes(out, text, strlen(text)); }

static void write_number(writer *out, int64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    write_text(out, digits);
}

/* A name that the parser would not take for a name stands in quotes; a quote in it is doubled. */
static void write_name(writer *out, const sdx_expr_name *name) {
    bool plain = name->size > 0 && sdx_name_begins((uint8_t)name->text[0]);
    for (size_t i = 1; plain && i < name->size; i++)
        plain = sdx_name_goes_on((uint8_t)name->text[i]);
    if (plain) {
        write_bytes(out, name->text, name->size);
        return;
    }
    write_text(out, "'");
    for (size_t i = 0; i < name->size; i++)
        write_bytes(out, name->text[i] == '\'' ? "''" : name->text + i,
                    name->text[i] == '\'' ? 2 : 1);
    write_text(out, "'");
}

static void write_expr(writer *out, sdx_expr e);

/* What the place of an operand asks for. */
typedef enum place { NUMERATOR, DENOMINATOR } place;

static bool needs_parentheses(const sdx_expr_pool *pool, sdx_expr e, place where) {
    if (sdx_expr_is_const(e)) return sdx_expr_value(e) < 0;
    const sdx_expr_entry *entry = sdx_pool_entry(pool, sdx_expr_index(e));
    if (entry->kind == SDX_EXPR_KIND_FLOORDIV) return true;
    if (entry->kind != SDX_EXPR_KIND_SUM) return false;
    if (where == DENOMINATOR) return true;
    sdx_poly poly; /* a product such as h*w//2 goes from left to right and needs none */
    return !sdx_poly_load(pool, e, &poly) || poly.count != 1 || poly.terms[0].coefficient < 0;
}

static void write_operand(writer *out, sdx_expr e, place where) {
    bool parentheses = needs_parentheses(out->pool, e, where);
    if (parentheses) write_text(out, "(");
    write_expr(out, e);
    if (parentheses) write_text(out, ")");
}

static void write_atom(writer *out, uint32_t index, bool tight) {
    const sdx_expr_entry *entry = sdx_pool_entry(out->pool, index);
    if (entry->kind == SDX_EXPR_KIND_SYMBOL) {
        write_name(out, &out->pool->symbols[entry->first]);
        return;
    }
    if (entry->kind == SDX_EXPR_KIND_FLOORDIV) {
        if (tight) write_text(out, "(");
        write_operand(out, sdx_entry_operand(out->pool, entry, 0), NUMERATOR);
        write_text(out, "//");
        write_operand(out, sdx_entry_operand(out->pool, entry, 1), DENOMINATOR);
        if (tight) write_text(out, ")");
        return;
    }
    write_text(out, entry->kind == SDX_EXPR_KIND_MIN   ? "min("
                    : entry->kind == SDX_EXPR_KIND_MAX ? "max("
                                                  : "broadcast(");
    for (size_t i = 0; i < sdx_entry_operands(entry); i++) {
        if (i > 0) write_text(out, ", ");
        write_expr(out, sdx_entry_operand(out->pool, entry, i));
    }
    write_text(out, ")");
}

/* One monomial without its sign; `tight` when a minus stands right before it. */
static void write_term(writer *out, const uint32_t *atoms, uint32_t degree, int64_t magnitude,
                       bool tight) {
    tight = tight || degree > 1 || magnitude != 1;
    for (uint32_t i = 0, power; i < degree; i += power) {
        for (power = 1; i + power < degree && atoms[i + power] == atoms[i];) power++;
        if (i > 0) write_text(out, "*");
        write_atom(out, atoms[i], tight);
        if (power > 1) {
            write_text(out, "**");
            write_number(out, power);
        }
    }
    if (degree == 0 || magnitude != 1) {
        if (degree > 0) write_text(out, "*");
        write_number(out, magnitude);
    }
}

/* Reads the sum where it lies: a copy in every frame of the recursion would be large. */
static void write_sum(writer *out, const sdx_expr_entry *entry) {
    const uint32_t *begin = out->pool->words + entry->first, *end = begin + entry->count;
    for (const uint32_t *word = begin; word < end; word += 3 + word[2]) {
        int64_t coefficient;
        memcpy(&coefficient, word, sizeof coefficient);
        bool first = word == begin, negative = coefficient < 0;
        if (!first)
            write_text(out, negative ? " - " : " + ");
        else if (negative)
            write_text(out, "-");
        write_term(out, word + 3, word[2], negative ? -coefficient : coefficient,
                   first && negative);
    }
}

static void write_expr(writer *out, sdx_expr e) {
    if (sdx_expr_is_const(e)) {
        write_number(out, sdx_expr_value(e));
    } else if (!sdx_expr_usable(out->pool, e)) {
        write_text(out, "?");
    } else {
        const sdx_expr_entry *entry = sdx_pool_entry(out->pool, sdx_expr_index(e));
        if (entry->kind == SDX_EXPR_KIND_SUM)
            write_sum(out, entry);
        else
            write_atom(out, sdx_expr_index(e), false);
    }
}

size_t sdx_expr_text(const sdx_expr_pool *pool, sdx_expr e, char *buffer, size_t size) {
    writer out = {.pool = pool, .buffer = buffer, .size = size};
    write_expr(&out, e);
    if (size > 0) buffer[out.length < size ? out.length : size - 1] = '\0';
    return out.length;
}
