/* cmd_runner.c - `sardonyx runner`: the process that `sardonyx bench` measures (runner.c). */
#include "cli.h"
#include "runner.h"

static const char help[] =
    "usage: sardonyx runner\n\n"
    "Loads one model and runs it when told to: reads commands from standard input, a line each with\n"
    "fields between tabs, and answers each with a line of JSON. `sardonyx bench` drives it as it drives\n"
    "the runners of other engines; docs/peer-protocol.md lists the commands.\n\n"
    "example: printf 'load\\tmodel.onnx\\t1\\nmemory\\nquit\\n' | sardonyx runner\n";

static int run(int argc, char **argv) {
    if (argc > 1) return usage_error(&cmd_runner, "unknown argument '%s'", argv[1]);
    return runner_serve(NULL);
}

const command cmd_runner = {"runner", "obey a benchmark: load and run when told to", help, run, false};
