/* cast.h - conversion between element types, private to Cast, CastLike and whoever needs a run of
 * elements in another type (sdx_convert in elementwise.h is the plain form of it). */
#ifndef SDX_OPS_CAST_H
#define SDX_OPS_CAST_H

#include "ops/elementwise.h"

typedef struct sdx_cast_rules {
    bool saturate;  /* to float8: the largest finite value in place of infinity or NaN */
    int round_mode; /* to float8e8m0: 0 up, 1 down, 2 nearest */
} sdx_cast_rules;

/* Between numeric types, bool and the small ones included; no strings, no complex numbers. */
void sdx_convert_by(const sdx_cast_rules *rules, sdx_dtype from, sdx_dtype to, const void *in,
                    void *out, size_t count);

/* Numbers to their shortest text that reads back as the same number. The bytes last as long as
 * the host's text does. */
sdx_status sdx_cast_to_text(sdx_call *call, const sdx_tensor *in, sdx_tensor *out);
/* Text to numbers; text that is not one fails, naming the element. */
sdx_status sdx_cast_from_text(sdx_call *call, const sdx_cast_rules *rules, const sdx_tensor *in,
                              sdx_tensor *out);

#endif
