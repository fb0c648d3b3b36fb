/* test_external.c - data files beside a model: ranges, checksums, and that no path, link or special
 * file leads out of the folder that was named. Also SHA-1 itself, and tensors as files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/sha1.h"
#include "base/sha1_blocks.h"
#include "onnx_model.h"

/* ---- a folder of its own for each test -------------------------------------------------- */

typedef struct place {
    char root[64]; /* holds model/, the folder that data may come from, and outside/ */
} place;

static const char *path_in(const place *p, const char *name) {
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", p->root, name);
    return path;
}

static void put(const place *p, const char *name, const void *data, size_t size) {
    FILE *file = fopen(path_in(p, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state) {
    place *p = calloc(1, sizeof *p);
    snprintf(p->root, sizeof p->root, "/tmp/sardonyx-external-XXXXXX");
    if (!mkdtemp(p->root)) return -1;
    if (mkdir(path_in(p, "model"), 0777) || mkdir(path_in(p, "outside"), 0777)) return -1;
    *state = p;
    return 0;
}

static int tear_down(void **state) {
    place *p = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", p->root);
    int result = system(command);
    free(p);
    return result;
}

/* ---- models ----------------------------------------------------------------------------- */

/* w, float32[3], lies elsewhere; what is NULL is not written. */
typedef struct where {
    const char *location, *offset, *length, *checksum;
} where;

static void entry(sdx_pb_writer *out, const char *key, const char *value) {
    if (!value) return;
    size_t mark = sdx_pb_write_begin(out, 13);
    tiny_text(out, 1, key);
    tiny_text(out, 2, value);
    sdx_pb_write_end(out, mark);
}

static void write_external(sdx_pb_writer *out, const char *name, const where *at) {
    size_t tensor = sdx_pb_write_begin(out, 5);
    sdx_pb_write_varint(out, 1, 3);
    sdx_pb_write_varint(out, 2, SDX_DTYPE_FLOAT32);
    tiny_text(out, 8, name);
    sdx_pb_write_varint(out, 14, 1);
    entry(out, "location", at->location);
    entry(out, "offset", at->offset);
    entry(out, "length", at->length);
    entry(out, "checksum", at->checksum);
    sdx_pb_write_end(out, tensor);
}

static void external_model(tiny_model *m, const where *at) {
    tiny_begin(m, 21);
    write_external(&m->out, "w", at);
    output(m, "w");
    tiny_end(m);
    assert_false(m->out.failed);
}

static void check_loaded(session *s, const float *want) {
    prepare(s);
    run(s);
    check_floats(s, 0, want, 3);
    sdx_context_release(s->context);
    sdx_program_release(s->program);
    sdx_model_release(s->model);
    *s = (session){0};
}

/* Loads from a file, from memory with a folder named, and as a copy: all must agree. */
static void expect_data(const place *p, const where *at, const float *want) {
    tiny_model m;
    session s = {0};
    external_model(&m, at);
    put(p, "model/m.onnx", m.out.data, m.out.size);
    for (uint32_t flags = 0; flags <= SDX_LOAD_COPY; flags += SDX_LOAD_COPY) {
        sdx_load_options options = {.struct_size = sizeof options, .flags = flags};
        if (sdx_model_load_file(path_in(p, "model/m.onnx"), &options, &s.model, &s.error) !=
            SDX_STATUS_OK)
            fail_msg("%s", s.error.message);
        check_loaded(&s, want);
        options.external_root = path_in(p, "model");
        load_with(&s, &m, &options);
        sdx_model_info info = {.struct_size = sizeof info};
        sdx_model_get_info(s.model, &info);
        assert_true(info.file_bytes > m.out.size);
        check_loaded(&s, want);
    }
    tiny_free(&m);
}

static void expect_refusal(const place *p, const where *at, sdx_status want, const char *sentence) {
    tiny_model m;
    external_model(&m, at);
    put(p, "model/m.onnx", m.out.data, m.out.size);
    sdx_model *model = NULL;
    sdx_error error;
    sdx_status status = sdx_model_load_file(path_in(p, "model/m.onnx"), NULL, &model, &error);
    if (status != want || !strstr(error.message, sentence))
        fail_msg("%s: \"%s\", not \"%s\"", sdx_status_name(status), error.message, sentence);
    assert_null(model);
    assert_non_null(strstr(error.message, "m.onnx: "));
    sdx_load_options options = {.struct_size = sizeof options,
                                .external_root = path_in(p, "model")};
    expect_failure(&m, &options, want, sentence);
}

static const float numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
/* The same as files have them, little-endian. */
static const uint8_t stored[sizeof numbers] = {
    0, 0, 0, 0,    0, 0, 0x80, 0x3f, 0, 0, 0, 0x40,    0, 0, 0x40, 0x40,
    0, 0, 0x80, 0x40, 0, 0, 0xa0, 0x40, 0, 0, 0xc0, 0x40, 0, 0, 0xe0, 0x40};

/* ---- ranges ----------------------------------------------------------------------------- */

static void offsets_and_lengths(void **state) {
    const place *p = *state;
    put(p, "model/w.bin", stored, sizeof stored);
    expect_data(p, &(where){.location = "w.bin"}, numbers);
    expect_data(p, &(where){.location = "w.bin", .offset = "8"}, numbers + 2);
    expect_data(p, &(where){.location = "w.bin", .offset = "20", .length = "12"}, numbers + 5);
    expect_data(p, &(where){.location = "./w.bin", .offset = "0", .length = "12"}, numbers);
    uint8_t odd[32] = {0}; /* misaligned: must be copied, not used where it lies */
    memcpy(odd + 3, stored + 4, 12);
    put(p, "model/odd.bin", odd, sizeof odd);
    expect_data(p, &(where){.location = "odd.bin", .offset = "3"}, numbers + 1);

    expect_refusal(p, &(where){.location = "w.bin", .offset = "21"}, SDX_STATUS_BAD_MODEL,
                   "external data 'w.bin' has 32 bytes, offset 21 and length 12 pass its end");
    expect_refusal(p, &(where){.location = "w.bin", .offset = "33"}, SDX_STATUS_BAD_MODEL,
                   "offset 33 and length 12 pass its end");
    expect_refusal(p, &(where){.location = "w.bin", .length = "33"}, SDX_STATUS_BAD_MODEL,
                   "offset 0 and length 33 pass its end");
    /* Twice 2^63: a sum would wrap around to nothing. */
    expect_refusal(p,
                   &(where){.location = "w.bin", .offset = "9223372036854775808",
                            .length = "9223372036854775808"},
                   SDX_STATUS_BAD_MODEL, "pass its end");
    expect_refusal(p, &(where){.location = "w.bin", .length = "16"}, SDX_STATUS_BAD_MODEL,
                   "tensor 'w' has 16 bytes of data; its shape and type need 12");
    expect_refusal(p, &(where){.location = "w.bin", .offset = ""}, SDX_STATUS_BAD_MODEL,
                   "'offset' is '', not a number");
    expect_refusal(p, &(where){.location = "w.bin", .offset = "0x8"}, SDX_STATUS_BAD_MODEL,
                   "'offset' is '0x8', not a number");
    expect_refusal(p, &(where){.location = "w.bin", .offset = "+8"}, SDX_STATUS_BAD_MODEL,
                   "'offset' is '+8', not a number");
}

static void one_file_serves_many_tensors(void **state) {
    const place *p = *state;
    put(p, "model/w.bin", stored, sizeof stored);
    tiny_model m;
    session s;
    tiny_begin(&m, 21);
    write_external(&m.out, "a", &(where){.location = "w.bin"});
    write_external(&m.out, "b", &(where){.location = "w.bin", .offset = "16"});
    tiny_node(&m, "Add", "a,b", "y");
    output(&m, "y");
    tiny_end(&m);
    sdx_load_options options = {.struct_size = sizeof options,
                                .external_root = path_in(p, "model")};
    load_with(&s, &m, &options);
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(s.model, &info);
    assert_int_equal(info.file_bytes, m.out.size + sizeof numbers); /* opened once */
    check_loaded(&s, (const float[]){4, 6, 8});
    tiny_free(&m);
}

/* ---- checksums -------------------------------------------------------------------------- */

static void hex(const uint8_t digest[20], char text[41], const char *digits) {
    for (int i = 0; i < 20; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[40] = 0;
}

static void sha1_of_known_texts(void **state) {
    (void)state;
    static const struct {
        const char *text, *digest;
    } known[] = {
        {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
        {"The quick brown fox jumps over the lazy dog",
         "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"},
    };
    uint8_t digest[20];
    char text[41];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sdx_sha1(known[i].text, strlen(known[i].text), digest);
        hex(digest, text, "0123456789abcdef");
        assert_string_equal(text, known[i].digest);
    }
    /* A million times 'a', and the lengths around the border of a block. */
    char *many = malloc(1000000);
    memset(many, 'a', 1000000);
    sdx_sha1(many, 1000000, digest);
    hex(digest, text, "0123456789abcdef");
    assert_string_equal(text, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    sdx_sha1(many, 55, digest);
    hex(digest, text, "0123456789abcdef");
    assert_string_equal(text, "c1c8bbdc22796e28c0e15163d20899b65621d65a");
    sdx_sha1(many, 56, digest);
    hex(digest, text, "0123456789abcdef");
    assert_string_equal(text, "c2db330f6083854c99d4b5bfb6e8f29f201be699");
    sdx_sha1(many, 64, digest);
    hex(digest, text, "0123456789abcdef");
    assert_string_equal(text, "0098ba824b5c16427bd7a1122a5a442a25ec644d");
    free(many);
}

/* The ways of sha1_blocks.h give the same from any state, for runs of blocks, at any address. */
static void sha1_in_every_way(void **state) {
    (void)state;
    sdx_sha1_blocks *machine = sdx_sha1_blocks_machine();
    if (!machine) skip(); /* the known texts have gone through plain C */
    enum { BLOCKS = 9 };
    uint8_t data[BLOCKS * 64 + 3];
    uint32_t number = 1, plain[5], other[5];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)((number = number * 69069 + 5) >> 24);
    for (size_t shift = 0; shift < 3; shift++)
        for (size_t count = 0; count <= BLOCKS; count++) {
            for (size_t i = 0; i < 5; i++) plain[i] = other[i] = number = number * 69069 + 5;
            sdx_sha1_blocks_plain(plain, data + shift, count);
            machine(other, data + shift, count);
            assert_memory_equal(plain, other, sizeof plain);
        }
}

static void checksums_of_the_whole_file(void **state) {
    const place *p = *state;
    put(p, "model/w.bin", stored, sizeof stored);
    uint8_t digest[20];
    char lower[41], upper[41], wrong[41];
    sdx_sha1(stored, sizeof stored, digest);
    hex(digest, lower, "0123456789abcdef");
    hex(digest, upper, "0123456789ABCDEF");
    expect_data(p, &(where){.location = "w.bin", .offset = "4", .checksum = lower}, numbers + 1);
    expect_data(p, &(where){.location = "w.bin", .checksum = upper}, numbers);
    for (size_t i = 0; i < 40; i += 13) {
        strcpy(wrong, lower);
        wrong[i] = wrong[i] == '0' ? '1' : '0';
        expect_refusal(p, &(where){.location = "w.bin", .checksum = wrong}, SDX_STATUS_BAD_MODEL,
                       "tensor 'w': the SHA-1 checksum of external data 'w.bin' does not match");
    }
    strcpy(wrong, lower);
    wrong[7] = 'g';
    expect_refusal(p, &(where){.location = "w.bin", .checksum = wrong}, SDX_STATUS_BAD_MODEL,
                   "checksum");
    wrong[39] = 0;
    expect_refusal(p, &(where){.location = "w.bin", .checksum = wrong}, SDX_STATUS_BAD_MODEL,
                   "checksum");
}

/* ---- the folder is not left ------------------------------------------------------------- */

static void paths_that_leave_are_refused(void **state) {
    const place *p = *state;
    put(p, "outside/w.bin", stored, sizeof stored);
    put(p, "model/w.bin", stored, sizeof stored);
    assert_int_equal(mkdir(path_in(p, "model/sub"), 0777), 0);
    put(p, "model/sub/w.bin", stored, sizeof stored);
    expect_data(p, &(where){.location = "sub/w.bin"}, numbers);
    expect_data(p, &(where){.location = "sub//./w.bin"}, numbers);
    assert_int_equal(symlink("sub/w.bin", path_in(p, "model/inside")), 0);
    expect_data(p, &(where){.location = "inside"}, numbers); /* a link that stays within */

    static const char *const bad[][2] = {
        {"../outside/w.bin", "has '..' in it"},    {"sub/../../outside/w.bin", "has '..' in it"},
        {"sub/../w.bin", "has '..' in it"},        {"..", "has '..' in it"},
        {"", "is empty"},                          {"sub\\w.bin", "has a backslash"},
        {"missing.bin", "No such file"},           {"w.bin/", "Not a directory"},
        {"sub", "is not a regular file"},          {".", "is not a regular file"},
        {"w.bin/x", "Not a directory"},            {"/etc/passwd", "is absolute"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_refusal(p, &(where){.location = bad[i][0]}, SDX_STATUS_BAD_MODEL, bad[i][1]);
    expect_refusal(p, &(where){.location = path_in(p, "model/w.bin")}, SDX_STATUS_BAD_MODEL,
                   "is absolute");
    expect_refusal(p, &(where){.offset = "0"}, SDX_STATUS_BAD_MODEL, "is empty");
    /* A name that only looks like one. */
    put(p, "model/..w.bin", stored, sizeof stored);
    expect_data(p, &(where){.location = "..w.bin"}, numbers);
}

static void links_that_leave_are_refused(void **state) {
    const place *p = *state;
    put(p, "outside/w.bin", stored, sizeof stored);
    assert_int_equal(symlink("../outside/w.bin", path_in(p, "model/file")), 0);
    assert_int_equal(symlink("../outside", path_in(p, "model/folder")), 0);
    assert_int_equal(symlink(path_in(p, "outside/w.bin"), path_in(p, "model/absolute")), 0);
    assert_int_equal(symlink("file", path_in(p, "model/second")), 0);
    assert_int_equal(symlink("self", path_in(p, "model/self")), 0);
    assert_int_equal(symlink("/proc/self/fd/0", path_in(p, "model/magic")), 0);
    static const char *const links[] = {"file", "folder/w.bin", "absolute", "second", "magic"};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        expect_refusal(p, &(where){.location = links[i]}, SDX_STATUS_BAD_MODEL,
                       "leads out of the model's folder");
    expect_refusal(p, &(where){.location = "self"}, SDX_STATUS_BAD_MODEL, "symbolic links");
    assert_int_equal(link(path_in(p, "outside/w.bin"), path_in(p, "model/hard")), 0);
    expect_refusal(p, &(where){.location = "hard"}, SDX_STATUS_BAD_MODEL,
                   "has more than one hard link");
    assert_int_equal(mkfifo(path_in(p, "model/pipe"), 0666), 0);
    expect_refusal(p, &(where){.location = "pipe"}, SDX_STATUS_BAD_MODEL, "is not a regular file");
    /* The folder itself may be reached through a link: it is the caller who names it. */
    put(p, "model/w.bin", stored, sizeof stored);
    assert_int_equal(symlink("model", path_in(p, "alias")), 0);
    tiny_model m;
    session s;
    external_model(&m, &(where){.location = "w.bin"});
    sdx_load_options options = {.struct_size = sizeof options,
                                .external_root = path_in(p, "alias")};
    load_with(&s, &m, &options);
    check_loaded(&s, numbers);
    tiny_free(&m);
}

static void models_without_a_folder_have_no_external_data(void **state) {
    const place *p = *state;
    put(p, "model/w.bin", stored, sizeof stored);
    tiny_model m;
    external_model(&m, &(where){.location = "w.bin"});
    assert_int_equal(chdir(path_in(p, "model")), 0); /* not taken from where the process stands */
    sdx_load_options options = {.struct_size = sizeof options,
                                .external_root = path_in(p, "no such folder")};
    sdx_model *model;
    sdx_error error;
    assert_int_equal(sdx_model_load_memory(m.out.data, m.out.size, &options, &model, &error),
                     SDX_STATUS_IO);
    assert_non_null(strstr(error.message, "no such folder: cannot open the folder"));
    expect_failure(&m, NULL, SDX_STATUS_BAD_MODEL,
                   "tensor 'w' has external data, but the model was not loaded from a file");
    assert_int_equal(chdir("/"), 0);
}

static void another_folder_may_be_named(void **state) {
    const place *p = *state;
    put(p, "outside/w.bin", stored, sizeof stored);
    tiny_model m;
    session s = {0};
    external_model(&m, &(where){.location = "w.bin"});
    put(p, "model/m.onnx", m.out.data, m.out.size);
    sdx_load_options options = {.struct_size = sizeof options,
                                .external_root = path_in(p, "outside")};
    if (sdx_model_load_file(path_in(p, "model/m.onnx"), &options, &s.model, &s.error) !=
        SDX_STATUS_OK)
        fail_msg("%s", s.error.message);
    check_loaded(&s, numbers);
    /* A model named without a folder stands in the current one. */
    put(p, "model/w.bin", stored + 16, 12);
    assert_int_equal(chdir(path_in(p, "model")), 0);
    if (sdx_model_load_file("m.onnx", NULL, &s.model, &s.error) != SDX_STATUS_OK)
        fail_msg("%s", s.error.message);
    check_loaded(&s, numbers + 4);
    assert_int_equal(chdir("/"), 0);
    tiny_free(&m);
}

/* ---- files ------------------------------------------------------------------------------ */

static void files_mapped_and_copied(void **state) {
    const place *p = *state;
    put(p, "outside/w.bin", stored, sizeof stored);
    put(p, "outside/empty", "", 0);
    assert_int_equal(mkfifo(path_in(p, "outside/pipe"), 0666), 0);
    sdx_error error = {0};
    for (int copy = 0; copy < 2; copy++) {
        sdx_file file;
        assert_int_equal(sdx_file_open(path_in(p, "outside/w.bin"), copy, NULL, &file, &error), 0);
        assert_int_equal(file.size, sizeof numbers);
        assert_int_equal(file.mapped, !copy);
        assert_memory_equal(file.data, stored, sizeof stored);
        sdx_file_close(&file);
        assert_null(file.data);
        assert_int_equal(sdx_file_open(path_in(p, "outside/empty"), copy, NULL, &file, &error), 0);
        assert_int_equal(file.size, 0);
        sdx_file_close(&file);
        error = (sdx_error){0};
        assert_int_equal(sdx_file_open(path_in(p, "outside/pipe"), copy, NULL, &file, &error),
                         SDX_STATUS_IO);
        assert_non_null(strstr(error.message, "not a regular file"));
        assert_int_equal(sdx_file_open(path_in(p, "outside"), copy, NULL, &file, NULL),
                         SDX_STATUS_IO);
    }
}

static void files_are_replaced_whole(void **state) {
    const place *p = *state;
    put(p, "outside/w.bin", "old", 3);
    const sdx_piece pieces[] = {{"new ", 4}, {"", 0}, {"text", 4}};
    assert_int_equal(sdx_file_write(path_in(p, "outside/w.bin"), pieces, 3, NULL), SDX_STATUS_OK);
    sdx_file file;
    assert_int_equal(sdx_file_open(path_in(p, "outside/w.bin"), true, NULL, &file, NULL), 0);
    assert_int_equal(file.size, 8);
    assert_memory_equal(file.data, "new text", 8);
    sdx_file_close(&file);
    sdx_error error = {0};
    assert_int_equal(sdx_file_write(path_in(p, "nowhere/w.bin"), pieces, 3, &error), SDX_STATUS_IO);
    assert_non_null(strstr(error.message, "cannot write"));
}

/* ---- .npy and .pb ----------------------------------------------------------------------- */

static void npy_files_come_back(void **state) {
    const place *p = *state;
    static const sdx_dtype dtypes[] = {
        SDX_DTYPE_FLOAT32, SDX_DTYPE_FLOAT64, SDX_DTYPE_FLOAT16, SDX_DTYPE_INT8,
        SDX_DTYPE_INT16,   SDX_DTYPE_INT32,   SDX_DTYPE_INT64,   SDX_DTYPE_UINT8,
        SDX_DTYPE_UINT16,  SDX_DTYPE_UINT32,  SDX_DTYPE_UINT64,  SDX_DTYPE_COMPLEX64,
        SDX_DTYPE_COMPLEX128};
    uint8_t bytes[6 * 16];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37 + 1);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        sdx_tensor tensor;
        sdx_value *value = NULL;
        const char *path = path_in(p, "outside/a.npy");
        sdx_tensor_init(&tensor, dtypes[i], 3, (const int64_t[]){1, 2, 3}, bytes, NULL);
        assert_int_equal(sdx_value_write_npy(path, &tensor, NULL), SDX_STATUS_OK);
        assert_int_equal(sdx_value_read_npy(path, NULL, &value, NULL), SDX_STATUS_OK);
        const sdx_tensor *got = sdx_value_tensor(value);
        assert_int_equal(got->dtype, dtypes[i]);
        assert_int_equal(got->rank, 3);
        assert_int_equal(got->dims[2], 3);
        assert_memory_equal(got->data, bytes, 6 * sdx_dtype_size(dtypes[i]));
        sdx_value_release(value);
    }
    static const sdx_string words[2] = {{"h\xc3\xa9llo", 6}, {"", 0}};
    sdx_tensor text;
    sdx_value *value = NULL;
    sdx_tensor_init(&text, SDX_DTYPE_STRING, 1, (const int64_t[]){2}, (void *)(uintptr_t)words,
                    NULL);
    assert_int_equal(sdx_value_write_npy(path_in(p, "outside/t.npy"), &text, NULL), 0);
    assert_int_equal(sdx_value_read_npy(path_in(p, "outside/t.npy"), NULL, &value, NULL), 0);
    const sdx_string *got = sdx_value_tensor(value)->data;
    assert_int_equal(got[0].size, 6);
    assert_memory_equal(got[0].data, words[0].data, 6);
    assert_int_equal(got[1].size, 0);
    sdx_value_release(value);
    assert_int_equal(sdx_value_read_npy(NULL, NULL, &value, NULL), SDX_STATUS_INVALID_ARGUMENT);
}

static void npy_in_other_orders(void **state) {
    const place *p = *state;
    /* Columns first, big-endian, two bytes each: [[1, 2, 3], [4, 5, 6]]. */
    static const char header[] = "\x93NUMPY\x01\x00\x46\x00"
                                 "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }";
    uint8_t file[80 + 12];
    memset(file, ' ', sizeof file);
    memcpy(file, header, sizeof header - 1);
    file[79] = '\n';
    static const uint8_t columns[12] = {0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6};
    memcpy(file + 80, columns, 12);
    put(p, "outside/f.npy", file, sizeof file);
    sdx_value *value = NULL;
    sdx_error error = {0};
    if (sdx_value_read_npy(path_in(p, "outside/f.npy"), NULL, &value, &error) != SDX_STATUS_OK)
        fail_msg("%s", error.message);
    const int16_t *got = sdx_value_tensor(value)->data;
    for (int i = 0; i < 6; i++) assert_int_equal(got[i], i + 1);
    sdx_value_release(value);
    /* Cut off at every byte: an error, never a crash. */
    for (size_t size = 0; size < sizeof file; size++) {
        put(p, "outside/f.npy", file, size);
        assert_int_equal(sdx_value_read_npy(path_in(p, "outside/f.npy"), NULL, &value, NULL),
                         SDX_STATUS_BAD_INPUT);
        assert_null(value);
    }
}

static void check_map_values(const sdx_value *map) {
    const sdx_tensor *values = sdx_value_tensor(sdx_value_map_values(map)); /* one tensor of both */
    assert_non_null(values);
    assert_int_equal(values->count, 2);
    assert_memory_equal(values->data, ((const float[]){1, 2}), 8);
}

static void map_files(void **state) {
    const place *p = *state;
    const char *path = path_in(p, "outside/map.pb");
    /* Keys 5 and 6 with two scalars; then the same with the mistakes that a file can have. */
    for (int mistake = 0; mistake < 5; mistake++) {
        sdx_pb_writer out;
        sdx_pb_writer_init(&out, NULL);
        sdx_pb_write_varint(&out, 2, SDX_DTYPE_INT64);
        sdx_pb_write_varint(&out, 3, 5);
        if (mistake == 1) sdx_pb_write_bytes(&out, 4, "text", 4);
        else if (mistake == 2) sdx_pb_write_bytes(&out, 3, "\x80", 1);
        else if (mistake != 3) sdx_pb_write_bytes(&out, 3, "\x06", 1);
        if (mistake == 4) sdx_pb_write_varint(&out, 4, 1);
        size_t list = sdx_pb_write_begin(&out, 5);
        for (int i = 0; i < 2; i++) {
            size_t tensor = sdx_pb_write_begin(&out, 3);
            tensor_body(&out, SDX_DTYPE_FLOAT32, NULL, -1, &numbers[i + 1], 4);
            sdx_pb_write_end(&out, tensor);
        }
        sdx_pb_write_end(&out, list);
        put(p, "outside/map.pb", out.data, out.size);
        sdx_pb_writer_free(&out);
        sdx_value *value = NULL;
        sdx_error error;
        sdx_status status = sdx_value_read_pb(path, SDX_KIND_MAP, NULL, &value, &error);
        if (mistake) {
            assert_int_equal(status, SDX_STATUS_BAD_INPUT);
            assert_null(value);
            continue;
        }
        assert_int_equal(status, SDX_STATUS_OK);
        const sdx_tensor *keys = sdx_value_tensor(sdx_value_map_keys(value));
        assert_memory_equal(keys->data, ((const int64_t[]){5, 6}), 16);
        check_map_values(value);
        /* Written and read again it is the same. */
        sdx_value *again = NULL;
        assert_int_equal(sdx_value_write_pb(path, value, "m", NULL), SDX_STATUS_OK);
        assert_int_equal(sdx_value_read_pb(path, SDX_KIND_MAP, NULL, &again, NULL), SDX_STATUS_OK);
        check_map_values(again);
        sdx_value_release(again);
        sdx_value_release(value);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(offsets_and_lengths),
        IN_FOLDER(one_file_serves_many_tensors),
        cmocka_unit_test(sha1_of_known_texts),
        cmocka_unit_test(sha1_in_every_way),
        IN_FOLDER(checksums_of_the_whole_file),
        IN_FOLDER(paths_that_leave_are_refused),
        IN_FOLDER(links_that_leave_are_refused),
        IN_FOLDER(models_without_a_folder_have_no_external_data),
        IN_FOLDER(another_folder_may_be_named),
        IN_FOLDER(files_mapped_and_copied),
        IN_FOLDER(files_are_replaced_whole),
        IN_FOLDER(npy_files_come_back),
        IN_FOLDER(npy_in_other_orders),
        IN_FOLDER(map_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
