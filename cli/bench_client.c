/* bench_client.c - a runner's process and the lines that go to it and come back. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define START_TIMEOUT_S 180

double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- interruption -------------------------------------------------------------------------------
 */

static volatile sig_atomic_t stopped;

static void on_signal(int number) {
    (void)number;
    stopped = 1;
}

bool interrupted(void) { return stopped != 0; }

void catch_interrupts(void) {
    /* Once: the second time ends the program the usual way. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- processor time
 * ------------------------------------------------------------------------------ */

static pid_t *live; /* of the runners; 0: free */
static size_t live_count;

/* Puts `new` where `old` is; 0 and a process: it lives from now on. */
static void note_live(pid_t old, pid_t new) {
    size_t at = 0;
    while (at < live_count && live[at] != old) at++;
    if (at == live_count) {
        pid_t *more = realloc(live, (live_count + 1) * sizeof *live);
        if (!more) return; /* its time counts as that of others until it ends */
        live = more;
        live_count++;
    }
    live[at] = new;
}

static double seconds_of(pid_t pid) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    size_t size = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[size] = 0;
    const char *rest = strrchr(line, ')'); /* the name before it may hold anything */
    unsigned long long user = 0, system = 0;
    if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
                        &system) != 2)
        return 0;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double usage_seconds(int who) {
    struct rusage usage;
    if (getrusage(who, &usage) != 0) return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

double own_seconds(void) {
    double sum = usage_seconds(RUSAGE_SELF) + usage_seconds(RUSAGE_CHILDREN);
    for (size_t i = 0; i < live_count; i++)
        if (live[i]) sum += seconds_of(live[i]);
    return sum;
}

/* ---- lines
 * ---------------------------------------------------------------------------------------- */

bool field_ok(const char *field) { return strpbrk(field, "\t\n") == NULL; }

static void set_problem(client *c, const char *format, ...) CLI_PRINTF(2);

static void set_problem(client *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->problem, sizeof c->problem, format, arguments);
    va_end(arguments);
    for (char *at = c->problem; *at; at++)
        if (*at == '\n' || *at == '\t') *at = ' ';
}

static void close_pipes(client *c) {
    if (c->in >= 0) close(c->in);
    if (c->out >= 0) close(c->out);
    c->in = c->out = -1;
}

void process_kill(pid_t pid) {
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
}

/* A runner that has nothing to do is stopped: threads of many engines go on spinning after their work, and
 * would take the processors of whoever is measured next. It has a process group of its own; should this
 * program die, the system wakes it and hangs up. */
static void rest(const client *c) {
    if (c->pid > 0) kill(-c->pid, SIGSTOP);
}

static void wake(const client *c) {
    if (c->pid > 0) kill(-c->pid, SIGCONT);
}

/* Gives the process some time to end by itself; its input is closed. */
static void collect(client *c, bool end_it) {
    int status = 0;
    if (c->pid <= 0) return;
    close_pipes(c);
    wake(c);
    double end = now_ns() + (end_it ? 0 : 10e9);
    pid_t gone = 0;
    while (!end_it && (gone = waitpid(c->pid, &status, WNOHANG)) == 0 && now_ns() < end)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (gone == 0) {
        process_kill(c->pid);
        while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {
        }
    } else if (WIFSIGNALED(status)) set_problem(c, "ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status)) set_problem(c, "ended with exit code %d", WEXITSTATUS(status));
    else if (!c->problem[0]) set_problem(c, "ended too early");
    note_live(c->pid, 0);
    c->pid = 0;
}

/* Reads until there is a whole line; its length, or -1. */
static long read_line(client *c, double timeout_s) {
    double end = now_ns() + timeout_s * 1e9;
    for (;;) {
        char *found = c->waiting.length ? memchr(c->waiting.data, '\n', c->waiting.length) : NULL;
        if (found) return found - c->waiting.data;
        struct pollfd wait = {.fd = c->out, .events = POLLIN};
        double left_ms = (end - now_ns()) * 1e-6;
        int ready = left_ms > 0 ? poll(&wait, 1, left_ms > 500 ? 500 : (int)left_ms + 1) : -2;
        if (stopped) {
            set_problem(c, "interrupted");
            collect(c, true);
            return -1;
        }
        if (ready == 0 || (ready < 0 && errno == EINTR && ready != -2)) continue;
        if (ready < 0) {
            set_problem(c, "no answer in %g s", timeout_s);
            collect(c, true);
            return -1;
        }
        char piece[65536];
        ssize_t size = read(c->out, piece, sizeof piece);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) {
            c->problem[0] = 0;
            collect(c, false);
            return -1;
        }
        text_add(&c->waiting, "%.*s", (int)size, piece);
        if (!c->waiting.data) {
            set_problem(c, "out of memory");
            collect(c, true);
            return -1;
        }
    }
}

static json_value *read_answer(client *c, double timeout_s) {
    long length = read_line(c, timeout_s);
    if (length < 0) return NULL;
    json_value *answer = json_parse(c->waiting.data, (size_t)length);
    if (!answer)
        set_problem(c, "answers '%.*s'", length > 200 ? 200 : (int)length, c->waiting.data);
    memmove(c->waiting.data, c->waiting.data + length + 1, c->waiting.length - (size_t)length);
    c->waiting.length -= (size_t)length + 1;
    const char *error = json_get_text(answer, "error");
    if (!error) return answer;
    set_problem(c, "%s", error);
    json_free(answer);
    return NULL;
}

/* ---- processes
 * ------------------------------------------------------------------------------------- */

static void become_runner(char *const *argv, const int in[2], const int out[2], const char *log) {
    int messages = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    setpgid(0, 0); /* Ctrl-C is for this program; it ends its runners itself */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 || dup2(messages, 2) < 0) _exit(126);
    execv(argv[0], argv);
    _exit(127);
}

bool client_start(client *c, char *const *argv, const char *log) {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    *c = (client){.in = -1, .out = -1, .started_ns = now_ns()};
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        set_problem(c, "no pipe: %s", strerror(errno));
        for (int i = 0; i < 2; i++) {
            if (in[i] >= 0) close(in[i]);
            if (out[i] >= 0) close(out[i]);
        }
        return false;
    }
    fflush(NULL);
    c->pid = fork();
    if (c->pid == 0) become_runner(argv, in, out, log);
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->out = out[0];
    if (c->pid < 0) {
        set_problem(c, "cannot start: %s", strerror(errno));
        c->pid = 0;
        close_pipes(c);
        return false;
    }
    note_live(0, c->pid);
    c->hello = read_answer(c, START_TIMEOUT_S);
    c->ready_ns = now_ns();
    rest(c);
    if (c->hello) return true;
    client_quit(c); /* it has said what is wrong */
    return false;
}

static bool send_all(client *c, const char *line, size_t size) {
    while (size > 0) {
        ssize_t sent = write(c->in, line, size);
        if (sent < 0 && errno == EINTR && !stopped) continue;
        if (sent < 0) return false;
        line += sent;
        size -= (size_t)sent;
    }
    return true;
}

json_value *client_ask(client *c, double timeout_s, const char *format, ...) {
    char stack[4096], *line = stack;
    if (c->pid <= 0) return NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(stack, sizeof stack - 1, format, arguments);
    va_end(arguments);
    if (length < 0) return NULL;
    if ((size_t)length >= sizeof stack - 1) {
        line = malloc((size_t)length + 2);
        if (!line) {
            set_problem(c, "out of memory");
            return NULL;
        }
        va_start(arguments, format);
        vsnprintf(line, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    line[length] = '\n';
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before); /* a runner that is gone is an answer, not the end */
    wake(c);
    bool sent = send_all(c, line, (size_t)length + 1);
    sigaction(SIGPIPE, &before, NULL);
    if (line != stack) free(line);
    if (sent) {
        json_value *answer = read_answer(c, timeout_s);
        rest(c);
        return answer;
    }
    c->problem[0] = 0;
    collect(c, false);
    return NULL;
}

void client_quit(client *c) {
    char problem[sizeof c->problem];
    memcpy(problem, c->problem, sizeof problem);
    collect(c, false);
    json_free(c->hello);
    text_free(&c->waiting);
    *c = (client){.in = -1, .out = -1};
    memcpy(c->problem, problem, sizeof problem);
}
