"""The runner of ONNX Runtime: what a user gets who sets nothing but the number of threads.

install: tools/setup.sh peers
"""

import sys

import common


class Adapter:
    engine, label = "onnxruntime", "ONNX Runtime"
    levels = (0, 1, 2, 3)

    def __init__(self):
        import onnxruntime
        self.library = onnxruntime
        self.version = onnxruntime.__version__
        self.session = self.results = self.loaded = None

    def _open(self, path, threads, level, saved=None):
        library = self.library
        settings = library.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.inter_op_num_threads = 1
        names = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
        settings.graph_optimization_level = getattr(library.GraphOptimizationLevel, names[level])
        settings.log_severity_level = 3
        if saved:
            settings.optimized_model_filepath = saved
        return library.InferenceSession(path, settings, providers=["CPUExecutionProvider"])

    def load(self, path, threads, options):
        self.loaded = path, threads, options["optimize"]
        self.session = self._open(*self.loaded)

    def save(self, file):
        """ONNX Runtime writes its model while it loads one: both are timed."""
        self._open(*self.loaded, saved=file)

    def prepare(self, arrays):
        return arrays

    def run(self, prepared):
        # The results of the run before are given up first, as in a loop of a user's.
        self.results = None
        self.results = self.session.run(None, prepared)

    def outputs(self):
        return self.results


if __name__ == "__main__":
    sys.exit(common.serve(Adapter))
