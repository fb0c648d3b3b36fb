/* inspect.h - the facts of one model that `sardonyx inspect` gathers (cmd_inspect.c) and prints as
 * text (inspect_text.c) or JSON (inspect_json.c). */
#ifndef SDX_CLI_INSPECT_H
#define SDX_CLI_INSPECT_H

#include "cli.h"

typedef enum inspect_stage { STAGE_LOAD, STAGE_SHAPE, STAGE_OPTIMIZED, STAGE_PLAN } inspect_stage;

/* How often an operator occurs. */
typedef struct operator_use {
    const char *domain, *name;
    size_t count, unsupported;
} operator_use;

typedef struct inspection {
    const char *path;
    inspect_stage stage;
    bool nodes, values; /* list them too */
    dim_list dims;
    sdx_model *model;
    sdx_model_info info;
    sdx_shapes *shapes; /* for dims */
    operator_use *operators;
    size_t operator_count;
    int64_t optimize;       /* level, for the stages after loading */
    sdx_program *program;   /* STAGE_OPTIMIZED and STAGE_PLAN only */
    size_t steps;           /* these two: STAGE_PLAN only */
    sdx_memory_info memory;
    text scratch;           /* for whoever needs one */
} inspection;

/* Appends the type of a value with the sizes of --dim put in: "float32[4,3,224,224]". */
void add_concrete_type(text *t, const inspection *in, size_t value);
/* Whether the value's shape is known only during a run, even when all symbols are bound. */
bool depends_on_data(const inspection *in, size_t value, const sdx_value_info *info);
size_t count_data_dependent(const inspection *in);
/* Replaces *t by the attribute's text. */
void set_attribute_text(text *t, const sdx_model *model, size_t node, size_t attribute);
const char *value_name(const sdx_model *model, uint32_t value); /* NULL where left out */

void set_program_attribute_text(text *t, const sdx_program *program, size_t node,
                                size_t attribute);
void print_inspection_text(inspection *in);
void print_inspection_json(inspection *in);

#endif
