/* attention_rows.h - what happens to one row of attention scores, for one element type T:
 * attention_run.c defines T, LOCAL (private names) and TANH, EXP_SUM, ROW_MAX over arrays, then
 * includes this. */

/* Copies a row of the fourth output in its own type. */
static void LOCAL(show)(const attention_job *job, void *qk, const T *s) {
    if (qk != NULL) sdx_attention_narrow(job->type, s, job->qk_type, qk, job->total);
}

/* The values that survive a cast to a lower precision and back. */
static void LOCAL(round_row)(sdx_dtype precision, T *s, size_t n) {
    for (size_t j = 0; j < n; j++) {
        float v = (float)s[j];
        if (precision == SDX_DTYPE_FLOAT16) v = sdx_f16_to_f32(sdx_f32_to_f16(v));
        if (precision == SDX_DTYPE_BFLOAT16) v = sdx_bf16_to_f32(sdx_f32_to_bf16(v));
        s[j] = (T)v;
    }
}

static void LOCAL(softmax)(const attention_job *job, T *s) {
    size_t n = job->total;
    sdx_dtype precision = job->params->precision;
    bool lower = precision == SDX_DTYPE_FLOAT16 || precision == SDX_DTYPE_BFLOAT16 ||
                 (precision == SDX_DTYPE_FLOAT32 && job->type == SDX_DTYPE_FLOAT64);
    if (lower) LOCAL(round_row)(precision, s, n);
    T max = ROW_MAX(s, n);
    if (max == -(T)INFINITY) { /* nothing to attend to */
        for (size_t j = 0; j < n; j++) s[j] = 0;
        return;
    }
    if (precision == SDX_DTYPE_FLOAT64 && job->type == SDX_DTYPE_FLOAT32) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) sum += exp((double)s[j] - (double)max);
        for (size_t j = 0; j < n; j++) s[j] = (T)(exp((double)s[j] - (double)max) / sum);
        return;
    }
    T scale = 1 / EXP_SUM(s, max, s, n);
    for (size_t j = 0; j < n; j++) s[j] *= scale;
    if (lower) LOCAL(round_row)(precision, s, n);
}

/* Keys of mask[0, mask_count) get their value added, keys behind it are disallowed, and so are
 * those outside [low, high). Returns whether a key is left that the bias allows. */
static bool LOCAL(add_bias)(T *s, size_t n, const T *mask, size_t mask_count, size_t low,
                            size_t high) {
    bool any = mask == NULL && low < high;
    if (mask != NULL) {
        for (size_t j = 0; j < mask_count; j++) s[j] += mask[j];
        for (size_t j = mask_count; j < n; j++) s[j] += -(T)INFINITY;
        size_t end = high < mask_count ? high : mask_count;
        for (size_t j = low; j < end && !any; j++) any = mask[j] != -(T)INFINITY;
    }
    for (size_t j = 0; j < low; j++) s[j] += -(T)INFINITY;
    for (size_t j = high; j < n; j++) s[j] += -(T)INFINITY;
    return any;
}

/* Raw products to probabilities; qk is where the row of the fourth output goes, or NULL. */
static void LOCAL(finish_row)(const attention_job *job, T *s, const T *mask, size_t low,
                              size_t high, void *qk) {
    const sdx_attention_params *params = job->params;
    size_t n = job->total;
    T scale = (T)job->scale, cap = (T)params->softcap;
    for (size_t j = 0; j < n; j++) s[j] *= scale;
    if (params->mode == 0) LOCAL(show)(job, qk, s);
    if (cap > 0) {
        for (size_t j = 0; j < n; j++) s[j] /= cap;
        TANH(s, s, n);
        for (size_t j = 0; j < n; j++) s[j] *= cap;
    }
    if (params->mode == 1) LOCAL(show)(job, qk, s);
    bool any = LOCAL(add_bias)(s, n, mask, job->mask_count, low, high);
    if (params->mode == 2) LOCAL(show)(job, qk, s);
    if (any)
        LOCAL(softmax)(job, s);
    else
        for (size_t j = 0; j < n; j++) s[j] = 0;
    if (params->mode == 3) LOCAL(show)(job, qk, s);
}
