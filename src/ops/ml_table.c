/* ml_table.c - hash tables for the encoders of domain ai.onnx.ml, laid out once in the arena of the
 * model and only read afterwards. The seed of the hash is a secret of the process, so that a
 * crafted model cannot pick keys that collide. */
#include <math.h>

#include "base/map.h"
#include "ops/ml.h"

static uint64_t hash_word(const sdx_ml_table *table, uint64_t word) {
    return sdx_hash_bytes(&word, sizeof word, table->seed);
}

static bool same_string(sdx_string a, sdx_string b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* The slot that holds the key, or the free one where it belongs. */
static uint32_t *slot_of_word(const sdx_ml_table *table, uint64_t word) {
    size_t at = (size_t)hash_word(table, word) & table->mask;
    while (table->slots[at] && table->words[table->slots[at] - 1] != word)
        at = (at + 1) & table->mask;
    return &table->slots[at];
}

static uint32_t *slot_of_string(const sdx_ml_table *table, sdx_string string) {
    size_t at = (size_t)sdx_hash_bytes(string.data, string.size, table->seed) & table->mask;
    while (table->slots[at] && !same_string(table->strings[table->slots[at] - 1], string))
        at = (at + 1) & table->mask;
    return &table->slots[at];
}

static sdx_status build(sdx_prep *prep, size_t count, bool first, sdx_ml_table *out) {
    if (count >= UINT32_MAX / 2)
        return sdx_prep_unsupported(prep, "a list of %zu keys is too long", count);
    size_t capacity = 8;
    while (capacity < 2 * count) capacity *= 2;
    sdx_map secret; /* for its seed alone */
    sdx_map_init(&secret, prep->module->allocator);
    out->seed = secret.seed;
    sdx_map_free(&secret);
    out->mask = capacity - 1;
    out->slots = sdx_prep_array(prep, capacity, sizeof *out->slots);
    if (!out->slots) return SDX_STATUS_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        uint32_t *slot = out->strings ? slot_of_string(out, out->strings[i])
                                      : slot_of_word(out, out->words[i]);
        if (!*slot || !first) *slot = (uint32_t)i + 1;
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_ml_table_of_words(sdx_prep *prep, const uint64_t *words, size_t count, bool first,
                                 sdx_ml_table *out) {
    *out = (sdx_ml_table){.words = words};
    return build(prep, count, first, out);
}

sdx_status sdx_ml_table_of_strings(sdx_prep *prep, const sdx_string *strings, size_t count,
                                   bool first, sdx_ml_table *out) {
    static const sdx_string none;
    *out = (sdx_ml_table){.strings = strings ? strings : &none};
    return build(prep, count, first, out);
}

size_t sdx_ml_find_word(const sdx_ml_table *table, uint64_t word) {
    const uint32_t found = *slot_of_word(table, word);
    return found ? found - 1 : SDX_ML_ABSENT;
}

size_t sdx_ml_find_string(const sdx_ml_table *table, sdx_string string) {
    const uint32_t found = *slot_of_string(table, string);
    return found ? found - 1 : SDX_ML_ABSENT;
}

/* ---- words ----------------------------------------------------------------------------------- */

static uint64_t float_word(double value) {
    uint64_t word;
    if (isnan(value)) return UINT64_MAX; /* itself one of the NaNs */
    value += 0.0;                        /* -0 becomes 0 */
    memcpy(&word, &value, sizeof word);
    return word;
}

#define INTEGERS(type)                                                                            \
    for (size_t i = 0; i < count; i++)                                                            \
        out[i] = (uint64_t)(int64_t)((const type *)data)[begin + i];                              \
    break
#define FLOATS(type)                                                                              \
    for (size_t i = 0; i < count; i++) out[i] = float_word(((const type *)data)[begin + i]);      \
    break

void sdx_ml_words(sdx_dtype dtype, const void *data, size_t begin, size_t count, uint64_t *out) {
    switch (dtype) {
    case SDX_DTYPE_INT64: INTEGERS(int64_t);
    case SDX_DTYPE_INT32: INTEGERS(int32_t);
    case SDX_DTYPE_INT16: INTEGERS(int16_t);
    case SDX_DTYPE_FLOAT32: FLOATS(float);
    case SDX_DTYPE_FLOAT64: FLOATS(double);
    default: memset(out, 0, count * sizeof *out); break;
    }
}
