#!/usr/bin/env python3
"""Tests of bench/peers: the statistics, the report, the runners, and a whole quick run of Sardonyx
beside ONNX Runtime on a tiny model.

usage: tests/peers/check.py RUNNER   (the build's sardonyx_runner)
"""
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "peers"))

if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
    sys.exit(__doc__)
RUNNER = sys.argv.pop(1)
os.environ["SARDONYX_RUNNER"] = RUNNER

import run  # noqa: E402 (finds the other modules' folders)

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnx.reference  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import double  # noqa: E402
import engines  # noqa: E402
import figures  # noqa: E402
import protocol  # noqa: E402
import report  # noqa: E402


def tiny_model(path):
    """A classifier of a few thousand multiply-adds, with the operators that double.py changes."""
    draw = np.random.default_rng(3)
    weights = {"w": draw.normal(0, 0.3, (8, 3, 3, 3)), "b": draw.normal(0, 0.3, 8),
               "scale": np.ones(8), "shift": np.zeros(8), "dense": draw.normal(0, 0.3, (8, 10))}
    half = numpy_helper.from_array(np.float32(0.5))
    nodes = [
        helper.make_node("Conv", ["input", "w", "b"], ["conv"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv"], ["relu"]),
        helper.make_node("GlobalAveragePool", ["relu"], ["pool"]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("LayerNormalization", ["flat", "scale", "shift"], ["norm"]),
        helper.make_node("Constant", [], ["half"], value=half),
        helper.make_node("Mul", ["norm", "half"], ["mul"]),
        helper.make_node("Cast", ["mul"], ["cast"], to=TensorProto.FLOAT),
        helper.make_node("Gemm", ["cast", "dense"], ["output"]),
    ]
    graph = helper.make_graph(
        nodes, "tiny",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 3, 16, 16])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(array.astype(np.float32), name)
         for name, array in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


class Figures(unittest.TestCase):
    def test_medians_and_bests(self):
        series = [[3, 1], [2], [9, 9]]
        self.assertEqual(figures.median(series), 3)
        self.assertEqual(figures.best(series), 1)

    def test_exact_ratio(self):
        ratio = figures.ratio([[2, 2]] * 4, [[1]] * 4)
        self.assertEqual((ratio.value, ratio.low, ratio.high), (2, 2, 2))
        self.assertEqual(figures.ratio([[4, 9]], [[8, 2]], "best").value, 2)

    def test_what_disturbs_both_changes_nothing(self):
        calm = [[10.0], [10.0], [10.0], [10.0], [10.0]]
        rough = [[10.0], [100.0], [10.0], [70.0], [10.0]]
        ratio = figures.ratio([[2 * t for t in times] for times in rough], rough)
        self.assertEqual((ratio.value, ratio.low, ratio.high), (2, 2, 2))
        self.assertGreater(figures.ratio(rough, calm).high, 1)

    def test_interval_holds_the_truth(self):
        draw, held = np.random.default_rng(5), 0
        for _ in range(100):
            above = (1.3 * draw.lognormal(0, 0.1, (12, 3))).tolist()
            below = draw.lognormal(0, 0.1, (12, 3)).tolist()
            ratio = figures.ratio(above, below)
            held += ratio.low <= 1.3 <= ratio.high
        self.assertGreaterEqual(held, 85)

    def test_geometric_mean(self):
        two, eight = figures.ratio([[2]], [[1]]), figures.ratio([[8]], [[1]])
        self.assertAlmostEqual(figures.geometric_mean([two, eight]).value, 4)
        self.assertAlmostEqual(figures.scaled(eight, 0.25).high, 2)

    def test_unequal_series(self):
        with self.assertRaises(ValueError):
            figures.ratio([[1]], [[1], [2]])

    def test_largest_error(self):
        want = [np.array([1.0, -4.0])]
        self.assertEqual(figures.largest_error([np.array([1.0, -3.0])], want), 0.25)
        self.assertEqual(figures.largest_error([np.array([np.nan, -4.0])], want), float("inf"))
        self.assertEqual(figures.largest_error([np.array([1.0])], want), float("inf"))


class Reports(unittest.TestCase):
    def test_verdicts(self):
        page = report.Report(silent=True)
        self.assertTrue(page.check("s", "fast", 1.4, "≥", 1.3, (1.2, 1.5)))
        self.assertFalse(page.check("s", "small", 0.7, "≤", 0.6, (0.65, 0.8)))
        page.unmeasured("s", "else", "no reason")
        page.verdicts("s")
        text = "\n".join(page.lines)
        self.assertIn("met, within noise", text)
        self.assertIn("missed", text)
        self.assertIn("not measured: no reason", text)
        self.assertEqual([check["what"] for check in page.missed()], ["small"])


class Runners(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model, self.log = self.folder / "tiny.onnx", self.folder / "log"
        tiny_model(self.model)

    def feed(self, runner, batch, dtype="float32"):
        data = np.random.default_rng(batch).random((batch, 3, 16, 16)).astype(dtype)
        file = self.folder / f"{batch}.bin"
        data.tofile(file)
        runner.ask("input", batch, "input", dtype, f"{batch},3,16,16", file)
        return data

    def mistakes(self, runner):
        self.assertGreater(runner.hello["rss"], 0)
        with self.assertRaises(protocol.RunnerError):
            runner.ask("load", self.folder / "missing.onnx", 1)
        with self.assertRaisesRegex(protocol.RunnerError, "no command"):
            runner.ask("dance")

    def conversation(self, runner):
        self.assertGreater(runner.ask("load", self.model, 1)["ns"], 0)
        with self.assertRaises(protocol.RunnerError):
            runner.ask("run", "1", 1)  # nothing to run it on
        one = self.feed(runner, 1)
        self.feed(runner, 4)
        answer = runner.ask("run", "4,1", 3)
        self.assertEqual(len(answer["ns"]), 6)
        self.assertTrue(all(time > 0 for time in answer["ns"]))
        self.assertGreaterEqual(answer["peak"], answer["rss"])
        out = self.folder / "out"
        self.assertEqual(runner.ask("output", out)["count"], 1)
        want = onnx.reference.ReferenceEvaluator(str(self.model)).run(None, {"input": one})[0]
        np.testing.assert_allclose(np.load(out / "0.npy"), want, rtol=1e-4, atol=1e-5)

    def test_runners(self):
        for name in ("sardonyx", "onnxruntime"):
            for talk in (self.mistakes, self.conversation):
                with self.subTest(engine=name, talk=talk.__name__):
                    with engines.ALL[name].start(self.log) as runner:
                        talk(runner)
                    self.assertEqual(runner.process.returncode, 0)  # sanitizers say more

    def test_unknown_option(self):
        with engines.ALL["sardonyx"].start(self.log) as runner:
            with self.assertRaisesRegex(protocol.RunnerError, "no option 'speed=9'"):
                runner.ask("load", self.model, 1, "speed=9")

    def test_runner_that_dies_or_sleeps(self):
        said = "import sys, time; print('{}', flush=True); "
        dead = protocol.Runner([sys.executable, "-c", said + "sys.exit(5)"], self.log)
        with dead, self.assertRaisesRegex(protocol.RunnerError, "exit code 5|gone"):
            dead.ask("memory")
        asleep = protocol.Runner([sys.executable, "-c", said + "time.sleep(60)"], self.log)
        with asleep, self.assertRaisesRegex(protocol.RunnerError, "no answer"):
            asleep.ask("memory", timeout=0.2)
        with self.assertRaisesRegex(protocol.RunnerError, "exit code"):
            protocol.Runner([sys.executable, "-c", "pass"], self.log)

    def test_runner_rests_between_commands(self):
        """Its threads may spin for ever: whoever is measured next has the processors."""
        says = ("import sys, threading\n"
                "def spin():\n"
                "    while True: pass\n"
                "threading.Thread(target=spin, daemon=True).start()\n"
                "print('{}', flush=True)\n"
                "for line in sys.stdin: print('{\"said\": 1}', flush=True)\n")

        def used(runner):
            before = runner.cpu_seconds()
            time.sleep(0.3)
            return runner.cpu_seconds() - before

        with protocol.Runner([sys.executable, "-c", says], self.log) as runner:
            self.assertLess(used(runner), 0.05)
            self.assertEqual(runner.ask("hello")["said"], 1)
            self.assertLess(used(runner), 0.05)

    def test_float64(self):
        wide = self.folder / "wide.onnx"
        double.write(self.model, wide)
        onnx.checker.check_model(onnx.load(wide))
        with engines.ALL["sardonyx"].start(self.log) as runner:
            runner.ask("load", wide, 1, "optimize=0")
            data = self.feed(runner, 2, "float64")
            runner.ask("run", "2", 1)
            runner.ask("output", self.folder / "out")
        got = np.load(self.folder / "out" / "0.npy")
        # The reference computes in its inputs' type, and refuses to be told so.
        model = onnx.load(wide)
        for attribute in (a for node in model.graph.node for a in node.attribute):
            if attribute.name == "stash_type":
                self.assertEqual(attribute.i, TensorProto.DOUBLE)
                attribute.i = TensorProto.FLOAT
        want = onnx.reference.ReferenceEvaluator(model).run(None, {"input": data})[0]
        self.assertEqual(got.dtype, np.float64)
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


class Whole(unittest.TestCase):
    def test_quick_run(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "tiny.onnx"
            tiny_model(model)
            engines.CACHE = pathlib.Path(folder) / "cache"
            page, data = pathlib.Path(folder) / "page.md", pathlib.Path(folder) / "data.json"
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                code = run.main(["--quick", "--models", str(model), "--engines", "sardonyx",
                                 "onnxruntime", "--markdown", str(page), "--json", str(data)])
            facts = json.loads(data.read_text())
            self.assertEqual(page.read_text().strip(), printed.getvalue().strip())
        self.assertEqual(set(facts["versions"]), {"sardonyx", "onnxruntime"})
        checks = {(check["suite"], check["what"]): check for check in facts["checks"]}
        missed = [what for what, check in checks.items() if check["met"] is False]
        self.assertEqual(code, 1 if missed else 0)  # a tiny model's times decide nothing
        self.assertTrue(all(figure["equal"] for figure in facts["figures"]
                            if figure["suite"] == "equal"))
        self.assertTrue(checks["accuracy", "tiny: largest error"]["met"])
        suites = {figure["suite"] for figure in facts["figures"]}
        self.assertEqual(suites, {"equal", "single", "threads", "batch", "alternate", "memory",
                                  "accuracy"})
        for figure in facts["figures"]:
            if figure["suite"] in ("single", "threads"):
                self.assertEqual(set(figure["times"]), {"sardonyx", "onnxruntime"})
                self.assertTrue(all(len(times["rounds_ns"]) == 2
                                    for times in figure["times"].values()))

    def test_usage(self):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
            run.main(["--suite", "nothing"])
        self.assertEqual(ended.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
