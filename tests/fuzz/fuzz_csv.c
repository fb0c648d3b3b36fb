/* fuzz_csv.c - any bytes as a placement problem, solved in several ways, and as somebody's answer
 * to it. */
#include <stdlib.h>

#include "fuzz.h"

static bool is_late(void *user) { return ++*(int *)user > 2000; }

static void solve(sdx_plan_problem *problem, const char *strategy, uint64_t align) {
    int asked = 0;
    sdx_plan_options options = {.struct_size = sizeof options,
                                .strategy = strategy,
                                .align = align,
                                .time_limit = 0.02,
                                .cancelled = is_late,
                                .user = &asked};
    sdx_plan_result result = {.struct_size = sizeof result};
    sdx_error error = {0};
    sdx_status status = sdx_plan_problem_solve(problem, &options, &result, &error);
    fuzz_check_error(status, &error);
    if (status != SDX_STATUS_OK) return;
    FUZZ_CHECK(result.arena >= result.proved_bound && result.proved_bound >= result.lower_bound);
    FUZZ_CHECK(sdx_plan_problem_check(problem, &options, &result, &error) == SDX_STATUS_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_memory memory;
    fuzz_memory_init(&memory, SIZE_MAX / 2);
    sdx_plan_problem *problem = NULL;
    sdx_error error = {0};
    fuzz_check_error(
        sdx_plan_problem_from_csv(data, size, "fuzz.csv", &memory.allocator, &problem, &error),
        &error);
    if (problem) {
        size_t length = sdx_plan_problem_csv(problem, true, NULL, 0);
        char *text = malloc(length + 1);
        FUZZ_CHECK(text && sdx_plan_problem_csv(problem, true, text, length + 1) == length);
        /* What is written reads back as a problem as large. */
        sdx_plan_problem *again = NULL;
        FUZZ_CHECK(sdx_plan_problem_from_csv(text, length, "again", &memory.allocator, &again,
                                             NULL) == SDX_STATUS_OK);
        FUZZ_CHECK(sdx_plan_problem_count(again) == sdx_plan_problem_count(problem));
        sdx_plan_problem_release(again);
        free(text);
        for (size_t i = 0; i < sdx_plan_strategy_count(); i++) {
            sdx_plan_strategy_info info = {.struct_size = sizeof info};
            FUZZ_CHECK(sdx_plan_strategy_get_info(i, &info) == SDX_STATUS_OK);
            solve(problem, info.name, i % 3 ? 64 : 1);
        }
        sdx_plan_options options = {.struct_size = sizeof options};
        sdx_plan_result result = {.struct_size = sizeof result};
        sdx_error_clear(&error);
        fuzz_check_error(
            sdx_plan_problem_take_answer(problem, data, size, "answer", &options, &result, &error),
            &error);
    }
    sdx_plan_problem_release(problem);
    fuzz_memory_check(&memory);
    return 0;
}
