"""ai.onnx.ml: operators that prepare features, and those on maps."""
import numpy as np
from onnx import helper, numpy_helper

from case import Case, _tensor, dtype_of, generator, onnx_dtype
from compare import difference
from explained import ORT, REFERENCE, explained

DOMAIN = "ai.onnx.ml"
WORDS = ["", "a", "b", "abc", "Zeta", "éa", "x y", "日本"]


def ml_dtype(random, schema, parameter):
    """A type of the parameter; none is rarer than another."""
    return dtype_of(random.choice([t for c in schema.type_constraints
                                   if c.type_param_str == parameter for t in c.allowed_type_strs]))


def table(random, dtype, rank=None, special=0.0, empty=0.03):
    """Features, mostly [N, C]."""
    rank = rank or (2 if random.chance(0.7) else random.integer(1, 3))
    return random.array(dtype, random.shape(rank, rank, empty=empty), special=special)


def distinct(random, values, count):
    order = random.permutation(len(values))[:count]
    return [values[i] for i in order]


def same_as_float(case, ours, theirs):
    """Whether results are equal once they have the type that the schema gives the output."""
    last = theirs[-1]
    return (last.dtype != np.float32 and ours[-1].dtype == np.float32
            and difference(ours, [*theirs[:-1], last.astype(np.float32)], case) is None)


@generator("ArrayFeatureExtractor", domain=DOMAIN)
def array_feature_extractor(random, schema):
    x = table(random, ml_dtype(random, schema, "T"), empty=0)
    picked = random.rng.integers(0, x.shape[-1], random.integer(1, 5))
    if random.chance(0.3):
        picked = picked.reshape(1, -1)
    return Case([x, picked])


@generator("Binarizer", domain=DOMAIN)
def binarizer(random, schema):
    x = random.array(ml_dtype(random, schema, "T"), random.shape(1, 4))
    attributes = {"threshold": random.choice([random.uniform(-2, 2), 0.5, 2.0, -1.0])}
    return Case([x], attributes if random.chance(0.8) else {})


@generator("CategoryMapper", domain=DOMAIN)
def category_mapper(random, schema):
    count = random.integer(1, 6)
    strings, numbers = distinct(random, WORDS, count), distinct(random, range(-3, 6), count)
    attributes = {"cats_strings": strings, "cats_int64s": numbers}
    if random.chance():
        if random.chance():
            attributes["default_int64"] = random.integer(-9, 9)
        return Case([random.array(object, random.shape())], attributes)
    if random.chance():
        attributes["default_string"] = random.choice(["", "none", "ß"])
    return Case([random.array(np.int64, random.shape(), -4, 7)], attributes)


@generator("FeatureVectorizer", domain=DOMAIN)
def feature_vectorizer(random, schema):
    dtype = ml_dtype(random, schema, "T1")
    rows = random.size()
    flat = random.chance(0.2)
    sizes = [random.integer(1, 4) for _ in range(random.integer(1, 4))]
    inputs = [random.array(dtype, (c,) if flat else (rows, c)) for c in sizes]
    return Case(inputs, {"inputdimensions": sizes})


@explained(("FeatureVectorizer", "Normalizer"), REFERENCE,
           "the output is float32 whatever the input is; the evaluator keeps the input's type, or "
           "takes the one that numpy's division gives (values are equal)", domain=DOMAIN)
def _keeps_the_type(case, ours, theirs):
    return case.inputs[0].dtype != np.float32 and same_as_float(case, ours, theirs)


@explained("FeatureVectorizer", REFERENCE,
           "a vector is a row, [1, C]; the evaluator makes a column of it", domain=DOMAIN)
def _makes_columns(case, ours, theirs):
    return case.inputs[0].ndim == 1


@generator("Imputer", domain=DOMAIN)
def imputer(random, schema):
    dtype = ml_dtype(random, schema, "T")
    x = table(random, dtype, 2 if random.chance(0.8) else None, empty=0)
    count = random.choice([1, x.shape[-1]])
    if dtype.kind == "i":
        missing = random.integer(-3, 3)
        x = np.where(random.rng.random(x.shape) < 0.3, missing, x).astype(dtype)
        return Case([x], {"imputed_value_int64s": [random.integer(-9, 9) for _ in range(count)],
                          "replaced_value_int64": missing})
    missing = random.choice([float("nan"), 0.0, -1.0, random.uniform(-2, 2)])
    x = np.where(random.rng.random(x.shape) < 0.3, missing, x).astype(dtype)
    attributes = {"imputed_value_floats": [random.uniform(-9, 9) for _ in range(count)]}
    if missing != 0.0 or random.chance():
        attributes["replaced_value_float"] = missing
    return Case([x], attributes)


@explained("Imputer", ORT,
           "values belong to the last axis, [*, F]; ONNX Runtime reckons with the second",
           domain=DOMAIN)
def _second_axis(case, ours, theirs):
    return case.inputs[0].ndim > 2 and len(case.attributes.get("imputed_value_floats", [])) > 1


@generator("Normalizer", domain=DOMAIN)
def normalizer(random, schema):
    x = table(random, ml_dtype(random, schema, "T"), random.choice([1, 2, 2, 2]))
    if random.chance(0.3) and x.size:
        x[..., :] = np.where(random.rng.random(x.shape[:-1] + (1,)) < 0.4, 0, x)  # rows of zeros
    attributes = {"norm": random.choice(["MAX", "L1", "L2"])} if random.chance(0.8) else {}
    return Case([x], attributes)


@explained("Normalizer", REFERENCE,
           "MAX divides by the largest value of the row, X / max(X); the evaluator divides by the "
           "largest magnitude", domain=DOMAIN)
def _largest_magnitude(case, ours, theirs):
    return case.attributes.get("norm", "MAX") == "MAX" and bool((case.inputs[0] < 0).any())


@generator("OneHotEncoder", domain=DOMAIN)
def one_hot_encoder(random, schema):
    dtype = ml_dtype(random, schema, "T")
    attributes = {}
    if dtype == object:
        cats = attributes["cats_strings"] = distinct(random, WORDS, random.integer(1, 6))
    else:
        cats = attributes["cats_int64s"] = distinct(random, range(-3, 6), random.integer(1, 6))
    strict = random.chance(0.2)
    if strict:
        attributes["zeros"] = 0
    elif random.chance():
        attributes["zeros"] = 1
    shape = random.shape(1, 3)
    if strict or random.chance():
        flat = [random.choice(cats) for _ in range(int(np.prod(shape, dtype=int)))]
        return Case([np.array(flat, dtype=dtype).reshape(shape)], attributes)
    return Case([random.array(dtype, shape, -5, 7)], attributes)


@explained("OneHotEncoder", REFERENCE,
           "floating-point input is cast to integers for the look-up; the evaluator compares it as it "
           "is and finds whole numbers alone", domain=DOMAIN)
def _no_cast(case, ours, theirs):
    return case.inputs[0].dtype.kind == "f" and bool((case.inputs[0] % 1 != 0).any())


@generator("Scaler", domain=DOMAIN)
def scaler(random, schema):
    x = table(random, ml_dtype(random, schema, "T"), random.choice([1, 2, 2, 2]))
    count = random.choice([1, max(x.shape[-1], 1)])
    return Case([x], {"offset": [random.uniform(-3, 3) for _ in range(count)],
                      "scale": [random.uniform(-3, 3) for _ in range(count)]})


@explained("Scaler", REFERENCE,
           "the output is float32 whatever the input is; the evaluator casts it to the input's type, "
           "so that fractions are cut off for integers", domain=DOMAIN)
def _casts_back(case, ours, theirs):
    return (case.inputs[0].dtype != np.float32 and theirs[0].dtype == case.inputs[0].dtype
            and np.allclose(ours[0], theirs[0], rtol=1e-6, atol=1.0 if theirs[0].dtype.kind == "i"
                            else 1e-5))


# ---- LabelEncoder -----------------------------------------------------------------------------

KINDS = {np.dtype(object): "string", np.dtype(np.int64): "int64", np.dtype(np.float32): "float"}


def _labels(random, dtype, count, unique):
    if dtype == object:
        values = WORDS
    elif dtype.kind == "i":
        values = list(range(-4, 6))
    else:
        values = [-1.5, 0.0, 0.25, 1.0, 2.5, 3.0, float("nan"), 7.0]
    return distinct(random, values, count) if unique else [random.choice(values)
                                                           for _ in range(count)]


def _given(dtype, values, name, as_tensor):
    """An attribute keys_* or values_*."""
    if as_tensor:
        return {f"{name}_tensor": _tensor(name, np.array(values, dtype=dtype))}
    return {f"{name}_{KINDS[dtype]}s": values}


@generator("LabelEncoder", domain=DOMAIN)
def label_encoder(random, schema):
    if schema.since_version == 1:
        classes = distinct(random, WORDS, random.integer(1, 6))
        attributes = {"classes_strings": classes}
        if random.chance():
            if random.chance():
                attributes["default_int64"] = random.integer(-9, 9)
            return Case([random.array(object, random.shape(1))], attributes)
        if random.chance():
            attributes["default_string"] = "none"
        return Case([random.array(np.int64, random.shape(1), -2, 7)], attributes)
    key, value = (random.choice(KINDS) if random.chance(0.8) else ml_dtype(random, schema, t)
                  for t in ("T1", "T2"))
    count = random.integer(1, 6)
    # A key that is given twice: version 4 says that the last one counts, earlier ones say nothing.
    keys = _labels(random, key, count, schema.since_version < 4 or random.chance(0.8))
    values = _labels(random, value, count, False)
    attributes = {**_given(key, keys, "keys", key not in KINDS or _may_be_tensor(random, schema)),
                  **_given(value, values, "values",
                           value not in KINDS or _may_be_tensor(random, schema))}
    if random.chance():
        default = _labels(random, value, 1, True)
        if "values_tensor" in attributes:
            attributes["default_tensor"] = _tensor("default", np.array(default, dtype=value))
        else:
            attributes[f"default_{KINDS[value]}"] = default[0]
    shape = random.shape(1)
    pool = keys + _labels(random, key, 3, True)
    flat = [random.choice(pool) for _ in range(int(np.prod(shape, dtype=int)))]
    return Case([np.array(flat, dtype=key).reshape(shape)], attributes)


@explained("LabelEncoder", REFERENCE,
           "a key NaN is found by an input NaN (version 2: keys are compared by their bits; version 4 "
           "says so); the evaluator looks up in a Python dict, where NaN equals nothing",
           domain=DOMAIN)
def _nan_is_not_found(case, ours, theirs):
    return case.inputs[0].dtype.kind == "f" and bool(np.isnan(case.inputs[0]).any())


@explained("LabelEncoder", ORT,
           "in version 2 keys are compared by their bits, so that NaN is found; ONNX Runtime does so "
           "from version 4 on", domain=DOMAIN)
def _nan_is_not_found_in_version_2(case, ours, theirs):
    return (case.version == 2 and case.inputs[0].dtype.kind == "f"
            and bool(np.isnan(case.inputs[0]).any()))


@explained("LabelEncoder", ORT,
           "of a key that is given twice the last one counts; ONNX Runtime takes the first",
           domain=DOMAIN)
def _first_key_counts(case, ours, theirs):
    name = next(n for n in case.attributes if n.startswith("keys_"))
    keys = case.attributes[name]
    keys = numpy_helper.to_array(keys).tolist() if name == "keys_tensor" else keys
    return len(set(map(str, keys))) < len(keys)


def _may_be_tensor(random, schema):
    return schema.since_version >= 4 and random.chance(0.3)


# ---- maps -------------------------------------------------------------------------------------


def _map(random, key, value, keys):
    """A dict, and the type of the map that it is."""
    texts = ["-1", "2", "3.5", "1e2", "0"]
    entries = {}
    for k in keys:
        entries[k] = (random.choice(texts) if value == object else
                      np.dtype(value).type(random.integer(-9, 9) / 2))
    proto = helper.make_map_type_proto(onnx_dtype(key),
                                       helper.make_tensor_type_proto(onnx_dtype(value), []))
    return entries, proto


@generator("CastMap", domain=DOMAIN)
def cast_map(random, schema):
    # A map of strings cannot be handed to ONNX Runtime from Python.
    value = np.dtype(object if random.chance(0.07) else np.float32)
    target = random.choice(["TO_FLOAT", "TO_STRING", "TO_INT64"])
    sparse = random.chance()
    keys = distinct(random, range(0, 8), random.integer(1, 6))
    entries, proto = _map(random, np.int64, value, keys)
    if value == object and target == "TO_INT64":
        entries = {k: str(random.integer(-9, 9)) for k in entries}
    if value == np.float32 and target == "TO_STRING":
        # How a number is written is left open; of whole ones, at least the digits are sure.
        entries = {k: np.float32(random.integer(-9, 9)) for k in entries}
    attributes = {"cast_to": target} if target != "TO_FLOAT" or random.chance() else {}
    if sparse:
        attributes.update(map_form="SPARSE", max_map=random.integer(max(keys) + 1, 10))
    elif random.chance():
        attributes["map_form"] = "DENSE"
    return Case([entries], attributes, input_types=[proto])


@generator("DictVectorizer", domain=DOMAIN)
def dict_vectorizer(random, schema):
    key, value = random.choice([(object, np.int64), (np.int64, object), (np.int64, np.float32),
                                (np.int64, np.float64), (object, np.float32), (object, np.float64)])
    vocabulary = distinct(random, WORDS if key == object else range(-3, 9), random.integer(1, 8))
    entries, proto = _map(random, key, value, vocabulary[:random.integer(1, len(vocabulary))])
    order = random.permutation(len(vocabulary))
    name = "string_vocabulary" if key == object else "int64_vocabulary"
    return Case([entries], {name: [vocabulary[i] for i in order]}, input_types=[proto])


@explained("DictVectorizer", REFERENCE,
           "the evaluator gives a vector, as the text of the schema has it; ONNX Runtime, and the "
           "shapes that skl2onnx declares in its models, have one row [1, C] for a dictionary, and so "
           "has Sardonyx. The evaluator also fills up with the integer 0, which changes the type of "
           "numpy's array. What the dictionary holds is where it should be in both", domain=DOMAIN)
def _vector_or_row(case, ours, theirs):
    entries = case.inputs[0]
    (words,) = case.attributes.values()
    row = ours[0]
    wanted = np.array([[entries.get(w, "" if row.dtype == object else 0) for w in words]], row.dtype)
    found = [i for i, w in enumerate(words) if w in entries]
    return (np.array_equal(row, wanted) and theirs[0].shape == wanted.shape[1:]
            and all(str(theirs[0][i]) == str(row[0][i]) or theirs[0][i] == row[0][i] for i in found))


@generator("ZipMap", domain=DOMAIN)
def zip_map(random, schema):
    x = random.array(np.float32, (random.integer(1, 4), random.integer(1, 5)))
    if random.chance(0.2):
        x = x[0]
    count = x.shape[-1]
    if random.chance():
        return Case([x], {"classlabels_strings": distinct(random, WORDS, count)})
    return Case([x], {"classlabels_int64s": distinct(random, range(-3, 9), count)})
