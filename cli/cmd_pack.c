/* cmd_pack.c - `sardonyx pack`: a model as a packed file, which starts without passes, planning and packing. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

static const char help[] =
    "usage: sardonyx pack MODEL -o FILE.sdx [--isa SET,..] [--plain] [--f16] [--dim NAME=N]..\n"
    "                     [--optimize 0|1|2|3] [--preset WORDS]\n"
    "                     [--labels FILE|imagenet] [--metadata KEY=VALUE].. [--verify] [--json]\n\n"
    "Writes the program that a run would make of the model: the graph after the passes, the plan of the\n"
    "memory, and the weights in the layout of the kernels, ready to be mapped and shared by processes.\n"
    "Every command takes the file in place of the .onnx; it gives the same results, to the bit.\n\n"
    "  -o, --output FILE  where to write it; appears only when it is whole\n"
    "  --isa SET,..       instruction sets to pack weights for: scalar, avx2, avx512, neon, of those that\n"
    "                     this machine runs (default: the one at hand)\n"
    "  --plain            keep the weights as they were, too: other machines can then use the file,\n"
    "                     packing them when they load it\n"
    "  --f16              keep them in half precision alone: a small file for any machine, widened and\n"
    "                     packed at load; results differ a little\n"
    "  --dim NAME=N       a size that never changes\n"
    "  --optimize L       optimisation level (default 3)\n"
    "  --preset WORDS     pre-processing that `classify` uses: a preset's name, 'torchvision resize=232' and\n"
    "                     the like; kept as metadata sardonyx.preset\n"
    "  --labels FILE      names of classes, one a line, or imagenet; kept as metadata sardonyx.labels\n"
    "  --metadata K=V     any other entry\n"
    "  --verify           read the file back and compare its data with their digests\n"
    "  --json             what was written, as JSON\n\n"
    "example: sardonyx pack resnet101.onnx -o resnet101.sdx --preset torchvision\n"
    "example: sardonyx pack net.onnx -o net.sdx --isa avx2,avx512 --plain --labels names.txt\n"
    "example: sardonyx pack net.onnx -o small.sdx --f16\n";

#define MOST_SETS 8
#define MOST_LABELS ((size_t)16 << 20) /* bytes */

typedef struct pack_run {
    const char *output, *isa, *preset, *labels;
    bool plain, half, verify, json;
    int64_t optimize;
    text_list positionals, dim_texts, metadata_texts;
    dim_list dims;
    char *isa_copy, *label_text;
    const char *sets[MOST_SETS];
    size_t set_count;
    sdx_metadata *metadata;
    size_t metadata_count;
    sdx_model *model;
} pack_run;

static bool parse(pack_run *r, int argc, char **argv) {
    sdx_image_preset preset = {.struct_size = sizeof preset};
    sdx_error error;
    sdx_error_clear(&error);
    const option options[] = {
        {.name = "-o", .kind = OPTION_TEXT, .to = &r->output},
        {.name = "--output", .kind = OPTION_TEXT, .to = &r->output},
        {.name = "--isa", .kind = OPTION_TEXT, .to = &r->isa},
        {.name = "--plain", .kind = OPTION_FLAG, .to = &r->plain},
        {.name = "--f16", .kind = OPTION_FLAG, .to = &r->half},
        {.name = "--dim", .kind = OPTION_LIST, .to = &r->dim_texts},
        {.name = "--optimize", .kind = OPTION_INTEGER, .to = &r->optimize, .low = 0, .high = 3},
        {.name = "--preset", .kind = OPTION_TEXT, .to = &r->preset},
        {.name = "--labels", .kind = OPTION_TEXT, .to = &r->labels},
        {.name = "--metadata", .kind = OPTION_LIST, .to = &r->metadata_texts},
        {.name = "--verify", .kind = OPTION_FLAG, .to = &r->verify},
        {.name = "--json", .kind = OPTION_FLAG, .to = &r->json},
    };
    if (!parse_arguments(&cmd_pack, argc, argv, options, sizeof options / sizeof *options,
                         &r->positionals) ||
        !dims_parse(&r->dims, &r->dim_texts, &cmd_pack))
        return false;
    if (r->positionals.count > 1)
        usage_error(&cmd_pack, "two models given, '%s' and '%s'", r->positionals.items[0],
                    r->positionals.items[1]);
    else if (r->positionals.count == 0) usage_error(&cmd_pack, "no model given");
    else if (!r->output || !r->output[0]) usage_error(&cmd_pack, "-o FILE is missing");
    else if (r->preset && sdx_image_preset_set(&preset, r->preset, &error) != SDX_STATUS_OK)
        usage_error(&cmd_pack, "--preset: %s", error.message);
    else if (r->half && r->isa) usage_error(&cmd_pack, "--f16 packs at load, so that --isa means nothing");
    else if (r->half && r->plain) usage_error(&cmd_pack, "--f16 and --plain exclude one another");
    else return true;
    return false;
}

static bool split_sets(pack_run *r) {
    if (!r->isa) return true;
    r->isa_copy = strdup(r->isa);
    if (!r->isa_copy) return out_of_memory(), false;
    char *at = r->isa_copy;
    for (char *set; (set = strsep(&at, ","));) {
        if (!set[0] || r->set_count == MOST_SETS) {
            usage_error(&cmd_pack, "--isa is '%s', expected a list such as avx2,avx512", r->isa);
            return false;
        }
        r->sets[r->set_count++] = set;
    }
    return true;
}

/* The whole file; lines end as they are. ImageNet's names are not copied: `classify` brings them. */
static int read_labels(pack_run *r) {
    if (strcmp(r->labels, "imagenet") == 0) {
        r->label_text = strdup(r->labels);
        return r->label_text ? EXIT_OK : out_of_memory();
    }
    FILE *file = fopen(r->labels, "rb");
    if (!file) {
        complain("%s: cannot open", r->labels);
        return EXIT_BAD_INPUT;
    }
    r->label_text = malloc(MOST_LABELS + 1);
    size_t size = r->label_text ? fread(r->label_text, 1, MOST_LABELS + 1, file) : 0;
    bool bad = ferror(file) != 0;
    fclose(file);
    if (!r->label_text) return out_of_memory();
    if (!bad && size <= MOST_LABELS && size && !memchr(r->label_text, 0, size)) {
        r->label_text[size] = 0;
        return EXIT_OK;
    }
    complain("%s: %s", r->labels,
             bad                   ? "cannot read"
             : size == 0           ? "no labels"
             : size > MOST_LABELS  ? "too large for a list of labels"
                                   : "not a text");
    return EXIT_BAD_INPUT;
}

static int gather_metadata(pack_run *r) {
    r->metadata = calloc(r->metadata_texts.count + 2, sizeof *r->metadata);
    if (!r->metadata) return out_of_memory();
    for (size_t i = 0; i < r->metadata_texts.count; i++) {
        char *key = (char *)(uintptr_t)r->metadata_texts.items[i], *equals = strchr(key, '=');
        if (!equals || equals == key)
            return usage_error(&cmd_pack, "--metadata is '%s', expected KEY=VALUE", key);
        *equals = 0;
        r->metadata[r->metadata_count++] = (sdx_metadata){key, equals + 1};
    }
    if (r->preset) r->metadata[r->metadata_count++] = (sdx_metadata){"sardonyx.preset", r->preset};
    int code = r->labels ? read_labels(r) : EXIT_OK;
    if (r->labels && code == EXIT_OK)
        r->metadata[r->metadata_count++] = (sdx_metadata){"sardonyx.labels", r->label_text};
    return code;
}

static int verify(const char *path) {
    sdx_load_options load = {.struct_size = sizeof load, .flags = SDX_LOAD_VERIFY};
    sdx_model *model = NULL;
    sdx_error error;
    sdx_status status = sdx_model_load_file(path, &load, &model, &error);
    sdx_model_release(model);
    return status == SDX_STATUS_OK ? EXIT_OK : report_error(path, &error);
}

static int report(const pack_run *r) {
    sdx_model *model = NULL;
    sdx_error error;
    if (sdx_model_load_file(r->output, NULL, &model, &error) != SDX_STATUS_OK)
        return report_error(r->output, &error);
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_packing_info packing = {.struct_size = sizeof packing};
    sdx_model_get_info(model, &info);
    sdx_model_get_packing(model, &packing);
    text sets = {0}, size = {0};
    for (size_t i = 0; i < packing.set_count; i++) {
        const char *name;
        uint64_t bytes;
        sdx_model_packed_set(model, i, &name, &bytes);
        if (r->json) text_add(&sets, "%s\"%s\"", i ? ", " : "", name);
        else text_add(&sets, "%s%s", i ? ", " : "", name);
    }
    text_add_bytes(&size, info.file_bytes);
    const char *weights = r->half ? "float16" : r->plain ? "packed and plain" : "packed";
    if (r->json)
        printf("{\"nodes\": %zu, \"bytes\": %llu, \"weights\": \"%s\", \"sets\": [%s]}\n",
               info.node_count, (unsigned long long)info.file_bytes, weights,
               sets.data ? sets.data : "");
    else
        printf("nodes    %zu\nsize     %s\nweights  %s%s%s\n", info.node_count,
               size.data ? size.data : "", weights, packing.set_count ? ", for " : "",
               sets.data ? sets.data : "");
    text_free(&sets);
    text_free(&size);
    sdx_model_release(model);
    return EXIT_OK;
}

static int pack(pack_run *r) {
    sdx_error error;
    int code = split_sets(r) ? gather_metadata(r) : EXIT_USAGE;
    if (code != EXIT_OK) return code;
    const char *path = r->positionals.items[0];
    struct stat from, to;
    if (stat(path, &from) == 0 && stat(r->output, &to) == 0 && from.st_dev == to.st_dev &&
        from.st_ino == to.st_ino)
        return usage_error(&cmd_pack, "'%s' is the model itself", r->output);
    sdx_load_options load = {.struct_size = sizeof load, .flags = load_flags_given(),
                             .limits = limits_given()};
    if (sdx_model_load_file(path, &load, &r->model, &error) != SDX_STATUS_OK)
        return report_error(path, &error);
    if (!dims_check(&r->dims, r->model)) return EXIT_USAGE;
    sdx_program_options program = {.struct_size = sizeof program, .optimize = (int)r->optimize,
                                   .fixed = r->dims.items, .fixed_count = r->dims.count};
    sdx_pack_options options = {.struct_size = sizeof options,
                                .flags = (r->plain ? (uint32_t)SDX_PACK_PLAIN : 0u) |
                                         (r->half ? (uint32_t)SDX_PACK_HALF : 0u),
                                .sets = r->sets, .set_count = r->set_count,
                                .metadata = r->metadata, .metadata_count = r->metadata_count};
    if (sdx_model_pack_file(r->model, &program, &options, r->output, &error) != SDX_STATUS_OK)
        return report_error(error.code == SDX_STATUS_IO ? NULL : path, &error);
    if (r->verify) code = verify(r->output);
    return code == EXIT_OK ? report(r) : code;
}

static int run(int argc, char **argv) {
    pack_run r = {.optimize = 3};
    int code = parse(&r, argc, argv) ? pack(&r) : EXIT_USAGE;
    sdx_model_release(r.model);
    dims_free(&r.dims);
    text_list_free(&r.positionals);
    text_list_free(&r.dim_texts);
    text_list_free(&r.metadata_texts);
    free(r.isa_copy);
    free(r.label_text);
    free(r.metadata);
    return code;
}

const command cmd_pack = {"pack", "write a model as a packed file, which starts at once", help, run,
                          true};
