/* string_concat.c - StringConcat: strings put together pair by pair, with broadcasting. Lengths
 * first, then one block of memory for all of the text, then the bytes. */
#include "ops/elementwise.h"
#include "ops/string_text.h"

static sdx_status concat_infer(sdx_infer *inf) {
    return sdx_ew_infer_broadcast(inf, 0, SDX_DTYPE_STRING, NULL);
}

typedef void (*join)(const sdx_string *x, const sdx_string *y, sdx_string *out);

static void join_rows(const sdx_tile *t, join one) {
    for (size_t r = 0; r < t->rows; r++) {
        const sdx_string *x = (const sdx_string *)t->in[0] + r * t->row[0];
        const sdx_string *y = (const sdx_string *)t->in[1] + r * t->row[1];
        sdx_string *out = (sdx_string *)t->out + r * t->out_row;
        for (size_t i = 0; i < t->n; i++) one(x + t->step[0] * i, y + t->step[1] * i, out + i);
    }
}

/* A size that does not fit becomes SIZE_MAX, which no memory is found for. */
static void join_size(const sdx_string *x, const sdx_string *y, sdx_string *out) {
    if (!sdx_size_add(x->size, y->size, &out->size)) out->size = SIZE_MAX;
}

static void join_text(const sdx_string *x, const sdx_string *y, sdx_string *out) {
    char *to = (char *)(uintptr_t)out->data; /* made by this call */
    if (x->size) memcpy(to, x->data, x->size);
    if (y->size) memcpy(to + x->size, y->data, y->size);
}

static void size_tile(const sdx_tile *t) { join_rows(t, join_size); }
static void text_tile(const sdx_tile *t) { join_rows(t, join_text); }

static void walk(sdx_call *call, sdx_tile_kernel kernel) {
    sdx_ew ew;
    sdx_ew_begin(&ew, sdx_out(call, 0));
    sdx_ew_operand(&ew, sdx_in(call, 0));
    sdx_ew_operand(&ew, sdx_in(call, 1));
    ew.kernel = kernel;
    sdx_ew_run(call, &ew, SDX_EW_GRAIN_HEAVY);
}

static sdx_status concat_run(sdx_call *call) {
    const sdx_tensor *out = sdx_out(call, 0);
    sdx_string *strings = out->data;
    size_t total = 0;
    if (out->count == 0) return SDX_STATUS_OK;
    walk(call, size_tile);
    for (size_t i = 0; i < out->count; i++)
        if (!sdx_size_add(total, strings[i].size, &total))
            return sdx_fail_memory(call->error, SIZE_MAX, "text");
    char *text = sdx_call_text(call, total);
    if (!text) return SDX_STATUS_NO_MEMORY;
    for (size_t i = 0; i < out->count; i++) {
        strings[i].data = text;
        text += strings[i].size;
    }
    walk(call, text_tile);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_string_concat = {
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(STRING)},
    .infer = concat_infer, .run = SDX_BODY(sdx_op_string_concat, concat_run),
};
