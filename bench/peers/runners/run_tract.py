"""The runner of tract, which is told the shapes and works on one thread.

install: tools/setup.sh peers
"""

import sys

import common


class Adapter:
    engine, label = "tract", "tract"
    levels = (3,)

    def __init__(self):
        import importlib.metadata

        import tract
        self.library = tract
        self.version = importlib.metadata.version("tract")
        self.path = self.runnable = self.results = None

    def load(self, path, threads, options):
        if threads > 1:
            raise ValueError("tract has no threads")
        self.path = path
        model = self.library.onnx().load(path)
        for number, fact in enumerate(options["shapes"].split(";")):
            fact = fact.replace("float", "f").replace("uint", "u").replace("int", "i")
            model.set_input_fact(number, fact)
        self.runnable = model.into_model().into_runnable()

    def prepare(self, arrays):
        return (self.runnable.spawn_state(),
                [self.library.Tensor.from_numpy(array) for array in arrays.values()])

    def run(self, prepared):
        state, tensors = prepared
        self.results = state.run(tensors)

    def outputs(self):
        return [tensor.to_numpy() for tensor in self.results]


if __name__ == "__main__":
    sys.exit(common.serve(Adapter))
