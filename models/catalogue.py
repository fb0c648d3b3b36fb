"""The models that tests compare with ONNX Runtime, and the sizes that each can take.

The open dimensions of a model's inputs take the sizes of SIZES: by their names or,
where the file has none that says anything, by their places. A model's own entry says
only what is different for it.
"""

import dataclasses

import export

# Data set i takes entry i of each list, which starts again where it ends.
SIZES = {
    "batch": (1, 2, 3, 5),
    "height": (224, 192, 97),
    "width": (224, 256, 131),
    "sequence": (1, 7, 16, 64, 128),
}
# What the dimensions of an input mean, by its rank.
AXES = {2: ("batch", "sequence"), 4: ("batch", "channels", "height", "width")}


@dataclasses.dataclass(frozen=True)
class Model:
    file: str  # beneath build/models
    sizes: dict = dataclasses.field(default_factory=dict)  # in place of those in SIZES
    int_max: dict = dataclasses.field(default_factory=dict)  # input -> largest integer


def _ocr(name, height, width):
    return Model(f"wheels/rapidocr-onnxruntime/{name}_infer.onnx",
                 {"height": height, "width": width})


MODELS = {name: Model(f"{name}.onnx") for name in export.MODELS}
MODELS |= {name: Model(f"{name}.onnx", {"batch": (1, 2)})  # the others would take too long
           for name in ("regnet_y_16gf", "vgg16", "vit_b_16")}
MODELS |= {
    "efficientnet_lite0": Model("efficientnet_lite0.onnx"),
    "encoder": Model("encoder.onnx", int_max={"input_ids": 999, "attention_mask": 1}),
    "magika": Model("wheels/magika/model.onnx", int_max={"bytes": 256}),
    # Both join what they halved five times with what they doubled again: multiples of 32.
    "nudenet": Model("wheels/nudenet/320n.onnx",
                     {"height": (320, 192, 64, 32), "width": (320, 256, 96, 352)}),
    "ocr_det": _ocr("ch_PP-OCRv4_det", (320, 32, 96, 640), (480, 32, 160, 352)),
    # Lines of text of any length. They are made for 48 rows; with fewer than 33, a pooling
    # window would not fit into what is left of them.
    "ocr_rec": _ocr("ch_PP-OCRv4_rec", (48, 48, 64, 41), (320, 97, 203, 8)),
    "ocr_cls": _ocr("ch_ppocr_mobile_v2.0_cls", (48, 64, 97, 33), (192, 100, 131, 3)),
}


def _meaning(dim, axis, rank):
    """The kind of an open dimension, a key of SIZES; None if nothing tells."""
    if dim.dim_param in SIZES:
        return dim.dim_param
    return AXES[rank][axis] if rank in AXES else None


def shapes(model, inputs):
    """One dictionary for each data set: name of the input -> shape."""
    choices, used = {}, set()  # name of the input -> for each axis the sizes it takes
    for value in inputs:
        dims = value.type.tensor_type.shape.dim
        choices[value.name] = []
        for axis, dim in enumerate(dims):
            # Some converters write -1 for a size that they do not know.
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                choices[value.name].append((dim.dim_value,))
                continue
            kind = _meaning(dim, axis, len(dims))
            sizes = model.sizes.get(kind, SIZES.get(kind))
            if not sizes:
                raise ValueError(f"no sizes for axis {axis} of {value.name}")
            used.add(kind)
            choices[value.name].append(sizes)
    if set(model.sizes) - used:
        raise ValueError(f"not open: {', '.join(sorted(set(model.sizes) - used))}")
    count = max((len(sizes) for axes in choices.values() for sizes in axes), default=1)
    return [{name: [sizes[i % len(sizes)] for sizes in axes]
             for name, axes in choices.items()} for i in range(count)]
