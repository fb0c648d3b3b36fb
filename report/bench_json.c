/* bench_json.c - a benchmark as JSON, raw samples included; docs/bench-json.md describes it. */
#include <math.h>

#include "bench_results.h"
#include "json.h"

static void put_environment(json_writer *json, const bench_environment *e) {
    json_object(json, "environment");
    json_string(json, "date", e->date);
    json_string(json, "os", e->os);
    json_string(json, "kernel", e->kernel);
    json_string(json, "cpu", e->cpu);
    json_string(json, "features", e->features);
    json_string(json, "isa", e->isa);
    json_string(json, "governor", e->governor);
    json_string(json, "hypervisor", e->hypervisor);
    json_string(json, "compiler", e->compiler);
    json_integer(json, "cores", e->cores);
    json_integer(json, "usable_cores", e->usable);
    json_number(json, "memory_bytes", e->memory);
    json_number(json, "load_before", e->load_before);
    json_number(json, "others", e->others);
    json_number(json, "frequency_min_hz", e->frequency_min);
    json_number(json, "frequency_max_hz", e->frequency_max);
    json_number(json, "throttled", e->throttled);
    json_end(json);
}

static void put_settings(json_writer *json, const bench_results *r) {
    json_object(json, "settings");
    json_number(json, "warmup_s", r->warmup_s);
    json_number(json, "time_s", r->time_s);
    json_number(json, "memory_s", r->memory_s);
    json_integer(json, "seed", (int64_t)r->seed);
    json_string(json, "baseline", r->baseline);
    json_number(json, "fail_if_slower", r->fail_slower);
    json_end(json);
}

static void put_models(json_writer *json, const bench_results *r) {
    json_array(json, "models");
    for (size_t i = 0; i < r->model_count; i++) {
        const bench_model *m = &r->models[i];
        json_object(json, NULL);
        json_string(json, "name", m->name);
        json_string(json, "file", m->file);
        json_number(json, "bytes", m->bytes);
        json_integer(json, "nodes", (int64_t)m->nodes);
        json_string(json, "inputs", m->inputs);
        json_end(json);
    }
    json_end(json);
}

static void put_engines(json_writer *json, const bench_results *r) {
    json_array(json, "engines");
    for (size_t i = 0; i < r->engine_count; i++) {
        json_object(json, NULL);
        json_string(json, "name", r->engines[i].name);
        json_string(json, "label", r->engines[i].label);
        json_string(json, "version", r->engines[i].version);
        json_end(json);
    }
    json_end(json);
}

static void put_index(json_writer *json, const char *name, size_t index) {
    if (index == BENCH_NONE) json_null(json, name);
    else json_integer(json, name, (int64_t)index);
}

static void put_figures(json_writer *json, const statistics *s) {
    json_integer(json, "count", (int64_t)s->count);
    json_number(json, "mean", s->mean);
    json_number(json, "deviation", s->deviation);
    json_number(json, "median", s->median);
    json_number(json, "mad", s->mad);
    json_number(json, "min", s->min);
    json_number(json, "max", s->max);
    json_number(json, "p90", s->p90);
    json_number(json, "p95", s->p95);
    json_number(json, "p99", s->p99);
    json_number(json, "p99_9", s->p999);
}

static bool put_series(json_writer *json, const bench_case *c, bench_metric metric) {
    const bench_series *s = &c->series[metric];
    statistics figures;
    if (!bench_statistics(c, metric, &figures)) return s->count == 0;
    json_object(json, bench_metrics[metric].name);
    json_string(json, "unit", bench_unit_names[bench_metrics[metric].unit]);
    put_figures(json, &figures);
    json_row(json, "outliers");
    for (size_t i = 0; i < s->count; i++)
        if (statistics_is_outlier(&figures, s->values[i])) json_integer(json, NULL, (int64_t)i);
    json_end(json);
    json_row(json, "samples");
    for (size_t i = 0; i < s->count; i++) json_number(json, NULL, s->values[i]);
    json_end(json);
    json_row(json, "rounds");
    for (size_t i = 0; i < s->count; i++) json_integer(json, NULL, s->rounds[i]);
    json_end(json);
    json_end(json);
    return true;
}

static void put_first(json_writer *json, const bench_case *c) {
    json_object(json, "start");
    json_number(json, "start_ns", c->start_ns);
    json_number(json, "import_ns", c->import_ns);
    json_number(json, "load_ns", c->load_ns);
    json_number(json, "first_ns", c->first_ns);
    json_end(json);
    json_object(json, "memory");
    json_number(json, "rss_bare", c->rss_bare);
    json_number(json, "rss_ready", c->rss_ready);
    json_number(json, "rss_loaded", c->rss_loaded);
    json_number(json, "rss_peak", c->rss_peak);
    json_number(json, "arena", c->arena_bytes);
    json_number(json, "inputs", c->input_bytes);
    json_number(json, "outputs", c->output_bytes);
    json_end(json);
}

static bool put_case(json_writer *json, const bench_results *r, size_t index) {
    const bench_case *c = &r->cases[index];
    char key[512], label[512];
    bench_case_key(r, index, key, sizeof key);
    bench_case_label(r, index, false, label, sizeof label);
    json_object(json, NULL);
    json_string(json, "key", key);
    json_string(json, "label", label);
    put_index(json, "model", c->model);
    put_index(json, "engine", c->engine);
    json_string(json, "operation", c->operation);
    if (c->batch > 0) json_integer(json, "batch", c->batch);
    else json_null(json, "batch");
    if (c->threads >= 0) json_integer(json, "threads", c->threads);
    else json_null(json, "threads");
    if (c->optimize >= 0) json_integer(json, "optimize", c->optimize);
    else json_null(json, "optimize");
    json_string(json, "schedule", c->alternating ? "alternating" : "fixed");
    json_bool(json, "preprocessing", c->preprocessed);
    put_index(json, "group", c->group);
    statistics time;
    bool timed = bench_statistics(c, METRIC_TIME, &time);
    json_number(json, "per_second", timed ? 1e9 / time.mean : NAN);
    json_number(json, "items_per_second",
                timed && c->batch > 0 ? (double)c->batch * 1e9 / time.median : NAN);
    put_first(json, c);
    json_number(json, "largest_error", c->largest_error);
    put_index(json, "judge", c->judge);
    json_object(json, "metrics");
    bool good = true;
    for (int m = 0; m < METRIC_COUNT; m++) good = put_series(json, c, (bench_metric)m) && good;
    json_end(json);
    json_end(json);
    return good;
}

static void put_ratios(json_writer *json, const bench_results *r) {
    json_array(json, "ratios");
    for (size_t i = 0; i < r->ratio_count; i++) {
        const bench_ratio *one = &r->ratios[i];
        json_object(json, NULL);
        put_index(json, "case", one->of);
        put_index(json, "reference", one->reference);
        json_string(json, "relation", bench_relation_names[one->relation]);
        json_number(json, "value", one->time.value);
        json_number(json, "low", one->time.low);
        json_number(json, "high", one->time.high);
        json_integer(json, "rounds", (int64_t)one->time.rounds);
        json_string(json, "verdict", one->time.verdict == RATIO_LARGER    ? "slower"
                                     : one->time.verdict == RATIO_SMALLER ? "faster"
                                                                          : ratio_verdict_name(
                                                                                one->time.verdict));
        json_number(json, "baseline_median", one->baseline_median);
        json_bool(json, "fails", one->fails);
        json_end(json);
    }
    json_end(json);
}

static void put_notes(json_writer *json, const bench_results *r) {
    json_array(json, "skipped");
    for (size_t i = 0; i < r->skipped_count; i++) {
        const bench_skipped *s = &r->skipped[i];
        json_object(json, NULL);
        json_string(json, "engine", s->engine);
        json_string(json, "model", s->model);
        json_string(json, "setting", s->setting);
        json_string(json, "reason", s->reason);
        json_string(json, "install", s->install);
        json_end(json);
    }
    json_end(json);
    json_array(json, "warnings");
    for (size_t i = 0; i < r->warning_count; i++) {
        json_object(json, NULL);
        put_index(json, "case", r->warnings[i].of);
        json_string(json, "text", r->warnings[i].text);
        json_end(json);
    }
    json_end(json);
}

bool bench_write_json(const bench_results *r, FILE *out) {
    json_writer json;
    bool good = true;
    json_start(&json, out);
    json_object(&json, NULL);
    json_string(&json, "format", "sardonyx bench");
    json_integer(&json, "version", BENCH_FORMAT);
    json_string(&json, "what", bench_what_names[r->what]);
    json_string(&json, "title", r->title);
    json_string(&json, "command", r->command);
    json_bool(&json, "interrupted", r->interrupted);
    put_settings(&json, r);
    put_environment(&json, &r->environment);
    put_models(&json, r);
    put_engines(&json, r);
    json_array(&json, "cases");
    for (size_t i = 0; i < r->case_count; i++) good = put_case(&json, r, i) && good;
    json_end(&json);
    put_ratios(&json, r);
    put_notes(&json, r);
    json_end(&json);
    json_finish(&json);
    return good && !ferror(out);
}
