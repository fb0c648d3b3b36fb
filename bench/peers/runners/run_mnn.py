"""The runner of MNN. Timed is its runSession: handing over the input and fetching the result are left
out, in MNN's favour, but not what it takes to go to another batch size.

install: tools/setup.sh peers
"""

import os
import pathlib
import sys

import common
import convert


class Adapter:
    engine, label = "mnn", "MNN"
    levels = (3,)

    def __init__(self):
        import importlib.metadata

        import MNN
        import numpy
        self.library, self.numpy = MNN, numpy
        self.version = importlib.metadata.version("MNN")
        self.interpreter = self.session = self.inputs = self.bound = self.sizes = None

    def convert(self, path, folder, options):
        converter = os.path.join(os.path.dirname(sys.executable), "mnnconvert")
        return convert.once(path, folder / f"{pathlib.Path(path).stem}.mnn", self.version, lambda result: [
            converter, "-f", "ONNX", "--modelFile", os.path.realpath(path), "--MNNModel", result,
            "--bizCode", "peers"])

    def load(self, path, threads, options):
        self.interpreter = self.library.Interpreter(path)
        settings = {"backend": "CPU", "precision": "high"}
        if threads:
            settings["numThread"] = threads
        self.session = self.interpreter.createSession(settings)

    def prepare(self, arrays):
        kinds = {"float32": self.library.Halide_Type_Float, "int32": self.library.Halide_Type_Int}
        hosts = {}
        for name, array in arrays.items():
            if array.dtype == "int64":
                array = array.astype("int32")  # MNN's converter makes them so
            hosts[name] = (array.shape, self.library.Tensor(
                array.shape, kinds[str(array.dtype)], array.reshape(array.size),
                self.library.Tensor_DimensionType_Caffe))
        return hosts

    def _bind(self, hosts):
        sizes = {name: shape for name, (shape, _) in hosts.items()}
        if sizes != self.sizes:
            inputs = self.interpreter.getSessionInputAll(self.session)
            for name, shape in sizes.items():
                self.interpreter.resizeTensor(inputs[name], shape)
            self.interpreter.resizeSession(self.session)
            self.inputs = self.interpreter.getSessionInputAll(self.session)
        self.bound, self.sizes = hosts, sizes

    def before(self, prepared):
        """Each time: a run may use the memory of the inputs for something else."""
        if self.bound is prepared:
            for name, (_, host) in prepared.items():
                self.inputs[name].copyFrom(host)

    def run(self, prepared):
        if self.bound is not prepared:
            self._bind(prepared)
            self.before(prepared)
        self.interpreter.runSession(self.session)

    def outputs(self):
        results = []
        for tensor in self.interpreter.getSessionOutputAll(self.session).values():
            shape = tensor.getShape()
            host = self.library.Tensor(
                shape, self.library.Halide_Type_Float, self.numpy.zeros(shape, "float32"),
                self.library.Tensor_DimensionType_Caffe)
            tensor.copyToHostTensor(host)
            results.append(self.numpy.array(host.getNumpyData()).reshape(shape))
        return results


if __name__ == "__main__":
    sys.exit(common.serve(Adapter))
