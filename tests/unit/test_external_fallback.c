/* test_external_fallback.c - external data on a system without openat2: a filter makes that call fail for
 * this whole program, as old kernels and some sandboxes do, so that each component of a path is opened
 * in turn. The same files must be found, and links, even inside the folder, refused. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "onnx_model.h"

static char root[] = "/tmp/sardonyx-fallback-XXXXXX";

/* From here on openat2 says what `reason` is. */
static bool take_openat2_away(unsigned reason) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | reason),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return false;
    struct open_how how = {0};
    errno = 0;
    return syscall(SYS_openat2, -1, "/", &how, sizeof how) < 0 && errno == (int)reason;
}

static int make_files(void **state) {
    (void)state;
    char command[512];
    if (!mkdtemp(root)) return -1;
    snprintf(command, sizeof command,
             "cd %s && mkdir -p model/a/b outside && printf '%%12s' '' > model/a/b/w.bin && cp "
             "model/a/b/w.bin outside/w.bin && cp model/a/b/w.bin model/w.bin && ln -s a model/inner "
             "&& ln -s ../outside model/outer && ln -s ../outside/w.bin model/out.bin && ln -s w.bin "
             "model/in.bin && mkfifo model/pipe",
             root);
    return system(command);
}

static int remove_files(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

/* w, float32[3], lies at `location`, whatever else the model is. */
static sdx_status load_from(const char *location, sdx_model **model, sdx_error *error) {
    tiny_model m;
    char folder[64];
    snprintf(folder, sizeof folder, "%s/model", root);
    tiny_begin(&m, 21);
    size_t tensor = sdx_pb_write_begin(&m.out, 5);
    sdx_pb_write_varint(&m.out, 1, 3);
    sdx_pb_write_varint(&m.out, 2, SDX_DTYPE_FLOAT32);
    tiny_text(&m.out, 8, "w");
    sdx_pb_write_varint(&m.out, 14, 1);
    size_t entry = sdx_pb_write_begin(&m.out, 13);
    tiny_text(&m.out, 1, "location");
    tiny_text(&m.out, 2, location);
    sdx_pb_write_end(&m.out, entry);
    sdx_pb_write_end(&m.out, tensor);
    output(&m, "w");
    tiny_end(&m);
    sdx_load_options options = {.struct_size = sizeof options, .external_root = folder,
                                .flags = SDX_LOAD_COPY};
    *model = NULL;
    sdx_status status = sdx_model_load_memory(m.out.data, m.out.size, &options, model, error);
    tiny_free(&m);
    return status;
}

static void files_beneath_are_found(void **state) {
    (void)state;
    static const char *const locations[] = {"w.bin", "./w.bin", "a/b/w.bin", "a//b/w.bin", "a/./b/w.bin"};
    for (size_t i = 0; i < sizeof locations / sizeof *locations; i++) {
        session s = {0};
        if (load_from(locations[i], &s.model, &s.error) != SDX_STATUS_OK)
            fail_msg("%s: %s", locations[i], s.error.message);
        prepare(&s);
        run(&s);
        const sdx_tensor *got = sdx_context_output(s.context, 0);
        assert_memory_equal(got->data, "            ", 12);
        sdx_context_release(s.context);
        sdx_program_release(s.program);
        sdx_model_release(s.model);
    }
}

static void what_leaves_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *location, *sentence;
    } cases[] = {
        {"out.bin", "Too many levels of symbolic links"},
        {"in.bin", "Too many levels of symbolic links"},
        {"outer/w.bin", "Not a directory"},
        {"inner/b/w.bin", "Not a directory"},
        {"a/../w.bin", "has '..' in it"},
        {"/etc/passwd", "is absolute"},
        {"nowhere/w.bin", "No such file or directory"},
        {"w.bin/w.bin", "Not a directory"},
        {"pipe", "is not a regular file"},
        {"a/b", "is not a regular file"},
        {"a/b/", "is not a regular file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sdx_model *model;
        sdx_error error;
        sdx_status status = load_from(cases[i].location, &model, &error);
        if (status != SDX_STATUS_BAD_MODEL || !strstr(error.message, cases[i].sentence))
            fail_msg("%s: %s, \"%s\"", cases[i].location, sdx_status_name(status), error.message);
        assert_null(model);
    }
}

int main(void) {
    if (!take_openat2_away(ENOSYS)) {
        puts("skipped: system calls cannot be filtered here");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_beneath_are_found),
        cmocka_unit_test(what_leaves_is_refused),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
