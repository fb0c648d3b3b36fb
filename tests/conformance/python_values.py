#!/usr/bin/env python3
"""Maps, sequences and optionals through the Python door, against ONNX Runtime with the same values.

DictVectorizer and CastMap with every pair of key and value type that their schemas allow, maps that
are empty or have keys outside the vocabulary; ZipMap, whose result is a list of dicts; sequences
whose items differ in size; optionals with and without content; and what must be refused.

usage: tests/conformance/python_values.py   (SARDONYX_LIBRARY names another libsardonyx.so)
"""
import sys
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from sardonyx_backend import SardonyxBackend, SardonyxError, SardonyxRep

WORDS = ["ash", "beech", "cedar", ""]
NUMBERS = [3, -1, 2**40, 0]
VALUES = {TensorProto.STRING: ["oak", "", "fig", "3"], TensorProto.INT64: [5, -7, 2**40, 0],
          TensorProto.FLOAT: [0.5, -2.25, 1e10, 0.0], TensorProto.DOUBLE: [0.1, -2.25, 1e300, 0.0]}


def absent(elem_type):
    """What stands for a value that is not there, and the numpy type."""
    if elem_type == TensorProto.STRING:
        return "", object
    return 0, helper.tensor_dtype_to_np_dtype(elem_type)


def map_type(key, value):
    return onnx.TypeProto(map_type=onnx.TypeProto.Map(
        key_type=key, value_type=helper.make_tensor_type_proto(value, None)))


def model(nodes, inputs, outputs=("y",)):
    """inputs: (name, TypeProto)."""
    graph = helper.make_graph(nodes, "values", [helper.make_value_info(*one) for one in inputs],
                              [onnx.ValueInfoProto(name=name) for name in outputs])
    return helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)])


def ml_node(op, inputs=("x",), **attributes):
    return helper.make_node(op, inputs, ["y"], domain="ai.onnx.ml", **attributes)


def runtime(proto, feeds):
    """ONNX Runtime's answer; it wants the types of the outputs, too."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


class Values(unittest.TestCase):
    def assert_same(self, got, want):
        if isinstance(want, (list, tuple)):
            self.assertEqual(len(got), len(want))
            for one, other in zip(got, want):
                self.assert_same(one, other)
        elif isinstance(want, dict):
            self.assertEqual(list(got), list(want))
            np.testing.assert_array_equal(list(got.values()), list(want.values()))
        else:
            self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
            np.testing.assert_array_equal(got, want)

    def compare(self, proto, *feeds):
        names = [info.name for info in proto.graph.input]
        want = runtime(proto, dict(zip(names, feeds)))
        self.assert_same(list(SardonyxRep(proto).run(feeds)), want)

    def refuse(self, proto, feed, sentence):
        with self.assertRaisesRegex(SardonyxError, sentence):
            SardonyxRep(proto).run([feed])

    def test_dict_vectorizer(self):
        pairs = [(TensorProto.STRING, value) for value in
                 (TensorProto.INT64, TensorProto.FLOAT, TensorProto.DOUBLE)]
        pairs += [(TensorProto.INT64, value) for value in
                  (TensorProto.STRING, TensorProto.FLOAT, TensorProto.DOUBLE)]
        for key, value in pairs:
            known = WORDS if key == TensorProto.STRING else NUMBERS
            stranger = "yew" if key == TensorProto.STRING else 77
            vocabulary = {"string_vocabulary" if key == TensorProto.STRING else
                          "int64_vocabulary": known}
            proto = model([ml_node("DictVectorizer", **vocabulary)], [("x", map_type(key, value))])
            for keys in (known, known[::-1], known[1:3], [stranger, known[2]], [stranger], []):
                with self.subTest(key=key, value=value, keys=keys):
                    x = dict(zip(keys, VALUES[value]))
                    empty, dtype = absent(value)
                    want = np.array([[x.get(word, empty) for word in known]], dtype)
                    self.assert_same(SardonyxRep(proto).run([x]), [want])
                    if value == TensorProto.FLOAT and x:  # all that its Python interface takes
                        self.compare(proto, x)

    def test_cast_map(self):
        numbers = {5: 0.5, 2: -2.25, 9: 1e6}
        for cast_to, target in (("TO_FLOAT", TensorProto.FLOAT), ("TO_INT64", TensorProto.INT64),
                                ("TO_STRING", TensorProto.STRING)):
            for form in ({}, {"map_form": "SPARSE", "max_map": 7}):
                proto = model([ml_node("CastMap", cast_to=cast_to, **form)],
                              [("x", map_type(TensorProto.INT64, TensorProto.FLOAT))])
                with self.subTest(cast_to=cast_to, **form):
                    self.compare(proto, numbers)
            _, dtype = absent(target)
            proto = model([ml_node("CastMap", cast_to=cast_to)],
                          [("x", map_type(TensorProto.INT64, TensorProto.STRING))])
            with self.subTest(cast_to=cast_to):
                texts = ["-7", "12"]  # in the order of the keys
                want = np.array([texts if dtype is object else [float(t) for t in texts]], dtype)
                self.assert_same(SardonyxRep(proto).run([{5: "12", 2: "-7"}]), [want])

    def test_zip_map(self):
        x = np.array([[0.5, 1.5, -2], [3, 4, 5]], np.float32)
        for labels in ({"classlabels_strings": WORDS[:3]}, {"classlabels_int64s": NUMBERS[:3]}):
            proto = model([ml_node("ZipMap", **labels)],
                          [("x", helper.make_tensor_type_proto(TensorProto.FLOAT, [None, 3]))])
            self.compare(proto, x)

    def test_map_that_does_not_fit(self):
        proto = model([ml_node("DictVectorizer", string_vocabulary=WORDS)],
                      [("x", map_type(TensorProto.STRING, TensorProto.FLOAT))])
        self.refuse(proto, np.zeros(3, np.float32), r"is a tensor, the model expects map\(string")
        self.refuse(proto, [np.zeros(3)], r"is a sequence, the model expects map\(string")

    def test_sequence(self):
        items = [np.arange(n, dtype=np.float32).reshape(-1, 2) for n in (4, 2, 8)]
        for shape in (None, [None, 2], ["N", 2]):
            inside = helper.make_tensor_type_proto(TensorProto.FLOAT, shape)
            proto = model([helper.make_node("Constant", [], ["at"], value_int=2),
                           helper.make_node("SequenceAt", ["x", "at"], ["item"]),
                           helper.make_node("Neg", ["item"], ["y"]),
                           helper.make_node("SequenceErase", ["x", "at"], ["z"])],
                          [("x", helper.make_sequence_type_proto(inside))], ("y", "z"))
            self.compare(proto, items)
        self.refuse(proto, [items[0], items[1].ravel()], r"input 'x'\[1\] has rank 1, .* expects 2")

    def test_optional(self):
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N"])
        optionals = (tensor, helper.make_sequence_type_proto(tensor))
        for inside in optionals:
            proto = model([helper.make_node("OptionalHasElement", ["x"], ["y"])],
                          [("x", helper.make_optional_type_proto(inside))])
            content = np.ones(3, np.float32)
            for feed in (None, content if inside is tensor else [content]):
                self.assert_same(SardonyxRep(proto).run([feed]), [np.array(feed is not None)])

    def test_interface(self):
        """The three doors of onnx.backend.base.Backend."""
        x = np.arange(3, dtype=np.float32)
        proto = model([helper.make_node("Neg", ["x"], ["y"])],
                      [("x", helper.make_tensor_type_proto(TensorProto.FLOAT, [3]))])
        proto.graph.output[0].type.CopyFrom(proto.graph.input[0].type)
        self.assert_same(SardonyxBackend.prepare(proto).run([x]), [-x])
        self.assert_same(SardonyxBackend.run_model(proto, [x]), [-x])
        self.assertFalse(SardonyxBackend.supports_device("CUDA"))


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=1).result.wasSuccessful())
