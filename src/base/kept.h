/* kept.h - what a build for certain models (SARDONYX_OPS) has of what it might lack: the parts of parts.def
 * and bodies of operators, by the names of their definitions. SDX_HAS(name) is a constant, 1 in any other build, so that a compiler
 * leaves out what stands behind a 0, and the linker what nothing refers to any more. tools/select_ops.cmake
 * writes kept.def from what `sardonyx ops --used` has noted. */
#ifndef SDX_BASE_KEPT_H
#define SDX_BASE_KEPT_H

#if SDX_SELECTED
#include "base/kept.def" /* #define SDX_KEEPS_name 1 */
/* A name that is defined becomes `0,` and moves the 1 into second place; another becomes one word. */
#define SDX_KEPT_MARK_1                   0,
#define SDX_KEPT_SECOND(first, second, ...) second
#define SDX_KEPT_LOOK(word)               SDX_KEPT_SECOND(word 1, 0, 0)
#define SDX_KEPT_AS(value)                SDX_KEPT_LOOK(SDX_KEPT_MARK_##value)
#define SDX_KEPT(keeps)                   SDX_KEPT_AS(keeps)
#define SDX_HAS(name)                     SDX_KEPT(SDX_KEEPS_##name)
#else
#define SDX_HAS(name) 1
#endif

#define SDX_NOT_IN_BUILD "not part of this build, which was made for certain models (SARDONYX_OPS)"

#endif
