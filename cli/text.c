/* text.c - messages to the user and the pieces of text that several commands print: types, shapes,
 * sizes, names. Names come from model files and may hold anything, so they pass put_safe. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- text that grows ----------------------------------------------------------------------- */

static bool ran_out;

bool text_ran_out(void) { return ran_out; }

void text_clear(text *t) {
    if (t->failed) *t = (text){0};
    t->length = 0;
    if (t->data) t->data[0] = 0;
}

void text_free(text *t) {
    free(t->data);
    *t = (text){0};
}

/* Makes room for `more` bytes and a NUL behind the text. */
static bool reserve(text *t, size_t more) {
    size_t needed = t->length + more + 1;
    if (t->failed) return false;
    if (needed <= t->capacity) return true;
    size_t capacity = t->capacity ? t->capacity * 2 : 256;
    if (capacity < needed) capacity = needed;
    char *data = realloc(t->data, capacity);
    if (!data) { /* half a text is none: it may be a path */
        text_free(t);
        t->failed = ran_out = true;
        return false;
    }
    t->data = data;
    t->capacity = capacity;
    return true;
}

static void text_add_va(text *t, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && reserve(t, (size_t)length)) {
        vsnprintf(t->data + t->length, (size_t)length + 1, format, again);
        t->length += (size_t)length;
    }
    va_end(again);
}

void text_add(text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_add_va(t, format, args);
    va_end(args);
}

static void add_told(text *t, const sdx_model *model, size_t value,
                     size_t (*tell)(const sdx_model *, size_t, char *, size_t)) {
    size_t needed = 120;
    while (reserve(t, needed)) {
        size_t room = t->capacity - t->length;
        needed = tell(model, value, t->data + t->length, room);
        if (needed < room) {
            t->length += needed;
            return;
        }
    }
}

void text_add_type(text *t, const sdx_model *model, size_t value) {
    add_told(t, model, value, sdx_model_type_text);
}

void text_add_declared(text *t, const sdx_model *model, size_t value) {
    add_told(t, model, value, sdx_model_declared_text);
}

void text_add_shape(text *t, const sdx_tensor *tensor) {
    text_add(t, "%s[", sdx_dtype_name(tensor->dtype));
    for (int32_t i = 0; i < tensor->rank; i++)
        text_add(t, "%s%lld", i ? "," : "", (long long)tensor->dims[i]);
    text_add(t, "]");
}

void text_add_bytes(text *t, uint64_t bytes) {
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    if (bytes < 1000) {
        text_add(t, "%llu bytes", (unsigned long long)bytes);
        return;
    }
    double size = (double)bytes / 1e3;
    size_t unit = 0;
    while (size >= 999.95 && unit + 1 < sizeof units / sizeof *units) {
        size /= 1e3;
        unit++;
    }
    text_add(t, "%.1f %s (%llu bytes)", size, units[unit], (unsigned long long)bytes);
}

void put_safe(FILE *out, const char *string) {
    while (string && *string) { /* NULL: lost for want of memory; main.c says so */
        size_t plain = 0;
        while ((unsigned char)string[plain] >= 0x20 && string[plain] != 0x7f) plain++;
        fwrite(string, 1, plain, out);
        string += plain;
        if (*string == '\n') fputs("\\n", out);
        else if (*string == '\t') fputs("\\t", out);
        else if (*string) fprintf(out, "\\x%02x", (unsigned)(unsigned char)*string);
        if (*string) string++;
    }
}

/* ---- messages ------------------------------------------------------------------------------- */

static void complain_va(const char *format, va_list args, const char *ending) {
    char short_of_memory[512];
    text t = {0};
    va_list again;
    va_copy(again, args);
    text_add_va(&t, format, args);
    if (!t.data) vsnprintf(short_of_memory, sizeof short_of_memory, format, again);
    va_end(again);
    fflush(stdout); /* keeps the order where both go to one place */
    fputs("sardonyx: ", stderr);
    put_safe(stderr, t.data ? t.data : short_of_memory);
    fprintf(stderr, "%s\n", ending);
    text_free(&t);
}

void complain(const char *format, ...) {
    va_list args;
    va_start(args, format);
    complain_va(format, args, "");
    va_end(args);
}

int usage_error(const command *cmd, const char *format, ...) {
    char ending[80];
    snprintf(ending, sizeof ending, "; see `sardonyx %s --help`", cmd->name);
    va_list args;
    va_start(args, format);
    complain_va(format, args, ending);
    va_end(args);
    return EXIT_USAGE;
}

int out_of_memory(void) {
    ran_out = true;
    fputs("sardonyx: out of memory\n", stderr);
    return EXIT_NO;
}

int exit_code(sdx_status status) {
    switch (status) {
    case SDX_STATUS_OK: return EXIT_OK;
    case SDX_STATUS_UNSUPPORTED: return EXIT_UNSUPPORTED;
    case SDX_STATUS_NO_MEMORY:
    case SDX_STATUS_LIMIT:
    case SDX_STATUS_CANCELLED: return EXIT_NO;
    case SDX_STATUS_INVALID_ARGUMENT: return EXIT_USAGE;
    default: return EXIT_BAD_INPUT;
    }
}

int report_error(const char *file, const sdx_error *error) {
    bool prefix = file && strncmp(error->message, file, strlen(file)) != 0;
    char position[48] = "";
    if (error->position != SDX_NO_POSITION)
        snprintf(position, sizeof position, " (byte %llu)", (unsigned long long)error->position);
    complain("%s%s%s%s", prefix ? file : "", prefix ? ": " : "", error->message, position);
    return exit_code(error->code);
}
