/* arguments.c - options of the commands, and how errors become exit codes. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

void arguments_start(arguments *args, int argc, char **argv, const command *cmd) {
    *args = (arguments){.argc = argc, .next = 1, .argv = argv, .cmd = cmd};
}

bool arguments_next(arguments *args, const char **positional) {
    *positional = NULL;
    args->option = args->value = NULL;
    if (args->next < args->argc && !args->only_positional &&
        strcmp(args->argv[args->next], "--") == 0) {
        args->only_positional = true;
        args->next++;
    }
    if (args->next >= args->argc) return false;
    const char *text = args->argv[args->next++];
    bool is_option = !args->only_positional && text[0] == '-' && text[1] != 0;
    if (!is_option) {
        *positional = text;
        return true;
    }
    args->option = text;
    const char *equals = strchr(text, '=');
    if (equals && text[1] == '-') args->value = equals + 1;
    return true;
}

bool option_is(const arguments *args, const char *name) {
    size_t length = strlen(name);
    return args->option && strncmp(args->option, name, length) == 0 &&
           (args->option[length] == 0 || args->option[length] == '=');
}

int usage_error(const arguments *args, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fputs("sardonyx: ", stderr);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "; see `sardonyx %s --help`\n", args->cmd->name);
    return EXIT_USAGE;
}

const char *option_value(arguments *args) {
    if (args->value) return args->value;
    if (args->next < args->argc) return args->value = args->argv[args->next++];
    usage_error(args, "%s needs a value", args->option);
    return NULL;
}

bool option_integer(arguments *args, long long low, long long high, long long *out) {
    const char *text = option_value(args);
    if (!text) return false;
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (errno == 0 && end != text && *end == 0 && *out >= low && *out <= high) return true;
    usage_error(args, "%s is '%s', expected a whole number from %lld to %lld", args->option, text,
                low, high);
    return false;
}

bool option_pair(arguments *args, char **name, const char **value) {
    const char *text = option_value(args);
    const char *equals = text ? strrchr(text, '=') : NULL;
    if (!text) return false;
    if (!equals || equals == text) {
        usage_error(args, "'%s' is not of the form NAME=VALUE", text);
        return false;
    }
    *name = strndup(text, (size_t)(equals - text));
    *value = equals + 1;
    return *name != NULL;
}

int exit_code(sdx_status status) {
    switch (status) {
    case SDX_STATUS_OK: return EXIT_OK;
    case SDX_STATUS_UNSUPPORTED: return EXIT_UNSUPPORTED;
    case SDX_STATUS_LIMIT:
    case SDX_STATUS_CANCELLED: return EXIT_NO;
    case SDX_STATUS_INVALID_ARGUMENT: return EXIT_USAGE;
    default: return EXIT_BAD_INPUT;
    }
}

int report_error(const sdx_error *error) {
    fprintf(stderr, "sardonyx: %s", error->message);
    if (error->position != SDX_NO_POSITION)
        fprintf(stderr, " (byte %llu)", (unsigned long long)error->position);
    fputc('\n', stderr);
    return exit_code(error->code);
}
