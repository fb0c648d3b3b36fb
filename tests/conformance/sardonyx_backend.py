"""ONNX's standard backend interface over libsardonyx.so, by ctypes: numpy arrays in and out, lists
for sequences, dicts for maps, None for an optional without content.

`onnx.backend.test.BackendTest` can then drive the engine as it drives any other. The structs below
mirror include/sardonyx.h.
"""
import ctypes as c
import os
import pathlib

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

MAX_RANK = 16
KIND_NONE, KIND_TENSOR, KIND_SEQUENCE, KIND_OPTIONAL, KIND_MAP = range(5)
STATUS_OK, STATUS_UNSUPPORTED = 0, 6
STRING = onnx.TensorProto.STRING
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("position", c.c_uint64), ("node", c.c_char * 128),
                ("op", c.c_char * 64), ("message", c.c_char * 768)]


class String(c.Structure):
    # No c_char_p, which reads on to a zero that need not be there.
    _fields_ = [("data", c.c_void_p), ("size", c.c_size_t)]


class Tensor(c.Structure):
    _fields_ = [("dtype", c.c_int), ("rank", c.c_int32), ("dims", c.c_int64 * MAX_RANK),
                ("count", c.c_size_t), ("data", c.c_void_p)]


# Called with every tensor that a step makes: user data, value index, tensor.
OBSERVER = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.POINTER(Tensor))


class ContextOptions(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("allocator", c.c_void_p), ("limits", c.c_void_p),
                ("threads", c.c_uint32), ("arena", c.c_void_p), ("arena_size", c.c_size_t),
                ("seed", c.c_uint64), ("observe", OBSERVER), ("observe_user", c.c_void_p)]


def _library():
    path = os.environ.get("SARDONYX_LIBRARY", str(ROOT / "build/libsardonyx.so"))
    library = c.CDLL(path)
    for name in ("sdx_context_output_value", "sdx_value_tensor", "sdx_value_item",
                 "sdx_value_map_keys", "sdx_value_map_values"):
        getattr(library, name).restype = c.c_void_p
    library.sdx_value_count.restype = c.c_size_t
    return library


LIBRARY = _library()


class SardonyxError(RuntimeError):
    """What the library said, with its status."""

    def __init__(self, error):
        super().__init__(error.message.decode(errors="replace"))
        self.code = error.code


def _check(status, error):
    if status != STATUS_OK:
        raise SardonyxError(error)


def _new_value(function, *arguments):
    value, error = c.c_void_p(), Error()
    _check(function(None, *arguments, c.byref(value), c.byref(error)), error)
    return value


def _tensor_value(array):
    """A library value with a copy of the array."""
    array = np.asarray(array)
    tensor = Tensor(rank=array.ndim)
    tensor.dims[:array.ndim] = array.shape
    if array.dtype.kind in "OUS":
        texts = [s if isinstance(s, bytes) else str(s).encode() for s in array.ravel()]
        data = (String * max(1, len(texts)))(*[
            String(c.cast(c.c_char_p(s), c.c_void_p), len(s)) for s in texts])
        tensor.dtype = STRING
    else:
        tensor.dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        if tensor.dtype in (onnx.TensorProto.INT4, onnx.TensorProto.INT2):
            array = array.astype(np.int8)  # the library wants the sign extended to the byte
        array = np.ascontiguousarray(array)
        data = c.create_string_buffer(array.tobytes(), max(1, array.nbytes))
    tensor.data = c.cast(data, c.c_void_p)
    return _new_value(LIBRARY.sdx_value_new_tensor, c.byref(tensor))


def _release_all(values):
    for value in values:
        LIBRARY.sdx_value_release(value)


def _map_value(entries, declared):
    """A library map of a dict, whose plain Python keys and values take the declared types."""
    def column(values, elem_type):
        dtype = object if elem_type == STRING else helper.tensor_dtype_to_np_dtype(elem_type)
        return _tensor_value(np.array(list(values), dtype))

    parts = [column(entries.keys(), declared.key_type),
             column(entries.values(), declared.value_type.tensor_type.elem_type)]
    try:
        return _new_value(LIBRARY.sdx_value_new_map, *parts)
    finally:
        _release_all(parts)


def _to_value(value, declared):
    """A library value with a copy of a Python one; declared: the TypeProto of the model's input."""
    if declared.HasField("optional_type"):
        declared = declared.optional_type.elem_type
    if isinstance(value, dict):
        return _map_value(value, declared.map_type)
    if not isinstance(value, (list, tuple)):
        return _tensor_value(value)
    items = [_to_value(item, declared.sequence_type.elem_type) for item in value]
    array = (c.c_void_p * max(1, len(items)))(*[item.value for item in items])
    try:
        return _new_value(LIBRARY.sdx_value_new_sequence, array, c.c_size_t(len(items)))
    finally:
        _release_all(items)


def _tensor_array(tensor):
    shape = tuple(tensor.dims[:tensor.rank])
    if tensor.dtype == STRING:
        strings = c.cast(tensor.data, c.POINTER(String))
        texts = [c.string_at(strings[i].data, strings[i].size).decode() if strings[i].size else ""
                 for i in range(tensor.count)]
        return np.array(texts, dtype=object).reshape(shape)
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.dtype))
    raw = c.string_at(tensor.data, tensor.count * dtype.itemsize) if tensor.count else b""
    return np.frombuffer(raw, dtype=dtype).reshape(shape).copy()


def _from_value(value):
    kind = LIBRARY.sdx_value_kind(c.c_void_p(value)) if value else KIND_NONE
    if kind == KIND_NONE:
        return None
    pointer = c.c_void_p(value)
    if kind == KIND_TENSOR:
        return _tensor_array(c.cast(LIBRARY.sdx_value_tensor(pointer), c.POINTER(Tensor))[0])
    if kind == KIND_SEQUENCE:
        return [_from_value(LIBRARY.sdx_value_item(pointer, c.c_size_t(i)))
                for i in range(LIBRARY.sdx_value_count(pointer))]
    keys = _from_value(LIBRARY.sdx_value_map_keys(pointer))
    values = _from_value(LIBRARY.sdx_value_map_values(pointer))
    return dict(zip(keys.tolist(), values))


class Context:
    """One run at a time of a model that is ready."""

    def __init__(self, rep, threads=0, seed=0, observe=None):
        self._rep, self._context, error = rep, c.c_void_p(), Error()
        self._observe = OBSERVER(observe) if observe else OBSERVER()  # must outlive the context
        options = ContextOptions(c.sizeof(ContextOptions), threads=threads, seed=seed,
                                 observe=self._observe)
        _check(LIBRARY.sdx_context_create(rep.program, c.byref(options), c.byref(self._context),
                                          c.byref(error)), error)

    def run(self, inputs):
        error = Error()
        for index, data in enumerate(inputs):
            if data is None:
                continue
            value = _to_value(data, self._rep.inputs[index].type)
            status = LIBRARY.sdx_context_set_input_value(self._context, c.c_size_t(index), value,
                                                         c.byref(error))
            LIBRARY.sdx_value_release(value)
            _check(status, error)
        _check(LIBRARY.sdx_context_run(self._context, c.byref(error)), error)
        return tuple(
            _from_value(LIBRARY.sdx_context_output_value(self._context, c.c_size_t(i)))
            for i in range(self._rep.output_count))

    def __del__(self):
        LIBRARY.sdx_context_release(self._context)


class SardonyxRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model):
        # The library keeps pointing into these bytes.
        self._bytes = model.SerializeToString()
        # Before version 4 of the format every initializer had to be listed as an input as well.
        weights = {tensor.name for tensor in model.graph.initializer if model.ir_version < 4}
        self.inputs = [info for info in model.graph.input if info.name not in weights]
        self.output_count = len(model.graph.output)
        self.model, self.program = c.c_void_p(), c.c_void_p()
        error = Error()
        _check(LIBRARY.sdx_model_load_memory(self._bytes, c.c_size_t(len(self._bytes)), None,
                                             c.byref(self.model), c.byref(error)), error)
        _check(LIBRARY.sdx_program_create(self.model, None, c.byref(self.program),
                                          c.byref(error)), error)

    def run(self, inputs, **_):
        return Context(self).run(inputs)

    def __del__(self):
        LIBRARY.sdx_program_release(self.program)
        LIBRARY.sdx_model_release(self.model)


class SardonyxBackend(Backend):
    """What onnx.backend.test.BackendTest wants of an engine."""

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        super().prepare(model, device, **kwargs)
        return SardonyxRep(model)

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"
