/* test_preprocess.c - unit tests of presets and of the way from an image file to a tensor: words and
 * their text, what is refused, pixels by hand, failing allocations. What Pillow makes of photographs is
 * compared in tests/classify. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sardonyx.h"

static sdx_image_preset set(const char *words) {
    sdx_image_preset preset = {.struct_size = sizeof preset};
    sdx_error error;
    sdx_error_clear(&error);
    if (sdx_image_preset_set(&preset, words, &error) != SDX_STATUS_OK) fail_msg("%s", error.message);
    return preset;
}

static void expect_text(const char *words, const char *expected) {
    char text[400];
    const sdx_image_preset preset = set(words);
    const size_t length = sdx_image_preset_text(&preset, text, sizeof text);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(text));
    assert_int_equal(sdx_image_preset_text(&preset, NULL, 0), length);
    /* The text says all there is to say. */
    const sdx_image_preset again = set(text);
    char twice[400];
    sdx_image_preset_text(&again, twice, sizeof twice);
    assert_string_equal(twice, text);
}

static void test_words(void **state) {
    (void)state;
    expect_text("", "resize=fill crop=model interpolation=bilinear channels=model layout=model scale=1 "
                    "mean=0 std=1");
    expect_text("torchvision",
                "resize=87.5% crop=model interpolation=bilinear channels=model layout=model "
                "scale=1/255 mean=0.485,0.456,0.406 std=0.229,0.224,0.225");
    expect_text("  torchvision   resize=232  crop=240x320 ",
                "resize=232 crop=240x320 interpolation=bilinear channels=model layout=model "
                "scale=1/255 mean=0.485,0.456,0.406 std=0.229,0.224,0.225");
    expect_text("clip resize=200x300 channels=gray layout=nhwc mean=-0.5 std=0.25,1,3 scale=1/3",
                "resize=200x300 crop=model interpolation=bicubic channels=gray layout=nhwc scale=1/3 "
                "mean=-0.5 std=0.25,1,3");
    /* A preset's name forgets what was before it. */
    expect_text("crop=7 channels=bgr raw resize=off",
                "resize=off crop=model interpolation=bilinear channels=model layout=model scale=1 "
                "mean=0 std=1");
    assert_true(set("scale=1/255").scale == 1.0 / 255);
    assert_true(set("mean=103.939,116.779,123.68").mean[2] == 123.68);
}

/* Whatever the number, its text gives the same one. */
static void test_numbers(void **state) {
    (void)state;
    expect_text("raw scale=1e3 mean=0.00000125 std=7.5e-12",
                "resize=fill crop=model interpolation=bilinear channels=model layout=model scale=1000 "
                "mean=1.25e-6 std=7.5e-12");
    expect_text("raw scale=000.00025 mean=120e18,-0.30,2 std=12345678901234567",
                "resize=fill crop=model interpolation=bilinear channels=model layout=model scale=0.00025 "
                "mean=1.2e20,-0.3,2 std=12345678901234568");
    static const double numbers[] = {2.0 / 255555555555555, 1.0 / 3, 0.1 + 0.2, 1e-300, 1.5e300, 5e-324,
                                     255.00000000000003, 1.0 / 65025, 0.07, 3.1415926535897931, 99999.5};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sdx_image_preset preset = set("raw");
        preset.scale = numbers[i];
        preset.mean[1] = -numbers[i];
        preset.resize = SDX_RESIZE_FRACTION;
        preset.resize_fraction = 0.07 + 0.01 * (double)i;
        char text[400];
        sdx_image_preset_text(&preset, text, sizeof text);
        const sdx_image_preset again = set(text);
        assert_true(again.scale == preset.scale);
        assert_true(again.mean[1] == preset.mean[1]);
        assert_true(again.resize_fraction == preset.resize_fraction);
    }
    for (int exponent = -323; exponent <= 308; exponent++) {
        sdx_image_preset preset = set("raw");
        preset.std[0] = pow(10, exponent);
        preset.std[1] = 1.75 * pow(10, exponent - (exponent == 308));
        preset.std[2] = pow(10, exponent) / 3;
        if (preset.std[2] == 0) preset.std[2] = 1;
        char text[400];
        sdx_image_preset_text(&preset, text, sizeof text);
        const sdx_image_preset again = set(text);
        assert_memory_equal(again.std, preset.std, sizeof again.std);
    }
}

static void test_every_preset(void **state) {
    (void)state;
    const char *words = NULL, *name;
    size_t count = 0;
    for (; (name = sdx_image_preset_name(count, &words)) != NULL; count++) {
        const sdx_image_preset by_name = set(name), by_words = set(words);
        assert_memory_equal(&by_name, &by_words, sizeof by_name);
    }
    assert_true(count >= 4);
}

static void test_refused_words(void **state) {
    (void)state;
    static const char *const bad[] = {
        "torchvisoin", "size=3", "=", "resize", "resize=", "resize=0", "resize=1.5", "resize=200x",
        "resize=x200", "resize=101%", "resize=0%", "resize=70000", "crop=off", "crop=-1", "crop=2x3x4",
        "interpolation=nearest", "channels=cmyk", "layout=chwn", "scale=0", "scale=-1", "scale=1/0",
        "scale=1/2/3", "scale=1e", "scale=1e-", "scale=e3", "scale=1e999", "scale=1e1234", "scale=1e2.5",
        "scale=1e-999", "scale=1e300/1e-300", "mean=", "mean=1,2", "mean=1,2,3,4", "mean=a", "mean=1,,3", "std=0",
        "std=1,-1,1", "std=123456789012345678", "mean=0.1.2", "mean=-", "mean=.",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sdx_image_preset preset = set("torchvision"), before = preset;
        sdx_error error;
        sdx_error_clear(&error);
        if (sdx_image_preset_set(&preset, bad[i], &error) != SDX_STATUS_INVALID_ARGUMENT)
            fail_msg("'%s' passes", bad[i]);
        assert_true(error.message[0] != 0);
        assert_memory_equal(&preset, &before, sizeof preset);
    }
    sdx_image_preset unset = {0};
    assert_int_equal(sdx_image_preset_set(&unset, "raw", NULL), SDX_STATUS_INVALID_ARGUMENT);
    assert_int_equal(sdx_image_preset_set(NULL, "raw", NULL), SDX_STATUS_INVALID_ARGUMENT);
}

/* ---- tensors ------------------------------------------------------------------------------------ */

static size_t left, held; /* allocations until the next one fails; bytes */

static void *count_allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    void *memory = NULL;
    if (left == 0 || posix_memalign(&memory, alignment, size) != 0) return NULL;
    left--;
    held += size;
    return memory;
}

static void count_release(void *user, void *memory, size_t size) {
    (void)user;
    held -= size;
    free(memory);
}

static const sdx_allocator counting = {NULL, count_allocate, count_release};

/* 4 by 2 pixels of gray: 0 10 20 30 / 40 50 60 70. */
static const char gray[] = "P5 4 2 255\n\x00\x0a\x14\x1e\x28\x32\x3c\x46";
#define GRAY_SIZE (sizeof gray - 1)

static sdx_status convert(const char *words, int64_t height, int64_t width, float *out,
                          sdx_error *error) {
    sdx_image_preset preset = set(words);
    preset.layout = SDX_LAYOUT_NCHW;
    preset.channels = SDX_CHANNELS_GRAY;
    const int64_t dims[] = {1, 1, height, width};
    sdx_tensor tensor;
    assert_int_equal(sdx_tensor_init(&tensor, SDX_DTYPE_FLOAT32, 4, dims, out, NULL), SDX_STATUS_OK);
    return sdx_image_to_tensor(&preset, gray, GRAY_SIZE, NULL, &counting, &tensor, error);
}

static void expect_values(const char *words, int64_t height, int64_t width, const float *expected) {
    float out[64];
    sdx_error error;
    left = SIZE_MAX;
    if (convert(words, height, width, out, &error) != SDX_STATUS_OK) fail_msg("%s", error.message);
    for (int64_t i = 0; i < height * width; i++)
        if (out[i] != expected[i])
            fail_msg("%s: value %d is %f, expected %f", words, (int)i, (double)out[i],
                     (double)expected[i]);
    assert_int_equal(held, 0);
}

static void test_pixels(void **state) {
    (void)state;
    expect_values("resize=off", 2, 4, (float[]){0, 10, 20, 30, 40, 50, 60, 70});
    expect_values("resize=off", 2, 2, (float[]){10, 20, 50, 60});
    expect_values("resize=off", 1, 1, (float[]){20}); /* halves go to the even number */
    /* Too small for the crop: black around it, the odd row below. */
    expect_values("resize=off", 5, 4, (float[]){0, 0, 0, 0, 0, 10, 20, 30, 40, 50, 60, 70,
                                                0, 0, 0, 0, 0, 0, 0, 0});
    expect_values("resize=1x1", 1, 1, (float[]){35});
    expect_values("resize=1", 1, 2, (float[]){27, 43}); /* as Pillow has it */
    expect_values("resize=off scale=1/2 mean=5 std=2", 1, 2, (float[]){0, 2.5f});
}

static void test_refused_tensors(void **state) {
    (void)state;
    sdx_error error;
    float out[64];
    left = SIZE_MAX;
    sdx_image_preset preset = set("raw");
    const int64_t dims[] = {1, 3, 2, 2};
    sdx_tensor tensor;
    sdx_tensor_init(&tensor, SDX_DTYPE_FLOAT32, 4, dims, out, NULL);
    /* Not fitted yet. */
    assert_int_equal(
        sdx_image_to_tensor(&preset, gray, GRAY_SIZE, NULL, NULL, &tensor, &error),
        SDX_STATUS_INVALID_ARGUMENT);
    preset.layout = SDX_LAYOUT_NHWC;
    preset.channels = SDX_CHANNELS_RGB;
    assert_int_equal(
        sdx_image_to_tensor(&preset, gray, GRAY_SIZE, NULL, NULL, &tensor, &error),
        SDX_STATUS_INVALID_ARGUMENT);
    preset.layout = SDX_LAYOUT_NCHW;
    assert_int_equal(
        sdx_image_to_tensor(&preset, gray, GRAY_SIZE, NULL, NULL, &tensor, &error), SDX_STATUS_OK);
    assert_int_equal(sdx_image_to_tensor(&preset, gray, GRAY_SIZE, NULL, NULL, NULL, &error),
                     SDX_STATUS_INVALID_ARGUMENT);
    assert_int_equal(sdx_image_to_tensor(NULL, gray, GRAY_SIZE, NULL, NULL, &tensor, &error),
                     SDX_STATUS_INVALID_ARGUMENT);
    assert_int_equal(sdx_image_to_tensor(&preset, gray, 9, NULL, NULL, &tensor, &error),
                     SDX_STATUS_BAD_INPUT);
    sdx_limits limits = {.struct_size = sizeof limits, .max_pixels = 7};
    assert_int_equal(sdx_image_to_tensor(&preset, gray, GRAY_SIZE, &limits, NULL, &tensor, &error),
                     SDX_STATUS_LIMIT);
    limits = (sdx_limits){.struct_size = sizeof limits, .max_memory = 31};
    assert_int_equal(sdx_image_to_tensor(&preset, gray, GRAY_SIZE, &limits, NULL, &tensor, &error),
                     SDX_STATUS_LIMIT);
    preset.resize = SDX_RESIZE_SHORTER; /* of no size */
    assert_int_equal(sdx_image_to_tensor(&preset, gray, GRAY_SIZE, NULL, NULL, &tensor, &error),
                     SDX_STATUS_INVALID_ARGUMENT);
}

static void test_no_memory(void **state) {
    (void)state;
    float out[64];
    sdx_error error;
    sdx_status status = SDX_STATUS_NO_MEMORY;
    size_t n = 0;
    for (; status == SDX_STATUS_NO_MEMORY; n++) {
        left = n;
        status = convert("resize=3 interpolation=bicubic", 3, 3, out, &error);
        assert_int_equal(held, 0);
    }
    assert_int_equal(status, SDX_STATUS_OK);
    assert_true(n > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),       cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_every_preset),
        cmocka_unit_test(test_refused_words), cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_refused_tensors), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
