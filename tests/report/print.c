/* print.c - a benchmark with fixed numbers through one of the printers, for the golden tests of
 * tests/report/check.py.
 *
 * usage: print_bench load|run|program json|csv|markdown|text|html */
#include <math.h>
#include <string.h>

#include "bench_results.h"

static void describe(bench_results *r) {
    bench_environment *e = &r->environment;
    bench_set_text(r, &e->date, "2026-01-02T03:04:05Z");
    bench_set_text(r, &e->os, "Debian GNU/Linux 12 (bookworm)");
    bench_set_text(r, &e->kernel, "Linux 6.1.0 x86_64");
    bench_set_text(r, &e->cpu, "Example CPU <fast> 3000");
    bench_set_text(r, &e->features, "avx2 fma avx512f");
    bench_set_text(r, &e->hypervisor, "kvm");
    bench_set_text(r, &e->compiler, "gcc 12.2.0");
    e->cores = 4;
    e->usable = 2;
    e->memory = 25.1e9;
    e->load_before = 0.25;
    e->others = 0.01;
    e->frequency_min = 2.9e9;
    e->frequency_max = 3.0e9;
    r->warmup_s = 2;
    r->time_s = 5;
    r->memory_s = 2;
    r->seed = 1;
}

static size_t model(bench_results *r, const char *file, double bytes, size_t nodes) {
    size_t at = bench_add_model(r, file);
    r->models[at].bytes = bytes;
    r->models[at].nodes = nodes;
    bench_set_text(r, &r->models[at].inputs, "input float32[batch,3,224,224]");
    return at;
}

/* Times around `median`, two to a round, with one that lies far out. */
static void times(bench_results *r, size_t of, double median, uint32_t rounds) {
    static const double shape[] = {0.98, 1.00, 1.01, 0.99, 1.02, 1.00, 1.03, 0.97};
    for (uint32_t i = 0; i < 2 * rounds; i++)
        bench_add_sample(r, of, METRIC_TIME, i / 2, median * shape[(i * 3 + of) % 8]);
    bench_add_sample(r, of, METRIC_TIME, rounds - 1, 1.9 * median);
}

static void memory(bench_results *r, size_t of, double heap, double resident) {
    for (uint32_t i = 0; i < 3; i++) {
        if (heap > 0) bench_add_sample(r, of, METRIC_HEAP_PEAK, i, heap);
        bench_add_sample(r, of, METRIC_RSS_PEAK, i, resident + 4096.0 * i);
    }
    r->cases[of].rss_peak = resident;
}

static size_t run_case(bench_results *r, size_t on, size_t engine, int64_t batch, int level,
                       double median) {
    size_t at = bench_add_case(r, on, engine, "run");
    bench_case *c = &r->cases[at];
    c->batch = batch;
    c->threads = 1;
    c->optimize = level;
    c->start_ns = engine ? 150e6 : 2e6;
    c->import_ns = engine ? NAN : 1e6;
    c->load_ns = engine ? 40e6 : 9e6;
    c->first_ns = 1.5 * median;
    c->rss_bare = engine ? 12e6 : NAN;
    c->rss_ready = engine ? 60e6 : 3e6;
    c->rss_loaded = c->rss_ready + 30e6;
    c->arena_bytes = engine ? NAN : 3.5e6;
    c->input_bytes = 602112.0 * (double)batch;
    c->output_bytes = 4000.0 * (double)batch;
    c->largest_error = 1e-6;
    c->judge = 0;
    times(r, at, median, 6);
    memory(r, at, 0, (engine ? 110e6 : 45e6) + 5e6 * (double)batch);
    return at;
}

static void fill_run(bench_results *r) {
    size_t small = model(r, "build/models/small.onnx", 14.2e6, 105);
    size_t big = model(r, "build/models/big_\"net\".onnx", 178e6, 344);
    bench_add_engine(r, "sardonyx", "Sardonyx", "0.1.0");
    bench_add_engine(r, "onnxruntime", "ONNX Runtime", "1.31.1");
    bench_set_text(r, &r->command,
                   "sardonyx bench small.onnx big.onnx --batch 1,8 --against ort,mnn");
    for (int64_t batch = 1; batch <= 8; batch += 7) {
        size_t ours = run_case(r, small, 0, batch, 3, 4e6 * (double)batch);
        size_t plain = run_case(r, small, 0, batch, 0, 9e6 * (double)batch);
        size_t peer = run_case(r, small, 1, batch, 3, (batch == 1 ? 4.02e6 : 5e6) * (double)batch);
        r->cases[plain].group = r->cases[peer].group = ours;
        bench_add_ratio(r, plain, ours, RELATION_OPTIMIZE);
        bench_add_ratio(r, peer, ours, RELATION_ENGINE);
    }
    size_t turns = run_case(r, small, 0, 8, 3, 32.1e6);
    r->cases[turns].alternating = true;
    bench_add_ratio(r, turns, 3, RELATION_SCHEDULE);
    size_t large = run_case(r, big, 0, 1, 3, 61e6);
    size_t fixed = model(r, "build/models/fixed/small.onnx", 14.2e6, 105);
    size_t narrow = run_case(r, fixed, 0, 1, 3, 3.6e6);
    r->cases[narrow].group = r->cases[0].group;
    bench_add_ratio(r, narrow, 0, RELATION_MODEL);
    bench_add_skipped(r, "MNN", "", "", "ModuleNotFoundError: No module named 'MNN'",
                      "tools/setup.sh peers");
    bench_add_skipped(r, "ONNX Runtime", "big_\"net\"", "batch 1, 1 thread",
                      "outputs differ: at [0,7]: got 1.5, want 1.25; not timed", "");
    bench_add_warning(r, large, "1 of 13 samples lies far out");
    bench_add_warning(r, BENCH_NONE, "other processes had 12 %% of the processors' time");
    r->interrupted = true;
}

static void fill_load(bench_results *r) {
    size_t small = model(r, "small.onnx", 14.2e6, 105), big = model(r, "big.onnx", 178e6, 344);
    bench_add_engine(r, "sardonyx", "Sardonyx", "0.1.0");
    bench_set_text(r, &r->command, "sardonyx bench small.onnx big.onnx --what load");
    static const char *const operations[] = {"import", "load"};
    for (size_t o = 0; o < 2; o++)
        for (size_t m = small; m <= big; m++) {
            size_t at = bench_add_case(r, m, 0, operations[o]);
            r->cases[at].threads = 1;
            r->cases[at].optimize = 3;
            times(r, at, (o ? 9.3e6 : 240.0) * (m == big ? 1.93 : 1), 6);
            memory(r, at, o ? 5e6 : 180e3, o ? 21e6 : 4e6);
        }
    bench_add_warning(r, 0, "too fast to measure: 240 ns is no more than ten ticks of the clock");
}

static void fill_program(bench_results *r) {
    size_t on = model(r, "small.onnx", 14.2e6, 105);
    bench_add_engine(r, "sardonyx", "Sardonyx", "0.1.0");
    bench_add_engine(r, "onnxruntime", "ONNX Runtime", "1.31.1");
    bench_set_text(r, &r->command, "sardonyx bench small.onnx --what program --against ort");
    for (size_t engine = 0; engine < 2; engine++) {
        size_t at = bench_add_case(r, on, engine, "program");
        double scale = engine ? 8 : 1;
        r->cases[at].batch = r->cases[at].threads = 1;
        r->cases[at].group = 0;
        r->cases[at].start_ns = 2e6 * scale;
        r->cases[at].load_ns = 9e6 * scale;
        r->cases[at].first_ns = 12e6;
        times(r, at, 25e6 * scale, 6);
        memory(r, at, 0, 30e6 * scale);
        for (uint32_t i = 0; i < 6; i++) {
            bench_add_sample(r, at, METRIC_START, i, 2e6 * scale);
            bench_add_sample(r, at, METRIC_LOAD, i, 9e6 * scale);
            bench_add_sample(r, at, METRIC_FIRST, i, 12e6);
            bench_add_sample(r, at, METRIC_USER, i, 20e6 * scale);
            bench_add_sample(r, at, METRIC_SYSTEM, i, 4e6 * scale);
            bench_add_sample(r, at, METRIC_CPUS, i, 0.96);
            bench_add_sample(r, at, METRIC_MINOR_FAULTS, i, 1234 * scale);
            bench_add_sample(r, at, METRIC_MAJOR_FAULTS, i, 0);
            bench_add_sample(r, at, METRIC_VOLUNTARY_SWITCHES, i, 3);
            bench_add_sample(r, at, METRIC_INVOLUNTARY_SWITCHES, i, 1 + i % 2);
            if (engine) continue;
            bench_add_sample(r, at, METRIC_CYCLES, i, 7.5e7);
            bench_add_sample(r, at, METRIC_INSTRUCTIONS, i, 1.5e8);
        }
    }
    bench_add_ratio(r, 1, 0, RELATION_ENGINE);
    bench_set_text(r, &r->baseline, "before.json");
    r->fail_slower = 0.05;
    bench_add_ratio(r, 0, 0, RELATION_BASELINE);
    bench_ratio *against = &r->ratios[r->ratio_count - 1];
    against->reference = BENCH_NONE;
    against->baseline_median = 20e6;
    against->time = (ratio){1.25, 1.2, 1.3, 6, RATIO_LARGER};
    against->fails = true;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        bool (*write)(const bench_results *r, FILE *out);
    } printers[] = {{"json", bench_write_json},
                    {"csv", bench_write_csv},
                    {"markdown", bench_write_markdown},
                    {"text", bench_write_text},
                    {"html", bench_write_html}};
    static void (*const fillers[])(bench_results *) = {fill_load, fill_run, fill_program};
    bench_results r;
    for (int what = 0; argc == 3 && what < BENCH_WHAT_COUNT; what++) {
        if (strcmp(argv[1], bench_what_names[what]) != 0) continue;
        for (size_t i = 0; i < sizeof printers / sizeof *printers; i++) {
            if (strcmp(argv[2], printers[i].name) != 0) continue;
            bench_results_init(&r, (bench_what)what);
            describe(&r);
            fillers[what](&r);
            bool good = printers[i].write(&r, stdout) && !r.no_memory;
            bench_results_free(&r);
            return good ? 0 : 1;
        }
    }
    fputs("usage: print_bench load|run|program json|csv|markdown|text|html\n", stderr);
    return 2;
}
