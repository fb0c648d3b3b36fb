"""One module a family of operators. Importing this package registers every generator."""
import importlib
import pkgutil

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")

# Operators without random cases, and where they are tested instead.
NOT_GENERATED = {
    ("", "Constant"): "no step: the loader turns it into a value; tests/unit/test_load.c",
    ("ai.onnx.preview.training", "Gradient"): "no reference has it; compared with PyTorch",
}
