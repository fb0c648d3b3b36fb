/* cpus.c - what the machine leaves to this process. How many CPUs: the affinity mask, cut by the quota that a control
 * group (a container, a service) sets; contexts ask it when the caller leaves the thread count
 * open. How much memory: what the system calls available, cut by the limits of the groups; budgets ask it where the
 * caller gave no limit. And the size of the cache. All files are read defensively: one that is missing or strange
 * counts as "no quota". */
#include "base/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/threads.h"

#define PATH_ROOM 1024 /* a group whose path is longer counts as without a quota */

/* The file's first bytes as a string. */
static bool read_text(const char *path, char *text, size_t room) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    size_t used = 0;
    while (used < room - 1) {
        ssize_t got = read(file, text + used, room - 1 - used);
        if (got < 0 && errno == EINTR) continue;
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
static uint64_t cpus_of(uint64_t quota, uint64_t period) {
    if (quota == 0 || period == 0) return UINT64_MAX;
    return quota / period + (quota % period != 0);
}

/* Version 2: "200000 100000", or "max 100000" for none. */
static uint64_t quota_v2(const char *folder) {
    char path[PATH_ROOM + 32], text[128];
    uint64_t quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_text(path, text, sizeof text)) return UINT64_MAX;
    const char *at = text;
    if (!parse_number(&at, &quota) || !parse_number(&at, &period)) return UINT64_MAX;
    return cpus_of(quota, period);
}

/* Version 1: two files; a quota of -1 means none, and is refused by parse_number. */
static uint64_t quota_v1(const char *folder) {
    char path[PATH_ROOM + 32], text[128];
    uint64_t quota, period;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_text(path, text, sizeof text)) return UINT64_MAX;
    const char *at = text;
    if (!parse_number(&at, &quota)) return UINT64_MAX;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_text(path, text, sizeof text)) return UINT64_MAX;
    at = text;
    if (!parse_number(&at, &period)) return UINT64_MAX;
    return cpus_of(quota, period);
}

/* The least quota of a group and all groups around it. In a container the group's path is often
 * the host's and does not exist here; its own group then is the root, which the walk ends at. Not
 * inlined: one path is enough for a stack. */
__attribute__((noinline)) static uint64_t least_quota(const char *mount, const char *group,
                                                      uint64_t (*quota)(const char *folder)) {
    char folder[PATH_ROOM];
    size_t base = strlen(mount);
    /* ".." stands for groups outside of what this process may see. */
    if (strstr(group, "..") != NULL) group = "";
    int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder) return UINT64_MAX;
    uint64_t least = UINT64_MAX;
    size_t end = (size_t)length;
    for (;;) {
        while (end > base && folder[end - 1] == '/') end--;
        folder[end] = '\0';
        uint64_t found = quota(folder);
        if (found < least) least = found;
        if (end == base) return least;
        while (end > base && folder[end - 1] != '/') end--;
    }
}

/* Whether the controller is one of the names in "cpu,cpuacct". */
static bool names(const char *list, const char *controller) {
    const size_t length = strlen(controller);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (strncmp(at, controller, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* The least that the groups of this process are granted of what a controller shares out, in files of
 * version 1 or 2; UINT64_MAX: no group says. */
static uint64_t least_of(const char *root, const char *controller,
                         uint64_t (*v1)(const char *folder), uint64_t (*v2)(const char *folder)) {
    char path[256], mount[256], groups[2048];
    uint64_t least = UINT64_MAX;
    int length = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (length < 0 || (size_t)length >= sizeof path) return UINT64_MAX;
    if (!read_text(path, groups, sizeof groups)) return UINT64_MAX;
    /* Lines of "number:controllers:/group"; version 2 has number 0 and no controllers. */
    char *next = NULL;
    for (char *line = strtok_r(groups, "\n", &next); line != NULL;
         line = strtok_r(NULL, "\n", &next)) {
        char *list = strchr(line, ':');
        char *group = list == NULL ? NULL : strchr(list + 1, ':');
        if (group == NULL || group[1] != '/') continue;
        *list++ = '\0';
        *group++ = '\0';
        uint64_t found = UINT64_MAX;
        if (*list == '\0' && strcmp(line, "0") == 0) {
            length = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
            if (length > 0 && (size_t)length < sizeof mount) found = least_quota(mount, group, v2);
        } else if (names(list, controller)) {
            length = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, controller);
            if (length > 0 && (size_t)length < sizeof mount) found = least_quota(mount, group, v1);
        }
        if (found < least) least = found;
    }
    return least;
}

uint32_t sdx_cgroup_cpus(const char *root) {
    uint64_t cpus = least_of(root, "cpu", quota_v1, quota_v2);
    return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
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
        char path[384], text[64];
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

/* ---- memory --------------------------------------------------------------------------------------- */

/* The number behind a word at the start of a line: "MemAvailable:   1234 kB", "inactive_file 1234". */
static bool number_after(const char *text, const char *word, uint64_t *out) {
    const size_t length = strlen(word);
    for (const char *line = text; line != NULL && *line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, word, length) != 0) continue;
        line += length;
        return parse_number(&line, out);
    }
    return false;
}

static bool read_number(const char *folder, const char *name, uint64_t *out) {
    char path[PATH_ROOM + 64], text[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const char *at = text;
    return read_text(path, text, sizeof text) && parse_number(&at, out);
}

/* Of what a group uses, pages of files that nobody has looked at lately go when they are needed. */
static uint64_t group_left(const char *folder, const char *limit_name, const char *usage_name,
                           const char *cache_name) {
    uint64_t limit, usage, cache = 0;
    if (!read_number(folder, limit_name, &limit) || !read_number(folder, usage_name, &usage))
        return UINT64_MAX;
    char path[PATH_ROOM + 64], text[2048];
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    if (read_text(path, text, sizeof text)) number_after(text, cache_name, &cache);
    usage = usage > cache ? usage - cache : 0;
    return limit > usage ? limit - usage : 0;
}

static uint64_t left_v2(const char *folder) {
    return group_left(folder, "memory.max", "memory.current", "inactive_file ");
}

static uint64_t left_v1(const char *folder) {
    return group_left(folder, "memory.limit_in_bytes", "memory.usage_in_bytes",
                      "total_inactive_file ");
}

static uint64_t total_v2(const char *folder) {
    uint64_t limit;
    return read_number(folder, "memory.max", &limit) ? limit : UINT64_MAX;
}

static uint64_t total_v1(const char *folder) {
    uint64_t limit;
    return read_number(folder, "memory.limit_in_bytes", &limit) ? limit : UINT64_MAX;
}

void sdx_machine_memory(const char *root, uint64_t *total, uint64_t *left) {
    char path[PATH_ROOM], text[512];
    uint64_t kilobytes;
    *total = least_of(root, "memory", total_v1, total_v2);
    *left = least_of(root, "memory", left_v1, left_v2);
    snprintf(path, sizeof path, "%.256s/proc/meminfo", root);
    if (!read_text(path, text, sizeof text)) return;
    if (number_after(text, "MemTotal:", &kilobytes) && kilobytes < *total / 1024)
        *total = kilobytes * 1024;
    if (number_after(text, "MemAvailable:", &kilobytes) && kilobytes < *left / 1024)
        *left = kilobytes * 1024;
}
