/* classify_labels.c - the names of classes: a file with one a line, a model's metadata, or ImageNet's,
 * which the program carries (imagenet.def). */
#include <stdlib.h>
#include <string.h>

#include "classify.h"

static const char *const imagenet[] = {
#include "imagenet.def"
};
#define IMAGENET_COUNT (sizeof imagenet / sizeof *imagenet)
/* Some models have a class for everything else in front. */
#define BACKGROUND "background"

/* Takes over the text; the names lie in it. A last line needs no end, and empty lines there are none. */
static int split(label_list *labels, char *all) {
    size_t lines = 1, length = strlen(all);
    while (length && (all[length - 1] == '\n' || all[length - 1] == '\r')) all[--length] = 0;
    for (const char *c = all; *c; c++) lines += *c == '\n';
    labels->text = all;
    labels->names = calloc(lines, sizeof *labels->names);
    if (!labels->names) return out_of_memory();
    for (char *line = all; line;) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        size_t size = strlen(line);
        if (size && line[size - 1] == '\r') line[size - 1] = 0;
        labels->names[labels->count++] = line;
        line = end ? end + 1 : NULL;
    }
    return EXIT_OK;
}

static int from_imagenet(label_list *labels, bool background) {
    labels->names = calloc(IMAGENET_COUNT + 1, sizeof *labels->names);
    if (!labels->names) return out_of_memory();
    labels->source = "ImageNet";
    if (background) labels->names[labels->count++] = BACKGROUND;
    memcpy(labels->names + labels->count, imagenet, sizeof imagenet);
    labels->count += IMAGENET_COUNT;
    return EXIT_OK;
}

static int from_text(label_list *labels, const char *stored, const char *source) {
    labels->source = source;
    if (strcmp(stored, "imagenet") == 0) return EXIT_OK; /* labels_fit, when their number is known */
    char *copy = strdup(stored);
    return copy ? split(labels, copy) : out_of_memory();
}

int labels_load(label_list *labels, const char *argument, const sdx_model *model) {
    const char *stored = sdx_model_metadata_value(model, SDX_METADATA_LABELS);
    if (argument && strcmp(argument, "none") == 0) {
        labels->source = "none";
        return EXIT_OK;
    }
    if (argument && strcmp(argument, "imagenet") == 0) return from_text(labels, argument, "ImageNet");
    if (!argument) return stored ? from_text(labels, stored, "the model's metadata") : EXIT_OK;
    size_t size;
    char *bytes = read_file(argument, &size);
    if (!bytes) return EXIT_BAD_INPUT;
    if (size == 0 || memchr(bytes, 0, size)) {
        complain("%s: expected the names of classes, one a line", argument);
        free(bytes);
        return EXIT_BAD_INPUT;
    }
    labels->source = argument;
    return split(labels, bytes);
}

int labels_fit(label_list *labels, size_t classes) {
    bool fits = classes == IMAGENET_COUNT || classes == IMAGENET_COUNT + 1;
    if (labels->source && strcmp(labels->source, "none") == 0) return EXIT_OK;
    if (!labels->names && fits) return from_imagenet(labels, classes > IMAGENET_COUNT);
    if (!labels->source || labels->count == classes) return EXIT_OK;
    size_t names = labels->names ? labels->count : IMAGENET_COUNT;
    complain("the model has %zu classes, but %s has %zu names", classes, labels->source, names);
    return EXIT_BAD_INPUT;
}

const char *label_of(const label_list *labels, size_t class_index) {
    return class_index < labels->count ? labels->names[class_index] : NULL;
}

void labels_free(label_list *labels) {
    free(labels->names);
    free(labels->text);
    *labels = (label_list){0};
}
