/* test_plan_csv.c - placement problems and answers as CSV through the public interface: what is
 * read, what is refused and with which words, and that text goes out as it came in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "sardonyx.h"

static sdx_plan_problem *read_good(const char *csv) {
    sdx_plan_problem *problem = NULL;
    sdx_error error;
    sdx_error_clear(&error);
    if (sdx_plan_problem_from_csv(csv, strlen(csv), "p.csv", NULL, &problem, &error) !=
        SDX_STATUS_OK)
        fail_msg("%s", error.message);
    return problem;
}

static void assert_refused(const char *csv, sdx_status code, const char *message) {
    sdx_plan_problem *problem = NULL;
    sdx_error error;
    sdx_error_clear(&error);
    assert_int_equal(sdx_plan_problem_from_csv(csv, strlen(csv), "p.csv", NULL, &problem, &error),
                     code);
    assert_null(problem);
    assert_string_equal(error.message, message);
}

static void assert_csv(const sdx_plan_problem *problem, bool offsets, const char *want) {
    char text[512];
    assert_int_equal(sdx_plan_problem_csv(problem, offsets, text, sizeof text), strlen(want));
    assert_string_equal(text, want);
    char cut[5];
    assert_int_equal(sdx_plan_problem_csv(problem, offsets, cut, sizeof cut), strlen(want));
    assert_memory_equal(cut, want, 4);
    assert_int_equal(cut[4], 0);
    assert_int_equal(sdx_plan_problem_csv(problem, offsets, NULL, 0), strlen(want));
}

static void round_trip(void **state) {
    (void)state;
    static const char csv[] = "id,lower,upper,size\na,-5,3,4\n\"b,\"\"c\",3,9000000000,7\n";
    sdx_plan_problem *problem = read_good(csv);
    assert_int_equal(sdx_plan_problem_count(problem), 2);
    assert_false(sdx_plan_problem_has_answer(problem));
    assert_csv(problem, false, csv);
    sdx_plan_buffer buffer = {.struct_size = sizeof buffer};
    assert_int_equal(sdx_plan_problem_get(problem, 1, &buffer), SDX_STATUS_OK);
    assert_string_equal(buffer.id, "b,\"c");
    assert_int_equal(buffer.upper, 9000000000);
    assert_int_equal(sdx_plan_problem_get(problem, 2, &buffer), SDX_STATUS_INVALID_ARGUMENT);
    sdx_plan_result result = {.struct_size = sizeof result};
    assert_int_equal(sdx_plan_problem_solve(problem, NULL, &result, NULL), SDX_STATUS_OK);
    assert_int_equal(result.arena, 7);
    assert_true(result.proved);
    assert_csv(problem, true,
               "id,lower,upper,size,offset\na,-5,3,4,0\n\"b,\"\"c\",3,9000000000,7,0\n");
    sdx_plan_problem_release(problem);
}

static void forms_of_the_header(void **state) {
    (void)state;
    sdx_plan_problem *problem = read_good("\xef\xbb\xbf\r\n size , extra, end,start ,buffer_id\r\n"
                                          "8,x,4,1,first\r\n\r\n8,,9,5,second");
    assert_csv(problem, false, "id,lower,upper,size\nfirst,1,5,8\nsecond,5,10,8\n");
    sdx_plan_problem_release(problem);
    problem = read_good("id,lower,upper,size,alignment,gaps\na,0,1,3,1,\nb,0,1,3,64,\n");
    sdx_plan_result result = {.struct_size = sizeof result};
    assert_int_equal(sdx_plan_problem_solve(problem, NULL, &result, NULL), SDX_STATUS_OK);
    sdx_plan_buffer buffer = {.struct_size = sizeof buffer};
    assert_int_equal(sdx_plan_problem_get(problem, 1, &buffer), SDX_STATUS_OK);
    assert_int_equal(buffer.offset % 64, 0);
    sdx_plan_problem_release(problem);
    problem = read_good("id,lower,upper,size\n");
    assert_int_equal(sdx_plan_problem_count(problem), 0);
    sdx_plan_problem_release(problem);
}

static void mistakes_are_named(void **state) {
    (void)state;
    assert_refused("", SDX_STATUS_BAD_INPUT, "p.csv:1: empty; expected a header with column names");
    assert_refused("id,lower,upper\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:1: there is no column 'size' in the header");
    assert_refused("id,lower,upper,size,begin\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:1: there are two columns for 'lower'");
    assert_refused("id,lower,upper,size\na,0,1,2\n\nb,0,1\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:4: 3 fields, the header has 4");
    assert_refused("id,lower,upper,size\na,0,1,-2\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:2: size is '-2', expected a whole number from 0 up");
    assert_refused("id,lower,upper,size\na,0x,1,2\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:2: lower is '0x', expected a whole number");
    assert_refused("id,lower,upper,size\na,0,,2\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:2: upper is '', expected a whole number");
    assert_refused("id,lower,upper,size\na,3,3,2\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:2: the lifetime is empty: from 3 until before 3");
    assert_refused("id,lower,upper,size\na,0,1,99999999999999999999\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:2: size is 99999999999999999999, which is too large");
    assert_refused("id,lower,upper,size\na,0,1,18446744073709551615\n", SDX_STATUS_LIMIT,
                   "p.csv:2: size, alignment or offset is larger than any machine allows");
    assert_refused("id,lower,upper,size\na,0,1,2\na,0,1,2\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:3: there is a buffer 'a' already");
    assert_refused("id,lower,upper,size\n\"a,0,1,2\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:2: a quoted field does not end");
    assert_refused("id,lower,upper,size,alignment\na,0,1,2,0\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:2: alignment is 0, expected 1 or more");
    assert_refused("id,lower,upper,size,gaps\na,0,9,2,3-4\n", SDX_STATUS_UNSUPPORTED,
                   "p.csv:2: gaps in a lifetime are not supported");
    assert_refused("id,lower,upper,size\n\"a\"b,0,1,2\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:2: text behind a quoted field");
    assert_refused("id,lower,upper,size\na,9223372036854775807,1,2\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:2: lower is 9223372036854775807, which is too large");
    assert_refused("id,lower,upper,size\na,0,1,18446744073709551616\n", SDX_STATUS_BAD_INPUT,
                   "p.csv:2: size is 18446744073709551616, which is too large");
}

static void columns_have_an_end(void **state) {
    (void)state;
    char header[512] = "id,lower,upper,size";
    for (int i = 4; i < 64; i++) strcat(header, ",more");
    sdx_plan_problem *problem = read_good(header);
    assert_int_equal(sdx_plan_problem_count(problem), 0);
    sdx_plan_problem_release(problem);
    assert_refused(strcat(header, ",more"), SDX_STATUS_BAD_INPUT, "p.csv:1: more than 64 columns");
}

static void callers_mistakes_are_named(void **state) {
    (void)state;
    sdx_plan_problem *problem = NULL;
    sdx_error error;
    sdx_error_clear(&error);
    assert_int_equal(sdx_plan_problem_from_csv(NULL, 1, NULL, NULL, &problem, &error),
                     SDX_STATUS_INVALID_ARGUMENT);
    assert_null(problem);
    assert_string_equal(error.message, "no bytes to read a problem from");
    problem = read_good("id,lower,upper,size\na,0,1,2\n");
    sdx_error_clear(&error);
    assert_int_equal(sdx_plan_problem_check(problem, NULL, NULL, &error),
                     SDX_STATUS_INVALID_ARGUMENT);
    assert_string_equal(error.message, "the problem has no answer yet");
    sdx_plan_options options = {.struct_size = sizeof options, .align = SIZE_MAX};
    sdx_error_clear(&error);
    assert_int_equal(sdx_plan_problem_solve(problem, &options, NULL, &error),
                     SDX_STATUS_INVALID_ARGUMENT);
    assert_string_equal(error.message, "the capacity or alignment is larger than any machine allows");
    sdx_plan_problem_release(problem);
}

static void assert_answer(sdx_plan_problem *problem, const char *csv, sdx_status code,
                          const char *message) {
    sdx_error error;
    sdx_error_clear(&error);
    sdx_plan_result result = {.struct_size = sizeof result};
    assert_int_equal(sdx_plan_problem_take_answer(problem, csv, strlen(csv), "a.csv", NULL, &result,
                                                  &error),
                     code);
    assert_string_equal(error.message, message);
}

static void answers_of_others(void **state) {
    (void)state;
    sdx_plan_problem *problem = read_good("id,lower,upper,size\na,0,2,4\nb,1,3,4\n");
    assert_answer(problem, "offset,id\n4,a\n0,b\n", SDX_STATUS_OK, "");
    assert_csv(problem, true, "id,lower,upper,size,offset\na,0,2,4,4\nb,1,3,4,0\n");
    assert_answer(problem, "id\na\n", SDX_STATUS_BAD_INPUT,
                  "a.csv:1: there is no column 'offset' in the header");
    assert_answer(problem, "id,offset\na,0\n", SDX_STATUS_BAD_INPUT,
                  "a.csv: no offset for buffer 'b'");
    assert_answer(problem, "id,offset\na,0\nc,1\n", SDX_STATUS_BAD_INPUT,
                  "a.csv:3: the problem has no buffer 'c'");
    assert_answer(problem, "id,offset\na,0\na,1\n", SDX_STATUS_BAD_INPUT,
                  "a.csv:3: a second offset for buffer 'a'");
    assert_answer(problem, "id,offset\na,0\nb,3\n", SDX_STATUS_BAD_INPUT,
                  "buffers 0 (offset 0, size 4) and 1 (offset 3, size 4) overlap while both are live");
    /* What was wrong has changed nothing. */
    assert_csv(problem, true, "id,lower,upper,size,offset\na,0,2,4,4\nb,1,3,4,0\n");
    sdx_plan_problem_release(problem);
}

static void given_offsets_are_checked(void **state) {
    (void)state;
    sdx_plan_problem *problem = read_good("id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,8\n");
    assert_true(sdx_plan_problem_has_answer(problem));
    sdx_plan_options options = {.struct_size = sizeof options, .capacity = 10};
    sdx_plan_result result = {.struct_size = sizeof result};
    assert_int_equal(sdx_plan_problem_check(problem, &options, &result, NULL), SDX_STATUS_OK);
    assert_int_equal(result.arena, 12);
    assert_int_equal(result.lower_bound, 8);
    assert_false(result.fits || result.proved);
    options.align = 16;
    assert_int_equal(sdx_plan_problem_check(problem, &options, &result, NULL),
                     SDX_STATUS_BAD_INPUT);
    sdx_plan_problem_release(problem);
}

static void from_arrays(void **state) {
    (void)state;
    sdx_plan_buffer buffers[2] = {
        {.struct_size = sizeof *buffers, .lower = 0, .upper = 2, .size = 5},
        {.struct_size = sizeof *buffers, .id = "x", .lower = 1, .upper = 2, .size = 5}};
    sdx_plan_problem *problem = NULL;
    assert_int_equal(sdx_plan_problem_create(buffers, 2, NULL, &problem, NULL), SDX_STATUS_OK);
    assert_csv(problem, false, "id,lower,upper,size\n0,0,2,5\nx,1,2,5\n");
    sdx_plan_problem_release(problem);
    buffers[1].upper = 1;
    assert_int_equal(sdx_plan_problem_create(buffers, 2, NULL, &problem, NULL),
                     SDX_STATUS_INVALID_ARGUMENT);
    assert_null(problem);
    buffers[0].struct_size = 0;
    assert_int_equal(sdx_plan_problem_create(buffers, 2, NULL, &problem, NULL),
                     SDX_STATUS_INVALID_ARGUMENT);
}

/* ---- memory ---------------------------------------------------------------------------------------- */

static void *allocate_some(void *user, size_t size, size_t alignment) {
    long *left = user;
    if ((*left)-- <= 0) return NULL;
    return sdx_default_allocator.allocate(NULL, size, alignment);
}

static void release_some(void *user, void *memory, size_t size) {
    (void)user;
    sdx_default_allocator.release(NULL, memory, size);
}

static void memory_runs_out(void **state) {
    (void)state;
    static const char csv[] = "id,lower,upper,size\na,0,2,4\n\"b\",1,3,4\n";
    for (long room = 0;; room++) {
        long left = room;
        sdx_allocator allocator = {&left, allocate_some, release_some};
        sdx_plan_problem *problem = NULL;
        sdx_status status =
            sdx_plan_problem_from_csv(csv, strlen(csv), "p.csv", &allocator, &problem, NULL);
        if (status == SDX_STATUS_OK)
            status = sdx_plan_problem_take_answer(problem, "id,offset\na,0\nb,4\n", 18, "a.csv",
                                                  NULL, NULL, NULL);
        sdx_plan_problem_release(problem);
        assert_true(status == SDX_STATUS_OK || status == SDX_STATUS_NO_MEMORY);
        if (status == SDX_STATUS_OK) break;
        assert_true(room < 1000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(forms_of_the_header),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(columns_have_an_end),
        cmocka_unit_test(callers_mistakes_are_named),
        cmocka_unit_test(answers_of_others),
        cmocka_unit_test(given_offsets_are_checked),
        cmocka_unit_test(from_arrays),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
