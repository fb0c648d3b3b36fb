/* map.c - hash map from byte strings to 32-bit numbers, and the keyed hash behind it. The loader
 * uses it for the names of values and functions, the registry for operators. Linear probing in a
 * table of a power of two; nothing is ever removed, so there are no tombstones. */
#include "base/map.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>
#if defined(__linux__)
#include <sys/random.h>
#endif

#include "base/checked.h"

struct sdx_map_entry {
    const char *key; /* NULL: free */
    size_t size;
    uint32_t hash; /* low half: spares most comparisons, and rehashing when the table grows */
    uint32_t value;
};

/* ---- hash --------------------------------------------------------------------------------- */

/* Both halves of the 128-bit product, folded: every input bit reaches the whole result. */
static uint64_t fold(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t low = al * bl, mid1 = ah * bl, mid2 = al * bh, high = ah * bh;
    uint64_t carry = ((low >> 32) + (uint32_t)mid1 + (uint32_t)mid2) >> 32;
    high += (mid1 >> 32) + (mid2 >> 32) + carry;
    return (low + (mid1 << 32) + (mid2 << 32)) ^ high;
#endif
}

/* Up to eight bytes, little-endian on every host so that hashes are too. */
static uint64_t load(const uint8_t *from, size_t size) {
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++) word |= (uint64_t)from[i] << (8 * i);
    return word;
}

uint64_t sdx_hash_bytes(const void *data, size_t size, uint64_t seed) {
    const uint8_t *at = data;
    /* Both factors of each product carry a secret. Were one of them data alone, a crafted word
     * could make it zero, and the product with it, whatever the seed. */
    uint64_t state = fold(seed ^ 0x8f4b1d6a92c3e507u, 0xd1a98b3e6c45f72bu);
    const uint64_t key = fold(seed + 0x5be0cd19137e2179u, 0xa3c59ac2b7f14d8du) | 1u;
    size_t left = size;
    while (left >= 16) {
        state = fold(load(at, 8) ^ state, load(at + 8, 8) ^ key) + (state << 29 | state >> 35);
        at += 16;
        left -= 16;
    }
    uint64_t first = load(at, left < 8 ? left : 8);
    uint64_t second = left > 8 ? load(at + 8, left - 8) : 0;
    state = fold(first ^ state, second ^ key) + (state << 29 | state >> 35);
    /* The size tells "a" from "a\0", which the zero padding alone would not. */
    return fold(state ^ (uint64_t)size, key + 0x2f83d5c1e9a7604bu);
}

/* ---- seed --------------------------------------------------------------------------------- */

/* One random number per process. It need only be unknown to who wrote the model file, so the
 * fallback may be weak: an early boot without entropy must not make loading fail or wait. */
static uint64_t process_secret(void) {
    static atomic_uint_least64_t kept;
    uint64_t secret = atomic_load_explicit(&kept, memory_order_relaxed);
    if (secret != 0) return secret;
#if defined(__linux__)
    if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) != (ssize_t)sizeof secret) secret = 0;
#endif
    if (secret == 0) {
        struct timespec now = {0};
        clock_gettime(CLOCK_REALTIME, &now);
        secret = fold((uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)&now,
                      (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&kept ^ 0x9c6f35e1b8d2a74fu);
        secret |= 1u;
    }
    /* Of two threads that come here at once, the first decides. */
    uint_least64_t expected = 0;
    if (!atomic_compare_exchange_strong(&kept, &expected, secret)) secret = expected;
    return secret;
}

/* ---- map ---------------------------------------------------------------------------------- */

void sdx_map_init(sdx_map *map, const sdx_allocator *allocator) {
    *map = (sdx_map){.allocator = allocator};
    map->seed = process_secret() + (uint64_t)(uintptr_t)map * 0x9e3779b97f4a7c15u;
}

void sdx_map_free(sdx_map *map) {
    sdx_free(map->allocator, map->entries, map->capacity * sizeof *map->entries);
    map->entries = NULL;
    map->count = map->capacity = 0;
}

/* The key's entry, or the free one where it belongs. The table is never full. */
static sdx_map_entry *find(const sdx_map *map, const char *key, size_t size, uint32_t hash) {
    size_t mask = map->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        sdx_map_entry *entry = &map->entries[i];
        if (entry->key == NULL) return entry;
        if (entry->hash == hash && entry->size == size &&
            (size == 0 || memcmp(entry->key, key, size) == 0))
            return entry;
    }
}

uint32_t sdx_map_get(const sdx_map *map, const char *key, size_t size) {
    if (map->capacity == 0) return SDX_MAP_NONE;
    uint32_t hash = (uint32_t)sdx_hash_bytes(key, size, map->seed);
    const sdx_map_entry *entry = find(map, key, size, hash);
    return entry->key == NULL ? SDX_MAP_NONE : entry->value;
}

static bool grow(sdx_map *map) {
    size_t capacity = 16, bytes;
    if (map->capacity != 0 && !sdx_size_mul(map->capacity, 2, &capacity)) return false;
    if (!sdx_size_mul(capacity, sizeof *map->entries, &bytes)) return false;
    sdx_map_entry *entries = sdx_alloc(map->allocator, bytes, _Alignof(sdx_map_entry));
    if (entries == NULL) return false;
    for (size_t i = 0; i < capacity; i++) entries[i] = (sdx_map_entry){0};
    for (size_t i = 0; i < map->capacity; i++) {
        const sdx_map_entry *old = &map->entries[i];
        if (old->key == NULL) continue;
        size_t place = old->hash & (capacity - 1);
        while (entries[place].key != NULL) place = (place + 1) & (capacity - 1);
        entries[place] = *old;
    }
    sdx_free(map->allocator, map->entries, map->capacity * sizeof *map->entries);
    map->entries = entries;
    map->capacity = capacity;
    return true;
}

bool sdx_map_put(sdx_map *map, const char *key, size_t size, uint32_t value) {
    /* At most three quarters full. count < capacity, so neither side can wrap. */
    if (map->count >= map->capacity / 4 * 3 && !grow(map)) return false;
    uint32_t hash = (uint32_t)sdx_hash_bytes(key, size, map->seed);
    sdx_map_entry *entry = find(map, key, size, hash);
    if (entry->key == NULL) {
        *entry = (sdx_map_entry){.key = size == 0 ? "" : key, .size = size, .hash = hash};
        map->count++;
    }
    entry->value = value;
    return true;
}
