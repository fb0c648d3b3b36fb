"""The engines of the comparison: how each is started, what file it loads, what it cannot do.

Sardonyx, ONNX Runtime, OpenVINO and tract load the .onnx file; the runners of MNN and ncnn have it
converted once, into build/peers.
"""

import dataclasses
import functools
import os
import pathlib

import protocol

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
CACHE = ROOT / "build" / "peers"
VENV = ROOT / ".venv"
PEERS_VENV = ROOT / ".venv-peers"


class Unavailable(Exception):
    """Why an engine, or an engine with this model, is left out."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A model file with what is fed to it."""
    name: str
    file: pathlib.Path
    batch: int
    shapes: dict  # input name -> shape at this batch
    types: dict  # input name -> NumPy's name of its type

    def facts(self):
        """Shapes and types for engines that want to know them: "1,3,224,224,float32;..", in the
        order of the inputs."""
        return "shapes=" + ";".join(",".join([*map(str, shape), self.types[name]])
                                    for name, shape in self.shapes.items())


class Engine:
    name = label = ""
    peer = True
    tuned_to_shapes = False  # runs faster where it is told the sizes, and for those only

    def command(self):
        return [str(self.python()), str(HERE / "runners" / f"run_{self.name}.py")]

    def python(self):
        python = PEERS_VENV / "bin" / "python"
        if not os.access(python, os.X_OK):
            raise Unavailable("not installed; run tools/setup.sh peers")
        return python

    def options(self, case):
        return []

    def check(self, threads):
        """Raises Unavailable where the engine cannot do that."""

    def start(self, log):
        try:
            return protocol.Runner(self.command(), log)
        except (protocol.RunnerError, OSError) as problem:
            raise Unavailable(str(problem)) from None

    @functools.cached_property
    def version(self):
        """Starts a runner to ask it."""
        CACHE.mkdir(parents=True, exist_ok=True)
        with self.start(CACHE / f"{self.name}.log") as runner:
            return runner.hello["version"]


class Sardonyx(Engine):
    name, label, peer = "sardonyx", "Sardonyx", False
    optimize = 3

    def command(self):
        runner = pathlib.Path(os.environ.get("SARDONYX_RUNNER", ROOT / "build/sardonyx_runner"))
        if not os.access(runner, os.X_OK):
            raise Unavailable("build/sardonyx_runner is not there; run make")
        return [str(runner)]

    def options(self, case):
        return [f"optimize={self.optimize}"]


class OnnxRuntime(Engine):
    name, label = "onnxruntime", "ONNX Runtime"

    def python(self):
        # The same release is in .venv, which the tests use.
        python = PEERS_VENV / "bin" / "python"
        return python if os.access(python, os.X_OK) else VENV / "bin" / "python"


class OpenVino(Engine):
    name, label = "openvino", "OpenVINO"
    tuned_to_shapes = True

    def options(self, case):
        return [case.facts()]


class Mnn(Engine):
    name, label = "mnn", "MNN"


class Ncnn(Engine):
    name, label = "ncnn", "ncnn"

    def options(self, case):
        return [case.facts()]


class Tract(Engine):
    name, label = "tract", "tract"

    def options(self, case):
        return [case.facts()]

    def check(self, threads):
        if threads != 1:
            raise Unavailable("runs on one thread only")


ALL = {engine.name: engine for engine in
       (Sardonyx(), OnnxRuntime(), OpenVino(), Mnn(), Ncnn(), Tract())}
