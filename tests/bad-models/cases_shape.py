"""Shapes that do not fit, as far as they can be known while a model is loaded."""
import numpy as np
from onnx import helper, numpy_helper

from cases_graph import floats, save
from wire import case


def array(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.array(values, dtype), name)


def one(op, inputs, shapes, inits=(), outputs=("y",), **attrs):
    """One node 'n' over float32 inputs of these shapes and constants."""
    made = helper.make_node(op, inputs, list(outputs), name="n", **attrs)
    open_inputs = [floats(name, *shape) for name, shape in shapes.items()]
    return save([made], open_inputs, [helper.make_empty_tensor_value_info(o) for o in outputs],
                inits)


@case("node 'n' (Conv): input 1 has rank 3, expected 4")
def conv_rank_mismatch():
    return one("Conv", ["x", "w"], {"x": (1, 3, 8, 8), "w": (4, 3, 3)})


@case("node 'n' (Conv): channels of the input and of the kernel times group: 3 and 2 differ")
def conv_channel_mismatch():
    return one("Conv", ["x", "w"], {"x": (1, 3, 8, 8), "w": (4, 2, 3, 3)})


@case("node 'n' (Conv): strides[0] is 0, expected 1 to ")
def conv_stride_0():
    return one("Conv", ["x", "w"], {"x": (1, 3, 8, 8), "w": (4, 3, 3, 3)}, strides=[0, 1])


@case("node 'n' (Conv): group is 0, expected at least 1")
def conv_group_0():
    return one("Conv", ["x", "w"], {"x": (1, 3, 8, 8), "w": (4, 3, 3, 3)}, group=0)


@case("node 'n' (Conv): a window of 4 does not fit into spatial axis 0, which is 2 long")
def conv_kernel_larger_than_image():
    return one("Conv", ["x", "w"], {"x": (1, 3, 2, 2), "w": (4, 3, 4, 4)})


@case("node 'n' (MatMul): inner dimension of A and B: 3 and 4 differ")
def matmul_inner_mismatch():
    return one("MatMul", ["a", "b"], {"a": (2, 3), "b": (4, 5)})


@case("node 'n' (Gemm): inner dimension of A and B: 3 and 4 differ")
def gemm_inner_mismatch():
    return one("Gemm", ["a", "b"], {"a": (2, 3), "b": (4, 5)})


@case("node 'n' (Concat): input 1 has rank 3, but others have 2")
def concat_rank_mismatch():
    return one("Concat", ["a", "b"], {"a": (2, 3), "b": (2, 3, 1)}, axis=0)


@case("node 'n' (Concat): dims besides the axis: 3 and 4 differ")
def concat_dim_mismatch():
    return one("Concat", ["a", "b"], {"a": (2, 3), "b": (2, 4)}, axis=0)


@case("node 'n' (Concat): axis 2 lies outside [-2, 2)")
def concat_axis_out_of_range():
    return one("Concat", ["a", "b"], {"a": (2, 3), "b": (2, 3)}, axis=2)


@case("node 'n' (Reshape): number of elements before and after: 6 and 8 differ")
def reshape_count_mismatch():
    return one("Reshape", ["x", "s"], {"x": (2, 3)}, [array("s", [4, 2])])


@case("node 'n' (Reshape): more than one entry of shape is -1")
def reshape_with_two_open_dims():
    return one("Reshape", ["x", "s"], {"x": (2, 3)}, [array("s", [-1, -1])])


@case("node 'n' (Reshape): shape[1] is -3; only -1 may be negative")
def reshape_to_a_negative_dim():
    return one("Reshape", ["x", "s"], {"x": (2, 3)}, [array("s", [2, -3])])


@case("node 'n' (Reshape): shape[2] is 0 (copy the dim), but the input has rank 2")
def reshape_0_past_the_rank():
    return one("Reshape", ["x", "s"], {"x": (2, 3)}, [array("s", [2, 3, 0])])


@case("node 'n' (Add): dimensions 3 and 4 cannot be broadcast together")
def add_not_broadcastable():
    return one("Add", ["a", "b"], {"a": (2, 3), "b": (2, 4)})


@case("node 'n' (Gather): axis 5 lies outside [-2, 2)")
def gather_axis_out_of_range():
    return one("Gather", ["x", "i"], {"x": (2, 3)}, [array("i", [0])], axis=5)


@case("node 'n' (Transpose): perm has axis 0 twice")
def transpose_perm_repeats():
    return one("Transpose", ["x"], {"x": (2, 3)}, perm=[0, 0])


@case("node 'n' (Transpose): perm[1] is 2, outside [0, 2)")
def transpose_perm_out_of_range():
    return one("Transpose", ["x"], {"x": (2, 3)}, perm=[0, 2])


@case("node 'n' (Transpose): perm has 1 entries, but the input has rank 2")
def transpose_perm_too_short():
    return one("Transpose", ["x"], {"x": (2, 3)}, perm=[0])


@case("node 'n' (Squeeze): axis 1 is 3 long; only axes of length 1 can go")
def squeeze_of_a_dim_not_1():
    return one("Squeeze", ["x", "a"], {"x": (2, 3)}, [array("a", [1])])


@case("node 'n' (Unsqueeze): axis 9 lies outside [-3, 3)")
def unsqueeze_axis_out_of_range():
    return one("Unsqueeze", ["x", "a"], {"x": (2, 3)}, [array("a", [9])])


@case("node 'n' (Split): sum of the lengths and the split axis: 6 and 7 differ")
def split_sizes_do_not_add_up():
    return one("Split", ["x", "s"], {"x": (2, 7)}, [array("s", [3, 3])], ("y", "z"), axis=1)


@case("node 'n' (Slice): a step is 0")
def slice_step_0():
    return one("Slice", ["x", "b", "e", "a", "s"], {"x": (2, 3)},
               [array("b", [0]), array("e", [1]), array("a", [0]), array("s", [0])])


@case("node 'n' (Slice): starts has 2 entries, but ends has 1")
def slice_with_more_starts_than_ends():
    return one("Slice", ["x", "b", "e"], {"x": (2, 3)}, [array("b", [0, 0]), array("e", [1])])


@case("node 'n' (Pad): pads has 3 entries for 2 axes")
def pad_count_mismatch():
    return one("Pad", ["x", "p"], {"x": (2, 3)}, [array("p", [0, 1, 1])])


@case("node 'n' (Expand): axis 1 of length 3 cannot be expanded to 4")
def expand_not_broadcastable():
    return one("Expand", ["x", "s"], {"x": (2, 3)}, [array("s", [2, 4])])


@case("node 'n' (Tile): repeats has 3 entries, but the input has rank 2")
def tile_repeats_of_wrong_length():
    return one("Tile", ["x", "r"], {"x": (2, 3)}, [array("r", [1, 2, 3])])


@case("node 'n' (Tile): axis 1 cannot be repeated -2 times")
def tile_negative_repeat():
    return one("Tile", ["x", "r"], {"x": (2, 3)}, [array("r", [1, -2])])


@case("node 'n' (ConstantOfShape): dimension 1 of output 0 would be -3")
def constant_of_negative_shape():
    return one("ConstantOfShape", ["s"], {}, [array("s", [2, -3])])


@case("node 'n' (ReduceSum): axis 4 lies outside [-2, 2)")
def reduce_axis_out_of_range():
    return one("ReduceSum", ["x", "a"], {"x": (2, 3)}, [array("a", [4])])


@case("node 'n' (MaxPool): the attributes speak of 1 spatial axes, the input of rank 4 has 2")
def pool_kernel_of_wrong_rank():
    return one("MaxPool", ["x"], {"x": (1, 1, 8, 8)}, kernel_shape=[2])


@case("node 'n' (MaxPool): kernel_shape[0] is 0, expected 1 to ")
def pool_kernel_0():
    return one("MaxPool", ["x"], {"x": (1, 1, 8, 8)}, kernel_shape=[0, 2])


@case("node 'n' (BatchNormalization): channels of the input and of a parameter: 2 and 3 differ")
def batch_norm_scale_of_wrong_size():
    return one("BatchNormalization", ["x", "s", "b", "m", "v"],
               {"x": (1, 3, 4), "s": (2,), "b": (3,), "m": (3,), "v": (3,)})


@case("node 'n' (Einsum): input 0 has rank 2, its term in the equation 3")
def einsum_rank_mismatch():
    return one("Einsum", ["a", "b"], {"a": (2, 3), "b": (3, 4)}, equation="ijk,jk->i")


@case("node 'n' (Einsum): the equation goes on behind the output term")
def einsum_without_sense():
    return one("Einsum", ["a"], {"a": (2, 3)}, equation="i->->j!")


@case("node 'n' (LSTM): dim of W: 3 and 4 differ")
def lstm_weights_do_not_fit():
    return one("LSTM", ["x", "w", "r"], {"x": (5, 1, 4), "w": (1, 8, 3), "r": (1, 8, 2)},
               hidden_size=2)


@case("node 'n' (Reshape): input 1 must have rank 1, not 2")
def reshape_shape_of_rank_2():
    return one("Reshape", ["x", "s"], {"x": (2, 3)}, [array("s", [[2, 3]])])


@case("node 'n' (Reshape): input 1 has type float32; operator Reshape version 21 of domain ai.onnx "
      "takes int64", code=4)
def reshape_to_floats():
    return one("Reshape", ["x", "s"], {"x": (2, 3)}, [array("s", [2, 3], np.float32)])


@case("node 'n' (Unsqueeze): output 0 would have rank 17; at most 16 is supported")
def rank_above_the_limit():
    big = {"x": (1,) * 16}
    return one("Unsqueeze", ["x", "a"], big, [array("a", [0])])


@case("node 'n' (Conv): the kernel has 0 taps along spatial axis 0")
def conv_kernel_of_size_0():
    return one("Conv", ["x", "w"], {"x": (1, 3, 8, 8), "w": (4, 3, 0, 3)})


@case("node 'n' (ConvTranspose): the kernel has 0 taps along spatial axis 0")
def conv_transpose_kernel_of_size_0():
    return one("ConvTranspose", ["x", "w"], {"x": (1, 3, 8, 8), "w": (3, 4, 0, 3)})
