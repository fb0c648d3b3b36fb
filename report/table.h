/* table.h - tables of texts, as aligned columns or as Markdown. Also numbers with their units. */
#ifndef SDX_REPORT_TABLE_H
#define SDX_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_MAX_COLUMNS 16

typedef struct table {
    char **cells; /* row by row; the first row is the heading */
    size_t count, capacity, columns;
    size_t left; /* so many columns are aligned to the left */
    bool no_memory;
} table;

void table_start(table *t, size_t left, const char *const *headings, size_t columns);
void table_add(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool table_write(table *t, FILE *out, bool markdown); /* and frees it */

/* Into a buffer that is returned, "1.23 ms", "45.6 MB", "1.2 K"; "-" for NaN. */
typedef struct number_text {
    char text[32];
} number_text;
number_text time_text(double ns);
number_text bytes_text(double bytes);
number_text count_text(double count);

#endif
