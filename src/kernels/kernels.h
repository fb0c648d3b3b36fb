/* kernels.h - the table of kernels for the instruction set at hand, picked once. */
#ifndef SDX_KERNELS_KERNELS_H
#define SDX_KERNELS_KERNELS_H

#include <stdint.h>

#include "kernels/depthwise.h"
#include "kernels/dots.h"
#include "kernels/elementwise.h"
#include "kernels/taps.h"
#include "kernels/tile.h"
#include "kernels/winograd.h"

typedef struct sdx_kernels {
    const char *isa;
    size_t lanes; /* floats of a vector */
    bool pairs;   /* tiles take two panels at a time (sdx_tiles.pair) */
    bool halves;  /* and panels that end with half a vector (sdx_panels.half) */
#if !SDX_ONE_SET
#define SDX_KERNEL(name, parameters) void (*name) parameters;
#include "kernels/kernels.def"
#undef SDX_KERNEL
#endif
} sdx_kernels;

/* How kernels are called: by the table; or by name in a build for certain models and one instruction set, so
 * that the linker finds those that nothing calls. */
#if SDX_ONE_SET
#define SDX_ONE_JOIN_(name, isa)     sdx_##name##_##isa
#define SDX_ONE_JOIN(name, isa)      SDX_ONE_JOIN_(name, isa)
#define SDX_KERNEL_OF(kernels, name) ((void)(kernels), SDX_ONE_JOIN(name, SDX_ONE_NAME))
#else
#define SDX_KERNEL_OF(kernels, name) ((kernels)->name)
#endif

/* Each instruction set that this build has. */
#define SDX_ISA_LIST(isa)                                                                         \
    extern const sdx_kernels sdx_kernels_##isa;
SDX_ISA_LIST(base)
SDX_ISA_LIST(avx2)
SDX_ISA_LIST(avx512)
SDX_ISA_LIST(neon)
#undef SDX_ISA_LIST
#define SDX_KERNEL(name, parameters)                                                              \
    void sdx_##name##_base parameters;                                                            \
    void sdx_##name##_avx2 parameters;                                                            \
    void sdx_##name##_avx512 parameters;                                                          \
    void sdx_##name##_neon parameters;
#include "kernels/kernels.def"
#undef SDX_KERNEL

/* The best that the machine and SARDONYX_CPU (scalar, avx2, avx512, neon) allow; or what this thread has
 * asked for. */
const sdx_kernels *sdx_kernels_get(void);
/* Until it is called with NULL, this thread alone gets these, which the machine must be able to run: to
 * pack weights for another set. */
void sdx_kernels_use(const sdx_kernels *kernels);
/* Whether tiles of one vector, which do a load for each multiply-add, are quicker with half the loads and some
 * work in registers instead: on processors that multiply whole vectors of 512 bits as often as they load
 * them (Zen 5: 24.9 to 21.1 cycles a vector of 32 terms). Elsewhere the work is in the way (Zen 4: 80
 * instead of 110 GFLOP/s). */
bool sdx_kernels_share_loads(void);
/* For tests and measurements: as told from now on, in all threads. */
void sdx_kernels_set_sharing(bool share);
/* The index-th set that can run here, from plain to best; NULL past the end. */
const sdx_kernels *sdx_kernels_at(size_t index);

#endif
