"""Reads tensors from PyTorch's old (pre-zip) checkpoint format, without PyTorch.

Such a file is four pickles (magic number, format version, machine facts, the
object itself), a pickled list of storage keys, and then for every key its
element count and raw little-endian elements. Pickles can name any callable of
any module, so the reader below knows exactly the few names that it needs.
"""

import collections
import io
import pickle
import struct

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
VERSION = 1001
STORAGE_TYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


class FormatError(ValueError):
    """The file is not such a checkpoint, or holds something not allowed."""


class _Storage:
    """A run of elements; its values come after all the pickles."""

    def __init__(self, dtype, count):
        self.dtype = dtype
        self.count = count
        self.values = None


class _Tensor:
    """A view of a storage, to be looked up once the storage is read."""

    def __init__(self, storage, offset, shape, strides, *_):
        if not isinstance(storage, _Storage) or len(shape) != len(strides):
            raise FormatError("malformed tensor")
        self.storage, self.offset = storage, offset
        self.shape, self.strides = tuple(shape), tuple(strides)

    def array(self):
        numbers = (self.offset, *self.shape, *self.strides)
        if any(not isinstance(number, int) or number < 0 for number in numbers):
            raise FormatError("malformed tensor")
        last = self.offset + sum((length - 1) * stride for length, stride
                                 in zip(self.shape, self.strides))
        if 0 not in self.shape and last >= self.storage.count:
            raise FormatError("a tensor reaches past its storage")
        width = self.storage.dtype.itemsize
        view = np.lib.stride_tricks.as_strided(
            self.storage.values[self.offset:], self.shape,
            [stride * width for stride in self.strides])
        return np.ascontiguousarray(view).reshape(self.shape)


class _Reader(pickle.Unpickler):
    """An unpickler that builds dictionaries of tensors and nothing else."""

    def __init__(self, stream):
        super().__init__(stream)
        self.storages = {}

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Tensor
        if module == "torch" and name in STORAGE_TYPES:
            return STORAGE_TYPES[name]
        raise FormatError(f"{module}.{name} is not allowed in a checkpoint")

    def persistent_load(self, reference):
        match reference:
            case ("storage", np.dtype() as dtype, str(key), str(), int(count), None):
                storage = self.storages.setdefault(key, _Storage(dtype, count))
                if (storage.dtype, storage.count) == (dtype, count):
                    return storage
        raise FormatError("malformed storage reference")


def _unpickle(stream):
    reader = _Reader(stream)
    return reader.load(), reader.storages


def load(data):
    """The checkpoint's state dictionary as name -> numpy array."""
    stream = io.BytesIO(data)
    try:
        if _unpickle(stream)[0] != MAGIC or _unpickle(stream)[0] != VERSION:
            raise FormatError("not a legacy PyTorch checkpoint")
        facts, _ = _unpickle(stream)
        if not facts["little_endian"]:
            raise FormatError("written on a big-endian machine")
        state, storages = _unpickle(stream)
        keys, _ = _unpickle(stream)
        if sorted(keys) != sorted(storages):
            raise FormatError("storages do not match the tensors")
        for key in keys:
            storage = storages[key]
            (count,) = struct.unpack("<q", stream.read(8))
            raw = stream.read(count * storage.dtype.itemsize) if count > 0 else b""
            if count != storage.count or len(raw) != count * storage.dtype.itemsize:
                raise FormatError("a storage has the wrong length")
            storage.values = np.frombuffer(raw, storage.dtype)
        return {name: tensor.array() for name, tensor in state.items()}
    except FormatError:
        raise
    except (pickle.UnpicklingError, EOFError, struct.error, AttributeError,
            IndexError, KeyError, TypeError) as problem:
        raise FormatError(f"damaged checkpoint: {problem}") from problem
