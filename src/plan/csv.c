/* csv.c - reads placement problems and answers: a header that names the columns, then one buffer a
 * line. Fields may be quoted as in RFC 4180. The text is a stranger's: every mistake is reported
 * with file and line. */
#include "plan/csv.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"

static const struct {
    const char *name;
    sdx_csv_column column;
} known[] = {
    {"id", SDX_CSV_ID},       {"buffer", SDX_CSV_ID},   {"buffer_id", SDX_CSV_ID},
    {"lower", SDX_CSV_LOWER}, {"start", SDX_CSV_LOWER}, {"begin", SDX_CSV_LOWER},
    {"upper", SDX_CSV_UPPER}, {"end", SDX_CSV_UPPER},   {"size", SDX_CSV_SIZE},
    {"gaps", SDX_CSV_GAPS},   {"offset", SDX_CSV_OFFSET}, {"alignment", SDX_CSV_ALIGNMENT},
};

static const char *const names[SDX_CSV_COLUMNS] = {"id",        "lower",  "upper", "size",
                                                   "alignment", "offset", "gaps"};

typedef struct field {
    const char *text;
    size_t size;
} field;

static sdx_status fail_line(const sdx_csv_reader *r, sdx_error *error, const char *format, ...)
    SDX_PRINTF(3, 4);
static sdx_status fail_line(const sdx_csv_reader *r, sdx_error *error, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%.256s:%zu: %s", r->name, r->line, text);
}

/* How much of a stranger's text a message shows. */
static int shown(field f) { return f.size > 40 ? 40 : (int)f.size; }

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Where the quote stands that ends a field, doubled ones passed over; NULL: nowhere in this line. */
static const char *closing_quote(const sdx_csv_reader *r) {
    for (const char *at = r->at; at < r->end && *at != '\n'; at++) {
        if (*at != '"') continue;
        if (at + 1 == r->end || at[1] != '"') return at;
        at++;
    }
    return NULL;
}

/* A quoted field, from behind its first quote; doubled quotes become one. */
static sdx_status read_quoted(sdx_csv_reader *r, field *out, sdx_error *error) {
    const char *end = closing_quote(r);
    if (!end) return fail_line(r, error, "a quoted field does not end");
    char *copy = sdx_arena_string(r->memory, r->at, (size_t)(end - r->at));
    if (!copy) return sdx_fail_memory(error, (size_t)(end - r->at), "a CSV field");
    size_t size = 0;
    for (; r->at < end; r->at++) {
        copy[size++] = *r->at;
        if (*r->at == '"') r->at++;
    }
    r->at = end + 1;
    *out = (field){copy, size};
    return SDX_STATUS_OK;
}

/* One field; r->at stands behind it, at a comma or the line's end. */
static sdx_status read_field(sdx_csv_reader *r, field *out, sdx_error *error) {
    while (r->at < r->end && is_blank(*r->at)) r->at++;
    if (r->at < r->end && *r->at == '"') {
        r->at++;
        SDX_TRY(read_quoted(r, out, error));
        while (r->at < r->end && (is_blank(*r->at) || *r->at == '\r')) r->at++;
        if (r->at < r->end && *r->at != ',' && *r->at != '\n')
            return fail_line(r, error, "text behind a quoted field");
        return SDX_STATUS_OK;
    }
    out->text = r->at;
    while (r->at < r->end && *r->at != ',' && *r->at != '\n') r->at++;
    const char *end = r->at;
    while (end > out->text && (is_blank(end[-1]) || end[-1] == '\r')) end--;
    out->size = (size_t)(end - out->text);
    return SDX_STATUS_OK;
}

/* Steps over the comma between two fields; false at the end of the line, which it passes. */
static bool next_field(sdx_csv_reader *r) {
    bool comma = r->at < r->end && *r->at == ',';
    if (r->at < r->end) r->at++;
    return comma;
}

static bool skip_empty_lines(sdx_csv_reader *r) {
    for (;;) {
        const char *at = r->at;
        while (at < r->end && (is_blank(*at) || *at == '\r')) at++;
        if (at == r->end) return false;
        if (*at != '\n') return true;
        r->at = at + 1;
        r->line++;
    }
}

static int32_t find_column(field f) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == f.size && memcmp(known[i].name, f.text, f.size) == 0)
            return (int32_t)i;
    return -1;
}

sdx_status sdx_csv_start(sdx_csv_reader *r, const void *bytes, size_t size, const char *name,
                         sdx_arena *memory, sdx_error *error) {
    *r = (sdx_csv_reader){.at = bytes, .name = name, .line = 1, .memory = memory};
    r->end = r->at + size;
    /* Ids are strings of C from here on: two that differ behind a zero would look the same. */
    if (size && memchr(bytes, 0, size)) return fail_line(r, error, "not a text: it holds a zero byte");
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) r->at += 3; /* a byte order mark */
    if (!skip_empty_lines(r)) return fail_line(r, error, "empty; expected a header with column names");
    do {
        field f = {0};
        SDX_TRY(read_field(r, &f, error));
        if (r->column_count == sizeof r->columns / sizeof *r->columns)
            return fail_line(r, error, "more than %zu columns", r->column_count);
        int32_t found = find_column(f);
        int32_t column = found < 0 ? -1 : (int32_t)known[found].column;
        if (column >= 0 && r->has[column])
            return fail_line(r, error, "there are two columns for '%s'", names[column]);
        if (column >= 0) r->has[column] = true;
        if (column == SDX_CSV_UPPER) r->end_included = strcmp(known[found].name, "end") == 0;
        r->columns[r->column_count++] = column;
    } while (next_field(r));
    return SDX_STATUS_OK;
}

sdx_status sdx_csv_require(const sdx_csv_reader *r, const sdx_csv_column *columns, size_t count,
                           sdx_error *error) {
    for (size_t i = 0; i < count; i++)
        if (!r->has[columns[i]])
            return fail_line(r, error, "there is no column '%s' in the header", names[columns[i]]);
    return SDX_STATUS_OK;
}

static sdx_status read_number(const sdx_csv_reader *r, field f, sdx_csv_column column, bool sign,
                              uint64_t *out, bool *negative, sdx_error *error) {
    size_t at = 0;
    uint64_t value = 0;
    *negative = sign && f.size > 0 && f.text[0] == '-';
    if (*negative) at = 1;
    bool good = at < f.size;
    for (; good && at < f.size; at++) {
        good = f.text[at] >= '0' && f.text[at] <= '9';
        if (good && (__builtin_mul_overflow(value, 10u, &value) ||
                     __builtin_add_overflow(value, (uint64_t)(f.text[at] - '0'), &value)))
            return fail_line(r, error, "%s is %.*s, which is too large", names[column], shown(f),
                             f.text);
    }
    *out = value;
    if (good) return SDX_STATUS_OK;
    return fail_line(r, error, "%s is '%.*s', expected a whole number%s", names[column], shown(f),
                     f.text, sign ? "" : " from 0 up");
}

static sdx_status read_time(const sdx_csv_reader *r, field f, sdx_csv_column column, int64_t *out,
                            sdx_error *error) {
    uint64_t value = 0;
    bool negative = false;
    SDX_TRY(read_number(r, f, column, true, &value, &negative, error));
    if (value >= INT64_MAX) /* one less than could be: `end` adds 1 */
        return fail_line(r, error, "%s is %.*s, which is too large", names[column], shown(f),
                         f.text);
    *out = negative ? -(int64_t)value : (int64_t)value;
    return SDX_STATUS_OK;
}

static sdx_status take_field(sdx_csv_reader *r, field f, sdx_csv_column column, sdx_csv_row *row,
                             sdx_error *error) {
    bool negative;
    switch (column) {
    case SDX_CSV_ID:
        row->id = sdx_arena_string(r->memory, f.text, f.size);
        row->id_size = f.size;
        if (!row->id) return sdx_fail_memory(error, f.size, "an id");
        return SDX_STATUS_OK;
    case SDX_CSV_LOWER: return read_time(r, f, column, &row->lower, error);
    case SDX_CSV_UPPER: return read_time(r, f, column, &row->upper, error);
    case SDX_CSV_SIZE: return read_number(r, f, column, false, &row->size, &negative, error);
    case SDX_CSV_OFFSET: return read_number(r, f, column, false, &row->offset, &negative, error);
    case SDX_CSV_ALIGNMENT:
        SDX_TRY(read_number(r, f, column, false, &row->alignment, &negative, error));
        if (row->alignment == 0) return fail_line(r, error, "alignment is 0, expected 1 or more");
        return SDX_STATUS_OK;
    case SDX_CSV_GAPS:
        if (f.size == 0) return SDX_STATUS_OK;
        fail_line(r, error, "gaps in a lifetime are not supported");
        if (error) error->code = SDX_STATUS_UNSUPPORTED;
        return SDX_STATUS_UNSUPPORTED;
    default: return SDX_STATUS_OK;
    }
}

sdx_status sdx_csv_next(sdx_csv_reader *r, sdx_csv_row *row, bool *more, sdx_error *error) {
    r->line++;
    *more = skip_empty_lines(r);
    if (!*more) return SDX_STATUS_OK;
    *row = (sdx_csv_row){.alignment = 1, .line = r->line};
    size_t count = 0;
    do {
        field f = {0};
        SDX_TRY(read_field(r, &f, error));
        if (count < r->column_count && r->columns[count] >= 0)
            SDX_TRY(take_field(r, f, (sdx_csv_column)r->columns[count], row, error));
        count++;
    } while (next_field(r));
    if (count != r->column_count)
        return fail_line(r, error, "%zu fields, the header has %zu", count, r->column_count);
    if (!r->has[SDX_CSV_LOWER] || !r->has[SDX_CSV_UPPER]) return SDX_STATUS_OK;
    if (r->end_included) row->upper++;
    if (row->lower >= row->upper)
        return fail_line(r, error, "the lifetime is empty: from %lld until before %lld",
                         (long long)row->lower, (long long)row->upper);
    return SDX_STATUS_OK;
}
