/* math.c - functions of one float over all magnitudes, against libm in double precision. With the
 * environment variable KERNELS_VERBOSE the largest errors are printed. */
#include "kernels_test.h"

#define BLOCK 4096

static double exact(unsigned f, double x, double a, double b) {
    switch (f) {
    case SDX_ACT_CLIP: return x < a ? a : x > b ? b : x;
    case SDX_ACT_LEAKY: return x < 0 ? a * x : x;
    case SDX_ACT_SIGMOID: return 1 / (1 + exp(-x));
    case SDX_ACT_SWISH: return x / (1 + exp(-a * x));
    case SDX_ACT_TANH: return tanh(x);
    case SDX_ACT_GELU: return x * (0.5 * erfc(-x * M_SQRT1_2));
    case SDX_F32_NEG: return -x;
    case SDX_F32_ABS: return fabs(x);
    case SDX_F32_SQRT: return sqrt(x);
    case SDX_F32_RECIPROCAL: return 1 / x;
    case SDX_F32_SQUARE: return x * x;
    case SDX_F32_FLOOR: return floor(x);
    case SDX_F32_CEIL: return ceil(x);
    case SDX_F32_ROUND: return rint(x);
    case SDX_F32_EXP: return exp(x);
    case SDX_F32_LOG: return log(x);
    case SDX_F32_ERF: return erf(x);
    case SDX_F32_SOFTPLUS: return x > 40 ? x : log1p(exp(x));
    case SDX_F32_SOFTSIGN: return x / (1 + fabs(x));
    case SDX_F32_MISH: return x * tanh(x > 40 ? x : log1p(exp(x)));
    case SDX_F32_ELU: return x < 0 ? a * expm1(x) : x;
    case SDX_F32_SELU: return b * (x > 0 ? x : a * expm1(x));
    case SDX_F32_CELU: return x > 0 ? x : a * expm1(x / a);
    default: return x;
    }
}

/* Largest error that is accepted, in units of the last place. */
static double allowed(unsigned f) {
    switch (f) {
    case SDX_F32_EXP:
    case SDX_F32_LOG: return 1;
    case SDX_F32_ERF:
    case SDX_F32_ELU:
    case SDX_ACT_SIGMOID: return 2;
    case SDX_ACT_TANH: return 2.5;
    case SDX_F32_SOFTPLUS: return 3;
    case SDX_ACT_GELU: return 4;
    case SDX_ACT_SWISH: return 3;
    case SDX_F32_MISH: return 5;
    case SDX_F32_SELU:
    case SDX_F32_CELU: return 3;
    case SDX_F32_SOFTSIGN: return 1.5;
    default: return 0.5;
    }
}

static bool built_on_exp(unsigned f) {
    return f == SDX_ACT_SIGMOID || f == SDX_ACT_SWISH || f == SDX_ACT_GELU ||
           f == SDX_F32_SOFTPLUS || f == SDX_F32_MISH;
}

/* NEON of 32-bit ARM takes denormals for 0. */
#define SMALLEST (1.0001 * 0x1p-126)
static bool has_denormals(const sdx_kernels *set) {
#if defined(__arm__)
    return strcmp(set->isa, "neon") != 0;
#else
    return set != NULL;
#endif
}

typedef struct checked {
    const sdx_kernels *set;
    unsigned f;
    float a, b;
    double worst;
    float worst_at;
} checked;

static void check_block(checked *c, const float *in, size_t count) {
    static float out[BLOCK];
    c->set->f32_unary((sdx_f32_function)c->f, in, out, count, c->a, c->b);
    for (size_t i = 0; i < count; i++) {
        double x = (double)in[i];
        const double e = exact(c->f, x, (double)c->a, (double)c->b);
        /* Not defined at the ends: 0 times infinity. */
        if (isinf(x) && isnan(e)) continue;
        /* What is made of an exponential that underflowed, times an x below 100. */
        if (built_on_exp(c->f) && fabs(e) < 0x1p-119 && fabs((double)out[i]) <= fabs(e) * 1.01)
            continue;
        /* CELU divides by a before it multiplies. */
        const double least = SMALLEST * (c->f == SDX_F32_CELU ? (double)c->a : 1);
        if (!has_denormals(c->set) && (fabs(x) < least || fabs(e) < least) &&
            (fabs(x) < least || fabs((double)out[i]) <= least))
            continue;
        const double error = ulp_error(out[i], e);
        if (error > c->worst) {
            c->worst = error;
            c->worst_at = in[i];
        }
    }
}

/* Every `step`-th float of all there are, infinities, NaN of any payload and denormals included. */
static void check_all(checked *c, uint32_t step) {
    static float in[BLOCK];
    size_t n = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += step) {
        const uint32_t low = (uint32_t)bits;
        memcpy(&in[n++], &low, sizeof low);
        if (n < BLOCK) continue;
        check_block(c, in, n);
        n = 0;
    }
    check_block(c, in, n);
}

void test_math(const sdx_kernels *set) {
    for (unsigned f = 0; f < SDX_F32_FUNCTION_COUNT; f++) {
        if (f == SDX_ACT_HARD_SIGMOID || f == SDX_ACT_HARD_SWISH || f == SDX_ACT_GELU_TANH ||
            f == SDX_F32_CUBE)
            continue; /* rounded on the way; the test of activations looks at them */
        checked c = {set, f, 1.0f, 1.0f, -1, 0};
        if (f == SDX_ACT_LEAKY) c.a = 0.5f;
        if (f == SDX_ACT_CLIP) c.a = -2;
        if (f == SDX_F32_SELU) c.a = 1.6732632f, c.b = 1.05070102f;
        if (f == SDX_F32_CELU) c.a = 2.0f;
        check_all(&c, 9973);
        if (getenv("KERNELS_VERBOSE"))
            printf("  function %2u: %.2f at %.9g\n", f, c.worst, (double)c.worst_at);
        if (!(c.worst <= allowed(f)))
            wrong("function %u is off by %.2f at %.9g", f, c.worst, (double)c.worst_at);
    }
}

/* Lengths around the vector's, in place and not, and nothing written beyond. */
void test_unary(const sdx_kernels *set) {
    for (unsigned f = 0; f < SDX_F32_FUNCTION_COUNT; f++)
        for (size_t n = 0; n <= 4 * set->lanes + 1; n++) {
            float *in = guarded(n), *out = guarded(n), *whole = guarded(8 * set->lanes);
            random_fill(in, n);
            memset(whole, 0, 8 * set->lanes * sizeof *whole);
            memcpy(whole, in, n * sizeof *in);
            set->f32_unary((sdx_f32_function)f, in, out, n, 0.3f, 0.6f);
            set->f32_unary((sdx_f32_function)f, whole, whole, 8 * set->lanes, 0.3f, 0.6f);
            set->f32_unary((sdx_f32_function)f, in, in, n, 0.3f, 0.6f);
            for (size_t i = 0; i < n; i++) {
                near((double)out[i], (double)whole[i], 0, "parts of a vector", i);
                near((double)in[i], (double)whole[i], 0, "in place", i);
            }
            guarded_check(in, n, "unary in place");
            guarded_check(out, n, "unary");
            guarded_free(in);
            guarded_free(out);
            guarded_free(whole);
        }
}

static double pair(sdx_f32_operator operator, double x, double y) {
    switch (operator) {
    case SDX_F32_ADD: return x + y;
    case SDX_F32_SUB: return x - y;
    case SDX_F32_MUL: return x * y;
    case SDX_F32_DIV: return x / y;
    case SDX_F32_MIN: return isnan(x) || isnan(y) ? NAN : x < y ? x : y;
    default: return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
    }
}

static void check_pairs(const sdx_kernels *set, sdx_f32_pairs job, bool in_place) {
    const size_t a_size = (job.rows - 1) * job.a_row + (job.a_step ? job.n : 1);
    const size_t b_size = (job.rows - 1) * job.b_row + (job.b_step ? job.n : 1);
    const size_t size = (job.rows - 1) * job.out_row + job.n;
    float *a = guarded(a_size), *b = guarded(b_size), *out = guarded(size), *old = guarded(a_size);
    random_fill(a, a_size);
    random_fill(b, b_size);
    a[a_size / 2] = NAN;
    b[b_size / 3] = NAN;
    b[b_size - 1] = INFINITY;
    memcpy(old, a, a_size * sizeof *a);
    job.a = a;
    job.b = b;
    job.out = in_place ? a : out;
    set->f32_binary(&job);
    for (size_t r = 0; r < job.rows; r++)
        for (size_t i = 0; i < job.n; i++) {
            const float x = old[r * job.a_row + (job.a_step ? i : 0)];
            const float y = b[r * job.b_row + (job.b_step ? i : 0)];
            const float e = (float)pair(job.operator, (double)x, (double)y);
            near((double)job.out[r * job.out_row + i], (double)e, 0, "pair", r * job.n + i);
        }
    guarded_check(a, a_size, "first operand");
    guarded_check(out, size, "binary");
    guarded_free(a);
    guarded_free(b);
    guarded_free(out);
    guarded_free(old);
}

void test_binary(const sdx_kernels *set) {
    for (unsigned o = 0; o < SDX_F32_OPERATOR_COUNT; o++)
        for (size_t n = 1; n <= 5 * set->lanes + 1; n++)
            for (unsigned steps = 0; steps < 4; steps++) {
                sdx_f32_pairs job = {.operator = (sdx_f32_operator)o, .rows = 1 + n % 4, .n = n};
                job.a_step = (steps & 1) != 0;
                job.b_step = (steps & 2) != 0;
                job.a_row = job.a_step ? n + 2 : n % 2;
                job.b_row = n % 3 == 0 ? 0 : n + 1;
                job.out_row = n + 3;
                check_pairs(set, job, false);
                if (!job.a_step) continue;
                job.out_row = job.a_row;
                check_pairs(set, job, true);
            }
}
