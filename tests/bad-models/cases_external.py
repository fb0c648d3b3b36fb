"""External data: paths that leave the model's folder, what is no plain file, wrong ranges."""
import hashlib
import os

from wire import FLOAT, STRING, case, entry, num, raw, tensor, with_tensor

EXTERNAL = num(14, 1)


def external(location=None, *entries, dtype=FLOAT, sizes=(2,)):
    content = b"" if location is None else entry("location", location)
    content += b"".join(entry(key, value) for key, value in entries)
    return with_tensor(tensor(dtype, sizes, content + EXTERNAL))


def put(folder, name, content=b"\0" * 8):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    return path


@case(code=0)
def external_without_mistake(folder):
    put(folder, "w.bin", b"\0" * 24)
    digest = hashlib.sha1(b"\0" * 24).hexdigest()
    return external("w.bin", ("offset", "16"), ("length", "8"), ("checksum", digest))


@case(code=0)
def external_link_inside_the_folder(folder):
    put(folder, "sub/w.bin")
    os.symlink("sub/w.bin", os.path.join(folder, "link.bin"))
    return external("link.bin")


# ---- paths that leave -------------------------------------------------------

@case("tensor 'w': the path of its external data, '", "', is absolute; only files beneath the ")
def external_absolute(folder):
    return external(put(folder, "w.bin"))


@case("the path of its external data, '../outside.bin', has '..' in it; only files beneath the ")
def external_parent(folder):
    put(folder, "../outside.bin")
    return external("../outside.bin")


@case("the path of its external data, 'a/../w.bin', has '..' in it")
def external_parent_within(folder):
    put(folder, "w.bin")
    put(folder, "a/other.bin")
    return external("a/../w.bin")


@case("the path of its external data, '..\\w.bin', has a backslash")
def external_backslash():
    return external("..\\w.bin")


@case("tensor 'w': external data 'link/w.bin': leads out of the model's folder")
def external_through_a_linked_folder(folder):
    put(folder, "../elsewhere/w.bin")
    os.symlink("../elsewhere", os.path.join(folder, "link"))
    return external("link/w.bin")


@case("tensor 'w': external data 'link.bin': leads out of the model's folder")
def external_link_to_a_file_outside(folder):
    put(folder, "../outside2.bin")
    os.symlink("../outside2.bin", os.path.join(folder, "link.bin"))
    return external("link.bin")


@case("tensor 'w': external data 'link.bin': leads out of the model's folder")
def external_absolute_link(folder):
    path = put(folder, "w.bin")
    os.symlink(os.path.abspath(path), os.path.join(folder, "link.bin"))
    return external("link.bin")


@case("tensor 'w': external data 'fd': leads out of the model's folder")
def external_link_into_proc(folder):
    os.symlink("/proc/self/environ", os.path.join(folder, "fd"))
    return external("fd")


@case("external data 'w.bin' has more than one hard link, so it may lie outside the model's folder")
def external_hard_link(folder):
    os.link(put(folder, "../outside3.bin"), os.path.join(folder, "w.bin"))
    return external("w.bin")


@case("external data 'loop': Too many levels of symbolic links")
def external_link_to_itself(folder):
    os.symlink("loop", os.path.join(folder, "loop"))
    return external("loop")


# ---- no plain file ----------------------------------------------------------

@case("tensor 'w': external data 'd' is not a regular file")
def external_folder(folder):
    os.mkdir(os.path.join(folder, "d"))
    return external("d")


@case("tensor 'w': external data 'pipe' is not a regular file")
def external_pipe(folder):
    """Must not wait for someone to write."""
    os.mkfifo(os.path.join(folder, "pipe"))
    return external("pipe")


@case("tensor 'w': external data 'missing.bin': No such file or directory")
def external_missing():
    return external("missing.bin")


@case("the path of its external data, '', is empty")
def external_without_location():
    return external(None, ("offset", "0"))


@case("the path of its external data, '', is empty")
def external_empty_location():
    return external("")


@case("a NUL character at byte 1 of the text")
def external_nul_in_path():
    return external("w\0.bin")


@case("the path of its external data has 5000 bytes, at most 4095 are allowed")
def external_path_too_long():
    return external("w" * 5000)


# ---- ranges -----------------------------------------------------------------

@case("external data 'w.bin' has 8 bytes, offset 4 and length 8 pass its end")
def external_offset_past_the_end(folder):
    put(folder, "w.bin")
    return external("w.bin", ("offset", "4"))


@case("external data 'w.bin' has 8 bytes, offset 9223372036854775807 and length 8 pass its end")
def external_offset_of_2_to_63(folder):
    put(folder, "w.bin")
    return external("w.bin", ("offset", str((1 << 63) - 1)))


@case("external data 'w.bin' has 8 bytes, offset 0 and length 16 pass its end")
def external_length_past_the_end(folder):
    put(folder, "w.bin")
    return external("w.bin", ("length", "16"))


@case("tensor 'w' has 4 bytes of data; its shape and type need 8")
def external_length_too_short(folder):
    put(folder, "w.bin")
    return external("w.bin", ("length", "4"))


@case("external data: 'offset' is '-1', not a number from 0 up")
def external_offset_negative(folder):
    put(folder, "w.bin")
    return external("w.bin", ("offset", "-1"))


@case("external data: 'length' is '8 ', not a number from 0 up")
def external_length_with_a_blank(folder):
    put(folder, "w.bin")
    return external("w.bin", ("length", "8 "))


@case("external data: 'offset' is '99999999999999999999', not a number from 0 up")
def external_offset_too_large(folder):
    put(folder, "w.bin")
    return external("w.bin", ("offset", "9" * 20))


@case("external data: unknown key 'colour'; known are location, offset, length and checksum")
def external_unknown_key(folder):
    put(folder, "w.bin")
    return external("w.bin", ("colour", "red"))


@case("the SHA-1 checksum of external data 'w.bin' does not match")
def external_checksum_wrong(folder):
    put(folder, "w.bin")
    return external("w.bin", ("checksum", "0" * 40))


@case("the SHA-1 checksum of external data 'w.bin' does not match")
def external_checksum_too_short(folder):
    put(folder, "w.bin")
    return external("w.bin", ("checksum", hashlib.sha1(b"\0" * 8).hexdigest()[:39]))


@case("external data 'w.bin' has 0 bytes, offset 0 and length 8 pass its end")
def external_empty_file(folder):
    put(folder, "w.bin", b"")
    return external("w.bin")


@case(code=0)
def external_empty_tensor_in_an_empty_file(folder):
    put(folder, "w.bin", b"")
    return external("w.bin", sizes=(0, 3))


# ---- contradictions ---------------------------------------------------------

@case("tensor 'w' has external data and raw_data at once")
def external_and_raw_data(folder):
    put(folder, "w.bin")
    return with_tensor(tensor(FLOAT, [2], entry("location", "w.bin") + EXTERNAL + raw(b"\0" * 8)))


@case("tensor 'w' names external data, but its data_location is the model itself")
def external_without_saying_so(folder):
    put(folder, "w.bin")
    return with_tensor(tensor(FLOAT, [2], entry("location", "w.bin")))


@case("data_location is 2; 0 and 1 are known")
def external_location_kind_unknown():
    return with_tensor(tensor(FLOAT, [2], entry("location", "w.bin") + num(14, 2)))


@case("string tensor 'w' has external data; strings are in string_data")
def external_strings(folder):
    put(folder, "w.bin")
    return external("w.bin", dtype=STRING)


