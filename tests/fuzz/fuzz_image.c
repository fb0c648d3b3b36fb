/* fuzz_image.c - any bytes as an image of any format, whole and made smaller, to a tensor. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const words[] = {"torchvision resize=40 crop=32x32",
                                        "raw resize=off crop=5x7 channels=gray layout=nhwc"};
    static const sdx_limits limits = {
        .struct_size = sizeof limits, .max_memory = FUZZ_MEMORY, .max_pixels = 1 << 20};
    static float values[3 * 32 * 32];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        fuzz_memory memory;
        fuzz_memory_init(&memory, FUZZ_MEMORY);
        sdx_image_preset preset = {.struct_size = sizeof preset};
        sdx_error error = {0};
        FUZZ_CHECK(sdx_image_preset_set(&preset, words[i], &error) == SDX_STATUS_OK);
        preset.channels = i ? SDX_CHANNELS_GRAY : SDX_CHANNELS_RGB;
        preset.layout = i ? SDX_LAYOUT_NHWC : SDX_LAYOUT_NCHW;
        const int64_t dims[][4] = {{1, 3, 32, 32}, {1, 5, 7, 1}};
        sdx_tensor image;
        FUZZ_CHECK(sdx_tensor_init(&image, SDX_DTYPE_FLOAT32, 4, dims[i], values, NULL) ==
                   SDX_STATUS_OK);
        fuzz_check_error(
            sdx_image_to_tensor(&preset, data, size, &limits, &memory.allocator, &image, &error),
            &error);
        fuzz_memory_check(&memory);
    }
    return 0;
}
