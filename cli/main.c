/* main.c - the program `sardonyx`: picks the command and hands over. */
#include <signal.h>
#include <string.h>

#include "cli.h"

static const command *const commands[] = {&cmd_inspect, &cmd_run, &cmd_classify, &cmd_test,   &cmd_plan,
                                          &cmd_pack,    &cmd_ops, &cmd_bench,    &cmd_runner};
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

static const command *find_command(const char *name) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, commands[i]->name) == 0) return commands[i];
    return NULL;
}

static int no_such_command(const char *name) {
    complain("there is no command '%s'; `sardonyx --help` lists them", name);
    return EXIT_USAGE;
}

static bool is_help(const char *argument) {
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static int explain(const command *cmd) {
    fputs(cmd->help, stdout);
    if (cmd->loads_models) fputs(limits_help, stdout);
    return EXIT_OK;
}

static int run_command(const command *cmd, int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_help(argv[i])) return explain(cmd);
    return cmd->run(argc, argv);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("sardonyx %s\n", sdx_version());
        return EXIT_OK;
    }
    bool asks_help = is_help(argv[1]) || strcmp(argv[1], "help") == 0;
    if (asks_help && argc == 2) {
        print_help(stdout);
        return EXIT_OK;
    }
    const char *name = asks_help ? argv[2] : argv[1];
    const command *cmd = find_command(name);
    if (!cmd) return no_such_command(name);
    return asks_help ? explain(cmd) : run_command(cmd, argc - 1, argv + 1);
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* a file beyond its limit is an error like a full disk */
    int code = dispatch(argc, argv);
    if (code == EXIT_OK && text_ran_out()) code = out_of_memory();
    if (code == EXIT_USAGE && text_ran_out()) code = EXIT_NO; /* nobody's mistake */
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_OK) {
        complain("cannot write to standard output");
        code = EXIT_BAD_INPUT;
    }
    return code;
}
