"""Makes inputs for any model: seeded random tensors, or files given by name."""

import argparse
from pathlib import Path

import numpy as np
import onnx


class InputError(ValueError):
    """The caller has to say more, or said something that does not fit."""


def dim_argument(text):
    name, equals, number = text.rpartition("=")
    if not equals or not name or not number.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=N")
    return name, int(number)


def _shape_argument(text):
    name, equals, shape = text.rpartition("=")
    sizes = shape.split("x") if shape else []
    if not equals or not name or not all(size.isdigit() for size in sizes):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=AxBxC")
    return name, [int(size) for size in sizes]


def _integer_argument(text):
    """(input, N); the input is None where N serves all."""
    name, equals, number = text.rpartition("=")
    if not number.isdigit() or (equals and not name):
        raise argparse.ArgumentTypeError(f"{text!r} is neither N nor INPUT=N")
    return name or None, int(number)


def _file_argument(text):
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE.npy")
    return name, Path(path)


def add_options(parser):
    """The options that say what to feed a model with."""
    parser.add_argument("--dim", action="append", default=[], type=dim_argument,
                        metavar="NAME=N", help="size of a named dimension")
    parser.add_argument("--shape", action="append", default=[], type=_shape_argument,
                        metavar="INPUT=AxBxC", help="the whole shape of an input")
    parser.add_argument("--input", action="append", default=[], type=_file_argument,
                        metavar="INPUT=FILE.npy", help="use this file instead")
    parser.add_argument("--int-max", action="append", default=[], type=_integer_argument,
                        metavar="[INPUT=]N", help="largest random integer (default: 3)")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")


def real_inputs(graph):
    """The graph's inputs without those that merely declare an initializer."""
    constants = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in constants]


def _resolved_shape(value, dims, shapes):
    declared = value.type.tensor_type.shape.dim
    if value.name in shapes:
        shape = shapes[value.name]
        fits = len(shape) == len(declared) and all(
            dim.dim_value in (-1, 0, size) for dim, size in zip(declared, shape))
        if not fits and value.type.tensor_type.HasField("shape"):
            raise InputError(f"input {value.name} cannot have shape {shape}")
        return shape
    shape = []
    for axis, dim in enumerate(declared):
        # Some converters write -1 for a size that they do not know.
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            shape.append(dim.dim_value)
        elif dim.dim_param in dims:
            shape.append(dims[dim.dim_param])
        elif dim.dim_param:
            raise InputError(f"input {value.name} needs --dim {dim.dim_param}=N")
        else:
            raise InputError(f"axis {axis} of input {value.name} has no name; "
                             f"use --shape {value.name}=..")
    return shape


def _random_tensor(kind, shape, int_max, generator):
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind))
    if kind == onnx.TensorProto.BOOL:
        return generator.integers(0, 2, shape).astype(bool)
    if np.issubdtype(dtype, np.integer):
        top = min(int_max, int(np.iinfo(dtype).max))
        return np.asarray(generator.integers(0, top + 1, shape)).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        return np.asarray(generator.random(shape)).astype(dtype)
    raise InputError(f"no random {onnx.TensorProto.DataType.Name(kind)} tensors")


def make(graph, arguments):
    """Input name -> array, in the order of the graph's inputs."""
    files, shapes = dict(arguments.input), dict(arguments.shape)
    dims, tops = dict(arguments.dim), dict(arguments.int_max)
    generator = np.random.default_rng(arguments.seed)
    values = real_inputs(graph)
    names = {value.name for value in values}
    strangers = sorted((set(files) | set(shapes) | set(tops) - {None}) - names)
    if strangers:
        raise InputError(f"the model has no input called {', '.join(strangers)}")
    known_dims = {dim.dim_param for value in values
                  for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    if set(dims) - known_dims:
        raise InputError(f"no dimension called {', '.join(sorted(set(dims) - known_dims))}; "
                         f"there are: {', '.join(sorted(known_dims)) or 'none'}")
    arrays = {}
    for value in values:
        if not value.type.HasField("tensor_type"):
            raise InputError(f"input {value.name} is not a tensor")
        if value.name in files:
            try:
                arrays[value.name] = np.load(files[value.name], allow_pickle=False)
            except (OSError, ValueError) as problem:
                raise InputError(f"input {value.name}: {problem}") from problem
        else:
            arrays[value.name] = _random_tensor(
                value.type.tensor_type.elem_type, _resolved_shape(value, dims, shapes),
                tops.get(value.name, tops.get(None, 3)), generator)
    return arrays
