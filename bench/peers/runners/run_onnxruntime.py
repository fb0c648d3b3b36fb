"""The runner of ONNX Runtime: what a user gets who sets nothing but the number of threads."""

import sys

import common


class Adapter:
    def __init__(self):
        import onnxruntime
        self.library = onnxruntime
        self.version = onnxruntime.__version__
        self.session = self.results = None

    def load(self, path, threads, options):
        library = self.library
        settings = library.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.inter_op_num_threads = 1
        settings.graph_optimization_level = library.GraphOptimizationLevel.ORT_ENABLE_ALL
        settings.log_severity_level = 3
        self.session = library.InferenceSession(path, settings,
                                                providers=["CPUExecutionProvider"])

    def prepare(self, arrays):
        return arrays

    def run(self, prepared):
        # The results of the run before are given up first, as in a loop of a user's.
        self.results = None
        self.results = self.session.run(None, prepared)

    def outputs(self):
        return self.results


if __name__ == "__main__":
    sys.exit(common.serve("onnxruntime", Adapter))
