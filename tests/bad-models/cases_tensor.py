"""Mistakes in the data of tensors, dense and sparse."""
import struct

from wire import (FLOAT, INT8, INT32, INT64, STRING, UINT8, case, data, f32, graph, model, node,
                  num, raw, sparse, tensor, varint, with_tensor)


@case("a tensor has the dimension -2; dimensions are at least 0")
def tensor_negative_dim():
    return with_tensor(tensor(FLOAT, [-2], raw(b"")))


@case("tensor 'w': the product of its dimensions is too large")
def tensor_dims_overflow():
    return with_tensor(tensor(FLOAT, [1 << 32, 1 << 32], raw(b"\0" * 8)))


@case("a tensor has the dimension 4611686018427387906: too large")
def tensor_of_4e18_floats_in_8_bytes():
    """Four times the count is 8 once it has wrapped around 64 bits."""
    return with_tensor(tensor(FLOAT, [4611686018427387906], raw(b"\0" * 8)))


@case("tensor 'w' is too large for any machine")
def tensor_of_4e18_floats_by_two_dims_in_8_bytes():
    return with_tensor(tensor(FLOAT, [2, 2305843009213693953], raw(b"\0" * 8)))


@case("tensor 'w' has 8 bytes of data; its shape and type need 4611686018427387904")
def tensor_of_1e18_floats_in_8_bytes():
    return with_tensor(tensor(FLOAT, [1 << 60], raw(b"\0" * 8)))


@case("tensor 'w' is too large for any machine")
def tensor_bytes_overflow():
    return with_tensor(tensor(FLOAT, [1 << 31, 1 << 31], raw(b"\0" * 8)))


@case("a tensor has the dimension 4611686018427387904: too large")
def empty_tensor_with_a_huge_dim():
    return with_tensor(tensor(FLOAT, [0, 1 << 62]))


@case("tensor 'w' has 7 bytes of data; its shape and type need 8")
def raw_data_too_short():
    return with_tensor(tensor(FLOAT, [2], raw(b"\0" * 7)))


@case("tensor 'w' has 9 bytes of data; its shape and type need 8")
def raw_data_too_long():
    return with_tensor(tensor(FLOAT, [2], raw(b"\0" * 9)))


@case("tensor 'w' has 3 bytes of data; its shape and type need 2")
def raw_data_too_long_for_int4():
    return with_tensor(tensor(22, [3], raw(b"\0" * 3)))


@case("tensor 'w' has 0 entries of data; its shape needs 2")
def tensor_without_data():
    return with_tensor(tensor(FLOAT, [2]))


@case("a tensor has two data fields, raw_data and float_data")
def two_data_fields():
    return with_tensor(tensor(FLOAT, [1], raw(b"\0" * 4) + f32(4, 1.0)))


@case("a tensor has raw_data twice")
def raw_data_twice():
    return with_tensor(tensor(FLOAT, [1], raw(b"\0" * 2) + raw(b"\0" * 2)))


@case("tensor 'w' of type float32 has its data in int64_data; raw_data or float_data is expected")
def data_in_the_wrong_field():
    return with_tensor(tensor(FLOAT, [1], num(7, 1)))


@case("tensor 'w' of type int64 has its data in int32_data; raw_data or int64_data is expected")
def int64_in_int32_data():
    return with_tensor(tensor(INT64, [1], num(5, 1)))


@case("entry 1 of the tensor is 200, which does not fit int8")
def int8_entry_out_of_range():
    return with_tensor(tensor(INT8, [2], data(5, varint(5) + varint(200))))


@case("entry 0 of the tensor is -1, which does not fit uint8")
def uint8_entry_out_of_range():
    return with_tensor(tensor(UINT8, [1], num(5, -1)))


@case("entry 0 of the tensor is 65536, which does not fit float16")
def float16_entry_out_of_range():
    return with_tensor(tensor(10, [1], num(5, 65536)))


@case("entry 0 of the tensor is 4294967296, which does not fit uint32")
def uint32_entry_out_of_range():
    return with_tensor(tensor(12, [1], num(11, 1 << 32)))


@case("entry 1 of the tensor is 2, which does not fit bool")
def bool_entry_out_of_range():
    return with_tensor(tensor(9, [2], data(5, b"\x01\x02")))


@case("tensor 'w' has 3 entries of data; its shape needs 2")
def too_many_entries():
    return with_tensor(tensor(INT32, [2], data(5, b"\x01\x02\x03")))


@case("tensor 'w' has 1 entries of data; its shape needs 2")
def too_few_entries_for_a_complex_number():
    return with_tensor(tensor(14, [1], f32(4, 1.0)))


@case("tensor 'w' has 2 entries of data; its shape needs 3")
def too_few_strings():
    return with_tensor(tensor(STRING, [3], data(6, "a") + data(6, "b")))


@case("tensor 'w' has element type 99", code=4)
def tensor_type_99():
    return with_tensor(tensor(99, [1], raw(b"\0")))


@case("tensor 'w' has element type 29", code=4)
def tensor_type_one_past_the_last():
    return with_tensor(tensor(29, [1], raw(b"\0")))


@case("tensor 'w' has element type 0")
def tensor_type_0():
    return with_tensor(tensor(0, [1], raw(b"\0")))


@case("tensor 'w' has element type -1")
def tensor_type_negative():
    return with_tensor(tensor(-1, [1], raw(b"\0")))


@case("string tensor 'w' has raw data; strings are in string_data")
def string_tensor_with_raw_data():
    return with_tensor(tensor(STRING, [1], raw(b"abc")))


@case("a tensor is stored in segments", code=4)
def tensor_in_segments():
    return with_tensor(tensor(FLOAT, [1], raw(b"\0" * 4) + data(3, num(1, 0) + num(2, 1))))


@case("a tensor has more than 16 dimensions", code=4)
def tensor_rank_17():
    return with_tensor(tensor(FLOAT, [1] * 17, raw(b"\0" * 4)))


@case("node 'n' (ConstantOfShape): ", "bytes of data; its shape and type need 4")
def attribute_tensor_too_short():
    value = data(1, "value") + data(5, tensor(FLOAT, [1], raw(b"\0" * 3))) + num(20, 4)
    return model(graph(node("ConstantOfShape", ["x"], ["y"], value)))


# ---- sparse -----------------------------------------------------------------

def i64(*numbers):
    return raw(struct.pack(f"<{len(numbers)}q", *numbers))


def with_sparse(values, indices, sizes):
    return model(graph(node("Identity", ["w"], ["y"]), inputs=b"", outputs=data(12, data(1, "y")),
                       rest=data(15, sparse(values, indices, sizes))))


def values(count):
    return tensor(FLOAT, [count], raw(struct.pack(f"<{count}f", *range(count))))


def indices(*numbers):
    return tensor(INT64, [len(numbers)], i64(*numbers), name="")


@case(code=0)
def sparse_without_mistake():
    return with_sparse(values(2), indices(1, 4), [2, 3])


@case(code=0)
def sparse_by_coordinates_without_mistake():
    return with_sparse(values(2), tensor(INT64, [2, 2], i64(0, 1, 1, 0), name=""), [2, 3])


@case("sparse tensor 'w': index 1 is not above the one before")
def sparse_coordinates_that_fall():
    return with_sparse(values(2), tensor(INT64, [2, 2], i64(1, 0, 0, 2), name=""), [2, 3])


@case("dims ends within a number")
def sparse_packed_dims_cut_off():
    """One good size, packed, and half of another."""
    content = data(1, values(1)) + data(2, indices(1)) + data(3, b"\x04\x80")
    return model(graph(node("Identity", ["w"], ["y"]), inputs=b"", outputs=data(12, data(1, "y")),
                       rest=data(15, content)))


@case("sparse tensor 'w': index 1 lies outside its shape")
def sparse_index_outside():
    return with_sparse(values(2), indices(1, 6), [2, 3])


@case("sparse tensor 'w': index 0 lies outside its shape")
def sparse_index_negative():
    return with_sparse(values(1), indices(-1), [2, 3])


@case("sparse tensor 'w': index 0 lies outside its shape")
def sparse_coordinate_outside():
    return with_sparse(values(1), tensor(INT64, [1, 2], i64(0, 3), name=""), [2, 3])


@case("sparse tensor 'w': index 1 is not above the one before")
def sparse_indices_unsorted():
    return with_sparse(values(2), indices(4, 1), [2, 3])


@case("sparse tensor 'w': index 1 is not above the one before")
def sparse_index_twice():
    return with_sparse(values(2), indices(4, 4), [2, 3])


@case("sparse tensor 'w': its indices must be int64 [1] or [1, 2]")
def sparse_indices_of_wrong_type():
    return with_sparse(values(1), tensor(INT32, [1], raw(b"\0" * 4), name=""), [2, 3])


@case("sparse tensor 'w': its indices must be int64 [2] or [2, 2]")
def sparse_count_mismatch():
    return with_sparse(values(2), indices(1, 2, 3), [2, 3])


@case("sparse tensor 'w': its indices must be int64 [1] or [1, 2]")
def sparse_coordinates_of_wrong_rank():
    return with_sparse(values(1), tensor(INT64, [1, 3], i64(0, 0, 0), name=""), [2, 3])


@case("sparse tensor 'w' lacks indices")
def sparse_without_indices():
    return model(graph(node("Identity", ["w"], ["y"]), inputs=b"",
                       rest=data(15, data(1, values(1)) + num(3, 6))))


@case("a sparse tensor lacks its rank-1 values")
def sparse_without_values():
    return model(graph(node("Identity", ["w"], ["y"]), inputs=b"", rest=data(15, num(3, 6))))


@case("a sparse tensor has more than 16 dimensions, or one of -2")
def sparse_negative_dim():
    return with_sparse(values(1), indices(0), [-2])


@case("sparse tensor 'w' is too large")
def sparse_dims_overflow():
    """The product fits 64 bits without sign; a flat index would not fit 63."""
    at = tensor(INT64, [1, 2], i64(4294967294, 4294967294), name="")
    return with_sparse(values(1), at, [4294967295, 4294967295])


@case("an initializer has no name")
def sparse_without_name():
    return with_sparse(tensor(FLOAT, [1], raw(b"\0" * 4), name=""), indices(0), [2])
