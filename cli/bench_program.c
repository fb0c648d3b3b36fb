/* bench_program.c - `sardonyx bench --what program`: whole processes, from start to exit. An engine's
 * program is its runner with a file of commands as its input: start, load, one run, results, exit.
 * --command adds any others. All are started by turns, in a new random order each round. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <wordexp.h>

#include "bench.h"
#include "bench_process.h"

enum { MAX_PROGRAMS = 64 };
#define TOO_SHORT_NS 2e6 /* starting a process is not steadier than that */

typedef struct program {
    char **command;
    const peer *by; /* NULL: of --command */
    wordexp_t words;
    bool has_words;
    size_t of;
    size_t model;
    int64_t batch;
    int threads, level;
    char script[160]; /* its standard input */
    char results[160]; /* folder for its outputs; "" where it has none */
    bool running;
} program;

typedef struct programs {
    program items[MAX_PROGRAMS];
    size_t count;
} programs;

static const char *label_of(const bench *b, const program *p) {
    return p->by ? b->r.engines[p->by->engine].label : b->r.cases[p->of].operation;
}

static void give_up(bench *b, program *p, const char *reason) {
    char setting[100];
    setting_text(setting, sizeof setting, p->batch, p->threads, p->level);
    if (!interrupted())
        bench_add_skipped(&b->r, label_of(b, p), p->by ? b->r.models[p->model].name : "", setting,
                          reason, "");
    p->running = false;
}

/* ---- scripts ----------------------------------------------------------------------------------------- */

/* The commands of a whole program, as docs/peer-protocol.md has them. */
static bool write_script(bench *b, program *p, const char *path, const bench_inputs *inputs) {
    FILE *file = fopen(p->script, "w");
    if (!file) return false;
    fprintf(file, "load\t%s\t%d", path, p->threads);
    if (p->level >= 0) fprintf(file, "\toptimize=%d", p->level);
    if (!p->by->is_own) fprintf(file, "\t%s", inputs->shapes);
    fputc('\n', file);
    for (size_t i = 0; i < inputs->count; i++) {
        const bench_input *in = &inputs->items[i];
        fprintf(file, "input\ta\t%s\t%s\t%s\t%s\n", in->name, in->type, in->dims, in->file);
    }
    text line = {0};
    if (b->o.image && image_line(b, inputs, "a", &line)) fprintf(file, "%s\n", line.data);
    text_free(&line);
    fprintf(file, "run\ta\t1\noutput\t%s\nquit\n", p->results);
    return fclose(file) == 0;
}

/* What a runner answered: the first `error`, and how many outputs it wrote. */
static bool read_answers(const char *path, size_t *outputs, char *problem, size_t size) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0, lines = 0;
    bool good = file != NULL;
    ssize_t length;
    *outputs = 0;
    while (good && (length = getline(&line, &capacity, file)) > 0) {
        json_value *answer = json_parse(line, (size_t)length);
        const char *error = json_get_text(answer, "error");
        double count = json_get_number(answer, "count");
        if (count >= 0) *outputs = (size_t)count;
        good = answer && !error;
        if (!good) snprintf(problem, size, "%s", error ? error : "its answer is no JSON");
        json_free(answer);
        lines++;
    }
    if (good && lines < 4) {
        snprintf(problem, size, "it ended early");
        good = false;
    }
    free(line);
    if (file) fclose(file);
    return good;
}

static bool prepare_script(bench *b, program *p, size_t number) {
    char path[PATH_MAX], reason[sizeof(((client *)0)->problem)];
    bench_inputs inputs = {0};
    client c = {.in = -1, .out = -1};
    snprintf(p->script, sizeof p->script, "%s/script-%zu", b->scratch, number);
    snprintf(p->results, sizeof p->results, "%s/result-%zu", b->scratch, number);
    bool good = inputs_make(b, p->model, p->batch, &inputs, reason, sizeof reason);
    if (good && p->by->converts) good = peer_start(b, p->by, &c);
    if (good) good = peer_file(b, p->by, &c, p->model, inputs.shapes, path, sizeof path);
    if (!good && c.problem[0]) snprintf(reason, sizeof reason, "%s", c.problem);
    client_quit(&c);
    if (good && !(good = write_script(b, p, path, &inputs)))
        snprintf(reason, sizeof reason, "cannot write %s", p->script);
    if (good) b->r.cases[p->of].input_bytes = inputs.bytes;
    inputs_free(&inputs);
    if (!good) give_up(b, p, reason);
    return good;
}

/* ---- running ------------------------------------------------------------------------------------------ */

/* Once, from start to exit; false where it fails, with its reason in the list. */
static bool run_once(bench *b, program *p, process_facts *facts) {
    char log[200], out[200], problem[300] = "";
    snprintf(log, sizeof log, "%s/program.log", b->scratch);
    snprintf(out, sizeof out, "%s/program.out", b->scratch);
    if (!process_measure(p->command, p->script[0] ? p->script : "/dev/null", out, log, facts, problem,
                         sizeof problem)) {
        give_up(b, p, problem);
        return false;
    }
    if (WIFEXITED(facts->status) && WEXITSTATUS(facts->status) == 0) return true;
    if (WIFSIGNALED(facts->status))
        snprintf(problem, sizeof problem, "ended by signal %d", WTERMSIG(facts->status));
    else if (WEXITSTATUS(facts->status) == 127)
        snprintf(problem, sizeof problem, "there is no program '%s'", p->command[0]);
    else snprintf(problem, sizeof problem, "ended with exit code %d", WEXITSTATUS(facts->status));
    give_up(b, p, problem);
    return false;
}

/* The first time: does it work, and what comes out? */
static bool check(bench *b, program *p, size_t *outputs) {
    process_facts facts;
    char out[200], problem[300];
    *outputs = 0;
    if (!run_once(b, p, &facts)) return false;
    if (!p->by) return true;
    snprintf(out, sizeof out, "%s/program.out", b->scratch);
    if (read_answers(out, outputs, problem, sizeof problem)) return true;
    give_up(b, p, problem);
    return false;
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

static void drop_unequal(bench *b, programs *all, const size_t *outputs) {
    size_t judges[MAX_PROGRAMS]; /* chosen before anybody is left out */
    for (size_t i = 0; i < all->count; i++) judges[i] = find_judge(all, i);
    for (size_t i = 0; i < all->count; i++) {
        program *p = &all->items[i];
        const program *judge = &all->items[judges[i]];
        if (!p->running || !p->by) continue;
        bench_case *c = &b->r.cases[p->of];
        char message[300] = "", reason[400];
        c->judge = judge->by->engine;
        agreement found = DISAGREES;
        if (outputs[i] != outputs[judges[i]]) snprintf(message, sizeof message, "another number of outputs");
        else
            found = outputs_compare(b, p->results, judge->results, outputs[i], &c->largest_error,
                                    message, sizeof message);
        c->inexact = found == INEXACT;
        if (found != DISAGREES) continue;
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

static void take_rounds(bench *b, programs *all) {
    double spent[MAX_PROGRAMS] = {0}, warmed = 0;
    /* Warm-up rounds come first: files get into the cache. */
    for (int64_t round = b->o.warmup > 0 ? -1 : 0; !interrupted();) {
        size_t order[MAX_PROGRAMS], running = 0;
        bool enough = round >= b->o.min_rounds;
        for (size_t i = 0; i < all->count; i++) {
            order[i] = i;
            running += all->items[i].running;
            enough = enough && (!all->items[i].running || spent[i] >= b->o.time * 1e9);
        }
        if (running == 0 || enough) return;
        shuffle(&b->random, order, all->count);
        for (size_t i = 0; i < all->count && !interrupted(); i++) {
            program *p = &all->items[order[i]];
            process_facts facts;
            if (!p->running || !run_once(b, p, &facts) || interrupted()) continue;
            double taken = facts.figures[METRIC_TIME];
            if (round >= 0) {
                note(b, p, &facts, (uint32_t)round);
                spent[order[i]] += taken;
            } else warmed += taken;
            progress_show(&b->progress, label_of(b, p), (now_ns() - b->progress.start_ns) * 1e-9);
        }
        watch_sample(&b->watch);
        if (round >= 0 || warmed >= b->o.warmup * 1e9 * (double)running) round++;
    }
}

/* ---- what is run ---------------------------------------------------------------------------------------- */

static program *add_program(bench *b, programs *all, size_t model, size_t engine, const char *operation) {
    size_t at = all->count < MAX_PROGRAMS ? bench_add_case(&b->r, model, engine, operation) : BENCH_NONE;
    if (at == BENCH_NONE) return NULL;
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

/* LABEL=COMMAND, the words taken apart as a shell would, without one being started. */
static int add_commands(bench *b, programs *all) {
    for (size_t i = 0; i < b->o.commands.count; i++) {
        const char *given = b->o.commands.items[i], *equals = strchr(given, '=');
        char name[100];
        snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - given) : 0, given);
        program *p = add_program(b, all, BENCH_NONE, BENCH_NONE, name);
        if (!p) return out_of_memory();
        int code = wordexp(equals + 1, &p->words, WRDE_NOCMD);
        p->has_words = code == 0;
        if (code != 0 || p->words.we_wordc == 0) {
            complain("--command %s: '%s' is not a plain command", name, equals + 1);
            return EXIT_USAGE;
        }
        p->command = p->words.we_wordv;
    }
    return EXIT_OK;
}

static void add_ratios(bench_results *r) {
    for (size_t i = 0; i < r->case_count; i++)
        for (size_t k = 0; k < r->case_count; k++) {
            const bench_case *c = &r->cases[i], *other = &r->cases[k];
            if (i == k || other->engine != 0) continue;
            bool same = c->model == other->model && c->batch == other->batch &&
                        c->threads == other->threads;
            bool level = c->optimize < 0 || c->optimize == other->optimize;
            if (c->engine == BENCH_NONE && k == 0) bench_add_ratio(r, i, k, RELATION_OTHER);
            else if (same && c->engine != 0 && level) bench_add_ratio(r, i, k, RELATION_ENGINE);
            else if (same && c->engine == 0 && k < i) bench_add_ratio(r, i, k, RELATION_OPTIMIZE);
            else continue;
            break;
        }
    /* Commands alone: each beside the first. */
    for (size_t i = 1; r->case_count && r->cases[0].engine == BENCH_NONE && i < r->case_count; i++)
        bench_add_ratio(r, i, 0, RELATION_OTHER);
}

int bench_measure_program(bench *b) {
    programs *all = calloc(1, sizeof *all);
    size_t outputs[MAX_PROGRAMS] = {0};
    if (!all) return out_of_memory();
    for (size_t m = 0; m < b->r.model_count && !interrupted(); m++) {
        number_list batches;
        batches_of(b, m, &batches);
        for (size_t t = 0; t < b->o.threads.count; t++)
            for (size_t i = 0; i < batches.count; i++)
                add_engines(b, all, m, batches.items[i], (int)b->o.threads.items[t]);
    }
    int code = add_commands(b, all);
    progress_start(&b->progress, (b->o.warmup + b->o.time) * (double)all->count, b->o.quiet);
    for (size_t i = 0; code == EXIT_OK && i < all->count && !interrupted(); i++)
        if (all->items[i].running) check(b, &all->items[i], &outputs[i]);
    if (code == EXIT_OK && !interrupted()) drop_unequal(b, all, outputs);
    if (code == EXIT_OK) take_rounds(b, all);
    char reason[200];
    counters_missing(reason, sizeof reason);
    if (reason[0]) bench_add_warning(&b->r, BENCH_NONE, "hardware counters are not available: %s", reason);
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].has_words) wordfree(&all->items[i].words);
    free(all);
    bench_drop_empty(&b->r, 0);
    add_ratios(&b->r);
    for (size_t i = 0; i < b->r.case_count; i++) warn_samples(&b->r, i, TOO_SHORT_NS);
    return b->r.no_memory ? out_of_memory() : code;
}
