/* fuzz_preset.c - any text as the words of an image preset, which packed models carry. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *words = malloc(size + 1), text[1024];
    FUZZ_CHECK(words);
    memcpy(words, data, size);
    words[size] = 0;
    sdx_image_preset preset = {.struct_size = sizeof preset}, again = preset;
    sdx_error error = {0};
    sdx_status status = sdx_image_preset_set(&preset, words, &error);
    fuzz_check_error(status, &error);
    if (status == SDX_STATUS_OK) {
        FUZZ_CHECK(sdx_image_preset_text(&preset, text, sizeof text) < sizeof text);
        FUZZ_CHECK(sdx_image_preset_set(&again, text, &error) == SDX_STATUS_OK);
    }
    free(words);
    return 0;
}
