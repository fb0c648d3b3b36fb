/* expr_internal.h - what the files expr*.c share: the pool's layout and scratch polynomials.
 *
 * expr.c         pool, symbols, hash-consing, evaluation; the plain arithmetic
 * expr_poly.c    polynomials: add, multiply, divide; to and from the pool
 * expr_bounds.c  lower and upper bounds that hold for every binding
 * expr_divide.c  floor division, its canonical form, and what is built on it
 * expr_list.c    min, max and broadcast, whose operands are sorted lists
 * expr_rebuild.c the same expressions in another pool
 * expr_uses.c    whether a symbol stands in an expression
 * expr_text.c    printing; expr_parse.c reads the same syntax back
 */
#ifndef SDX_GRAPH_EXPR_INTERNAL_H
#define SDX_GRAPH_EXPR_INTERNAL_H

#include "base/map.h"
#include "graph/expr.h"

/* An expression past one of these becomes unknown. They keep scratch small, recursion
 * shallow and text finite whatever a model file asks for. */
#define SDX_EXPR_TERMS 64           /* monomials of one sum */
#define SDX_EXPR_DEGREE 8           /* factors of one monomial */
#define SDX_EXPR_NESTING 32         /* atoms within atoms */
#define SDX_EXPR_OPERANDS 32        /* of one min, max or broadcast */
#define SDX_EXPR_WEIGHT 8192        /* nodes written out as a tree, where shared parts repeat */
#define SDX_EXPR_ENTRIES (1u << 20) /* of one pool */
#define SDX_EXPR_WORDS (1u << 25)   /* of operand storage in one pool */

typedef enum sdx_expr_kind {
    SDX_EXPR_KIND_SYMBOL,
    SDX_EXPR_KIND_SUM,      /* of monomials; never just one atom, never a constant */
    SDX_EXPR_KIND_FLOORDIV, /* two operands */
    SDX_EXPR_KIND_MIN,      /* two operands or more, sorted, constant last; also the two below */
    SDX_EXPR_KIND_MAX,
    SDX_EXPR_KIND_BROADCAST
} sdx_expr_kind;

/* Ends of an interval. The two extreme numbers stand for "no bound". */
typedef struct sdx_range {
    int64_t lower, upper;
} sdx_range;
#define SDX_NO_LOWER INT64_MIN
#define SDX_NO_UPPER INT64_MAX

/* Operands lie in pool->words. A sum's monomial: coefficient (2 words), degree, atoms (one word
 * each). Other kinds: sdx_expr words (2 words each). */
typedef struct sdx_expr_entry {
    uint8_t kind;    /* sdx_expr_kind */
    uint8_t nesting; /* of atoms; 0 for symbols and sums of their products */
    uint16_t weight;
    uint32_t hash;
    uint32_t first; /* of the words; for a symbol its symbol index */
    uint32_t count; /* of words */
    sdx_range range;
} sdx_expr_entry;

typedef struct sdx_expr_name {
    const char *text; /* in the arena, NUL-terminated */
    size_t size;
    uint32_t entry;
} sdx_expr_name;

struct sdx_expr_pool {
    const sdx_allocator *allocator;
    sdx_arena arena; /* names */
    sdx_map symbol_map;
    sdx_map prefix_map; /* prefixes of fresh names, to an index of next_fresh */
    sdx_vector next_fresh; /* uint32_t: the number to try next */

    sdx_expr_entry *entries; /* entry 0 is never used: word 0 means unknown */
    size_t entry_count, entry_capacity;
    uint32_t *words;
    size_t word_count, word_capacity;
    sdx_expr_name *symbols;
    size_t symbol_count, symbol_capacity;
    uint32_t *slots; /* open addressing: entry index, 0 where free */
    size_t slot_count, slot_capacity;
    struct sdx_poly *polys; /* scratch, see sdx_polys_take */
    size_t polys_used;
    bool out_of_memory; /* tells a failed allocation from the other reasons for "unknown" */
};

/* ---- scratch polynomials -------------------------------------------------------------------- */

/* A power is the atom repeated. Atoms ascend by index, which is the order of creation. */
typedef struct sdx_term {
    int64_t coefficient;
    uint32_t degree;
    uint32_t atoms[SDX_EXPR_DEGREE];
} sdx_term;

/* Terms in falling degree, then by atoms; no two alike, no coefficient 0. The order is kept by
 * multiplication with a monomial, which makes polynomial division work. */
typedef struct sdx_poly {
    uint32_t count;
    sdx_term terms[SDX_EXPR_TERMS];
} sdx_poly;

/* Scratch polynomials lie in the pool, as on a stack: at 3 kB each, the threads of small machines have none to
 * spare. NULL when out of memory; the last ones taken are given back first. Only who changes the pool, or
 * works for such, may take some, though it sees a const pool. */
#define SDX_POLYS 32 /* more than the deepest search for a bound takes within a division */
sdx_poly *sdx_polys_take(const sdx_expr_pool *pool, size_t count);
void sdx_polys_give(const sdx_expr_pool *pool, size_t count);

/* Every function that returns bool is false when a number overflows or a limit is passed; its
 * result is unspecified then. No `out` may be one of the inputs. */
int sdx_term_compare(const sdx_term *a, const sdx_term *b);
/* Takes divisor's atoms out of term; false where they are not all there. */
bool sdx_term_remove(const sdx_term *term, const sdx_term *divisor, sdx_term *out);
void sdx_poly_copy(sdx_poly *out, const sdx_poly *from);
void sdx_poly_set(sdx_poly *out, int64_t value);
void sdx_poly_set_atom(sdx_poly *out, uint32_t atom);
bool sdx_poly_is_const(const sdx_poly *poly);
int64_t sdx_poly_constant(const sdx_poly *poly); /* the term of degree 0 */
/* a + b * scale */
bool sdx_poly_add(sdx_poly *out, const sdx_poly *a, const sdx_poly *b, int64_t scale);
bool sdx_poly_add_const(sdx_poly *poly, int64_t value); /* in place */
bool sdx_poly_scale(sdx_poly *poly, int64_t factor);    /* in place */
bool sdx_poly_mul_term(sdx_poly *out, const sdx_poly *poly, const sdx_term *term);
bool sdx_poly_mul(const sdx_expr_pool *pool, sdx_poly *out, const sdx_poly *a, const sdx_poly *b);
/* a = quotient * b + rest. exact: false unless rest is 0. */
bool sdx_poly_divide(const sdx_expr_pool *pool, const sdx_poly *a, const sdx_poly *b, bool exact,
                     sdx_poly *quotient, sdx_poly *rest);
bool sdx_poly_load(const sdx_expr_pool *pool, sdx_expr e, sdx_poly *out);
sdx_expr sdx_poly_intern(sdx_expr_pool *pool, const sdx_poly *poly);

/* ---- pool ----------------------------------------------------------------------------------- */

static inline const sdx_expr_entry *sdx_pool_entry(const sdx_expr_pool *pool, uint32_t index) {
    return &pool->entries[index];
}
static inline uint32_t sdx_expr_index(sdx_expr e) { return (uint32_t)(e.word >> 1); }
static inline sdx_expr sdx_expr_of(uint32_t index) { return (sdx_expr){(int64_t)index << 1}; }
static inline bool sdx_expr_in_range(int64_t value) {
    return value >= -SDX_EXPR_MAX && value < SDX_EXPR_MAX;
}
/* An operand that arithmetic in this pool can use. */
static inline bool sdx_expr_usable(const sdx_expr_pool *pool, sdx_expr e) {
    if (pool == NULL || e.word == 0) return false;
    return (e.word & 1) != 0 || (e.word > 0 && (uint64_t)e.word >> 1 < pool->entry_count);
}
static inline size_t sdx_entry_operands(const sdx_expr_entry *entry) { return entry->count / 2; }
sdx_expr sdx_entry_operand(const sdx_expr_pool *pool, const sdx_expr_entry *entry, size_t index);

/* The atom with exactly these operands: looked up, or also made. Unknown if absent / not made. */
sdx_expr sdx_pool_find_atom(const sdx_expr_pool *pool, sdx_expr_kind kind, const sdx_expr *operands,
                            size_t count);
sdx_expr sdx_pool_make_atom(sdx_expr_pool *pool, sdx_expr_kind kind, const sdx_expr *operands,
                            size_t count);
/* Hash-consing proper, over the encoded operands: count words, all of whose bytes are set. The
 * index of the entry with these, or 0; and a new entry like that, where there was none. */
uint32_t sdx_pool_find(const sdx_expr_pool *pool, sdx_expr_kind kind, const void *words,
                       size_t count, uint32_t *hash);
sdx_expr sdx_pool_insert(sdx_expr_pool *pool, const sdx_expr_entry *like, const void *words);

/* ---- bounds --------------------------------------------------------------------------------- */

sdx_range sdx_expr_range(const sdx_expr_pool *pool, sdx_expr e);
/* SDX_NO_LOWER, SDX_NO_UPPER where none is found. */
int64_t sdx_poly_lower(const sdx_expr_pool *pool, const sdx_poly *poly);
int64_t sdx_poly_upper(const sdx_expr_pool *pool, const sdx_poly *poly);
sdx_range sdx_atom_range(const sdx_expr_pool *pool, sdx_expr_kind kind, const sdx_expr *operands,
                         size_t count);

/* Integer division toward minus infinity; b != 0, and the operands are within sdx_expr_in_range. */
static inline int64_t sdx_floor_i64(int64_t a, int64_t b) {
    int64_t quotient = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

/* Whether a name can stand in text as it is, without quotes. */
static inline bool sdx_name_begins(uint8_t c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '.' || c >= 0x80;
}
static inline bool sdx_name_goes_on(uint8_t c) {
    return sdx_name_begins(c) || (c >= '0' && c <= '9') || c == ':';
}

#endif
