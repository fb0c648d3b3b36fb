/* cmd_bench.c - `sardonyx bench`: options, the order of things, and the files that come out.
 * bench.h lists who measures. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

static const char help[] =
    "usage: sardonyx bench MODEL.. [--what load|run|program] [--batch LIST] [--threads LIST]\n"
    "                      [--optimize LIST] [--schedule fixed|alternating] [--against LIST]\n"
    "                      [--packed] [--variants] [--image FILE] [--preset WORDS] [--dim "
    "NAME=N]..\n"
    "                      [--command LABEL=COMMAND].. [--seed N]\n"
    "                      [--warmup S] [--time S] [--memory S] [--rounds N] [--timeout S]\n"
    "                      [--rtol R] [--atol A] [--peers DIR] [--title TEXT] [--quiet]\n"
    "                      [--json FILE] [--csv FILE] [--markdown FILE] [--html FILE]\n"
    "                      [--save FILE] [--compare FILE] [--fail-if slower:P%]\n\n"
    "Measures models, alone or beside other engines. All get the same inputs, outputs are "
    "compared\n"
    "first (who disagrees is not timed), and then all take turns in random order.\n\n"
    "  --what W           load: reading a model and making it ready, and the memory of that;\n"
    "                     run (default): running it, first and again and again;\n"
    "                     program: whole processes from start to exit\n"
    "  --batch LIST       batch sizes, such as 1,8,16 (default 1): every dimension that the model\n"
    "                     leaves open and --dim does not name\n"
    "  --threads LIST     numbers of threads (default 1); 0: as many as each engine likes\n"
    "  --optimize LIST    optimisation levels 0 to 3 (default 3, and a peer's own)\n"
    "  --schedule S       fixed (default), or alternating: batch sizes in turn in one process,\n"
    "                     beside each alone in its own\n"
    "  --against LIST     other engines: ort, openvino, torch, tract, mnn, ncnn, rust-ort, or "
    "all;\n"
    "                     what is missing is listed with how to install it\n"
    "  --packed           Sardonyx also from a packed file (.sdx), which is made first\n"
    "  --variants         the MODELs are exports of the same one, with sizes fixed or open and "
    "the\n"
    "                     like: same inputs, outputs compared, rounds shared, each over the first\n"
    "  --image FILE       measure with pre-processing, too: in every run the picture is read, "
    "decoded,\n"
    "                     resized and scaled; with --what program, in place of a random input\n"
    "  --preset WORDS     how, as `sardonyx classify` has it (default torchvision)\n"
    "  --dim NAME=N       the size of a named dimension\n"
    "  --command L=C      with --what program: another command to time, called L; with {model} in "
    "it,\n"
    "                     one for each MODEL, whose file takes that place\n"
    "  --warmup S, --time S, --memory S\n"
    "                     seconds for each case (default 2, 5 and 2; memory: with load)\n"
    "  --rounds N         at least so many rounds, whatever the time (default 5)\n"
    "  --timeout S        give up an engine or a program that takes longer for one answer, or for\n"
    "                     its life (default 600)\n"
    "  --seed N           of inputs and order (default 1)\n"
    "  --rtol R, --atol A how far outputs may be apart (default 1e-3, 1e-4)\n"
    "  --peers DIR        folder of the other engines' runners (docs/peer-protocol.md)\n"
    "  --json, --csv, --markdown, --html FILE\n"
    "                     the results, beside the table on standard output; - is standard output\n"
    "                     in place of the table\n"
    "  --title TEXT       heading of the page\n"
    "  --quiet            no progress on the terminal\n"
    "  --save FILE        as --json: a baseline for --compare\n"
    "  --compare FILE     say what became slower or faster since\n"
    "  --fail-if slower:P%  exit 1 where a case is slower than the baseline by more than that, "
    "and\n"
    "                     not by chance\n\n"
    "Interrupted, it writes what it has measured until then.\n\n"
    "example: sardonyx bench resnet50.onnx --batch 1,8 --threads 1,2 --against ort,openvino\n"
    "example: sardonyx bench a.onnx b.onnx --what load --html load.html\n"
    "example: sardonyx bench net.onnx --compare before.json --fail-if slower:5%\n";

/* ---- options
 * -------------------------------------------------------------------------------------- */

/* A list such as 1,8,16 (NULL: none); false after a message. */
static bool parse_list(const char *name, const char *given, int64_t low, int64_t high,
                       number_list *list) {
    const char *at = given;
    while (at && *at) {
        char *end;
        errno = 0;
        long long number = strtoll(at, &end, 10);
        bool good = errno == 0 && end != at && number >= low && number <= high &&
                    (*end == 0 || (*end == ',' && end[1]));
        if (good && list->count == sizeof list->items / sizeof *list->items) {
            usage_error(&cmd_bench, "%s has more than %zu numbers", name, list->count);
            return false;
        }
        for (size_t i = 0; good && i < list->count; i++) good = list->items[i] != number;
        if (!good) {
            usage_error(&cmd_bench,
                        "%s is '%s', expected different numbers from %lld to %lld such as "
                        "%lld,%lld",
                        name, given, (long long)low, (long long)high, (long long)low,
                        (long long)low + 1);
            return false;
        }
        list->items[list->count++] = number;
        at = end + (*end == ',');
    }
    return true;
}

/* "slower:5%" or "slower:1.5%". */
static bool parse_fail_if(bench_options *o) {
    o->fail_slower = (double)NAN;
    if (!o->fail_if) return true;
    char *end = NULL;
    double percent = strncmp(o->fail_if, "slower:", 7) == 0 ? strtod(o->fail_if + 7, &end) : -1;
    bool good =
        end && end != o->fail_if + 7 && strcmp(end, "%") == 0 && percent >= 0 && isfinite(percent);
    if (!good) usage_error(&cmd_bench, "--fail-if is '%s', expected slower:P%%", o->fail_if);
    else if (!o->compare) usage_error(&cmd_bench, "--fail-if needs --compare FILE");
    o->fail_slower = percent / 100;
    return good && o->compare;
}

static bool check_options(bench_options *o) {
    sdx_image_preset preset = {.struct_size = sizeof preset};
    sdx_error error;
    sdx_error_clear(&error);
    if (o->models.count == 0 && o->commands.count == 0) usage_error(&cmd_bench, "no model given");
    else if (o->commands.count && o->what != BENCH_PROGRAM)
        usage_error(&cmd_bench, "--command is for --what program");
    else if (o->schedule == 1 && o->what != BENCH_RUN)
        usage_error(&cmd_bench, "--schedule is for --what run");
    else if (o->image && o->what == BENCH_LOAD)
        usage_error(&cmd_bench, "--image is for --what run and program");
    else if (o->image && (access(o->image, R_OK) != 0 || !field_ok(o->image)))
        usage_error(&cmd_bench, "--image: cannot read '%s'", o->image);
    else if (sdx_image_preset_set(&preset, o->preset, &error) != SDX_STATUS_OK ||
             !field_ok(o->preset))
        usage_error(&cmd_bench, "--preset: %s", error.message);
    else if (o->batches.count > MAX_ALTERNATING && o->schedule == 1)
        usage_error(&cmd_bench, "--schedule alternating takes %d batch sizes at most",
                    MAX_ALTERNATING);
    else if (o->variants && o->what != BENCH_RUN)
        usage_error(&cmd_bench, "--variants is for --what run");
    else if (o->batches.count > 1 && o->what == BENCH_LOAD)
        usage_error(&cmd_bench, "--what load takes one batch size");
    else return true;
    return false;
}

static bool parse(bench_options *o, int argc, char **argv) {
    const option options[] = {
        {.name = "--what", .kind = OPTION_CHOICE, .to = &o->what, .choices = "load|run|program"},
        {.name = "--batch", .kind = OPTION_TEXT, .to = &o->batch_text},
        {.name = "--threads", .kind = OPTION_TEXT, .to = &o->threads_text},
        {.name = "--optimize", .kind = OPTION_TEXT, .to = &o->optimize_text},
        {.name = "--schedule",
         .kind = OPTION_CHOICE,
         .to = &o->schedule,
         .choices = "fixed|alternating"},
        {.name = "--against", .kind = OPTION_TEXT, .to = &o->against},
        {.name = "--packed", .kind = OPTION_FLAG, .to = &o->packed},
        {.name = "--variants", .kind = OPTION_FLAG, .to = &o->variants},
        {.name = "--image", .kind = OPTION_TEXT, .to = &o->image},
        {.name = "--preset", .kind = OPTION_TEXT, .to = &o->preset},
        {.name = "--dim", .kind = OPTION_LIST, .to = &o->dim_texts},
        {.name = "--command", .kind = OPTION_LIST, .to = &o->commands},
        {.name = "--warmup", .kind = OPTION_NUMBER, .to = &o->warmup},
        {.name = "--time", .kind = OPTION_NUMBER, .to = &o->time},
        {.name = "--memory", .kind = OPTION_NUMBER, .to = &o->memory},
        {.name = "--rounds",
         .kind = OPTION_INTEGER,
         .to = &o->min_rounds,
         .low = 1,
         .high = 1000000},
        {.name = "--seed", .kind = OPTION_INTEGER, .to = &o->seed, .low = 0, .high = INT64_MAX},
        {.name = "--timeout", .kind = OPTION_NUMBER, .to = &o->timeout},
        {.name = "--rtol", .kind = OPTION_NUMBER, .to = &o->rtol},
        {.name = "--atol", .kind = OPTION_NUMBER, .to = &o->atol},
        {.name = "--peers", .kind = OPTION_TEXT, .to = &o->peers_folder},
        {.name = "--title", .kind = OPTION_TEXT, .to = &o->title},
        {.name = "--quiet", .kind = OPTION_FLAG, .to = &o->quiet},
        {.name = "--json", .kind = OPTION_TEXT, .to = &o->json},
        {.name = "--csv", .kind = OPTION_TEXT, .to = &o->csv},
        {.name = "--markdown", .kind = OPTION_TEXT, .to = &o->markdown},
        {.name = "--html", .kind = OPTION_TEXT, .to = &o->html},
        {.name = "--save", .kind = OPTION_TEXT, .to = &o->save},
        {.name = "--compare", .kind = OPTION_TEXT, .to = &o->compare},
        {.name = "--fail-if", .kind = OPTION_TEXT, .to = &o->fail_if},
    };
    if (!parse_arguments(&cmd_bench, argc, argv, options, sizeof options / sizeof *options,
                         &o->models) ||
        !dims_parse(&o->dims, &o->dim_texts, &cmd_bench) ||
        !parse_list("--batch", o->batch_text, 1, 1 << 20, &o->batches) ||
        !parse_list("--threads", o->threads_text, 0, 1024, &o->threads) ||
        !parse_list("--optimize", o->optimize_text, 0, 3, &o->levels) || !parse_fail_if(o))
        return false;
    for (size_t i = 0; i < o->commands.count; i++) {
        const char *equals = strchr(o->commands.items[i], '=');
        if (equals && equals != o->commands.items[i] && equals[1]) continue;
        usage_error(&cmd_bench, "--command is '%s', expected LABEL=COMMAND", o->commands.items[i]);
        return false;
    }
    if (o->threads.count == 0) o->threads = (number_list){.items = {1}, .count = 1};
    return check_options(o);
}

static void free_options(bench_options *o) {
    text_list_free(&o->models);
    text_list_free(&o->dim_texts);
    text_list_free(&o->commands);
    dims_free(&o->dims);
}

/* The command line again, words with blanks in quotes. */
static void note_command(bench_results *r, int argc, char **argv) {
    text line = {0};
    text_add(&line, "sardonyx");
    for (int i = 0; i < argc; i++) {
        bool plain = argv[i][0] && !strpbrk(argv[i], " \t\n'\"$&;|<>()*?\\`");
        text_add(&line, plain ? " %s" : " '%s'", argv[i]);
    }
    bench_set_text(r, &r->command, line.data);
    text_free(&line);
}

/* ---- the scratch folder
 * --------------------------------------------------------------------------- */

static bool make_scratch(bench *b) {
    const char *where = getenv("TMPDIR");
    int length = snprintf(b->scratch, sizeof b->scratch, "%s/sardonyx-bench-XXXXXX",
                          where && where[0] ? where : "/tmp");
    if (length > 0 && (size_t)length < sizeof b->scratch && mkdtemp(b->scratch)) return true;
    complain("cannot make a folder in %s: %s", where && where[0] ? where : "/tmp", strerror(errno));
    b->scratch[0] = 0;
    return false;
}

/* With all that is in it. Why it is still there, as errno has it; 0: it is gone. */
static int remove_folder(const char *path, int depth) {
    DIR *folder = opendir(path);
    int reason = folder ? 0 : errno;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char inside[700];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        int length = snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof inside) continue;
        int left = unlink(inside) != 0 && depth < 8 ? remove_folder(inside, depth + 1) : 0;
        if (left) reason = left;
    }
    if (folder) closedir(folder);
    if (rmdir(path) == 0) return 0;
    return reason ? reason : errno;
}

/* ---- results
 * --------------------------------------------------------------------------------------- */

typedef bool printer(const bench_results *r, FILE *out);

/* Why nothing can be written there, as errno has it; 0 where it can. */
static int refusal(const char *path) {
    struct stat there;
    bool is_there = stat(path, &there) == 0;
    if (is_there && S_ISDIR(there.st_mode)) return EISDIR;
    if (is_there && !S_ISREG(there.st_mode)) return access(path, W_OK) == 0 ? 0 : errno;
    const char *slash = strrchr(path, '/');
    text folder = {0};
    if (slash) text_add(&folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    int reason = access(folder.data ? folder.data : ".", W_OK | X_OK) == 0 ? 0 : errno;
    text_free(&folder);
    return reason;
}

/* Before anything is measured. */
static int check_outputs(const bench_options *o) {
    const char *const paths[] = {o->json, o->save, o->csv, o->markdown, o->html};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int reason = paths[i] && strcmp(paths[i], "-") != 0 ? refusal(paths[i]) : 0;
        if (reason == 0) continue;
        complain("%s: cannot write: %s", paths[i], strerror(reason));
        return EXIT_BAD_INPUT;
    }
    return EXIT_OK;
}

/* A failure to write is said when the program ends. */
static int print_out(const bench_results *r, printer *print) {
    if (print(r, stdout)) return EXIT_OK;
    return ferror(stdout) ? EXIT_BAD_INPUT : out_of_memory();
}

static int write_file(const bench_results *r, const char *path, printer *print) {
    if (strcmp(path, "-") == 0) return print_out(r, print);
    whole_file file;
    if (!whole_begin(&file, path)) return EXIT_NO;
    return whole_end(&file, print(r, file.file));
}

static int write_results(const bench *b) {
    const bench_options *o = &b->o;
    const struct {
        const char *path;
        printer *print;
    } outputs[] = {{o->json, bench_write_json},
                   {o->save, bench_write_json},
                   {o->csv, bench_write_csv},
                   {o->markdown, bench_write_markdown},
                   {o->html, bench_write_html}};
    int code = EXIT_OK;
    bool table = true;
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        if (!outputs[i].path) continue;
        table = table && strcmp(outputs[i].path, "-") != 0;
        int one = write_file(&b->r, outputs[i].path, outputs[i].print);
        if (one != EXIT_OK) code = one;
    }
    int shown = table ? print_out(&b->r, bench_write_text) : EXIT_OK;
    if (shown != EXIT_OK) code = shown;
    return code;
}

/* ---- the whole
 * -------------------------------------------------------------------------------------- */

static int measure(bench *b) {
    static int (*const kinds[])(bench *) = {bench_measure_load, bench_measure_run,
                                            bench_measure_program};
    int code = EXIT_OK;
    if (!models_describe(b, &code)) return code;
    if (!peers_find(b)) return b->r.no_memory ? out_of_memory() : EXIT_BAD_INPUT;
    watch_start(&b->watch);
    code = kinds[b->r.what](b);
    watch_finish(&b->watch, &b->r);
    progress_clear(&b->progress);
    return code;
}

static int report(bench *b) {
    b->r.interrupted = interrupted();
    int compared = EXIT_OK;
    if (b->o.compare) compared = baseline_compare(&b->r, b->o.compare);
    int code = write_results(b);
    if (code == EXIT_OK) code = compared;
    if (code != EXIT_OK) return code;
    if (b->r.interrupted) complain("interrupted; what was measured until then is kept");
    if (!b->r.interrupted && b->r.case_count == 0) {
        complain("nothing could be measured");
        return EXIT_BAD_INPUT;
    }
    for (size_t i = 0; i < b->r.ratio_count; i++)
        if (b->r.ratios[i].fails) code = EXIT_NO;
    return b->r.interrupted ? EXIT_NO : code;
}

static int run(int argc, char **argv) {
    bench b = {.o = {.what = BENCH_RUN,
                     .warmup = 2,
                     .time = 5,
                     .memory = 2,
                     .timeout = 600,
                     .rtol = 1e-3,
                     .atol = 1e-4,
                     .seed = 1,
                     .min_rounds = 5,
                     .preset = "torchvision"}};
    int code = EXIT_USAGE;
    bool good = parse(&b.o, argc, argv);
    bench_results_init(&b.r, (bench_what)b.o.what);
    if (good) {
        code = EXIT_OK;
        if (!json_can_read()) {
            complain("this build has no cJSON, which bench reads answers with");
            code = EXIT_UNSUPPORTED;
        }
        if (code == EXIT_OK) code = check_outputs(&b.o);
        if (code == EXIT_OK && b.o.compare) code = baseline_check(b.o.compare);
        if (code == EXIT_OK) catch_interrupts();
        if (code == EXIT_OK && !make_scratch(&b)) code = EXIT_BAD_INPUT;
    }
    if (good && code == EXIT_OK) {
        b.r.warmup_s = b.o.warmup;
        b.r.time_s = b.o.time;
        b.r.memory_s = b.o.memory;
        b.r.seed = b.random = (uint64_t)b.o.seed;
        b.r.fail_slower = b.o.fail_slower;
        bench_set_text(&b.r, &b.r.title, b.o.title);
        note_command(&b.r, argc, argv);
        machine_describe(&b.r);
        code = measure(&b);
        if (code == EXIT_OK) {
            code = report(&b);
        } else if (interrupted()) {
            complain("interrupted before anything was measured");
            code = EXIT_NO;
        }
    }
    peers_free(&b);
    const int left = b.scratch[0] ? remove_folder(b.scratch, 0) : 0;
    if (left) complain("%s is left behind: %s", b.scratch, strerror(left));
    bench_results_free(&b.r);
    free_options(&b.o);
    return code;
}

const command cmd_bench = {"bench", "measure models, alone or beside other engines", help, run,
                           false};
