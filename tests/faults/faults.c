/* faults.c - every call that can fail, fails once: for each scenario and each kind of call it counts the calls
 * of a faultless run, then repeats the scenario with the n-th call failing, alone or with all after it, for
 * every n. Each time: a status that fits and a message, or the same results as without; nothing leaks; and
 * for every other n the stage that failed is called again without faults, on the same objects, and all results
 * must then be those of the faultless run.
 * usage: faults [--most N] SCRATCH SCENARIO..     with N: about so many n of each kind, evenly spread
 * scenario: WHAT:PATH[:OPTION].. with options level=N, threads=N, slice=N, copy, memory, allocator */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios.h"

#ifdef FAULT_WRAP
#include <sanitizer/lsan_interface.h>
#endif

typedef struct sweep {
    scenario given;
    const char *text; /* as on the command line */
    uint64_t print;
    size_t most, points, failures; /* failures: of this program's checks */
    size_t errors, tolerated;      /* points that gave an error, and that gave the results all the same */
    size_t again;                  /* stages that failed and then succeeded */
    long live;
    size_t descriptors;
} sweep;

static size_t open_descriptors(void) {
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count;
}

/* ---- one point ------------------------------------------------------------------------------------------ */

static bool complain(sweep *w, fault_kind kind, fault_way way, size_t at, const scenario *s,
                     const char *what) {
    printf("%s: %s %zu%s, stage '%s': %s (%s: %s)\n", w->text, fault_name(kind), at,
           way == FAULT_ON ? " and on" : way == FAULT_SHORT ? " in parts" : "", s->stage, what,
           sdx_status_name(s->failed), s->failed ? s->first.message : "");
    w->failures++;
    return false;
}

static bool fitting(fault_kind kind, sdx_status status) {
    if (kind == FAULT_MEMORY || kind == FAULT_ALLOCATOR) return status == SDX_STATUS_NO_MEMORY;
    return status == SDX_STATUS_IO || (kind == FAULT_MAP && status == SDX_STATUS_NO_MEMORY);
}

static bool nothing_left(const sweep *w) {
    return fault_live() <= w->live && fault_allocator_live() == 0 &&
           open_descriptors() <= w->descriptors;
}

static bool check_point(sweep *w, fault_kind kind, fault_way way, size_t at) {
    static scenario s; /* its error is large; and the last one is kept for a debugger */
    s = w->given;
    s.again = at % 2 == 0;
    fault_arm(kind, way, at);
    scenario_run(&s);
    bool hit = fault_happened();
    fault_disarm();
    w->points++;
    if (s.failed == SDX_STATUS_OK) {
        w->tolerated += hit;
        if (s.print != w->print) return complain(w, kind, way, at, &s, "other results, without an error");
    } else {
        w->errors++;
        if (way == FAULT_SHORT) return complain(w, kind, way, at, &s, "an error");
        if (!fitting(kind, s.failed)) return complain(w, kind, way, at, &s, "an odd status");
        if (s.first.code != s.failed || !s.first.message[0])
            return complain(w, kind, way, at, &s, "no message");
        if (s.bad_retry) return complain(w, kind, way, at, &s, "it fails without faults, too");
        if (s.again && s.print != w->print) return complain(w, kind, way, at, &s, "other results afterwards");
        w->again += s.again;
    }
    if (!nothing_left(w)) return complain(w, kind, way, at, &s, "something was not given back");
    return true;
}

/* ---- one scenario ----------------------------------------------------------------------------------------- */

static void sweep_kind(sweep *w, fault_kind kind, size_t calls) {
    size_t stride = w->most && calls > w->most ? calls / w->most : 1;
    stride += stride % 2 == 0; /* odd: both of what check_point does with even and odd numbers */
    for (size_t at = 1; at <= calls && w->failures < 20; at += stride)
        for (fault_way way = FAULT_ONCE; way <= FAULT_ON; way++) check_point(w, kind, way, at);
    if ((kind == FAULT_READ || kind == FAULT_WRITE) && calls) check_point(w, kind, FAULT_SHORT, 1);
}

static bool read_option(scenario *s, const char *option) {
    const char *equals = strchr(option, '=');
    long long number = equals ? atoll(equals + 1) : 0;
    if (strncmp(option, "level=", 6) == 0) s->level = (int)number;
    else if (strncmp(option, "threads=", 8) == 0) s->threads = (uint32_t)number;
    else if (strncmp(option, "slice=", 6) == 0) s->slice = number;
    else if (strcmp(option, "copy") == 0) s->load_flags |= SDX_LOAD_COPY;
    else if (strcmp(option, "memory") == 0) s->from_memory = true;
    else if (strcmp(option, "allocator") == 0) s->own_allocator = true;
    else return false;
    return true;
}

static bool read_scenario(char *text, scenario *s) {
    *s = (scenario){.level = 3, .threads = 1, .scratch = s->scratch};
    s->what = strtok(text, ":");
    s->path = strtok(NULL, ":");
    for (char *option; (option = strtok(NULL, ":"));)
        if (!read_option(s, option)) return false;
    return s->what && s->path;
}

static bool sweep_scenario(sweep *w) {
    size_t calls[FAULT_KINDS];
    scenario s;
    for (int warm = 0; warm < 3; warm++) { /* libraries beneath keep what they take first */
        s = w->given;
        fault_arm(FAULT_MEMORY, FAULT_ONCE, 0);
        scenario_run(&s);
        for (int k = 0; k < FAULT_KINDS; k++) calls[k] = fault_count((fault_kind)k);
        if (s.failed != SDX_STATUS_OK) {
            printf("%s: stage '%s' fails without faults: %s\n", w->text, s.stage, s.error.message);
            return false;
        }
        w->print = s.print;
    }
    w->live = fault_live();
    w->descriptors = open_descriptors();
    for (int k = 0; k < FAULT_KINDS; k++) {
        if (k == FAULT_MEMORY && s.own_allocator) continue; /* the same scenario without it has these */
        sweep_kind(w, (fault_kind)k, calls[k]);
    }
#ifdef FAULT_WRAP
    if (__lsan_do_recoverable_leak_check()) {
        printf("%s: leaks\n", w->text);
        w->failures++;
    }
#endif
    printf("%s: %zu points, %zu errors, %zu tolerated, %zu right the second time, %zu wrong\n", w->text,
           w->points, w->errors, w->tolerated, w->again, w->failures);
    return w->failures == 0;
}

int main(int argc, char **argv) {
    size_t most = 0, points = 0, errors = 0, again = 0;
    int first = 1, failed = 0;
    if (argc > 2 && strcmp(argv[1], "--most") == 0) {
        most = (size_t)atoll(argv[2]);
        first = 3;
    }
    static char buffer[1 << 14]; /* else the first line printed counts as memory that is not given back */
    setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
    for (int i = first + 1; i < argc; i++) {
        char text[2000];
        snprintf(text, sizeof text, "%s", argv[i]);
        sweep w = {.text = argv[i], .most = most, .given = {.scratch = argv[first]}};
        if (!read_scenario(text, &w.given)) {
            printf("%s: no scenario\n", argv[i]);
            return 2;
        }
        failed += !sweep_scenario(&w);
        points += w.points;
        errors += w.errors;
        again += w.again;
    }
    printf("%d scenarios, %zu points, %zu errors, %zu right the second time, %d scenarios wrong\n",
           argc - first - 1, points, errors, again, failed);
    return failed ? 1 : 0;
}
