/* expr.h - symbolic integers: dimensions such as batch*2 or (h + 2*p - k)//s + 1.
 *
 * An sdx_expr is one machine word. A constant carries its value itself and needs no pool, so the
 * same shape rules run on symbols while a model loads and on plain numbers while it runs. All
 * else is an index into a pool, where equal expressions are the same index (canonical form:
 * a sum of monomials over atoms; an atom is a symbol, a floor division, min, max or broadcast).
 */
#ifndef SDX_GRAPH_EXPR_H
#define SDX_GRAPH_EXPR_H

#include "base/memory.h"

typedef struct sdx_expr {
    int64_t word; /* odd: constant (word >> 1); 0: unknown; other even: pool index * 2 */
} sdx_expr;

#define SDX_EXPR_UNKNOWN ((sdx_expr){0})
#define SDX_EXPR_MAX ((int64_t)1 << 62) /* constants c satisfy -MAX <= c < MAX */

static inline sdx_expr sdx_expr_const(int64_t value) {
    return (sdx_expr){(int64_t)((uint64_t)value << 1 | 1u)};
}
static inline bool sdx_expr_is_const(sdx_expr e) { return (e.word & 1) != 0; }
static inline bool sdx_expr_is_unknown(sdx_expr e) { return e.word == 0; }
static inline int64_t sdx_expr_value(sdx_expr e) { return e.word >> 1; } /* constants only */
static inline bool sdx_expr_is(sdx_expr e, int64_t value) {
    return sdx_expr_is_const(e) && sdx_expr_value(e) == value;
}
/* Structurally equal: always the same number for every binding. Unknown equals nothing. */
static inline bool sdx_expr_same(sdx_expr a, sdx_expr b) { return a.word != 0 && a.word == b.word; }

typedef struct sdx_expr_pool sdx_expr_pool;

sdx_status sdx_expr_pool_create(const sdx_allocator *allocator, sdx_expr_pool **out,
                                sdx_error *error);
void sdx_expr_pool_release(sdx_expr_pool *pool);

/* The symbol of that name, made at first use. Symbols stand for integers >= 0. */
sdx_expr sdx_expr_symbol(sdx_expr_pool *pool, const char *name, size_t size);
/* A symbol whose name (prefix, a number) no other has: for a dim nobody named. */
sdx_expr sdx_expr_fresh(sdx_expr_pool *pool, const char *prefix);
size_t sdx_expr_symbol_count(const sdx_expr_pool *pool);
const char *sdx_expr_symbol_name(const sdx_expr_pool *pool, size_t index);
/* Index of a plain symbol, or SIZE_MAX when e is something else. */
size_t sdx_expr_symbol_index(const sdx_expr_pool *pool, sdx_expr e);
/* Whether the symbol of that index stands in e. */
bool sdx_expr_uses(const sdx_expr_pool *pool, sdx_expr e, size_t symbol);
size_t sdx_expr_find_symbol(const sdx_expr_pool *pool, const char *name, size_t size);

/* Arithmetic. pool may be NULL while all operands are constants. Unknown in, unknown out; also
 * unknown on overflow, division by zero, an expression past the size limit, or no memory. */
sdx_expr sdx_expr_add(sdx_expr_pool *pool, sdx_expr a, sdx_expr b);
sdx_expr sdx_expr_sub(sdx_expr_pool *pool, sdx_expr a, sdx_expr b);
sdx_expr sdx_expr_mul(sdx_expr_pool *pool, sdx_expr a, sdx_expr b);
sdx_expr sdx_expr_floordiv(sdx_expr_pool *pool, sdx_expr a, sdx_expr b); /* toward -inf */
sdx_expr sdx_expr_ceildiv(sdx_expr_pool *pool, sdx_expr a, sdx_expr b);
sdx_expr sdx_expr_mod(sdx_expr_pool *pool, sdx_expr a, sdx_expr b); /* sign of b, as Python */
sdx_expr sdx_expr_min(sdx_expr_pool *pool, sdx_expr a, sdx_expr b);
sdx_expr sdx_expr_max(sdx_expr_pool *pool, sdx_expr a, sdx_expr b);
/* Dim of a broadcast: a where a = b, the other where one is 1; evaluating anything else fails. */
sdx_expr sdx_expr_broadcast(sdx_expr_pool *pool, sdx_expr a, sdx_expr b);
/* a / b where the division is known to leave no rest (polynomial division), else unknown. */
sdx_expr sdx_expr_divide_exact(sdx_expr_pool *pool, sdx_expr a, sdx_expr b);

/* Bounds that hold for every binding with symbols >= 0; false when none is known. */
bool sdx_expr_lower_bound(const sdx_expr_pool *pool, sdx_expr e, int64_t *bound);
bool sdx_expr_upper_bound(const sdx_expr_pool *pool, sdx_expr e, int64_t *bound);

/* Evaluates the whole pool at once: one linear pass, no search. symbols[i] is the value of symbol
 * i, or -1 if unbound. results has sdx_expr_pool_size() entries. An entry that cannot be computed
 * (unbound symbol, overflow, division by zero, contradiction) becomes SDX_EVAL_FAILED. */
#define SDX_EVAL_FAILED INT64_MIN
size_t sdx_expr_pool_size(const sdx_expr_pool *pool);
size_t sdx_expr_pool_bytes(const sdx_expr_pool *pool); /* of memory that it holds */
bool sdx_expr_out_of_memory(const sdx_expr_pool *pool); /* something became unknown for want of it */
void sdx_expr_evaluate(const sdx_expr_pool *pool, const int64_t *symbols, int64_t *results);
static inline int64_t sdx_expr_result(sdx_expr e, const int64_t *results) {
    if (sdx_expr_is_const(e)) return sdx_expr_value(e);
    return sdx_expr_is_unknown(e) ? SDX_EVAL_FAILED : results[e.word >> 1];
}

/* Makes every expression of `from` again in `to`, an empty pool, with numbers in place of the symbols
 * that have one (symbols[i] >= 0; NULL: none). map, of sdx_expr_pool_size(from) entries, gets for
 * each index its expression in `to`; unknown where the numbers contradict (a broadcast of 2 and 3).
 * Symbols keep their index. */
sdx_status sdx_expr_rebuild(const sdx_expr_pool *from, const int64_t *symbols, sdx_expr_pool *to,
                            sdx_expr *map, sdx_error *error);

/* Text such as "batch*2", "(h + 1)//2", "?" into buffer (always terminated); returns the length
 * that the whole text needs. */
size_t sdx_expr_text(const sdx_expr_pool *pool, sdx_expr e, char *buffer, size_t size);
/* Parses the same syntax (+ - * // % min() max() ceil() parentheses, names, integers). A
 * dim_param such as "batch*2" or "floor(h/2)" becomes its meaning; text that does not parse is
 * refused (the caller may then take it as one opaque symbol). */
sdx_status sdx_expr_parse(sdx_expr_pool *pool, const char *text, size_t size, sdx_expr *out,
                          sdx_error *error);

#endif
