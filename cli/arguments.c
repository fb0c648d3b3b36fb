/* arguments.c - reads a command's arguments by its table of options, so that all commands take them
 * in the same way and refuse them with the same words. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct reader {
    const command *cmd;
    int argc, next;
    char **argv;
} reader;

static bool add_item(text_list *list, const char *item) {
    const char **items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items) {
        out_of_memory();
        return false;
    }
    list->items = items;
    items[list->count++] = item;
    return true;
}

void text_list_free(text_list *list) {
    free(list->items);
    *list = (text_list){0};
}

static const option *find_option(const option *options, size_t count, const char *name,
                                 size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(options[i].name) == length && strncmp(options[i].name, name, length) == 0)
            return &options[i];
    return NULL;
}

/* The index of value in "npy|pb", or -1. */
static int find_choice(const char *choices, const char *value) {
    size_t length = strlen(value);
    for (int index = 0;; index++) {
        size_t size = strcspn(choices, "|");
        if (size == length && memcmp(choices, value, size) == 0) return index;
        if (!choices[size]) return -1;
        choices += size + 1;
    }
}

static bool read_integer(const reader *r, const option *o, const char *value) {
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    bool is_number = errno == 0 && end != value && *end == 0;
    if (is_number && number >= o->low && number <= o->high) {
        *(int64_t *)o->to = number;
        return true;
    }
    usage_error(r->cmd, "%s is '%s', expected a whole number from %lld to %lld", o->name, value,
                (long long)o->low, (long long)o->high);
    return false;
}

static bool read_number(const reader *r, const option *o, const char *value) {
    char *end;
    double number = strtod(value, &end);
    if (end != value && *end == 0 && isfinite(number) && number >= 0) {
        *(double *)o->to = number;
        return true;
    }
    usage_error(r->cmd, "%s is '%s', expected a number from 0 up", o->name, value);
    return false;
}

static bool store(const reader *r, const option *o, const char *value) {
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)o->to = true; return true;
    case OPTION_TEXT: *(const char **)o->to = value; return true;
    case OPTION_LIST: return add_item(o->to, value);
    case OPTION_INTEGER: return read_integer(r, o, value);
    case OPTION_NUMBER: return read_number(r, o, value);
    case OPTION_CHOICE: break;
    }
    int choice = find_choice(o->choices, value);
    if (choice >= 0) *(int *)o->to = choice;
    else usage_error(r->cmd, "%s is '%s', expected %s", o->name, value, o->choices);
    return choice >= 0;
}

/* One option, its value taken from behind '=' or from the next argument. */
static bool read_option(reader *r, const option *options, size_t count, const char *argument) {
    size_t length = strcspn(argument, "=");
    const char *value = argument[length] ? argument + length + 1 : NULL;
    const option *o = find_option(options, count, argument, length);
    if (!o && r->cmd->loads_models) {
        options = limits_options(&count);
        o = find_option(options, count, argument, length);
    }
    if (!o) {
        usage_error(r->cmd, "unknown option '%.*s'", (int)length, argument);
        return false;
    }
    if (o->kind == OPTION_FLAG) {
        if (value) usage_error(r->cmd, "%s takes no value", o->name);
        return !value && store(r, o, NULL);
    }
    /* `--output --json` is far more likely a forgotten value than a folder of that name. */
    if (!value && r->next < r->argc && strncmp(r->argv[r->next], "--", 2) != 0)
        value = r->argv[r->next++];
    if (!value || (!value[0] && o->kind != OPTION_TEXT)) {
        usage_error(r->cmd, "%s needs a value", o->name);
        return false;
    }
    return store(r, o, value);
}

bool parse_arguments(const command *cmd, int argc, char **argv, const option *options,
                     size_t option_count, text_list *positionals) {
    reader r = {.cmd = cmd, .argc = argc, .next = 1, .argv = argv};
    bool only_positionals = false;
    while (r.next < r.argc) {
        const char *argument = r.argv[r.next++];
        bool is_option = !only_positionals && argument[0] == '-' && argument[1] != 0;
        if (is_option && strcmp(argument, "--") == 0) {
            only_positionals = true;
        } else if (is_option ? !read_option(&r, options, option_count, argument)
                             : !add_item(positionals, argument)) {
            return false;
        }
    }
    return !cmd->loads_models || limits_check(cmd);
}
