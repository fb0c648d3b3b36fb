/* kernels.c - which instruction set's kernels run: the best that the processor has, the operating
 * system saves the registers of, and the environment does not forbid. */
#include "kernels/kernels.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SETS 4

/* The sets of this build, from plain to best, and whether the machine can run each.
 * __builtin_cpu_supports asks CPUID and XGETBV: what the system does not save does not count. */
static size_t list_sets(const sdx_kernels *sets[MOST_SETS]) {
    size_t count = 0;
    sets[count++] = &sdx_kernels_base;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        sets[count++] = &sdx_kernels_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        sets[count++] = &sdx_kernels_avx512;
#elif defined(__aarch64__)
    sets[count++] = &sdx_kernels_neon;
#endif
    return count;
}

const sdx_kernels *sdx_kernels_at(size_t index) {
    const sdx_kernels *sets[MOST_SETS];
    return index < list_sets(sets) ? sets[index] : NULL;
}

static const sdx_kernels *pick(void) {
    const sdx_kernels *sets[MOST_SETS];
    size_t count = list_sets(sets), most = count - 1;
    const char *asked = getenv("SARDONYX_CPU");
    if (asked && strcmp(asked, "scalar") == 0) asked = "base";
    for (size_t i = 0; asked && i < count; i++)
        if (strcmp(sets[i]->isa, asked) == 0) most = i;
    return sets[most];
}

static _Thread_local const sdx_kernels *asked_for;

void sdx_kernels_use(const sdx_kernels *kernels) { asked_for = kernels; }

const sdx_kernels *sdx_kernels_get(void) {
    if (asked_for) return asked_for;
    static _Atomic(const sdx_kernels *) chosen;
    const sdx_kernels *kernels = atomic_load_explicit(&chosen, memory_order_acquire);
    if (!kernels) {
        kernels = pick(); /* threads that come here at once pick the same */
        atomic_store_explicit(&chosen, kernels, memory_order_release);
    }
    return kernels;
}
