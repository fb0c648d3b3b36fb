/* classify_report.c - what `sardonyx classify` prints: a table for each image, or JSON. */
#include <string.h>

#include "classify.h"
#include "json.h"

static void add_preset(text *t, const classify_session *s) {
    char words[400];
    sdx_image_preset_text(&s->preset, words, sizeof words);
    text_add(t, "%s", words);
}

static size_t longest_name(const classify_session *s, const image_result *result) {
    size_t longest = 0;
    for (size_t i = 0; i < result->count; i++) {
        const char *name = label_of(&s->labels, result->top[i].class_index);
        if (name && strlen(name) > longest) longest = strlen(name);
    }
    return longest;
}

static void print_table(const classify_session *s, const image_result *result) {
    text line = {0};
    size_t width = longest_name(s, result);
    put_safe(stdout, result->file);
    putchar('\n');
    for (size_t i = 0; i < result->count; i++) {
        const ranked *r = &result->top[i];
        const char *name = label_of(&s->labels, r->class_index);
        text_clear(&line);
        text_add(&line, "%4zu  %5zu  %-*s%s%.4f", i + 1, r->class_index, (int)width,
                 name ? name : "", width ? "  " : "", r->confidence);
        put_safe(stdout, line.data ? line.data : "");
        putchar('\n');
    }
    text_free(&line);
}

static void print_json(const classify_session *s) {
    json_writer json;
    text preset = {0};
    add_preset(&preset, s);
    json_start(&json, stdout);
    json_object(&json, NULL);
    json_string(&json, "model", s->model_file);
    json_string(&json, "preset", preset.data ? preset.data : "");
    json_bool(&json, "softmax_applied", s->scores == SCORES_PLAIN && !s->raw);
    json_array(&json, "images");
    for (size_t i = 0; i < s->count; i++) {
        const image_result *result = &s->results[i];
        json_object(&json, NULL);
        json_string(&json, "file", result->file);
        if (result->error) json_string(&json, "error", result->error);
        else json_array(&json, "top");
        for (size_t k = 0; k < result->count; k++) {
            const char *name = label_of(&s->labels, result->top[k].class_index);
            json_object(&json, NULL);
            json_integer(&json, "rank", (int64_t)k + 1);
            json_integer(&json, "class", (int64_t)result->top[k].class_index);
            if (name) json_string(&json, "name", name);
            json_number(&json, "confidence", result->top[k].confidence);
            json_end(&json);
        }
        if (!result->error) json_end(&json);
        json_end(&json);
    }
    json_end(&json);
    json_object(&json, "time_ms");
    json_number(&json, "load", s->load_ms);
    json_number(&json, "decode", s->decode_ms);
    json_number(&json, "run", s->run_ms);
    json_end(&json);
    json_end(&json);
    json_finish(&json);
    text_free(&preset);
}

void classify_report(const classify_session *s, bool json) {
    if (json) {
        print_json(s);
        return;
    }
    for (size_t i = 0; i < s->count; i++)
        if (!s->results[i].error) print_table(s, &s->results[i]);
}
