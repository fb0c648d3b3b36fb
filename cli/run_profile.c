/* run_profile.c - `sardonyx run --profile`: collects the steps of some runs, writes them as a trace that
 * Perfetto and chrome://tracing open, and prints the steps that take most of the time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "run.h"

#define TABLE_ROWS 10

/* One step of one run. */
typedef struct event {
    uint32_t run, graph, step, lane;
    uint64_t begin_ns, end_ns, bytes;
    double flops;
    size_t node_count;
    char *op, *way, *shape, *nodes; /* nodes: names, with "; " between them */
} event;

struct profile {
    const sdx_model *model;
    event *events;
    size_t count, capacity;
    uint32_t run, runs; /* the one at hand, and how many there were */
    bool failed;        /* memory ran out */
};

profile *profile_create(const sdx_model *model) {
    profile *p = calloc(1, sizeof *p);
    if (p) p->model = model;
    return p;
}

static void drop_events(profile *p) {
    for (size_t i = 0; i < p->count; i++) {
        free(p->events[i].op);
        free(p->events[i].way);
        free(p->events[i].shape);
        free(p->events[i].nodes);
    }
    p->count = 0;
}

void profile_free(profile *p) {
    if (!p) return;
    drop_events(p);
    free(p->events);
    free(p);
}

void profile_next_run(profile *p, bool keep) {
    if (keep) {
        p->run++;
        p->runs++;
        return;
    }
    drop_events(p);
}

static char *node_names(const profile *p, const sdx_step_profile *step) {
    text names = {0};
    for (size_t i = 0; i < step->node_count; i++) {
        sdx_node_info node = {.struct_size = sizeof node};
        sdx_model_get_node(p->model, step->nodes[i], &node);
        text_add(&names, "%s%s", i ? "; " : "", node.name);
    }
    return names.data;
}

void profile_add(void *user, const sdx_step_profile *step) {
    profile *p = user;
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? p->capacity * 2 : 256;
        event *grown = realloc(p->events, capacity * sizeof *grown);
        if (!grown) {
            p->failed = true;
            return;
        }
        p->events = grown;
        p->capacity = capacity;
    }
    text shape = {0};
    if (step->output) text_add_shape(&shape, step->output);
    else text_add(&shape, "-");
    event *e = &p->events[p->count++];
    *e = (event){.run = p->run, .graph = step->graph, .step = step->step,
                 .lane = step->lane,
                 .begin_ns = step->begin_ns, .end_ns = step->end_ns, .bytes = step->bytes,
                 .flops = step->flops, .node_count = step->node_count, .op = strdup(step->op), .way = strdup(step->way),
                 .shape = shape.data, .nodes = node_names(p, step)};
    p->failed |= !e->op || !e->way || !e->shape || !e->nodes;
}

/* ---- the trace -------------------------------------------------------------------------------- */

/* A thread of the trace for each lane. */
static void name_json(json_writer *json, const char *what, uint32_t lane, const char *name) {
    json_object(json, NULL);
    json_string(json, "name", what);
    json_string(json, "ph", "M");
    json_integer(json, "pid", 1);
    json_integer(json, "tid", (int64_t)lane + 1);
    json_object(json, "args");
    json_string(json, "name", name);
    json_end(json);
    json_end(json);
}

static void event_json(json_writer *json, const event *e, uint64_t start) {
    double ns = (double)(e->end_ns - e->begin_ns);
    json_object(json, NULL);
    json_string(json, "name", e->nodes);
    json_string(json, "cat", e->op);
    json_string(json, "ph", "X");
    json_integer(json, "pid", 1);
    json_integer(json, "tid", (int64_t)e->lane + 1);
    json_number(json, "ts", (double)(e->begin_ns - start) * 1e-3); /* microseconds */
    json_number(json, "dur", ns * 1e-3);
    json_object(json, "args");
    json_integer(json, "run", e->run);
    if (e->graph) json_integer(json, "graph", e->graph);
    json_integer(json, "step", e->step);
    json_string(json, "operator", e->op);
    json_string(json, "shape", e->shape);
    if (e->way[0]) json_string(json, "kernel", e->way);
    json_integer(json, "bytes", (int64_t)e->bytes);
    if (e->flops > 0) {
        json_number(json, "flop", e->flops);
        if (ns > 0) json_number(json, "GFLOP/s", e->flops / ns);
    }
    json_end(json);
    json_end(json);
}

static int write_trace(const profile *p, const char *path) {
    whole_file out;
    if (!whole_begin(&out, path)) return EXIT_NO;
    uint64_t start = UINT64_MAX;
    uint32_t lanes = 1;
    for (size_t i = 0; i < p->count; i++) {
        if (p->events[i].begin_ns < start) start = p->events[i].begin_ns;
        if (p->events[i].lane >= lanes) lanes = p->events[i].lane + 1;
    }
    json_writer json;
    json_start(&json, out.file);
    json_object(&json, NULL);
    json_string(&json, "displayTimeUnit", "ms");
    json_array(&json, "traceEvents");
    name_json(&json, "process_name", 0, "sardonyx");
    for (uint32_t lane = 0; lane < lanes; lane++) {
        char name[32];
        snprintf(name, sizeof name, lanes > 1 ? "slices, thread %u" : "steps", lane + 1);
        name_json(&json, "thread_name", lane, name);
    }
    for (size_t i = 0; i < p->count; i++) event_json(&json, &p->events[i], start);
    json_end(&json);
    json_end(&json);
    json_finish(&json);
    return whole_end(&out, true);
}

/* ---- the table -------------------------------------------------------------------------------- */

/* A step of the main graph over all runs. */
typedef struct row {
    const event *first;
    double ns, flops;
} row;

static int by_time(const void *a, const void *b) {
    double x = ((const row *)a)->ns, y = ((const row *)b)->ns;
    return (x < y) - (x > y);
}

static void print_row(const row *r, double total, uint32_t runs) {
    char rate[32] = "-";
    if (r->flops > 0 && r->ns > 0) snprintf(rate, sizeof rate, "%.1f", r->flops / r->ns);
    fprintf(stderr, "%6.1f %% %9.3f %8s  ", total > 0 ? 100 * r->ns / total : 0,
            r->ns * 1e-6 / runs, rate);
    put_safe(stderr, r->first->op);
    if (r->first->way[0]) fprintf(stderr, " (%s)", r->first->way);
    fprintf(stderr, "  %s  ", r->first->shape);
    char main_node[160];
    snprintf(main_node, sizeof main_node, "%.*s", (int)strcspn(r->first->nodes, ";"),
             r->first->nodes);
    put_safe(stderr, main_node);
    if (r->first->node_count > 1) fprintf(stderr, " and %zu more", r->first->node_count - 1);
    fputc('\n', stderr);
}

static int print_table(const profile *p) {
    uint32_t steps = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->events[i].graph == 0 && p->events[i].step >= steps) steps = p->events[i].step + 1;
    row *rows = calloc((size_t)steps + 1, sizeof *rows);
    if (!rows) return out_of_memory();
    double total = 0, flops = 0, shown = 0;
    for (size_t i = 0; i < p->count; i++) {
        const event *e = &p->events[i];
        if (e->graph) continue; /* within the time of the step that holds the graph */
        row *r = &rows[e->step];
        if (!r->first) r->first = e;
        r->ns += (double)(e->end_ns - e->begin_ns);
        r->flops += e->flops;
        total += (double)(e->end_ns - e->begin_ns);
        flops += e->flops;
    }
    qsort(rows, steps, sizeof *rows, by_time);
    fprintf(stderr, "   share        ms  GFLOP/s  operator (kernel)  result  nodes\n");
    uint32_t listed = 0, ran = 0;
    for (uint32_t i = 0; i < steps && rows[i].first; i++, ran++) {
        if (i >= TABLE_ROWS) continue;
        print_row(&rows[i], total, p->runs);
        shown += rows[i].ns;
        listed++;
    }
    fprintf(stderr, "%u of %u steps: %.1f %% of %.3f ms", listed, ran,
            total > 0 ? 100 * shown / total : 0, total * 1e-6 / p->runs);
    if (flops > 0 && total > 0) fprintf(stderr, "; all steps %.1f GFLOP/s", flops / total);
    fprintf(stderr, "; mean of %u runs\n", p->runs);
    free(rows);
    return EXIT_OK;
}

int profile_report(const profile *p, const char *path) {
    if (p->failed) return out_of_memory();
    int code = write_trace(p, path);
    return code == EXIT_OK ? print_table(p) : code;
}
