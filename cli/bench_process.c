/* bench_process.c - starts a process and measures it as a whole: wall clock, what wait4 tells, and the
 * hardware's counters through perf_event_open where there are any. */
#include "bench_process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/syscall.h>
#endif

#include "bench.h"

typedef struct counter {
    bench_metric metric;
    uint64_t event;
    int file; /* -1: not available */
} counter;

#if defined(__linux__)
static const counter wanted[] = {
    {METRIC_CYCLES, PERF_COUNT_HW_CPU_CYCLES, -1},
    {METRIC_INSTRUCTIONS, PERF_COUNT_HW_INSTRUCTIONS, -1},
    {METRIC_BRANCHES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, -1},
    {METRIC_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_MISSES, -1},
    {METRIC_CACHE_MISSES, PERF_COUNT_HW_CACHE_MISSES, -1},
};

static int open_counter(uint64_t event, pid_t pid) {
    struct perf_event_attr what;
    memset(&what, 0, sizeof what);
    what.type = PERF_TYPE_HARDWARE;
    what.size = sizeof what;
    what.config = event;
    what.disabled = 1;
    what.enable_on_exec = 1;
    what.inherit = 1; /* threads and children too */
    what.exclude_kernel = 1; /* what everybody may count */
    what.exclude_hv = 1;
    /* There may be fewer counters than events: then each counts for a part of the time. */
    what.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &what, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static double read_counter(int file) {
    uint64_t numbers[3]; /* count, time enabled, time running */
    if (file < 0 || read(file, numbers, sizeof numbers) != (ssize_t)sizeof numbers) return (double)NAN;
    if (numbers[2] == 0) return (double)NAN;
    return (double)numbers[0] * ((double)numbers[1] / (double)numbers[2]);
}
#else
static const counter wanted[1] = {{METRIC_CYCLES, 0, -1}};

static int open_counter(uint64_t event, pid_t pid) {
    (void)event;
    (void)pid;
    errno = ENOSYS;
    return -1;
}

static double read_counter(int file) {
    (void)file;
    return (double)NAN;
}
#endif
#define COUNTERS (sizeof wanted / sizeof *wanted)

void counters_missing(char *reason, size_t size) {
    int file = open_counter(wanted[0].event, 0);
    reason[0] = 0;
    if (file >= 0) close(file);
    else if (errno == EACCES || errno == EPERM)
        snprintf(reason, size, "not allowed; see /proc/sys/kernel/perf_event_paranoid");
    else snprintf(reason, size, "the machine has none (%s)", strerror(errno));
}

static void become(char *const *argv, int gate, const char *in, const char *out, const char *log) {
    int input = open(in, O_RDONLY), output = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int messages = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    char go;
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(messages, 2) < 0) _exit(126);
    /* Until the counters are open. */
    while (read(gate, &go, 1) < 0 && errno == EINTR) {
    }
    execvp(argv[0], argv);
    _exit(127);
}

static double seconds_ns(struct timeval t) { return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3; }

static void note_usage(process_facts *facts, const struct rusage *usage, double wall_ns) {
    double *f = facts->figures;
    f[METRIC_TIME] = wall_ns;
    f[METRIC_USER] = seconds_ns(usage->ru_utime);
    f[METRIC_SYSTEM] = seconds_ns(usage->ru_stime);
    f[METRIC_CPUS] = wall_ns > 0 ? (f[METRIC_USER] + f[METRIC_SYSTEM]) / wall_ns : (double)NAN;
    f[METRIC_RSS_PEAK] = 1024.0 * (double)usage->ru_maxrss;
    f[METRIC_MINOR_FAULTS] = (double)usage->ru_minflt;
    f[METRIC_MAJOR_FAULTS] = (double)usage->ru_majflt;
    f[METRIC_VOLUNTARY_SWITCHES] = (double)usage->ru_nvcsw;
    f[METRIC_INVOLUNTARY_SWITCHES] = (double)usage->ru_nivcsw;
}

bool process_measure(char *const *argv, const char *in, const char *out, const char *log,
                     process_facts *facts, char *problem, size_t size) {
    int gate[2];
    for (int i = 0; i < METRIC_COUNT; i++) facts->figures[i] = (double)NAN;
    if (pipe2(gate, O_CLOEXEC) != 0) {
        snprintf(problem, size, "no pipe: %s", strerror(errno));
        return false;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        become(argv, gate[0], in, out, log);
    }
    close(gate[0]);
    if (pid < 0) {
        snprintf(problem, size, "cannot start: %s", strerror(errno));
        close(gate[1]);
        return false;
    }
    int files[COUNTERS];
    for (size_t i = 0; i < COUNTERS; i++) files[i] = open_counter(wanted[i].event, pid);
    struct rusage usage;
    double start = now_ns();
    close(gate[1]); /* now */
    pid_t gone;
    while ((gone = wait4(pid, &facts->status, 0, &usage)) < 0 && errno == EINTR)
        if (interrupted()) kill(pid, SIGKILL);
    double end = now_ns();
    if (gone == pid) note_usage(facts, &usage, end - start);
    else snprintf(problem, size, "cannot be waited for: %s", strerror(errno));
    for (size_t i = 0; i < COUNTERS; i++) {
        facts->figures[wanted[i].metric] = read_counter(files[i]);
        if (files[i] >= 0) close(files[i]);
    }
    return gone == pid;
}
