/* bench_machine.c - what a benchmark runs on, and what else the machine did meanwhile: other
 * processes, changes of the frequency, throttling. */
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define BUSY_SHARE      0.05 /* others may have this much of the processors' time without a warning */
#define FREQUENCY_RATIO 1.1 /* as may the frequency change */
#define LOAD_PER_CORE   0.5

/* The first line of a file, without its end; false where there is none. */
static bool first_line(const char *path, char *line, size_t size) {
    FILE *file = fopen(path, "r");
    line[0] = 0;
    if (!file) return false;
    bool good = fgets(line, (int)size, file) != NULL;
    fclose(file);
    line[strcspn(line, "\n")] = 0;
    return good;
}

/* The value of the first line that begins with `key`, behind ':' or '='. */
static bool find_line(const char *path, const char *key, char *value, size_t size) {
    FILE *file = fopen(path, "r");
    char line[4096];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        const char *at = line + strcspn(line, ":=");
        at += strspn(at, ":= \t\"");
        snprintf(value, size, "%.*s", (int)strcspn(at, "\"\n"), at);
        found = true;
    }
    if (file) fclose(file);
    return found;
}

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return true;
    return false;
}

static void describe_processor(bench_results *r, bench_environment *e) {
    static const char *const known[] = {
        "sse4_2",      "avx",         "f16c",     "fma",   "avx2",    "avx_vnni", "avx512f",
        "avx512_vnni", "avx512_bf16", "amx_tile", "asimd", "asimddp", "sve",      "sve2"};
    char value[4096];
    if (find_line("/proc/cpuinfo", "model name", value, sizeof value))
        bench_set_text(r, &e->cpu, value);
    text features = {0};
    if (find_line("/proc/cpuinfo", "flags", value, sizeof value) ||
        find_line("/proc/cpuinfo", "Features", value, sizeof value)) {
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (has_word(value, known[i]))
                text_add(&features, "%s%s", features.length ? " " : "", known[i]);
        if (has_word(value, "hypervisor")) bench_set_text(r, &e->hypervisor, "virtual machine");
    }
    bench_set_text(r, &e->features, features.data);
    text_free(&features);
    if (first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", value, sizeof value))
        bench_set_text(r, &e->governor, value);
    bench_set_text(r, &e->isa, getenv("SARDONYX_CPU"));
}

void machine_describe(bench_results *r) {
    bench_environment *e = &r->environment;
    char value[4096];
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) && strftime(value, sizeof value, "%Y-%m-%dT%H:%M:%SZ", &utc))
        bench_set_text(r, &e->date, value);
    if (find_line("/etc/os-release", "PRETTY_NAME", value, sizeof value))
        bench_set_text(r, &e->os, value);
    struct utsname name;
    if (uname(&name) == 0) {
        snprintf(value, sizeof value, "%s %s %s", name.sysname, name.release, name.machine);
        bench_set_text(r, &e->kernel, value);
        bench_set_text(r, &e->cpu, name.machine); /* until something better is found */
    }
    describe_processor(r, e);
#if defined(__clang__)
    bench_set_text(r, &e->compiler, "clang " __clang_version__);
#elif defined(__GNUC__)
    bench_set_text(r, &e->compiler, "gcc " __VERSION__);
#endif
    e->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t usable;
    e->usable = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : e->cores;
    if (find_line("/proc/meminfo", "MemTotal", value, sizeof value)) e->memory = 1024 * atof(value);
    if (first_line("/proc/loadavg", value, sizeof value)) e->load_before = atof(value);
    if (e->load_before > LOAD_PER_CORE * e->cores)
        bench_add_warning(r, BENCH_NONE,
                          "the machine was busy before: %.2f processes wanted to run, "
                          "over the last minute, on %d cores",
                          e->load_before, e->cores);
    if (e->governor[0] && strcmp(e->governor, "performance") != 0)
        bench_add_warning(r, BENCH_NONE,
                          "the frequency is governed by '%s'; 'performance' keeps it "
                          "steady",
                          e->governor);
}

/* ---- while it runs
 * ------------------------------------------------------------------------------- */

/* Seconds of all processors since the start of the machine, and those of them without work. */
static void processor_times(double *total, double *idle) {
    char line[512];
    unsigned long long n[8] = {0};
    *total = *idle = 0;
    if (!first_line("/proc/stat", line, sizeof line)) return;
    sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2], &n[3], &n[4],
           &n[5], &n[6], &n[7]);
    double tick = (double)sysconf(_SC_CLK_TCK);
    for (int i = 0; i < 8; i++) *total += (double)n[i] / tick;
    *idle = (double)(n[3] + n[4]) / tick;
}

/* Times that processors were throttled since the start of the machine; NaN where it does not say.
 */
static double throttle_count(void) {
    double sum = (double)NAN;
    for (int cpu = 0; cpu < 1024; cpu++) {
        char path[128], line[64];
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu);
        if (!first_line(path, line, sizeof line)) break;
        sum = (isnan(sum) ? 0 : sum) + atof(line);
    }
    return sum;
}

void watch_start(machine_watch *w) {
    *w = (machine_watch){.frequency_min = (double)NAN, .frequency_max = (double)NAN};
    processor_times(&w->start_total, &w->start_idle);
    w->start_own = own_seconds();
    w->throttled = throttle_count();
    watch_sample(w);
}

static void note_frequency(machine_watch *w, double hertz) {
    if (!(hertz > 0)) return;
    if (!(w->frequency_min <= hertz)) w->frequency_min = hertz;
    if (!(w->frequency_max >= hertz)) w->frequency_max = hertz;
}

void watch_sample(machine_watch *w) {
    char line[256];
    bool found = false;
    for (int cpu = 0; cpu < 1024; cpu++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
        if (!first_line(path, line, sizeof line)) break;
        found = true;
        note_frequency(w, 1e3 * atof(line));
    }
    if (!found && find_line("/proc/cpuinfo", "cpu MHz", line, sizeof line))
        note_frequency(w, 1e6 * atof(line));
}

void watch_finish(machine_watch *w, bench_results *r) {
    bench_environment *e = &r->environment;
    double total, idle;
    processor_times(&total, &idle);
    total -= w->start_total;
    idle -= w->start_idle;
    if (total > 0) {
        double others = (total - idle - (own_seconds() - w->start_own)) / total;
        e->others = others > 0 ? others : 0;
    }
    e->frequency_min = w->frequency_min;
    e->frequency_max = w->frequency_max;
    e->throttled = throttle_count() - w->throttled;
    if (e->others > BUSY_SHARE)
        bench_add_warning(r, BENCH_NONE,
                          "other processes had %.0f %% of the processors' time "
                          "meanwhile",
                          100 * e->others);
    if (e->frequency_max > FREQUENCY_RATIO * e->frequency_min)
        bench_add_warning(r, BENCH_NONE, "the frequency changed meanwhile, from %.2f to %.2f GHz",
                          e->frequency_min * 1e-9, e->frequency_max * 1e-9);
    if (e->throttled > 0)
        bench_add_warning(r, BENCH_NONE,
                          "the processor was throttled %.0f times meanwhile: it was "
                          "too hot",
                          e->throttled);
}

double clock_step_ns(void) {
    double smallest = 1e9;
    for (int i = 0; i < 200; i++) {
        double a = now_ns(), z = a;
        while (z <= a) z = now_ns();
        if (z - a < smallest) smallest = z - a;
    }
    return smallest;
}
