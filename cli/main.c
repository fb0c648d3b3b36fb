/* main.c - the program `sardonyx`: picks the command and hands over. */
#include <signal.h>
#include <string.h>

#include "cli.h"

static const command *const commands[] = {&cmd_inspect, &cmd_run, &cmd_test, &cmd_ops};
#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static void print_help(FILE *out) {
    fputs("Sardonyx runs ONNX models.\n\n"
          "usage: sardonyx COMMAND [ARGUMENT]..\n\ncommands:\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n`sardonyx COMMAND --help` explains a command, with an example.\n"
          "exit codes: 0 done, 1 the answer is no, 2 wrong usage, 3 bad model or input, "
          "4 unsupported\n",
          out);
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_DFL);
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("sardonyx %s\n", sdx_version());
        return EXIT_OK;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(argv[1], commands[i]->name) != 0) continue;
        for (int k = 2; k < argc && strcmp(argv[k], "--") != 0; k++)
            if (strcmp(argv[k], "--help") == 0 || strcmp(argv[k], "-h") == 0) {
                fputs(commands[i]->help, stdout);
                return EXIT_OK;
            }
        int code = commands[i]->run(argc - 1, argv + 1);
        if (fflush(stdout) != 0 && code == EXIT_OK) {
            fputs("sardonyx: cannot write to standard output\n", stderr);
            code = EXIT_BAD_INPUT;
        }
        return code;
    }
    fprintf(stderr, "sardonyx: there is no command '%s'; `sardonyx --help` lists them\n", argv[1]);
    return EXIT_USAGE;
}
