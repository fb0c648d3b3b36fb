/* table.c - tables of texts, for people. */
#include "table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void table_start(table *t, size_t left, const char *const *headings, size_t columns) {
    *t = (table){.left = left, .columns = columns};
    for (size_t i = 0; i < columns; i++) table_add(t, "%s", headings[i]);
}

void table_add(table *t, const char *format, ...) {
    char cell[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cell, sizeof cell, format, arguments);
    va_end(arguments);
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 64;
        char **cells = realloc(t->cells, capacity * sizeof *cells);
        if (!cells) {
            t->no_memory = true;
            return;
        }
        t->cells = cells;
        t->capacity = capacity;
    }
    char *copy = strdup(cell);
    if (copy) t->cells[t->count++] = copy;
    else t->no_memory = true;
}

/* Places on a terminal: bytes that do not continue a character. */
static size_t width_of(const char *cell) {
    size_t width = 0;
    for (; *cell; cell++) width += ((unsigned char)*cell & 0xc0) != 0x80;
    return width;
}

static void put_cell(FILE *out, const char *cell, bool markdown) {
    for (; *cell; cell++) {
        if (markdown && strchr("|<*_`\\", *cell)) fputc('\\', out);
        /* Names come from files: nothing that a terminal would obey. */
        fputc((unsigned char)*cell < 32 || *cell == 127 ? ' ' : *cell, out);
    }
}

static void put_padding(FILE *out, size_t count) {
    while (count-- > 0) fputc(' ', out);
}

static void put_row(const table *t, FILE *out, size_t row, const size_t *widths) {
    size_t last = t->columns; /* blanks at the end of a line help nobody */
    while (last > 1 && !t->cells[row * t->columns + last - 1][0]) last--;
    for (size_t c = 0; c < last; c++) {
        const char *cell = t->cells[row * t->columns + c];
        size_t padding = widths[c] - width_of(cell);
        if (c > 0) fputs("  ", out);
        if (c >= t->left) put_padding(out, padding);
        put_cell(out, cell, false);
        if (c < t->left && c + 1 < last) put_padding(out, padding);
    }
    fputc('\n', out);
}

static void put_markdown_row(const table *t, FILE *out, size_t row) {
    fputc('|', out);
    for (size_t c = 0; c < t->columns; c++) {
        fputc(' ', out);
        put_cell(out, t->cells[row * t->columns + c], true);
        fputs(" |", out);
    }
    fputc('\n', out);
}

bool table_write(table *t, FILE *out, bool markdown) {
    size_t widths[TABLE_MAX_COLUMNS] = {0}, rows = t->columns ? t->count / t->columns : 0;
    for (size_t i = 0; i < rows * t->columns; i++) {
        size_t width = width_of(t->cells[i]);
        if (width > widths[i % t->columns]) widths[i % t->columns] = width;
    }
    for (size_t row = 0; row < rows && !t->no_memory; row++) {
        if (markdown) put_markdown_row(t, out, row);
        else put_row(t, out, row, widths);
        if (!markdown || row > 0) continue;
        fputc('|', out);
        for (size_t c = 0; c < t->columns; c++) fputs(c < t->left ? "---|" : "---:|", out);
        fputc('\n', out);
    }
    for (size_t i = 0; i < t->count; i++) free(t->cells[i]);
    free(t->cells);
    bool good = !t->no_memory;
    *t = (table){0};
    return good && !ferror(out);
}

/* Three digits that count, or four before the point. */
static number_text scaled_text(double value, const char *const *units, double step) {
    number_text to = {"-"};
    if (isnan(value)) return to;
    size_t unit = 0;
    while (fabs(value) >= 0.9995 * step && units[unit + 1]) {
        value /= step;
        unit++;
    }
    int digits = fabs(value) >= 99.95 || value == 0 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    if (unit == 0 && value == floor(value)) digits = 0;
    snprintf(to.text, sizeof to.text, "%.*f%s%s", digits, value, units[unit][0] ? " " : "", units[unit]);
    return to;
}

number_text time_text(double ns) {
    static const char *const units[] = {"ns", "µs", "ms", "s", NULL};
    return scaled_text(ns, units, 1000);
}

number_text bytes_text(double bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", NULL};
    return scaled_text(bytes, units, 1000);
}

number_text count_text(double count) {
    static const char *const units[] = {"", "K", "M", "G", "T", NULL};
    return scaled_text(count, units, 1000);
}
