"""Loops without end and single nodes that take minutes."""
import numpy as np
from onnx import helper

from bomb import BOOL, FLOAT, INT64, OPSET, STRING, UINT8, array, bomb, info, loop, loop_body, one, save

# ---- rounds -----------------------------------------------------------------------------------

@bomb("time", "Loop", "Identity", "Add")
def loop_of_2_to_62_rounds():
    body = loop_body([helper.make_node("Add", ["v", "v"], ["v2"], name="t")], "v2", FLOAT, shape=[])
    return loop(body, array("x", 1, np.float32))


@bomb("memory", "Loop", "Add")
def loop_that_stacks():
    body = loop_body([helper.make_node("Identity", ["v"], ["v2"], name="t"),
                      helper.make_node("Add", ["v", "v"], ["w"], name="a")], "v2", FLOAT,
                     [info("w", FLOAT, [1024])], shape=[1024])
    return loop(body, array("x", np.ones(1024), np.float32), outputs=("z", "y"))


def nested(levels, inner=0):
    """Loops of 2^20 rounds in one another."""
    nodes = [helper.make_node("Add", ["one", "one"], [f"v{inner}"], name=f"a{inner}")]
    if levels > 1:
        body = nested(levels - 1, inner + 1)
        nodes = [helper.make_node("Loop", ["m", ""], [f"s{inner}"], body=body, name=f"l{inner}"),
                 helper.make_node("ReduceSum", [f"s{inner}"], [f"v{inner}"], name=f"r{inner}",
                                  keepdims=0)]
    return helper.make_graph([helper.make_node("Identity", [f"k{inner}"], [f"c{inner}"]), *nodes],
                             f"b{inner}", [info(f"i{inner}", INT64, []), info(f"k{inner}", BOOL, [])],
                             [info(f"c{inner}", BOOL, []), info(f"v{inner}", FLOAT, [])])


@bomb("time")
def nested_loops():
    return save([helper.make_node("Loop", ["m", ""], ["y"], body=nested(8), name="n")],
                [array("m", 1 << 20), array("one", 1, np.float32)])


@bomb("time")
def scan_in_loop():
    inner = helper.make_graph([helper.make_node("Add", ["s", "e"], ["s2"], name="a"),
                               helper.make_node("Mul", ["s", "e"], ["o"], name="m")], "scan",
                              [info("s", FLOAT, []), info("e", FLOAT, [])],
                              [info("s2", FLOAT, []), info("o", FLOAT, [])])
    body = loop_body([helper.make_node("Scan", ["v", "w"], ["v2", "unused"], body=inner, name="t",
                                       num_scan_inputs=1)], "v2", FLOAT, shape=[])
    return save([helper.make_node("Expand", ["one", "s"], ["w"], name="e"),
                 helper.make_node("Loop", ["m", "", "one"], ["y"], body=body, name="n")],
                [array("m", 1 << 62), array("one", 1, np.float32), array("s", [1 << 16])])


@bomb("time", "Scan", "Add", "Identity")
def scan_of_many():
    inner = helper.make_graph([helper.make_node("Add", ["s", "e"], ["s2"], name="a")], "scan",
                              [info("s", FLOAT, []), info("e", UINT8, [])], [info("s2", FLOAT, [])])
    inner.node[0].input[1] = "s"
    return save([helper.make_node("Expand", ["b", "s"], ["w"], name="e"),
                 helper.make_node("Scan", ["x", "w"], ["y"], body=inner, name="n",
                                  num_scan_inputs=1)],
                [array("x", 1, np.float32), array("b", 1, np.uint8), array("s", [48 << 20])])


# ---- one long kernel ----------------------------------------------------------------------------

def long(op, sizes, inputs=None, more=(), outputs=("y",), opset=OPSET, **attrs):
    """op over Expands of one element to these sizes."""
    nodes = [helper.make_node("Expand", ["v", f"s{i}"], [f"e{i}"]) for i in range(len(sizes))]
    nodes.append(helper.make_node(op, inputs or [f"e{i}" for i in range(len(sizes))], list(outputs),
                                  name="n", **attrs))
    return save(nodes, [array("v", 1, np.float32), *more,
                        *(array(f"s{i}", s) for i, s in enumerate(sizes))], outputs=outputs[:1],
                opset=opset)


@bomb("time", "MatMul")
def long_matmul():
    return long("MatMul", [[9000, 3000], [3000, 9000]])


@bomb("time", "Gemm")
def long_gemm_of_doubles():
    return save([helper.make_node("Expand", ["v", "s"], ["e"]),
                 helper.make_node("Gemm", ["e", "e"], ["y"], name="n")],
                [array("v", 1, np.float64), array("s", [5000, 5000])])


@bomb("time", "MatMulInteger")
def long_matmul_integer():
    return save([helper.make_node("Expand", ["v", "s"], ["e"]),
                 helper.make_node("MatMulInteger", ["e", "e"], ["y"], name="n")],
                [array("v", 1, np.uint8), array("s", [5000, 5000])])


@bomb("time", "Conv")
def long_conv():
    return long("Conv", [[1, 16, 400, 400], [16, 16, 101, 101]], pads=[50] * 4)


@bomb("time", "Conv")
def long_conv_in_one_dimension():
    return long("Conv", [[1, 1, 1 << 20], [1, 1, 1 << 18]])


@bomb("time", "ConvTranspose")
def long_conv_transpose():
    return long("ConvTranspose", [[1, 8, 200, 200], [8, 8, 301, 301]])


@bomb("time", "ConvInteger")
def long_conv_integer():
    return save([helper.make_node("Expand", ["v", "s"], ["e"]),
                 helper.make_node("Expand", ["v", "t"], ["w"]),
                 helper.make_node("ConvInteger", ["e", "w"], ["y"], name="n", pads=[50] * 4)],
                [array("v", 1, np.uint8), array("s", [1, 4, 400, 400]),
                 array("t", [4, 4, 101, 101])])


@bomb("time", "DeformConv")
def long_deform_conv():
    return save([helper.make_node("Expand", ["v", s], [e]) for s, e in
                 (("s", "x"), ("t", "w"), ("u", "o"))] +
                [helper.make_node("DeformConv", ["x", "w", "o"], ["y"], name="n")],
                [array("v", 1, np.float32), array("s", [1, 64, 330, 330]),
                 array("t", [256, 64, 11, 11]), array("u", [1, 242, 320, 320])])


@bomb("time", "MaxPool")
def long_pool():
    return long("MaxPool", [[1, 1, 3000, 3000]], kernel_shape=[1500, 1500])


@bomb("time", "AveragePool")
def long_average_pool():
    return long("AveragePool", [[1, 1, 3000, 3000]], kernel_shape=[1500, 1500])


@bomb("time", "LpPool")
def long_lp_pool():
    return long("LpPool", [[1, 1, 3000, 3000]], kernel_shape=[1500, 1500])


@bomb("time", "Einsum")
def long_einsum():
    return long("Einsum", [[7000, 7000]], ["e0", "e0"], equation="ij,ik->jk")


@bomb("time", "Einsum")
def long_einsum_of_three():
    return long("Einsum", [[6500, 6500]], ["e0", "e0", "e0"], equation="ia,ja,jk->ik")


@bomb("time", "Einsum")
def long_einsum_of_integers():
    return save([helper.make_node("Expand", ["v", "s"], ["e"]),
                 helper.make_node("Einsum", ["e", "e"], ["y"], name="n", equation="ij,kj->ik")],
                [array("v", 1), array("s", [2500, 2500])])


@bomb("time", "TopK")
def long_top_k():
    return save([helper.make_node("RandomUniform", [], ["x"], shape=[6 << 20]),
                 helper.make_node("TopK", ["x", "k"], ["y", "i"], name="n")],
                [array("k", [5 << 20])])


@bomb("time", "Unique")
def long_unique():
    return save([helper.make_node("RandomUniform", [], ["x"], shape=[12 << 20]),
                 helper.make_node("Unique", ["x"], ["y"], name="n")], [])


@bomb("time", "NonMaxSuppression")
def long_nms():
    return save([helper.make_node("RandomUniform", [], ["b"], shape=[1, 1 << 17, 4]),
                 helper.make_node("RandomUniform", [], ["s"], shape=[1, 4, 1 << 17]),
                 helper.make_node("NonMaxSuppression", ["b", "s", "m", "i"], ["y"], name="n")],
                [array("m", 1 << 17), array("i", 0.9999, np.float32)])


@bomb("time", "Det")
def long_det():
    return save([helper.make_node("RandomUniform", [], ["x"], shape=[3000, 3000]),
                 helper.make_node("Det", ["x"], ["y"], name="n")])


@bomb("time", "DFT")
def long_dft():
    """A length that is prime."""
    return long("DFT", [[800, 50021, 1]], ["e0", "", "axis"], [array("axis", 1)], opset=20)


@bomb("time", "STFT")
def long_stft():
    return long("STFT", [[20000, 1024, 1]], ["e0", "step", "", "length"],
                [array("step", 64), array("length", 509)])


@bomb("time", "LSTM")
def long_lstm():
    return long("LSTM", [[60000, 1, 2], [1, 2048, 2], [1, 2048, 512]], hidden_size=512)


@bomb("time", "RoiAlign")
def long_roi_align():
    return save([helper.make_node("RoiAlign", ["x", "r", "b"], ["y"], name="n", output_height=64,
                                  output_width=64, sampling_ratio=4096)],
                [array("x", np.ones((1, 1, 8, 8)), np.float32),
                 array("r", [[0, 0, 7, 7]], np.float32), array("b", [0])])


@bomb("time", "Attention")
def long_attention():
    return long("Attention", [[1, 1, 80000, 64]] * 3, opset=23)


@bomb("time", "LRN")
def long_lrn():
    return long("LRN", [[1, 10000, 20, 20]], size=9999)


@bomb("time", "TfIdfVectorizer")
def long_tfidf():
    return save([helper.make_node("Expand", ["v", "s"], ["e"]),
                 helper.make_node("TfIdfVectorizer", ["e"], ["y"], name="n", mode="TF",
                                  min_gram_length=2, max_gram_length=2, max_skip_count=100000,
                                  ngram_counts=[0, 0], ngram_indexes=[0], pool_int64s=[1, 1])],
                [array("v", 1), array("s", [1 << 20])])


@bomb("time", "Resize")
def long_resize():
    """One pass along each axis: bytes, so that memory allows for many pixels."""
    return save([helper.make_node("Expand", ["v", "s"], ["e"]),
                 helper.make_node("Resize", ["e", "", "", "t"], ["y"], name="n", mode="cubic", antialias=1)],
                [array("v", 1, np.uint8), array("s", [1, 1, 7000, 7000]), array("t", [1, 1, 6999, 6999])])


@bomb("time", "StringNormalizer")
def long_normalizer():
    """A thousand words to be compared with, of which each differs in its last letter only."""
    text = helper.make_tensor("x", STRING, [1], [b"a" * 20])
    return save([helper.make_node("Expand", ["x", "s"], ["e"]),
                 helper.make_node("StringNormalizer", ["e"], ["y"], name="n", case_change_action="UPPER",
                                  stopwords=["a" * 19 + "b"] * 1000)], [text, array("s", [12 << 20])])


@bomb("time", "RegexFullMatch")
def long_regex():
    """No text takes long enough to be refused, all together do."""
    text = helper.make_tensor("x", STRING, [1], [b"a" * 20 + b"b"])
    return save([helper.make_node("Expand", ["x", "s"], ["e"]),
                 helper.make_node("RegexFullMatch", ["e"], ["y"], name="n", pattern="(a|aa|aaa)*[cd]")],
                [text, array("s", [1 << 16])])


@bomb("time", "GRU")
def long_gru():
    return long("GRU", [[60000, 1, 2], [1, 3072, 2], [1, 3072, 1024]], hidden_size=1024)


@bomb("time", "MaxPool")
def long_pool_with_indices():
    return long("MaxPool", [[1, 1, 2000, 2000]], outputs=["y", "i"], kernel_shape=[1000, 1000])


@bomb("time", "MaxPool")
def long_pool_in_one_dimension():
    return long("MaxPool", [[1, 1, 4 << 20]], kernel_shape=[1 << 20])


@bomb("time", "AveragePool")
def long_average_pool_of_channels():
    return long("AveragePool", [[1, 64, 400, 400]], kernel_shape=[200, 200])


@bomb("time", "Pow")
def long_pow_chain():
    nodes, last = [helper.make_node("Expand", ["v", "s"], ["e"])], "e"
    for i in range(3000):
        nodes.append(helper.make_node("Pow", [last, "p"], [f"m{i}"], name=f"m{i}"))
        last = f"m{i}"
    nodes.append(helper.make_node("Identity", [last], ["y"]))
    return save(nodes, [array("v", 1.5, np.float64), array("p", 1.0001, np.float64),
                        array("s", [1 << 20])])


@bomb("time", "TreeEnsembleRegressor", "SVMRegressor")
def long_svm():
    vectors = 1000
    return save([helper.make_node("Expand", ["v", "s"], ["e"]),
                 helper.make_node("SVMRegressor", ["e"], ["y"], name="n", domain="ai.onnx.ml",
                                  kernel_type="RBF", kernel_params=[0.1, 0.0, 3.0],
                                  n_supports=vectors, coefficients=[1.0] * vectors, rho=[0.0],
                                  support_vectors=[1.0] * (vectors * 8))],
                [array("v", 1, np.float32), array("s", [1 << 22, 8])],
                domains=[("ai.onnx.ml", 3)])
