"""The runner of OpenVINO on the CPU: float32 throughout, tuned for latency, inputs and outputs shared
with the caller; reshaped to the sizes that it is told to expect, which it is faster for.

install: tools/setup.sh peers
"""

import sys

import common


class Adapter:
    engine, label = "openvino", "OpenVINO"
    levels = (3,)

    def __init__(self):
        import openvino
        self.library = openvino
        self.version = openvino.__version__.split("-")[0]
        self.model = self.request = self.results = None

    def load(self, path, threads, options):
        core = self.library.Core()
        model = core.read_model(path)
        if "shapes" in options:
            facts = [text.split(",")[:-1] for text in options["shapes"].split(";")]
            model.reshape({port: [int(size) for size in fact]
                           for port, fact in zip(model.inputs, facts)})
        settings = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1,
                    "INFERENCE_PRECISION_HINT": "f32"}
        if threads:
            settings["INFERENCE_NUM_THREADS"] = threads
        compiled = core.compile_model(model, "CPU", settings)
        self.model = model
        self.request = compiled.create_infer_request()

    def save(self, file):
        """The weights; the graph goes beside them as .xml."""
        self.library.serialize(self.model, file + ".xml", file)

    def prepare(self, arrays):
        return arrays

    def run(self, prepared):
        self.results = None
        self.results = self.request.infer(prepared, share_inputs=True, share_outputs=True)

    def outputs(self):
        return [self.results[number] for number in range(len(self.results))]


if __name__ == "__main__":
    sys.exit(common.serve(Adapter))
