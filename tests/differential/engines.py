"""The three that answer: Sardonyx through its library, ONNX Runtime, and ONNX's reference evaluator."""
import ctypes
import pathlib
import sys
import warnings

import numpy as np
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
from explained import ORT, REFERENCE  # noqa: E402


def load(only_sardonyx):
    """Imports what the engines need, once, before processes are forked."""
    import sardonyx_backend  # noqa: F401
    if not only_sardonyx:
        import onnx.reference  # noqa: F401
        import onnxruntime  # noqa: F401


class NoAnswer(Exception):
    """The engine refuses the case: an operator, type or version that it does not have."""


def sardonyx(model, inputs):
    from sardonyx_backend import SardonyxError, SardonyxRep
    try:
        return list(SardonyxRep(model).run(inputs))
    except SardonyxError as error:
        raise NoAnswer(str(error)) from error


_NATIVE = {"float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16",
           "uint32", "uint64", "bool", "object"}


def _ort_value(value, onnxruntime):
    array = np.asarray(value)
    if array.dtype.name in _NATIVE or array.dtype.kind in "US":
        return array
    from case import onnx_dtype
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
        np.ascontiguousarray(array).reshape(array.shape), onnx_dtype(array.dtype))


def _from_ort(value):
    """OrtValue.numpy() gives plain bytes for 8-bit floats and refuses bfloat16."""
    if value.is_tensor() and value.element_type() in (TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN,
                                                      TensorProto.FLOAT8E4M3FNUZ,
                                                      TensorProto.FLOAT8E5M2,
                                                      TensorProto.FLOAT8E5M2FNUZ):
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(value.element_type()))
        shape = tuple(value.shape())
        size = int(np.prod(shape, dtype=int)) * dtype.itemsize
        data = ctypes.string_at(value.data_ptr(), size) if size else b""
        return np.frombuffer(data, dtype).reshape(shape)
    return value.numpy()


_PACKED = {"int4", "uint4", "int2", "uint2", "float4_e2m1fn"}


def _fold_packed(model, inputs):
    """The package would read several elements out of each byte of these types; a file has them
    packed, so such inputs become initializers."""
    def is_packed(value):
        return getattr(value, "dtype", np.dtype(bool)).name in _PACKED
    if not any(is_packed(v) for v in inputs):
        return model, inputs
    import onnx
    folded = onnx.ModelProto()
    folded.CopyFrom(model)
    del folded.graph.input[:]
    kept = []
    for info, value in zip(model.graph.input, inputs):
        if is_packed(value):
            folded.graph.initializer.append(onnx.numpy_helper.from_array(value, info.name))
        else:
            folded.graph.input.append(info)
            kept.append(value)
    return folded, kept


def onnx_runtime(model, inputs):
    import onnxruntime
    model, inputs = _fold_packed(model, inputs)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # As written: what the optimiser makes of a case is not the question here.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        named = {i.name: v for i, v in zip(model.graph.input, inputs)}
        plain = all(isinstance(v, (list, tuple, dict)) or
                    np.asarray(v).dtype.name in _NATIVE or np.asarray(v).dtype.kind in "US"
                    for v in named.values())
        plain = plain and not any("float8" in o.type or "bfloat16" in o.type
                                  for o in session.get_outputs())
        if plain:
            return session.run(None, named)
        values = {n: _ort_value(v, onnxruntime) for n, v in named.items()}
        values = {n: v if not isinstance(v, np.ndarray) else
                  onnxruntime.OrtValue.ortvalue_from_numpy(v) for n, v in values.items()}
        return [_from_ort(v) for v in session.run_with_ort_values(None, values)]
    except Exception as error:  # the package raises many kinds
        raise NoAnswer(str(error)[:300]) from error


def reference(model, inputs):
    from onnx.reference import ReferenceEvaluator
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            evaluator = ReferenceEvaluator(model)
            named = {i.name: v for i, v in zip(model.graph.input, inputs)}
            return evaluator.run(None, named)
    except Exception as error:
        raise NoAnswer(f"{type(error).__name__}: {error}"[:300]) from error


REFERENCES = {ORT: onnx_runtime, REFERENCE: reference}
