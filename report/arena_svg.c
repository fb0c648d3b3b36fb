/* arena_svg.c - an arena as one SVG picture, for light and dark pages. */
#include <inttypes.h>

#include "arena.h"
#include "json.h"

#define WIDTH 1200.0
#define HEIGHT 640.0
#define LEFT 86.0
#define RIGHT 16.0
#define TOP 44.0
#define BOTTOM 40.0

typedef struct frame {
    FILE *out;
    int64_t begin, end; /* of time */
    double bytes;       /* at the top of the picture */
} frame;

static double across(const frame *f, int64_t time) {
    double span = f->end > f->begin ? (double)(f->end - f->begin) : 1;
    return LEFT + (WIDTH - LEFT - RIGHT) * (double)(time - f->begin) / span;
}

static double up(const frame *f, double bytes) {
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * bytes / f->bytes;
}

/* What XML can hold: markup escaped, control characters blank, broken UTF-8 as U+FFFD. */
static void put_text(FILE *out, const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = utf8_length(at);
        if (*at == '<') fputs("&lt;", out);
        else if (*at == '>') fputs("&gt;", out);
        else if (*at == '&') fputs("&amp;", out);
        else if (*at == '"') fputs("&quot;", out);
        else if (*at < 0x20 || *at == 0x7f) fputc(' ', out);
        else if (length == 0) fputs("\xef\xbf\xbd", out);
        else fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
}

static void put_size(FILE *out, double bytes) {
    if (bytes >= 1048576) fprintf(out, "%.2f MiB", bytes / 1048576);
    else if (bytes >= 1024) fprintf(out, "%.1f KiB", bytes / 1024);
    else fprintf(out, "%.0f B", bytes);
}

static void put_head(const frame *f, const arena_picture *p) {
    const arena_view *view = &p->views[0];
    fprintf(f->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n"
            "<style>\n"
            "svg{--page:#fff;--ink:#222;--line:#ccc;--bound:#c02020;--glow:60%%}\n"
            "@media(prefers-color-scheme:dark){svg{--page:#16181c;--ink:#ddd;--line:#444;"
            "--bound:#ff7070;--glow:42%%}}\n"
            "text{fill:var(--ink)}\n"
            ".b{stroke:var(--page);stroke-width:.6}.s{fill:#888;fill-opacity:.55}\n"
            ".c{fill:none;stroke:var(--bound);stroke-width:1.5}.g{stroke:var(--line)}\n"
            "</style>\n"
            "<rect width=\"%g\" height=\"%g\" style=\"fill:var(--page)\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    fprintf(f->out, "<text x=\"%g\" y=\"20\" font-size=\"15\">", LEFT);
    put_text(f->out, p->title);
    fputs(": arena ", f->out);
    put_size(f->out, (double)view->arena);
    fputs(", bound ", f->out);
    put_size(f->out, (double)p->bound);
    fputs(view->proved ? ", smallest possible (" : " (", f->out);
    put_text(f->out, view->name);
    fputs(")</text>\n", f->out);
}

static void put_axes(const frame *f) {
    for (int i = 0; i <= 4; i++) {
        double bytes = f->bytes * i / 4;
        fprintf(f->out, "<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
                WIDTH - RIGHT, up(f, bytes), up(f, bytes));
        fprintf(f->out, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 6,
                up(f, bytes) + 4);
        put_size(f->out, bytes);
        fputs("</text>\n", f->out);
    }
    for (int i = 0; i <= 8; i++) {
        int64_t time = f->begin + (f->end - f->begin) * i / 8;
        fprintf(f->out,
                "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%" PRId64 "</text>\n",
                across(f, time), HEIGHT - BOTTOM + 18, time);
    }
    fprintf(f->out, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">step</text>\n", WIDTH / 2,
            HEIGHT - 6);
}

/* Neighbours get hues far apart: the golden angle. */
static void put_buffers(const frame *f, const arena_picture *p) {
    for (size_t i = 0; i < p->buffer_count; i++) {
        const arena_buffer *b = &p->buffers[i];
        uint64_t offset = p->views[0].offsets[i];
        if (b->size == 0) continue;
        double x = across(f, b->lower), top = up(f, (double)offset + (double)b->size);
        fprintf(f->out, "<rect class=\"b%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"",
                b->scratch ? " s" : "", x, top, across(f, b->upper) - x,
                up(f, (double)offset) - top);
        if (!b->scratch)
            fprintf(f->out, " style=\"fill:hsl(%.0f 55%% var(--glow))\"",
                    (double)((i * 137508u / 1000u) % 360u));
        fputs("><title>", f->out);
        put_text(f->out, b->name);
        if (b->detail && b->detail[0]) {
            fputs("\n", f->out);
            put_text(f->out, b->detail);
        }
        fprintf(f->out,
                "\n%" PRIu64 " bytes at %" PRIu64 ", steps %" PRId64 " to %" PRId64
                "</title></rect>\n",
                b->size, offset, b->lower, b->upper - 1);
    }
}

static bool put_curve(const frame *f, const arena_picture *p) {
    arena_curve curve;
    if (!arena_make_curve(p, &curve)) return false;
    fputs("<path class=\"c\" d=\"", f->out);
    for (size_t i = 0; i < curve.count; i++)
        fprintf(f->out, "%c%.2f %.2fH%.2f", i ? 'L' : 'M', across(f, curve.at[i]),
                up(f, (double)curve.live[i]), across(f, curve.at[i + 1]));
    fputs("\"><title>bytes live</title></path>\n", f->out);
    arena_free_curve(&curve);
    return true;
}

bool arena_write_svg(const arena_picture *picture, FILE *out) {
    frame f = {.out = out, .bytes = 1};
    for (size_t i = 0; i < picture->buffer_count; i++) {
        const arena_buffer *b = &picture->buffers[i];
        if (i == 0 || b->lower < f.begin) f.begin = b->lower;
        if (i == 0 || b->upper > f.end) f.end = b->upper;
    }
    if (picture->views[0].arena) f.bytes = (double)picture->views[0].arena;
    put_head(&f, picture);
    put_axes(&f);
    put_buffers(&f, picture);
    bool good = put_curve(&f, picture);
    fputs("</svg>\n", out);
    return good && !ferror(out);
}
