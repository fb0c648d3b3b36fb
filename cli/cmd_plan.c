/* cmd_plan.c - `sardonyx plan`: the laboratory for memory placement. Puts the buffers of a problem
 * into one arena by any strategy, or all, and says how far each is from the bound. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

static const char help[] =
    "usage: sardonyx plan MODEL [--dim NAME=N].. [--order search|given] [--in-place on|off]\n"
    "                     [--views on|off] [--concat on|off] [--slice N|off|auto]\n"
    "                     [--optimize 0|1|2|3] [--symbolic] [OPTION]..\n"
    "       sardonyx plan PROBLEM.csv [OPTION]..\n"
    "       sardonyx plan --list\n\n"
    "options: [--strategy NAME|all|given|exec:COMMAND].. [--align BYTES] [--capacity BYTES]\n"
    "         [--time-limit S] [--seed N] [--csv FILE] [--svg FILE] [--html FILE] [--json]\n\n"
    "Places buffers with known lifetimes into one arena, as small as possible. The buffers are\n"
    "those of a model's run for the sizes given, or of a problem with the columns id, lower,\n"
    "upper (live from lower until before upper) and size, and if wanted alignment and offset.\n\n"
    "For a model, the row \"run\" is what `sardonyx run` uses; the others are for comparison.\n\n"
    "  --dim NAME=N       the size of a named dimension\n"
    "  --order given      steps in the order of the file, not in one that needs less memory\n"
    "  --in-place off     no step writes over its input\n"
    "  --views off        Reshape, Slice, Split and the like copy\n"
    "  --concat off       the inputs of Concat are not written in place\n"
    "  --slice N          as in `sardonyx run`; off: the arena of the whole batch\n"
    "  --optimize L       optimisation level of the program that is planned (default 3)\n"
    "  --symbolic         one plan for all sizes: sizes and offsets as expressions\n"
    "  --strategy NAME    one of --list, may be given several times; default: best\n"
    "  --strategy all     every strategy in turn\n"
    "  --strategy given   only check the offsets that the file has\n"
    "  --strategy exec:COMMAND\n"
    "                     a program of your own: reads the problem as CSV from standard input,\n"
    "                     writes CSV with the columns id and offset; its answer is checked\n"
    "  --align BYTES      round sizes up to this, and offsets to its multiples\n"
    "  --capacity BYTES   stop when the buffers fit into this; exit code 1 if they do not\n"
    "  --time-limit S     for each strategy; default 10, 0 for none\n"
    "  --seed N           of the searches that draw lots; default 0\n"
    "  --csv FILE         write the problem with the offsets of the smallest arena\n"
    "  --svg FILE         draw the smallest arena: time across, address up, the bound over it\n"
    "  --html FILE        a page with all strategies: hover, zoom, a menu to switch\n"
    "  --list             list the strategies\n"
    "  --json             the results as JSON\n\n"
    "\"smallest\" behind a result: it is proved that no smaller arena exists.\n\n"
    "example: sardonyx plan resnet50.onnx --dim batch=4 --strategy all\n"
    "         sardonyx plan problem.csv --strategy size --strategy best --csv plan.csv\n";

static int list_strategies(void) {
    for (size_t i = 0; i < sdx_plan_strategy_count(); i++) {
        sdx_plan_strategy_info info = {.struct_size = sizeof info};
        sdx_plan_strategy_get_info(i, &info);
        printf("%-16s %s\n", info.name, info.summary);
    }
    return EXIT_OK;
}

static bool is_strategy(const char *name) {
    for (size_t i = 0; i < sdx_plan_strategy_count(); i++) {
        sdx_plan_strategy_info info = {.struct_size = sizeof info};
        sdx_plan_strategy_get_info(i, &info);
        if (strcmp(name, info.name) == 0) return true;
    }
    return strcmp(name, "all") == 0 || strcmp(name, "given") == 0 ||
           strncmp(name, "exec:", 5) == 0;
}

/* ---- where problems come from --------------------------------------------------------------------- */

static int load_csv(plan_session *s) {
    size_t size;
    char *bytes = read_file(s->path, &size);
    if (!bytes) return EXIT_BAD_INPUT;
    sdx_error error;
    sdx_error_clear(&error);
    sdx_status status =
        sdx_plan_problem_from_csv(bytes, size, s->path, NULL, &s->problem, &error);
    free(bytes);
    return status == SDX_STATUS_OK ? EXIT_OK : report_error(s->path, &error);
}

static bool is_csv(const char *path) {
    size_t length = strlen(path);
    return length >= 4 && strcmp(path + length - 4, ".csv") == 0;
}

static int load_problem(plan_session *s) {
    if (is_csv(s->path)) return load_csv(s);
    /* Buffers begin at cache lines, whatever the strategy. */
    if (s->options.align == 0) s->options.align = 64;
    return plan_load_model(s);
}

/* ---- strategies ------------------------------------------------------------------------------------ */

static bool keep_answer(plan_session *s) {
    size_t size = sdx_plan_problem_csv(s->problem, true, NULL, 0);
    char *data = realloc(s->csv.data, size + 1);
    if (!data) {
        out_of_memory();
        return false;
    }
    sdx_plan_problem_csv(s->problem, true, data, size + 1);
    s->csv = (text){.data = data, .length = size, .capacity = size + 1};
    return true;
}

/* Exit code; wrong answers of others are noted and the rest goes on. */
static int run_one(plan_session *s, const char *name) {
    sdx_plan_result result = {.struct_size = sizeof result};
    sdx_error error;
    sdx_error_clear(&error);
    sdx_status status = SDX_STATUS_OK;
    s->options.strategy = name;
    if (strncmp(name, "exec:", 5) == 0) {
        if (!plan_by_command(s, name + 5, &result)) {
            s->wrong = true;
            return EXIT_OK;
        }
    } else if (strcmp(name, "given") == 0 || strcmp(name, "run") == 0) {
        status = sdx_plan_problem_check(s->problem, &s->options, &result, &error);
        if (status == SDX_STATUS_BAD_INPUT) {
            complain("%s: the offsets are wrong: %s", s->path, error.message);
            s->wrong = true;
            return EXIT_OK;
        }
    } else {
        status = sdx_plan_problem_solve(s->problem, &s->options, &result, &error);
    }
    if (status != SDX_STATUS_OK) return report_error(s->path, &error);
    report_row(s, name, &result);
    if ((s->svg || s->html) && !plan_keep_view(s, name, &result)) return EXIT_NO;
    bool better = !s->best.strategy || result.arena < s->best.arena;
    uint64_t proved = result.proved_bound;
    if (s->best.strategy && s->best.proved_bound > proved) proved = s->best.proved_bound;
    if (better) s->best = result;
    s->best.proved_bound = proved;
    return !better || !s->keep_csv || keep_answer(s) ? EXIT_OK : EXIT_NO;
}

static int run_all(plan_session *s) {
    int code = EXIT_OK;
    if (!s->program && sdx_plan_problem_has_answer(s->problem)) code = run_one(s, "given");
    for (size_t i = 0; code == EXIT_OK && i < sdx_plan_strategy_count(); i++) {
        sdx_plan_strategy_info info = {.struct_size = sizeof info};
        sdx_plan_strategy_get_info(i, &info);
        code = run_one(s, info.name);
    }
    return code;
}

static int run_strategies(plan_session *s, const text_list *names) {
    int code = EXIT_OK;
    if (s->program) code = run_one(s, "run");
    if (names->count == 0) return code == EXIT_OK ? run_one(s, "best") : code;
    for (size_t i = 0; code == EXIT_OK && i < names->count; i++)
        code = strcmp(names->items[i], "all") == 0 ? run_all(s) : run_one(s, names->items[i]);
    return code;
}

static int write_csv(const plan_session *s, const char *path) {
    sdx_error error;
    if (sdx_replace_file(path, s->csv.data, s->csv.length, &error) == SDX_STATUS_OK) return EXIT_OK;
    return report_error(NULL, &error);
}

/* ---- the command ------------------------------------------------------------------------------------ */

static int say_too_large(const plan_session *s) {
    unsigned long long capacity = s->options.capacity;
    if (s->best.proved_bound > capacity)
        complain("%s: nothing fits into %llu bytes: at least %llu are needed", s->path, capacity,
                 (unsigned long long)s->best.proved_bound);
    else
        complain("%s: nothing was found that fits into %llu bytes; the smallest arena is %llu",
                 s->path, capacity, (unsigned long long)s->best.arena);
    return EXIT_NO;
}

static int plan(plan_session *s, const text_list *names, const char *csv) {
    int code = load_problem(s);
    if (code == EXIT_OK) code = s->symbolic ? plan_show_symbolic(s) : run_strategies(s, names);
    report_end(s);
    if (code == EXIT_OK && csv && s->csv.data) code = write_csv(s, csv);
    if (code == EXIT_OK) code = plan_draw(s);
    if (code == EXIT_OK && s->best.strategy && !s->best.fits) code = say_too_large(s);
    if (code == EXIT_OK && s->wrong) code = EXIT_NO;
    sdx_plan_problem_release(s->problem);
    plan_free_views(s);
    plan_free_model(s);
    text_free(&s->csv);
    return code;
}

static int check_usage(const text_list *files, const text_list *names) {
    if (files->count != 1) return usage_error(&cmd_plan, "expected one model or problem");
    for (size_t i = 0; i < names->count; i++)
        if (!is_strategy(names->items[i]))
            return usage_error(&cmd_plan, "there is no strategy '%s'; --list shows them",
                               names->items[i]);
    return EXIT_OK;
}

static int run(int argc, char **argv) {
    plan_session session = {.options = {.struct_size = sizeof session.options}, .optimize = 3};
    text_list files = {0}, names = {0};
    int64_t capacity = 0, align = 0, seed = 0;
    double limit = 10;
    const char *csv = NULL;
    bool list = false;
    text_list dims = {0};
    const char *slice = NULL;
    int order = 0, in_place = 0, views = 0, concat = 0;
    const option options[] = {
        {.name = "--dim", .kind = OPTION_LIST, .to = &dims},
        {.name = "--order", .kind = OPTION_CHOICE, .to = &order, .choices = "search|given"},
        {.name = "--in-place", .kind = OPTION_CHOICE, .to = &in_place, .choices = "on|off"},
        {.name = "--views", .kind = OPTION_CHOICE, .to = &views, .choices = "on|off"},
        {.name = "--concat", .kind = OPTION_CHOICE, .to = &concat, .choices = "on|off"},
        {.name = "--slice", .kind = OPTION_TEXT, .to = &slice},
        {.name = "--optimize", .kind = OPTION_INTEGER, .to = &session.optimize, .low = 0, .high = 3},
        {.name = "--svg", .kind = OPTION_TEXT, .to = &session.svg},
        {.name = "--html", .kind = OPTION_TEXT, .to = &session.html},
        {.name = "--symbolic", .kind = OPTION_FLAG, .to = &session.symbolic},
        {.name = "--strategy", .kind = OPTION_LIST, .to = &names},
        {.name = "--capacity", .kind = OPTION_INTEGER, .to = &capacity, .low = 1,
         .high = INT64_MAX},
        {.name = "--align", .kind = OPTION_INTEGER, .to = &align, .low = 1, .high = 1 << 30},
        {.name = "--time-limit", .kind = OPTION_NUMBER, .to = &limit},
        {.name = "--seed", .kind = OPTION_INTEGER, .to = &seed, .low = 0, .high = INT64_MAX},
        {.name = "--csv", .kind = OPTION_TEXT, .to = &csv},
        {.name = "--list", .kind = OPTION_FLAG, .to = &list},
        {.name = "--json", .kind = OPTION_FLAG, .to = &session.as_json},
    };
    int code = EXIT_USAGE;
    if (parse_arguments(&cmd_plan, argc, argv, options, sizeof options / sizeof *options,
                        &files) &&
        dims_parse(&session.dims, &dims, &cmd_plan) &&
        slice_parse(slice, &session.slice, &cmd_plan)) {
        session.memory = (order ? SDX_MEMORY_KEEP_ORDER : 0u) |
                         (in_place ? SDX_MEMORY_NO_IN_PLACE : 0u) |
                         (views ? SDX_MEMORY_NO_VIEWS : 0u) | (concat ? SDX_MEMORY_NO_CONCAT : 0u);
        session.options.capacity = (uint64_t)capacity;
        session.options.align = (uint64_t)align;
        session.options.seed = (uint64_t)seed;
        session.options.time_limit = limit;
        session.keep_csv = csv != NULL;
        if (list) code = list_strategies();
        else code = check_usage(&files, &names);
        if (code == EXIT_OK && !list) {
            session.path = files.items[0];
            code = plan(&session, &names, csv);
        }
    }
    text_list_free(&files);
    text_list_free(&names);
    text_list_free(&dims);
    dims_free(&session.dims);
    return code;
}

const command cmd_plan = {"plan", "place buffers into the smallest arena", help, run, true};
