#!/usr/bin/env python3
"""Lays out the test data of Debian's package libonnx-testdata for `sardonyx test`.

The package has ONNX's node tests as an older release wrote them, with older versions of operators.
Cases are links to the package's folders. Where the files do not say what the case means, a mended
copy takes their place, and mended.txt has a line for it: the case, and what was changed and why.
The rules are below; nothing but them touches the data. The package's folder `real` has no cases,
only the addresses of nine models; ONNX ships those with the data of generate.py now, as `light`.
Without the package, DIR has only skipped.txt with the reason.

usage: tests/conformance/debian.py DIR
"""
import pathlib
import re
import shutil
import subprocess
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from generate import collect_testcases, draws, serialized, version_of, write_tolerance

PACKAGE = "libonnx-testdata"
RTOL, ATOL = 1e-3, 1e-7  # of ONNX's runner, for all cases of that release
# Of these, the present release of ONNX has the same case with an attribute that was forgotten.
FORGOTTEN_ATTRIBUTES = ("1.12.0/node/test_adam_multiple",)
BFLOAT16_CASE = re.compile("node/test_cast.*BFLOAT16")
# Expected values that contradict those of a case of the present release; see excused.txt.
CONTRADICTIONS = {"1.12.0/node/test_dft_inverse": "test_dft_inverse_opset19"}


def package():
    """(folder of the data, upstream version), or the reason why there is none."""
    try:
        text = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n${db-fsys:Files}", PACKAGE],
                              capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return f"Debian's package {PACKAGE} is not installed (tools/setup.sh test tries to)"
    version, *files = text.split()
    folders = [name for name in files if name.endswith("/data/node")]
    if not folders:
        return f"Debian's package {PACKAGE} {version} has no folder data/node"
    return pathlib.Path(folders[0]).parent, version.split("-")[0]


def read_tensor(path):
    tensor = TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor


def copy(source, target):
    target.unlink()  # the link
    shutil.copytree(source, target)
    (target / "original").symlink_to(source)


def restore_bfloat16(source, target, model):
    """That release had no bfloat16 in numpy: it stored the same 16 bits as uint16. Its hand-written
    types for these cases also declare a shape for the input `like` that the file does not have. It
    cut bits off where Cast rounds; ONNX has corrected that since, and `sardonyx test` takes results
    one step of bfloat16 away, as ONNX's present runner does."""
    stored, notes = {}, []
    for kind, infos in (("input", model.graph.input), ("output", model.graph.output)):
        for k, info in enumerate(infos):
            name, declared = f"test_data_set_0/{kind}_{k}.pb", info.type.tensor_type
            stored[name] = (read_tensor(source / name), declared)
    for name, (tensor, declared) in stored.items():
        if (declared.elem_type, tensor.data_type) == (TensorProto.BFLOAT16, TensorProto.UINT16):
            tensor.data_type = TensorProto.BFLOAT16
            notes.append(f"{name}: bfloat16 stored as uint16, now bfloat16 with the same bits")
    if not notes:
        return None
    for name, (tensor, declared) in stored.items():
        shape = [dim.dim_value for dim in declared.shape.dim]
        if shape != list(tensor.dims):
            notes.append(f"{name}: shape {shape} declared, now that of the file, {tensor.dims}")
            del declared.shape.dim[:]
            declared.shape.dim.extend(onnx.TensorShapeProto.Dimension(dim_value=size)
                                      for size in tensor.dims)
    copy(source, target)
    onnx.save(model, target / "model.onnx")
    for name, (tensor, _) in stored.items():
        (target / name).write_bytes(tensor.SerializeToString())
    return "; ".join(notes)


def same_data(source, case):
    """Whether a stored case has the inputs and outputs of a case of the present release."""
    for kind, values, infos in (("input", case.data_sets[0][0], case.model.graph.input),
                                ("output", case.data_sets[0][1], case.model.graph.output)):
        for k, (value, info) in enumerate(zip(values, infos)):
            stored = numpy_helper.to_array(read_tensor(source / "test_data_set_0" /
                                                       f"{kind}_{k}.pb"))
            fresh = TensorProto.FromString(serialized(value, info.type))
            if not np.array_equal(stored, numpy_helper.to_array(fresh)):
                return False
    return True


def add_attributes(source, target, model, case):
    """Adds what the node lacks, if nothing else tells the case from the present release's."""
    node, whole = model.graph.node[0], case.model.graph.node[0]
    known = {attribute.name for attribute in node.attribute}
    added = [attribute for attribute in whole.attribute if attribute.name not in known]
    node.attribute.extend(added)
    node.attribute.sort(key=lambda attribute: attribute.name)
    if node != whole or not same_data(source, case):
        raise SystemExit(f"{source.name}: differs from ONNX {onnx.__version__} in more than "
                         f"missing attributes")
    copy(source, target)
    onnx.save(model, target / "model.onnx")
    names = ", ".join(attribute.name for attribute in added)
    return (f"attribute {names} added: the outputs were computed with it, but it was not written; "
            f"ONNX {onnx.__version__} has this case with it, and is otherwise the same")


def check_contradiction(source, case):
    """Same node, same input, and the outputs of one fail the other's tolerance."""
    model = onnx.load(source / "model.onnx")
    inputs, outputs = case.data_sets[0]
    stored = [numpy_helper.to_array(read_tensor(source / "test_data_set_0" / name))
              for name in ("input_0.pb", "output_0.pb")]
    same = model.graph.node == case.model.graph.node and np.array_equal(stored[0], inputs[0])
    if not same or np.allclose(stored[1], outputs[0], rtol=RTOL, atol=ATOL):
        raise SystemExit(f"{source.name}: does not contradict {case.name}: see excused.txt")


def mend(source, target, place, newer):
    """Links one case, or mends it. Returns what was done, or None."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source)
    model = onnx.load(source / "model.onnx")
    if place in CONTRADICTIONS:
        check_contradiction(source, newer[CONTRADICTIONS[place]])
    if place in FORGOTTEN_ATTRIBUTES:
        return add_attributes(source, target, model, newer[source.name])
    if draws(model):
        copy(source, target)
        write_tolerance(target, RTOL, ATOL, drawn=True)
        return "the outputs are drawn, with a generator that the standard leaves open: type and " \
               "shape are compared, and that only expected values occur"
    if BFLOAT16_CASE.search(place):
        return restore_bfloat16(source, target, model)
    return None


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 0 if "--help" in sys.argv else 2
    target, found = pathlib.Path(sys.argv[1]), package()
    if isinstance(found, str):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        (target / "skipped.txt").write_text(found + "\n")
        print(f"skipped: {found}")
        return 0
    data, release = found
    stamp, version = target / "version.txt", version_of(__file__, release, onnx.__version__)
    if stamp.exists() and stamp.read_text() == version:
        return 0
    shutil.rmtree(target, ignore_errors=True)
    warnings.filterwarnings("ignore")
    newer = {case.name: case for case in collect_testcases(None)}
    mended = []
    folders = sorted(path.parent for path in data.rglob("model.onnx"))
    for source in folders:
        place = f"{release}/{source.relative_to(data)}"
        done = mend(source, target / place, place, newer)
        if done:
            mended.append(f"{place}: {done}\n")
    (target / "mended.txt").write_text("".join(mended))
    stamp.write_text(version)
    print(f"{len(folders)} tests of {PACKAGE} {release} in {target}, {len(mended)} mended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
