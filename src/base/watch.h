/* watch.h - when work has to end before it is done: somebody has said so, or its time is over. Long loops
 * ask between their pieces; what they leave is dropped by whoever started them. */
#ifndef SDX_BASE_WATCH_H
#define SDX_BASE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"

typedef struct sdx_watch {
    atomic_bool cancelled;
    uint64_t deadline; /* sdx_nanoseconds at which time is over; 0: never */
} sdx_watch;

/* The watch over what this thread does now; NULL: none. Pools set it around the pieces of their loops, runs
 * and folding around bodies. Returns the one before. */
const sdx_watch *sdx_watch_set(const sdx_watch *watch);
const sdx_watch *sdx_watch_now(void);
/* For loops whose pieces may take long, however the work is cut: adds `work` (in steps of about a
 * nanosecond) to what was done since the clock was last looked at, looks again after a million of them, and
 * tells whether this thread's work has to end. What then is left undone is worthless, as in
 * sdx_pool_watch. Takes a few nanoseconds: for rows, not for elements. */
bool sdx_watch_work(size_t work);

static inline void sdx_watch_start(sdx_watch *watch, uint64_t milliseconds) {
    uint64_t now = sdx_nanoseconds(), most = (UINT64_MAX - now) / 1000000;
    watch->deadline = milliseconds ? now + (milliseconds < most ? milliseconds : most) * 1000000 : 0;
}
static inline bool sdx_watch_late(const sdx_watch *watch) {
    return watch->deadline && sdx_nanoseconds() >= watch->deadline;
}
static inline bool sdx_watch_over(const sdx_watch *watch) {
    return atomic_load_explicit(&watch->cancelled, memory_order_relaxed) || sdx_watch_late(watch);
}

#endif
