"""The runner of ncnn, without its 16-bit storage. ncnn has no batches: the pictures of one go through
it one after the other.

install: tools/setup.sh peers
"""

import pathlib
import sys

import common
import convert


class Adapter:
    engine, label = "ncnn", "ncnn"
    levels = (3,)

    def __init__(self):
        import ncnn
        import numpy
        self.library, self.numpy = ncnn, numpy
        self.version = ncnn.__version__
        self.net = self.results = None

    def convert(self, path, folder, options):
        """pnnx writes beside the model it is given, so that it gets a link."""
        name = pathlib.Path(path).stem

        def work(_):
            import importlib.util
            if "shapes" not in options:
                raise ValueError("pnnx, which converts for ncnn, needs the sizes of the inputs")
            pnnx = pathlib.Path(importlib.util.find_spec("pnnx").origin).with_name("pnnx")
            link = folder / f"{name}.onnx"
            link.unlink(missing_ok=True)
            link.symlink_to(pathlib.Path(path).resolve())
            facts = [fact.split(",")[:-1] for fact in options["shapes"].split(";")]
            shapes = ",".join("[" + ",".join(["1", *fact[1:]]) + "]" for fact in facts)
            return [pnnx, link, f"inputshape={shapes}", "fp16=0"]

        result = convert.once(path, folder / f"{name}.ncnn.param", self.version, work)
        for other in folder.glob(f"{name}.pnnx*"):  # several times the model's size
            other.unlink()
        return result

    def load(self, path, threads, options):
        net = self.library.Net()
        if threads:
            net.opt.num_threads = threads
        net.opt.use_vulkan_compute = False
        for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic",
                     "use_bf16_packed", "use_bf16_storage"):
            setattr(net.opt, name, False)
        # pnnx's two files: NAME.ncnn.param is the one that is given.
        if net.load_param(path) != 0 or net.load_model(path.removesuffix("param") + "bin") != 0:
            raise ValueError(f"ncnn cannot read {path}")
        self.net = net

    def prepare(self, arrays):
        """One list of inputs for each picture; pnnx calls them in0, in1 …"""
        batch = next(iter(arrays.values())).shape[0]
        return [[self.library.Mat(self.numpy.ascontiguousarray(array[number])).clone()
                 for array in arrays.values()] for number in range(batch)]

    def run(self, prepared):
        results = []
        for picture in prepared:
            extractor = self.net.create_extractor()
            for number, mat in enumerate(picture):
                extractor.input(f"in{number}", mat)
            code, result = extractor.extract("out0")
            if code != 0:
                raise ValueError(f"ncnn: extract gives {code}")
            results.append(result)
        self.results = results

    def outputs(self):
        return [self.numpy.stack([self.numpy.array(result) for result in self.results])]


if __name__ == "__main__":
    sys.exit(common.serve(Adapter))
