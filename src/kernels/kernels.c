/* kernels.c - which instruction set's kernels run: the best that the processor has, the operating
 * system saves the registers of, and the environment does not forbid. */
#include "kernels/kernels.h"

#if SDX_SET_AVX2 || SDX_SET_AVX512
#include <cpuid.h>
#endif
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

#if SDX_SET_AVX2 || SDX_SET_AVX512
/* What the processor has of the bits that are asked for here, as CPUID tells it, and the system saves the
 * registers of, as XGETBV does. (The compiler's own question knows all processors by name: 5 kB.) */
typedef struct machine {
    uint32_t ecx1, ebx7; /* of leaves 1 and 7 */
    uint32_t saved;      /* of XCR0 */
} machine;

static machine ask_machine(void) {
    machine m = {0};
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return m;
    m.ecx1 = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) m.ebx7 = b;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    m.saved = low;
    return m;
}

#define SAVED_256 0x06u /* vectors of 128 and 256 bits */
#define SAVED_512 0xe6u /* and masks, upper halves, registers 16 to 31 */

static bool has_all(uint32_t bits, uint32_t wanted) { return (bits & wanted) == wanted; }

static bool has_avx2(const machine *m) {
    return has_all(m->saved, SAVED_256) && has_all(m->ecx1, bit_AVX | bit_FMA) &&
           has_all(m->ebx7, bit_AVX2);
}
#endif
#if SDX_SET_AVX512
static bool has_avx512(const machine *m) {
    return has_avx2(m) && has_all(m->saved, SAVED_512) &&
           has_all(m->ebx7, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ);
}
#endif

#if SDX_SET_AVX512
/* AMD's from family 1Ah on. Intel's have not been measured, and keep the plain form. */
static bool ask_sharing(void) {
    unsigned a, b, c, d, version;
    if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_AMD_ebx || c != signature_AMD_ecx) return false;
    if (!__get_cpuid(1, &version, &b, &c, &d)) return false;
    const unsigned family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
    return family >= 0x1a;
}
#else
static bool ask_sharing(void) { return false; }
#endif

static atomic_int sharing = -1; /* 0 or 1 once it is known */

bool sdx_kernels_share_loads(void) {
    int share = atomic_load_explicit(&sharing, memory_order_relaxed);
    if (share < 0) {
        share = ask_sharing();
        atomic_store_explicit(&sharing, share, memory_order_relaxed);
    }
    return share != 0;
}

void sdx_kernels_set_sharing(bool share) {
    atomic_store_explicit(&sharing, share, memory_order_relaxed);
}

/* The sets of this build, from plain to best, that the machine can run. */
static size_t list_sets(const sdx_kernels *sets[MOST_SETS]) {
    size_t count = 0;
    memset(sets, 0, MOST_SETS * sizeof *sets);
#if SDX_SET_BASE
    sets[count++] = &sdx_kernels_base;
#endif
#if SDX_SET_AVX2 || SDX_SET_AVX512
    const machine m = ask_machine();
#endif
#if SDX_SET_AVX2
    if (has_avx2(&m)) sets[count++] = &sdx_kernels_avx2;
#endif
#if SDX_SET_AVX512
    if (has_avx512(&m)) sets[count++] = &sdx_kernels_avx512;
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
