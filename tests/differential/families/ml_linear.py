"""ai.onnx.ml: linear models and support vector machines."""
import numpy as np

from case import Case, generator
from explained import ORT, REFERENCE, explained
from families.ml_features import DOMAIN, WORDS, distinct, ml_dtype, same_as_float

TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]


def transform(random, attributes, only=TRANSFORMS):
    """Draws post_transform; whether it is PROBIT, which takes numbers between 0 and 1 alone."""
    chosen = random.choice(only)
    if chosen != "NONE" or random.chance():
        attributes["post_transform"] = chosen
    return chosen == "PROBIT"


def labels(random, attributes, count, name):
    """Names of classes, of either type."""
    if random.chance():
        attributes["classlabels_strings"] = distinct(random, WORDS, count)
    else:
        attributes[name] = distinct(random, range(-3, 9), count)


def _numbers(random, count, low=-2.0, high=2.0):
    return [random.uniform(low, high) for _ in range(count)]


def _features(random, schema, parameter, columns, unit):
    # ONNX Runtime has the regressors in float32 alone.
    often = parameter == "T" and random.chance(0.85)
    dtype = np.dtype(np.float32) if often else ml_dtype(random, schema, parameter)
    shape = (columns,) if random.chance(0.1) else (random.size(), columns)
    return random.array(dtype, shape, 0 if unit else None, 1 if unit else None)


def _model(random, rows, columns, unit, attributes):
    """Coefficients and intercepts; in [0, 1] the scores of inputs in [0, 1], if asked for."""
    high = 0.9 / columns if unit else 2.0
    attributes["coefficients"] = _numbers(random, rows * columns, 0.0 if unit else -2.0, high)
    if unit or random.chance(0.7):
        attributes["intercepts"] = _numbers(random, rows, 0.01 if unit else -2.0, 0.05 if unit else 2.0)


@generator("LinearRegressor", domain=DOMAIN)
def linear_regressor(random, schema):
    attributes, targets, columns = {}, random.integer(1, 4), random.integer(1, 5)
    unit = transform(random, attributes)
    _model(random, targets, columns, unit, attributes)
    if targets > 1 or random.chance():
        attributes["targets"] = targets
    return Case([_features(random, schema, "T", columns, unit)], attributes)


@generator("LinearClassifier", domain=DOMAIN)
def linear_classifier(random, schema):
    attributes, classes, columns = {}, random.integer(2, 4), random.integer(1, 5)
    unit = transform(random, attributes)
    # Two classes may have the scores of one. What PROBIT makes of them is not said.
    rows = 1 if classes == 2 and not unit and random.chance() else classes
    _model(random, rows, columns, unit, attributes)
    if "intercepts" not in attributes:
        attributes["intercepts"] = [0.0] * rows
    labels(random, attributes, classes, "classlabels_ints")
    if random.chance():
        attributes["multi_class"] = random.integer(0, 1)
    return Case([_features(random, schema, "T1", columns, unit)], attributes, outputs=2)


def _kernel(random, attributes, only=("LINEAR", "POLY", "RBF", "SIGMOID")):
    kind = random.choice(only)
    if kind != "LINEAR" or random.chance():
        attributes["kernel_type"] = kind
    attributes["kernel_params"] = [random.uniform(0.1, 0.5), random.uniform(-0.5, 0.5),
                                   float(random.integer(1, 3))]


@generator("SVMRegressor", domain=DOMAIN)
def svm_regressor(random, schema):
    attributes, columns = {}, random.integer(1, 4)
    dtype = np.dtype(np.float32) if random.chance(0.7) else ml_dtype(random, schema, "T")
    supports = random.choice([0, 1, 3, 6])
    _kernel(random, attributes, ("LINEAR",) if not supports else ("LINEAR", "POLY", "RBF", "SIGMOID"))
    attributes["coefficients"] = _numbers(random, supports or columns)
    attributes["rho"] = _numbers(random, 1)
    if supports:
        attributes["n_supports"] = supports
        attributes["support_vectors"] = _numbers(random, supports * columns)
    # The score is between 0 and 1 for nobody, so that PROBIT has no meaning here. The evaluator has no
    # transform at all.
    transform(random, attributes, ["NONE"] if random.chance(0.8) else TRANSFORMS[:-1])
    if attributes.get("post_transform", "NONE") == "NONE" and random.chance(0.4):
        attributes["one_class"] = random.integer(0, 1)
    return Case([random.array(dtype, (random.size(), columns))], attributes)


@generator("SVMClassifier", domain=DOMAIN)
def svm_classifier(random, schema):
    attributes, columns, classes = {}, random.integer(1, 4), random.integer(2, 4)
    dtype = ml_dtype(random, schema, "T1")
    pairs = classes * (classes - 1) // 2
    labels(random, attributes, classes, "classlabels_ints")
    transform(random, attributes, ["NONE"] if random.chance(0.6) else TRANSFORMS[:-1])
    if random.chance(0.2):
        # Linear without vectors: a row of coefficients for each class.
        attributes["coefficients"] = _numbers(random, classes * columns)
        attributes["rho"] = _numbers(random, 1)
        attributes["kernel_params"] = [0.0, 0.0, 0.0]
    else:
        counts = [random.integer(1, 3) for _ in range(classes)]
        _kernel(random, attributes)
        attributes.update(vectors_per_class=counts, rho=_numbers(random, pairs),
                          coefficients=_numbers(random, (classes - 1) * sum(counts)),
                          support_vectors=_numbers(random, sum(counts) * columns))
        if random.chance():
            attributes.update(prob_a=_numbers(random, pairs, -2, -0.5),
                              prob_b=_numbers(random, pairs, -0.5, 0.5))
    return Case([random.array(dtype, (random.size(), columns))], attributes, outputs=2)


@explained(("LinearClassifier", "LinearRegressor", "SVMClassifier", "SVMRegressor"), REFERENCE,
           "scores are float32 whatever the input is; the evaluator gives the input's type (values "
           "are equal)", domain=DOMAIN)
def _type_of_the_input(case, ours, theirs):
    return case.inputs[0].dtype != np.float32 and same_as_float(case, ours, theirs)


@explained(("LinearRegressor", "SVMClassifier", "SVMRegressor"), REFERENCE,
           "scores are float32 whatever the input is; the evaluator gives integers for integers, "
           "without the fractions", domain=DOMAIN)
def _integer_scores(case, ours, theirs):
    return case.inputs[0].dtype.kind == "i" and theirs[-1].dtype.kind == "i"


@explained(("LinearRegressor", "SVMRegressor"), ORT,
           "post_transform is applied to the scores, one or many; ONNX Runtime leaves a single score "
           "as it is, except for PROBIT", domain=DOMAIN)
def _single_score(case, ours, theirs):
    return (ours[0].shape[1] == 1 and case.attributes.get("post_transform", "NONE")
            in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"))


@explained("LinearClassifier", REFERENCE,
           "how one row of coefficients gives the scores of two classes is not said; the evaluator has "
           "-s and s, ONNX Runtime 1 - s and s for all but LOGISTIC, and Sardonyx does as ONNX Runtime "
           "does, for which such models are made", domain=DOMAIN)
def _scores_of_two_classes(case, ours, theirs):
    return len(case.attributes["intercepts"]) == 1 and ours[1].shape[-1] == 2


@explained("LinearClassifier", REFERENCE,
           "labels without an element are strings all the same; numpy makes float64 of an empty list",
           domain=DOMAIN)
def _no_labels(case, ours, theirs):
    return case.inputs[0].shape[0] == 0 and "classlabels_strings" in case.attributes


@explained("LinearRegressor", REFERENCE,
           "intercepts are optional; without them the evaluator adds NaN", domain=DOMAIN)
def _adds_nan(case, ours, theirs):
    return "intercepts" not in case.attributes


@explained("LinearRegressor", REFERENCE,
           "a vector is one example, which has a row of results; the evaluator gives a vector",
           domain=DOMAIN)
def _vector_in_vector_out(case, ours, theirs):
    return case.inputs[0].ndim == 1 and theirs[0].ndim == 1


@explained(("LinearClassifier", "LinearRegressor"), ORT,
           "PROBIT is computed by ONNX Runtime in float32, where the terms of the formula cancel for "
           "scores near 1/2 (results agree to a thousandth)", domain=DOMAIN,
           shown_by={"LinearRegressor": 160})
def _cancels(case, ours, theirs):
    return (case.attributes.get("post_transform") == "PROBIT"
            and np.allclose(ours[-1], theirs[-1], rtol=1e-3, atol=1e-3))


@explained("LinearClassifier", REFERENCE,
           "PROBIT is computed by the evaluator in float32, where the terms of the formula cancel for "
           "scores near 1/2 (results agree to a thousandth)", domain=DOMAIN)
def _cancels_here_too(case, ours, theirs):
    return _cancels(case, ours, theirs)


@explained("SVMClassifier", ORT,
           "the label is that of the class with the largest score; for linear models of two classes "
           "ONNX Runtime takes the second class as soon as any score is positive", domain=DOMAIN)
def _second_class(case, ours, theirs):
    return "vectors_per_class" not in case.attributes and ours[1].shape[-1] == 2


@explained("SVMClassifier", REFERENCE,
           "the evaluator answers 1 where it has a single rho and more than two classes, which need "
           "not be among the labels", domain=DOMAIN)
def _label_one(case, ours, theirs):
    return ("vectors_per_class" not in case.attributes and ours[1].shape[-1] > 2
            and set(theirs[0].tolist()) <= {0, 1})


@explained("SVMClassifier", REFERENCE,
           "probabilities of more than two classes are coupled by the method of Wu, Lin and Weng; the "
           "evaluator fills the matrix of that method with an inner product in place of single "
           "products, so that its iteration ends elsewhere", domain=DOMAIN)
def _couples_wrongly(case, ours, theirs):
    return "prob_a" in case.attributes and len(case.attributes["vectors_per_class"]) > 2


def _one_score(case):
    """Two classes told apart by one score, without probabilities."""
    return len(case.attributes.get("vectors_per_class", [])) == 2 and "prob_a" not in case.attributes


@explained("SVMClassifier", REFERENCE,
           "the vote decides between two classes; the evaluator always answers the second one if no "
           "coefficient is negative", domain=DOMAIN, shown_by=221)
def _always_the_second(case, ours, theirs):
    names = next(v for k, v in case.attributes.items() if k.startswith("classlabels_"))
    return (_one_score(case) and min(case.attributes["coefficients"]) >= 0
            and all(label == names[1] for label in theirs[0]))


@explained("SVMClassifier", REFERENCE,
           "how one score gives the scores of two classes, and what a transform makes of them, is not "
           "said; the evaluator transforms -s and s, ONNX Runtime has 1 - s and s for SOFTMAX and "
           "SOFTMAX_ZERO, and Sardonyx does as ONNX Runtime does, for which such models are made",
           domain=DOMAIN, shown_by=225)
def _scores_of_one(case, ours, theirs):
    return _one_score(case) and case.attributes.get("post_transform") in ("SOFTMAX", "SOFTMAX_ZERO")
