/* rows.c - sums, normalizations, softmax and pools against plain loops in double precision. */
#include "kernels/pool_nhwc.h"
#include "kernels_test.h"

/* ---- sums ------------------------------------------------------------------------------------ */

static void check_sums(const sdx_kernels *set, size_t n) {
    float *x = guarded(n), *y = guarded(n), *scale = guarded(n), *bias = guarded(n);
    double sum = 0, square = 0, got;
    for (size_t i = 0; i < n; i++) {
        x[i] = 3 + random_float();
        scale[i] = random_float();
        bias[i] = random_float();
        sum += (double)x[i];
    }
    const double mean = n ? sum / (double)n : 0;
    for (size_t i = 0; i < n; i++) square += ((double)x[i] - mean) * ((double)x[i] - mean);
    set->f32_sum(x, n, &got);
    near(got, sum, 1e-12 * sum, "sum", n);
    set->f32_deviations(x, n, (float)mean, &got);
    near(got, square, 2e-6 * square + 1e-6, "deviations", n);
    set->f32_normalize(x, y, n, (float)mean, 1.5f, scale, n % 3 ? bias : NULL);
    for (size_t i = 0; i < n; i++)
        near((double)y[i],
             ((double)x[i] - mean) * 1.5 * (double)scale[i] + (n % 3 ? (double)bias[i] : 0), 2e-6,
             "normalize", i);
    guarded_check(y, n, "normalize");
    set->f32_affine(x, x, n, (float)mean, 0.5f, 0.25f);
    set->f32_affine(y, y, n, 0, 1, 0);
    for (size_t i = 0; i < n && n % 3 == 0 && scale[i] != 0; i++)
        near((double)x[i], (double)y[i] / (double)scale[i] / 3 + 0.25,
             1e-5 / fabs((double)scale[i]), "affine", i);
    guarded_check(x, n, "affine");
    guarded_free(x);
    guarded_free(y);
    guarded_free(scale);
    guarded_free(bias);
}

void test_sums(const sdx_kernels *set) {
    for (size_t n = 0; n <= 9 * set->lanes; n++) check_sums(set, n);
    check_sums(set, 4097);
    for (size_t n = 1; n <= 9 * set->lanes; n++) {
        const size_t rows = n % 13, stride = n + 3;
        float *x = guarded(rows * stride + 1);
        double sums[256];
        random_fill(x, rows * stride);
        set->f32_column_sums(x, rows, stride, n, sums);
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t r = 0; r < rows; r++) sum += (double)x[r * stride + j];
            near(sums[j], sum, 1e-13, "column", j);
        }
        guarded_free(x);
    }
}

/* ---- weighted sums of rows ------------------------------------------------------------------- */

#define MOST_ROWS 17

static void check_weigh(const sdx_kernels *set, size_t taps, size_t n, bool add) {
    const float *rows[MOST_ROWS];
    float *data[MOST_ROWS], weights[MOST_ROWS], *out = guarded(n), *before = guarded(n);
    random_fill(weights, taps);
    random_fill(out, n);
    if (n) memcpy(before, out, n * sizeof *out);
    for (size_t t = 0; t < taps; t++) {
        rows[t] = data[t] = guarded(n);
        random_fill(data[t], n);
    }
    set->f32_weigh(rows, weights, taps, out, n, add);
    for (size_t i = 0; i < n; i++) {
        double sum = add ? (double)before[i] : 0;
        for (size_t t = 0; t < taps; t++) sum += (double)rows[t][i] * (double)weights[t];
        near((double)out[i], sum, 1e-6, "weigh", i);
    }
    guarded_check(out, n, "weigh");
    for (size_t t = 0; t < taps; t++) guarded_free(data[t]);
    guarded_free(out);
    guarded_free(before);
}

void test_weigh(const sdx_kernels *set) {
    for (size_t taps = 1; taps <= MOST_ROWS; taps++)
        for (size_t n = 0; n <= 2 * set->lanes + 1; n++) {
            check_weigh(set, taps, n, false);
            check_weigh(set, taps, n, true);
        }
}

/* ---- softmax --------------------------------------------------------------------------------- */

/* `count` sequences of `length`, elements `step` apart, sequences `next` apart. */
static void check_softmax(const float *x, const float *y, size_t count, size_t next, size_t length,
                          size_t step, bool logarithm, const char *what) {
    for (size_t s = 0; s < count; s++) {
        double max = -INFINITY, sum = 0;
        bool nan = false;
        for (size_t k = 0; k < length; k++) {
            const double v = (double)x[s * next + k * step];
            max = v > max ? v : max;
            nan |= isnan(v);
        }
        if (max == -INFINITY) nan = true;
        for (size_t k = 0; k < length; k++) sum += exp((double)x[s * next + k * step] - max);
        for (size_t k = 0; k < length; k++) {
            const double v = (double)x[s * next + k * step] - max;
            const double e = nan ? NAN : logarithm ? v - log(sum) : exp(v) / sum;
            /* The difference from the maximum is rounded before exp sees it. */
            const double tolerance =
                (1e-6 + 1e-7 * fmin(-v, 1e3)) * fabs(e) + (logarithm ? 4e-6 : 1e-37);
            near((double)y[s * next + k * step], e, tolerance, what, k);
        }
    }
}

/* Weights over their sum, with and without masks, are a softmax. */
static void check_attend(const sdx_kernels *set, size_t n, unsigned masks, float scale, bool odd) {
    float *s = guarded(n), *x = guarded(n), *mask[2] = {guarded(n), guarded(n)}, inverse;
    for (size_t i = 0; i < n; i++) {
        s[i] = 40 * random_float();
        x[i] = s[i] * scale;
        for (unsigned m = 0; m < masks; m++) {
            mask[m][i] = i % 5 == 3 + m && n > 4 ? -INFINITY : 3 * random_float();
            x[i] += mask[m][i];
        }
    }
    if (odd) s[n / 2] = x[n / 2] = NAN;
    set->f32_attend(s, n, scale, masks > 0 ? mask[0] : NULL, masks > 1 ? mask[1] : NULL, &inverse);
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) max = (double)x[i] > max ? (double)x[i] : max;
    for (size_t i = 0; i < n; i++) sum += exp((double)x[i] - max);
    for (size_t i = 0; i < n; i++) {
        const double e = odd ? NAN : exp((double)x[i] - max) / sum;
        near((double)s[i] * (double)inverse, e, 1e-5 * fabs(e) + 1e-37, "attention weight", i);
    }
    guarded_check(s, n, "attention weights");
    guarded_free(s);
    guarded_free(x);
    guarded_free(mask[0]);
    guarded_free(mask[1]);
}

void test_attend(const sdx_kernels *set) {
    for (size_t n = 1; n <= 5 * set->lanes + 2; n++)
        for (unsigned masks = 0; masks <= 2; masks++)
            check_attend(set, n, masks, masks == 1 ? 1.0f : 0.125f, n % 7 == 0);
    check_attend(set, 5000, 0, 0.25f, false);
}

void test_softmax(const sdx_kernels *set) {
    for (unsigned logarithm = 0; logarithm < 2; logarithm++)
        for (size_t n = 1; n <= 5 * set->lanes + 2; n++) {
            const size_t rows = 4, size = rows * n;
            float *x = guarded(size), *y = guarded(size);
            for (size_t i = 0; i < size; i++) x[i] = 30 * random_float();
            x[n / 2] = -INFINITY;
            x[n + n / 3] = NAN;
            for (size_t i = 0; i < n; i++) x[2 * n + i] = -INFINITY;
            set->f32_softmax(x, y, rows, n, logarithm != 0);
            if (n > 1) check_softmax(x, y, rows, n, n, 1, logarithm != 0, "softmax");
            guarded_check(y, size, "softmax");
            set->f32_softmax_columns(x, y, rows, n, n, logarithm != 0);
            check_softmax(x, y, n, 1, rows, n, logarithm != 0, "softmax of columns");
            guarded_check(y, size, "softmax of columns");
            memcpy(y, x, size * sizeof *x);
            set->f32_softmax(y, y, rows, n, logarithm != 0);
            if (n > 1) check_softmax(x, y, rows, n, n, 1, logarithm != 0, "softmax in place");
            guarded_free(x);
            guarded_free(y);
        }
}

/* ---- pools, by the set that is picked -------------------------------------------------------- */

static void check_pool(sdx_f32_pool job) {
    const sdx_window *w = &job.window;
    const size_t c = job.channels, in = job.batch * w->in_count * c;
    const size_t out = job.batch * w->out_count * c;
    float *x = guarded(in), *y = guarded(out);
    random_fill(x, in);
    x[in / 2] = NAN;
    job.x = x;
    job.y = y;
    sdx_f32_pool_nhwc(NULL, &job);
    for (size_t o = 0; o < out; o++) {
        const int64_t ox = (int64_t)(o / c) % w->out[1];
        const int64_t oy = (int64_t)(o / c) / w->out[1] % w->out[0];
        const float *image = x + o / (w->out_count * c) * w->in_count * c + o % c;
        double best = -INFINITY, sum = 0, count = 0;
        for (int64_t ky = 0; ky < w->kernel[0]; ky++)
            for (int64_t kx = 0; kx < w->kernel[1]; kx++) {
                const int64_t iy = oy * w->stride[0] + ky * w->dilation[0] - w->pad[0];
                const int64_t ix = ox * w->stride[1] + kx * w->dilation[1] - w->pad[1];
                if (iy >= w->in[0] + w->pad_end[0] || ix >= w->in[1] + w->pad_end[1]) continue;
                const bool inside = iy >= 0 && ix >= 0 && iy < w->in[0] && ix < w->in[1];
                if (inside || job.count_pads) count++;
                if (!inside) continue;
                const double v = (double)image[(size_t)(iy * w->in[1] + ix) * c];
                sum += v;
                best = isnan(v) || isnan(best) ? NAN : v > best ? v : best;
            }
        near((double)y[o], job.average ? (count > 0 ? sum / count : 0) : best, 1e-6, "pool", o);
    }
    guarded_check(y, out, "pool");
    guarded_free(x);
    guarded_free(y);
}

void test_pools(const sdx_kernels *set) {
    (void)set;
    for (unsigned i = 0; i < 400; i++) {
        static const size_t channels[] = {1, 3, 4, 7, 8, 16, 31, 33, 64, 70};
        sdx_f32_pool job = {.batch = 1 + i % 2, .channels = channels[i % 10]};
        sdx_window *w = &job.window;
        w->rank = 2;
        for (int a = 0; a < 2; a++) {
            w->in[a] = 1 + random_bits() % 9;
            w->kernel[a] = 1 + random_bits() % 4;
            w->stride[a] = 1 + random_bits() % 3;
            w->dilation[a] = 1 + random_bits() % 2;
            w->pad[a] = random_bits() % 3;
            w->pad_end[a] = random_bits() % 3;
            const int64_t span = (w->kernel[a] - 1) * w->dilation[a] + 1;
            const int64_t room = w->in[a] + w->pad[a] + w->pad_end[a] - span;
            w->out[a] = room < 0 ? 1 : room / w->stride[a] + 1 + random_bits() % 2;
        }
        sdx_window_count(w);
        job.average = i % 3 != 0;
        job.count_pads = i % 3 == 1;
        check_pool(job);
    }
    float *x = guarded(2 * 50 * 70), *y = guarded(2 * 70);
    random_fill(x, 2 * 50 * 70);
    sdx_f32_mean_nhwc(NULL, x, y, 2, 50, 70);
    for (size_t o = 0; o < 140; o++) {
        double sum = 0;
        for (size_t p = 0; p < 50; p++) sum += (double)x[(o / 70 * 50 + p) * 70 + o % 70];
        near((double)y[o], sum / 50, 1e-7, "mean of pixels", o);
    }
    guarded_check(y, 140, "mean of pixels");
    guarded_free(x);
    guarded_free(y);
}
