/* kernels.c - which instruction set's kernels run: the best that the processor has, the operating
 * system saves the registers of, and the environment does not forbid. */
#include "kernels/kernels.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if SDX_SET_NEON && defined(__arm__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#define MOST_SETS 4

#if SDX_SET_NEON && defined(__arm__)
/* The kernels multiply and add in one, which VFPv4 brought. */
static bool has_neon(void) {
    const unsigned long both = HWCAP_NEON | HWCAP_VFPv4;
    return (getauxval(AT_HWCAP) & both) == both;
}
#endif

/* The sets of this build, from plain to best, that the machine can run. __builtin_cpu_supports asks CPUID
 * and XGETBV: what the system does not save does not count. */
static size_t list_sets(const sdx_kernels *sets[MOST_SETS]) {
    size_t count = 0;
    memset(sets, 0, MOST_SETS * sizeof *sets);
#if SDX_SET_BASE
    sets[count++] = &sdx_kernels_base;
#endif
#if SDX_SET_AVX2 || SDX_SET_AVX512
    __builtin_cpu_init();
#endif
#if SDX_SET_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        sets[count++] = &sdx_kernels_avx2;
#endif
#if SDX_SET_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        sets[count++] = &sdx_kernels_avx512;
#endif
#if SDX_SET_NEON && defined(__arm__)
    if (has_neon()) sets[count++] = &sdx_kernels_neon;
#elif SDX_SET_NEON
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
    size_t count = list_sets(sets);
    if (!count) return NULL; /* a build for other machines alone */
    size_t most = count - 1;
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
