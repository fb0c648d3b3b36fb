/* cast_text.c - numbers to text and back, for Cast. Independent of the locale although it rests on
 * printf and strtod: the decimal point never passes between them and us. Digits are picked out of
 * "%e", and text is handed to strtod as whole digits with an exponent. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops/cast.h"

#define MOST_DIGITS 17
#define TEXT_SIZE 48 /* of any number's text, sign and exponent included */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* ---- to text -------------------------------------------------------------------------------- */

/* Whether text reads back as value once rounded to the type that it came from. */
static bool reads_back(sdx_dtype dtype, const char *text, double value) {
    switch (dtype) {
    case SDX_DTYPE_FLOAT64: return strtod(text, NULL) == value;
    case SDX_DTYPE_FLOAT16: return sdx_f64_to_f16(strtod(text, NULL)) == sdx_f64_to_f16(value);
    case SDX_DTYPE_BFLOAT16: return sdx_f64_to_bf16(strtod(text, NULL)) == sdx_f64_to_bf16(value);
    default: return (double)strtof(text, NULL) == value;
    }
}

/* The fewest digits that tell a finite value >= 0 from its neighbours: 0.digits * 10^*point. */
static size_t shortest_digits(sdx_dtype dtype, double value, char digits[MOST_DIGITS], int *point) {
    char text[TEXT_SIZE];
    for (int precision = 0; precision < MOST_DIGITS; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (reads_back(dtype, text, value)) break;
    }
    size_t count = 0;
    const char *c = text;
    for (; *c != 'e'; c++)
        if (is_digit(*c) && count < MOST_DIGITS) digits[count++] = *c;
    *point = (int)strtol(c + 1, NULL, 10) + 1;
    while (count > 1 && digits[count - 1] == '0') count--;
    return count;
}

/* Plain notation where that is of bearable length, "1.5e-07" beyond. */
static size_t float_text(sdx_dtype dtype, double value, char out[TEXT_SIZE]) {
    if (value != value) return (size_t)snprintf(out, TEXT_SIZE, "NaN");
    const char *sign = signbit(value) ? "-" : "";
    if (isinf(value)) return (size_t)snprintf(out, TEXT_SIZE, "%sINF", sign);
    char digits[MOST_DIGITS] = "0";
    int point;
    const int count = (int)shortest_digits(dtype, fabs(value), digits, &point);
    if (value == 0) point = 1;
    if (point < -3 || point > 16)
        return (size_t)snprintf(out, TEXT_SIZE, "%s%c%s%.*se%c%02d", sign, digits[0],
                                count > 1 ? "." : "", count - 1, digits + 1,
                                point < 1 ? '-' : '+', abs(point - 1));
    if (point <= 0)
        return (size_t)snprintf(out, TEXT_SIZE, "%s0.%.*s%.*s", sign, -point, "000", count,
                                digits);
    const int whole = count < point ? count : point;
    return (size_t)snprintf(out, TEXT_SIZE, "%s%.*s%.*s.%.*s", sign, whole, digits, point - whole,
                            "0000000000000000", count > point ? count - point : 1,
                            count > point ? digits + point : "0");
}

static size_t number_text(const sdx_tensor *in, size_t i, char out[TEXT_SIZE]) {
    if (in->dtype == SDX_DTYPE_UINT64)
        return (size_t)snprintf(out, TEXT_SIZE, "%" PRIu64, ((const uint64_t *)in->data)[i]);
    if (sdx_dtypes_has(SDX_T_FLOATS | SDX_T_FLOAT8 | SDX_T_FLOAT46, in->dtype))
        return float_text(in->dtype, sdx_tensor_double(in, i), out);
    int64_t value = sdx_tensor_int(in, i);
    if (in->dtype == SDX_DTYPE_BOOL) value = value != 0;
    return (size_t)snprintf(out, TEXT_SIZE, "%" PRId64, value);
}

sdx_status sdx_cast_to_text(sdx_call *call, const sdx_tensor *in, sdx_tensor *out) {
    sdx_string *to = out->data;
    char text[TEXT_SIZE];
    for (size_t i = 0; i < out->count; i++) {
        const size_t size = number_text(in, i, text);
        char *bytes = call->host->text(call->host, size);
        if (!bytes)
            return sdx_call_fail_with(call, SDX_STATUS_NO_MEMORY,
                                      "no memory for the text of element %zu", i);
        memcpy(bytes, text, size);
        to[i] = (sdx_string){bytes, size};
    }
    return SDX_STATUS_OK;
}

/* ---- from text ------------------------------------------------------------------------------ */

/* What a text says, as far as it is a number. */
typedef struct number {
    enum { NUMBER_BAD, NUMBER_WHOLE, NUMBER_FLOAT } kind;
    bool negative;
    uint64_t whole;  /* magnitude, for NUMBER_WHOLE */
    double value;    /* always; one rounding to float64 */
    float narrow;    /* always; one rounding to float32 */
} number;

/* word is in lower case. */
static bool is_word(const char *text, size_t size, const char *word) {
    for (; size > 0; text++, word++, size--)
        if ((*text | 0x20) != *word) return false;
    return *word == '\0';
}

/* Words for numbers; the sign has been taken off. */
static bool parse_word(const char *text, size_t size, number *out) {
    if (is_word(text, size, "inf") || is_word(text, size, "infinity")) {
        out->narrow = INFINITY;
    } else if (is_word(text, size, "nan")) {
        out->narrow = NAN;
    } else {
        return false;
    }
    out->kind = NUMBER_FLOAT;
    out->value = (double)out->narrow;
    return true;
}

#define DIGITS_KEPT 800 /* no float64 needs more to be told from its neighbours */

/* Digits with at most one point, then perhaps an exponent, rewritten as "<digits>e<exponent>". */
static bool parse_digits(const char *text, size_t size, number *out) {
    char plain[DIGITS_KEPT + 32];
    size_t kept = 0, seen = 0, i = 0;
    int64_t exponent = 0;
    bool after_point = false, fits = true;
    for (; i < size && (is_digit(text[i]) || (text[i] == '.' && !after_point)); i++) {
        if (text[i] == '.') {
            after_point = true;
            continue;
        }
        const unsigned digit = (unsigned)(text[i] - '0');
        seen++;
        fits = fits && !__builtin_mul_overflow(out->whole, (uint64_t)10, &out->whole) &&
               !__builtin_add_overflow(out->whole, (uint64_t)digit, &out->whole);
        if (kept == 0 && digit == 0) { /* leading zeros only move the point */
            exponent -= after_point;
        } else if (kept < DIGITS_KEPT) {
            plain[kept++] = text[i];
            exponent -= after_point;
        } else {
            /* What is cut must still break a tie. */
            if (digit != 0 && plain[DIGITS_KEPT - 1] == '0') plain[DIGITS_KEPT - 1] = '1';
            exponent += !after_point;
        }
    }
    if (seen == 0) return false;
    out->kind = !after_point && fits ? NUMBER_WHOLE : NUMBER_FLOAT;
    if (i < size && (text[i] == 'e' || text[i] == 'E')) {
        out->kind = NUMBER_FLOAT;
        const bool down = ++i < size && text[i] == '-';
        if (i < size && (text[i] == '-' || text[i] == '+')) i++;
        if (i == size) return false;
        int64_t power = 0;
        for (; i < size && is_digit(text[i]); i++)
            if (power < 1000000) power = power * 10 + (text[i] - '0');
        exponent += down ? -power : power;
    }
    if (i != size) return false;
    if (kept == 0) plain[kept++] = '0';
    /* Beyond this every number is 0 or infinite, digits or not. */
    if (exponent > 100000) exponent = 100000;
    if (exponent < -100000) exponent = -100000;
    snprintf(plain + kept, sizeof plain - kept, "e%d", (int)exponent);
    out->value = strtod(plain, NULL);
    out->narrow = strtof(plain, NULL);
    return true;
}

static number parse(sdx_string s) {
    number out = {.kind = NUMBER_BAD};
    const char *text = s.data;
    size_t size = s.size;
    while (size > 0 && is_space(text[0])) text++, size--;
    while (size > 0 && is_space(text[size - 1])) size--;
    if (size > 0 && (*text == '-' || *text == '+')) {
        out.negative = *text == '-';
        text++, size--;
    }
    if (size == 0 || (!parse_word(text, size, &out) && !parse_digits(text, size, &out)))
        return (number){.kind = NUMBER_BAD};
    if (out.negative) {
        out.value = -out.value;
        out.narrow = -out.narrow;
    }
    return out;
}

sdx_status sdx_cast_from_text(sdx_call *call, const sdx_cast_rules *rules, const sdx_tensor *in,
                              sdx_tensor *out) {
    const sdx_string *from = in->data;
    const size_t size = sdx_dtype_size(out->dtype);
    const sdx_dtypes whole_types =
        SDX_T_INTS | SDX_T(INT4) | SDX_T(UINT4) | SDX_T(INT2) | SDX_T(UINT2) | SDX_T(BOOL);
    for (size_t i = 0; i < out->count; i++) {
        uint8_t *to = (uint8_t *)out->data + i * size;
        const number n = parse(from[i]);
        if (n.kind == NUMBER_BAD)
            return sdx_call_fail(call, "element %zu, the text '%.*s', is not a number", i,
                                 (int)(from[i].size < 64 ? from[i].size : 64),
                                 from[i].size ? from[i].data : "");
        if (n.kind == NUMBER_WHOLE && sdx_dtypes_has(whole_types, out->dtype)) {
            const uint64_t bits = n.negative ? 0 - n.whole : n.whole;
            sdx_convert_by(rules, SDX_DTYPE_UINT64, out->dtype, &bits, to, 1);
        } else if (out->dtype == SDX_DTYPE_FLOAT32) {
            memcpy(to, &n.narrow, sizeof n.narrow);
        } else {
            sdx_convert_by(rules, SDX_DTYPE_FLOAT64, out->dtype, &n.value, to, 1);
        }
    }
    return SDX_STATUS_OK;
}
