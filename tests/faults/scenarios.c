/* scenarios.c - stages and fingerprints, which all scenarios share. */
#include "scenarios.h"

#include <string.h>

/* ---- stages -------------------------------------------------------------------------------------- */

bool stage_ok(scenario *s, const char *name, sdx_status status) {
    if (status == SDX_STATUS_OK) return true;
    if (s->failed != SDX_STATUS_OK) return false;
    s->failed = status;
    s->first = s->error;
    s->stage = name;
    return false;
}

bool stage_again(scenario *s) {
    if (!s->again || s->bad_retry) return false;
    fault_disarm();
    sdx_error_clear(&s->error);
    return true;
}

bool stage_ok_again(scenario *s, sdx_status status) {
    s->bad_retry = status != SDX_STATUS_OK;
    return !s->bad_retry;
}

const sdx_allocator *scenario_allocator(const scenario *s) {
    return s->own_allocator ? &fault_allocator : NULL;
}

/* ---- fingerprints -------------------------------------------------------------------------------- */

void scenario_note_bytes(scenario *s, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) s->print = (s->print ^ at[i]) * 0x100000001b3u;
}

static void note_tensor(scenario *s, const sdx_tensor *t) {
    scenario_note_bytes(s, &t->dtype, sizeof t->dtype);
    scenario_note_bytes(s, t->dims, (size_t)t->rank * sizeof *t->dims);
    if (t->dtype != SDX_DTYPE_STRING) {
        scenario_note_bytes(s, t->data, t->count * sdx_dtype_size(t->dtype));
        return;
    }
    const sdx_string *strings = t->data;
    for (size_t i = 0; i < t->count; i++) scenario_note_bytes(s, strings[i].data, strings[i].size);
}

void scenario_note(scenario *s, const sdx_value *value) {
    sdx_kind kind = value ? sdx_value_kind(value) : SDX_KIND_NONE;
    scenario_note_bytes(s, &kind, sizeof kind);
    if (kind == SDX_KIND_TENSOR) note_tensor(s, sdx_value_tensor(value));
    for (size_t i = 0; kind == SDX_KIND_SEQUENCE && i < sdx_value_count(value); i++)
        scenario_note(s, sdx_value_item(value, i));
    if (kind == SDX_KIND_MAP) {
        scenario_note(s, sdx_value_map_keys(value));
        scenario_note(s, sdx_value_map_values(value));
    }
}

void scenario_run(scenario *s) {
    s->print = 0xcbf29ce484222325u;
    s->failed = SDX_STATUS_OK;
    s->stage = "";
    s->bad_retry = false;
    sdx_error_clear(&s->error);
    if (strcmp(s->what, "plan") == 0) scenario_plan(s);
    else if (strcmp(s->what, "files") == 0) scenario_files(s);
    else if (strcmp(s->what, "image") == 0) scenario_image(s);
    else scenario_model(s);
}
