/* bench_process.c - starts a process and measures it as a whole: wall clock, what wait4 tells, and
 * the hardware's counters through perf_event_open where there are any. */
#include "bench_process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
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
    what.inherit = 1;        /* threads and children too */
    what.exclude_kernel = 1; /* what everybody may count */
    what.exclude_hv = 1;
    /* There may be fewer counters than events: then each counts for a part of the time. */
    what.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &what, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static double read_counter(int file) {
    uint64_t numbers[3]; /* count, time enabled, time running */
    if (file < 0 || read(file, numbers, sizeof numbers) != (ssize_t)sizeof numbers)
        return (double)NAN;
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

typedef struct started {
    pid_t pid;
    int gate; /* closing it lets the process go */
    int out;  /* its standard output */
} started;

static void become(char *const *argv, int gate, int out, const char *in, const char *log) {
    int input = open(in, O_RDONLY), messages = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    sigset_t none;
    char go;
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(input, 0) < 0 || dup2(out, 1) < 0 || dup2(messages, 2) < 0) _exit(126);
    /* Until the counters are open. */
    while (read(gate, &go, 1) < 0 && errno == EINTR) {
    }
    execvp(argv[0], argv);
    _exit(127);
}

static bool start(char *const *argv, const char *in, const char *log, started *s, char *problem,
                  size_t size) {
    int gate[2] = {-1, -1}, out[2] = {-1, -1};
    bool good = pipe2(gate, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC | O_NONBLOCK) == 0;
    if (!good) snprintf(problem, size, "no pipe: %s", strerror(errno));
    fflush(NULL);
    s->pid = good ? fork() : -1;
    if (s->pid == 0) {
        close(gate[1]);
        fcntl(out[1], F_SETFL, 0); /* of the child's end alone: it may wait */
        become(argv, gate[0], out[1], in, log);
    }
    if (good && s->pid < 0) snprintf(problem, size, "cannot start: %s", strerror(errno));
    if (gate[0] >= 0) close(gate[0]);
    if (out[1] >= 0) close(out[1]);
    s->gate = gate[1];
    s->out = out[0];
    if (s->pid > 0) return true;
    if (s->gate >= 0) close(s->gate);
    if (s->out >= 0) close(s->out);
    return false;
}

static double seconds_ns(struct timeval t) {
    return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3;
}

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

/* Takes what the process has said; notes when its first line was whole. False: it says no more. */
static bool hear(int out, process_facts *facts, double start_ns) {
    char piece[65536];
    ssize_t size = read(out, piece, sizeof piece);
    if (size < 0) return errno == EINTR || errno == EAGAIN;
    if (size == 0) return false;
    if (facts->said.length < PROCESS_MOST_SAID) text_add(&facts->said, "%.*s", (int)size, piece);
    if (isnan(facts->ready_ns) && memchr(piece, '\n', (size_t)size))
        facts->ready_ns = now_ns() - start_ns;
    return true;
}

static void on_child(int number) { (void)number; }

/* Listens until the process is gone, which a signal tells; its children may keep the pipe open. */
static pid_t await(const started *s, process_facts *facts, double start_ns, double timeout_s,
                   const sigset_t *mask, struct rusage *usage) {
    struct pollfd wait = {.fd = s->out, .events = POLLIN};
    for (;;) {
        pid_t gone = wait4(s->pid, &facts->status, WNOHANG, usage);
        if (gone != 0 && !(gone < 0 && errno == EINTR)) return gone;
        double left_s = timeout_s - (now_ns() - start_ns) * 1e-9;
        if (left_s <= 0) facts->late = true;
        if (interrupted() || facts->late) process_kill(s->pid);
        if (left_s < 0.1) left_s = 0.1;
        struct timespec left = {.tv_sec = (time_t)left_s,
                                .tv_nsec = (long)((left_s - (double)(time_t)left_s) * 1e9)};
        if (ppoll(&wait, 1, &left, mask) > 0 && !hear(s->out, facts, start_ns)) wait.fd = -1;
    }
}

bool process_measure(char *const *argv, const char *in, const char *log, double timeout_s,
                     process_facts *facts, char *problem, size_t size) {
    sigset_t awaited, before;
    struct sigaction action = {.sa_handler = on_child}, old;
    started s;
    for (int i = 0; i < METRIC_COUNT; i++) facts->figures[i] = (double)NAN;
    facts->ready_ns = (double)NAN;
    facts->late = false;
    text_clear(&facts->said);
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    sigprocmask(SIG_BLOCK, &awaited, &before); /* they come while ppoll waits, and not before */
    sigaction(SIGCHLD, &action, &old);
    pid_t gone = -1;
    if (start(argv, in, log, &s, problem, size)) {
        int files[COUNTERS];
        for (size_t i = 0; i < COUNTERS; i++) files[i] = open_counter(wanted[i].event, s.pid);
        struct rusage usage;
        double start_ns = now_ns();
        close(s.gate); /* now */
        gone = await(&s, facts, start_ns, timeout_s, &before, &usage);
        double end_ns = now_ns();
        if (gone == s.pid) note_usage(facts, &usage, end_ns - start_ns);
        else snprintf(problem, size, "cannot be waited for: %s", strerror(errno));
        for (size_t before_it = SIZE_MAX;
             facts->said.length != before_it;) { /* what is still in the pipe */
            before_it = facts->said.length;
            if (!hear(s.out, facts, start_ns)) break;
        }
        close(s.out);
        for (size_t i = 0; i < COUNTERS; i++) {
            facts->figures[wanted[i].metric] = read_counter(files[i]);
            if (files[i] >= 0) close(files[i]);
        }
    }
    sigaction(SIGCHLD, &old, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return gone > 0;
}
