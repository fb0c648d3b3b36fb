"""Damage below the level of ONNX: bytes that are no protobuf, or protobuf with wrong numbers."""
from wire import (FLOAT, RELU, X, Y, case, data, dims, f32, good, graph, info, model, node, num,
                  raw, tag, tensor, tensor_type, varint, with_tensor)


# ---- files that are something else ------------------------------------------

@case("model.onnx: the file is empty")
def empty_file():
    return b""


@case("model.onnx: field 10 at byte 0: end of a group that was not begun (byte 0)")
def text_file():
    return b"This is not a model.\n"


@case("field 14 at byte 0: wire type 6 does not exist")
def git_lfs_pointer():
    return b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@case("field tag at byte 10: field number 0 is not allowed")
def png_file():
    return b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" * 4


@case("not an ONNX model: it has no IR version")
def zip_like_but_well_formed():
    return data(99, "no field of a model")


# ---- cut off ----------------------------------------------------------------

@case("field 1 at byte 0: its number is cut off by the end of the message")
def cut_in_first_field():
    return good()[:1]


@case("field 7 at byte 6: length ", "passes the end of the enclosing message")
def cut_in_graph():
    whole = good()
    return whole[:len(whole) // 2]


@case("field 7 at byte 6: length ", "passes the end of the enclosing message")
def cut_last_byte():
    return good()[:-1]


@case("the model has no graph")
def cut_before_graph():
    return good()[:6]


@case("length 40 passes the end of the enclosing message")
def cut_inside_node():
    return model(data(1, data(1, "x") + tag(2, 2) + varint(40) + b"y") + X + Y)


# ---- numbers and tags -------------------------------------------------------

@case("its number does not fit 64 bits")
def varint_overflow():
    return tag(1, 0) + b"\xff" * 9 + b"\x02"


@case("its number does not fit 64 bits")
def varint_of_eleven_bytes():
    return tag(1, 0) + b"\x80" * 10 + b"\x00"


@case("length 400 passes the end of the enclosing message (3 bytes left)")
def length_past_the_end():
    return num(1, 10) + tag(7, 2) + varint(400) + b"abc"


@case("length 18446744073709551615 passes the end")
def length_of_2_to_64():
    return num(1, 10) + tag(7, 2) + varint(-1)


@case("8 bytes pass the end of the enclosing message (3 bytes left)")
def fixed64_cut_off():
    return num(1, 10) + tag(20, 1) + b"abc"


@case("field 3 at byte 2: wire type 7 does not exist")
def bad_wire_type():
    return num(1, 10) + tag(3, 7) + b"\0\0"


@case("field number 0 is not allowed")
def field_number_0():
    return num(1, 10) + b"\x00\x01"


@case("field number 536870912 passes the largest")
def field_number_too_large():
    return num(1, 10) + tag(1 << 29, 0) + b"\x01"


@case("field 9 at byte 2: end of a group that was not begun")
def group_end_alone():
    return num(1, 10) + tag(9, 4)


@case("field 9 at byte 2: the group is not ended before the enclosing message ends")
def group_without_end():
    return num(1, 10) + tag(9, 3) + num(1, 1)


@case("field 10 at byte 3: ends a group while group 9 is open")
def group_ended_by_another():
    return num(1, 10) + tag(9, 3) + tag(10, 4)


@case("field 8 at byte 3: ends a group while group 9 is open")
def group_ended_by_a_smaller():
    return num(1, 10) + tag(9, 3) + tag(8, 4)


@case("groups are nested deeper than the limit allows", code=1)
def groups_too_deep():
    return num(1, 10) + tag(9, 3) * 100000 + tag(9, 4) * 100000


@case("messages are nested deeper than the limit allows", code=1)
def types_too_deep():
    kind = tensor_type(FLOAT, 2)
    for _ in range(300):
        kind = data(4, data(1, kind))
    return model(graph(RELU, inputs=data(11, info("x", kind))))


@case(code=0)
def unknown_fields_are_skipped():
    """Skipping must not descend: fields that ONNX does not have may hold anything at all."""
    deep = b""
    for _ in range(5000):
        deep = data(500, deep)
    return model(graph(RELU, rest=deep + num(77, 5)), rest=deep + tag(600, 3) + tag(600, 4))


# ---- right protobuf, wrong kind of field ------------------------------------

@case("field 7 'graph'", "wire type is varint but should be length-delimited")
def graph_is_a_number():
    return num(1, 10) + data(8, num(2, 21)) + num(7, 1)


@case("field 1 'ir_version'", "wire type is length-delimited but should be varint")
def ir_version_is_text():
    return data(1, "ten") + good()[2:]


@case("field 1 'node'", "wire type is varint but should be length-delimited")
def node_is_a_number():
    return model(num(1, 3) + X + Y)


@case("field 1 'input'", "wire type is varint")
def node_input_is_a_number():
    return model(graph(num(1, 3) + data(2, "y") + data(4, "Relu")))


@case("field 2 'data_type'", "wire type is length-delimited but should be varint")
def data_type_is_text():
    return with_tensor(num(1, 1) + data(2, "float") + data(8, "w") + raw(b"\0\0\0\0"))


@case("field 9 'raw_data'", "wire type is varint but should be length-delimited")
def raw_data_is_a_number():
    return with_tensor(tensor(FLOAT, [1]) + num(9, 5))


@case("field 4 'op_type'", "not valid UTF-8 at byte 2 of the text")
def name_not_utf8():
    return model(graph(node(b"Re\xfflu", ["x"], ["y"])))


@case("field 1 'name'", "a NUL character at byte 1 of the text")
def name_with_nul():
    return model(graph(RELU, inputs=data(11, info(b"x\0y", tensor_type(FLOAT, 2)))))


# ---- lists that end within a number -----------------------------------------

@case("node 'n' (Transpose)", "an attribute's list ends within a number")
def attribute_ints_cut():
    attr = data(1, "perm") + tag(8, 2) + varint(2) + b"\x01\x80" + num(20, 7)
    return model(graph(node("Transpose", ["x"], ["y"], attr)))


@case("node 'n' (Upsample)", "an attribute's list ends within a number")
def attribute_floats_cut():
    attr = data(1, "scales") + data(7, b"\0\0\x80\x3f\0") + num(20, 6)
    return model(graph(node("Upsample", ["x"], ["y"], attr)), opsets=[("", 7)])


@case("dims ends within a number")
def tensor_dims_cut():
    return with_tensor(data(1, b"\x02\x80") + num(2, FLOAT) + data(8, "w") + raw(b"\0" * 8))


@case("float_data ends within a number")
def float_data_cut():
    return with_tensor(tensor(FLOAT, [1], data(4, b"\0\0\x80")))


@case("int64_data ends within a number")
def int64_data_cut():
    return with_tensor(tensor(7, [1], data(7, b"\x80\x80")))


@case("field 2 'f'", "wire type is fixed64")
def attribute_float_of_8_bytes():
    attr = data(1, "alpha") + tag(2, 1) + b"\0" * 8 + num(20, 1)
    return model(graph(node("LeakyRelu", ["x"], ["y"], attr)))


@case("field 1 'elem_type'", "wire type is fixed32")
def elem_type_is_a_float():
    kind = data(1, f32(1, 1.0) + data(2, dims(2, 3)))
    return model(graph(RELU, inputs=data(11, info("x", kind))))
