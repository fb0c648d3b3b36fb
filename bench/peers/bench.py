"""What the suites share: models and their inputs, runners that hold them, equal outputs, rounds."""

import argparse
import contextlib
import dataclasses
import pathlib
import sys
import time

import numpy as np
import onnx

import engines
import figures
import machine
import protocol
import random_inputs

RTOL, ATOL = 1e-3, 1e-4
# Of the largest output: a peer that is off by less is compared with all the same, and named.
# MNN 3.6.1 was off by up to 1.7e-3.
COARSE = 5e-3
MODELS = ("resnet18", "resnet50", "resnet101", "regnet_x_400mf", "regnet_y_16gf",
          "efficientnet_b1", "mobilenet_v2", "mobilenet_v3_large", "shufflenet_v2_x1_0",
          "squeezenet1_1", "densenet121", "convnext_tiny", "vit_b_16", "alexnet")


@dataclasses.dataclass
class Opened:
    """An engine's runner that has loaded a model and has its inputs."""
    engine: engines.Engine
    runner: protocol.Runner
    load: dict


class Bench:
    def __init__(self, options, report, scratch):
        self.options, self.report, self.scratch = options, report, pathlib.Path(scratch)
        self.graphs, self.input_files, self.skipped = {}, {}, {}
        self.notes = set()
        self.disturbed = 0.0  # share of the processors that others had, at most
        self.distances = []   # ns of a cache line from core to core and back, a round each

    # ---- models and inputs ----

    def models(self, default):
        """(name, file) of each model that there is; the others are named in the report."""
        for text in self.options.models or default:
            file = pathlib.Path(text)
            if file.suffix != ".onnx":
                file = engines.ROOT / "build" / "models" / f"{text}.onnx"
            if file.exists():
                yield file.stem, file
            else:
                self.skip(text, "the model was not made (make models)")

    def skip(self, what, reason):
        if self.skipped.get(what) != reason:
            self.skipped[what] = reason
            self.report.line(f"skipped: {what}: {reason}")

    def graph(self, file):
        """The graph without its weights and nodes: this process is to stay small."""
        if file not in self.graphs:
            whole = onnx.load(file, load_external_data=False).graph
            self.graphs[file] = onnx.GraphProto(input=whole.input, output=whole.output)
            self.graphs[file].initializer.extend(
                onnx.TensorProto(name=tensor.name) for tensor in whole.initializer)
        return self.graphs[file]

    def case(self, name, file, batch):
        """Every open dimension takes the batch, except those that --dim names."""
        graph = self.graph(file)
        dims = {dim.dim_param: batch for value in random_inputs.real_inputs(graph)
                for dim in value.type.tensor_type.shape.dim if dim.dim_param}
        dims.update((key, size) for key, size in self.options.dim if key in dims)
        inputs = random_inputs.real_inputs(graph)
        shapes = {value.name: [dims[dim.dim_param] if dim.dim_param else dim.dim_value
                               for dim in value.type.tensor_type.shape.dim] for value in inputs}
        types = {value.name: str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(
            value.type.tensor_type.elem_type))) for value in inputs}
        return engines.Case(name, file, batch, shapes, types)

    def arrays(self, case):
        """The same pictures for everybody: random, from the seed."""
        wanted = argparse.Namespace(input=[], dim=[], shape=case.shapes.items(), int_max=[],
                                    seed=self.options.seed)
        return random_inputs.make(self.graph(case.file), wanted)

    def inputs(self, case, dtype=None):
        """(name, type, dims, file) of each input, written once."""
        key = case.name, case.batch, dtype
        if key not in self.input_files:
            self.input_files[key] = []
            for number, (name, array) in enumerate(self.arrays(case).items()):
                if dtype and array.dtype == np.float32:
                    array = array.astype(dtype)
                file = self.scratch / f"{case.name}-{case.batch}-{array.dtype}-{number}.bin"
                array.tofile(file)
                dims = ",".join(map(str, array.shape))
                self.input_files[key].append((name, str(array.dtype), dims, file))
        return self.input_files[key]

    # ---- runners ----

    def engines(self, default=None):
        """The engines asked for, those that are not there named once."""
        for name in self.options.engines or default or engines.ALL:
            engine = engines.ALL[name]
            try:
                engine.version
            except engines.Unavailable as problem:
                self.skip(engine.label, str(problem))
                continue
            yield engine

    def open(self, engine, cases, threads, options=None, file=None, dtype=None):
        """A fresh process with the model loaded, and the inputs of each case under its batch."""
        engine.check(threads)
        file = file or cases[0].file
        options = engine.options(cases[0]) if options is None else options
        runner = engine.start(engines.CACHE / f"{engine.name}.log")
        try:
            if runner.hello.get("convert"):
                folder = engines.CACHE / engine.name / cases[0].name
                file = runner.ask("convert", file, folder, *options, timeout=1800)["file"]
            load = runner.ask("load", file, threads, *options)
            for case in cases:
                for name, kind, dims, data in self.inputs(case, dtype):
                    runner.ask("input", case.batch, name, kind, dims, data)
        except protocol.RunnerError as problem:
            runner.quit()
            raise engines.Unavailable(str(problem)) from None
        except BaseException:
            runner.quit()
            raise
        return Opened(engine, runner, load)

    @contextlib.contextmanager
    def opened(self, case, threads, default=None):
        """Engine name -> Opened, of all that can run the model and agree on its outputs."""
        with contextlib.ExitStack() as stack:
            found = {}
            for engine in self.engines(default):
                try:
                    one = self.open(engine, [case], threads)
                    stack.callback(one.runner.quit)
                    one.runner.ask("run", case.batch, 1)
                except (engines.Unavailable, protocol.RunnerError) as problem:
                    self.skip(f"{engine.label}, {case.name}, {threads} threads", str(problem))
                    continue
                found[engine.name] = one
            yield self.agreeing(case, found)

    def outputs(self, opened):
        folder = self.scratch / f"{opened.engine.name}-{opened.runner.process.pid}"
        count = opened.runner.ask("output", folder)["count"]
        return [np.load(folder / f"{number}.npy") for number in range(count)]

    def agreeing(self, case, found):
        """Those whose outputs equal ONNX Runtime's, or, without it, the first one's. Sardonyx has
        to meet RTOL and ATOL, a peer COARSE."""
        if not found:
            return found
        judge = "onnxruntime" if "onnxruntime" in found else next(iter(found))
        want = self.outputs(found[judge])
        good = {}
        for name, one in found.items():
            got = want if name == judge else self.outputs(one)
            close = len(got) == len(want) and all(
                a.shape == b.shape and np.allclose(a, b, rtol=RTOL, atol=ATOL)
                for a, b in zip(got, want))
            error = figures.largest_error(got, want) if len(got) == len(want) else float("inf")
            self.report.figure("equal", model=case.name, batch=case.batch, engine=name,
                               judge=judge, largest_error=error, equal=close)
            if close:
                good[name] = one
            elif name == "sardonyx":
                self.report.check("equal", f"{case.name}: equal to {judge}", error, "≤", RTOL)
            else:
                self.inexact(one.engine.label, case.name, error)
                if error <= COARSE:
                    good[name] = one
        return good

    def inexact(self, label, model, error):
        text = (f"{label}, {model}: outputs off by {error:.1e} of the largest, "
                f"{'compared all the same' if error <= COARSE else 'left out'}")
        if text not in self.notes:
            self.notes.add(text)
            self.report.line(text)

    # ---- rounds ----

    def repeats(self, runner, keys):
        """Warms up; how many runs fill a turn."""
        count = len(keys.split(","))
        for _ in range(self.options.warmup):
            taken = runner.ask("run", keys, 1)["ns"]
        slowest = sum(taken[-count:]) / 1e6
        return max(1, min(200, int(self.options.turn / slowest)))

    def interleave(self, turns, with_peak=None, settle=False):
        """Label -> series, the machine's peak in each round, and the share of the machine that
        others had. turns: label -> (runner, keys); with_peak: a runner to ask for the peak. One
        runner works at a time; the others are stopped until their next command. One that fails is left out.
        settle: a turn begins with a pass over its keys that is not counted, since the first run after the
        others' turns finds nothing in the caches."""
        options, series, peaks = self.options, {label: [] for label in turns}, []
        runners = [runner for runner, _ in turns.values()]

        def attempt(label, action):
            try:
                return action(*turns[label])
            except protocol.RunnerError as problem:
                self.skip(label, f"failed while it was measured: {problem}")
                del series[label]
                return None

        repeats = {label: attempt(label, self.repeats) for label in turns}
        load, end = machine.Load(runners), time.monotonic() + options.budget
        for number in range(options.rounds):
            labels = list(series)
            start = number % max(1, len(labels))
            order = labels[start:] + labels[:start]
            if number // max(1, len(labels)) % 2:
                order.reverse()  # so that nobody always follows the same neighbour
            for label in order:
                answer = attempt(label, lambda runner, keys: runner.ask(
                    "run", keys, repeats[label] + settle, timeout=1800))
                if answer:
                    series[label].append(answer["ns"][len(answer["ns"]) - repeats[label] * len(
                        turns[label][1].split(",")):])
            if with_peak and with_peak.process.poll() is None:
                peaks.append(with_peak.ask("peak")["flops"])
                self.distances.append(with_peak.ask("distance")["ns"])
            if time.monotonic() > end and number >= 2:
                break
        others = load.others()
        self.disturbed = max(self.disturbed, others)
        return series, peaks, others

    def disturbance(self):
        """Says how much of the machine others had while it mattered, and forgets it."""
        if self.disturbed > 0.05:
            self.report.line(f"Beware: other processes had up to {self.disturbed:.0%} of the "
                             "processors' time during a measurement.")
            self.report.line()
        self.disturbed = 0.0
        if any(self.distances):
            low, middle, high = (f"{ns:.0f}" for ns in np.percentile(self.distances, [5, 50, 95]))
            self.report.line(f"A cache line took {middle} ns from one processor to the other and back "
                             f"({low} to {high}: 5 to 95 % of {len(self.distances)} rounds).")
            self.report.line()
        self.distances = []

    def progress(self, text):
        if not self.options.quick:
            print(f"… {text}", file=sys.stderr, flush=True)
