/* table.c - the kernels of one instruction set, as kernels.def lists them. */
#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

#define SDX_TEXT_(x) #x
#define SDX_TEXT(x)  SDX_TEXT_(x)

const sdx_kernels SDX_NAME(sdx_kernels) = {
    .isa = SDX_TEXT(SDX_ISA),
    .lanes = VL,
    .pairs = SIMD_REGISTERS >= 32,
#ifdef SIMD_PAIRS
    .halves = true,
#endif
#if !SDX_ONE_SET
#define SDX_KERNEL(name, parameters) .name = SDX_NAME(sdx_##name),
#include "kernels/kernels.def"
#undef SDX_KERNEL
#endif
};
