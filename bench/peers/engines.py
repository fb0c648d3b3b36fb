"""The engines of the comparison: how each is started, what file it loads, what it cannot do.

Sardonyx, ONNX Runtime, OpenVINO and tract load the .onnx file; for MNN and ncnn it is converted
once by their own converters, into build/peers.
"""

import dataclasses
import functools
import json
import os
import pathlib
import subprocess

import protocol

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
CACHE = ROOT / "build" / "peers"
VENV = ROOT / ".venv"
PEERS_VENV = ROOT / ".venv-peers"
CONVERT_SECONDS = 900


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


def _identity(file):
    status = file.stat()
    return [file.name, status.st_size, status.st_mtime_ns]


def _convert(case, engine, command, result, version):
    """Runs a converter in a folder of its own unless its result, or its failure, is known."""
    folder = result.parent
    stamp = folder / "stamp.json"
    wanted = [_identity(case.file), version, [str(part) for part in command]]
    known = json.loads(stamp.read_text()) if stamp.exists() else {}
    if known.get("of") != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        problem = None
        with open(folder / "log.txt", "wb") as log:
            try:
                code = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log,
                                      stderr=log, timeout=CONVERT_SECONDS).returncode
                if code != 0 or not result.exists():
                    problem = f"its converter ends with exit code {code}"
            except subprocess.TimeoutExpired:
                problem = f"its converter takes more than {CONVERT_SECONDS} s"
        known = {"of": wanted, "problem": problem}
        stamp.write_text(json.dumps(known))
    if known["problem"]:
        raise Unavailable(f"{engine}: {known['problem']} for {case.name}")
    return result


class Engine:
    name = label = ""
    peer = True

    def command(self):
        script = HERE / "runners" / f"run_{self.name}.py"
        return [str(self.python()), str(script)]

    def python(self):
        python = PEERS_VENV / "bin" / "python"
        if not os.access(python, os.X_OK):
            raise Unavailable("not installed; run tools/setup.sh peers")
        return python

    def file(self, case):
        return case.file

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

    def options(self, case):
        return [case.facts()]


class Mnn(Engine):
    name, label = "mnn", "MNN"

    def file(self, case):
        result = CACHE / "mnn" / case.name / "model.mnn"
        return _convert(case, self.label,
                        [PEERS_VENV / "bin" / "mnnconvert", "-f", "ONNX", "--modelFile",
                         case.file.resolve(), "--MNNModel", result, "--bizCode", "peers"],
                        result, self.version)


class Ncnn(Engine):
    name, label = "ncnn", "ncnn"

    def file(self, case):
        """pnnx writes beside the model it is given, so that it gets a link."""
        folder = CACHE / "ncnn" / case.name
        folder.mkdir(parents=True, exist_ok=True)
        link = folder / "model.onnx"
        link.unlink(missing_ok=True)
        link.symlink_to(case.file.resolve())
        found = sorted((PEERS_VENV / "lib").glob("python*/site-packages/pnnx/pnnx"))
        if not found:
            raise Unavailable("pnnx, which converts for ncnn, is not installed")
        shapes = ",".join("[" + ",".join(map(str, [1, *shape[1:]])) + "]"
                          for shape in case.shapes.values())
        result = _convert(case, self.label, [found[-1], link, f"inputshape={shapes}", "fp16=0"],
                          folder / "model.ncnn.param", self.version)
        for other in folder.glob("model.pnnx*"):  # several times the model's size
            other.unlink()
        return result


class Tract(Engine):
    name, label = "tract", "tract"

    def options(self, case):
        return [case.facts()]

    def check(self, threads):
        if threads != 1:
            raise Unavailable("runs on one thread only")


ALL = {engine.name: engine for engine in
       (Sardonyx(), OnnxRuntime(), OpenVino(), Mnn(), Ncnn(), Tract())}
