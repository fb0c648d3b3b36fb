/* cmd_ops.c - `sardonyx ops`: the table of supported operators, versions and element types. */
#include <string.h>

#include "cli.h"
#include "json.h"

static const char help[] =
    "usage: sardonyx ops [--json] [--filter TEXT]\n\n"
    "Lists the supported operators: domain, name, opset versions, and the element types of the\n"
    "first input.\n\n"
    "  --filter TEXT  only operators whose name contains TEXT\n"
    "  --json         as JSON\n\n"
    "example: sardonyx ops --filter Pool\n";

static void print_text(size_t index, const sdx_op_info *info) {
    printf("%-26s %-28s %3d-", info->domain, info->name, info->first_version);
    if (info->last_version) printf("%-3d", info->last_version);
    else printf("   ");
    for (int d = 1; d < SDX_DTYPE_COUNT; d++)
        if (sdx_op_takes(index, 0, (sdx_dtype)d)) printf(" %s", sdx_dtype_name((sdx_dtype)d));
    putchar('\n');
}

static void print_json(json_writer *json, size_t index, const sdx_op_info *info) {
    json_object(json, NULL);
    json_string(json, "domain", info->domain);
    json_string(json, "name", info->name);
    json_integer(json, "first_version", info->first_version);
    if (info->last_version) json_integer(json, "last_version", info->last_version);
    json_array(json, "types");
    for (int d = 1; d < SDX_DTYPE_COUNT; d++)
        if (sdx_op_takes(index, 0, (sdx_dtype)d))
            json_string(json, NULL, sdx_dtype_name((sdx_dtype)d));
    json_end(json);
    json_end(json);
}

static int run(int argc, char **argv) {
    arguments args;
    const char *positional, *filter = "";
    bool as_json = false;
    arguments_start(&args, argc, argv, &cmd_ops);
    while (arguments_next(&args, &positional)) {
        if (positional) return usage_error(&args, "'%s' was not expected", positional);
        if (option_is(&args, "--json")) as_json = true;
        else if (!option_is(&args, "--filter"))
            return usage_error(&args, "unknown option '%s'", args.option);
        else if (!(filter = option_value(&args)))
            return EXIT_USAGE;
    }
    json_writer json;
    json_start(&json, stdout);
    if (as_json) json_array(&json, NULL);
    for (size_t i = 0; i < sdx_op_count(); i++) {
        sdx_op_info info = {.struct_size = sizeof info};
        sdx_op_get_info(i, &info);
        if (!strstr(info.name, filter)) continue;
        if (as_json) print_json(&json, i, &info);
        else print_text(i, &info);
    }
    if (as_json) {
        json_end(&json);
        json_finish(&json);
    }
    return EXIT_OK;
}

const command cmd_ops = {"ops", "list the supported operators", help, run};
