/* cpus.c - the size of the cache, and how many CPUs this process may use: the affinity mask, cut by the quota that a control
 * group (a container, a service) sets. Contexts ask it when the caller leaves the thread count
 * open. All files are read defensively: one that is missing or strange counts as "no quota". */
#include "base/cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/threads.h"

#define PATH_ROOM 4608 /* a path of the kernel's limit and the folders before it */

/* The file's first bytes as a string. */
static bool read_text(const char *path, char *text, size_t room) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    size_t used = 0;
    while (used < room - 1) {
        ssize_t got = read(file, text + used, room - 1 - used);
        if (got <= 0) break;
        used += (size_t)got;
    }
    close(file);
    text[used] = '\0';
    return used > 0;
}

/* A decimal number without a sign; false where there is none or it is absurdly large. */
static bool parse_number(const char **text, uint64_t *out) {
    const char *at = *text;
    uint64_t value = 0;
    while (*at == ' ' || *at == '\t') at++;
    if (*at < '0' || *at > '9') return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > UINT64_MAX / 100) return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    *text = at;
    *out = value;
    return true;
}

/* quota / period rounded up: half a CPU still needs one thread. */
static uint32_t cpus_of(uint64_t quota, uint64_t period) {
    if (quota == 0 || period == 0) return UINT32_MAX;
    uint64_t cpus = quota / period + (quota % period != 0);
    return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

/* Version 2: "200000 100000", or "max 100000" for none. */
static uint32_t quota_v2(const char *folder) {
    char path[PATH_ROOM + 32], text[128];
    uint64_t quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_text(path, text, sizeof text)) return UINT32_MAX;
    const char *at = text;
    if (!parse_number(&at, &quota) || !parse_number(&at, &period)) return UINT32_MAX;
    return cpus_of(quota, period);
}

/* Version 1: two files; a quota of -1 means none, and is refused by parse_number. */
static uint32_t quota_v1(const char *folder) {
    char path[PATH_ROOM + 32], text[128];
    uint64_t quota, period;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_text(path, text, sizeof text)) return UINT32_MAX;
    const char *at = text;
    if (!parse_number(&at, &quota)) return UINT32_MAX;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_text(path, text, sizeof text)) return UINT32_MAX;
    at = text;
    if (!parse_number(&at, &period)) return UINT32_MAX;
    return cpus_of(quota, period);
}

/* The least quota of a group and all groups around it. In a container the group's path is often
 * the host's and does not exist here; its own group then is the root, which the walk ends at. */
static uint32_t least_quota(const char *mount, const char *group,
                            uint32_t (*quota)(const char *folder)) {
    char folder[PATH_ROOM];
    size_t base = strlen(mount);
    /* ".." stands for groups outside of what this process may see. */
    if (strstr(group, "..") != NULL) group = "";
    int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder) return UINT32_MAX;
    uint32_t least = UINT32_MAX;
    size_t end = (size_t)length;
    for (;;) {
        while (end > base && folder[end - 1] == '/') end--;
        folder[end] = '\0';
        uint32_t cpus = quota(folder);
        if (cpus < least) least = cpus;
        if (end == base) return least;
        while (end > base && folder[end - 1] != '/') end--;
    }
}

/* Whether "cpu" is one of the names in "cpu,cpuacct". */
static bool names_cpu(const char *names) {
    for (const char *at = names; at != NULL; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0')) return true;
    }
    return false;
}

uint32_t sdx_cgroup_cpus(const char *root) {
    char path[256], mount[256], groups[8192];
    uint32_t least = UINT32_MAX;
    int length = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (length < 0 || (size_t)length >= sizeof path) return UINT32_MAX;
    if (!read_text(path, groups, sizeof groups)) return UINT32_MAX;
    /* Lines of "number:controllers:/group"; version 2 has number 0 and no controllers. */
    char *next = NULL;
    for (char *line = strtok_r(groups, "\n", &next); line != NULL;
         line = strtok_r(NULL, "\n", &next)) {
        char *names = strchr(line, ':');
        char *group = names == NULL ? NULL : strchr(names + 1, ':');
        if (group == NULL || group[1] != '/') continue;
        *names++ = '\0';
        *group++ = '\0';
        uint32_t cpus = UINT32_MAX;
        if (*names == '\0' && strcmp(line, "0") == 0) {
            length = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
            if (length > 0 && (size_t)length < sizeof mount)
                cpus = least_quota(mount, group, quota_v2);
        } else if (names_cpu(names)) {
            length = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
            if (length > 0 && (size_t)length < sizeof mount)
                cpus = least_quota(mount, group, quota_v1);
        }
        if (cpus < least) least = cpus;
    }
    return least;
}

static uint32_t affinity_cpus(void) {
#if defined(__linux__)
    /* The kernel refuses a mask smaller than its own, so it is tried in growing sizes. */
    for (size_t cpus = 1024; cpus <= 65536; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (set == NULL) break;
        int count = 0;
        if (sched_getaffinity(0, CPU_ALLOC_SIZE(cpus), set) == 0)
            count = CPU_COUNT_S(CPU_ALLOC_SIZE(cpus), set);
        CPU_FREE(set);
        if (count > 0) return (uint32_t)count;
    }
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < 65536 ? (uint32_t)online : 1;
}

uint32_t sdx_usable_cpus(void) {
    uint32_t cpus = affinity_cpus(), quota = sdx_cgroup_cpus("");
    return quota < cpus ? quota : cpus;
}

uint64_t sdx_cache_bytes(const char *root) {
    uint64_t most = 0;
    /* Some levels are split; index counts the parts. sysconf is no help: it may name the caches of all
     * the chips together. */
    for (int index = 0; index < 8; index++) {
        char path[PATH_ROOM], text[64];
        uint64_t size;
        snprintf(path, sizeof path, "%.256s/sys/devices/system/cpu/cpu0/cache/index%d/size", root,
                 index);
        if (!read_text(path, text, sizeof text)) break;
        const char *at = text;
        if (!parse_number(&at, &size) || size > UINT32_MAX) continue;
        size *= *at == 'K' ? 1024 : *at == 'M' ? 1024 * 1024 : 1;
        if (size > most) most = size;
    }
    return most ? most : (uint64_t)4 << 20;
}
