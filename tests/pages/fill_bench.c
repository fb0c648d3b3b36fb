/* fill_bench.c - benchmarks with made-up numbers through the real writers, for the tests of the page:
 * engines and batch sizes enough for every chart, names that are markup, missing numbers.
 *
 * usage: fill_bench run|load|program|empty RESULTS.json PAGE.html */
#include <math.h>
#include <string.h>

#include "bench_results.h"

#define HOSTILE "</script><b id=bad>\"net\" & co"

static uint64_t state = 7;

/* Around 1, with a tail to the right. */
static double noise(void) {
    double unit = (double)(random_next(&state) >> 11) / 9007199254740992.0;
    return 1 + 0.03 * unit + (unit > 0.95 ? 0.4 * unit : 0);
}

static void describe(bench_results *r) {
    bench_environment *e = &r->environment;
    bench_set_text(r, &e->date, "2026-01-02T03:04:05Z");
    bench_set_text(r, &e->os, "Debian GNU/Linux 12 (bookworm)");
    bench_set_text(r, &e->kernel, "Linux 6.1.0 x86_64");
    bench_set_text(r, &e->cpu, "Example CPU <fast> 3000");
    bench_set_text(r, &e->features, "avx2 fma avx512f");
    bench_set_text(r, &e->compiler, "gcc 12.2.0");
    e->cores = e->usable = 2;
    e->memory = 25.1e9;
    e->load_before = 0.25;
    e->others = 0.012;
    r->warmup_s = 2;
    r->time_s = 5;
    r->memory_s = 2;
    static const char *const engines[][3] = {{"sardonyx", "Sardonyx", "0.1.0"},
                                             {"onnxruntime", "ONNX Runtime", "1.31.1"},
                                             {"torch", "PyTorch", "1.13.0"},
                                             {"rust_ort", "ONNX Runtime, Rust", "1.31.1"}};
    for (size_t i = 0; i < 4; i++) bench_add_engine(r, engines[i][0], engines[i][1], engines[i][2]);
    static const char *const models[] = {"models/efficientnet_b1.onnx", HOSTILE ".onnx"};
    for (size_t i = 0; i < 2; i++) {
        size_t at = bench_add_model(r, models[i]);
        r->models[at].bytes = 31.1e6 * (double)(i + 1);
        r->models[at].nodes = 342;
        bench_set_text(r, &r->models[at].inputs, "input float32[batch,3,240,240]");
    }
}

static void sample(bench_results *r, size_t of, double median, uint32_t rounds) {
    for (uint32_t i = 0; i < rounds * 3; i++)
        bench_add_sample(r, of, METRIC_TIME, i / 3, floor(median * noise()));
}

static size_t add(bench_results *r, size_t model, size_t engine, const char *operation, int64_t batch) {
    static const double starts[] = {2e6, 140e6, 1300e6, 9e6}, bare[] = {NAN, 12e6, 12e6, NAN};
    static const double ready[] = {4e6, 46e6, 250e6, 22e6}, grows[] = {0.7e6, 19e6, 15e6, 18.5e6};
    size_t at = bench_add_case(r, model, engine, operation);
    bench_case *c = &r->cases[at];
    c->batch = batch;
    c->threads = 1;
    c->optimize = 3;
    c->start_ns = starts[engine];
    c->import_ns = engine ? NAN : 1.5e6;
    c->load_ns = 30e6 + 20e6 * (double)engine;
    c->first_ns = 21e6 * (double)batch;
    c->rss_bare = bare[engine];
    c->rss_ready = ready[engine];
    c->rss_loaded = ready[engine] + 35e6;
    c->rss_peak = ready[engine] + 60e6 + grows[engine] * (double)batch;
    c->arena_bytes = engine ? NAN : 7.4e6;
    c->largest_error = 1.25e-6;
    c->judge = 1;
    return at;
}

static void fill_run(bench_results *r) {
    static const int64_t batches[] = {1, 8, 16, 32, 64, 128, 256};
    static const double each[] = {14e6, 15.2e6, 33e6, 15.1e6};
    bench_set_text(r, &r->title, "Batches <of> pictures");
    bench_set_text(r, &r->command, "sardonyx bench efficientnet_b1.onnx --batch 1,8,16,32,64,128,256 "
                                   "--against ort,torch,rust-ort");
    for (size_t b = 0; b < 7; b++) {
        size_t ours = 0;
        for (size_t e = 0; e < 4; e++) {
            size_t at = add(r, 0, e, "run", batches[b]);
            if (e == 0) ours = at;
            r->cases[at].group = ours;
            double slower = e == 1 ? 1 - 0.02 * (double)b : 1;
            sample(r, at, each[e] * slower * (double)batches[b], 6);
            if (e) bench_add_ratio(r, at, ours, RELATION_ENGINE);
        }
    }
    size_t turns = add(r, 0, 0, "run", 8), plain = add(r, 0, 0, "run", 8);
    r->cases[turns].alternating = true;
    r->cases[plain].optimize = 0;
    sample(r, turns, 113e6, 4);
    sample(r, plain, 170e6, 4);
    bench_add_ratio(r, turns, 4, RELATION_SCHEDULE);
    bench_add_ratio(r, plain, 4, RELATION_OPTIMIZE);
    size_t hostile = add(r, 1, 0, "run", 1);
    r->cases[hostile].rss_peak = NAN;
    sample(r, hostile, 5e6, 1); /* too few rounds for an interval */
    bench_add_skipped(r, "MNN", HOSTILE, "", "No module named <MNN>", "tools/setup.sh peers");
    bench_add_warning(r, hostile, "1 of 3 samples lies far out");
    r->interrupted = true;
}

static void fill_load(bench_results *r) {
    static const char *const operations[] = {"import", "load", "serialise"};
    bench_set_text(r, &r->command, "sardonyx bench a.onnx b.onnx --what load");
    for (size_t o = 0; o < 3; o++)
        for (size_t m = 0; m < 2; m++) {
            size_t at = bench_add_case(r, m, 0, operations[o]);
            sample(r, at, (o ? 9.3e6 : 240e3) * (m ? 1.93 : 1), 6);
            for (uint32_t i = 0; i < 3; i++) {
                bench_add_sample(r, at, METRIC_HEAP_PEAK, i, 5e6 + 1e6 * (double)o);
                bench_add_sample(r, at, METRIC_RSS_PEAK, i, 21e6 + 8e6 * (double)(o + m));
            }
            if (m) bench_add_ratio(r, at, at - 1, RELATION_OTHER);
        }
}

static void fill_program(bench_results *r) {
    bench_set_text(r, &r->command, "sardonyx bench a.onnx --what program --against ort");
    for (size_t e = 0; e < 4; e++)
        for (int threads = 0; threads <= 4; threads += 4) {
            size_t at = add(r, 0, e, "program", 1);
            bench_case *c = &r->cases[at];
            c->threads = threads;
            c->group = threads ? 1 : 0;
            sample(r, at, c->start_ns + c->load_ns + c->first_ns, 5);
            for (uint32_t i = 0; i < 5; i++) {
                bench_add_sample(r, at, METRIC_USER, i, 20e6 + 1e6 * i);
                bench_add_sample(r, at, METRIC_CPUS, i, 0.961);
                bench_add_sample(r, at, METRIC_MINOR_FAULTS, i, 12345);
            }
            if (e) bench_add_ratio(r, at, threads ? 1 : 0, RELATION_ENGINE);
        }
    bench_set_text(r, &r->baseline, "before.json");
    bench_add_ratio(r, 0, 0, RELATION_BASELINE);
    bench_ratio *against = &r->ratios[r->ratio_count - 1];
    against->reference = BENCH_NONE;
    against->baseline_median = 20e6;
    against->time = (ratio){1.25, 1.2, 1.3, 6, RATIO_LARGER};
    against->fails = true;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"load", "run", "program", "empty"};
    static void (*const fillers[])(bench_results *) = {fill_load, fill_run, fill_program, NULL};
    for (int i = 0; argc == 4 && i < 4; i++) {
        if (strcmp(argv[1], names[i]) != 0) continue;
        bench_results r;
        bench_results_init(&r, i < 3 ? (bench_what)i : BENCH_RUN);
        if (fillers[i]) {
            describe(&r);
            fillers[i](&r);
        }
        FILE *json = fopen(argv[2], "w"), *html = fopen(argv[3], "w");
        bool good = json && html && bench_write_json(&r, json) && bench_write_html(&r, html) &&
                    !r.no_memory;
        if (json) good = fclose(json) == 0 && good;
        if (html) good = fclose(html) == 0 && good;
        bench_results_free(&r);
        return good ? 0 : 1;
    }
    fputs("usage: fill_bench run|load|program|empty RESULTS.json PAGE.html\n", stderr);
    return 2;
}
