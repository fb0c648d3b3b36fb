"""ai.onnx.ml: ensembles of trees."""
import dataclasses

import numpy as np
from onnx import numpy_helper

from case import Case, generator
from explained import ORT, REFERENCE, explained
from families.ml_features import DOMAIN, ml_dtype, same_as_float
from families.ml_linear import TRANSFORMS, labels, transform

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
MEMBER = 6


@dataclasses.dataclass
class Node:
    """A node with both its children, or a leaf."""
    mode: int = 0
    feature: int = 0
    split: float = 0.0
    missing: int = 0
    true: "Node | None" = None
    false: "Node | None" = None
    members: list = dataclasses.field(default_factory=list)
    weights: list = dataclasses.field(default_factory=list)  # (target, weight) of a leaf

    @property
    def leaf(self):
        return self.true is None


def _tree(random, features, modes, leaf, depth):
    if depth == 0 or random.chance(0.15):
        return Node(weights=leaf())
    node = Node(mode=random.choice(modes), feature=random.integer(0, features - 1),
                # Halves, as the features are, so that equality happens; exact in every type.
                split=random.integer(-4, 4) / 2, missing=random.integer(0, 1))
    if node.mode == MEMBER:
        node.members = sorted({random.integer(-4, 4) / 2 for _ in range(random.integer(1, 4))})
    node.true = _tree(random, features, modes, leaf, depth - 1)
    node.false = _tree(random, features, modes, leaf, depth - 1)
    return node


def _walk(node):
    """Parents before their children."""
    yield node
    if not node.leaf:
        yield from _walk(node.true)
        yield from _walk(node.false)


def _features(random, dtype, columns, missing):
    x = random.array(np.int64, (random.integer(1, 6), columns), -5, 5)
    if dtype.kind == "i":
        return x.astype(dtype)
    x = (x / 2).astype(dtype)
    if missing:
        x[random.rng.random(x.shape) < 0.15] = np.nan
    return x


def _weight(random, unit, trees):
    """A leaf's weight: sums are between 0 and 1 if asked for."""
    return random.uniform(0.05, 0.9 / trees) if unit else random.uniform(-2, 2)


def _old_nodes(random, trees, double):
    """Attributes nodes_* of versions 1 and 3, and for each leaf its tree, number and weights."""
    names = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
             "missing_value_tracks_true")
    columns = {n: [] for n in names}
    leaves = []
    for tree, root in enumerate(trees):
        nodes = list(_walk(root))
        number = {id(node): i for i, node in enumerate(nodes)}
        for i, node in enumerate(nodes):
            row = (tree, i, node.feature, "LEAF" if node.leaf else MODES[node.mode], node.split,
                   0 if node.leaf else number[id(node.true)],
                   0 if node.leaf else number[id(node.false)], node.missing)
            for name, value in zip(names, row):
                columns[name].append(value)
            if node.leaf:
                leaves += [(tree, i, target, weight) for target, weight in node.weights]
    if random.chance(0.3) and not any(columns["missing_value_tracks_true"]):
        del columns["missing_value_tracks_true"]
    attributes = {f"nodes_{n}": v for n, v in columns.items()}
    if random.chance(0.3):
        attributes["nodes_hitrates"] = [1.0] * len(columns["values"])
    if double:
        as_tensor(attributes, "nodes_values")
    return attributes, leaves


def as_tensor(attributes, name, dtype=np.float64):
    attributes[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(attributes.pop(name), dtype))


def _ensemble(random, leaf, most=4, modes=None):
    features = random.integer(1, 4)
    if modes is None:
        # Trees of one kind of node are the common ones, and have code of their own in engines.
        modes = [random.integer(0, 5)] if random.chance(0.6) else list(range(6))
    depth = random.integer(0, 4)
    return features, [_tree(random, features, modes, leaf, depth)
                      for _ in range(random.integer(1, most))]


@generator("TreeEnsembleRegressor", domain=DOMAIN)
def tree_ensemble_regressor(random, schema):
    # ONNX Runtime has float32 and float64 here.
    dtype = (np.dtype(random.choice([np.float32, np.float64])) if random.chance(0.85)
             else ml_dtype(random, schema, "T"))
    double = schema.since_version >= 3 and dtype == np.float64
    targets = random.choice([1, 1, 2, 3])
    attributes = {}
    unit = transform(random, attributes, ["NONE"] if random.chance(0.7) else TRANSFORMS)
    some = targets == 1 or random.chance()

    def leaf():
        # All targets in every leaf, or some of them: what MIN and MAX make of a target without any
        # weight is not said.
        chosen = range(targets) if not some or targets == 1 else random.permutation(targets)[:1]
        return [(t, _weight(random, unit, 4)) for t in chosen]
    features, trees = _ensemble(random, leaf)
    nodes, leaves = _old_nodes(random, trees, double)
    attributes.update(nodes, n_targets=targets, target_treeids=[r[0] for r in leaves],
                      target_nodeids=[r[1] for r in leaves], target_ids=[r[2] for r in leaves],
                      target_weights=[r[3] for r in leaves])
    if not some or targets == 1:
        aggregate = random.choice(["SUM", "SUM", "AVERAGE", "MIN", "MAX"])
    else:
        aggregate = random.choice(["SUM", "AVERAGE"])
    if aggregate != "SUM" or random.chance():
        attributes["aggregate_function"] = aggregate
    if random.chance(0.4) and not unit:
        attributes["base_values"] = [random.uniform(-2, 2) for _ in range(targets)]
    if double:
        for name in ("target_weights", "base_values", "nodes_hitrates"):
            if name in attributes:
                as_tensor(attributes, name)
    return Case([_features(random, dtype, features, random.chance(0.4))], attributes)


@explained("TreeEnsembleRegressor", REFERENCE,
           "the output is float32 whatever the input is; the evaluator gives the input's type",
           domain=DOMAIN)
def _type_of_the_input(case, ours, theirs):
    return (case.inputs[0].dtype.kind == "i" and theirs[0].dtype.kind == "i"
            or case.inputs[0].dtype == np.float64 and same_as_float(case, ours, theirs))


@explained("TreeEnsembleRegressor", ORT,
           "base_values are added to the prediction, which is 0 for a target that no leaf has a weight "
           "for; ONNX Runtime leaves them out for such a target", domain=DOMAIN)
def _no_weight_no_base(case, ours, theirs):
    given = {"base_values", "base_values_as_tensor"} & set(case.attributes)
    leaves = case.attributes["nodes_modes"].count("LEAF")
    return bool(given) and len(case.attributes["target_ids"]) < leaves * case.attributes["n_targets"]


@generator("TreeEnsembleClassifier", domain=DOMAIN)
def tree_ensemble_classifier(random, schema):
    dtype = ml_dtype(random, schema, "T1")
    double = schema.since_version >= 3 and dtype == np.float64
    classes = random.choice([2, 2, 3, 4])
    attributes = {}
    unit = transform(random, attributes, ["NONE"] if random.chance(0.5) else TRANSFORMS)
    # The scores of one class tell the other's. What PROBIT makes of them is not said.
    single = classes == 2 and not unit and random.chance()

    def leaf():
        return [(t, _weight(random, unit or single, 4)) for t in ([0] if single else range(classes))]
    features, trees = _ensemble(random, leaf)
    nodes, leaves = _old_nodes(random, trees, double)
    labels(random, attributes, classes, "classlabels_int64s")
    attributes.update(nodes, class_treeids=[r[0] for r in leaves],
                      class_nodeids=[r[1] for r in leaves], class_ids=[r[2] for r in leaves],
                      class_weights=[r[3] for r in leaves])
    if random.chance(0.3) and not unit:
        attributes["base_values"] = [random.uniform(-2, 2)
                                     for _ in range(random.choice([1, 2]) if single else classes)]
    if double:
        for name in ("class_weights", "base_values", "nodes_hitrates"):
            if name in attributes:
                as_tensor(attributes, name)
    return Case([_features(random, dtype, features, random.chance(0.4))], attributes, outputs=2)


def _both_of_two(case):
    ids = case.attributes["class_ids"]
    count = max(len(case.attributes.get(n, ())) for n in ("classlabels_strings", "classlabels_int64s"))
    return count == 2 and (len(set(ids)) == 2 or _base_count(case) == 2)


def _base_count(case):
    tensor = case.attributes.get("base_values_as_tensor")
    return tensor.dims[0] if tensor else len(case.attributes.get("base_values", []))


def _compares_nan(case):
    """Whether a node of mode NEQ can meet a NaN that it does not track."""
    modes = case.attributes["nodes_modes"]
    modes = numpy_helper.to_array(modes).tolist() if not isinstance(modes, list) else [
        MODES.index(m) if m in MODES else -1 for m in modes]
    tracks = case.attributes.get("nodes_missing_value_tracks_true", [0] * len(modes))
    return (case.inputs[0].dtype.kind == "f" and bool(np.isnan(case.inputs[0]).any())
            and any(m == 5 and not t for m, t in zip(modes, tracks)))


@explained(("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"), ORT,
           "NaN takes the branch that nodes_missing_value_tracks_true says, the false one by default; "
           "ONNX Runtime compares it first, and NaN differs from every threshold of BRANCH_NEQ",
           domain=DOMAIN)
def _nan_differs(case, ours, theirs):
    return _compares_nan(case)


@explained("TreeEnsemble", REFERENCE,
           "NaN takes the branch that nodes_missing_value_tracks_true says, the false one by default; "
           "the evaluator compares it first, and NaN differs from every threshold of BRANCH_NEQ",
           domain=DOMAIN)
def _nan_differs_here_too(case, ours, theirs):
    return _compares_nan(case)


@explained("TreeEnsembleClassifier", ORT,
           "where the leaves, or base_values, speak of both of two classes, each class has its own "
           "score and the larger one wins, as with more classes; ONNX Runtime lets the second class "
           "win as soon as its score is positive, answers 1 or 0 in place of the label, and with "
           "base_values derives both scores from one", domain=DOMAIN)
def _two_classes(case, ours, theirs):
    return _both_of_two(case)


@explained("TreeEnsembleClassifier", REFERENCE,
           "how weights of one class give the scores of two is not said; the evaluator goes by its own "
           "rule, ONNX Runtime tells by the signs of the weights whether they are probabilities, and "
           "Sardonyx does as ONNX Runtime does, for which such models are made", domain=DOMAIN)
def _one_of_two_classes(case, ours, theirs):
    return len(set(case.attributes["class_ids"])) == 1


@explained(("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble"), ORT,
           "PROBIT is computed by ONNX Runtime in float32, where the terms of the formula cancel for "
           "scores near 1/2 (results agree to a thousandth)", domain=DOMAIN)
def _cancels(case, ours, theirs):
    return (case.attributes.get("post_transform") in ("PROBIT", 4)
            and np.allclose(ours[-1], theirs[-1], rtol=1e-3, atol=1e-3))


@explained("TreeEnsemble", ORT,
           "scores of float64 trees are transformed in float64; ONNX Runtime does so in float32",
           domain=DOMAIN)
def _transforms_in_float(case, ours, theirs):
    return (case.inputs[0].dtype == np.float64 and case.attributes.get("post_transform") == 3
            and np.allclose(ours[0], theirs[0], rtol=1e-6, atol=1e-6))


@explained(("TreeEnsembleRegressor", "TreeEnsemble"), ORT,
           "post_transform is applied to the scores, one or many; ONNX Runtime leaves a single score "
           "as it is, except for PROBIT", domain=DOMAIN)
def _single_score(case, ours, theirs):
    return case.attributes["n_targets"] == 1 and case.attributes.get("post_transform", "NONE") in (
        "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", 1, 2, 3)


def _new_nodes(trees, dtype):
    """Attributes of version 5: nodes and leaves in lists of their own."""
    inner, leaves, roots, place = [], [], [], {}
    for root in trees:
        nodes = list(_walk(root))
        roots.append(len(inner))
        if root.leaf:  # a tree of one leaf is a node, both of whose branches lead there
            place[id(root)] = len(leaves)
            leaves.append(root)
            inner.append(Node(true=root, false=root))
            continue
        for node in nodes:
            (leaves if node.leaf else inner).append(node)
            place[id(node)] = len(leaves if node.leaf else inner) - 1
    members = [v for n in inner if n.mode == MEMBER for v in [*n.members, np.nan]]
    attributes = {
        "tree_roots": roots,
        "nodes_featureids": [n.feature for n in inner],
        "nodes_modes": numpy_helper.from_array(np.array([n.mode for n in inner], np.uint8)),
        "nodes_splits": numpy_helper.from_array(np.array([n.split for n in inner], dtype)),
        "nodes_truenodeids": [place[id(n.true)] for n in inner],
        "nodes_falsenodeids": [place[id(n.false)] for n in inner],
        "nodes_trueleafs": [int(n.true.leaf) for n in inner],
        "nodes_falseleafs": [int(n.false.leaf) for n in inner],
        "nodes_missing_value_tracks_true": [n.missing for n in inner],
        "leaf_targetids": [n.weights[0][0] for n in leaves],
        "leaf_weights": numpy_helper.from_array(np.array([n.weights[0][1] for n in leaves], dtype)),
    }
    if members:
        attributes["membership_values"] = numpy_helper.from_array(np.array(members, dtype))
    return attributes


@generator("TreeEnsemble", domain=DOMAIN)
def tree_ensemble(random, schema):
    # ONNX Runtime has no float16 here, so that it is drawn less often.
    dtype = np.dtype(random.choice([np.float32, np.float64]) if random.chance(0.85) else np.float16)
    chosen = random.choice(range(5)) if random.chance(0.4) else 0
    unit = TRANSFORMS[chosen] == "PROBIT"
    targets = random.choice([1, 1, 2, 3])

    def leaf():
        return [(random.integer(0, targets - 1), _weight(random, unit, 4))]
    modes = [random.integer(0, MEMBER)] if random.chance() else list(range(MEMBER + 1))
    features, trees = _ensemble(random, leaf, modes=modes)
    attributes = {"n_targets": targets, **_new_nodes(trees, dtype)}
    # What MIN and MAX make of a target without any weight is not said.
    aggregate = random.choice([0, 1, 1, 2, 3] if targets == 1 else [0, 1])
    if aggregate != 1 or random.chance():
        attributes["aggregate_function"] = aggregate
    if chosen or random.chance():
        attributes["post_transform"] = chosen
    if unit and targets > 1:
        # A target without any weight has the score 0, which PROBIT maps to minus infinity.
        del attributes["post_transform"]
    return Case([_features(random, dtype, features, random.chance(0.4))], attributes)


@explained("TreeEnsemble", ORT,
           "post_transform 1 is SOFTMAX and 2 is LOGISTIC; ONNX Runtime takes them for one another",
           domain=DOMAIN)
def _softmax_for_logistic(case, ours, theirs):
    return case.attributes.get("post_transform") in (1, 2)


@explained("TreeEnsemble", REFERENCE, "the evaluator ignores post_transform", domain=DOMAIN)
def _no_transform(case, ours, theirs):
    return case.attributes.get("post_transform", 0) != 0


@explained("TreeEnsemble", REFERENCE,
           "a tree of one leaf is a node, both of whose branches lead to the same leaf; the evaluator "
           "takes the leaf with the number of the node", domain=DOMAIN)
def _leaf_of_the_node(case, ours, theirs):
    a = case.attributes
    return any(a["nodes_trueleafs"][r] and a["nodes_falseleafs"][r]
               and a["nodes_truenodeids"][r] == a["nodes_falsenodeids"][r] != r
               for r in a["tree_roots"])


@explained("TreeEnsemble", REFERENCE,
           "sets of membership_values end with NaN; the evaluator ends them at a member 0 as well",
           domain=DOMAIN)
def _ends_at_zero(case, ours, theirs):
    members = case.attributes.get("membership_values")
    return members is not None and 0.0 in numpy_helper.to_array(members)


@explained("TreeEnsemble", ORT,
           "BRANCH_MEMBER asks whether the feature is a member of the set; ONNX Runtime cuts off the "
           "fraction of the feature first, so that -2.5 passes for -2", domain=DOMAIN,
           shown_by=262)
def _member_without_fraction(case, ours, theirs):
    members = case.attributes.get("membership_values")
    x = case.inputs[0][np.isfinite(case.inputs[0])]
    return members is not None and bool(
        np.isin(np.trunc(x[x != np.trunc(x)]), numpy_helper.to_array(members)).any())
