/* cmd_ops.c - `sardonyx ops`: the table of supported operators, versions and element types. */
#include <string.h>

#include "cli.h"
#include "json.h"

static const char help[] =
    "usage: sardonyx ops [--filter TEXT] [--json]\n"
    "       sardonyx ops --used [--all-levels] MODEL..\n\n"
    "Lists the supported operators: domain, name, opset versions (from-to; open where the newest\n"
    "known counts), and the element types of the first input. Where this build lacks a library that an\n"
    "operator uses, its line ends with [built without NAME].\n\n"
    "  --filter TEXT  only operators whose name contains TEXT, in upper or lower case\n"
    "  --json         as JSON: the types of each input; the last list serves all further ones\n\n"
    "  --used         a list of what the models need: operators of their files and those that passes\n"
    "                 make of them, which of them run, the passes, and other parts of the library; for a\n"
    "                 build with these alone (`make small`)\n"
    "  --all-levels   what programs of all optimisation levels need, not that of level 3 alone\n\n"
    "Exit code 1 if there is no such operator.\n\n"
    "example: sardonyx ops --filter pool\n";

static void print_text(size_t index, const sdx_op_info *info) {
    char versions[32];
    if (info->last_version)
        snprintf(versions, sizeof versions, "%d-%d", info->first_version, info->last_version);
    else snprintf(versions, sizeof versions, "%d-", info->first_version);
    printf("%-26s %-28s %-6s", info->domain, info->name, versions);
    for (int d = 1; d < SDX_DTYPE_COUNT; d++)
        if (sdx_op_takes(index, 0, (sdx_dtype)d)) printf(" %s", sdx_dtype_name((sdx_dtype)d));
    for (size_t i = 0; sdx_op_lacks(index, i); i++)
        printf("%s%s", i ? ", " : " [built without ", sdx_op_lacks(index, i));
    puts(sdx_op_lacks(index, 0) ? "]" : "");
}

#define LISTED_INPUTS 8 /* no operator tells more than these apart */

static bool same_types(size_t index, size_t a, size_t b) {
    for (int d = 1; d < SDX_DTYPE_COUNT; d++)
        if (sdx_op_takes(index, a, (sdx_dtype)d) != sdx_op_takes(index, b, (sdx_dtype)d))
            return false;
    return true;
}

static void print_json(json_writer *json, size_t index, const sdx_op_info *info) {
    json_object(json, NULL);
    json_string(json, "domain", info->domain);
    json_string(json, "name", info->name);
    json_integer(json, "first_version", info->first_version);
    if (info->last_version) json_integer(json, "last_version", info->last_version);
    size_t inputs = LISTED_INPUTS;
    while (inputs > 1 && same_types(index, inputs - 1, inputs - 2)) inputs--;
    json_array(json, "types");
    for (size_t i = 0; i < inputs; i++) {
        json_row(json, NULL);
        for (int d = 1; d < SDX_DTYPE_COUNT; d++)
            if (sdx_op_takes(index, i, (sdx_dtype)d))
                json_string(json, NULL, sdx_dtype_name((sdx_dtype)d));
        json_end(json);
    }
    json_end(json);
    if (sdx_op_lacks(index, 0)) {
        json_row(json, "built_without");
        for (size_t i = 0; sdx_op_lacks(index, i); i++)
            json_string(json, NULL, sdx_op_lacks(index, i));
        json_end(json);
    }
    json_end(json);
}

static int list(const char *filter, bool as_json) {
    size_t shown = 0;
    json_writer json;
    json_start(&json, stdout);
    if (as_json) json_array(&json, NULL);
    for (size_t i = 0; i < sdx_op_count(); i++) {
        sdx_op_info info = {.struct_size = sizeof info};
        sdx_op_get_info(i, &info);
        if (!strcasestr(info.name, filter)) continue;
        shown++;
        if (as_json) print_json(&json, i, &info);
        else print_text(i, &info);
    }
    if (as_json) {
        json_end(&json);
        json_finish(&json);
    }
    if (shown) return EXIT_OK;
    complain("no operator has '%s' in its name", filter);
    return EXIT_NO;
}

#define MOST_PASSES 64 /* more than passes.def has */

/* Makes programs of a model from the lowest level on; notes which passes changed something. */
static int use_model(const char *path, int lowest, const char **changed) {
    sdx_error error = {0};
    sdx_model *model = NULL;
    sdx_status status = sdx_model_load_file(path, NULL, &model, &error);
    for (int level = lowest; level <= 3 && status == SDX_STATUS_OK; level++) {
        sdx_program_options options = {.struct_size = sizeof options, .optimize = level};
        sdx_program *program = NULL;
        status = sdx_program_create(model, &options, &program, &error);
        sdx_pass_info pass = {.struct_size = sizeof pass};
        for (size_t i = 0; program && i < MOST_PASSES &&
                           sdx_program_get_pass(program, i, &pass) == SDX_STATUS_OK;
             i++)
            if (pass.changes) changed[i] = pass.name;
        sdx_program_release(program);
    }
    sdx_model_release(model);
    return status == SDX_STATUS_OK ? EXIT_OK : report_error(path, &error);
}

/* Lines "DOMAIN NAME FIRST_VERSION", "body" and the same, "pass NAME" and "part NAME", as
 * tools/select_ops.cmake reads them. */
static int list_used(const text_list *models, int lowest) {
    const char *changed[MOST_PASSES] = {0};
    for (size_t i = 0; i < models->count; i++) {
        int code = use_model(models->items[i], lowest, changed);
        if (code != EXIT_OK) return code;
    }
    sdx_op_info info = {.struct_size = sizeof info};
    for (size_t i = 0; sdx_op_used(i, &info) == SDX_STATUS_OK; i++)
        printf("%s %s %d\n", info.domain, info.name, info.first_version);
    for (size_t i = 0; sdx_op_used(i, &info) == SDX_STATUS_OK; i++)
        if (info.runs) printf("body %s %s %d\n", info.domain, info.name, info.first_version);
    for (size_t i = 0; i < MOST_PASSES; i++)
        if (changed[i]) printf("pass %s\n", changed[i]);
    for (size_t i = 0; sdx_part_used(i); i++) printf("part %s\n", sdx_part_used(i));
    return EXIT_OK;
}

static int run(int argc, char **argv) {
    const char *filter = "";
    bool as_json = false, used = false, all_levels = false;
    text_list extra = {0};
    const option options[] = {{.name = "--filter", .kind = OPTION_TEXT, .to = &filter},
                              {.name = "--json", .kind = OPTION_FLAG, .to = &as_json},
                              {.name = "--used", .kind = OPTION_FLAG, .to = &used},
                              {.name = "--all-levels", .kind = OPTION_FLAG, .to = &all_levels}};
    int code = EXIT_USAGE;
    if (!parse_arguments(&cmd_ops, argc, argv, options, sizeof options / sizeof *options, &extra)) {
        /* said already */
    } else if (used && !extra.count) {
        usage_error(&cmd_ops, "--used needs models");
    } else if (used) {
        code = list_used(&extra, all_levels ? 0 : 3);
    } else if (extra.count) {
        usage_error(&cmd_ops, "'%s' was not expected", extra.items[0]);
    } else {
        code = list(filter, as_json);
    }
    text_list_free(&extra);
    return code;
}

const command cmd_ops = {"ops", "list the supported operators", help, run, false};
