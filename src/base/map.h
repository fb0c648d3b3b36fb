/* map.h - byte-string keys to 32-bit numbers: the names of values, symbols and operators.
 * Open addressing with a per-map seed, so that a crafted file cannot pick colliding names. */
#ifndef SDX_BASE_MAP_H
#define SDX_BASE_MAP_H

#include "base/memory.h"

typedef struct sdx_map_entry sdx_map_entry;
typedef struct sdx_map {
    const sdx_allocator *allocator;
    sdx_map_entry *entries;
    size_t count, capacity; /* capacity: a power of two, or 0 */
    uint64_t seed;
} sdx_map;

#define SDX_MAP_NONE UINT32_MAX

void sdx_map_init(sdx_map *map, const sdx_allocator *allocator);
void sdx_map_free(sdx_map *map);
/* SDX_MAP_NONE if absent. */
uint32_t sdx_map_get(const sdx_map *map, const char *key, size_t size);
/* The key bytes are borrowed: they must outlive the map. Overwrites. False: out of memory. */
bool sdx_map_put(sdx_map *map, const char *key, size_t size, uint32_t value);

uint64_t sdx_hash_bytes(const void *data, size_t size, uint64_t seed);

#endif
