/* csv.h - placement problems and answers as CSV text. For problem.c. */
#ifndef SDX_PLAN_CSV_H
#define SDX_PLAN_CSV_H

#include "plan/plan.h"

typedef enum sdx_csv_column {
    SDX_CSV_ID,
    SDX_CSV_LOWER,
    SDX_CSV_UPPER,
    SDX_CSV_SIZE,
    SDX_CSV_ALIGNMENT,
    SDX_CSV_OFFSET,
    SDX_CSV_GAPS,
    SDX_CSV_COLUMNS
} sdx_csv_column;

typedef struct sdx_csv_row {
    const char *id; /* in the arena */
    size_t id_size;
    int64_t lower, upper;
    uint64_t size, alignment, offset;
    size_t line; /* counted from 1 */
} sdx_csv_row;

typedef struct sdx_csv_reader {
    const char *at, *end;
    const char *name; /* for messages */
    size_t line;
    int32_t columns[64]; /* an sdx_csv_column each, or -1 */
    size_t column_count;
    bool has[SDX_CSV_COLUMNS];
    bool end_included; /* the column of upper is called "end" */
    sdx_arena *memory;
} sdx_csv_reader;

/* Reads the header. */
sdx_status sdx_csv_start(sdx_csv_reader *reader, const void *bytes, size_t size, const char *name,
                         sdx_arena *memory, sdx_error *error);
/* Fails naming the first column that is needed and missing. */
sdx_status sdx_csv_require(const sdx_csv_reader *reader, const sdx_csv_column *columns,
                           size_t count, sdx_error *error);
/* The next row that is not empty; *more is false behind the last. */
sdx_status sdx_csv_next(sdx_csv_reader *reader, sdx_csv_row *row, bool *more, sdx_error *error);

#endif
