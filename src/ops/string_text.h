/* string_text.h - text in UTF-8 for the string operators: code points, case, white space. None of
 * it depends on the locale of the process. Private to string_*.c. */
#ifndef SDX_OPS_STRING_TEXT_H
#define SDX_OPS_STRING_TEXT_H

#include "ops/op.h"

/* The code point at text (`left` bytes, at least one) and its length. A byte that begins no
 * well-formed sequence counts by itself, as SDX_TEXT_STRAY plus its value. */
#define SDX_TEXT_STRAY 0x110000u
size_t sdx_text_next(const char *text, size_t left, uint32_t *code);

typedef enum sdx_case { SDX_CASE_NONE, SDX_CASE_LOWER, SDX_CASE_UPPER } sdx_case;

/* Maps each code point to one other; stray bytes stay. Returns the bytes that the result needs;
 * writes it unless out is NULL. */
size_t sdx_text_case(const char *text, size_t size, sdx_case how, char *out);

/* Bytes of the white space at text, 0 if there is none: what Unicode calls White_Space, and the
 * four ASCII separators that Python counts in. */
size_t sdx_text_space(const char *text, size_t left);

/* Order of two strings by their bytes, for qsort and bsearch. */
int sdx_text_compare(const void *a, const void *b);

/* Text of `size` bytes that lives until the next run; NULL: error is set. */
char *sdx_call_text(sdx_call *call, size_t size);

#endif
