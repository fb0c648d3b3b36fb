/* cpus.h - the part of sdx_usable_cpus that reads files, with a root of one's own for tests. */
#ifndef SDX_BASE_CPUS_H
#define SDX_BASE_CPUS_H

#include <stdint.h>

/* CPUs that the control groups of this process grant, rounded up; UINT32_MAX: no quota. Files are
 * looked up below root ("" in earnest): proc/self/cgroup and what lies in sys/fs/cgroup. */
uint32_t sdx_cgroup_cpus(const char *root);

/* Bytes of the largest cache that the first CPU uses, below root as above (sys/devices); a modest guess
 * where the system does not tell. */
uint64_t sdx_cache_bytes(const char *root);

#endif
