#!/usr/bin/env python3
"""Writes scikit-learn models, converted by skl2onnx, as folders for `sardonyx test`.

Each case is DIR/NAME with model.onnx, test_data_set_0/{input,output}_K.pb and tolerance.txt; what
is expected is what ONNX Runtime computes. Trees, forests, boosting, SVMs with every kernel, linear
models, scalers, encoders, imputers, pipelines; labels as numbers and strings, with ZipMap and
without. Needs scikit-learn, skl2onnx and onnxruntime; where one is missing, says so and leaves DIR
empty.

usage: tests/conformance/sklearn_models.py DIR
"""
import pathlib
import shutil
import sys
import warnings

try:
    import numpy as np
    import onnx
    import onnxruntime
    import skl2onnx
    import sklearn
    from onnx import numpy_helper
    from skl2onnx.common import data_types
except ImportError as missing:
    MISSING = missing.name
else:
    MISSING = None
    plain_make_attribute = onnx.helper.make_attribute
    NAMES = np.array(["ash", "beech", "cedar", "elm"], object)  # labels and words

TOLERANCE = "rtol 0.0001\natol 0.00001\n"


# ---- folders -------------------------------------------------------------------------------------

def map_message(entries):
    """A dict of scalars as MapProto; numpy_helper.from_dict takes no string keys."""
    message = onnx.MapProto()
    for key, value in entries.items():
        if isinstance(key, str):
            message.key_type = onnx.TensorProto.STRING
            message.string_keys.append(key.encode())
        else:
            message.key_type = onnx.TensorProto.INT64
            message.keys.append(int(key))
        message.values.tensor_values.append(numpy_helper.from_array(as_array(value)))
    message.values.elem_type = onnx.SequenceProto.TENSOR
    return message


def as_array(value):
    """Python's floats are those of a float32 that ONNX Runtime took out of a map."""
    if isinstance(value, float):
        return np.asarray(value, np.float32)
    return np.asarray(value, object if isinstance(value, str) else None)


def serialized(value):
    if isinstance(value, dict):
        message = map_message(value)
    elif isinstance(value, list):
        message = onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP)
        message.map_values.extend(map_message(entry) for entry in value)
    else:
        value = np.asarray(value)
        message = numpy_helper.from_array(value.astype(object) if value.dtype.kind == "U"
                                          else value)
    return message.SerializeToString()


def write_case(folder, model, feeds, tolerance=TOLERANCE):
    """Runs the model in ONNX Runtime and keeps it with its inputs and outputs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # the order of float32 sums
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    outputs = session.run(None, feeds)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    (folder / "tolerance.txt").write_text(tolerance)
    for k, info in enumerate(model.graph.input):
        (data / f"input_{k}.pb").write_bytes(serialized(feeds[info.name]))
    for k, value in enumerate(outputs):
        (data / f"output_{k}.pb").write_bytes(serialized(value))


def make_attribute(key, value, *rest, **more):
    """onnx.helper.make_attribute that takes lists of bool, which skl2onnx writes for the trees of
    histogram boosting and newer versions of protobuf refuse."""
    if isinstance(value, (list, np.ndarray)):
        value = [int(v) if isinstance(v, (bool, np.bool_)) else v for v in value]
    return plain_make_attribute(key, value, *rest, **more)


# ---- data ----------------------------------------------------------------------------------------

FEATURES = 6


def points(seed, rows=160):
    return np.random.default_rng(seed).normal(size=(rows, FEATURES)).astype(np.float32)


def classes(x, count):
    scores = x[:, :1] * np.arange(count) + np.sin(3 * x[:, 1:2] + np.arange(count)) + x[:, 2:3] ** 2
    return np.argmax(scores - 0.3 * np.arange(count) ** 2, axis=1)


def numbers(x, targets=1):
    y = np.stack([np.sin(x[:, t]) + x[:, t + 1] * x[:, t + 2] for t in range(targets)], axis=1)
    return y[:, 0] if targets == 1 else y


def tensor_type(array):
    kind = {"f4": data_types.FloatTensorType, "f8": data_types.DoubleTensorType,
            "i8": data_types.Int64TensorType, "i4": data_types.Int32TensorType}
    make = kind.get(array.dtype.str[1:], data_types.StringTensorType)
    return make([None, array.shape[1]])


# ---- models --------------------------------------------------------------------------------------

class Writer:
    def __init__(self, target):
        self.target = target
        self.count = 0
        self.refused = []  # what skl2onnx or ONNX Runtime could not do with these versions

    def write(self, name, model, x, **conversion):
        """Converts a fitted model; x, an array or a dict of columns, is what it is then given."""
        feeds = x if isinstance(x, dict) else {"x": x}
        types = [(key, tensor_type(value)) for key, value in feeds.items()]
        self.write_as(name, model, types, feeds, **conversion)

    def write_as(self, name, model, types, feeds, **conversion):
        try:
            proto = skl2onnx.to_onnx(model, initial_types=types, **conversion)
            write_case(self.target / name, proto, feeds)
            self.count += 1
        except Exception as reason:  # converters raise whatever they like
            self.refused.append(f"{name}: {type(reason).__name__}: {str(reason)[:100]}")

    def classifier(self, name, model, count, zipmaps=(True, False), **more_options):
        """Labels as numbers and as strings, each with ZipMap and without (None: no choice)."""
        x, test = points(1), points(2, 40)
        for kind, labels in (("int", 10 + classes(x, count)), ("text", NAMES[classes(x, count)])):
            fitted = model.fit(x, labels)
            for zipmap in zipmaps:
                options = {} if zipmap is None else {"zipmap": zipmap}
                self.write(f"{name}_{kind}{'_zipmap' if zipmap else ''}", fitted, test,
                           options={id(fitted): {**options, **more_options}})

    def regressor(self, name, model, targets=1, **conversion):
        x = points(3)
        self.write(name, model.fit(x, numbers(x, targets)), points(4, 40), **conversion)


def tree_models(out):
    from sklearn import ensemble, tree
    for count in (2, 3):
        for name, model in (
                ("tree", tree.DecisionTreeClassifier(max_depth=6, random_state=0)),
                ("forest", ensemble.RandomForestClassifier(17, max_depth=7, random_state=0)),
                ("extra", ensemble.ExtraTreesClassifier(11, random_state=0)),
                ("boosting", ensemble.GradientBoostingClassifier(n_estimators=9, random_state=0)),
                ("histogram", ensemble.HistGradientBoostingClassifier(max_iter=8)),
                ("bagging", ensemble.BaggingClassifier(n_estimators=5, random_state=0)),
                ("adaboost", ensemble.AdaBoostClassifier(n_estimators=7, random_state=0))):
            out.classifier(f"{name}_{count}", model, count)
    out.classifier("tree_raw", ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0),
                   2, zipmaps=(False,), raw_scores=True)
    for name, model in (
            ("tree_regressor", tree.DecisionTreeRegressor(max_depth=6, random_state=0)),
            ("forest_regressor", ensemble.RandomForestRegressor(19, random_state=0)),
            ("boosting_regressor", ensemble.GradientBoostingRegressor(random_state=0)),
            ("histogram_regressor", ensemble.HistGradientBoostingRegressor(max_iter=20)),
            ("adaboost_regressor", ensemble.AdaBoostRegressor(n_estimators=5, random_state=0)),
            ("isolation", ensemble.IsolationForest(n_estimators=8, random_state=0))):
        out.regressor(name, model, target_opset={"": 18, "ai.onnx.ml": 3})
    out.regressor("forest_two_targets", ensemble.RandomForestRegressor(9, random_state=0), 2)
    x, test = points(5), points(6, 40)
    test[::3, ::2] = np.nan
    out.write("histogram_missing", ensemble.HistGradientBoostingRegressor(max_iter=10).fit(
        np.where(x > 1, np.nan, x), numbers(x)), test)
    whole = (4 * x).astype(np.int64)
    out.write("tree_int64", tree.DecisionTreeClassifier(random_state=0).fit(
        whole, classes(x, 3)), whole, options={"zipmap": False})


def svm_models(out):
    from sklearn import svm
    for kernel in ("linear", "poly", "rbf", "sigmoid"):
        for count in (2, 4):
            for probability in (False, True):
                name = f"svc_{kernel}_{count}{'_proba' if probability else ''}"
                model = svm.SVC(kernel=kernel, probability=probability, random_state=0, coef0=0.5)
                out.classifier(name, model, count, zipmaps=(False,))
        out.regressor(f"svr_{kernel}", svm.SVR(kernel=kernel, degree=2, coef0=0.25))
        out.regressor(f"nusvr_{kernel}", svm.NuSVR(kernel=kernel, gamma=0.2))
        out.regressor(f"one_class_{kernel}", svm.OneClassSVM(kernel=kernel))
    out.classifier("svc_degree_5", svm.SVC(kernel="poly", degree=5, gamma=0.1), 3, (False,))
    out.classifier("nusvc", svm.NuSVC(nu=0.2), 3, (True,))
    for count in (2, 3):
        out.classifier(f"linear_svc_{count}", svm.LinearSVC(random_state=0), count, (None,))
    out.regressor("linear_svr", svm.LinearSVR(random_state=0, max_iter=10000))


def linear_models(out):
    from sklearn import discriminant_analysis, linear_model, multiclass, naive_bayes, neural_network
    for count in (2, 4):
        for name, model in (
                ("logistic", linear_model.LogisticRegression(max_iter=500)),
                ("one_rest", multiclass.OneVsRestClassifier(linear_model.LogisticRegression())),
                ("ridge", linear_model.RidgeClassifier()),
                ("sgd", linear_model.SGDClassifier(random_state=0)),
                ("sgd_log", linear_model.SGDClassifier(loss="log_loss", random_state=0)),
                ("perceptron", linear_model.Perceptron(random_state=0)),
                ("lda", discriminant_analysis.LinearDiscriminantAnalysis()),
                ("naive_bayes", naive_bayes.GaussianNB()),
                ("network", neural_network.MLPClassifier((8,), max_iter=50, random_state=0))):
            zipmaps = (False,) if name in ("ridge", "perceptron", "sgd") else (True, False)
            out.classifier(f"{name}_{count}", model, count, zipmaps)
    for name, model in (("least_squares", linear_model.LinearRegression()),
                        ("ridge_regressor", linear_model.Ridge()),
                        ("lasso", linear_model.Lasso(0.01)),
                        ("elastic", linear_model.ElasticNet(0.01)),
                        ("poisson", linear_model.PoissonRegressor())):
        x = points(7)
        y = np.abs(numbers(x)) if name == "poisson" else numbers(x)
        out.write(name, model.fit(x, y), points(8, 40))
    out.regressor("least_squares_two", linear_model.LinearRegression(), 2)


def transformers(out):
    from sklearn import preprocessing
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.impute import SimpleImputer
    x, test = points(9), points(10, 40)
    for name, model in (("standard", preprocessing.StandardScaler()),
                        ("min_max", preprocessing.MinMaxScaler()),
                        ("max_abs", preprocessing.MaxAbsScaler()),
                        ("robust", preprocessing.RobustScaler()),
                        ("binarizer", preprocessing.Binarizer(threshold=0.25)),
                        ("normalizer_l1", preprocessing.Normalizer("l1")),
                        ("normalizer_l2", preprocessing.Normalizer("l2")),
                        ("normalizer_max", preprocessing.Normalizer("max")),
                        ("polynomial", preprocessing.PolynomialFeatures(2)),
                        ("bins", preprocessing.KBinsDiscretizer(4, encode="ordinal"))):
        out.write(name, model.fit(x), np.abs(test) if name == "normalizer_max" else test)
    holes = np.where(np.random.default_rng(0).random(x.shape) < 0.2, np.nan, x).astype(np.float32)
    for strategy in ("mean", "median", "most_frequent", "constant"):
        model = SimpleImputer(strategy=strategy, fill_value=2.5)
        out.write(f"imputer_{strategy}", model.fit(holes), holes)
    words = NAMES[np.random.default_rng(1).integers(0, 4, (50, 2))]
    whole = np.random.default_rng(2).integers(0, 5, (50, 3))
    for name, table in (("text", words), ("int", whole)):
        one_hot = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        unknown = table.copy()
        unknown[0, 0] = "oak" if name == "text" else 99
        out.write(f"one_hot_{name}", one_hot.fit(table), unknown)
        out.write(f"ordinal_{name}", preprocessing.OrdinalEncoder().fit(table), table)
        out.write(f"label_{name}", preprocessing.LabelEncoder().fit(table[:, 0]), table[:, :1])
    entries = [{"ash": 1.0, "elm": 2.5}, {"beech": 3.0}, {"cedar": -1.0, "ash": 4.0}]
    for sparse in (True, False):
        model = DictVectorizer(sparse=sparse).fit(entries)
        types = [("x", data_types.DictionaryType(data_types.StringTensorType([1]),
                                                 data_types.FloatTensorType([1])))]
        out.write_as(f"dict_vectorizer{'_sparse' if sparse else ''}", model, types,
                     {"x": {"elm": 7.5, "ash": 2.0}})


def pipelines(out):
    from sklearn import compose, decomposition, ensemble, impute, linear_model, pipeline
    from sklearn import preprocessing, svm
    scaled = pipeline.make_pipeline
    for name, model in (
            ("pipeline_logistic", scaled(preprocessing.StandardScaler(),
                                         linear_model.LogisticRegression())),
            ("pipeline_svc", scaled(impute.SimpleImputer(), preprocessing.MinMaxScaler(),
                                    decomposition.PCA(3), svm.SVC(probability=True,
                                                                  random_state=0))),
            ("pipeline_vote", ensemble.VotingClassifier(
                [("a", linear_model.LogisticRegression()),
                 ("b", ensemble.RandomForestClassifier(7, random_state=0))],
                voting="soft", flatten_transform=False)),
            ("pipeline_stack", ensemble.StackingClassifier(
                [("a", linear_model.LogisticRegression()),
                 ("b", ensemble.RandomForestClassifier(5, random_state=0))]))):
        out.classifier(name, model, 3)
    rng = np.random.default_rng(3)
    rows = 80
    columns = {"size": rng.normal(size=(rows, 2)).astype(np.float32),
               "wood": NAMES[rng.integers(0, 4, (rows, 1))],
               "age": rng.integers(0, 90, (rows, 1))}
    table = np.hstack([part.astype(object) for part in columns.values()])
    model = scaled(compose.ColumnTransformer([
        ("numbers", scaled(impute.SimpleImputer(), preprocessing.StandardScaler()), [0, 1]),
        ("words", preprocessing.OneHotEncoder(), [2]),
        ("ages", preprocessing.MinMaxScaler(), [3])]),
        ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0))
    model.fit(table, NAMES[rng.integers(0, 2, rows)])
    out.write("pipeline_columns", model, columns)


# ---- the command ---------------------------------------------------------------------------------

def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 0 if "--help" in sys.argv else 2
    if MISSING:
        print(f"skipped: the Python package {MISSING} is not installed")
        return 0
    target = pathlib.Path(sys.argv[1])
    stamp = target / "version.txt"
    version = f"{skl2onnx.__version__} {sklearn.__version__} {onnxruntime.__version__}"
    if stamp.exists() and stamp.read_text() == version:
        return 0
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    warnings.filterwarnings("ignore")
    onnx.helper.make_attribute = make_attribute
    out = Writer(target)
    for group in (tree_models, svm_models, linear_models, transformers, pipelines):
        group(out)
    stamp.write_text(version)
    for line in out.refused:
        print("not converted:", " ".join(line.split()))
    print(f"{out.count} models of scikit-learn {sklearn.__version__} in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
