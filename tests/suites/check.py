#!/usr/bin/env python3
"""Tests of bench/suites: the files are right and say what the project promises, mistakes in them are
named, and a suite on a tiny model makes a page, Markdown and JSON that agree.

usage: tests/suites/check.py SARDONYX
"""
import contextlib
import html.parser
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "suites"), str(ROOT / "models")]

import interpreter  # noqa: E402
import paths  # noqa: E402

interpreter.need(["onnx", "numpy"], paths.VENV_PYTHON, "tools/setup.sh python")
if len(sys.argv) < 2:
    sys.exit(__doc__)
os.environ["SARDONYX"] = str(pathlib.Path(sys.argv.pop(1)).resolve())

import onnx  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

import export  # noqa: E402
import run  # noqa: E402

GOOD = """title = "Tiny"
about = "A <b>model</b> & its times"
models = ["{model}"]

[[part]]
name = "one"
title = "Both <sizes>"
what = "run"
batch = [1, 2]

[[part]]
name = "two"
title = "A script"
script = "echo 'a < b'"
"""


def printed(*arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        code = run.main(list(map(str, arguments)))
    return code, out.getvalue()


class Page(html.parser.HTMLParser):
    """Identifiers, JSON, and elements that were opened and not closed."""
    EMPTY = {"meta", "link", "rect", "path", "br"}

    def __init__(self, text):
        super().__init__()
        self.ids, self.scripts, self.open, self.texts = [], {}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if "id" in found:
            self.ids.append(found["id"])
        if tag not in self.EMPTY or tag == "path" and self.get_starttag_text()[-2:] != "/>":
            self.open.append((tag, found.get("id")))

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open[-1][0] == tag, f"{self.open[-3:]} closed by {tag} at {self.getpos()}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "script":
            self.scripts[self.open[-1][1]] = json.loads(data)
        else:
            self.texts.append(data)


class Files(unittest.TestCase):
    def suite(self, name):
        return run.read(run.HERE / f"{name}.toml")

    def test_all_are_right(self):
        names = {path.stem for path in run.HERE.glob("*.toml")}
        self.assertEqual(names, {"import", "batches", "languages", "memory"})
        for name in names:
            models = {model.removeprefix(run.FIXED) for model in self.suite(name)["models"]}
            self.assertLessEqual(models, set(export.MODELS))
            code, out = printed(name, "--dry-run")
            self.assertEqual((code, out.count("\n")), (0, len(self.suite(name)["part"])))
        self.assertEqual(printed("--list")[1].count("\n"), len(names))

    def test_what_they_compare(self):
        languages = {part["name"]: part for part in self.suite("languages")["part"]}
        self.assertEqual(self.suite("languages")["models"], ["regnet_x_400mf", "regnet_y_16gf"])
        self.assertEqual(languages["run"]["threads"], [0, 4, 8])
        self.assertEqual(languages["run"]["optimize"], [0, 3])
        for part in languages.values():
            self.assertEqual(set(part["against"]), {"torch", "ort", "rust-ort"})
        batches = self.suite("batches")["part"][0]
        self.assertEqual(batches["batch"], [8, 16, 32, 64, 128, 256])
        self.assertLessEqual({"torch", "ort"}, set(batches["against"]))
        self.assertIn("resnet101", self.suite("import")["models"])
        self.assertEqual(self.suite("memory")["part"][0]["script"], "bench/run_memory.sh --untimed")

    def test_settings_take_the_place_of_the_suite(self):
        out = printed("languages", "--part", "run", "--set", "threads=1", "--set", "rounds=3", "--dry-run")[1]
        self.assertIn(" --threads 1 ", out)
        self.assertIn(" --rounds 3 ", out)
        self.assertNotIn("--what program", out)


class Targets(unittest.TestCase):
    def verdict(self, times, **limit):
        results = {"engines": [{"name": "a"}, {"name": "b"}], "models": [{"name": "m"}],
                   "cases": [{"engine": engine, "model": 0, "metrics": {"time": {"median": time}}}
                             for engine, time in enumerate(times)]}
        return run.judge({"model": "m", "engine": "a", "over": "b", "metric": "time", **limit}, results)

    def test_verdicts(self):
        self.assertEqual(self.verdict([1, 4], at_most=0.25)["verdict"], "met")
        self.assertEqual(self.verdict([1.01, 4], at_most=0.25)["verdict"], "missed")
        self.assertEqual(self.verdict([4, 4], below=1.0)["verdict"], "missed")
        self.assertEqual(self.verdict([1], below=1.0)["verdict"], "not measured")


class Mistakes(unittest.TestCase):
    def refused(self, text, because):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "bad.toml"
            file.write_text(text)
            with self.assertRaisesRegex(run.SuiteError, because):
                run.read(file)

    def test_mistakes_are_named(self):
        good = GOOD.replace("{model}", "x.onnx")
        self.refused("title = ", "bad.toml")
        self.refused('title = "a"', "no 'about'")
        self.refused(good.replace("batch", "batches"), "no key 'batches'")
        self.refused(good.replace("[1, 2]", '"1,2"'), "'batch' is '1,2'")
        self.refused(good.replace('"two"', '"one"'), "name of its own")
        self.refused(good.replace('"two"', '"Two!"'), "small letters")
        self.refused(good + 'what = "run"\n', "either 'what' or 'script'")
        self.refused(good + '[[part.target]]\nmodel = "x"\n', "needs model, engine")
        self.refused(good + 'models = ["y"]\n', "models that the suite does not have")

    def test_usage(self):
        self.assertEqual(printed("nothing")[0], 2)
        self.assertEqual(printed("languages", "--part", "nothing", "--dry-run")[0], 2)
        for wrong in ([], ["languages", "--set", "speed=9"], ["languages", "--set", "command=x"]):
            with self.assertRaises(SystemExit) as ended:
                printed(*wrong)
            self.assertEqual(ended.exception.code, 2)


class Whole(unittest.TestCase):
    def test_a_suite_becomes_three_files(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            model = folder / "tiny.onnx"
            graph = helper.make_graph(
                [helper.make_node("Relu", ["x"], ["y"])], "g",
                [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                      model)
            suite = folder / "tiny.toml"
            suite.write_text(GOOD.replace("{model}", str(model)))
            code, _ = printed(suite, "--quick", "--results", folder / "out")
            self.assertEqual(code, 0)
            data = json.loads((folder / "out" / "tiny.json").read_text())
            page = Page((folder / "out" / "tiny.html").read_text())
            text = (folder / "out" / "tiny.md").read_text()
        self.assertEqual([part["code"] for part in data["parts"]], [0, 0])
        results = data["parts"][0]["results"]
        self.assertEqual([case["batch"] for case in results["cases"]], [1, 2])
        self.assertEqual(data["parts"][1]["text"], "a < b\n")
        self.assertEqual(page.scripts, {"one-data": results})
        self.assertEqual(len(page.ids), len(set(page.ids)))
        self.assertLessEqual({"one", "two", "one-boxes", "one-figures"}, set(page.ids))
        shown = "".join(page.texts)
        for wanted in ("Both <sizes>", "A <b>model</b> & its times", "a < b", "--batch 1,2"):
            self.assertIn(wanted, shown)
        self.assertIn("## Both <sizes>", text)
        self.assertIn("```\na < b\n```", text)
        self.assertIn("--batch 1,2", text)


if __name__ == "__main__":
    unittest.main()
