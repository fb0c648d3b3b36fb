/* expr.c - the pool of symbolic integers: symbols, hash-consing, plain arithmetic, evaluation.
 * Shape rules build dims here while a model loads; binding a shape evaluates the whole pool once.
 * Arithmetic on two constants is done at the top of each function and touches no pool. All else
 * becomes a scratch polynomial (expr_poly.c) and is interned: equal expressions get one index.
 * An operand is always older than its user, so evaluation is one pass in order of creation.
 */
#include "graph/expr.h"

#include <string.h>

#include "base/checked.h"
#include "graph/expr_internal.h"

/* Symbols stand for integers >= 0, and a division is taken to succeed: h//h is 1 although it could
 * not be evaluated for h = 0. Simplifying may thus remove a failure, but never changes a value. */

/* ---- pool ----------------------------------------------------------------------------------- */

sdx_status sdx_expr_pool_create(const sdx_allocator *allocator, sdx_expr_pool **out,
                                sdx_error *error) {
    *out = NULL;
    if (allocator == NULL) allocator = &sdx_default_allocator;
    sdx_expr_pool *pool = sdx_alloc(allocator, sizeof *pool, _Alignof(sdx_expr_pool));
    if (pool == NULL) return sdx_fail_memory(error, sizeof *pool, "a pool of expressions");
    *pool = (sdx_expr_pool){.allocator = allocator, .entry_count = 1};
    sdx_arena_init(&pool->arena, allocator, 0);
    sdx_map_init(&pool->symbol_map, allocator);
    sdx_map_init(&pool->prefix_map, allocator);
    *out = pool;
    return SDX_STATUS_OK;
}

bool sdx_expr_out_of_memory(const sdx_expr_pool *pool) { return pool->out_of_memory; }

size_t sdx_expr_pool_bytes(const sdx_expr_pool *pool) {
    return sizeof *pool + pool->entry_capacity * sizeof *pool->entries +
           pool->word_capacity * sizeof *pool->words +
           pool->symbol_capacity * sizeof *pool->symbols +
           pool->slot_capacity * sizeof *pool->slots + pool->arena.total;
}

void sdx_expr_pool_release(sdx_expr_pool *pool) {
    if (pool == NULL) return;
    const sdx_allocator *allocator = pool->allocator;
    sdx_free(allocator, pool->entries, pool->entry_capacity * sizeof *pool->entries);
    sdx_free(allocator, pool->words, pool->word_capacity * sizeof *pool->words);
    sdx_free(allocator, pool->symbols, pool->symbol_capacity * sizeof *pool->symbols);
    sdx_free(allocator, pool->slots, pool->slot_capacity * sizeof *pool->slots);
    sdx_vector_free(&pool->next_fresh, allocator, sizeof(uint32_t));
    sdx_map_free(&pool->symbol_map);
    sdx_map_free(&pool->prefix_map);
    if (pool->polys) sdx_free(allocator, pool->polys, SDX_POLYS * sizeof *pool->polys);
    sdx_arena_free(&pool->arena);
    sdx_free(allocator, pool, sizeof *pool);
}

size_t sdx_expr_pool_size(const sdx_expr_pool *pool) { return pool->entry_count; }

/* Room for `needed` elements; the array doubles, so that growth stays linear over all. */
static bool reserve(sdx_expr_pool *pool, void *array, size_t *capacity, size_t needed,
                    size_t element) {
    if (needed <= *capacity) return true;
    size_t larger = *capacity < 32 ? 64 : *capacity * 2, bytes;
    if (larger < needed) larger = needed;
    void *old, *grown = NULL;
    memcpy(&old, array, sizeof old);
    if (sdx_size_mul(larger, element, &bytes))
        grown = sdx_alloc(pool->allocator, bytes, _Alignof(max_align_t));
    if (grown == NULL) {
        pool->out_of_memory = true;
        return false;
    }
    if (*capacity > 0) memcpy(grown, old, *capacity * element);
    sdx_free(pool->allocator, old, *capacity * element);
    memcpy(array, &grown, sizeof grown);
    *capacity = larger;
    return true;
}

static bool reserve_entry(sdx_expr_pool *pool) {
    return pool->entry_count < SDX_EXPR_ENTRIES &&
           reserve(pool, &pool->entries, &pool->entry_capacity, pool->entry_count + 1,
                   sizeof *pool->entries);
}

/* ---- hash-consing --------------------------------------------------------------------------- */

uint32_t sdx_pool_find(const sdx_expr_pool *pool, sdx_expr_kind kind, const void *words,
                       size_t count, uint32_t *hash) {
    size_t bytes = count * sizeof *pool->words;
    /* The map's seed is secret: a crafted model cannot make its expressions collide. */
    uint64_t seed = pool->symbol_map.seed + (uint64_t)kind;
    *hash = (uint32_t)sdx_hash_bytes(words, bytes, seed);
    if (pool->slot_capacity == 0) return 0;
    size_t mask = pool->slot_capacity - 1;
    for (size_t i = *hash & mask; pool->slots[i] != 0; i = (i + 1) & mask) {
        const sdx_expr_entry *entry = &pool->entries[pool->slots[i]];
        if (entry->hash == *hash && entry->kind == kind && entry->count == count &&
            memcmp(pool->words + entry->first, words, bytes) == 0)
            return pool->slots[i];
    }
    return 0;
}

/* Keeps the table at most half full, so that probes stay short and always end. */
static bool reserve_slot(sdx_expr_pool *pool) {
    if (pool->slot_count < pool->slot_capacity / 2) return true;
    size_t capacity = pool->slot_capacity == 0 ? 128 : pool->slot_capacity * 2;
    uint32_t *slots = sdx_alloc(pool->allocator, capacity * sizeof *slots, _Alignof(uint32_t));
    if (slots == NULL) {
        pool->out_of_memory = true;
        return false;
    }
    memset(slots, 0, capacity * sizeof *slots);
    for (size_t i = 0; i < pool->slot_capacity; i++) {
        if (pool->slots[i] == 0) continue;
        size_t place = pool->entries[pool->slots[i]].hash & (capacity - 1);
        while (slots[place] != 0) place = (place + 1) & (capacity - 1);
        slots[place] = pool->slots[i];
    }
    sdx_free(pool->allocator, pool->slots, pool->slot_capacity * sizeof *pool->slots);
    pool->slots = slots;
    pool->slot_capacity = capacity;
    return true;
}

sdx_expr sdx_pool_insert(sdx_expr_pool *pool, const sdx_expr_entry *like, const void *words) {
    size_t word_end = pool->word_count + like->count;
    /* All that can fail comes first: a pool is never left half changed. */
    if (word_end > SDX_EXPR_WORDS || !reserve_entry(pool) || !reserve_slot(pool))
        return SDX_EXPR_UNKNOWN;
    if (!reserve(pool, &pool->words, &pool->word_capacity, word_end, sizeof *pool->words))
        return SDX_EXPR_UNKNOWN;

    uint32_t index = (uint32_t)pool->entry_count++;
    sdx_expr_entry *entry = &pool->entries[index];
    *entry = *like;
    entry->first = (uint32_t)pool->word_count;
    memcpy(pool->words + pool->word_count, words, like->count * sizeof *pool->words);
    pool->word_count = word_end;
    size_t mask = pool->slot_capacity - 1, place = like->hash & mask;
    while (pool->slots[place] != 0) place = (place + 1) & mask;
    pool->slots[place] = index;
    pool->slot_count++;
    return sdx_expr_of(index);
}

sdx_expr sdx_entry_operand(const sdx_expr_pool *pool, const sdx_expr_entry *entry, size_t index) {
    sdx_expr e;
    memcpy(&e.word, pool->words + entry->first + 2 * index, sizeof e.word);
    return e;
}

sdx_expr sdx_pool_find_atom(const sdx_expr_pool *pool, sdx_expr_kind kind, const sdx_expr *operands,
                            size_t count) {
    uint32_t hash;
    return sdx_expr_of(sdx_pool_find(pool, kind, operands, 2 * count, &hash));
}

sdx_expr sdx_pool_make_atom(sdx_expr_pool *pool, sdx_expr_kind kind, const sdx_expr *operands,
                            size_t count) {
    sdx_expr_entry entry = {.kind = (uint8_t)kind, .count = (uint32_t)(2 * count)};
    uint32_t found = sdx_pool_find(pool, kind, operands, entry.count, &entry.hash);
    if (found != 0) return sdx_expr_of(found);

    uint32_t weight = 1, nesting = 0;
    for (size_t i = 0; i < count; i++) {
        weight++;
        if (sdx_expr_is_const(operands[i])) continue;
        const sdx_expr_entry *operand = sdx_pool_entry(pool, sdx_expr_index(operands[i]));
        weight += operand->weight;
        if (operand->nesting > nesting) nesting = operand->nesting;
    }
    if (weight > SDX_EXPR_WEIGHT || nesting >= SDX_EXPR_NESTING) return SDX_EXPR_UNKNOWN;
    entry.weight = (uint16_t)weight;
    entry.nesting = (uint8_t)(nesting + 1);
    entry.range = sdx_atom_range(pool, kind, operands, count);
    return sdx_pool_insert(pool, &entry, operands);
}

/* ---- symbols -------------------------------------------------------------------------------- */

size_t sdx_expr_find_symbol(const sdx_expr_pool *pool, const char *name, size_t size) {
    uint32_t index = sdx_map_get(&pool->symbol_map, name, size);
    return index == SDX_MAP_NONE ? SIZE_MAX : index;
}

/* name lies in the arena and is not taken yet. */
static sdx_expr new_symbol(sdx_expr_pool *pool, const char *name, size_t size) {
    uint32_t symbol = (uint32_t)pool->symbol_count, index = (uint32_t)pool->entry_count;
    if (!reserve_entry(pool)) return SDX_EXPR_UNKNOWN;
    if (!reserve(pool, &pool->symbols, &pool->symbol_capacity, pool->symbol_count + 1,
                 sizeof *pool->symbols))
        return SDX_EXPR_UNKNOWN;
    if (!sdx_map_put(&pool->symbol_map, name, size, symbol)) {
        pool->out_of_memory = true;
        return SDX_EXPR_UNKNOWN;
    }
    pool->symbols[pool->symbol_count++] = (sdx_expr_name){name, size, index};
    pool->entries[pool->entry_count++] = (sdx_expr_entry){
        .kind = SDX_EXPR_KIND_SYMBOL, .weight = 1, .first = symbol, .range = {0, SDX_NO_UPPER}};
    return sdx_expr_of(index);
}

sdx_expr sdx_expr_symbol(sdx_expr_pool *pool, const char *name, size_t size) {
    if (pool == NULL || (name == NULL && size > 0)) return SDX_EXPR_UNKNOWN;
    size_t known = sdx_expr_find_symbol(pool, name, size);
    if (known != SIZE_MAX) return sdx_expr_of(pool->symbols[known].entry);
    const char *copy = sdx_arena_string(&pool->arena, name, size);
    if (copy == NULL) {
        pool->out_of_memory = true;
        return SDX_EXPR_UNKNOWN;
    }
    return new_symbol(pool, copy, size);
}

/* Where the search for a free number goes on for this prefix. Without it, many fresh symbols of
 * one prefix would each search from 0. NULL: out of memory. */
static uint32_t *fresh_counter(sdx_expr_pool *pool, const char *prefix, size_t size) {
    uint32_t index = sdx_map_get(&pool->prefix_map, prefix, size);
    if (index == SDX_MAP_NONE) {
        index = (uint32_t)pool->next_fresh.count;
        const char *copy = sdx_arena_string(&pool->arena, prefix, size);
        if (copy == NULL) return NULL;
        if (sdx_vector_push(&pool->next_fresh, pool->allocator, sizeof(uint32_t)) == NULL)
            return NULL;
        if (!sdx_map_put(&pool->prefix_map, copy, size, index)) return NULL;
    }
    return (uint32_t *)pool->next_fresh.data + index;
}

sdx_expr sdx_expr_fresh(sdx_expr_pool *pool, const char *prefix) {
    if (pool == NULL || prefix == NULL) return SDX_EXPR_UNKNOWN;
    uint32_t *next = fresh_counter(pool, prefix, strlen(prefix));
    while (next != NULL && *next < UINT32_MAX) {
        const char *name = sdx_arena_printf(&pool->arena, "%s%u", prefix, (unsigned)(*next)++);
        if (name == NULL) break;
        size_t size = strlen(name);
        if (sdx_expr_find_symbol(pool, name, size) == SIZE_MAX) return new_symbol(pool, name, size);
    }
    pool->out_of_memory = true;
    return SDX_EXPR_UNKNOWN;
}

size_t sdx_expr_symbol_count(const sdx_expr_pool *pool) { return pool->symbol_count; }

const char *sdx_expr_symbol_name(const sdx_expr_pool *pool, size_t index) {
    return index < pool->symbol_count ? pool->symbols[index].text : NULL;
}

size_t sdx_expr_symbol_index(const sdx_expr_pool *pool, sdx_expr e) {
    if (sdx_expr_is_const(e) || !sdx_expr_usable(pool, e)) return SIZE_MAX;
    const sdx_expr_entry *entry = sdx_pool_entry(pool, sdx_expr_index(e));
    return entry->kind == SDX_EXPR_KIND_SYMBOL ? entry->first : SIZE_MAX;
}

/* ---- plain arithmetic ----------------------------------------------------------------------- */

static bool both_const(sdx_expr a, sdx_expr b) { return (a.word & b.word & 1) != 0; }

static bool both_usable(const sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    return sdx_expr_usable(pool, a) && sdx_expr_usable(pool, b);
}

/* a + b * scale */
static sdx_expr add_scaled(sdx_expr_pool *pool, sdx_expr a, sdx_expr b, int64_t scale) {
    if (!both_usable(pool, a, b)) return SDX_EXPR_UNKNOWN;
    sdx_poly *p = sdx_polys_take(pool, 3);
    if (!p) return SDX_EXPR_UNKNOWN;
    sdx_poly *left = &p[0], *right = &p[1], *sum = &p[2];
    bool good = sdx_poly_load(pool, a, left) && sdx_poly_load(pool, b, right) &&
                sdx_poly_add(sum, left, right, scale);
    sdx_expr result = good ? sdx_poly_intern(pool, sum) : SDX_EXPR_UNKNOWN;
    sdx_polys_give(pool, 3);
    return result;
}

sdx_expr sdx_expr_add(sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    if (SDX_LIKELY(both_const(a, b))) {
        int64_t word; /* 2a + (2b + 1): overflows exactly when a + b leaves the range */
        return sdx_i64_add(a.word - 1, b.word, &word) ? (sdx_expr){word} : SDX_EXPR_UNKNOWN;
    }
    if (sdx_expr_is(a, 0)) return b;
    if (sdx_expr_is(b, 0)) return a;
    return add_scaled(pool, a, b, 1);
}

sdx_expr sdx_expr_sub(sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    if (SDX_LIKELY(both_const(a, b))) {
        int64_t word;
        return sdx_i64_sub(a.word, b.word - 1, &word) ? (sdx_expr){word} : SDX_EXPR_UNKNOWN;
    }
    if (sdx_expr_same(a, b)) return sdx_expr_const(0);
    if (sdx_expr_is(b, 0)) return a;
    return add_scaled(pool, a, b, -1);
}

sdx_expr sdx_expr_mul(sdx_expr_pool *pool, sdx_expr a, sdx_expr b) {
    if (SDX_LIKELY(both_const(a, b))) {
        int64_t product;
        bool fits = sdx_i64_mul(sdx_expr_value(a), sdx_expr_value(b), &product);
        return fits && sdx_expr_in_range(product) ? sdx_expr_const(product) : SDX_EXPR_UNKNOWN;
    }
    if (sdx_expr_is(a, 1)) return b;
    if (sdx_expr_is(b, 1)) return a;
    if (!both_usable(pool, a, b)) return SDX_EXPR_UNKNOWN;
    sdx_poly *p = sdx_polys_take(pool, 3);
    if (!p) return SDX_EXPR_UNKNOWN;
    sdx_poly *left = &p[0], *right = &p[1], *product = &p[2];
    /* Which limit a large product meets first depends on the order of the factors; fixing it
     * makes a*b and b*a unknown together. */
    sdx_expr low = a.word < b.word ? a : b, high = a.word < b.word ? b : a;
    bool good = sdx_poly_load(pool, low, left) && sdx_poly_load(pool, high, right) &&
                sdx_poly_mul(pool, product, left, right);
    sdx_expr result = good ? sdx_poly_intern(pool, product) : SDX_EXPR_UNKNOWN;
    sdx_polys_give(pool, 3);
    return result;
}

/* ---- evaluation ----------------------------------------------------------------------------- */

static int64_t evaluate_sum(const uint32_t *word, const uint32_t *end, const int64_t *results) {
    int64_t sum = 0;
    while (word < end) {
        int64_t product;
        bool zero = false, fits = true;
        memcpy(&product, word, sizeof product);
        const uint32_t *atom = word + 3, *atoms_end = atom + word[2];
        for (; atom < atoms_end; atom++) {
            int64_t value = results[*atom];
            if (value == SDX_EVAL_FAILED) return SDX_EVAL_FAILED;
            zero = zero || value == 0;
            fits = fits && sdx_i64_mul(product, value, &product);
        }
        /* A dim of 0 makes the product 0, however large the others are. */
        if (zero) product = 0;
        if ((!fits && !zero) || !sdx_i64_add(sum, product, &sum)) return SDX_EVAL_FAILED;
        word = atoms_end;
    }
    return sum;
}

static int64_t evaluate_list(const sdx_expr_pool *pool, const sdx_expr_entry *entry,
                             const int64_t *results) {
    int64_t value = 0;
    for (size_t i = 0; i < sdx_entry_operands(entry); i++) {
        int64_t operand = sdx_expr_result(sdx_entry_operand(pool, entry, i), results);
        if (operand == SDX_EVAL_FAILED) return SDX_EVAL_FAILED;
        if (i == 0)
            value = operand;
        else if (entry->kind == SDX_EXPR_KIND_MIN)
            value = operand < value ? operand : value;
        else if (entry->kind == SDX_EXPR_KIND_MAX)
            value = operand > value ? operand : value;
        else if (value == 1)
            value = operand;
        else if (operand != 1 && operand != value)
            return SDX_EVAL_FAILED; /* neither equal nor 1: no broadcast */
    }
    return value;
}

static int64_t evaluate_entry(const sdx_expr_pool *pool, const sdx_expr_entry *entry,
                              const int64_t *symbols, const int64_t *results) {
    switch ((sdx_expr_kind)entry->kind) {
    case SDX_EXPR_KIND_SYMBOL:
        return symbols[entry->first] < 0 ? SDX_EVAL_FAILED : symbols[entry->first];
    case SDX_EXPR_KIND_SUM: {
        const uint32_t *words = pool->words + entry->first;
        return evaluate_sum(words, words + entry->count, results);
    }
    case SDX_EXPR_KIND_FLOORDIV: {
        int64_t a = sdx_expr_result(sdx_entry_operand(pool, entry, 0), results);
        int64_t b = sdx_expr_result(sdx_entry_operand(pool, entry, 1), results);
        if (a == SDX_EVAL_FAILED || b == SDX_EVAL_FAILED || b == 0) return SDX_EVAL_FAILED;
        return sdx_floor_i64(a, b);
    }
    case SDX_EXPR_KIND_MIN:
    case SDX_EXPR_KIND_MAX:
    case SDX_EXPR_KIND_BROADCAST: return evaluate_list(pool, entry, results);
    }
    return SDX_EVAL_FAILED;
}

void sdx_expr_evaluate(const sdx_expr_pool *pool, const int64_t *symbols, int64_t *results) {
    results[0] = SDX_EVAL_FAILED;
    for (size_t i = 1; i < pool->entry_count; i++) {
        int64_t value = evaluate_entry(pool, &pool->entries[i], symbols, results);
        /* The range of constants holds here too, so that a result may become one. */
        results[i] = sdx_expr_in_range(value) ? value : SDX_EVAL_FAILED;
    }
}
