/* cmd_classify.c - `sardonyx classify`: image files in, names and confidences out. Options, and the
 * preset that they make together with the model's own; the work is in classify_*.c. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "classify.h"

#define DEFAULT_BATCH 32
#define DEFAULT_PIXELS 100000000
#define DEFAULT_PRESET "torchvision"

static const char help[] =
    "usage: sardonyx classify MODEL IMAGE.. [--top K] [--labels FILE|imagenet|none] [--json]\n"
    "                         [--preset NAME] [--resize N|HxW|P%|fill|off] [--crop N|HxW]\n"
    "                         [--interpolation bilinear|bicubic] [--scale X] [--mean X[,Y,Z]]\n"
    "                         [--std X[,Y,Z]] [--channels rgb|bgr|gray] [--layout nchw|nhwc]\n"
    "                         [--softmax auto|off] [--output NAME] [--batch N] [--threads N]\n"
    "                         [--optimize 0|1|2|3] [--max-pixels N] [--whole]\n"
    "                         [--save-input FILE.npy]\n\n"
    "Says what is in each image: rank, class, name, confidence. Images are JPEG, PNG, WebP, BMP, PNM,\n"
    "TIFF or JPEG 2000; they are turned upright, resized, cropped and scaled as training did it.\n\n"
    "  --top K            classes printed for each image (default 5)\n"
    "  --labels FILE      names of the classes, one a line; imagenet: the 1000 that come along; none.\n"
    "                     Default: what the model's metadata says, else imagenet for 1000 classes\n"
    "  --preset NAME      how the model wants its images (default: what its metadata says, else\n"
    "                     torchvision); --preset list prints all. The options below change parts of it\n"
    "  --resize R         N: the shorter side; HxW: both; P%: so that the crop is P percent of the\n"
    "                     shorter side; fill: to the crop's size; off\n"
    "  --crop C           N or HxW from the middle (default: the size of the model's input)\n"
    "  --interpolation I  bilinear or bicubic, antialiased\n"
    "  --scale X          each value (0 to 255) times X, such as 1/255; then minus the mean, then\n"
    "  --mean X[,Y,Z]     divided by the standard deviation, for all channels or for each in the\n"
    "  --std X[,Y,Z]      order of --channels\n"
    "  --channels C       rgb, bgr or gray (default: as the model's input has 3 or 1)\n"
    "  --layout L         nchw or nhwc (default: as the model's input)\n"
    "  --softmax S        auto (default): unless the model ends in one; off: the model's own scores\n"
    "  --output NAME      the output with the scores (default: the first)\n"
    "  --batch N          images of one run at most (default 32, or the model's own number)\n"
    "  --threads N        threads (default: SARDONYX_THREADS, else as many as the process may use)\n"
    "  --optimize L       optimisation level (default 3)\n"
    "  --max-pixels N     refuse larger images before decoding them (default 100000000)\n"
    "  --whole            decode large JPEGs whole, not at the least size that serves the resize\n"
    "  --save-input FILE  write the images as the model gets them, all in one run\n"
    "  --json             the same as JSON, with the preset in full and times\n\n"
    "example: sardonyx classify efficientnet_lite0.onnx coffee.png --preset efficientnet-lite\n";

/* Options that are words of a preset. */
static const char *const preset_keys[] = {"resize", "crop", "interpolation", "scale",
                                          "mean",   "std",  "channels",      "layout"};
#define PRESET_KEYS (sizeof preset_keys / sizeof *preset_keys)

typedef struct classify_options {
    const char *preset, *labels, *output, *save_input, *words[PRESET_KEYS];
    int64_t top, batch, threads, optimize, max_pixels;
    int softmax;
    bool json, whole;
    text_list positionals;
} classify_options;

static bool parse(classify_options *o, int argc, char **argv) {
    const option options[] = {
        {.name = "--preset", .kind = OPTION_TEXT, .to = &o->preset},
        {.name = "--labels", .kind = OPTION_TEXT, .to = &o->labels},
        {.name = "--top", .kind = OPTION_INTEGER, .to = &o->top, .low = 1, .high = 1000000},
        {.name = "--json", .kind = OPTION_FLAG, .to = &o->json},
        {.name = "--resize", .kind = OPTION_TEXT, .to = &o->words[0]},
        {.name = "--crop", .kind = OPTION_TEXT, .to = &o->words[1]},
        {.name = "--interpolation", .kind = OPTION_TEXT, .to = &o->words[2]},
        {.name = "--scale", .kind = OPTION_TEXT, .to = &o->words[3]},
        {.name = "--mean", .kind = OPTION_TEXT, .to = &o->words[4]},
        {.name = "--std", .kind = OPTION_TEXT, .to = &o->words[5]},
        {.name = "--channels", .kind = OPTION_TEXT, .to = &o->words[6]},
        {.name = "--layout", .kind = OPTION_TEXT, .to = &o->words[7]},
        {.name = "--softmax", .kind = OPTION_CHOICE, .to = &o->softmax, .choices = "auto|off"},
        {.name = "--output", .kind = OPTION_TEXT, .to = &o->output},
        {.name = "--batch", .kind = OPTION_INTEGER, .to = &o->batch, .low = 1, .high = 65536},
        {.name = "--threads", .kind = OPTION_INTEGER, .to = &o->threads, .low = 1, .high = 1024},
        {.name = "--optimize", .kind = OPTION_INTEGER, .to = &o->optimize, .low = 0, .high = 3},
        {.name = "--max-pixels", .kind = OPTION_INTEGER, .to = &o->max_pixels, .low = 1,
         .high = INT64_MAX},
        {.name = "--whole", .kind = OPTION_FLAG, .to = &o->whole},
        {.name = "--save-input", .kind = OPTION_TEXT, .to = &o->save_input},
    };
    if (!parse_arguments(&cmd_classify, argc, argv, options, sizeof options / sizeof *options,
                         &o->positionals))
        return false;
    if (o->preset && strcmp(o->preset, "list") == 0) return true;
    if (o->positionals.count == 0) usage_error(&cmd_classify, "no model given");
    else if (o->positionals.count == 1) usage_error(&cmd_classify, "no image given");
    return o->positionals.count > 1;
}

static int list_presets(void) {
    const char *name, *words;
    for (size_t i = 0; (name = sdx_image_preset_name(i, &words)) != NULL; i++)
        printf("%-20s %s\n", name, words);
    return EXIT_OK;
}

/* ---- the preset -------------------------------------------------------------------------------- */

/* One option at a time, so that a message can name it. */
static int set_words(classify_session *s, const char *key, const char *value) {
    sdx_error error;
    sdx_error_clear(&error);
    if (!key) {
        if (sdx_image_preset_set(&s->preset, value, &error) == SDX_STATUS_OK) return EXIT_OK;
        return usage_error(&cmd_classify, "%s", error.message);
    }
    text word = {0};
    text_add(&word, "%s=%s", key, value);
    sdx_status status = SDX_STATUS_NO_MEMORY;
    if (word.data && !strchr(value, ' ')) status = sdx_image_preset_set(&s->preset, word.data, &error);
    text_free(&word);
    if (status == SDX_STATUS_OK) return EXIT_OK;
    if (!error.message[0]) return usage_error(&cmd_classify, "--%s is '%s'", key, value);
    return usage_error(&cmd_classify, "--%s", error.message);
}

static int choose_preset(classify_session *s, const classify_options *o) {
    const char *stored = sdx_model_metadata_value(s->model, SDX_METADATA_PRESET);
    sdx_error error;
    s->preset = (sdx_image_preset){.struct_size = sizeof s->preset, .whole = o->whole};
    sdx_error_clear(&error);
    if (!o->preset && stored &&
        sdx_image_preset_set(&s->preset, stored, &error) != SDX_STATUS_OK) {
        complain("%s: the preset in its metadata, '%s': %s", s->model_file, stored, error.message);
        return EXIT_BAD_INPUT;
    }
    int code = EXIT_OK;
    if (o->preset || !stored) code = set_words(s, NULL, o->preset ? o->preset : DEFAULT_PRESET);
    for (size_t i = 0; code == EXIT_OK && i < PRESET_KEYS; i++)
        if (o->words[i]) code = set_words(s, preset_keys[i], o->words[i]);
    if (code != EXIT_OK) return code;
    if (sdx_image_preset_fit(&s->preset, s->model, &s->input, &s->one, &error) != SDX_STATUS_OK)
        return report_error(s->model_file, &error);
    return EXIT_OK;
}

/* ---- the model ---------------------------------------------------------------------------------- */

static int choose_output(classify_session *s, const classify_options *o) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(s->model, &info);
    for (s->output = 0; o->output && s->output < info.output_count; s->output++) {
        sdx_value_info value = {.struct_size = sizeof value};
        sdx_model_get_value(s->model, sdx_model_output(s->model, s->output), &value);
        if (strcmp(value.name, o->output) == 0) break;
    }
    if (s->output >= info.output_count)
        return usage_error(&cmd_classify, "the model has no output '%s'", o->output ? o->output : "");
    s->scores = scores_of_output(s->model, sdx_model_output(s->model, s->output));
    return EXIT_OK;
}

static int choose_batch(classify_session *s, const classify_options *o) {
    sdx_value_info value = {.struct_size = sizeof value};
    sdx_model_get_value(s->model, sdx_model_input(s->model, s->input), &value);
    s->fixed_batch = value.dims[0] > 0;
    s->batch = s->fixed_batch  ? value.dims[0]
               : o->batch      ? o->batch
               : s->save_input ? (int64_t)s->count
                               : DEFAULT_BATCH;
    if (s->fixed_batch && o->batch && o->batch != s->batch)
        return usage_error(&cmd_classify, "--batch is %lld, but the model takes %lld images at a time",
                           (long long)o->batch, (long long)s->batch);
    if (s->save_input && s->batch < (int64_t)s->count)
        return usage_error(&cmd_classify, "--save-input takes one run, and %zu images need more",
                           s->count);
    return EXIT_OK;
}

static int classify(classify_session *s, const classify_options *o) {
    struct timespec from, to;
    sdx_error error;
    const sdx_load_options load = {.struct_size = sizeof load, .flags = load_flags_given(),
                                   .limits = &s->limits};
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (sdx_model_load_file(s->model_file, &load, &s->model, &error) != SDX_STATUS_OK)
        return report_error(s->model_file, &error);
    clock_gettime(CLOCK_MONOTONIC, &to);
    s->load_ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6;
    int code = choose_preset(s, o);
    if (code == EXIT_OK) code = choose_output(s, o);
    if (code == EXIT_OK) code = choose_batch(s, o);
    if (code == EXIT_OK) code = labels_load(&s->labels, o->labels, s->model);
    if (code != EXIT_OK) return code;
    s->results = calloc(s->count, sizeof *s->results);
    if (!s->results) return out_of_memory();
    for (size_t i = 0; i < s->count; i++) s->results[i].file = o->positionals.items[i + 1];
    code = classify_images(s);
    for (size_t i = 0; i < s->count; i++)
        if (!s->results[i].error && !s->results[i].top) return code; /* the model failed */
    classify_report(s, o->json);
    return code;
}

static int run(int argc, char **argv) {
    classify_options o = {.top = 5, .optimize = 3, .max_pixels = DEFAULT_PIXELS};
    classify_session s = {.cmd = &cmd_classify};
    int code = EXIT_USAGE;
    if (parse(&o, argc, argv)) {
        s.limits = *limits_given();
        s.limits.max_pixels = (uint64_t)o.max_pixels;
        s.top = (size_t)o.top;
        s.raw = o.softmax == 1;
        s.threads = (uint32_t)o.threads;
        s.optimize = (int)o.optimize;
        s.save_input = o.save_input;
        if (o.preset && strcmp(o.preset, "list") == 0) {
            code = list_presets();
        } else {
            s.model_file = o.positionals.items[0];
            s.count = o.positionals.count - 1;
            code = classify(&s, &o);
        }
    }
    for (size_t i = 0; s.results && i < s.count; i++) {
        free(s.results[i].error);
        free(s.results[i].top);
    }
    free(s.results);
    labels_free(&s.labels);
    sdx_context_release(s.context);
    sdx_program_release(s.program);
    sdx_model_release(s.model);
    text_list_free(&o.positionals);
    return code;
}

const command cmd_classify = {"classify", "say what is in images", help, run, true};
