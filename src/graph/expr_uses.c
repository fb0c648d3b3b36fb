/* expr_uses.c - whether an expression depends on a symbol. */
#include "graph/expr_internal.h"

static bool entry_uses(const sdx_expr_pool *pool, uint32_t index, size_t symbol);

/* A sum's monomials: coefficient (2 words), degree, atoms. */
static bool sum_uses(const sdx_expr_pool *pool, const sdx_expr_entry *entry, size_t symbol) {
    const uint32_t *word = pool->words + entry->first, *end = word + entry->count;
    while (word < end) {
        uint32_t degree = word[2];
        word += 3;
        for (uint32_t i = 0; i < degree; i++)
            if (entry_uses(pool, word[i], symbol)) return true;
        word += degree;
    }
    return false;
}

/* As deep as atoms nest, which has a limit. */
static bool entry_uses(const sdx_expr_pool *pool, uint32_t index, size_t symbol) {
    const sdx_expr_entry *entry = sdx_pool_entry(pool, index);
    if (entry->kind == SDX_EXPR_KIND_SYMBOL) return entry->first == symbol;
    if (entry->kind == SDX_EXPR_KIND_SUM) return sum_uses(pool, entry, symbol);
    for (size_t i = 0; i < sdx_entry_operands(entry); i++)
        if (sdx_expr_uses(pool, sdx_entry_operand(pool, entry, i), symbol)) return true;
    return false;
}

bool sdx_expr_uses(const sdx_expr_pool *pool, sdx_expr e, size_t symbol) {
    if (sdx_expr_is_const(e) || !sdx_expr_usable(pool, e)) return false;
    return entry_uses(pool, sdx_expr_index(e), symbol);
}
