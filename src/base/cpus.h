/* cpus.h - what the machine leaves to this process, as its files tell: CPUs, cache, memory; with a root of
 * one's own for tests. */
#ifndef SDX_BASE_CPUS_H
#define SDX_BASE_CPUS_H

#include <stdint.h>

/* CPUs that the control groups of this process grant, rounded up; UINT32_MAX: no quota. Files are
 * looked up below root ("" in earnest): proc/self/cgroup and what lies in sys/fs/cgroup. */
uint32_t sdx_cgroup_cpus(const char *root);

/* Bytes of the largest cache that the first CPU uses, below root as above (sys/devices); a modest guess
 * where the system does not tell. */
uint64_t sdx_cache_bytes(const char *root);

/* Bytes of memory, swap left aside, that this process and its control groups have in all, and that are left
 * to take. UINT64_MAX where the system does not tell. */
void sdx_machine_memory(const char *root, uint64_t *total, uint64_t *left);

#endif
