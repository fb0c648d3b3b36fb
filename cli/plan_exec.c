/* plan_exec.c - the strategy `exec:COMMAND` of `sardonyx plan`: any program that reads a placement
 * problem as CSV and writes it back with offsets. Processes are started here and not in the
 * library, which must also run where there are none. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plan.h"

#define LARGEST_ANSWER ((size_t)1 << 30) /* bytes */

typedef struct child {
    pid_t pid;
    int in, out; /* our ends of its pipes; -1 once closed */
    const char *problem;
    size_t size, sent;
    char *answer;
    size_t length, capacity;
    double deadline; /* 0: none */
} child;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void close_end(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* In a process group of its own, so that the shell's children end with it. */
static int spawn(child *c, const char *command_text, const int in[2], const int out[2]) {
    char *arguments[] = {"sh", "-c", (char *)(uintptr_t)command_text, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    int problem = posix_spawn(&c->pid, "/bin/sh", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return problem;
}

static bool start(child *c, const char *command_text) {
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    int problem = pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ? errno : 0;
    if (!problem) problem = spawn(c, command_text, in, out);
    close_end(&in[0]);
    close_end(&out[1]);
    c->in = in[1];
    c->out = out[0];
    if (problem) {
        close_end(&c->in);
        close_end(&c->out);
        complain("exec: cannot start a shell: %s", strerror(problem));
        return false;
    }
    fcntl(c->in, F_SETFL, O_NONBLOCK);
    return true;
}

static void send_some(child *c) {
    ssize_t sent = write(c->in, c->problem + c->sent, c->size - c->sent);
    if (sent > 0) c->sent += (size_t)sent;
    /* A program may know enough before it has read all. */
    bool broken = sent < 0 && errno != EAGAIN && errno != EINTR;
    if (broken || c->sent == c->size) close_end(&c->in);
}

static bool receive_some(child *c) {
    if (c->length == c->capacity) {
        size_t capacity = c->capacity ? c->capacity * 2 : 65536;
        char *more = capacity <= LARGEST_ANSWER ? realloc(c->answer, capacity) : NULL;
        if (!more) {
            complain("exec: the answer is too long");
            return false;
        }
        c->answer = more;
        c->capacity = capacity;
    }
    ssize_t got = read(c->out, c->answer + c->length, c->capacity - c->length);
    if (got > 0) c->length += (size_t)got;
    if (got == 0 || (got < 0 && errno != EINTR)) close_end(&c->out);
    return true;
}

/* Sends and receives until the program closes its output; false when time is over. */
static bool exchange(child *c) {
    while (c->out >= 0) {
        struct pollfd fds[2] = {{.fd = c->out, .events = POLLIN}, {.fd = c->in, .events = POLLOUT}};
        double left = c->deadline > 0 ? c->deadline - now() : 3600;
        if (left <= 0) {
            complain("exec: not done within the time limit");
            return false;
        }
        int ready = poll(fds, 2, (int)(left > 3600 ? 3600000 : left * 1000 + 1));
        if (ready < 0 && errno != EINTR) return false;
        if (ready <= 0) continue;
        if (c->in >= 0 && fds[1].revents) send_some(c);
        if (fds[0].revents && !receive_some(c)) return false;
    }
    return true;
}

/* Ends the program where it has not ended by itself. */
static bool finish(child *c, bool good) {
    close_end(&c->in);
    close_end(&c->out);
    int status = 0;
    bool ended = false;
    while (good && !ended && (c->deadline == 0 || now() < c->deadline)) {
        ended = waitpid(c->pid, &status, WNOHANG) != 0;
        if (!ended) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (!ended) {
        kill(-c->pid, SIGKILL);
        while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) continue;
        if (good) complain("exec: not done within the time limit");
        return false;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    if (WIFEXITED(status)) complain("exec: the command returned %d", WEXITSTATUS(status));
    else complain("exec: the command was ended by signal %d", WTERMSIG(status));
    return false;
}

bool plan_by_command(plan_session *session, const char *command_text, sdx_plan_result *result) {
    child c = {.in = -1, .out = -1};
    double begin = now();
    c.size = sdx_plan_problem_csv(session->problem, false, NULL, 0);
    char *problem = malloc(c.size + 1);
    if (!problem) {
        out_of_memory();
        return false;
    }
    sdx_plan_problem_csv(session->problem, false, problem, c.size + 1);
    c.problem = problem;
    if (session->options.time_limit > 0) c.deadline = begin + session->options.time_limit;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    bool good = start(&c, command_text);
    if (good) {
        good = exchange(&c);
        good = finish(&c, good);
    }
    signal(SIGPIPE, before);
    sdx_error error;
    sdx_error_clear(&error);
    if (good && sdx_plan_problem_take_answer(session->problem, c.answer, c.length,
                                             "the command's answer", &session->options, result,
                                             &error) != SDX_STATUS_OK) {
        report_error(NULL, &error);
        good = false;
    }
    result->seconds = now() - begin;
    free(problem);
    free(c.answer);
    return good;
}
