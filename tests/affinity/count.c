/* count.c - how many CPUs the library takes for its own, and how many threads it would start: "CPUS THREADS".
 * check.sh and time.py run it inside masks and groups. */
#include <stdio.h>

#include "base/threads.h"

int main(void) {
    sdx_pool *pool = NULL;
    sdx_error error;
    sdx_error_clear(&error);
    if (sdx_pool_create(NULL, sdx_useful_threads(0), &pool, &error) != SDX_STATUS_OK) return 1;
    printf("%u %u\n", sdx_usable_cpus(), sdx_pool_threads(pool));
    sdx_pool_release(pool);
    return 0;
}
