/* cmocka.h - what tests/unit uses of cmocka, for machines that Debian's cross compilers build for and that
 * have no cmocka: the same names, so that the tests are the same. A check that fails ends its test with a
 * line; the program's exit code is the number of tests that failed. */
#ifndef SDX_TESTS_CROSS_CMOCKA_H
#define SDX_TESTS_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
    int (*setup)(void **state);
    int (*teardown)(void **state);
};

enum { CHECK_FAILED = 1, CHECK_SKIPPED = 2 };
static jmp_buf check_end;

static inline _Noreturn void check_fail(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("%s:%d: ", file, line);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    longjmp(check_end, CHECK_FAILED);
}

static inline void check_equal(uintmax_t a, uintmax_t b, int same, const char *what,
                               const char *file, int line) {
    if ((a == b) != same)
        check_fail(file, line, "%s: %jd against %jd", what, (intmax_t)a, (intmax_t)b);
}
static inline void check_texts(const char *a, const char *b, int same, const char *file, int line) {
    if ((strcmp(a, b) == 0) != same) check_fail(file, line, "\"%s\" against \"%s\"", a, b);
}
static inline void check_bytes(const void *a, const void *b, size_t size, const char *file,
                               int line) {
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < size; i++)
        if (x[i] != y[i])
            check_fail(file, line, "byte %zu of %zu: %02x against %02x", i, size, x[i], y[i]);
}

#define fail_msg(...)  check_fail(__FILE__, __LINE__, __VA_ARGS__)
#define print_message  printf
#define skip()         longjmp(check_end, CHECK_SKIPPED)
#define assert_true(x) check_equal((x) ? 1u : 0u, 1, 1, #x, __FILE__, __LINE__)
#define assert_false(x) check_equal((x) ? 1u : 0u, 0, 1, #x, __FILE__, __LINE__)
#define assert_int_equal(a, b) \
    check_equal((uintmax_t)(a), (uintmax_t)(b), 1, #a " == " #b, __FILE__, __LINE__)
#define assert_int_not_equal(a, b) \
    check_equal((uintmax_t)(a), (uintmax_t)(b), 0, #a " != " #b, __FILE__, __LINE__)
#define assert_ptr_equal(a, b) assert_true((const void *)(a) == (const void *)(b))
#define assert_ptr_not_equal(a, b) assert_true((const void *)(a) != (const void *)(b))
#define assert_null(x)         assert_ptr_equal(x, NULL)
#define assert_non_null(x)     assert_ptr_not_equal(x, NULL)
#define assert_in_range(x, low, high)                                         \
    assert_true((uintmax_t)(x) >= (uintmax_t)(low) && (uintmax_t)(x) <= (uintmax_t)(high))
#define assert_string_equal(a, b)       check_texts(a, b, 1, __FILE__, __LINE__)
#define assert_string_not_equal(a, b)   check_texts(a, b, 0, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) check_bytes(a, b, size, __FILE__, __LINE__)

#define cmocka_unit_test(f)                                    {#f, f, NULL, NULL}
#define cmocka_unit_test_setup_teardown(f, setup, teardown) {#f, f, setup, teardown}

/* Tests that cannot pass here, between spaces, are named by the environment (tests/cross/run.sh). */
static inline int check_left_out(const char *name) {
    const char *all = getenv("CHECK_LEAVE_OUT");
    size_t length = strlen(name);
    for (const char *at = all ? strstr(all, name) : NULL; at; at = strstr(at + 1, name))
        if ((at == all || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return 1;
    return 0;
}

static inline int check_run(const struct CMUnitTest *test, void *group) {
    void *state = group;
    if (check_left_out(test->name)) return 0;
    if (test->setup && test->setup(&state) != 0) {
        printf("FAIL %s: setup\n", test->name);
        return 1;
    }
    int end = setjmp(check_end);
    if (end == 0) test->run(&state);
    if (test->teardown) test->teardown(&state);
    if (end == CHECK_FAILED) printf("FAIL %s\n", test->name);
    return end == CHECK_FAILED;
}

#define cmocka_run_group_tests(tests, setup, teardown) \
    check_run_all(tests, sizeof(tests) / sizeof *(tests), setup, teardown)
static inline int check_run_all(const struct CMUnitTest *tests, size_t count, int (*setup)(void **state),
                                int (*teardown)(void **state)) {
    int failed = 0;
    void *group = NULL;
    if (setup && setup(&group) != 0) {
        printf("FAIL setup of all\n");
        return 1;
    }
    for (size_t i = 0; i < count; i++) failed += check_run(&tests[i], group);
    if (teardown) teardown(&group);
    return failed;
}

#endif
