/* bench_process.h - one whole process, from start to exit, and what the system says about it. */
#ifndef SDX_CLI_BENCH_PROCESS_H
#define SDX_CLI_BENCH_PROCESS_H

#include <stdbool.h>

#include "bench_results.h"
#include "cli.h"

enum { PROCESS_MOST_SAID = 1 << 20 }; /* of what a process says, so much is kept */

/* Zero it to start; it can be used again, and its text is freed by the caller. */
typedef struct process_facts {
    double figures[METRIC_COUNT]; /* NaN: not available */
    double ready_ns;              /* until its first line; NaN: there was none */
    text said;                    /* its standard output */
    int status;                   /* of wait4 */
    bool late;                    /* it was ended after timeout_s */
} process_facts;

/* Runs a command with the file `in` as standard input, for timeout_s seconds at most; messages go to the
 * file `log`. False with a problem where it could not be started or waited for. */
bool process_measure(char *const *argv, const char *in, const char *log, double timeout_s,
                     process_facts *facts, char *problem, size_t size);
/* Why hardware counters are not available here; "" where they are. */
void counters_missing(char *reason, size_t size);

#endif
