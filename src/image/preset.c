/* preset.c - presets as text: the named ones of presets.def, words that set one thing each, and the
 * text of a preset. The command line, a model's metadata and C programs all speak these words. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

#define MOST_PIXELS 65536 /* a side */
#define LONGEST 17        /* digits of a number, which tell any double from its neighbours */

typedef struct span {
    const char *at;
    size_t size;
} span;

static const struct {
    const char *name, *words;
} presets[] = {
#define SDX_IMAGE_PRESET(name, words) {name, words},
#include "image/presets.def"
};
#define PRESETS (sizeof presets / sizeof presets[0])

const char *sdx_image_preset_name(size_t index, const char **words) {
    if (index >= PRESETS) return NULL;
    if (words) *words = presets[index].words;
    return presets[index].name;
}

/* ---- words ---------------------------------------------------------------------------------- */

static bool is(span s, const char *text) {
    return s.size == strlen(text) && memcmp(s.at, text, s.size) == 0;
}

/* The part up to `mark`, which is taken off s with it. */
static span cut(span *s, char mark) {
    const char *found = s->size ? memchr(s->at, mark, s->size) : NULL;
    const span part = {s->at, found ? (size_t)(found - s->at) : s->size};
    const size_t taken = found ? part.size + 1 : part.size;
    *s = (span){s->at + taken, s->size - taken};
    return part;
}

/* 0.485 or 7.5e-12 times 10^shift, to the nearest number. strtod gets it without a point, since its own follows
 * the locale. */
static bool read_decimal(span s, long shift, double *out) {
    char text[LONGEST + 40];
    size_t length = 0, digits = 0, i = 0;
    bool point = false, any = false;
    long places = 0, exponent = 0;
    if (s.size && s.at[0] == '-') text[length++] = s.at[i++];
    for (; i < s.size && s.at[i] != 'e'; i++) {
        if (s.at[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (s.at[i] < '0' || s.at[i] > '9') return false;
        any = true;
        places += point;
        if (digits == 0 && s.at[i] == '0') continue;
        if (++digits > LONGEST) return false;
        text[length++] = s.at[i];
    }
    if (digits == 0) text[length++] = '0';
    const bool scaled = i < s.size, below = scaled && i + 1 < s.size && s.at[i + 1] == '-';
    const size_t first = i + 1 + below;
    if (!any || (scaled && (first >= s.size || s.size - first > 3))) return false;
    for (i = first; scaled && i < s.size; i++) {
        if (s.at[i] < '0' || s.at[i] > '9') return false;
        exponent = exponent * 10 + (s.at[i] - '0');
    }
    snprintf(text + length, sizeof text - length, "e%ld", (below ? -exponent : exponent) - places + shift);
    *out = strtod(text, NULL);
    return isfinite(*out);
}

/* 0.5, or 1/255. */
static bool read_number(span s, double *out) {
    double below = 1;
    const bool fraction = s.size && memchr(s.at, '/', s.size);
    const span above = cut(&s, '/');
    if (!read_decimal(above, 0, out) || (fraction && (!read_decimal(s, 0, &below) || below == 0)))
        return false;
    *out /= below;
    return isfinite(*out);
}

static bool read_side(span s, uint32_t *out) {
    double value;
    if (!read_decimal(s, 0, &value) || value < 1 || value > MOST_PIXELS || value != floor(value))
        return false;
    *out = (uint32_t)value;
    return true;
}

/* 224, or 240x320: height by width. */
static bool read_sides(span s, uint32_t *height, uint32_t *width, bool *both) {
    *both = s.size && memchr(s.at, 'x', s.size);
    const span first = cut(&s, 'x');
    return read_side(first, height) && read_side(*both ? s : first, width);
}

static bool set_resize(sdx_image_preset *p, span value) {
    sdx_image_preset new = *p;
    double share;
    bool both = false;
    new.resize_height = new.resize_width = 0;
    new.resize_fraction = 0;
    if (is(value, "fill") || is(value, "off")) {
        new.resize = is(value, "off") ? SDX_RESIZE_OFF : SDX_RESIZE_FILL;
    } else if (value.size && value.at[value.size - 1] == '%') {
        if (!read_decimal((span){value.at, value.size - 1}, -2, &share) || share < 0.01 || share > 1)
            return false;
        new.resize = SDX_RESIZE_FRACTION;
        new.resize_fraction = share;
    } else {
        if (!read_sides(value, &new.resize_height, &new.resize_width, &both)) return false;
        new.resize = both ? SDX_RESIZE_EXACT : SDX_RESIZE_SHORTER;
    }
    *p = new;
    return true;
}

static bool set_crop(sdx_image_preset *p, span value) {
    bool both;
    if (!is(value, "model")) return read_sides(value, &p->crop_height, &p->crop_width, &both);
    p->crop_height = p->crop_width = 0;
    return true;
}

static bool set_interpolation(sdx_image_preset *p, span value) {
    p->bicubic = is(value, "bicubic");
    return p->bicubic || is(value, "bilinear");
}

static bool set_channels(sdx_image_preset *p, span value) {
    p->channels = is(value, "rgb")    ? SDX_CHANNELS_RGB
                  : is(value, "bgr")  ? SDX_CHANNELS_BGR
                  : is(value, "gray") ? SDX_CHANNELS_GRAY
                                      : SDX_CHANNELS_MODEL;
    return p->channels != SDX_CHANNELS_MODEL || is(value, "model");
}

static bool set_layout(sdx_image_preset *p, span value) {
    p->layout = is(value, "nchw")   ? SDX_LAYOUT_NCHW
                : is(value, "nhwc") ? SDX_LAYOUT_NHWC
                                    : SDX_LAYOUT_MODEL;
    return p->layout != SDX_LAYOUT_MODEL || is(value, "model");
}

static bool set_scale(sdx_image_preset *p, span value) {
    return read_number(value, &p->scale) && p->scale > 0;
}

/* One number for all channels, or one for each. */
static bool read_channels(double to[3], span value) {
    double numbers[3] = {0};
    size_t count = 0;
    while (value.size && count < 3)
        if (!read_number(cut(&value, ','), &numbers[count++])) return false;
    if (value.size || (count != 1 && count != 3)) return false;
    for (size_t c = 0; c < 3; c++) to[c] = numbers[count == 1 ? 0 : c];
    return true;
}

static bool set_mean(sdx_image_preset *p, span value) { return read_channels(p->mean, value); }

static bool set_std(sdx_image_preset *p, span value) {
    return read_channels(p->std, value) && p->std[0] > 0 && p->std[1] > 0 && p->std[2] > 0;
}

static const struct {
    const char *key;
    bool (*set)(sdx_image_preset *preset, span value);
    const char *expected;
} things[] = {
    {"resize", set_resize, "the shorter side, HEIGHTxWIDTH, a crop's share such as 87.5%, fill or off"},
    {"crop", set_crop, "a side, HEIGHTxWIDTH or model"},
    {"interpolation", set_interpolation, "bilinear or bicubic"},
    {"channels", set_channels, "rgb, bgr, gray or model"},
    {"layout", set_layout, "nchw, nhwc or model"},
    {"scale", set_scale, "a number above 0, such as 1/255"},
    {"mean", set_mean, "one number, or three with commas"},
    {"std", set_std, "one number above 0, or three with commas"},
};
#define THINGS (sizeof things / sizeof things[0])

static sdx_status set_word(sdx_image_preset *preset, span word, sdx_error *error) {
    span value = word;
    const span key = cut(&value, '=');
    for (size_t i = 0; i < THINGS; i++) {
        if (key.size == word.size || !is(key, things[i].key)) continue;
        if (things[i].set(preset, value)) return SDX_STATUS_OK;
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "%s is '%.*s', expected %s", things[i].key,
                        (int)(value.size < 80 ? value.size : 80), value.at, things[i].expected);
    }
    for (size_t i = 0; i < PRESETS; i++) {
        if (!is(word, presets[i].name)) continue;
        *preset = (sdx_image_preset){.struct_size = preset->struct_size, .whole = preset->whole};
        return sdx_image_preset_set(preset, presets[i].words, error);
    }
    char names[400] = "";
    for (size_t i = 0, at = 0; i < PRESETS && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", presets[i].name);
    return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "there is no preset '%.*s'; there are %s",
                    (int)(word.size < 80 ? word.size : 80), word.at, names);
}

sdx_status sdx_image_preset_set(sdx_image_preset *preset, const char *words, sdx_error *error) {
    if (!preset || !words || preset->struct_size < sizeof *preset)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "no preset, or struct_size is not set");
    sdx_image_preset new = *preset;
    span left = {words, strlen(words)};
    while (left.size) {
        const span word = cut(&left, ' ');
        if (word.size) SDX_TRY(set_word(&new, word, error));
    }
    *preset = new;
    return SDX_STATUS_OK;
}

/* ---- text ------------------------------------------------------------------------------------ */

typedef struct writer {
    char *buffer;
    size_t size, length;
} writer;

static void put(writer *w, const char *format, ...) SDX_PRINTF(2, 3);
static void put(writer *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const bool room = w->length < w->size;
    const int length =
        vsnprintf(room ? w->buffer + w->length : NULL, room ? w->size - w->length : 0, format, args);
    va_end(args);
    if (length > 0) w->length += (size_t)length;
}

/* The digits of a number, as few as give it again; the first one stands for a multiple of 10^exponent. */
static int digits_of(double value, char digits[LONGEST + 1], int *exponent) {
    if (!isfinite(value)) value = 0; /* no words give it */
    for (int count = 1;; count++) {
        char text[LONGEST + 16];
        snprintf(text, sizeof text, "%.*e", count - 1, fabs(value));
        int found = 0;
        const char *at = text;
        for (; *at != 'e'; at++) /* the point follows the locale */
            if (*at >= '0' && *at <= '9') digits[found++] = *at;
        digits[found] = 0;
        *exponent = (int)strtol(at + 1, NULL, 10);
        snprintf(text, sizeof text, "%se%d", digits, *exponent - count + 1);
        if (count == LONGEST || strtod(text, NULL) == fabs(value)) return count;
    }
}

/* Times 10^shift, so that it is read as the same number: 0.485, 1/255 where that is what it is, 7.5e-12. */
static void put_number(writer *w, double value, int shift) {
    char digits[LONGEST + 1];
    int exponent;
    const int count = digits_of(value, digits, &exponent);
    exponent += shift;
    const double inverse = value > 0 ? floor(1 / value + 0.5) : 0;
    if (shift == 0 && count > 9 && inverse < 1e9 && 1 / inverse == value) {
        put(w, "1/%.0f", inverse);
        return;
    }
    if (value < 0) put(w, "-");
    if (exponent < -5 || exponent >= LONGEST) {
        put(w, "%c%s%se%d", digits[0], count > 1 ? "." : "", digits + 1, exponent);
    } else if (exponent < 0) {
        put(w, "0.%.*s%s", -exponent - 1, "00000", digits);
    } else {
        const int whole = exponent + 1;
        put(w, "%.*s", whole, digits);
        for (int i = count; i < whole; i++) put(w, "0");
        if (count > whole) put(w, ".%s", digits + whole);
    }
}

static void put_channels(writer *w, const char *key, const double values[3], double zero) {
    put(w, " %s=", key);
    const bool same = values[0] == values[1] && values[1] == values[2];
    for (size_t c = 0; c < (same ? 1u : 3u); c++) {
        if (c) put(w, ",");
        put_number(w, values[c] != 0 ? values[c] : zero, 0);
    }
}

size_t sdx_image_preset_text(const sdx_image_preset *preset, char *buffer, size_t size) {
    static const char *const channels[] = {"model", "rgb", "bgr", "gray"};
    static const char *const layouts[] = {"model", "nchw", "nhwc"};
    const sdx_image_preset *p = preset;
    writer w = {buffer, size, 0};
    if (size) buffer[0] = 0;
    if (!p || (unsigned)p->channels > SDX_CHANNELS_GRAY || (unsigned)p->layout > SDX_LAYOUT_NHWC)
        return 0;
    switch (p->resize) {
    case SDX_RESIZE_FILL: put(&w, "resize=fill"); break;
    case SDX_RESIZE_OFF: put(&w, "resize=off"); break;
    case SDX_RESIZE_SHORTER: put(&w, "resize=%lu", (unsigned long)p->resize_height); break;
    case SDX_RESIZE_EXACT:
        put(&w, "resize=%lux%lu", (unsigned long)p->resize_height, (unsigned long)p->resize_width);
        break;
    case SDX_RESIZE_FRACTION:
        put(&w, "resize=");
        put_number(&w, p->resize_fraction, 2);
        put(&w, "%%");
        break;
    }
    if (p->crop_height)
        put(&w, " crop=%lux%lu", (unsigned long)p->crop_height, (unsigned long)p->crop_width);
    else put(&w, " crop=model");
    put(&w, " interpolation=%s channels=%s layout=%s scale=", p->bicubic ? "bicubic" : "bilinear",
        channels[p->channels], layouts[p->layout]);
    put_number(&w, p->scale != 0 ? p->scale : 1, 0);
    put_channels(&w, "mean", p->mean, 0);
    put_channels(&w, "std", p->std, 1);
    return w.length;
}
