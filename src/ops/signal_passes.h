/* signal_passes.h - the passes of the Fourier transform for one type T: signal_fft.c defines T and
 * LOCAL (private names) and includes this. A pass of factor p takes its inputs length / p apart,
 * multiplies what comes out by powers of the root and sorts it, so that no reordering is left. */

typedef struct LOCAL(complex) {
    T re, im;
} LOCAL(complex);

static inline LOCAL(complex) LOCAL(add)(LOCAL(complex) a, LOCAL(complex) b) {
    return (LOCAL(complex)){a.re + b.re, a.im + b.im};
}
static inline LOCAL(complex) LOCAL(sub)(LOCAL(complex) a, LOCAL(complex) b) {
    return (LOCAL(complex)){a.re - b.re, a.im - b.im};
}
static inline LOCAL(complex) LOCAL(mul)(LOCAL(complex) a, LOCAL(complex) b) {
    return (LOCAL(complex)){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/* a -+ i b, the pair that conjugate roots make. */
static inline void LOCAL(pair)(LOCAL(complex) a, LOCAL(complex) b, LOCAL(complex) *one,
                               LOCAL(complex) *two) {
    *one = (LOCAL(complex)){a.re + b.im, a.im - b.re};
    *two = (LOCAL(complex)){a.re - b.im, a.im + b.re};
}

/* y[j] = sum of x[m] exp(-2 pi i j m / p) */
static inline void LOCAL(small)(size_t p, const LOCAL(complex) *x, LOCAL(complex) *y) {
    if (p == 2) {
        y[0] = LOCAL(add)(x[0], x[1]);
        y[1] = LOCAL(sub)(x[0], x[1]);
    } else if (p == 3) {
        const T half = (T)-0.5, side = (T)0.86602540378443864676;
        LOCAL(complex) sum = LOCAL(add)(x[1], x[2]), gap = LOCAL(sub)(x[1], x[2]);
        LOCAL(complex) a = {x[0].re + half * sum.re, x[0].im + half * sum.im};
        LOCAL(complex) b = {side * gap.re, side * gap.im};
        y[0] = LOCAL(add)(x[0], sum);
        LOCAL(pair)(a, b, &y[1], &y[2]);
    } else if (p == 4) {
        LOCAL(complex) a = LOCAL(add)(x[0], x[2]), b = LOCAL(sub)(x[0], x[2]);
        LOCAL(complex) c = LOCAL(add)(x[1], x[3]), d = LOCAL(sub)(x[1], x[3]);
        y[0] = LOCAL(add)(a, c);
        y[2] = LOCAL(sub)(a, c);
        LOCAL(pair)(b, d, &y[1], &y[3]);
    } else {
        const T c1 = (T)0.30901699437494742410, s1 = (T)0.95105651629515357212;
        const T c2 = (T)-0.80901699437494742410, s2 = (T)0.58778525229247312917;
        LOCAL(complex) t1 = LOCAL(add)(x[1], x[4]), t4 = LOCAL(sub)(x[1], x[4]);
        LOCAL(complex) t2 = LOCAL(add)(x[2], x[3]), t3 = LOCAL(sub)(x[2], x[3]);
        LOCAL(complex) a1 = {x[0].re + c1 * t1.re + c2 * t2.re, x[0].im + c1 * t1.im + c2 * t2.im};
        LOCAL(complex) a2 = {x[0].re + c2 * t1.re + c1 * t2.re, x[0].im + c2 * t1.im + c1 * t2.im};
        LOCAL(complex) b1 = {s1 * t4.re + s2 * t3.re, s1 * t4.im + s2 * t3.im};
        LOCAL(complex) b2 = {s2 * t4.re - s1 * t3.re, s2 * t4.im - s1 * t3.im};
        y[0] = LOCAL(add)(LOCAL(add)(x[0], t1), t2);
        LOCAL(pair)(a1, b1, &y[1], &y[4]);
        LOCAL(pair)(a2, b2, &y[2], &y[3]);
    }
}

/* Any other factor, by the definition; the roots stand every `step` in turns. */
static void LOCAL(general)(size_t p, const LOCAL(complex) *x, LOCAL(complex) *y,
                           const LOCAL(complex) *turns, size_t step) {
    for (size_t j = 0; j < p; j++) {
        LOCAL(complex) sum = x[0];
        for (size_t m = 1, at = j; m < p; m++, at = at + j >= p ? at + j - p : at + j)
            sum = LOCAL(add)(sum, LOCAL(mul)(x[m], turns[at * step]));
        y[j] = sum;
    }
}

static void LOCAL(pass)(size_t p, size_t before, size_t inner, const LOCAL(complex) *in,
                        LOCAL(complex) *out, const LOCAL(complex) *turns) {
    LOCAL(complex) x[LARGEST_FACTOR], y[LARGEST_FACTOR];
    for (size_t k = 0; k < before; k++)
        for (size_t i = 0; i < inner; i++) {
            for (size_t j = 0; j < p; j++) x[j] = in[i + inner * (j + p * k)];
            switch (p) { /* a constant in each call, so that the branches inside vanish */
            case 2: LOCAL(small)(2, x, y); break;
            case 3: LOCAL(small)(3, x, y); break;
            case 4: LOCAL(small)(4, x, y); break;
            case 5: LOCAL(small)(5, x, y); break;
            default: LOCAL(general)(p, x, y, turns, before * inner); break;
            }
            out[i + inner * k] = y[0];
            for (size_t j = 1; j < p; j++)
                out[i + inner * (k + before * j)] =
                    i == 0 ? y[j] : LOCAL(mul)(y[j], turns[j * before * i]);
        }
}

/* The whole transform of plan->size elements; spare has room for as many. */
static void LOCAL(transform)(const sdx_fft_plan *plan, LOCAL(complex) *line,
                             LOCAL(complex) *spare) {
    LOCAL(complex) *from = line, *to = spare;
    size_t before = 1;
    for (int f = 0; f < plan->factor_count; f++) {
        size_t p = plan->factors[f];
        LOCAL(pass)(p, before, plan->size / before / p, from, to, plan->turns);
        LOCAL(complex) *swap = from;
        from = to;
        to = swap;
        before *= p;
    }
    if (from != line) memcpy(line, from, plan->size * sizeof *line);
}

static void LOCAL(make_turns)(size_t size, LOCAL(complex) *turns) {
    for (size_t k = 0; k < size; k++) {
        double angle = -2 * PI * (double)k / (double)size;
        turns[k] = (LOCAL(complex)){(T)cos(angle), (T)sin(angle)};
    }
}

static void LOCAL(swap_parts)(LOCAL(complex) *line, size_t n) {
    for (size_t k = 0; k < n; k++) line[k] = (LOCAL(complex)){line[k].im, line[k].re};
}
