"""Whether two results are the same: types, shapes, then values to a few units in the last place."""
import ml_dtypes
import numpy as np

# Units in the last place that two correct results may differ by, where a case says nothing else.
ULPS = {"float64": 1024, "float32": 32, "float16": 4, "bfloat16": 4}


def _difference(got, want, ulps, scale=0.0):
    """None, or what is different between two tensors."""
    got, want = np.asarray(got), np.asarray(want)
    text = {"O", "U", "S"}
    if got.dtype != want.dtype and not (got.dtype.kind in text and want.dtype.kind in text):
        return f"type {got.dtype}, not {want.dtype}"
    if got.shape != want.shape:
        return f"shape {list(got.shape)}, not {list(want.shape)}"
    if got.dtype.kind in text:
        same = np.array([str(a) == str(b) for a, b in zip(got.ravel(), want.ravel())], dtype=bool)
    else:
        same = _close(got.ravel(), want.ravel(), ulps, scale)
    if same.all():
        return None
    at = int(np.argmin(same))
    return (f"{int((~same).sum())} of {same.size} values, first at {at}: "
            f"{got.ravel()[at]!r}, not {want.ravel()[at]!r}")


def _close(got, want, ulps, scale=0.0):
    name = got.dtype.name
    if got.dtype.kind == "c":
        return (_close(got.real, want.real, ulps, scale)
                & _close(got.imag, want.imag, ulps, scale))
    if name not in ULPS:
        if got.dtype.kind == "V" or name.startswith("float"):
            a, b = got.astype(np.float32), want.astype(np.float32)
            return (a == b) | (np.isnan(a) & np.isnan(b))
        return got == want
    step = float(ml_dtypes.finfo(got.dtype).eps) * (ULPS[name] if ulps is None else ulps)
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(all="ignore"):
        largest = np.abs(b[np.isfinite(b)]).max(initial=scale)
        near = np.abs(a - b) <= step * np.maximum(np.abs(b), largest)
    return np.where(finite, near, (a == b) | (np.isnan(a) & np.isnan(b)))


def difference(got, want, case):
    """None, or a sentence on how the outputs differ."""
    if len(got) != len(want):
        return f"{len(got)} outputs, not {len(want)}"
    for i, (a, b) in enumerate(zip(got, want)):
        found = _value_difference(a, b, case)
        if found:
            return f"output {i}: {found}"
    return None


def _value_difference(got, want, case):
    if isinstance(want, dict) or isinstance(got, dict):
        if not isinstance(got, dict) or not isinstance(want, dict) or got.keys() != want.keys():
            return f"{got!r}, not {want!r}"
        values, wanted = np.array(list(got.values())), np.array([want[k] for k in got])
        if all(isinstance(v, float) for v in want.values()):  # Python's own, of no certain type
            wanted = wanted.astype(values.dtype)
        return _difference(values, wanted, case.ulps)
    if isinstance(want, (list, tuple)) or isinstance(got, (list, tuple)):
        if not isinstance(got, (list, tuple)) or not isinstance(want, (list, tuple)):
            return f"{type(got).__name__}, not {type(want).__name__}"
        if len(got) != len(want):
            return f"{len(got)} items, not {len(want)}"
        for i, (a, b) in enumerate(zip(got, want)):
            found = _value_difference(a, b, case)
            if found:
                return f"item {i}: {found}"
        return None
    if got is None or want is None:
        return None if got is None and want is None else f"{got!r}, not {want!r}"
    if case.drawn:
        got, want = np.zeros_like(got), np.zeros_like(want)
    return _difference(got, want, case.ulps, case.scale)
