"""Losses over classes, and Dropout."""
import numpy as np

from case import FLOATS, Case, generator
from explained import REFERENCE, explained


def _classification(random, schema, classes):
    """Scores of classes, the class that each is to have, and weights; with at least one element
    that counts, since the mean of nothing is left open."""
    batch, axes = random.integer(1, 4), random.integer(0, 3)
    shape = (batch, classes, *(random.integer(1, 3) for _ in range(axes)))
    dtype, index = random.dtype(schema, "T"), random.dtype(schema, "Tind")
    target = random.array(index, (shape[0], *shape[2:]), 0, classes - 1)
    attributes = {}
    if random.chance(0.4):
        attributes["ignore_index"] = random.choice((-1, -100, 0, classes - 1, classes + 3))
        target = np.where(random.rng.random(target.shape) < 0.3, attributes["ignore_index"], target)
        target = target.astype(index)
        kept = 1 if attributes["ignore_index"] == 0 else 0
        target.flat[0] = kept
    if random.chance(0.7):
        attributes["reduction"] = random.choice(("none", "sum", "mean"))
    weights = random.array(dtype, (classes,), 0.1, 2) if random.chance(0.5) else None
    return random.array(dtype, shape), target, weights, attributes


@generator("NegativeLogLikelihoodLoss")
def negative_log_likelihood(random, schema):
    scores, target, weights, attributes = _classification(random, schema, random.integer(2, 5))
    # A mean of up to 108 products, of both signs.
    return Case([scores, target, weights], attributes, scale=3.0)


@generator("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(random, schema):
    scores, target, weights, attributes = _classification(random, schema, random.integer(2, 5))
    return Case([scores, target, weights], attributes, outputs=random.integer(1, 2), scale=3.0)


@generator("Dropout", prefer=(7, 10, 12, 13, 22, 22))
def dropout(random, schema):
    version, attributes, drawn = schema.since_version, {}, False
    dtype = random.dtype(schema, "T", only=FLOATS if random.chance(0.9) else None)
    inputs = [random.array(dtype, random.shape())]
    outputs = random.integer(1, 2)
    if version < 12:
        if random.chance():
            attributes["ratio"] = random.uniform(0.1, 0.9)
        if version == 1 and random.chance(0.1):
            attributes["consumed_inputs"] = [0]
        if version <= 6:
            drawn = random.chance(0.1)
            if not drawn:
                attributes["is_test"] = 1
        # What the mask holds where nothing is dropped is said from version 12 on.
        return Case(inputs, attributes, outputs=outputs, drawn=drawn or outputs == 2)
    if random.chance(0.4):
        attributes["seed"] = random.integer(0, 100)
    ratio_type = random.dtype(schema, "T1", only=FLOATS)
    ratio = random.choice((0.0, 0.0, 0.25, 0.5, 0.75))
    inputs.append(np.array(ratio, dtype=ratio_type) if random.chance(0.7) else None)
    training = random.choice((None, True, False))
    inputs.append(None if training is None else np.array(training))
    drawn = bool(training) and (inputs[1] is None or ratio > 0)
    return Case(inputs, attributes, outputs=outputs, drawn=drawn)


@explained("Dropout", REFERENCE,
           "before version 10 the mask has the type of the data; the evaluator returns booleans")
def _mask_of_booleans(case, ours, theirs):
    return case.version < 10 and case.outputs == 2


@explained("Dropout", REFERENCE,
           "the output has the type of the data; the evaluator returns the type that data and ratio "
           "have in common")
def _type_of_ratio(case, ours, theirs):
    ratio = case.inputs[1] if len(case.inputs) > 1 else None
    return ratio is not None and ratio.dtype != case.inputs[0].dtype


@explained("NegativeLogLikelihoodLoss", REFERENCE,
           "the mean is over the elements that are not ignored; without weights the evaluator takes "
           "an ignore_index of -1 for none, and divides by all")
def _minus_one_for_none(case, ours, theirs):
    return (case.inputs[2] is None and case.attributes.get("ignore_index") == -1
            and case.attributes.get("reduction", "mean") == "mean")
