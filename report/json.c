/* json.c - the JSON writer behind every --json. */
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_start(json_writer *json, FILE *out) {
    memset(json, 0, sizeof *json);
    json->out = out;
}

static void put_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
        else if (c == '\n') fputs("\\n", out);
        else if (c < 0x20 || c == 0x7f) fprintf(out, "\\u%04x", c);
        else fputc(c, out);
    }
    fputc('"', out);
}

static void begin_item(json_writer *json, const char *name) {
    if (json->depth == 0) return;
    int level = json->depth - 1;
    if (json->has_items[level]) fputc(',', json->out);
    json->has_items[level] = true;
    fputc('\n', json->out);
    for (int i = 0; i < json->depth; i++) fputs("  ", json->out);
    if (!name || json->is_array[level]) return;
    put_text(json->out, name);
    fputs(": ", json->out);
}

static void open_level(json_writer *json, const char *name, bool array) {
    begin_item(json, name);
    fputc(array ? '[' : '{', json->out);
    if (json->depth == JSON_MAX_DEPTH) abort(); /* a mistake in the caller, not in the data */
    json->is_array[json->depth] = array;
    json->has_items[json->depth++] = false;
}

void json_object(json_writer *json, const char *name) { open_level(json, name, false); }
void json_array(json_writer *json, const char *name) { open_level(json, name, true); }

void json_end(json_writer *json) {
    int level = --json->depth;
    if (json->has_items[level]) {
        fputc('\n', json->out);
        for (int i = 0; i < level; i++) fputs("  ", json->out);
    }
    fputc(json->is_array[level] ? ']' : '}', json->out);
}

void json_finish(json_writer *json) { fputc('\n', json->out); }

void json_string(json_writer *json, const char *name, const char *text) {
    begin_item(json, name);
    put_text(json->out, text ? text : "");
}

void json_integer(json_writer *json, const char *name, int64_t value) {
    begin_item(json, name);
    fprintf(json->out, "%lld", (long long)value);
}

void json_number(json_writer *json, const char *name, double value) {
    begin_item(json, name);
    if (isfinite(value)) fprintf(json->out, "%.9g", value);
    else fputs("null", json->out);
}

void json_bool(json_writer *json, const char *name, bool value) {
    begin_item(json, name);
    fputs(value ? "true" : "false", json->out);
}

void json_null(json_writer *json, const char *name) {
    begin_item(json, name);
    fputs("null", json->out);
}
