/* threads.h - a pool that runs one parallel loop at a time, and the count of usable CPUs. */
#ifndef SDX_BASE_THREADS_H
#define SDX_BASE_THREADS_H

#include "base/memory.h"
#include "base/watch.h"

typedef struct sdx_pool sdx_pool;

/* threads counts the caller too: 1 makes no thread at all. */
sdx_status sdx_pool_create(const sdx_allocator *allocator, uint32_t threads, sdx_pool **out,
                           sdx_error *error);
void sdx_pool_release(sdx_pool *pool);
uint32_t sdx_pool_threads(const sdx_pool *pool);
/* The workers, but not the caller's thread, keep to these CPUs from now on: the first worker to the second
 * of them, and so on around. False: there is no such CPU, or the system does not let us choose. */
bool sdx_pool_set_cpus(sdx_pool *pool, const uint32_t *cpus, size_t count);

/* Between these two, loops follow one another closely: workers wait for the next one awake, for a short
 * while. pool may be NULL. */
void sdx_pool_begin_run(sdx_pool *pool);
void sdx_pool_end_run(sdx_pool *pool);

/* From now on loops leave out the pieces that are left once the watch is over: their results are then
 * worthless, and who runs them must ask the watch. NULL: nobody watches. Not during a loop. */
void sdx_pool_watch(sdx_pool *pool, const sdx_watch *watch);

/* Calls body(arg, begin, end) over [0, count) in pieces whose borders depend on count and grain
 * alone, never on the number of threads, so that results are the same bits for any pool. The
 * caller takes part. pool may be NULL. */
typedef void (*sdx_loop_body)(void *arg, size_t begin, size_t end);
void sdx_parallel_for(sdx_pool *pool, size_t count, size_t grain, sdx_loop_body body, void *arg);
/* The same for bodies with scratch memory: slot says which thread runs it, below sdx_pool_threads. No two
 * calls of one loop have the same slot at a time. Results must not depend on it. */
typedef void (*sdx_slot_body)(void *arg, uint32_t slot, size_t begin, size_t end);
void sdx_parallel_for_slots(sdx_pool *pool, size_t count, size_t grain, sdx_slot_body body,
                            void *arg);

/* Threads where the caller does not say: SARDONYX_THREADS, else sdx_usable_cpus. */
uint32_t sdx_default_threads(void);

/* Threads that are worth starting where `wanted` are asked for (0: sdx_default_threads): no more than there are
 * CPUs to use. Beyond that they only take turns, and each loop waits for the last one's turn. */
uint32_t sdx_useful_threads(uint32_t wanted);

/* CPUs that this process may use (affinity mask, cgroup quota); at least 1. */
uint32_t sdx_usable_cpus(void);

#endif
