/* runner.h - Sardonyx as a runner of the peers' protocol (docs/peer-protocol.md): a process that
 * loads one model and runs it when told to. `sardonyx runner` is one, and so is
 * bench/peers/sardonyx_runner.c, which adds a command. */
#ifndef SDX_CLI_RUNNER_H
#define SDX_CLI_RUNNER_H

#include <stdbool.h>

/* Answers commands from standard input until `quit` or its end. `extra`, if not NULL, is offered
 * commands that are not known here: it prints the whole answer, or returns false. */
int runner_serve(bool (*extra)(const char *command));

#endif
