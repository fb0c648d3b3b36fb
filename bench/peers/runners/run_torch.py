"""The runner of PyTorch, Debian's build. It does not read ONNX files: the module that models/export.py
made the file from is made again, from the seed and sizes in the file's stamp, and its weights are what the
model is converted to. Loading is what a user of PyTorch does: construct the module, read the weights.

Level 0, the default, runs the module as it is; level 3 traces, freezes and optimises it first (TorchScript).

install: tools/setup.sh torch
python: /usr/bin/python3
"""

import json
import pathlib
import sys

import common
import convert

sys.path.insert(0, str(convert.ROOT / "models"))


class Adapter:
    engine, label = "torch", "PyTorch"
    levels, default = (0, 3), 0

    def __init__(self):
        import torch
        import torchvision
        self.library, self.zoo = torch, torchvision
        self.version = torch.__version__
        self.module = self.inputs = self.results = None

    def _description(self, path):
        import export
        name = pathlib.Path(path).stem
        stamp = pathlib.Path(path).with_suffix(".stamp")
        if name not in export.MODELS or not stamp.exists():
            raise ValueError(f"{name} was not made by models/export.py: PyTorch has no module of it")
        return export.MODELS[name], json.loads(stamp.read_text())["identity"]

    def convert(self, path, folder, options):
        description, identity = self._description(path)

        def work(result):
            generator = self.library.Generator().manual_seed(identity["seed"])
            module = description.build(tuple(identity["shapes"][0]), generator)
            self.library.save(module.state_dict(), result)

        name = f"{pathlib.Path(path).stem}.pt"
        return convert.once(path, folder / name, [self.version, identity], work)

    def _module(self, name):
        """With whatever weights PyTorch starts with."""
        import export
        description = export.MODELS[name]
        self.inputs = description.inputs
        if isinstance(description, export.Classifier):
            make = getattr(self.zoo.models, description.network)
            return make(weights=None, **description.options)
        import encoder
        return encoder.Encoder()

    def load(self, path, threads, options):
        torch = self.library
        if threads:
            torch.set_num_threads(threads)
        module = self._module(pathlib.Path(path).stem)
        module.load_state_dict(torch.load(path))
        module.eval()
        if options["optimize"] == 3:
            if "shapes" not in options:
                raise ValueError("tracing needs the sizes of the inputs")
            examples = []
            for fact in options["shapes"].split(";"):
                *sizes, kind = fact.split(",")
                examples.append(torch.zeros([int(size) for size in sizes],
                                            dtype=getattr(torch, kind)))
            with torch.inference_mode():
                traced = torch.jit.trace(module, tuple(examples), check_trace=False)
            module = torch.jit.optimize_for_inference(torch.jit.freeze(traced))
        self.module = module

    def save(self, file):
        if isinstance(self.module, self.library.jit.ScriptModule):
            raise ValueError("what was optimised for inference cannot be written")
        self.library.save(self.module.state_dict(), file)

    def prepare(self, arrays):
        return [self.library.from_numpy(arrays[name]) for name in self.inputs]

    def run(self, prepared):
        self.results = None
        with self.library.inference_mode():
            self.results = self.module(*prepared)

    def outputs(self):
        return [self.results.numpy()]


if __name__ == "__main__":
    sys.exit(common.serve(Adapter))
