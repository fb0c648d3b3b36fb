"""The runner of ncnn, without its 16-bit storage. ncnn has no batches: the pictures of one go through
it one after the other."""

import sys

import common


class Adapter:
    def __init__(self):
        import ncnn
        import numpy
        self.library, self.numpy = ncnn, numpy
        self.version = ncnn.__version__
        self.net = self.results = None

    def load(self, path, threads, options):
        net = self.library.Net()
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
    sys.exit(common.serve("ncnn", Adapter))
