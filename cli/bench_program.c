/* bench_program.c - `sardonyx bench --what program`: whole processes, from start to exit. An
 * engine's program is its runner with a file of commands as its input: start, load, one run,
 * results, exit.
 * --command adds any others. All are started by turns, in a new random order each round. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <wordexp.h>

#include "bench.h"
#include "bench_process.h"

#define TOO_SHORT_NS 2e6 /* starting a process is not steadier than that */

typedef struct program {
    char **command;
    const peer *by; /* NULL: of --command */
    wordexp_t words;
    bool has_words;
    size_t of;
    size_t model; /* BENCH_NONE: a --command that names none */
    int64_t batch;
    int threads, level;
    char script[160];      /* its standard input */
    char results[160];     /* folder for its outputs; "" where it has none */
    size_t outputs, judge; /* how many; the program that they are compared with */
    double spent_ns;
    bool running;
} program;

typedef struct programs {
    program *items;
    size_t count;
    size_t *order;
    process_facts facts; /* of the latest process */
} programs;

static const char *label_of(const bench *b, const program *p) {
    return p->by ? b->r.engines[p->by->engine].label : b->r.cases[p->of].operation;
}

static void give_up(bench *b, program *p, const char *reason) {
    char setting[100];
    setting_text(setting, sizeof setting, p->batch, p->threads, p->level);
    if (!interrupted())
        bench_add_skipped(&b->r, label_of(b, p),
                          p->model == BENCH_NONE ? "" : b->r.models[p->model].name, setting, reason,
                          "");
    p->running = false;
}

/* ---- scripts
 * ----------------------------------------------------------------------------------------- */

/* The commands of a whole program, as docs/peer-protocol.md has them. */
static bool write_script(bench *b, program *p, const char *path, const bench_inputs *inputs) {
    FILE *file = fopen(p->script, "w");
    if (!file) return false;
    text picture = {0};
    bool pictures = b->o.image && image_line(b, inputs, "a", &picture);
    fprintf(file, "load\t%s\t%d", path, p->threads);
    if (p->level >= 0) fprintf(file, "\toptimize=%d", p->level);
    if (!p->by->is_own) fprintf(file, "\t%s", inputs->shapes);
    fputc('\n', file);
    for (size_t i = 0; i < inputs->count; i++) {
        const bench_input *in = &inputs->items[i];
        if (pictures && in->preset) fprintf(file, "%s\n", picture.data);
        else fprintf(file, "input\ta\t%s\t%s\t%s\t%s\n", in->name, in->type, in->dims, in->file);
    }
    text_free(&picture);
    fprintf(file, "run\ta\t1\noutput\t%s\nquit\n", p->results);
    bool good = ferror(file) == 0;
    return fclose(file) == 0 && good;
}

static bool prepare_script(bench *b, program *p, size_t number) {
    char path[PATH_MAX], reason[sizeof(((client *)0)->problem)];
    bench_inputs inputs = {0};
    client c = {.in = -1, .out = -1};
    snprintf(p->script, sizeof p->script, "%s/script-%zu", b->scratch, number);
    snprintf(p->results, sizeof p->results, "%s/result-%zu", b->scratch, number);
    bool good = inputs_make(b, p->model, p->batch, &inputs, reason, sizeof reason);
    if (good && p->by->converts) good = peer_start(b, p->by, &c);
    if (good) good = peer_file(b, p->by, &c, p->model, p->level, inputs.shapes, path, sizeof path);
    if (!good && c.problem[0]) snprintf(reason, sizeof reason, "%s", c.problem);
    client_quit(&c);
    if (good && !(good = write_script(b, p, path, &inputs)))
        snprintf(reason, sizeof reason, "cannot write %s", p->script);
    if (good) b->r.cases[p->of].input_bytes = inputs.bytes;
    inputs_free(&inputs);
    if (!good) give_up(b, p, reason);
    return good;
}

/* ---- running
 * ------------------------------------------------------------------------------------------ */

/* What a runner said: times of its parts, how many outputs it wrote, or the first `error`. */
static bool read_answers(program *p, process_facts *facts, char *problem, size_t size) {
    size_t lines = 0;
    for (const char *line = facts->said.data; line && *line; lines++) {
        size_t length = strcspn(line, "\n");
        json_value *answer = json_parse(line, length);
        const char *error = json_get_text(answer, "error");
        double count = json_get_number(answer, "count"), whole = json_get_number(answer, "ns");
        double once = json_as_number(json_first(json_get(answer, "ns")));
        if (count >= 0) p->outputs = (size_t)count;
        if (whole >= 0) facts->figures[METRIC_LOAD] = whole;
        else if (once >= 0) facts->figures[METRIC_FIRST] = once;
        bool good = answer && !error;
        if (!good) snprintf(problem, size, "%s", error ? error : "its answer is no JSON");
        json_free(answer);
        if (!good) return false;
        line += length + (line[length] == '\n');
    }
    facts->figures[METRIC_START] = facts->ready_ns;
    if (lines < 4) snprintf(problem, size, "it ended early");
    return lines >= 4;
}

/* Once, from start to exit; false where it fails, with its reason in the list. */
static bool run_once(bench *b, program *p, process_facts *facts) {
    char log[200], problem[300] = "";
    snprintf(log, sizeof log, "%s/program.log", b->scratch);
    bool good = process_measure(p->command, p->script[0] ? p->script : "/dev/null", log,
                                b->o.timeout, facts, problem, sizeof problem);
    if (good && facts->late)
        snprintf(problem, sizeof problem, "did not end in %g s (--timeout)", b->o.timeout);
    else if (good && WIFSIGNALED(facts->status))
        snprintf(problem, sizeof problem, "ended by signal %d", WTERMSIG(facts->status));
    else if (good && WEXITSTATUS(facts->status) == 127)
        snprintf(problem, sizeof problem, "there is no program '%s'", p->command[0]);
    else if (good && WEXITSTATUS(facts->status) != 0)
        snprintf(problem, sizeof problem, "ended with exit code %d", WEXITSTATUS(facts->status));
    else if (good && p->by) read_answers(p, facts, problem, sizeof problem);
    if (problem[0]) give_up(b, p, problem);
    return !problem[0];
}

static bool comparable(const program *a, const program *z) {
    return a->by && z->by && a->model == z->model && a->batch == z->batch;
}

/* ONNX Runtime, else the first that runs, as in bench_run.c. */
static size_t find_judge(const programs *all, size_t of) {
    size_t judge = of;
    for (size_t i = 0; i < all->count; i++) {
        const program *p = &all->items[i];
        if (!p->running || !comparable(&all->items[of], p)) continue;
        if (strcmp(p->by->name, "onnxruntime") == 0) return i;
        if (i < judge) judge = i;
    }
    return judge;
}

static void drop_unequal(bench *b, programs *all) {
    /* Chosen before anybody is left out. */
    for (size_t i = 0; i < all->count; i++) all->items[i].judge = find_judge(all, i);
    for (size_t i = 0; i < all->count; i++) {
        program *p = &all->items[i];
        const program *judge = &all->items[p->judge];
        if (!p->running || !p->by) continue;
        bench_case *c = &b->r.cases[p->of];
        char message[300] = "", reason[400];
        c->judge = judge->by->engine;
        if (p->outputs != judge->outputs)
            snprintf(message, sizeof message, "another number of outputs");
        else if (outputs_agree(b, p->results, judge->results, p->outputs, &c->largest_error,
                               message, sizeof message))
            continue;
        snprintf(reason, sizeof reason, "not timed: its outputs are not those of %s: %s",
                 b->r.engines[c->judge].label, message);
        give_up(b, p, reason);
    }
}

static void note(bench *b, const program *p, const process_facts *facts, uint32_t round) {
    for (int m = 0; m < METRIC_COUNT; m++)
        if (!isnan(facts->figures[m]))
            bench_add_sample(&b->r, p->of, (bench_metric)m, round, facts->figures[m]);
    double peak = facts->figures[METRIC_RSS_PEAK], *most = &b->r.cases[p->of].rss_peak;
    if (!(*most >= peak)) *most = peak;
}

static bool is_enough(const bench *b, const programs *all, int64_t round, size_t *running) {
    bool enough = round >= b->o.min_rounds;
    *running = 0;
    for (size_t i = 0; i < all->count; i++) {
        const program *p = &all->items[i];
        *running += p->running;
        enough = enough && (!p->running || p->spent_ns >= b->o.time * 1e9);
    }
    return enough || *running == 0;
}

static void take_rounds(bench *b, programs *all) {
    double warmed = 0;
    size_t running;
    /* Warm-up rounds come first: files get into the cache. */
    int64_t round = b->o.warmup > 0 ? -1 : 0;
    while (!interrupted() && !is_enough(b, all, round, &running)) {
        shuffle(&b->random, all->order, all->count);
        for (size_t i = 0; i < all->count && !interrupted(); i++) {
            program *p = &all->items[all->order[i]];
            if (!p->running || !run_once(b, p, &all->facts) || interrupted()) continue;
            double taken = all->facts.figures[METRIC_TIME];
            if (round >= 0) {
                note(b, p, &all->facts, (uint32_t)round);
                p->spent_ns += taken;
            } else warmed += taken;
            progress_show(&b->progress, label_of(b, p), (now_ns() - b->progress.start_ns) * 1e-9);
        }
        watch_sample(&b->watch);
        if (round >= 0 || warmed >= b->o.warmup * 1e9 * (double)running) round++;
    }
}

/* ---- what is run
 * ---------------------------------------------------------------------------------------- */

static program *add_program(bench *b, programs *all, size_t model, size_t engine,
                            const char *operation) {
    program *more = realloc(all->items, (all->count + 1) * sizeof *more);
    size_t at = more ? bench_add_case(&b->r, model, engine, operation) : BENCH_NONE;
    if (more) all->items = more;
    if (at == BENCH_NONE) {
        b->r.no_memory = true;
        return NULL;
    }
    b->r.cases[at].group = 0;
    program *p = &all->items[all->count++];
    *p = (program){.of = at, .model = model, .threads = -1, .level = -1, .running = true};
    return p;
}

static void add_engines(bench *b, programs *all, size_t model, int64_t batch, int threads) {
    for (size_t i = 0; i < b->peer_count; i++) {
        size_t levels = b->o.levels.count ? b->o.levels.count : 1;
        for (size_t l = 0; l < levels; l++) {
            program *p = add_program(b, all, model, b->peers[i].engine, "program");
            if (!p) return;
            bench_case *c = &b->r.cases[p->of];
            p->by = &b->peers[i];
            p->command = p->by->command;
            c->batch = p->batch = batch;
            c->threads = p->threads = threads;
            p->level = b->o.levels.count ? (int)b->o.levels.items[l] : p->by->is_own ? 3 : -1;
            c->optimize = p->level;
            c->preprocessed = b->o.image != NULL;
            prepare_script(b, p, all->count);
        }
    }
}

/* The command with {model} replaced, if a model is given. */
static void add_replaced(text *to, const char *from, const char *file) {
    for (const char *mark; file && (mark = strstr(from, MODEL_MARK));
         from = mark + strlen(MODEL_MARK))
        text_add(to, "%.*s'%s'", (int)(mark - from), from, file);
    text_add(to, "%s", from);
}

/* LABEL=COMMAND, the words taken apart as a shell would, without one being started. */
static int add_command(bench *b, programs *all, const char *given, size_t model) {
    const size_t label = strcspn(given, "="); /* there is one: arguments were checked */
    const char *words = given + label + 1;
    char name[100];
    text line = {0};
    snprintf(name, sizeof name, "%.*s", (int)label, given);
    program *p = add_program(b, all, model, BENCH_NONE, name);
    const char *file = model == BENCH_NONE ? NULL : b->r.models[model].file;
    if (file && strchr(file, '\'')) {
        complain("--command %s: the name of %s has a quote in it", name, file);
        return EXIT_USAGE;
    }
    add_replaced(&line, words, file);
    if (!p || !line.data) return out_of_memory();
    int code = wordexp(line.data, &p->words, WRDE_NOCMD);
    text_free(&line);
    p->has_words = code == 0;
    if (code != 0 || p->words.we_wordc == 0) {
        complain("--command %s: '%s' is not a plain command", name, words);
        return EXIT_USAGE;
    }
    p->command = p->words.we_wordv;
    return EXIT_OK;
}

/* A command that names {model} is one for each model, and stands beside its engines. */
static int add_commands(bench *b, programs *all) {
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < b->o.commands.count; i++) {
        const char *given = b->o.commands.items[i];
        bool named = strstr(given, MODEL_MARK) != NULL;
        if (!named) code = add_command(b, all, given, BENCH_NONE);
        for (size_t m = 0; named && code == EXIT_OK && m < b->r.model_count; m++)
            code = add_command(b, all, given, m);
    }
    return code;
}

/* What a case is compared with: Sardonyx's first in its setting. A command has no setting: with the
 * first of its model; or of all, where it names none. BENCH_NONE: with nothing. */
static size_t reference_of(const bench_results *r, size_t index, bench_relation *relation) {
    const bench_case *c = &r->cases[index];
    for (size_t k = 0; k < r->case_count; k++) {
        const bench_case *other = &r->cases[k];
        if (k == index || other->engine != 0) continue;
        bool is_command = c->engine == BENCH_NONE, own = c->engine == 0;
        bool same =
            c->model == other->model && c->batch == other->batch && c->threads == other->threads;
        *relation = is_command ? RELATION_OTHER : own ? RELATION_OPTIMIZE : RELATION_ENGINE;
        if (is_command ? c->model == BENCH_NONE || c->model == other->model
            : own      ? same && k < index
                       : same && (c->optimize < 0 || c->optimize == other->optimize))
            return k;
    }
    /* Commands alone: each beside the first. */
    *relation = RELATION_OTHER;
    return index > 0 && c->engine == BENCH_NONE && r->cases[0].engine == BENCH_NONE ? 0
                                                                                    : BENCH_NONE;
}

/* The parts of the way, by their medians. */
static void note_start(bench_case *c) {
    const struct {
        bench_metric metric;
        double *to;
    } parts[] = {
        {METRIC_START, &c->start_ns}, {METRIC_LOAD, &c->load_ns}, {METRIC_FIRST, &c->first_ns}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        statistics s;
        if (bench_statistics(c, parts[i].metric, &s)) *parts[i].to = s.median;
    }
}

static void conclude(bench *b) {
    char reason[200];
    bench_relation relation;
    counters_missing(reason, sizeof reason);
    if (reason[0])
        bench_add_warning(&b->r, BENCH_NONE, "hardware counters are not available: %s", reason);
    bench_drop_empty(&b->r, 0);
    for (size_t i = 0; i < b->r.case_count; i++) {
        size_t reference = reference_of(&b->r, i, &relation);
        if (reference != BENCH_NONE) bench_add_ratio(&b->r, i, reference, relation);
        note_start(&b->r.cases[i]);
        warn_samples(&b->r, i, TOO_SHORT_NS);
    }
}

int bench_measure_program(bench *b) {
    programs all = {0};
    for (size_t m = 0; m < b->r.model_count && !interrupted(); m++) {
        number_list batches;
        batches_of(b, m, &batches);
        for (size_t t = 0; t < b->o.threads.count; t++)
            for (size_t i = 0; i < batches.count; i++)
                add_engines(b, &all, m, batches.items[i], (int)b->o.threads.items[t]);
    }
    int code = add_commands(b, &all);
    all.order = calloc(all.count + 1, sizeof *all.order);
    if (!all.order) code = out_of_memory();
    for (size_t i = 0; all.order && i < all.count; i++) all.order[i] = i;
    progress_start(&b->progress, (b->o.warmup + b->o.time) * (double)all.count, b->o.quiet);
    /* The first time: does it work, and what comes out? */
    for (size_t i = 0; code == EXIT_OK && i < all.count && !interrupted(); i++)
        if (all.items[i].running) run_once(b, &all.items[i], &all.facts);
    if (code == EXIT_OK && !interrupted()) drop_unequal(b, &all);
    if (code == EXIT_OK) take_rounds(b, &all);
    for (size_t i = 0; i < all.count; i++)
        if (all.items[i].has_words) wordfree(&all.items[i].words);
    free(all.items);
    free(all.order);
    text_free(&all.facts.said);
    conclude(b);
    return b->r.no_memory ? out_of_memory() : code;
}
