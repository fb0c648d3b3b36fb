/* plan_report.c - the table, or JSON, of `sardonyx plan`: one row a strategy, printed as soon as it
 * is known. */
#include <string.h>

#include "plan.h"

static double over_bound(const sdx_plan_result *r) {
    if (r->lower_bound == 0) return 0;
    return 100.0 * (double)(r->arena - r->lower_bound) / (double)r->lower_bound;
}

static void print_head(plan_session *s, const sdx_plan_result *r) {
    size_t count = sdx_plan_problem_count(s->problem);
    if (s->as_json) {
        json_start(&s->json, stdout);
        json_object(&s->json, NULL);
        json_string(&s->json, "problem", s->path);
        json_integer(&s->json, "buffers", (int64_t)count);
        json_integer(&s->json, "naive", (int64_t)r->naive);
        json_integer(&s->json, "lower_bound", (int64_t)r->lower_bound);
        if (s->options.capacity)
            json_integer(&s->json, "capacity", (int64_t)s->options.capacity);
        if (s->program) {
            report_model_needs(s);
            report_model_buffers(s);
        }
        json_array(&s->json, "results");
        return;
    }
    text t = {0};
    printf("%-9s ", s->program ? "model" : "problem");
    put_safe(stdout, s->path);
    printf(", %zu buffers\n", count);
    if (s->program) {
        report_model_head(s);
    } else {
        text_add_bytes(&t, r->naive);
        printf("unshared  %s\n", t.data ? t.data : "");
        text_clear(&t);
    }
    text_add_bytes(&t, r->lower_bound);
    printf("bound     %s, most that is live at once\n\n", t.data ? t.data : "");
    printf("%-24s %14s %12s %14s\n", "strategy", "arena", "over bound", "time");
    text_free(&t);
}

static void print_json(plan_session *s, const char *name, const sdx_plan_result *r) {
    json_object(&s->json, NULL);
    json_string(&s->json, "strategy", name);
    json_string(&s->json, "found_by", r->strategy);
    json_integer(&s->json, "arena", (int64_t)r->arena);
    json_number(&s->json, "over_bound_percent", over_bound(r));
    json_integer(&s->json, "proved_bound", (int64_t)r->proved_bound);
    json_bool(&s->json, "proved", r->proved);
    if (s->options.capacity) json_bool(&s->json, "fits", r->fits);
    json_number(&s->json, "seconds", r->seconds);
    json_integer(&s->json, "nodes", (int64_t)r->nodes);
    json_end(&s->json);
}

static void print_text(const plan_session *s, const char *name, const sdx_plan_result *r) {
    char label[80];
    bool other = strcmp(name, r->strategy) != 0 && strncmp(name, "exec:", 5) != 0;
    snprintf(label, sizeof label, "%.40s%s%s%s", name, other ? " (" : "",
             other ? r->strategy : "", other ? ")" : "");
    put_safe(stdout, label);
    int blank = 24 - (int)strlen(label);
    printf("%*s %14llu ", blank > 0 ? blank : 0, "", (unsigned long long)r->arena);
    if (r->arena == r->lower_bound) printf("%12s", "0 %");
    else printf("%+10.2f %%", over_bound(r));
    printf(" %11.2f ms", 1e3 * r->seconds);
    if (r->proved) printf("  smallest");
    else if (r->proved_bound > r->lower_bound)
        printf("  at least %llu", (unsigned long long)r->proved_bound);
    if (s->options.capacity) printf("%s", r->fits ? "  fits" : "  too large");
    putchar('\n');
    fflush(stdout); /* the next one may take its time */
}

void report_row(plan_session *s, const char *name, const sdx_plan_result *result) {
    if (!s->best.strategy) print_head(s, result);
    if (s->as_json) print_json(s, name, result);
    else print_text(s, name, result);
}

void report_end(plan_session *s) {
    if (!s->best.strategy) return;
    if (!s->as_json) {
        if (s->program) report_model_needs(s);
        return;
    }
    json_end(&s->json);
    json_end(&s->json);
    json_finish(&s->json);
}
