/* expr_list.c - min, max and broadcast of symbolic integers: slice clamps, pooling rules and the
 * shape of elementwise operators. All three are commutative, associative and idempotent, so an
 * atom holds one flat list, sorted by age with the constant last. min and max drop operands that
 * the bounds show to be beaten: max(h, 0) = h, min(h + 1, h) = h, min(h//2, h) = h//2.
 *
 * broadcast(c, a) with a constant c other than 1 is c, whatever a is. That a must be 1 or c is lost
 * by that; the caller of sdx_expr_broadcast records such a constraint on its own.
 */
#include "graph/expr_internal.h"

typedef struct operand_list {
    size_t count;
    sdx_expr items[2 * SDX_EXPR_OPERANDS]; /* those of two atoms */
} operand_list;

/* An atom of the same kind gives its operands, anything else itself. */
static void collect(const sdx_expr_pool *pool, sdx_expr_kind kind, sdx_expr e, operand_list *list) {
    if (!sdx_expr_is_const(e)) {
        const sdx_expr_entry *entry = sdx_pool_entry(pool, sdx_expr_index(e));
        if (entry->kind == kind) {
            for (size_t i = 0; i < sdx_entry_operands(entry); i++)
                list->items[list->count++] = sdx_entry_operand(pool, entry, i);
            return;
        }
    }
    list->items[list->count++] = e;
}

static bool comes_before(sdx_expr a, sdx_expr b) {
    if (sdx_expr_is_const(a) != sdx_expr_is_const(b)) return sdx_expr_is_const(b);
    return a.word < b.word;
}

/* Lists are short and nearly sorted: insertion is best. */
static void sort(operand_list *list) {
    for (size_t i = 1; i < list->count; i++) {
        sdx_expr item = list->items[i];
        size_t place = i;
        for (; place > 0 && comes_before(item, list->items[place - 1]); place--)
            list->items[place] = list->items[place - 1];
        list->items[place] = item;
    }
}

static sdx_expr make(sdx_expr_pool *pool, sdx_expr_kind kind, operand_list *list) {
    if (list->count == 1) return list->items[0];
    if (list->count > SDX_EXPR_OPERANDS) return SDX_EXPR_UNKNOWN;
    sort(list);
    return sdx_pool_make_atom(pool, kind, list->items, list->count);
}

/* Whether a >= b (max) or a <= b (min) for every binding. */
static bool beats(const sdx_expr_pool *pool, sdx_expr_kind kind, sdx_expr a, sdx_expr b) {
    sdx_poly *p = sdx_polys_take(pool, 3);
    if (!p) return false;
    sdx_poly *left = &p[0], *right = &p[1], *difference = &p[2];
    bool good = sdx_poly_load(pool, a, left) && sdx_poly_load(pool, b, right) &&
                sdx_poly_add(difference, left, right, -1);
    if (good && kind == SDX_EXPR_KIND_MAX) good = sdx_poly_lower(pool, difference) >= 0;
    else if (good) good = sdx_poly_upper(pool, difference) <= 0;
    sdx_polys_give(pool, 3);
    return good;
}

/* Adds e unless an operand beats it, and takes out those that it beats. */
static void add_extreme(const sdx_expr_pool *pool, sdx_expr_kind kind, operand_list *list,
                        sdx_expr e) {
    size_t kept = 0;
    bool beaten = false;
    for (size_t i = 0; i < list->count; i++) {
        sdx_expr other = list->items[i];
        bool wins = sdx_expr_same(other, e) || beats(pool, kind, other, e);
        bool loses = !sdx_expr_same(other, e) && beats(pool, kind, e, other);
        /* Equal numbers in two forms beat each other; the elder stays, whichever came first. */
        if (wins && loses) wins = comes_before(other, e);
        beaten = beaten || wins;
        if (wins || !loses) list->items[kept++] = other;
    }
    if (!beaten) list->items[kept++] = e;
    list->count = kept;
}

static sdx_expr extreme(sdx_expr_pool *pool, sdx_expr_kind kind, sdx_expr a, sdx_expr b) {
    if (!sdx_expr_usable(pool, a) || !sdx_expr_usable(pool, b)) return SDX_EXPR_UNKNOWN;
    if (sdx_expr_same(a, b)) return a;
    operand_list pair = {.count = 2, .items = {a, b}};
    sort(&pair);
    sdx_expr known = sdx_pool_find_atom(pool, kind, pair.items, 2);
    if (!sdx_expr_is_unknown(known)) return known;
    /* The elder first, so that min(a, b) and min(b, a) are built alike. */
    operand_list list = {0}, more = {0};
    collect(pool, kind, pair.items[0], &list);
    collect(pool, kind, pair.items[1], &more);
    for (size_t i = 0; i < more.count; i++) add_extreme(pool, kind, &list, more.items[i]);
    return make(pool, kind, &list);
}

sdx_expr sdx_expr_min(sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    if (SDX_LIKELY((a.word & b.word & 1) != 0)) return a.word < b.word ? a : b;
    return extreme(pool, SDX_EXPR_KIND_MIN, a, b);
}

sdx_expr sdx_expr_max(sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    if (SDX_LIKELY((a.word & b.word & 1) != 0)) return a.word > b.word ? a : b;
    return extreme(pool, SDX_EXPR_KIND_MAX, a, b);
}

sdx_expr sdx_expr_broadcast(sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    if (sdx_expr_same(a, b)) return a;
    if (sdx_expr_is(a, 1)) return b;
    if (sdx_expr_is(b, 1)) return a;
    if (SDX_LIKELY((a.word & b.word & 1) != 0)) return SDX_EXPR_UNKNOWN; /* 2 and 3 do not fit */
    if (!sdx_expr_usable(pool, a) || !sdx_expr_usable(pool, b)) return SDX_EXPR_UNKNOWN;
    if (sdx_expr_is_const(a)) return a;
    if (sdx_expr_is_const(b)) return b;
    operand_list list = {0}, unique = {0};
    collect(pool, SDX_EXPR_KIND_BROADCAST, a, &list);
    collect(pool, SDX_EXPR_KIND_BROADCAST, b, &list);
    sort(&list);
    for (size_t i = 0; i < list.count; i++)
        if (i == 0 || !sdx_expr_same(list.items[i], list.items[i - 1]))
            unique.items[unique.count++] = list.items[i];
    return make(pool, SDX_EXPR_KIND_BROADCAST, &unique);
}
