/* json.c - the JSON writer behind every --json. */
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_start(json_writer *json, FILE *out) {
    memset(json, 0, sizeof *json);
    json->out = out;
}

size_t utf8_length(const unsigned char *at) {
    size_t length = at[0] < 0x80 ? 1 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                    : at[0] >= 0xe0 && at[0] < 0xf0                  ? 3
                    : at[0] >= 0xf0 && at[0] < 0xf5                  ? 4
                                                                     : 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) return 0; /* also at the NUL */
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90))
        return 0;
    return length;
}

static void put_text(FILE *out, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', out);
    while (*at) {
        size_t plain = 0; /* the usual case: a run of ASCII that stands for itself */
        while (at[plain] >= 0x20 && at[plain] < 0x7f && at[plain] != '"' && at[plain] != '\\' &&
               at[plain] != '<')
            plain++;
        fwrite(at, 1, plain, out);
        at += plain;
        if (!*at) break;
        size_t length = utf8_length(at);
        if (length == 0) fputs("\\ufffd", out);
        else if (*at == '"' || *at == '\\') fprintf(out, "\\%c", *at);
        else if (*at == '\n') fputs("\\n", out);
        /* '<' too: a page may carry the JSON in a script element */
        else if (*at < 0x20 || *at == 0x7f || *at == '<') fprintf(out, "\\u%04x", *at);
        else fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
    fputc('"', out);
}

static void begin_item(json_writer *json, const char *name) {
    if (json->depth == 0) return;
    int level = json->depth - 1;
    bool first = !json->has_items[level];
    json->has_items[level] = true;
    if (json->is_row[level]) {
        if (!first) fputs(", ", json->out);
        return;
    }
    if (!first) fputc(',', json->out);
    fputc('\n', json->out);
    for (int i = 0; i < json->depth; i++) fputs("  ", json->out);
    if (!name || json->is_array[level]) return;
    put_text(json->out, name);
    fputs(": ", json->out);
}

static void open_level(json_writer *json, const char *name, bool array, bool row) {
    begin_item(json, name);
    fputc(array ? '[' : '{', json->out);
    if (json->depth == JSON_MAX_DEPTH) abort(); /* a mistake in the caller, not in the data */
    json->is_array[json->depth] = array;
    json->is_row[json->depth] = row;
    json->has_items[json->depth++] = false;
}

void json_object(json_writer *json, const char *name) { open_level(json, name, false, false); }
void json_array(json_writer *json, const char *name) { open_level(json, name, true, false); }
void json_row(json_writer *json, const char *name) { open_level(json, name, true, true); }

void json_end(json_writer *json) {
    int level = --json->depth;
    if (json->has_items[level] && !json->is_row[level]) {
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
    if (!isfinite(value)) {
        fputs("null", json->out);
        return;
    }
    char digits[40]; /* as few as give the number back */
    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    fputs(digits, json->out);
}

void json_bool(json_writer *json, const char *name, bool value) {
    begin_item(json, name);
    fputs(value ? "true" : "false", json->out);
}

void json_null(json_writer *json, const char *name) {
    begin_item(json, name);
    fputs("null", json->out);
}
