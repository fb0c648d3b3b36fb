/* expr_rebuild.c - a pool of expressions made anew in another pool, with numbers put in for some
 * symbols. A program has a pool of its own this way: it adds expressions (offsets, sizes) while the
 * model, which threads share, stays as it is. */
#include <string.h>

#include "graph/expr_internal.h"

static sdx_expr mapped(sdx_expr e, const sdx_expr *map) {
    return sdx_expr_is_const(e) ? e : map[sdx_expr_index(e)];
}

static sdx_expr rebuild_sum(sdx_expr_pool *to, const sdx_expr_pool *from,
                            const sdx_expr_entry *entry, const sdx_expr *map) {
    const uint32_t *word = from->words + entry->first, *end = word + entry->count;
    sdx_expr sum = sdx_expr_const(0);
    while (word < end) {
        int64_t coefficient;
        memcpy(&coefficient, word, sizeof coefficient);
        uint32_t degree = word[2];
        word += 3;
        sdx_expr product = sdx_expr_const(coefficient);
        for (uint32_t i = 0; i < degree; i++) product = sdx_expr_mul(to, product, map[word[i]]);
        word += degree;
        sum = sdx_expr_add(to, sum, product);
    }
    return sum;
}

static sdx_expr rebuild_atom(sdx_expr_pool *to, const sdx_expr_pool *from,
                             const sdx_expr_entry *entry, const sdx_expr *map) {
    sdx_expr made = mapped(sdx_entry_operand(from, entry, 0), map);
    for (size_t i = 1; i < sdx_entry_operands(entry); i++) {
        sdx_expr operand = mapped(sdx_entry_operand(from, entry, i), map);
        switch ((sdx_expr_kind)entry->kind) {
        case SDX_EXPR_KIND_FLOORDIV: made = sdx_expr_floordiv(to, made, operand); break;
        case SDX_EXPR_KIND_MIN: made = sdx_expr_min(to, made, operand); break;
        case SDX_EXPR_KIND_MAX: made = sdx_expr_max(to, made, operand); break;
        default: made = sdx_expr_broadcast(to, made, operand); break;
        }
    }
    return made;
}

sdx_status sdx_expr_rebuild(const sdx_expr_pool *from, const int64_t *symbols, sdx_expr_pool *to,
                            sdx_expr *map, sdx_error *error) {
    map[0] = SDX_EXPR_UNKNOWN;
    /* All symbols first: a symbol's index is then the same in both pools. */
    for (size_t i = 0; i < from->symbol_count; i++)
        sdx_expr_symbol(to, from->symbols[i].text, from->symbols[i].size);
    for (size_t i = 1; i < from->entry_count; i++) {
        const sdx_expr_entry *entry = &from->entries[i];
        if (entry->kind == SDX_EXPR_KIND_SYMBOL) {
            const sdx_expr_name *name = &from->symbols[entry->first];
            map[i] = symbols && symbols[entry->first] >= 0
                         ? sdx_expr_const(symbols[entry->first])
                         : sdx_expr_symbol(to, name->text, name->size);
        } else if (entry->kind == SDX_EXPR_KIND_SUM) {
            map[i] = rebuild_sum(to, from, entry, map);
        } else {
            map[i] = rebuild_atom(to, from, entry, map);
        }
    }
    return to->out_of_memory ? sdx_fail_memory(error, 0, "a pool of expressions") : SDX_STATUS_OK;
}
