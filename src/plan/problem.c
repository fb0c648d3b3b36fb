/* problem.c - the public face of placement: a problem from CSV or from arrays, its answer, and both
 * as CSV again. Times may be any numbers; inside they become steps, counted from 0. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/map.h"
#include "plan/csv.h"

struct sdx_plan_problem {
    const sdx_allocator *allocator;
    sdx_allocator own_allocator; /* a copy: whoever gave it may go first */
    sdx_arena memory;
    sdx_buffer *buffers;
    sdx_plan_buffer *given; /* as they were handed in; the offset is the answer */
    uint32_t count;
    bool aligned; /* some buffer has an alignment of its own */
    bool answered;
};

/* ---- making one ---------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static uint32_t rank_of(const int64_t *times, size_t count, int64_t time) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (times[middle] < time) low = middle + 1;
        else high = middle;
    }
    return (uint32_t)low;
}

/* Fills buffers from given. */
static sdx_status number_steps(sdx_plan_problem *p, sdx_error *error) {
    size_t count = 0, bytes = 2 * (size_t)p->count * sizeof(int64_t);
    p->buffers = sdx_arena_array(&p->memory, p->count, sizeof *p->buffers);
    int64_t *times = sdx_alloc(p->allocator, bytes, 1);
    if (!p->buffers || !times) {
        sdx_free(p->allocator, times, bytes);
        return sdx_fail_memory(error, bytes, "a placement problem");
    }
    for (uint32_t i = 0; i < p->count; i++) {
        times[count++] = p->given[i].lower;
        times[count++] = p->given[i].upper;
    }
    if (count) qsort(times, count, sizeof *times, by_value);
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || times[i] != times[distinct - 1]) times[distinct++] = times[i];
    for (uint32_t i = 0; i < p->count; i++) {
        const sdx_plan_buffer *given = &p->given[i];
        p->buffers[i] = (sdx_buffer){.size = (size_t)given->size,
                                     .first = rank_of(times, distinct, given->lower),
                                     .last = rank_of(times, distinct, given->upper) - 1,
                                     .align = (size_t)given->alignment};
        if (given->alignment > 1) p->aligned = true;
    }
    sdx_free(p->allocator, times, bytes);
    return SDX_STATUS_OK;
}

static sdx_status new_problem(const sdx_allocator *allocator, sdx_plan_problem **out,
                              sdx_error *error) {
    *out = sdx_alloc(allocator, sizeof **out, 1);
    if (!*out) return sdx_fail_memory(error, sizeof **out, "a placement problem");
    **out = (sdx_plan_problem){.own_allocator = allocator ? *allocator : sdx_default_allocator};
    (*out)->allocator = &(*out)->own_allocator;
    sdx_arena_init(&(*out)->memory, (*out)->allocator, 0);
    return SDX_STATUS_OK;
}

SDX_API void sdx_plan_problem_release(sdx_plan_problem *problem) {
    if (!problem) return;
    sdx_arena_free(&problem->memory);
    sdx_allocator allocator = problem->own_allocator;
    sdx_free(&allocator, problem, sizeof *problem);
}

static sdx_status check_buffer(const sdx_plan_buffer *buffer, size_t index, sdx_error *error) {
    if (buffer->lower >= buffer->upper)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "buffer %zu: the lifetime is empty: from %" PRId64 " until before %" PRId64,
                        index, buffer->lower, buffer->upper);
    if (buffer->size > SIZE_MAX / 4 || buffer->alignment > SIZE_MAX / 4)
        return sdx_fail(error, SDX_STATUS_LIMIT, "buffer %zu is larger than any machine allows",
                        index);
    return SDX_STATUS_OK;
}

static sdx_status copy_buffers(sdx_plan_problem *p, const sdx_plan_buffer *buffers, size_t count,
                               sdx_error *error) {
    if (count > UINT32_MAX / 4)
        return sdx_fail(error, SDX_STATUS_LIMIT, "%zu buffers are too many", count);
    p->given = sdx_arena_array(&p->memory, count, sizeof *p->given);
    if (!p->given) return sdx_fail_memory(error, count * sizeof *p->given, "a placement problem");
    for (size_t i = 0; i < count; i++) {
        /* The caller's struct may be older than ours. */
        size_t stride = buffers->struct_size;
        const char *from = (const char *)buffers + i * stride;
        sdx_plan_buffer *to = &p->given[i];
        memcpy(to, from, stride < sizeof *to ? stride : sizeof *to);
        SDX_TRY(check_buffer(to, i, error));
        to->offset = 0;
        to->id = to->id ? sdx_arena_string(&p->memory, to->id, strlen(to->id))
                        : sdx_arena_printf(&p->memory, "%zu", i);
        if (!to->id) return sdx_fail_memory(error, 1, "an id");
    }
    p->count = (uint32_t)count;
    return number_steps(p, error);
}

SDX_API sdx_status sdx_plan_problem_create(const sdx_plan_buffer *buffers, size_t count,
                                           const sdx_allocator *allocator, sdx_plan_problem **out,
                                           sdx_error *error) {
    if (count > 0 && (!buffers || buffers->struct_size < offsetof(sdx_plan_buffer, alignment)))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "no buffers, or struct_size is not set");
    SDX_TRY(new_problem(allocator, out, error));
    sdx_status status = copy_buffers(*out, buffers, count, error);
    if (status == SDX_STATUS_OK) return SDX_STATUS_OK;
    sdx_plan_problem_release(*out);
    *out = NULL;
    return status;
}

static sdx_status too_large(const sdx_csv_reader *reader, const sdx_csv_row *row,
                            sdx_error *error) {
    return sdx_fail(error, SDX_STATUS_LIMIT,
                    "%.256s:%zu: size, alignment or offset is larger than any machine allows",
                    reader->name, row->line);
}

static sdx_status read_rows(sdx_plan_problem *p, sdx_csv_reader *reader, sdx_vector *rows,
                            sdx_map *ids, sdx_error *error) {
    sdx_csv_row row;
    bool more;
    for (;;) {
        SDX_TRY(sdx_csv_next(reader, &row, &more, error));
        if (!more) return SDX_STATUS_OK;
        if (row.size > SIZE_MAX / 4 || row.alignment > SIZE_MAX / 4 || row.offset > SIZE_MAX / 4)
            return too_large(reader, &row, error);
        if (sdx_map_get(ids, row.id, row.id_size) != SDX_MAP_NONE)
            return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%.256s:%zu: there is a buffer '%.64s' already",
                            reader->name, row.line, row.id);
        sdx_plan_buffer *buffer = sdx_vector_push(rows, p->allocator, sizeof *buffer);
        if (!buffer || rows->count > UINT32_MAX / 4 ||
            !sdx_map_put(ids, row.id, row.id_size, (uint32_t)rows->count - 1))
            return sdx_fail_memory(error, rows->count * sizeof *buffer, "a placement problem");
        *buffer = (sdx_plan_buffer){.struct_size = sizeof *buffer, .id = row.id,
                                    .lower = row.lower, .upper = row.upper, .size = row.size,
                                    .alignment = row.alignment, .offset = row.offset};
    }
}

static sdx_status read_problem(sdx_plan_problem *p, sdx_csv_reader *reader, sdx_error *error) {
    static const sdx_csv_column needed[] = {SDX_CSV_ID, SDX_CSV_LOWER, SDX_CSV_UPPER, SDX_CSV_SIZE};
    SDX_TRY(sdx_csv_require(reader, needed, sizeof needed / sizeof *needed, error));
    sdx_vector rows = {0};
    sdx_map ids;
    sdx_map_init(&ids, p->allocator);
    sdx_status status = read_rows(p, reader, &rows, &ids, error);
    if (status == SDX_STATUS_OK) {
        p->given = sdx_arena_array(&p->memory, rows.count, sizeof *p->given);
        if (!p->given) status = sdx_fail_memory(error, rows.count, "a placement problem");
    }
    if (status == SDX_STATUS_OK) {
        if (rows.count) memcpy(p->given, rows.data, rows.count * sizeof *p->given);
        p->count = (uint32_t)rows.count;
        status = number_steps(p, error);
    }
    for (uint32_t i = 0; status == SDX_STATUS_OK && i < p->count; i++)
        p->buffers[i].offset = (size_t)p->given[i].offset;
    p->answered = reader->has[SDX_CSV_OFFSET];
    sdx_map_free(&ids);
    sdx_vector_free(&rows, p->allocator, sizeof *p->given);
    return status;
}

SDX_API sdx_status sdx_plan_problem_from_csv(const void *bytes, size_t size, const char *name,
                                             const sdx_allocator *allocator,
                                             sdx_plan_problem **out, sdx_error *error) {
    *out = NULL;
    if (!bytes && size > 0)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "no bytes to read a problem from");
    SDX_TRY(new_problem(allocator, out, error));
    sdx_csv_reader reader;
    sdx_status status = sdx_csv_start(&reader, size ? bytes : "", size, name ? name : "problem",
                                      &(*out)->memory, error);
    if (status == SDX_STATUS_OK) status = read_problem(*out, &reader, error);
    if (status == SDX_STATUS_OK) return SDX_STATUS_OK;
    sdx_plan_problem_release(*out);
    *out = NULL;
    return status;
}

void sdx_plan_problem_answer(sdx_plan_problem *problem, const sdx_buffer *buffers) {
    for (uint32_t i = 0; i < problem->count; i++) problem->buffers[i].offset = buffers[i].offset;
    problem->answered = true;
}

/* ---- looking at it ------------------------------------------------------------------------------- */

SDX_API size_t sdx_plan_problem_count(const sdx_plan_problem *problem) { return problem->count; }

SDX_API bool sdx_plan_problem_has_answer(const sdx_plan_problem *problem) {
    return problem->answered;
}

SDX_API sdx_status sdx_plan_problem_get(const sdx_plan_problem *problem, size_t index,
                                        sdx_plan_buffer *buffer) {
    if (index >= problem->count) return SDX_STATUS_INVALID_ARGUMENT;
    sdx_plan_buffer full = problem->given[index];
    full.struct_size = buffer->struct_size;
    full.offset = problem->buffers[index].offset;
    memcpy(buffer, &full, full.struct_size < sizeof full ? full.struct_size : sizeof full);
    return SDX_STATUS_OK;
}

/* Where text goes that may be longer than its room. */
typedef struct sink {
    char *buffer;
    size_t size, length;
} sink;

static void put(sink *s, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++, s->length++)
        if (s->length + 1 < s->size) s->buffer[s->length] = text[i];
}

static void put_number(sink *s, bool negative, uint64_t magnitude) {
    char text[24];
    int length = snprintf(text, sizeof text, ",%s%" PRIu64, negative ? "-" : "", magnitude);
    put(s, text, (size_t)length);
}

static void put_time(sink *s, int64_t time) {
    put_number(s, time < 0, time < 0 ? ~(uint64_t)time + 1 : (uint64_t)time);
}

static void put_id(sink *s, const char *id) {
    bool plain = strpbrk(id, ",\"\r\n") == NULL && id[0] != ' ' && id[0] != '\t';
    if (!plain) put(s, "\"", 1);
    for (const char *c = id; *c; c++) {
        if (*c == '"') put(s, "\"", 1);
        put(s, c, 1);
    }
    if (!plain) put(s, "\"", 1);
}

SDX_API size_t sdx_plan_problem_csv(const sdx_plan_problem *problem, bool offsets, char *buffer,
                                    size_t size) {
    sink s = {buffer, size, 0};
    const char *columns[] = {"id,lower,upper,size", problem->aligned ? ",alignment" : "",
                             offsets ? ",offset\n" : "\n"};
    for (size_t i = 0; i < 3; i++) put(&s, columns[i], strlen(columns[i]));
    for (uint32_t i = 0; i < problem->count; i++) {
        const sdx_plan_buffer *given = &problem->given[i];
        put_id(&s, given->id);
        put_time(&s, given->lower);
        put_time(&s, given->upper);
        put_number(&s, false, given->size);
        if (problem->aligned) put_number(&s, false, given->alignment > 1 ? given->alignment : 1);
        if (offsets) put_number(&s, false, problem->buffers[i].offset);
        put(&s, "\n", 1);
    }
    if (size > 0) buffer[s.length < size ? s.length : size - 1] = 0;
    return s.length;
}

/* ---- answers ------------------------------------------------------------------------------------- */

static sdx_status read_options(const sdx_plan_problem *p, const sdx_plan_options *options,
                               sdx_plan_request *request, sdx_error *error) {
    sdx_plan_options given = {0};
    if (options)
        memcpy(&given, options,
               options->struct_size < sizeof given ? options->struct_size : sizeof given);
    if (given.capacity > SIZE_MAX || given.align > SIZE_MAX / 4)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "the capacity or alignment is larger than any machine allows");
    *request = (sdx_plan_request){.strategy = given.strategy, .capacity = (size_t)given.capacity,
                                  .align = (size_t)given.align, .time_limit = given.time_limit,
                                  .seed = given.seed, .allocator = p->allocator,
                                  .cancelled = given.cancelled, .user = given.user};
    return SDX_STATUS_OK;
}

static void copy_result(sdx_plan_result *result, const sdx_plan_result *full) {
    if (!result) return;
    size_t size = result->struct_size;
    memcpy(result, full, size < sizeof *full ? size : sizeof *full);
    result->struct_size = size;
}

SDX_API sdx_status sdx_plan_problem_solve(sdx_plan_problem *problem,
                                          const sdx_plan_options *options,
                                          sdx_plan_result *result, sdx_error *error) {
    sdx_plan_request request;
    sdx_plan_result full = {0};
    SDX_TRY(read_options(problem, options, &request, error));
    SDX_TRY(sdx_plan_place(problem->buffers, problem->count, &request, &full, error));
    problem->answered = true;
    copy_result(result, &full);
    return SDX_STATUS_OK;
}

/* Judges offsets that came from outside. */
static sdx_status judge(const sdx_plan_problem *p, const sdx_buffer *buffers,
                        const sdx_plan_options *options, sdx_plan_result *result,
                        sdx_error *error) {
    sdx_plan_request request;
    SDX_TRY(read_options(p, options, &request, error));
    size_t arena = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        size_t end = 0;
        if (buffers[i].size > 0 && !sdx_size_add(buffers[i].offset, buffers[i].size, &end))
            return sdx_fail(error, SDX_STATUS_BAD_INPUT, "buffer '%.64s' has offset %zu",
                            p->given[i].id, buffers[i].offset);
        if (end > arena) arena = end;
    }
    SDX_TRY(sdx_plan_validate(buffers, p->count, arena, request.align, p->allocator, error));
    sdx_plan_result full = {.strategy = "given"};
    SDX_TRY(sdx_plan_measure(buffers, p->count, &request, &full, error));
    full.arena = arena;
    full.proved = arena <= full.lower_bound;
    full.fits = request.capacity == 0 || arena <= request.capacity;
    copy_result(result, &full);
    return SDX_STATUS_OK;
}

SDX_API sdx_status sdx_plan_problem_check(const sdx_plan_problem *problem,
                                          const sdx_plan_options *options,
                                          sdx_plan_result *result, sdx_error *error) {
    if (!problem->answered)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "the problem has no answer yet");
    return judge(problem, problem->buffers, options, result, error);
}

/* Offsets from the rows into buffers, a copy of the problem's. */
static sdx_status read_answer(const sdx_plan_problem *p, sdx_csv_reader *reader,
                              sdx_buffer *buffers, sdx_map *ids, sdx_error *error) {
    static const sdx_csv_column needed[] = {SDX_CSV_ID, SDX_CSV_OFFSET};
    SDX_TRY(sdx_csv_require(reader, needed, sizeof needed / sizeof *needed, error));
    for (uint32_t i = 0; i < p->count; i++) {
        buffers[i] = p->buffers[i];
        buffers[i].offset = SIZE_MAX; /* none yet */
        if (!sdx_map_put(ids, p->given[i].id, strlen(p->given[i].id), i))
            return sdx_fail_memory(error, sizeof *p->given, "the names of buffers");
    }
    sdx_csv_row row;
    bool more;
    for (;;) {
        SDX_TRY(sdx_csv_next(reader, &row, &more, error));
        if (!more) break;
        uint32_t index = sdx_map_get(ids, row.id, row.id_size);
        if (index == SDX_MAP_NONE || buffers[index].offset != SIZE_MAX)
            return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%.256s:%zu: %s '%.64s'", reader->name,
                            row.line, index == SDX_MAP_NONE ? "the problem has no buffer"
                                                            : "a second offset for buffer", row.id);
        if (row.offset > SIZE_MAX / 4) return too_large(reader, &row, error);
        buffers[index].offset = (size_t)row.offset;
    }
    for (uint32_t i = 0; i < p->count; i++)
        if (buffers[i].offset == SIZE_MAX)
            return sdx_fail(error, SDX_STATUS_BAD_INPUT, "%.256s: no offset for buffer '%.64s'",
                            reader->name, p->given[i].id);
    return SDX_STATUS_OK;
}

SDX_API sdx_status sdx_plan_problem_take_answer(sdx_plan_problem *problem, const void *bytes,
                                                size_t size, const char *name,
                                                const sdx_plan_options *options,
                                                sdx_plan_result *result, sdx_error *error) {
    sdx_arena memory;
    sdx_arena_init(&memory, problem->allocator, 0);
    sdx_map ids;
    sdx_map_init(&ids, problem->allocator);
    sdx_csv_reader reader;
    sdx_buffer *buffers = sdx_arena_array(&memory, problem->count, sizeof *buffers);
    sdx_status status = SDX_STATUS_OK;
    if (!buffers) status = sdx_fail_memory(error, problem->count * sizeof *buffers, "an answer");
    if (status == SDX_STATUS_OK)
        status = sdx_csv_start(&reader, size ? bytes : "", size, name ? name : "answer", &memory,
                               error);
    if (status == SDX_STATUS_OK) status = read_answer(problem, &reader, buffers, &ids, error);
    if (status == SDX_STATUS_OK) status = judge(problem, buffers, options, result, error);
    if (status == SDX_STATUS_OK) {
        if (problem->count) memcpy(problem->buffers, buffers, problem->count * sizeof *buffers);
        problem->answered = true;
    }
    sdx_map_free(&ids);
    sdx_arena_free(&memory);
    return status;
}
