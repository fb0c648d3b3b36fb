/* einsum.c - Einsum: reads the equation, infers the shape and plans the contractions, operand
 * after operand from the left. einsum_run.c computes them. */
#include "ops/einsum.h"

bool sdx_labels_has(const sdx_labels *labels, uint8_t label) {
    for (int32_t i = 0; i < labels->count; i++)
        if (labels->label[i] == label) return true;
    return false;
}

static bool push(sdx_labels *labels, uint8_t label) {
    if (labels->count == SDX_MAX_RANK) return false;
    labels->label[labels->count++] = label;
    return true;
}

/* ---- equation -------------------------------------------------------------------------------- */

/* Upper case before lower case, as ASCII has it. */
static int letter_label(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    return c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

/* One term, up to ',' or "->" or the end; *text is left there. */
static sdx_status parse_term(sdx_prep *prep, const char **text, sdx_labels *term) {
    bool ellipsis = false;
    for (; **text != '\0' && **text != ','; (*text)++) {
        const char *at = *text;
        int label = letter_label(*at);
        if (*at == ' ') continue;
        if (at[0] == '-' && at[1] == '>') break;
        if (at[0] == '.' && at[1] == '.' && at[2] == '.') {
            if (ellipsis) return sdx_prep_fail(prep, "a term of the equation has two ellipses");
            ellipsis = true;
            label = SDX_EINSUM_ELLIPSIS;
            *text += 2;
        } else if (label < 0) {
            return sdx_prep_fail(prep, "unexpected character '%c' in the equation", *at);
        }
        if (!push(term, (uint8_t)label))
            return sdx_prep_fail(prep, "a term of the equation has more than %d dims",
                                 SDX_MAX_RANK);
    }
    return SDX_STATUS_OK;
}

/* Output of an equation without "->": the ellipsis, then the letters that occur once, sorted. */
static sdx_status implicit_output(sdx_prep *prep, sdx_einsum_params *params) {
    uint32_t seen[SDX_EINSUM_LETTERS] = {0};
    bool ellipsis = false, fits = true;
    for (uint32_t t = 0; t < params->term_count; t++)
        for (int32_t i = 0; i < params->terms[t].count; i++) {
            uint8_t label = params->terms[t].label[i];
            if (label == SDX_EINSUM_ELLIPSIS)
                ellipsis = true;
            else
                seen[label]++;
        }
    if (ellipsis) fits = push(&params->output, SDX_EINSUM_ELLIPSIS);
    for (uint8_t l = 0; l < SDX_EINSUM_LETTERS; l++)
        if (seen[l] == 1) fits = push(&params->output, l) && fits;
    return fits ? SDX_STATUS_OK
                : sdx_prep_fail(prep, "the output has more than %d dims", SDX_MAX_RANK);
}

/* Every output letter must come from somewhere, and once. */
static sdx_status check_output(sdx_prep *prep, const sdx_einsum_params *params) {
    for (int32_t i = 0; i < params->output.count; i++) {
        uint8_t label = params->output.label[i];
        bool found = label == SDX_EINSUM_ELLIPSIS; /* may stand for no dims */
        for (uint32_t t = 0; t < params->term_count && !found; t++)
            found = sdx_labels_has(&params->terms[t], label);
        if (!found) return sdx_prep_fail(prep, "an output index occurs in no input term");
        for (int32_t j = 0; j < i; j++)
            if (params->output.label[j] == label)
                return sdx_prep_fail(prep, "an index occurs twice in the output term");
    }
    return SDX_STATUS_OK;
}

static sdx_status einsum_prepare(sdx_prep *prep) {
    sdx_einsum_params *params = prep->params;
    const char *text;
    SDX_TRY(sdx_attr_get_string(prep, "equation", NULL, &text));
    if (text == NULL) return sdx_prep_fail(prep, "the attribute equation is missing");
    uint32_t count = prep->node->input_count;
    if (count > SDX_EINSUM_TERMS)
        return sdx_prep_unsupported(prep, "%u inputs, at most %d are supported", count,
                                    SDX_EINSUM_TERMS);
    for (uint32_t i = 0; i < count; i++)
        if (prep->node->inputs[i] == SDX_NONE)
            return sdx_prep_fail(prep, "input %u is left out", i);
    params->terms = sdx_prep_array(prep, count, sizeof *params->terms);
    if (params->terms == NULL) return SDX_STATUS_NO_MEMORY;
    for (params->term_count = 0; params->term_count < count; text++) {
        SDX_TRY(parse_term(prep, &text, &params->terms[params->term_count]));
        params->term_count++;
        if (*text != ',') break;
    }
    if (params->term_count != count || *text == ',')
        return sdx_prep_fail(prep, "the equation has not as many terms as there are inputs (%u)",
                             count);
    if (*text == '\0') return implicit_output(prep, params);
    text += 2; /* "->" */
    SDX_TRY(parse_term(prep, &text, &params->output));
    if (*text != '\0') return sdx_prep_fail(prep, "the equation goes on behind the output term");
    return check_output(prep, params);
}

/* ---- plan ------------------------------------------------------------------------------------ */

bool sdx_einsum_expand(const sdx_labels *term, int32_t dims, sdx_labels *out) {
    out->count = 0;
    if (dims < 0 || dims > SDX_MAX_RANK) return false;
    for (int32_t i = 0; i < term->count; i++) {
        if (term->label[i] != SDX_EINSUM_ELLIPSIS) {
            if (!push(out, term->label[i])) return false;
            continue;
        }
        for (int32_t d = 0; d < dims; d++)
            if (!push(out, (uint8_t)(SDX_EINSUM_LABELS - dims + d))) return false;
    }
    return true;
}

void sdx_einsum_keep(const sdx_labels *terms, uint32_t count, uint32_t done,
                     const sdx_labels *output, bool keep[SDX_EINSUM_LABELS]) {
    memset(keep, 0, SDX_EINSUM_LABELS * sizeof *keep);
    for (int32_t i = 0; i < output->count; i++) keep[output->label[i]] = true;
    for (uint32_t t = done + 1; t < count; t++)
        for (int32_t i = 0; i < terms[t].count; i++) keep[terms[t].label[i]] = true;
}

bool sdx_einsum_plan(const sdx_labels *left, const sdx_labels *right, const bool *keep,
                     sdx_einsum_step *step) {
    memset(step, 0, sizeof *step);
    for (int32_t i = 0; i < left->count; i++) {
        uint8_t label = left->label[i];
        bool both = sdx_labels_has(right, label);
        sdx_labels *to = both ? (keep[label] ? &step->batch : &step->k)
                              : (keep[label] ? &step->m : &step->left_sum);
        if (!sdx_labels_has(to, label)) push(to, label); /* a diagonal counts once */
    }
    for (int32_t i = 0; i < right->count; i++) {
        uint8_t label = right->label[i];
        sdx_labels *to = keep[label] ? &step->n : &step->right_sum;
        if (!sdx_labels_has(left, label) && !sdx_labels_has(to, label)) push(to, label);
    }
    if (step->batch.count + step->m.count + step->n.count > SDX_MAX_RANK) return false;
    const sdx_labels *parts[3] = {&step->batch, &step->m, &step->n};
    for (int p = 0; p < 3; p++)
        for (int32_t i = 0; i < parts[p]->count; i++) push(&step->result, parts[p]->label[i]);
    return true;
}

/* Whether `part` stands in `whole` as one run, in order; *end is behind it. */
static bool run_in(const sdx_labels *part, const sdx_labels *whole, int32_t *end) {
    for (int32_t start = 0; start + part->count <= whole->count; start++)
        if (memcmp(whole->label + start, part->label, (size_t)part->count) == 0) {
            *end = start + part->count;
            return true;
        }
    return false;
}

bool sdx_einsum_direct(const sdx_einsum_step *step, const sdx_labels *output) {
    int32_t end;
    if (step->result.count != output->count) return false;
    if (!run_in(&step->m, output, &end)) return false;
    /* n must be innermost: the kernel writes rows of C densely. */
    return step->n.count == 0 || memcmp(output->label + output->count - step->n.count,
                                        step->n.label, (size_t)step->n.count) == 0;
}

/* ---- infer ----------------------------------------------------------------------------------- */

/* The terms with their ellipses written out; false if a rank is unknown yet. */
static sdx_status expand_terms(sdx_infer *inf, sdx_labels *terms, sdx_labels *output,
                               bool *known) {
    const sdx_einsum_params *params = inf->params;
    int32_t widest = 0;
    *known = true;
    for (uint32_t t = 0; t < params->term_count; t++) {
        const sdx_labels *term = &params->terms[t];
        int32_t rank = sdx_infer_rank(inf, t), written = term->count;
        if (rank < 0) {
            *known = false;
            continue;
        }
        bool ellipsis = sdx_labels_has(term, SDX_EINSUM_ELLIPSIS);
        if (ellipsis ? rank < written - 1 : rank != written)
            return sdx_infer_fail(inf, "input %u has rank %d, its term in the equation %s%d", t,
                                  rank, ellipsis ? "at least " : "", written - ellipsis);
        int32_t dims = ellipsis ? rank - (written - 1) : 0;
        sdx_einsum_expand(term, dims, &terms[t]);
        if (dims > widest) widest = dims;
    }
    if (*known && !sdx_einsum_expand(&params->output, widest, output))
        return sdx_infer_fail(inf, "the output has more than %d dims", SDX_MAX_RANK);
    return SDX_STATUS_OK;
}

static sdx_expr labels_product(sdx_infer *inf, const sdx_labels *labels, const sdx_expr *sizes) {
    sdx_expr product = sdx_expr_const(1);
    for (int32_t i = 0; i < labels->count; i++)
        product = sdx_inf_mul(inf, product, sizes[labels->label[i]]);
    return product;
}

static sdx_expr add_part(sdx_infer *inf, sdx_expr sum, sdx_expr a, sdx_expr b, sdx_expr c,
                         size_t size) {
    sdx_expr count = sdx_inf_mul(inf, a, sdx_inf_mul(inf, b, c));
    return sdx_inf_add(inf, sum, sdx_infer_scratch_part(inf, count, size));
}

/* The same parts that einsum_run.c takes, step for step. */
static sdx_status scratch_of(sdx_infer *inf, const sdx_labels *terms, const sdx_labels *output,
                             const sdx_expr *sizes) {
    const sdx_einsum_params *params = inf->params;
    sdx_dtype dtype = sdx_infer_dtype(inf, 0), type = sdx_product_type(dtype);
    size_t size = sdx_dtype_size(type);
    sdx_expr sum = sdx_expr_const(0), one = sdx_expr_const(1), product = sdx_expr_const(0);
    bool direct = sdx_product_direct(dtype), keep[SDX_EINSUM_LABELS];
    for (uint32_t t = 0; t < params->term_count && !direct; t++)
        sum = add_part(inf, sum, sdx_infer_product(inf, t, 0, sdx_infer_rank(inf, t)), one, one,
                       size);
    if (!direct) sum = add_part(inf, sum, labels_product(inf, output, sizes), one, one, size);
    sdx_labels left = terms[0];
    for (uint32_t t = 1; t < params->term_count; t++) {
        sdx_einsum_step step;
        sdx_einsum_keep(terms, params->term_count, t, output, keep);
        if (!sdx_einsum_plan(&left, &terms[t], keep, &step))
            return sdx_infer_fail(inf, "contracting input %u makes more than %d dims", t,
                                  SDX_MAX_RANK);
        sdx_expr b = labels_product(inf, &step.batch, sizes);
        sdx_expr m = labels_product(inf, &step.m, sizes);
        sdx_expr n = labels_product(inf, &step.n, sizes);
        sdx_expr k = labels_product(inf, &step.k, sizes);
        if (sdx_einsum_may_pack(&step.m, &step.k, &step.left_sum))
            sum = add_part(inf, sum, b, m, k, size);
        if (sdx_einsum_may_pack(&step.k, &step.n, &step.right_sum))
            sum = add_part(inf, sum, b, k, n, size);
        if (t + 1 < params->term_count || !sdx_einsum_direct(&step, output))
            sum = add_part(inf, sum, b, m, n, size);
        product = sdx_expr_max(inf->pool, product, sdx_infer_batch_scratch(inf, type, b, m, n, k));
        left = step.result;
    }
    inf->scratch = sdx_inf_add(inf, sum, product);
    return SDX_STATUS_OK;
}

static sdx_status einsum_infer(sdx_infer *inf) {
    const sdx_einsum_params *params = inf->params;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    inf->scratch = SDX_EXPR_UNKNOWN;
    sdx_labels terms[SDX_EINSUM_TERMS] = {0}, output = {0};
    sdx_expr sizes[SDX_EINSUM_LABELS], dims[SDX_MAX_RANK];
    bool known, set[SDX_EINSUM_LABELS] = {false};
    SDX_TRY(expand_terms(inf, terms, &output, &known));
    if (!known) return sdx_infer_set_shape(inf, 0, -1, NULL);
    for (uint32_t t = 0; t < params->term_count; t++)
        for (int32_t i = 0; i < terms[t].count; i++) {
            uint8_t label = terms[t].label[i];
            sdx_expr dim = sdx_infer_dim(inf, t, i);
            if (set[label])
                SDX_TRY(sdx_infer_broadcast_dim(inf, sizes[label], dim, "dims of one index",
                                                &sizes[label]));
            else
                sizes[label] = dim;
            set[label] = true;
        }
    for (int32_t i = 0; i < output.count; i++) {
        if (!set[output.label[i]])
            return sdx_infer_fail(inf, "an output index has no size");
        dims[i] = sizes[output.label[i]];
    }
    if (sdx_infer_dtype(inf, 0) != SDX_DTYPE_UNDEFINED)
        SDX_TRY(scratch_of(inf, terms, &output, sizes));
    return sdx_infer_set_shape(inf, 0, output.count, dims);
}

const sdx_op_def sdx_op_einsum = {
    .min_in = 1, .max_in = SDX_VARIADIC, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_SAME_TYPE,
    .in_types = {SDX_T_NUMERIC},
    .params_size = sizeof(sdx_einsum_params),
    .prepare = einsum_prepare,
    .infer = einsum_infer,
    .run = SDX_BODY(sdx_op_einsum, sdx_einsum_run),
};
