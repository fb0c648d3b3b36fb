/* cmd_inspect.c - placeholder until written below. */
#include "cli.h"
static int run(int argc, char **argv) { (void)argc; (void)argv; return EXIT_UNSUPPORTED; }
const command cmd_inspect = {"inspect", "show what a model holds", "", run};
