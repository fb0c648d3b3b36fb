/* status.h - how functions report failure: SDX_TRY, and writers for the caller's sdx_error.
 * Used by every layer. Nothing here prints or exits. */
#ifndef SDX_BASE_STATUS_H
#define SDX_BASE_STATUS_H

#include <stdarg.h>

#include "sardonyx.h"

#define SDX_TRY(expr)                                                                             \
    do {                                                                                          \
        sdx_status sdx_try_status_ = (expr);                                                      \
        if (sdx_try_status_ != SDX_STATUS_OK) return sdx_try_status_;                             \
    } while (0)

/* For functions with one `fail:` label and a local `status`. */
#define SDX_TRY_GOTO(expr)                                                                        \
    do {                                                                                          \
        status = (expr);                                                                          \
        if (status != SDX_STATUS_OK) goto fail;                                                   \
    } while (0)

#if defined(__GNUC__)
#define SDX_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define SDX_LIKELY(x) __builtin_expect(!!(x), 1)
#define SDX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define SDX_PRINTF(fmt, args)
#define SDX_LIKELY(x) (x)
#define SDX_UNLIKELY(x) (x)
#endif

/* Writes code and text (the first error wins) and returns code. error may be NULL. */
sdx_status sdx_fail(sdx_error *error, sdx_status code, const char *format, ...) SDX_PRINTF(3, 4);
sdx_status sdx_fail_at(sdx_error *error, sdx_status code, uint64_t position, const char *format,
                       ...) SDX_PRINTF(4, 5);
sdx_status sdx_fail_va(sdx_error *error, sdx_status code, uint64_t position, const char *format,
                       va_list args);
sdx_status sdx_fail_memory(sdx_error *error, size_t bytes, const char *what);

/* Adds the node to an error that has none yet and puts "node 'x' (Op): " before its text. */
void sdx_error_set_node(sdx_error *error, const char *node, const char *op);

#endif
