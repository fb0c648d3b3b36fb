/* scenarios_other.c - what needs no run: placement problems by every strategy, files of tensors, images. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios.h"

enum { FILE_ROOM = 1 << 20, PATH_ROOM = 1200 };

/* A file's bytes; read before faults are armed (the first, faultless run of a scenario reads it). */
static unsigned char content[FILE_ROOM];
static size_t content_size;
static void read_content(const char *path) {
    static char for_path[PATH_ROOM];
    if (strcmp(path, for_path) == 0) return;
    FILE *file = fopen(path, "rb");
    content_size = file ? fread(content, 1, sizeof content, file) : 0;
    if (file) fclose(file);
    snprintf(for_path, sizeof for_path, "%s", path);
}

/* ---- placement ---------------------------------------------------------------------------------------- */

static bool solve_all(scenario *s, sdx_plan_problem *problem) {
    static char csv[1 << 16];
    for (size_t i = 0; i < sdx_plan_strategy_count(); i++) {
        sdx_plan_strategy_info info = {.struct_size = sizeof info};
        sdx_plan_result result = {.struct_size = sizeof result};
        sdx_plan_strategy_get_info(i, &info);
        sdx_plan_options options = {.struct_size = sizeof options, .strategy = info.name,
                                    .align = 16, .seed = 7};
        if (!STAGE(s, info.name, sdx_plan_problem_solve(problem, &options, &result, &s->error)))
            return false;
        scenario_note_bytes(s, &result.arena, sizeof result.arena);
        size_t length = sdx_plan_problem_csv(problem, true, csv, sizeof csv);
        if (!STAGE(s, "take answer",
                   sdx_plan_problem_take_answer(problem, csv, length, "answer", &options, &result,
                                                &s->error)))
            return false;
    }
    return true;
}

void scenario_plan(scenario *s) {
    sdx_plan_problem *problem = NULL;
    read_content(s->path);
    if (STAGE(s, "csv", sdx_plan_problem_from_csv(content, content_size, "problem",
                                                  scenario_allocator(s), &problem, &s->error)))
        solve_all(s, problem);
    sdx_plan_problem_release(problem);
}

/* ---- files of tensors ----------------------------------------------------------------------------------- */

void scenario_files(scenario *s) {
    char npy[PATH_ROOM], pb[PATH_ROOM];
    sdx_value *value = NULL, *again = NULL, *third = NULL;
    const sdx_allocator *allocator = scenario_allocator(s);
    snprintf(npy, sizeof npy, "%s/tensor.npy", s->scratch);
    snprintf(pb, sizeof pb, "%s/tensor.pb", s->scratch);
    bool good =
        STAGE(s, "read .npy", sdx_value_read_npy(s->path, allocator, &value, &s->error)) &&
        STAGE(s, "write .npy", sdx_value_write_npy(npy, sdx_value_tensor(value), &s->error)) &&
        STAGE(s, "write .pb", sdx_value_write_pb(pb, value, "x", &s->error)) &&
        STAGE(s, "read .npy back", sdx_value_read_npy(npy, allocator, &again, &s->error)) &&
        STAGE(s, "read .pb", sdx_value_read_pb(pb, SDX_KIND_TENSOR, allocator, &third, &s->error));
    if (good) {
        scenario_note(s, again);
        scenario_note(s, third);
    }
    sdx_value_release(value);
    sdx_value_release(again);
    sdx_value_release(third);
}

/* ---- images ------------------------------------------------------------------------------------------- */

void scenario_image(scenario *s) {
    static float pixels[3 * 32 * 32];
    sdx_image_preset preset = {.struct_size = sizeof preset};
    sdx_tensor image;
    read_content(s->path);
    memset(pixels, 0, sizeof pixels);
    bool good = STAGE(s, "preset", sdx_image_preset_set(
                                       &preset, "torchvision resize=36 crop=32x32 layout=nchw channels=rgb",
                                       &s->error)) &&
                STAGE(s, "tensor", sdx_tensor_init(&image, SDX_DTYPE_FLOAT32, 4,
                                                   (int64_t[]){1, 3, 32, 32}, pixels, &s->error)) &&
                STAGE(s, "image", sdx_image_to_tensor(&preset, content, content_size, NULL,
                                                      scenario_allocator(s), &image, &s->error));
    if (good) scenario_note_bytes(s, pixels, sizeof pixels);
}
