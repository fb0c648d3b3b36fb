/* ml_tree.c - TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble of domain ai.onnx.ml:
 * attributes, shapes and definitions. The trees themselves are read in ml_tree_read.c, laid out in
 * ml_tree_build.c and evaluated in ml_tree_run.c. */
#include "ops/ml_tree.h"

/* ---- attributes ------------------------------------------------------------------------------ */

static sdx_status read_base(sdx_prep *prep, sdx_arena *temp, sdx_tree_source *source) {
    sdx_tree_params *p = prep->params;
    double *given;
    SDX_TRY(sdx_tree_read_reals(prep, temp, "base_values", "base_values_as_tensor", &given,
                                &p->base_count, &source->wide));
    if (!p->base_count) return SDX_STATUS_OK;
    const size_t targets = source->targets;
    const bool one_of_two = p->classifier && targets == 2 && p->base_count == 1;
    if (p->base_count != targets && !one_of_two)
        return sdx_prep_fail(prep, "there are %zu base values for %zu targets or classes",
                             p->base_count, targets);
    p->base = sdx_prep_array(prep, p->base_count, sizeof *p->base);
    if (!p->base) return SDX_STATUS_NO_MEMORY;
    memcpy(p->base, given, p->base_count * sizeof *p->base);
    return SDX_STATUS_OK;
}

/* Attribute n_targets; 0 when absent. */
static sdx_status read_target_count(sdx_prep *prep, size_t *out) {
    int64_t targets;
    SDX_TRY(sdx_attr_get_int(prep, "n_targets", 0, &targets));
    if ((sdx_attr_has(prep, "n_targets") && targets < 1) || targets > INT32_MAX)
        return sdx_prep_fail(prep, "n_targets is %lld", (long long)targets);
    *out = (size_t)targets;
    return SDX_STATUS_OK;
}

static sdx_status read_sum(sdx_prep *prep, int *out) {
    static const char *const words[] = {"AVERAGE", "SUM", "MIN", "MAX", NULL};
    return sdx_attr_get_choice(prep, "aggregate_function", SDX_TREE_SUM, words, out);
}

static sdx_status prepare_regressor(sdx_prep *prep, sdx_arena *temp, sdx_tree_source *source) {
    static const sdx_tree_names names = {"target_treeids", "target_nodeids", "target_ids",
                                         "target_weights", "target_weights_as_tensor"};
    sdx_tree_params *p = prep->params;
    size_t targets;
    SDX_TRY(read_sum(prep, &p->sum));
    SDX_TRY(sdx_ml_read_post(prep, &p->post));
    SDX_TRY(read_target_count(prep, &targets));
    SDX_TRY(sdx_tree_read_nodes(prep, temp, &names, targets, source));
    return read_base(prep, temp, source);
}

static sdx_status prepare_classifier(sdx_prep *prep, sdx_arena *temp, sdx_tree_source *source) {
    static const sdx_tree_names names = {"class_treeids", "class_nodeids", "class_ids",
                                         "class_weights", "class_weights_as_tensor"};
    sdx_tree_params *p = prep->params;
    p->classifier = true;
    p->sum = SDX_TREE_SUM;
    SDX_TRY(sdx_ml_read_post(prep, &p->post));
    SDX_TRY(sdx_ml_read_labels(prep, "classlabels_int64s", "classlabels_strings", &p->labels));
    if (!p->labels.count)
        return sdx_prep_fail(prep, "neither classlabels_int64s nor classlabels_strings is given");
    if (p->labels.count > INT32_MAX)
        return sdx_prep_unsupported(prep, "%zu classes are too many", p->labels.count);
    SDX_TRY(sdx_tree_read_nodes(prep, temp, &names, p->labels.count, source));
    bool same = true;
    p->all_positive = true;
    for (size_t i = 0; i < source->weight_count; i++) {
        if (source->weight_target[i] != source->weight_target[0]) same = false;
        if (source->weights[i] < 0) p->all_positive = false;
    }
    p->one_class_weighed = same && source->weight_count && source->targets == 2;
    return read_base(prep, temp, source);
}

static sdx_status prepare_ensemble(sdx_prep *prep, sdx_arena *temp, sdx_tree_source *source) {
    sdx_tree_params *p = prep->params;
    int64_t sum, post;
    size_t targets;
    SDX_TRY(sdx_attr_get_int(prep, "aggregate_function", SDX_TREE_SUM, &sum));
    SDX_TRY(sdx_attr_get_int(prep, "post_transform", SDX_ML_NONE, &post));
    if (sum < SDX_TREE_AVERAGE || sum > SDX_TREE_MAX)
        return sdx_prep_fail(prep, "aggregate_function is %lld, expected %d to %d",
                             (long long)sum, SDX_TREE_AVERAGE, SDX_TREE_MAX);
    if (post < SDX_ML_NONE || post > SDX_ML_PROBIT)
        return sdx_prep_fail(prep, "post_transform is %lld, expected %d to %d", (long long)post,
                             SDX_ML_NONE, SDX_ML_PROBIT);
    p->sum = (int)sum;
    p->post = (int)post;
    SDX_TRY(read_target_count(prep, &targets));
    return sdx_tree_read_5(prep, temp, targets, source);
}

/* What was read lives only until the forest is built. */
static sdx_status tree_prepare(sdx_prep *prep) {
    sdx_status (*const *read)(sdx_prep *, sdx_arena *, sdx_tree_source *) = prep->def->aux;
    sdx_tree_params *p = prep->params;
    sdx_tree_source source;
    sdx_arena temp;
    sdx_arena_init(&temp, prep->module->allocator, 0);
    sdx_status status = (*read)(prep, &temp, &source);
    if (status == SDX_STATUS_OK) status = sdx_forest_build(prep, &temp, &source, &p->forest);
    sdx_arena_free(&temp);
    return status;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static sdx_expr room_for(sdx_infer *inf, sdx_expr count, size_t size) {
    return sdx_inf_add(inf, sdx_inf_mul(inf, count, sdx_expr_const((int64_t)size)),
                       sdx_expr_const(SDX_CACHE_LINE));
}

static sdx_status infer_scores(sdx_infer *inf, uint32_t output, sdx_dtype dtype) {
    const sdx_tree_params *p = inf->params;
    const int64_t targets = (int64_t)p->forest.targets;
    sdx_expr rows, features;
    SDX_TRY(sdx_ml_infer_rows(inf, 0, &rows, &features));
    if (sdx_expr_is_const(features) && (uint64_t)sdx_expr_value(features) < p->forest.features)
        return sdx_infer_fail(inf, "the input has %lld features, the trees look at %zu",
                              (long long)sdx_expr_value(features), p->forest.features);
    const sdx_expr dims[2] = {rows, sdx_expr_const(targets)};
    if (p->classifier) {
        sdx_infer_set_dtype(inf, 0, sdx_ml_label_type(&p->labels));
        SDX_TRY(sdx_infer_set_shape(inf, 0, 1, dims));
    }
    sdx_infer_set_dtype(inf, output, dtype);
    const sdx_tree_room room = sdx_tree_room_of(p, sdx_infer_dtype(inf, 0), dtype);
    const sdx_expr scores = sdx_inf_mul(inf, rows, dims[1]);
    inf->scratch = room_for(inf, scores, room.scores);
    inf->scratch = sdx_inf_add(inf, inf->scratch, room_for(inf, scores, room.floats));
    inf->scratch = sdx_inf_add(inf, inf->scratch, room_for(inf, scores, room.seen));
    if (room.input) {
        const sdx_expr elements = sdx_inf_mul(inf, rows, features);
        inf->scratch = sdx_inf_add(inf, inf->scratch, room_for(inf, elements, room.input));
    }
    return sdx_infer_set_shape(inf, output, 2, dims);
}

static sdx_status regressor_infer(sdx_infer *inf) {
    return infer_scores(inf, 0, SDX_DTYPE_FLOAT32);
}
static sdx_status classifier_infer(sdx_infer *inf) {
    return infer_scores(inf, 1, SDX_DTYPE_FLOAT32);
}
static sdx_status ensemble_infer(sdx_infer *inf) {
    return infer_scores(inf, 0, sdx_infer_dtype(inf, 0));
}

/* ---- definitions ----------------------------------------------------------------------------- */

typedef sdx_status (*tree_reader)(sdx_prep *, sdx_arena *, sdx_tree_source *);
static const tree_reader read_regressor = prepare_regressor;
static const tree_reader read_classifier = prepare_classifier;
static const tree_reader read_ensemble = prepare_ensemble;

const sdx_op_def sdx_op_ml_tree_ensemble_classifier = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 2,
    .in_types = {SDX_T_ML},
    .params_size = sizeof(sdx_tree_params),
    .prepare = tree_prepare, .infer = classifier_infer,
    .run = SDX_BODY(sdx_op_ml_tree_ensemble_classifier, sdx_tree_run),
    .aux = &read_classifier,
};

const sdx_op_def sdx_op_ml_tree_ensemble_regressor = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_ML},
    .params_size = sizeof(sdx_tree_params),
    .prepare = tree_prepare, .infer = regressor_infer,
    .run = SDX_BODY(sdx_op_ml_tree_ensemble_regressor, sdx_tree_run),
    .aux = &read_regressor,
};

const sdx_op_def sdx_op_ml_tree_ensemble = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(FLOAT16) | SDX_T(FLOAT32) | SDX_T(FLOAT64)},
    .params_size = sizeof(sdx_tree_params),
    .prepare = tree_prepare, .infer = ensemble_infer,
    .run = SDX_BODY(sdx_op_ml_tree_ensemble, sdx_tree_run),
    .aux = &read_ensemble,
};
