/* string_regex.c - RegexFullMatch by way of PCRE2, an optional dependency: a build without it has
 * the operator in its list, and says why it cannot run it. The standard asks for the syntax of RE2,
 * which is a subset of what PCRE2 takes. */
#include "ops/string_text.h"

#ifdef SDX_WITH_PCRE2

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

typedef struct regex_params {
    const pcre2_code *code;
} regex_params;

#define REGEX_LACKS NULL

/* The compiled pattern lives and dies with the model's arena. */
static void *arena_allocate(PCRE2_SIZE size, void *arena) { return sdx_arena_alloc(arena, size); }
static void arena_release(void *memory, void *arena) { (void)memory, (void)arena; }

static void *call_allocate(PCRE2_SIZE size, void *call) { return sdx_call_temp(call, size, 1); }
static void call_release(void *memory, void *call) { sdx_call_temp_free(call, memory); }

/* `$` means the end of the text and a dot no line break, as in RE2. A text that is not UTF-8 does
 * not match, except where the pattern leaves the bad bytes out. */
#define REGEX_OPTIONS                                                                              \
    (PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED |                    \
     PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C)

static sdx_status regex_prepare(sdx_prep *prep) {
    regex_params *p = prep->params;
    const char *pattern;
    int code;
    PCRE2_SIZE offset;
    SDX_TRY(sdx_attr_get_string(prep, "pattern", NULL, &pattern));
    if (!pattern) return sdx_prep_fail(prep, "attribute 'pattern' is required but missing");
    pcre2_general_context *memory =
        pcre2_general_context_create(arena_allocate, arena_release, prep->arena);
    pcre2_compile_context *context = memory ? pcre2_compile_context_create(memory) : NULL;
    if (!context) return sdx_fail_memory(prep->error, 0, "a pattern");
    p->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, REGEX_OPTIONS, &code,
                            &offset, context);
    if (p->code) return SDX_STATUS_OK;
    PCRE2_UCHAR text[128];
    if (pcre2_get_error_message(code, text, sizeof text) < 0) text[0] = 0;
    return sdx_prep_fail(prep, "the pattern '%.64s' is wrong at byte %zu: %s", pattern,
                         (size_t)offset, (const char *)text);
}

static sdx_status match_all(sdx_call *call, pcre2_match_data *data) {
    const regex_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0);
    uint8_t *out = sdx_out(call, 0)->data;
    for (size_t i = 0; i < in->count && !sdx_watch_work(1 << 16); i++) {
        const sdx_string *text = (const sdx_string *)in->data + i;
        const int found = pcre2_match(p->code, (PCRE2_SPTR)(text->size ? text->data : ""),
                                      text->size, 0, 0, data, NULL);
        if (found == PCRE2_ERROR_NOMEMORY) return sdx_fail_memory(call->error, 0, "a match");
        if (found == PCRE2_ERROR_MATCHLIMIT || found == PCRE2_ERROR_DEPTHLIMIT ||
            found == PCRE2_ERROR_HEAPLIMIT)
            return sdx_call_fail_with(call, SDX_STATUS_LIMIT,
                                      "matching string %zu takes too many steps", i);
        out[i] = found >= 0;
    }
    return SDX_STATUS_OK;
}

static sdx_status regex_run(sdx_call *call) {
    const regex_params *p = call->params;
    pcre2_general_context *memory =
        pcre2_general_context_create(call_allocate, call_release, call);
    if (!memory) return SDX_STATUS_NO_MEMORY;
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(p->code, memory);
    sdx_status status = data ? match_all(call, data) : SDX_STATUS_NO_MEMORY;
    pcre2_match_data_free(data);
    pcre2_general_context_free(memory);
    return status;
}

#else

typedef struct regex_params {
    char unused;
} regex_params;

static const char *const regex_lacks[] = {"PCRE2", NULL};
#define REGEX_LACKS regex_lacks

static sdx_status regex_prepare(sdx_prep *prep) {
    return sdx_prep_unsupported(prep, "this library was built without PCRE2, which operator "
                                      "RegexFullMatch needs");
}

static sdx_status regex_run(sdx_call *call) {
    return sdx_call_fail_with(call, SDX_STATUS_UNSUPPORTED, "built without PCRE2");
}

#endif

static sdx_status regex_infer(sdx_infer *inf) {
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_BOOL);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_regex_full_match = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(STRING)},
    .params_size = sizeof(regex_params),
    .prepare = regex_prepare, .infer = regex_infer,
    .run = SDX_BODY(sdx_op_regex_full_match, regex_run),
    .lacks = REGEX_LACKS,
};
