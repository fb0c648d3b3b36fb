/* fuzz_expr.c - any text as a symbolic size. What it means is printed, read again and has the same
 * value. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "graph/expr.h"

/* The value for all symbols at `size`; SDX_EVAL_FAILED where there is none. */
static int64_t value_of(const sdx_expr_pool *pool, sdx_expr e, int64_t size) {
    int64_t symbols[64];
    size_t count = sdx_expr_symbol_count(pool), entries = sdx_expr_pool_size(pool);
    if (count > sizeof symbols / sizeof *symbols) return SDX_EVAL_FAILED;
    for (size_t i = 0; i < count; i++) symbols[i] = size;
    int64_t *results = calloc(entries + 1, sizeof *results);
    FUZZ_CHECK(results);
    sdx_expr_evaluate(pool, symbols, results);
    int64_t value = sdx_expr_result(e, results);
    free(results);
    return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_memory memory;
    fuzz_memory_init(&memory, FUZZ_MEMORY);
    sdx_expr_pool *pool = NULL;
    FUZZ_CHECK(sdx_expr_pool_create(&memory.allocator, &pool, NULL) == SDX_STATUS_OK);
    sdx_expr parsed;
    sdx_error error = {0};
    sdx_status status = sdx_expr_parse(pool, (const char *)data, size, &parsed, &error);
    fuzz_check_error(status, &error);
    if (status == SDX_STATUS_OK) {
        char text[4096];
        size_t length = sdx_expr_text(pool, parsed, text, sizeof text);
        int64_t low, high;
        bool has_low = sdx_expr_lower_bound(pool, parsed, &low);
        bool has_high = sdx_expr_upper_bound(pool, parsed, &high);
        for (int64_t at = 0; at < 40; at += 13) {
            int64_t value = value_of(pool, parsed, at);
            if (value == SDX_EVAL_FAILED) continue;
            FUZZ_CHECK(!has_low || value >= low);
            FUZZ_CHECK(!has_high || value <= high);
        }
        sdx_expr again;
        if (!sdx_expr_is_unknown(parsed) && length < sizeof text &&
            sdx_expr_parse(pool, text, length, &again, NULL) == SDX_STATUS_OK)
            FUZZ_CHECK(again.word == parsed.word);
    }
    sdx_expr_pool_release(pool);
    fuzz_memory_check(&memory);
    return 0;
}
