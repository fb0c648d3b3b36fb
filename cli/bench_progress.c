/* bench_progress.c - how far a benchmark is and how long it will take, on one line of a terminal.
 */
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench.h"

#define REFRESH_NS 1e8

void progress_start(progress *p, double planned_s, bool quiet) {
    *p = (progress){
        .shown = !quiet && isatty(STDERR_FILENO), .start_ns = now_ns(), .planned_s = planned_s};
}

/* "1 h 05 min", "3 min 20 s", "12 s" */
static void put_span(char *to, size_t size, double seconds) {
    int s = seconds < 1 ? 1 : (int)ceil(seconds);
    if (s >= 3600) snprintf(to, size, "%d h %02d min", s / 3600, s / 60 % 60);
    else if (s >= 60) snprintf(to, size, "%d min %02d s", s / 60, s % 60);
    else snprintf(to, size, "%d s", s);
}

void progress_show(progress *p, const char *what, double within_s) {
    double now = now_ns();
    if (!p->shown || (p->last_ns > 0 && now - p->last_ns < REFRESH_NS)) return;
    p->last_ns = now;
    /* A group may take longer than was planned: what is shown does not go back when it ends. */
    double done = fmax(p->done_s + within_s, p->shown_s), passed = (now - p->start_ns) * 1e-9;
    p->shown_s = done;
    double share = p->planned_s > 0 ? done / p->planned_s : 0;
    if (share > 1) share = 1;
    char left[40] = "", line[300];
    /* What starting and loading take is not in the plan, and weighs most at the beginning: the pace
     * so far counts, within reason. */
    double pace = done > 0 ? passed / done : 1;
    if (share > 0.02)
        put_span(left, sizeof left, (p->planned_s - done) * (pace < 1 ? 1 : pace > 3 ? 3 : pace));
    struct winsize window = {0};
    int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 20
                    ? window.ws_col - 1
                    : 79;
    int length = snprintf(line, sizeof line, "%3.0f %%  %s%s%s", 100 * share, left,
                          left[0] ? " left  " : "", what);
    if (length > width) line[width < (int)sizeof line ? width : (int)sizeof line - 1] = 0;
    fputs("\r\033[K", stderr);
    put_safe(stderr, line);
    fflush(stderr);
}

void progress_done(progress *p, double seconds) { p->done_s += seconds; }

void progress_clear(progress *p) {
    if (p->shown && p->last_ns > 0) fputs("\r\033[K", stderr);
    p->shown = false;
}
