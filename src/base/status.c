/* status.c - names of the status codes and the writers that fill the caller's sdx_error.
 * Every layer reports through these. Texts may quote names out of a hostile file, so each message
 * is cleaned before it is kept: no control characters, no broken UTF-8, never cut inside a
 * character. Nothing here allocates, prints or exits. */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const char *sdx_status_name(sdx_status status) {
    switch (status) {
    case SDX_STATUS_OK: return "ok";
    case SDX_STATUS_INVALID_ARGUMENT: return "invalid argument";
    case SDX_STATUS_NO_MEMORY: return "out of memory";
    case SDX_STATUS_IO: return "input/output error";
    case SDX_STATUS_BAD_MODEL: return "bad model";
    case SDX_STATUS_BAD_INPUT: return "bad input";
    case SDX_STATUS_UNSUPPORTED: return "unsupported";
    case SDX_STATUS_LIMIT: return "limit passed";
    case SDX_STATUS_CANCELLED: return "cancelled";
    case SDX_STATUS_INTERNAL: return "internal error";
    }
    return "unknown status";
}

const char *sdx_version(void) { return SDX_VERSION_STRING; }

void sdx_error_clear(sdx_error *error) {
    if (error == NULL) return;
    memset(error, 0, sizeof *error);
    error->position = SDX_NO_POSITION;
}

/* Takes a character that a cut left incomplete off the end of text. A tail that was never UTF-8
 * is left for clean_text. */
static void drop_cut_character(char *text) {
    size_t size = strlen(text);
    size_t back = 0; /* continuation bytes at the end */
    while (back < 3 && back < size && ((uint8_t)text[size - 1 - back] & 0xc0) == 0x80) back++;
    if (back == size) return;
    size_t start = size - 1 - back;
    if ((uint8_t)text[start] >= 0xc0 && sdx_utf8_step((const uint8_t *)text + start, back + 1) == 0)
        text[start] = '\0';
}

/* Each byte that is a control character or no UTF-8 becomes '?'. The two-byte forms of U+0080 to
 * U+009F count as controls: terminals take them as escape sequences. */
static void clean_text(char *text) {
    uint8_t *at = (uint8_t *)text;
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = sdx_utf8_step(at, left);
        bool bad = length == 0 || at[0] < 0x20 || at[0] == 0x7f;
        if (length == 2 && at[0] == 0xc2 && at[1] < 0xa0) bad = true;
        if (length == 0) length = 1;
        if (bad) memset(at, '?', length);
        at += length;
        left -= length;
    }
}

/* Copies as much of text as fits, whole characters only, cleaned. */
static void copy_text(char *to, size_t room, const char *text) {
    size_t size = text == NULL ? 0 : strnlen(text, room);
    bool cut = size == room;
    if (cut) size = room - 1;
    if (size > 0) memcpy(to, text, size);
    to[size] = '\0';
    if (cut) drop_cut_character(to);
    clean_text(to);
}

sdx_status sdx_fail_va(sdx_error *error, sdx_status code, uint64_t position, const char *format,
                       va_list args) {
    if (error == NULL || error->code != SDX_STATUS_OK) return code;
    error->code = code;
    error->position = position;
    error->node[0] = error->op[0] = '\0';
    int needed = vsnprintf(error->message, sizeof error->message, format, args);
    if (needed < 0) {
        snprintf(error->message, sizeof error->message, "%s", sdx_status_name(code));
        return code;
    }
    if ((size_t)needed >= sizeof error->message) drop_cut_character(error->message);
    clean_text(error->message);
    return code;
}

sdx_status sdx_fail_at(sdx_error *error, sdx_status code, uint64_t position, const char *format,
                       ...) {
    va_list args;
    va_start(args, format);
    sdx_fail_va(error, code, position, format, args);
    va_end(args);
    return code;
}

sdx_status sdx_fail(sdx_error *error, sdx_status code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sdx_fail_va(error, code, SDX_NO_POSITION, format, args);
    va_end(args);
    return code;
}

sdx_status sdx_fail_memory(sdx_error *error, size_t bytes, const char *what) {
    return sdx_fail(error, SDX_STATUS_NO_MEMORY, "not enough memory: %zu bytes for %s", bytes,
                    what);
}

void sdx_error_set_node(sdx_error *error, const char *node, const char *op) {
    if (error == NULL || error->code == SDX_STATUS_OK) return;
    /* An unnamed node leaves its operator behind, so both fields tell whether one is set. */
    if (error->node[0] != '\0' || error->op[0] != '\0') return;
    copy_text(error->node, sizeof error->node, node);
    copy_text(error->op, sizeof error->op, op);
    if (error->node[0] == '\0' && error->op[0] == '\0') return;

    char prefix[sizeof error->node + sizeof error->op + 32];
    if (error->node[0] == '\0') snprintf(prefix, sizeof prefix, "unnamed node (%s): ", error->op);
    else snprintf(prefix, sizeof prefix, "node '%s' (%s): ", error->node, error->op);
    size_t before = strlen(prefix), after = strlen(error->message);
    size_t room = sizeof error->message - 1 - before;
    bool cut = after > room;
    if (cut) after = room;
    memmove(error->message + before, error->message, after);
    memcpy(error->message, prefix, before);
    error->message[before + after] = '\0';
    if (cut) drop_cut_character(error->message);
}
