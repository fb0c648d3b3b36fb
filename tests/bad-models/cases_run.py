"""Good models with bad inputs, and data that only a run can show to be wrong."""
import os
import struct

import numpy as np
from onnx import TensorProto, helper

from cases_bomb import of
from cases_graph import floats, save
from cases_shape import array
from wire import case


def npy(folder, name, values):
    np.save(os.path.join(folder, name), values)


def relu(*shape):
    return save([helper.make_node("Relu", ["x"], ["y"], name="r")], [floats("x", *shape)],
                [floats("y", *shape)])


def given(name):
    return ("--input", "x={dir}/" + name)


# ---- which inputs -----------------------------------------------------------

@case("input 'x' (float32[2,3]) is not given; use --input x=FILE", code=2, args=(), only="run")
def input_not_given():
    return relu(2, 3)


@case("the model has no input 'z'; it has 'x'", code=2, args=("--input", "z={dir}/a.npy"),
      only="run")
def input_unknown(folder):
    npy(folder, "a.npy", np.zeros((2, 3), np.float32))
    return relu(2, 3)


@case("--random needs a size for dimension 0 of input 'x' (float32[N,3])", code=2, only="run")
def dimension_not_given():
    return relu("N", 3)


@case("--dim M: the model has no dimension of that name; it has 'N'", code=2, only="run",
      args=("--random", "1", "--dim", "M=2"))
def dimension_unknown():
    return relu("N", 3)


@case("a.npy: cannot open: No such file or directory", args=given("a.npy"), only="run")
def input_file_missing():
    return relu(2, 3)


@case("a.npy: not a regular file", args=given("a.npy"), only="run")
def input_file_is_a_pipe(folder):
    os.mkfifo(os.path.join(folder, "a.npy"))
    return relu(2, 3)


@case("a.npy: not a regular file", args=given("a.npy"), only="run")
def input_file_is_a_folder(folder):
    os.mkdir(os.path.join(folder, "a.npy"))
    return relu(2, 3)


# ---- type and shape ---------------------------------------------------------

@case("input 'x' is float64, the model expects float32", args=given("a.npy"), only="run")
def input_of_wrong_type(folder):
    npy(folder, "a.npy", np.zeros((2, 3)))
    return relu(2, 3)


@case("input 'x' has rank 1, the model expects 2", args=given("a.npy"), only="run")
def input_of_wrong_rank(folder):
    npy(folder, "a.npy", np.zeros(6, np.float32))
    return relu(2, 3)


@case("input 'x' has size 4 in dimension 1, the model expects 3", args=given("a.npy"), only="run")
def input_of_wrong_size(folder):
    npy(folder, "a.npy", np.zeros((2, 4), np.float32))
    return relu(2, 3)


@case("input 'z' has size 5 in dimension 0 ('N'), another input has 4 there", only="run",
      args=("--input", "x={dir}/a.npy", "--input", "z={dir}/b.npy"))
def symbol_in_conflict(folder):
    npy(folder, "a.npy", np.zeros(4, np.float32))
    npy(folder, "b.npy", np.zeros(5, np.float32))
    return save([helper.make_node("Add", ["x", "z"], ["y"], name="n")],
                [floats("x", "N"), floats("z", "N")], [floats("y", "N")])


@case("input 'z' has size 6 in dimension 0, the model expects N + 1 (5)", only="run",
      args=("--input", "x={dir}/a.npy", "--input", "z={dir}/b.npy"))
def expression_in_conflict(folder):
    npy(folder, "a.npy", np.zeros(4, np.float32))
    npy(folder, "b.npy", np.zeros(6, np.float32))
    return save([helper.make_node("Concat", ["x", "z"], ["y"], name="n", axis=0)],
                [floats("x", "N"), floats("z", "N + 1")], [floats("y", "M")])


@case("node 'n' (Add): dimension 0 of output 'y', broadcast(N, M), has no value for these input "
      "shapes (N = 4, M = 5)", only="run",
      args=("--input", "x={dir}/a.npy", "--input", "z={dir}/b.npy"))
def symbols_that_do_not_broadcast(folder):
    npy(folder, "a.npy", np.zeros(4, np.float32))
    npy(folder, "b.npy", np.zeros(5, np.float32))
    return save([helper.make_node("Add", ["x", "z"], ["y"], name="n")],
                [floats("x", "N"), floats("z", "M")], [floats("y", "K")])


@case("node 'n' (MatMul)", "4 and 5 differ", only="run",
      args=("--input", "x={dir}/a.npy", "--input", "z={dir}/b.npy"))
def symbols_that_do_not_multiply(folder):
    npy(folder, "a.npy", np.zeros((2, 4), np.float32))
    npy(folder, "b.npy", np.zeros((5, 2), np.float32))
    return save([helper.make_node("MatMul", ["x", "z"], ["y"], name="n")],
                [floats("x", "B", "N"), floats("z", "M", "C")], [floats("y", "B", "C")])


@case("node 'n' (Sum): broadcast dimensions: broadcast(N, M) has no value for these input shapes "
      "(N = 2, M = 3)", only="run",
      args=("--input", "x={dir}/a.npy", "--input", "z={dir}/b.npy"))
def three_sizes_that_do_not_broadcast(folder):
    """The constant decides the result's size, whatever the other two are."""
    npy(folder, "a.npy", np.zeros(2, np.float32))
    npy(folder, "b.npy", np.zeros(3, np.float32))
    return save([helper.make_node("Sum", ["x", "z", "w"], ["y"], name="n")],
                [floats("x", "N"), floats("z", "M")], [floats("y", 3)],
                [array("w", [1, 2, 3], np.float32)])


@case(code=0, args=given("a.npy"), only="run")
def declared_shape_that_lies_is_not_trusted(folder):
    npy(folder, "a.npy", np.zeros(100, np.float32))
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["m"]),
                              helper.make_node("Neg", ["m"], ["y"])], "g",
                             [helper.make_empty_tensor_value_info("x")],
                             [helper.make_empty_tensor_value_info("y")],
                             value_info=[floats("m", 2)])
    made = helper.make_model(body, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return made.SerializeToString(deterministic=True)


# ---- broken .npy files ------------------------------------------------------

def header(text, version=1, length=None):
    text = text.encode() + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text


def with_file(folder, content):
    with open(os.path.join(folder, "a.npy"), "wb") as file:
        file.write(content)
    return relu(2, 3)


def descr(kind="<f4", shape="(2, 3)", fortran="False"):
    return f"{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}"


def npy_case(*says, code=3):
    return case(*says, code=code, args=given("a.npy"), only="run")


@npy_case(code=0)
def npy_without_mistake(folder):
    return with_file(folder, header(descr()) + b"\0" * 24)


@npy_case("a.npy: not a .npy file")
def npy_empty(folder):
    return with_file(folder, b"")


@npy_case("a.npy: not a .npy file")
def npy_of_text(folder):
    return with_file(folder, b"1.0, 2.0, 3.0\n4.0, 5.0, 6.0\n")


@npy_case("a.npy: the header is cut off")
def npy_header_cut_off(folder):
    return with_file(folder, header(descr())[:40])


@npy_case("a.npy: the header is cut off")
def npy_header_length_lies(folder):
    return with_file(folder, header(descr(), 2, 0xFFFFFFFF) + b"\0" * 24)


@npy_case("a.npy: the header is cut off")
def npy_header_of_one_byte_too_many(folder):
    """All of it is there but for the last byte that it claims, so that only the length tells."""
    return with_file(folder, header(descr(), 1, len(descr()) + 2))


@npy_case("a.npy: the file has 20 bytes of data, its shape needs 24")
def npy_data_cut_off(folder):
    return with_file(folder, header(descr()) + b"\0" * 20)


@npy_case("a.npy: the file has 24 bytes of data, its shape needs 4000000000000")
def npy_header_claims_too_much(folder):
    return with_file(folder, header(descr(shape="(1000000, 1000000)")) + b"\0" * 24)


@npy_case("a.npy: the size of the float32 tensor passes what memory can hold")
def npy_shape_overflows(folder):
    return with_file(folder, header(descr(shape="(4611686018427387904, 4)")) + b"\0" * 24)


@npy_case("a.npy: the header's shape is malformed")
def npy_negative_shape(folder):
    return with_file(folder, header(descr(shape="(-2, -3)")) + b"\0" * 24)


@npy_case("a.npy: the header's shape is malformed or has more than 16 dimensions")
def npy_rank_17(folder):
    return with_file(folder, header(descr(shape="(" + "1, " * 17 + ")")) + b"\0" * 4)


@npy_case("a.npy: the header has no shape")
def npy_without_shape(folder):
    return with_file(folder, header("{'descr': '<f4', 'fortran_order': False}") + b"\0" * 24)


@npy_case("a.npy: arrays of records are not supported")
def npy_of_records(folder):
    text = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }"
    return with_file(folder, header(text) + b"\0" * 24)


@npy_case("a.npy: element type 'O' is not supported")
def npy_of_objects(folder):
    return with_file(folder, header(descr("|O")) + b"\0" * 24)


@npy_case("a.npy: 4000000000 elements of text of width 0")
def npy_of_endless_empty_text(folder):
    """Elements of width 0 take no bytes in the file, yet 16 each in memory."""
    return with_file(folder, header(descr("<U0", "(4000000000,)")))


# ---- broken .pb files -------------------------------------------------------

@case("a.pb: ", "passes the end of the enclosing message", args=given("a.pb"), only="run")
def pb_cut_off(folder):
    tensor = helper.make_tensor("x", TensorProto.FLOAT, [2, 3], bytes(24), raw=True)
    with open(os.path.join(folder, "a.pb"), "wb") as file:
        file.write(tensor.SerializeToString()[:-3])
    return relu(2, 3)


@case("a.pb: tensor 'x' has 20 bytes of data; its shape and type need 24", args=given("a.pb"),
      only="run")
def pb_too_short(folder):
    tensor = helper.make_tensor("x", TensorProto.FLOAT, [2, 3], bytes(24), raw=True)
    tensor.raw_data = bytes(20)
    with open(os.path.join(folder, "a.pb"), "wb") as file:
        file.write(tensor.SerializeToString())
    return relu(2, 3)


@case("a.pb: tensor 'x' has external data, but", args=given("a.pb"), only="run")
def pb_with_external_data(folder):
    tensor = TensorProto(name="x", data_type=TensorProto.FLOAT, dims=[2, 3], data_location=1)
    tensor.external_data.add(key="location", value="/etc/passwd")
    with open(os.path.join(folder, "a.pb"), "wb") as file:
        file.write(tensor.SerializeToString())
    return relu(2, 3)


# ---- values -----------------------------------------------------------------

def values_case(*says, code=3):
    return case(*says, code=code, args=given("a.npy"), only="run")


@values_case("node 'n' (Gather): index 7 lies outside [-3, 3)")
def gather_index_out_of_range(folder):
    npy(folder, "a.npy", np.array([0, 7]))
    return save([helper.make_node("Gather", ["w", "x"], ["y"], name="n")], [of("x", 2)],
                [floats("y", 2)], [array("w", [1, 2, 3], np.float32)])


@values_case("node 'n' (Gather): index -4 lies outside [-3, 3)")
def gather_index_too_negative(folder):
    npy(folder, "a.npy", np.array([0, -4]))
    return save([helper.make_node("Gather", ["w", "x"], ["y"], name="n")], [of("x", 2)],
                [floats("y", 2)], [array("w", [1, 2, 3], np.float32)])


@values_case("node 'n' (GatherElements): index 3 lies outside [-3, 3)")
def gather_elements_index_out_of_range(folder):
    npy(folder, "a.npy", np.array([3]))
    return save([helper.make_node("GatherElements", ["w", "x"], ["y"], name="n")], [of("x", 1)],
                [floats("y", 1)], [array("w", [1, 2, 3], np.float32)])


@values_case("node 'n' (GatherND): index 9 lies outside [-3, 3)")
def gather_nd_index_out_of_range(folder):
    npy(folder, "a.npy", np.array([[0, 9]]))
    return save([helper.make_node("GatherND", ["w", "x"], ["y"], name="n")], [of("x", 1, 2)],
                [floats("y", 1)], [array("w", [[1, 2, 3]], np.float32)])


@values_case("node 'n' (ScatterElements): index 3 lies outside [-3, 3)")
def scatter_index_out_of_range(folder):
    npy(folder, "a.npy", np.array([3]))
    return save([helper.make_node("ScatterElements", ["w", "x", "u"], ["y"], name="n")],
                [of("x", 1)], [floats("y", 3)],
                [array("w", [1, 2, 3], np.float32), array("u", [9], np.float32)])


@values_case("node 'n' (ScatterND): index 5 lies outside [-3, 3)")
def scatter_nd_index_out_of_range(folder):
    npy(folder, "a.npy", np.array([[5]]))
    return save([helper.make_node("ScatterND", ["w", "x", "u"], ["y"], name="n")],
                [of("x", 1, 1)], [floats("y", 3)],
                [array("w", [1, 2, 3], np.float32), array("u", [9], np.float32)])


@values_case("node 'n' (Div): integer division by zero: element 1 of input B is 0")
def integer_division_by_zero(folder):
    npy(folder, "a.npy", np.array([3, 0]))
    return save([helper.make_node("Div", ["w", "x"], ["y"], name="n")], [of("x", 2)], [of("y", 2)],
                [array("w", [1, 2])])


@values_case("node 'n' (Mod): integer division by zero: element 1 of input B is 0")
def integer_remainder_by_zero(folder):
    npy(folder, "a.npy", np.array([3, 0]))
    return save([helper.make_node("Mod", ["w", "x"], ["y"], name="n")], [of("x", 2)], [of("y", 2)],
                [array("w", [1, 2])])


@values_case(code=0)
def smallest_integer_divided_by_minus_1(folder):
    npy(folder, "a.npy", np.array([-1]))
    return save([helper.make_node("Div", ["w", "x"], ["y"], name="n")], [of("x", 1)], [of("y", 1)],
                [array("w", [-(1 << 63)])])


@values_case("node 'n' (Reshape): number of elements before and after: 6 and 8 differ")
def reshape_mismatch_at_run_time(folder):
    npy(folder, "a.npy", np.array([4, 2]))
    return save([helper.make_node("Reshape", ["w", "x"], ["y"], name="n")], [of("x", 2)],
                [floats("y", "a", "b")], [array("w", [[1, 2, 3], [4, 5, 6]], np.float32)])


@values_case("node 'n' (TopK): k is 4, expected a number from 0 to the axis' size")
def top_k_larger_than_the_axis(folder):
    npy(folder, "a.npy", np.array([4]))
    return save([helper.make_node("TopK", ["w", "x"], ["y", "i"], name="n")], [of("x", 1)],
                [floats("y", "k")], [array("w", [1, 2, 3], np.float32)])


@values_case("node 'n' (Slice): a step is 0")
def slice_step_0_at_run_time(folder):
    npy(folder, "a.npy", np.array([0]))
    return save([helper.make_node("Slice", ["w", "z", "e", "z", "x"], ["y"], name="n")],
                [of("x", 1)], [floats("y", "k")],
                [array("w", [1, 2, 3], np.float32), array("z", [0]), array("e", [3])])


@values_case("node 'n' (Expand): shape asks for length -3 on axis 0")
def expand_to_negative_at_run_time(folder):
    npy(folder, "a.npy", np.array([-3]))
    return save([helper.make_node("Expand", ["w", "x"], ["y"], name="n")], [of("x", 1)],
                [floats("y", "k")], [array("w", [1], np.float32)])


@values_case("node 'n' (Pad): padding leaves axis 0 with length -1")
def pad_to_less_than_nothing_at_run_time(folder):
    npy(folder, "a.npy", np.array([-2, -2]))
    return save([helper.make_node("Pad", ["w", "x"], ["y"], name="n")], [of("x", 2)],
                [floats("y", "k")], [array("w", [1, 2, 3], np.float32)])


@values_case("node 'n' (OneHot): depth is -2")
def one_hot_of_negative_depth(folder):
    npy(folder, "a.npy", np.array([-2]))
    return save([helper.make_node("OneHot", ["i", "x", "v"], ["y"], name="n")], [of("x", 1)],
                [floats("y", 1, "k")], [array("i", [0]), array("v", [0, 1], np.float32)])
