"""Single nodes, texts and sequences that ask for more memory than there is."""
import numpy as np
from onnx import helper

from bomb import (BOOL, DOUBLE, FLOAT, HUGE, INT64, OPSET, STRING, array, bomb, hidden, info, loop,
                  loop_body, one, save)

# ---- one node that asks for 17 GB -------------------------------------------------------------

@bomb("memory", "Range")
def range_():
    return one("Range", ["a", "b", "c"], [array("a", 0), array("b", HUGE // 2), array("c", 1)])


@bomb("memory", "Range")
def range_of_floats():
    return one("Range", ["a", "b", "c"], [array(n, v, np.float32)
                                          for n, v in (("a", 0), ("b", 4e9), ("c", 1))])


@bomb("memory", "Range", default=True)
def range_of_64_terabytes():
    return one("Range", ["a", "b", "c"], [array("a", 0), array("b", 1 << 43), array("c", 1)])


@bomb("memory", "Expand")
def expand():
    return one("Expand", ["x", "s"], [array("x", [1], np.float32), array("s", [HUGE])])


@bomb("memory", "Expand", default=True)
def expand_to_64_terabytes():
    return one("Expand", ["x", "s"], [array("x", [1], np.float32), array("s", [1 << 44])])


@bomb("memory", "Expand")
def expand_at_run_time():
    return hidden("Expand", ["x", "s"], [array("x", [1], np.float32),
                                         array("s", [HUGE], np.float64)], "s")


@bomb("memory", "Expand", default=True)
def expand_to_64_terabytes_at_run_time():
    return hidden("Expand", ["x", "s"], [array("x", [1], np.float32),
                                         array("s", [1 << 44], np.float64)], "s")


@bomb("memory", "Tile")
def tile():
    return one("Tile", ["x", "r"], [array("x", [1], np.float32), array("r", [HUGE])])


@bomb("memory", "Tile")
def tile_at_run_time():
    return hidden("Tile", ["x", "r"], [array("x", [1], np.float32),
                                       array("r", [HUGE], np.float64)], "r")


@bomb("memory", "ConstantOfShape")
def constant_of_shape():
    return one("ConstantOfShape", ["s"], [array("s", [HUGE])])


@bomb("memory", "ConstantOfShape", default=True)
def constant_of_shape_of_64_terabytes():
    return one("ConstantOfShape", ["s"], [array("s", [1 << 44])])


@bomb("memory", "ConstantOfShape")
def constant_of_shape_at_run_time():
    return hidden("ConstantOfShape", ["s"], [array("s", [HUGE], np.float64)], "s")


@bomb("memory", "OneHot")
def one_hot():
    return one("OneHot", ["x", "d", "v"], [array("x", [1]), array("d", HUGE),
                                           array("v", [0, 1], np.float32)])


@bomb("memory", "Pad")
def pad():
    return one("Pad", ["x", "p"], [array("x", [1], np.float32), array("p", [0, HUGE])])


@bomb("memory", "Resize")
def resize():
    return one("Resize", ["x", "", "", "s"], [array("x", [[[[1]]]], np.float32),
                                              array("s", [1, 1, 1 << 16, 68 << 10])], mode="cubic")


@bomb("memory", "Resize")
def resize_by_scales():
    return one("Resize", ["x", "", "s"], [array("x", [[[[1]]]], np.float32),
                                          array("s", [1, 1, 65536, 65536], np.float32)],
               mode="linear")


@bomb("memory", "Upsample")
def upsample():
    return one("Upsample", ["x", "s"], [array("x", [[[[1]]]], np.float32),
                                        array("s", [1, 1, 65536, 65536], np.float32)], opset=9)


@bomb("memory", "EyeLike", "ConstantOfShape")
def eye_like():
    shape = [helper.make_node("ConstantOfShape", ["s"], ["z"], name="z"),
             helper.make_node("EyeLike", ["z"], ["y"], name="n", dtype=DOUBLE)]
    return save(shape, [array("s", [1 << 13, 1 << 13])])


@bomb("memory", "RandomNormal")
def random_normal():
    return one("RandomNormal", [], [], shape=[HUGE])


@bomb("memory", "RandomUniform", default=True)
def random_uniform_of_64_terabytes():
    return one("RandomUniform", [], [], shape=[1 << 44])


@bomb("memory", "RandomUniformLike", "Expand")
def random_like():
    return save([helper.make_node("Expand", ["x", "s"], ["e"], name="e"),
                 helper.make_node("RandomUniformLike", ["e"], ["y"], name="n")],
                [array("x", [1], np.float32), array("s", [HUGE])])


@bomb("memory", "Multinomial")
def multinomial():
    return one("Multinomial", ["x"], [array("x", [[0.5, 0.5]], np.float32)], sample_size=2**31 - 1)


@bomb("memory", "Bernoulli", "Expand")
def bernoulli():
    return after_expand("Bernoulli", HUGE)


def after_expand(op, count, inputs=("e",), more=(), shape=None, dtype=np.float32, outputs=("y",),
                 opset=OPSET, **attrs):
    """op over an Expand of one element, which nobody can fold."""
    return save([helper.make_node("Expand", ["x", "s"], ["e"], name="e"),
                 helper.make_node(op, list(inputs), list(outputs), name="n", **attrs)],
                [array("x", 1, dtype), array("s", shape or [count]), *more], outputs=outputs[:1],
                opset=opset)


@bomb("memory", "CumSum", "Expand")
def cum_sum():
    return after_expand("CumSum", HUGE, ["e", "axis"], [array("axis", 0)])


@bomb("memory", "Trilu", "Expand")
def trilu():
    return after_expand("Trilu", 0, shape=[1 << 16, 1 << 16])


@bomb("memory", "NonZero", "Expand")
def non_zero():
    return after_expand("NonZero", 40 << 20, dtype=np.bool_)


@bomb("memory", "Unique", "Expand")
def unique():
    return after_expand("Unique", 15 << 20, outputs=["y", "i", "v", "c"])


@bomb("memory", "Compress", "Expand")
def compress():
    return save([helper.make_node("Expand", ["x", "s"], ["e"], name="e"),
                 helper.make_node("Expand", ["b", "s"], ["c"], name="f"),
                 helper.make_node("Compress", ["e", "c"], ["y"], name="n")],
                [array("x", 1, np.float32), array("b", 1, np.bool_), array("s", [14 << 20])])


@bomb("memory", "GatherND")
def gather_nd():
    return save([helper.make_node("Expand", ["i", "s"], ["e"], name="e"),
                 helper.make_node("GatherND", ["x", "e"], ["y"], name="n")],
                [array("i", 0), array("s", [1 << 20, 1]), array("x", np.zeros((2, 64)), np.float32)])


@bomb("memory", "Gather")
def gather():
    return save([helper.make_node("Expand", ["i", "s"], ["e"], name="e"),
                 helper.make_node("Gather", ["x", "e"], ["y"], name="n")],
                [array("i", 0), array("s", [1 << 20]), array("x", np.zeros((2, 64)), np.float32)])


@bomb("memory", "Einsum")
def einsum():
    return outer("Einsum", equation="i,j->ij")


def outer(op, shapes=((1 << 16,), (1 << 16,)), **attrs):
    return save([helper.make_node("Expand", ["x", "s"], ["a"], name="e"),
                 helper.make_node("Expand", ["x", "t"], ["b"], name="f"),
                 helper.make_node(op, ["a", "b"], ["y"], name="n", **attrs)],
                [array("x", 1, np.float32), array("s", shapes[0]), array("t", shapes[1])])


@bomb("memory", "MatMul", "Mul")
def matmul():
    return outer("MatMul", ((1 << 16, 1), (1, 1 << 16)))


@bomb("memory", "Gemm")
def gemm():
    return outer("Gemm", ((1 << 16, 1), (1, 1 << 16)))


@bomb("memory", "Mul")
def broadcast():
    return outer("Mul", ((1 << 16, 1), (1, 1 << 16)))


@bomb("memory", "Conv")
def conv_with_pads():
    return one("Conv", ["x", "w"], [array("x", [[[[1]]]], np.float32),
                                    array("w", [[[[1]]]], np.float32)], pads=[0, 0, 65536, 65536])


@bomb("memory", "ConvTranspose")
def conv_transpose_with_strides():
    return one("ConvTranspose", ["x", "w"], [array("x", np.ones((1, 1, 2, 2)), np.float32),
                                             array("w", [[[[1]]]], np.float32)],
               strides=[70000, 70000])


@bomb("memory", "Col2Im")
def col2im():
    return one("Col2Im", ["x", "i", "b"],
               [array("x", np.ones((1, 1, 1)), np.float32), array("i", [65536, 65536]),
                array("b", [1, 1])], opset=18)


@bomb("memory", "MaxUnpool")
def max_unpool():
    return one("MaxUnpool", ["x", "i", "s"],
               [array("x", [[[[1]]]], np.float32), array("i", [[[[0]]]]),
                array("s", [1, 1, 65536, 65536])], kernel_shape=[1, 1])


@bomb("memory", "DepthToSpace", "SpaceToDepth", "Expand")
def depth_to_space():
    return after_expand("DepthToSpace", 0, shape=[1, 1 << 16, 1 << 8, 1 << 8], blocksize=16)


@bomb("memory", "SpaceToDepth", "Expand")
def space_to_depth():
    return after_expand("SpaceToDepth", 0, shape=[1, 1, 1 << 16, 1 << 16], blocksize=16)


@bomb("memory", "Concat")
def concat_of_many():
    return save([helper.make_node("Expand", ["x", "s"], ["e"], name="e"),
                 helper.make_node("Concat", ["e"] * 5000, ["y"], name="n", axis=0)],
                [array("x", 1, np.float32), array("s", [1 << 20])])


@bomb("memory", "Concat")
def concat_doubles():
    nodes, last = [], "x"
    for i in range(33):
        nodes.append(helper.make_node("Concat", [last, last], [f"c{i}"], name=f"n{i}", axis=0))
        last = f"c{i}"
    nodes.append(helper.make_node("Identity", [last], ["y"]))
    return save(nodes, [array("x", [1], np.float32)])


@bomb("memory", "DFT")
def dft():
    return one("DFT", ["x", "l"], [array("x", [[[1], [2]]], np.float32), array("l", 1 << 31)],
               opset=20)


@bomb("memory", "STFT", "HannWindow")
def stft():
    nodes = [helper.make_node("HannWindow", ["l"], ["y"], name="n")]
    return save(nodes, [array("l", HUGE)])


@bomb("memory", "MelWeightMatrix")
def mel():
    return one("MelWeightMatrix", ["b", "l", "r", "f", "t"],
               [array("b", 1 << 17), array("l", 1 << 17), array("r", 16000),
                array("f", 0, np.float32), array("t", 8000, np.float32)])


@bomb("memory", "AffineGrid")
def affine_grid():
    return one("AffineGrid", ["t", "s"], [array("t", np.ones((1, 2, 3)), np.float32),
                                          array("s", [1, 1, 65536, 32768])])


@bomb("memory", "GridSample", "Expand")
def grid_sample():
    return save([helper.make_node("Expand", ["g", "s"], ["e"], name="e"),
                 helper.make_node("GridSample", ["x", "e"], ["y"], name="n")],
                [array("x", np.ones((1, 64, 2, 2)), np.float32), array("g", 0, np.float32),
                 array("s", [1, 2048, 2048, 2])])


@bomb("memory", "RoiAlign")
def roi_align():
    return one("RoiAlign", ["x", "r", "b"],
               [array("x", np.ones((1, 1, 2, 2)), np.float32),
                array("r", [[0, 0, 1, 1]], np.float32), array("b", [0])],
               output_height=65536, output_width=65536)


@bomb("memory", "TopK", "Expand")
def top_k():
    return save([helper.make_node("Expand", ["x", "s"], ["e"], name="e"),
                 helper.make_node("TopK", ["e", "s"], ["y", "i"], name="n")],
                [array("x", 1, np.float32), array("s", [14 << 20])])


@bomb("memory", "SplitToSequence", "Expand")
def split_to_sequence():
    return after_expand("SplitToSequence", 1 << 23, keepdims=0)


@bomb("memory", "Tile")
def tile_of_expand():
    return after_expand("Tile", 1 << 20, ["e", "r"], [array("r", [1 << 12])])


@bomb("memory")
def input_of_64_terabytes():
    """Random inputs are the caller's wish, but the model has the say of their size."""
    return save([helper.make_node("Neg", ["x"], ["y"], name="n")], inputs=[info("x", FLOAT, [1 << 44])])


# ---- text -----------------------------------------------------------------------------------

@bomb("memory", "StringConcat")
def strings_double():
    body = loop_body([helper.make_node("StringConcat", ["v", "v"], ["v2"], name="t")], "v2")
    return loop(body, helper.make_tensor("x", STRING, [1], [b"abcdefgh"]))


@bomb("memory", "StringSplit", "Expand", "Tile")
def string_split():
    text = helper.make_tensor("x", STRING, [1], [b"a " * 2000])
    return save([helper.make_node("Expand", ["x", "s"], ["e"], name="e"),
                 helper.make_node("StringSplit", ["e"], ["y", "z"], name="n")],
                [text, array("s", [3000])], outputs=("y",))


@bomb("memory", "RegexFullMatch")
def regex_backtracking():
    return one("RegexFullMatch", ["x"], [helper.make_tensor("x", STRING, [1], [b"a" * 50000 + b"b"])],
               pattern="(a|a)*(a|aa)*(a*)*")


@bomb("load", "RegexFullMatch")
def regex_of_repeats():
    return one("RegexFullMatch", ["x"], [helper.make_tensor("x", STRING, [1], [b"a" * 500])],
               pattern="((((a{1,1000}){1,1000}){1,1000}){1,1000}){1,1000}")


# ---- sequences ------------------------------------------------------------------------------

@bomb("memory", "SequenceInsert", "Loop")
def sequence_insert():
    tensor_type = helper.make_tensor_type_proto(FLOAT, None)
    sequence = helper.make_sequence_type_proto(tensor_type)
    body = helper.make_graph(
        [helper.make_node("Identity", ["k"], ["k2"]),
         helper.make_node("SequenceInsert", ["q", "z"], ["q2"], name="t")], "b",
        [info("i", INT64, []), info("k", BOOL, []), helper.make_value_info("q", sequence)],
        [info("k2", BOOL, []), helper.make_value_info("q2", sequence)])
    return save([helper.make_node("ConstantOfShape", ["s"], ["z"], name="z"),
                 helper.make_node("SequenceEmpty", [], ["e"], dtype=FLOAT),
                 helper.make_node("Loop", ["m", "", "e"], ["y"], body=body, name="n"),],
                [array("s", [1 << 16]), array("m", 1 << 62)],
                outputs=[helper.make_value_info("y", sequence)])


@bomb("memory", "SequenceConstruct", "ConcatFromSequence")
def concat_from_sequence():
    return save([helper.make_node("Expand", ["x", "s"], ["e"], name="e"),
                 helper.make_node("SequenceConstruct", ["e"] * 1000, ["q"], name="q"),
                 helper.make_node("ConcatFromSequence", ["q"], ["y"], name="n", axis=0)],
                [array("x", 1, np.float32), array("s", [1 << 16])])
