/* json.h - writes JSON to a stream: commas, nesting and escapes are its business. A name of NULL is
 * for elements of an array and for the outermost value. */
#ifndef SDX_REPORT_JSON_H
#define SDX_REPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_DEPTH 32

typedef struct json_writer {
    FILE *out;
    int depth;
    bool is_array[JSON_MAX_DEPTH];
    bool has_items[JSON_MAX_DEPTH];
    bool is_row[JSON_MAX_DEPTH];
} json_writer;

/* Length of the UTF-8 sequence at `at`, 0 if it is none: cut off, overlong, or a surrogate. */
size_t utf8_length(const unsigned char *at);

void json_start(json_writer *json, FILE *out);
void json_finish(json_writer *json);
void json_object(json_writer *json, const char *name);
void json_array(json_writer *json, const char *name);
void json_row(json_writer *json, const char *name); /* an array of scalars, on one line */
void json_end(json_writer *json); /* of the innermost object or array */
void json_string(json_writer *json, const char *name, const char *text); /* bad UTF-8: U+FFFD */
void json_integer(json_writer *json, const char *name, int64_t value);
void json_number(json_writer *json, const char *name, double value); /* null if not finite */
void json_bool(json_writer *json, const char *name, bool value);
void json_null(json_writer *json, const char *name);

#endif
