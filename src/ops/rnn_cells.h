/* rnn_cells.h - the arithmetic of RNN, GRU and LSTM for one element type T: rnn_run.c defines T,
 * TYPE (its sdx_dtype), LOCAL (private names), LOCAL(packed_product) and the vector functions SIGMOID
 * and TANH over arrays, then includes this.
 *
 * A direction walks the time steps in chunks: the input products of a chunk are one matrix
 * product, laid where the gates are then added up and activated in place (packed: beside it). Both directions walk
 * time itself, the reverse one backwards; a sequence shorter than the longest simply does not
 * take part in a step at or beyond its length. */

/* What one direction works on. */
typedef struct LOCAL(walk) {
    const sdx_rnn_sizes *sizes;
    const sdx_rnn_params *params;
    const sdx_rnn_function *functions;
    const T *x, *w, *r, *p; /* of this direction; p NULL: no peepholes */
    sdx_rnn_matrices packed; /* in place of w and r, where there are any */
    const T *recurrent_bias; /* GRU with linear_before_reset: added inside; else NULL */
    const int32_t *lengths;  /* NULL: all of them full */
    T *y;                    /* NULL: not wanted; strides below */
    size_t y_time, y_batch;
    T *gates;                /* chunk rows of gates * hidden */
    size_t gate_row;         /* distance of the gates of two sequences at one step */
    T *step;                 /* packed: batch rows of gates * hidden for the sums of one step */
    T *h, *c, *extra;        /* states, batch * hidden */
    void *scratch;
    sdx_pool *pool;
} LOCAL(walk);

/* What goes into the activation of a gate is clipped; the cell state is not, as elsewhere. */
static void LOCAL(clip)(const sdx_rnn_params *params, T *x, size_t n) {
    T limit = (T)params->clip;
    for (size_t i = 0; i < n && params->has_clip; i++)
        x[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
}

static void LOCAL(activate)(sdx_rnn_function f, T *x, size_t n) {
    T alpha = (T)f.alpha, beta = (T)f.beta;
    switch (f.kind) {
    case SDX_RNN_ACT_SIGMOID: SIGMOID(x, x, n); break;
    case SDX_RNN_ACT_TANH: TANH(x, x, n); break;
    case SDX_RNN_ACT_RELU:
        for (size_t i = 0; i < n; i++) x[i] = x[i] < 0 ? 0 : x[i];
        break;
    case SDX_RNN_ACT_AFFINE:
        for (size_t i = 0; i < n; i++) x[i] = alpha * x[i] + beta;
        break;
    case SDX_RNN_ACT_LEAKY_RELU:
        for (size_t i = 0; i < n; i++) x[i] = x[i] < 0 ? alpha * x[i] : x[i];
        break;
    case SDX_RNN_ACT_THRESHOLDED_RELU:
        for (size_t i = 0; i < n; i++) x[i] = x[i] < alpha ? 0 : x[i];
        break;
    case SDX_RNN_ACT_SCALED_TANH:
        for (size_t i = 0; i < n; i++) x[i] *= beta;
        TANH(x, x, n);
        for (size_t i = 0; i < n; i++) x[i] *= alpha;
        break;
    case SDX_RNN_ACT_HARD_SIGMOID:
        for (size_t i = 0; i < n; i++) {
            T v = alpha * x[i] + beta;
            x[i] = v < 0 ? 0 : v > 1 ? 1 : v;
        }
        break;
    case SDX_RNN_ACT_ELU:
        for (size_t i = 0; i < n; i++) x[i] = x[i] < 0 ? (T)(alpha * (T)expm1((double)x[i])) : x[i];
        break;
    case SDX_RNN_ACT_SOFTSIGN:
        for (size_t i = 0; i < n; i++) x[i] = x[i] / (1 + (x[i] < 0 ? -x[i] : x[i]));
        break;
    case SDX_RNN_ACT_SOFTPLUS:
        for (size_t i = 0; i < n; i++) {
            T v = x[i], a = v < 0 ? -v : v;
            x[i] = (T)log1p(exp(-(double)a)) + (v > 0 ? v : 0);
        }
        break;
    }
}

static void LOCAL(gate)(const sdx_rnn_params *params, sdx_rnn_function f, T *x, size_t n) {
    LOCAL(clip)(params, x, n);
    LOCAL(activate)(f, x, n);
}

/* Gates of all sequences at one step: where they lie, and the distance from one to the next. */
typedef struct LOCAL(rows) {
    T *at;
    size_t row;
} LOCAL(rows);

/* to[batch][first .. first + count) = from + states * R' of those rows, packed as `packed` has them. Unless
 * they are packed, `from` is `to`; its `at` is NULL where there is nothing to add to. */
static void LOCAL(recur)(const LOCAL(walk) *walk, const float *packed, const T *states,
                         size_t first, size_t count, LOCAL(rows) from, LOCAL(rows) to) {
    size_t hidden = walk->sizes->hidden, batch = walk->sizes->batch;
    if (packed)
        LOCAL(packed_product)(walk->pool, batch, hidden, count, packed, states, from.at, from.row,
                              to.at, to.row);
    else
        sdx_product(walk->pool, TYPE, batch, count, hidden, (sdx_matrix){states, hidden, 1},
                    (sdx_matrix){walk->r + first * hidden, 1, hidden}, to.at, to.row,
                    from.at != NULL, walk->scratch);
}

/* H = f(gate) */
static void LOCAL(plain_cell)(const LOCAL(walk) *walk, size_t b, T *gate, T *out) {
    size_t n = walk->sizes->hidden;
    (void)b;
    LOCAL(gate)(walk->params, walk->functions[0], gate, n);
    memcpy(out, gate, n * sizeof(T));
}

/* Gates in the order i, o, f, c. */
static void LOCAL(lstm_cell)(const LOCAL(walk) *walk, size_t b, T *gate, T *out) {
    const sdx_rnn_params *params = walk->params;
    const sdx_rnn_function *f = walk->functions;
    size_t n = walk->sizes->hidden;
    T *i = gate, *o = gate + n, *fg = gate + 2 * n, *g = gate + 3 * n, *c = walk->c + b * n;
    const T *pi = walk->p, *po = walk->p ? walk->p + n : NULL, *pf = walk->p ? po + n : NULL;
    if (pi)
        for (size_t j = 0; j < n; j++) {
            i[j] += pi[j] * c[j];
            fg[j] += pf[j] * c[j];
        }
    LOCAL(gate)(params, f[0], i, n);
    if (params->input_forget)
        for (size_t j = 0; j < n; j++) fg[j] = 1 - i[j];
    else
        LOCAL(gate)(params, f[0], fg, n);
    LOCAL(gate)(params, f[1], g, n);
    for (size_t j = 0; j < n; j++) c[j] = fg[j] * c[j] + i[j] * g[j];
    if (po)
        for (size_t j = 0; j < n; j++) o[j] += po[j] * c[j];
    LOCAL(gate)(params, f[0], o, n);
    memcpy(out, c, n * sizeof(T));
    LOCAL(activate)(f[2], out, n);
    for (size_t j = 0; j < n; j++) out[j] *= o[j];
}

/* Gates in the order z, r, h; h is complete but for its activation. */
static void LOCAL(gru_cell)(const LOCAL(walk) *walk, size_t b, T *gate, T *out) {
    size_t n = walk->sizes->hidden;
    T *z = gate, *g = gate + 2 * n;
    const T *h = walk->h + b * n;
    LOCAL(gate)(walk->params, walk->functions[1], g, n);
    for (size_t j = 0; j < n; j++) out[j] = (1 - z[j]) * g[j] + z[j] * h[j];
}

/* z and r, and what r does to the third gate, for the whole batch. */
static void LOCAL(gru_gates)(const LOCAL(walk) *walk, LOCAL(rows) from, LOCAL(rows) to) {
    size_t n = walk->sizes->hidden, batch = walk->sizes->batch;
    bool linear = walk->params->linear_before_reset;
    LOCAL(rows) extra = {walk->extra, n}, none = {NULL, 0};
    LOCAL(recur)(walk, walk->packed.r, walk->h, 0, 2 * n, from, to);
    if (linear) LOCAL(recur)(walk, walk->packed.rest, walk->h, 2 * n, n, none, extra);
    for (size_t b = 0; b < batch; b++) {
        T *gate = to.at + b * to.row, *r = gate + n, *own = walk->extra + b * n;
        const T *third = from.at + b * from.row + 2 * n;
        LOCAL(gate)(walk->params, walk->functions[0], gate, 2 * n);
        if (!linear) {
            for (size_t j = 0; j < n; j++) own[j] = r[j] * walk->h[b * n + j];
            continue;
        }
        for (size_t j = 0; j < n; j++) {
            T bias = walk->recurrent_bias ? walk->recurrent_bias[j] : 0;
            gate[2 * n + j] = third[j] + r[j] * (own[j] + bias);
        }
    }
    if (linear) return;
    from.at += 2 * n;
    to.at += 2 * n;
    LOCAL(recur)(walk, walk->packed.rest, walk->extra, 2 * n, n, from, to);
}

static void LOCAL(step)(const LOCAL(walk) *walk, sdx_rnn_cell cell, size_t t, T *gates) {
    size_t n = walk->sizes->hidden, batch = walk->sizes->batch, wide = walk->sizes->gates * n;
    LOCAL(rows) from = {gates, walk->gate_row}, to = from;
    if (walk->step) to = (LOCAL(rows)){walk->step, wide};
    if (cell == SDX_RNN_GRU)
        LOCAL(gru_gates)(walk, from, to);
    else
        LOCAL(recur)(walk, walk->packed.r, walk->h, 0, wide, from, to);
    for (size_t b = 0; b < batch; b++) {
        T *y = walk->y ? walk->y + t * walk->y_time + b * walk->y_batch : NULL;
        if (walk->lengths && (int64_t)t >= walk->lengths[b]) {
            if (y) memset(y, 0, n * sizeof(T));
            continue;
        }
        T *gate = to.at + b * to.row, *out = walk->extra + b * n;
        (cell == SDX_RNN_LSTM  ? LOCAL(lstm_cell)
         : cell == SDX_RNN_GRU ? LOCAL(gru_cell)
                               : LOCAL(plain_cell))(walk, b, gate, out);
        memcpy(walk->h + b * n, out, n * sizeof(T));
        if (y) memcpy(y, out, n * sizeof(T));
    }
}

/* Rows of the input product for steps [first, first + count), biases included. */
static void LOCAL(input_product)(const LOCAL(walk) *walk, const T *bias, size_t first,
                                 size_t count) {
    const sdx_rnn_sizes *s = walk->sizes;
    size_t rows = count * s->batch, wide = s->gates * s->hidden;
    /* With the batch in front a chunk is everything, and rows lie as X has them. */
    const T *x = walk->params->batch_first ? walk->x : walk->x + first * s->batch * s->input;
    if (walk->packed.w) {
        LOCAL(packed_product)(walk->pool, rows, s->input, wide, walk->packed.w, x, NULL, 0,
                              walk->gates, wide);
        return;
    }
    for (size_t i = 0; i < rows; i++) memcpy(walk->gates + i * wide, bias, wide * sizeof(T));
    sdx_product(walk->pool, TYPE, rows, wide, s->input, (sdx_matrix){x, s->input, 1},
                (sdx_matrix){walk->w, 1, s->input}, walk->gates, wide, true, walk->scratch);
}

static void LOCAL(walk_direction)(LOCAL(walk) *walk, sdx_rnn_cell cell, bool reverse,
                                  const T *bias) {
    const sdx_rnn_sizes *s = walk->sizes;
    size_t wide = s->gates * s->hidden;
    bool batch_first = walk->params->batch_first;
    walk->gate_row = batch_first ? s->time * wide : wide;
    for (size_t done = 0; done < s->time;) {
        size_t count = s->time - done < s->chunk ? s->time - done : s->chunk;
        size_t first = reverse ? s->time - done - count : done;
        LOCAL(input_product)(walk, bias, first, count);
        for (size_t i = 0; i < count; i++) {
            if (sdx_watch_work(s->batch * wide)) return; /* the products of a step stop by themselves */
            size_t in_chunk = reverse ? count - 1 - i : i;
            LOCAL(step)(walk, cell, first + in_chunk,
                        walk->gates + in_chunk * (batch_first ? wide : s->batch * wide));
        }
        done += count;
    }
}

/* States laid out as [directions, batch, hidden] or [batch, directions, hidden]. */
static size_t LOCAL(state_at)(const sdx_rnn_sizes *s, bool batch_first, size_t d, size_t b) {
    return (batch_first ? b * s->directions + d : d * s->batch + b) * s->hidden;
}

/* One direction from start to end: biases joined, states loaded, walked, states stored. */
static void LOCAL(direction)(const rnn_memory *memory, const sdx_rnn_kind *kind, size_t d) {
    const sdx_rnn_sizes *s = &memory->sizes;
    const sdx_rnn_params *params = memory->params;
    size_t n = s->hidden, wide = s->gates * n;
    const T *b = memory->in[SDX_RNN_B], *h0 = memory->in[SDX_RNN_H0], *c0 = memory->in[SDX_RNN_C0];
    const T *p = memory->in[SDX_RNN_P];
    T *bias = memory->bias;
    LOCAL(walk) walk = {.sizes = s, .params = params, .functions = params->functions[d],
                        .x = memory->in[SDX_RNN_X], .lengths = memory->lengths,
                        .gates = memory->gates, .h = memory->h, .c = memory->c,
                        .extra = memory->extra, .scratch = memory->scratch, .pool = memory->pool};
    if (memory->packed) {
        walk.packed = memory->packed[d];
        walk.step = memory->step;
    } else {
        walk.w = (const T *)memory->in[SDX_RNN_W] + d * wide * s->input;
        walk.r = (const T *)memory->in[SDX_RNN_R] + d * wide * n;
    }
    walk.p = p ? p + d * 3 * n : NULL;
    memset(bias, 0, wide * sizeof(T));
    bool linear = kind->cell == SDX_RNN_GRU && params->linear_before_reset;
    if (b) {
        b += d * 2 * wide;
        for (size_t j = 0; j < wide; j++) bias[j] = b[j] + (linear && j >= 2 * n ? 0 : b[wide + j]);
        if (linear) walk.recurrent_bias = b + wide + 2 * n;
    }
    bool batch_first = params->batch_first;
    for (size_t i = 0; i < s->batch; i++) {
        size_t at = LOCAL(state_at)(s, batch_first, d, i);
        for (size_t j = 0; j < n; j++) {
            walk.h[i * n + j] = h0 ? h0[at + j] : 0;
            walk.c[i * n + j] = c0 ? c0[at + j] : 0;
        }
    }
    if (memory->out[0]) {
        walk.y = (T *)memory->out[0] + d * n * (batch_first ? 1 : s->batch);
        walk.y_time = s->directions * n * (batch_first ? 1 : s->batch);
        walk.y_batch = n * (batch_first ? s->time * s->directions : 1);
    }
    LOCAL(walk_direction)(&walk, kind->cell, params->both ? d == 1 : params->reverse, bias);
    T *ends[2] = {memory->out[1], memory->out[2]}, *states[2] = {walk.h, walk.c};
    for (int e = 0; e < 2; e++)
        for (size_t i = 0; i < s->batch && ends[e]; i++)
            memcpy(ends[e] + LOCAL(state_at)(s, batch_first, d, i), states[e] + i * n,
                   n * sizeof(T));
}
