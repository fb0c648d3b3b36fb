/* watch.c - the watch of each thread: kernels ask it in the middle of a piece without being handed anything. */
#include "base/watch.h"

#define LOOK ((size_t)1 << 20) /* about a millisecond */

static _Thread_local const sdx_watch *watching;
static _Thread_local size_t done; /* since the last look at the clock */

const sdx_watch *sdx_watch_set(const sdx_watch *watch) {
    const sdx_watch *before = watching;
    watching = watch;
    return before;
}

const sdx_watch *sdx_watch_now(void) { return watching; }

bool sdx_watch_work(size_t work) {
    if (!watching) return false;
    if (work < LOOK && (done += work) < LOOK) return false;
    done = LOOK; /* once over, the next question must not wait another round */
    if (sdx_watch_over(watching)) return true;
    done = 0;
    return false;
}
