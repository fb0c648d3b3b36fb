/* sardonyx_runner.c - the runner of Sardonyx for bench/peers/run.py: cli/runner.c, and the commands `peak`,
 * which answers the floating-point rate that the machine reaches (`flops`, `isa`), and `distance`, how long a
 * cache line takes from one processor to another and back (`ns`). */
#include <stdio.h>
#include <string.h>

#include "distance.h"
#include "peak.h"
#include "runner.h"

static const char usage[] =
    "usage: sardonyx_runner\n\n"
    "Reads commands from standard input, a line each with fields between tabs, and answers each\n"
    "with a line of JSON; bench/peers/run.py drives it.\n\n"
    "example: printf 'load\\tmodel.onnx\\t1\\nmemory\\nquit\\n' | sardonyx_runner\n";

enum { EXIT_USAGE = 2 };

static bool do_machine(const char *command) {
    if (strcmp(command, "distance") == 0) {
        printf("{\"ns\": %.4g}\n", bench_distance(0.01));
        return true;
    }
    if (strcmp(command, "peak") != 0) return false;
    const char *name;
    double rate = bench_peak(0.01, NULL, &name);
    printf("{\"flops\": %.6g, \"isa\": \"%s\"}\n", rate, name);
    return true;
}

int main(int argc, char **argv) {
    if (argc == 1) return runner_serve(do_machine);
    bool help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    fputs(usage, help ? stdout : stderr);
    return help ? 0 : EXIT_USAGE;
}
