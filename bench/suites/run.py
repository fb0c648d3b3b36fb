#!/usr/bin/env python3
"""Runs named comparisons: bench/suites/NAME.toml says what is measured, `sardonyx bench` measures it, and
results/NAME.html, .md and .json hold what came out. docs/benchmarking.md describes the files.

Exit codes: 0 done, 1 a part could not be measured or missed what it asks for, 2 usage, 130 interrupted.
"""

import argparse
import html
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SARDONYX = pathlib.Path(os.environ.get("SARDONYX", ROOT / "build" / "sardonyx"))
MODELS = ROOT / "build" / "models"
SUITE_KEYS = {"title": str, "about": str, "models": list, "part": list}
# Keys of a part that are not options of `sardonyx bench`.
PART_KEYS = {"name": str, "title": str, "models": list, "script": str, "target": list}
TARGET_KEYS = {"model": str, "engine": str, "over": str, "metric": str, "at_most": float, "below": float}
OPTIONS = {"what": str, "batch": list, "threads": list, "optimize": list, "schedule": str,
           "against": list, "dim": list, "command": list, "warmup": (int, float), "time": (int, float),
           "memory": (int, float), "rounds": int, "seed": int, "rtol": float, "atol": float,
           "packed": bool, "variants": bool, "image": str, "preset": str}
FIXED = "fixed/"
REPEATED = ("dim", "command")  # options that are given once for each entry


class SuiteError(Exception):
    """A suite's file is not as it should be."""


def _check_keys(table, known, where):
    for key, value in table.items():
        if key not in known:
            raise SuiteError(f"{where}: no key '{key}'; known are {', '.join(known)}")
        if not isinstance(value, known[key]) or isinstance(value, bool) != (known[key] is bool):
            raise SuiteError(f"{where}: '{key}' is {value!r}")


def read(file):
    """The suite, checked."""
    try:
        suite = tomllib.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise SuiteError(f"{file}: {problem}") from None
    name = pathlib.Path(file).name
    _check_keys(suite, SUITE_KEYS, name)
    for key in ("title", "about", "models", "part"):
        if key not in suite:
            raise SuiteError(f"{name}: no '{key}'")
    names = set()
    for part in suite["part"]:
        where = f"{name}, part {part.get('name', len(names) + 1)}"
        _check_keys(part, PART_KEYS | OPTIONS, where)
        if not {"name", "title"} <= set(part) or part["name"] in names:
            raise SuiteError(f"{where}: needs a name of its own and a title")
        if not re.fullmatch(r"[a-z][a-z0-9-]*", part["name"]):
            raise SuiteError(f"{where}: the name is not in small letters")
        if ("script" in part) == ("what" in part):
            raise SuiteError(f"{where}: needs either 'what' or 'script'")
        if set(part.get("models", [])) - set(suite["models"]):
            raise SuiteError(f"{where}: models that the suite does not have")
        for target in part.get("target", []):
            _check_keys(target, TARGET_KEYS, f"{where}, target")
            if len(target) != 5 or ("at_most" in target) == ("below" in target):
                raise SuiteError(f"{where}, target: needs model, engine, over, metric and at_most or below")
        names.add(part["name"])
    return suite


# ---- what has to be there ----


def make_models(suite):
    """Exports what is missing; False where something could not be made."""
    good = True
    known = [name for name in suite["models"] if not name.endswith(".onnx")]
    for folder, options in (("", []), (FIXED, ["--batch", "1", "-o", MODELS / FIXED])):
        names = [name.removeprefix(FIXED) for name in known if name.startswith(FIXED) == bool(folder)]
        if names:
            command = [ROOT / ".venv" / "bin" / "python", ROOT / "models" / "export.py", *names, *options]
            good = subprocess.run(command, stdout=sys.stderr).returncode == 0 and good
    return good


def model_file(name):
    """build/models/NAME.onnx; fixed/NAME has batch 1 written into it; a name that ends in .onnx is a file."""
    return pathlib.Path(name) if name.endswith(".onnx") else MODELS / f"{name}.onnx"


def places():
    """What words in braces stand for. Photographs lie in the wheel of scikit-image."""
    folder = next((ROOT / ".venv" / "lib").glob("python3*/site-packages/skimage/data"), ROOT / ".venv")
    return {"sardonyx": short(SARDONYX), "models": short(MODELS), "photographs": short(folder)}


# ---- a part ----


def short(path):
    """As a user in the project's folder would type it, which is where all commands run."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _filled(text):
    for name, value in places().items():
        text = text.replace("{" + name + "}", value)
    return text


def arguments_of(suite, part, given):
    """Of `sardonyx bench`, but for the files that it writes."""
    words = [short(model_file(name)) for name in part.get("models", suite["models"])]
    options = {key: value for key, value in part.items() if key in OPTIONS} | given
    for key, value in options.items():
        if key in REPEATED:
            for text in value:
                words += [f"--{key}", _filled(text)]
        elif value is True:
            words.append(f"--{key}")
        elif isinstance(value, list):
            words += [f"--{key}", ",".join(map(str, value))]
        else:
            words += [f"--{key}", _filled(str(value))]
    return [*words, "--title", part["title"]]


def measure(suite, part, given, scratch):
    """Runs a part; what it made: name, title, command, exit code, and results, page, markdown or text."""
    made = {"name": part["name"], "title": part["title"]}
    if "script" in part:
        made["command"] = part["script"]
        print(f"== {part['title']}: {part['script']}", file=sys.stderr)
        run = subprocess.run(shlex.split(part["script"]), cwd=ROOT, stdout=subprocess.PIPE, text=True)
        return made | {"code": run.returncode, "text": run.stdout}
    files = {kind: scratch / f"{part['name']}.{kind}" for kind in ("json", "markdown", "html")}
    words = [short(SARDONYX), "bench", *arguments_of(suite, part, given)]
    made["command"] = shlex.join(words)
    print(f"== {part['title']}: {made['command']}", file=sys.stderr)
    # Interrupted, it writes what it has: so does this.
    writes = [word for kind, file in files.items() for word in (f"--{kind}", file)]
    made["code"] = subprocess.run([*words, *writes], stdout=subprocess.DEVNULL, cwd=ROOT).returncode
    if all(file.exists() for file in files.values()):
        made["results"] = json.loads(files["json"].read_text(encoding="utf-8"))
        made["markdown"] = files["markdown"].read_text(encoding="utf-8")
        made["page"] = files["html"].read_text(encoding="utf-8")
        made["targets"] = [judge(target, made["results"]) for target in part.get("target", [])]
        made["text"] = "".join(f"{target['verdict']}: {target['what']}\n" for target in made["targets"])
        if not made["text"]:
            del made["text"]
    return made


def judge(target, results):
    """A target with its value, what it says, and "met", "missed" or "not measured"."""
    def median(engine):
        for case in results["cases"]:
            if (case["engine"] is not None and case["model"] is not None
                    and results["engines"][case["engine"]]["name"] == engine
                    and results["models"][case["model"]]["name"] == target["model"]):
                return case["metrics"].get(target["metric"], {}).get("median")
        return None

    above, below = median(target["engine"]), median(target["over"])
    value = above / below if above and below else None
    limit = target.get("at_most", target.get("below"))
    met = value is not None and (value <= limit if "at_most" in target else value < limit)
    what = (f"{target['model']}: {target['metric']} of {target['engine']} over {target['over']} is "
            f"{'unknown' if value is None else f'{value:.3f}'}, wanted "
            f"{'at most' if 'at_most' in target else 'below'} {limit:g}")
    return {**target, "value": value, "what": what,
            "verdict": "not measured" if value is None else "met" if met else "missed"}


# ---- what comes out ----


def _between(page, start, end):
    return page[page.index(start) + len(start):page.rindex(end)]


def _body(part):
    """The inside of a part's page, with names of its own for the places in it."""
    text = (f'<section><div class="scroll"><pre>{html.escape(part["text"])}</pre></div></section>\n'
            if "text" in part else "")
    if "page" not in part:
        return text or f'<div class="notice">Not measured: exit code {part["code"]}.</div>'
    main = _between(part["page"], "<main>", "</main>")
    return text + re.sub(r'(<(?:section|div class="notice")) id="(\w+)"',
                  rf'\1 id="{part["name"]}-\2"', main)


def page_of(suite, parts):
    """One page of the parts' pages: they share the style, and each keeps its JSON."""
    pages = [part["page"] for part in parts if "page" in part]
    style = _between(pages[0].partition("</style>")[0] + "</style>", "<style>", "</style>") if pages else ""
    facts = re.search(r'<p class="sub">.*?</p>', pages[0]) if pages else None
    title = html.escape(suite["title"])
    out = ['<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
           '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
           f'<link rel="icon" href="data:,">\n<title>{title}</title>\n<style>{style}'
           'pre{margin:0;padding:.7em;font:12px/1.5 ui-monospace,monospace}'
           '.part{border-top:1px solid var(--line);margin-top:2.5rem;padding-top:1rem}'
           'nav a{color:var(--e1);margin-right:1.2em}</style></head><body>\n'
           f'<header><p class="brand">sardonyx bench</p><h1>{title}</h1>'
           f'{facts.group(0) if facts else ""}<p>{html.escape(suite["about"])}</p><nav>']
    out += [f'<a href="#{part["name"]}">{html.escape(part["title"])}</a>' for part in parts]
    out.append("</nav></header>\n<main>\n")
    for part in parts:
        out.append(f'<div class="part" id="{part["name"]}"><h1>{html.escape(part["title"])}</h1>\n'
                   f'<code>{html.escape(part["command"])}</code>\n{_body(part)}</div>\n')
    out.append('</main>\n<footer>Made by bench/suites/run.py. The page holds all figures as JSON, raw '
               'samples included, in its script elements.</footer>\n')
    for part in parts:
        if "page" in part:
            data = _between(part["page"], '<script type="application/json" id="data">', "</script>")
            out.append(f'<script type="application/json" id="{part["name"]}-data">{data}</script>\n')
    return "".join(out) + "</body></html>\n"


def markdown_of(suite, parts):
    out = [f"# {suite['title']}\n\n{suite['about']}\n"]
    for part in parts:
        out.append(f"\n## {part['title']}\n\n```sh\n{part['command']}\n```\n")
        if "text" in part:
            out.append(f"\n```\n{part['text'].rstrip()}\n```\n")
        if "markdown" in part:
            out.append("\n" + re.sub(r"^(#+ )", r"##\1", part["markdown"], flags=re.M).strip() + "\n")
        elif "text" not in part:
            out.append(f"\nNot measured: exit code {part['code']}.\n")
    return "".join(out)


def write(name, suite, parts, folder):
    folder.mkdir(parents=True, exist_ok=True)
    kept = ("name", "title", "command", "code", "text", "results", "targets")
    data = {"format": "sardonyx bench suite", "version": 1, "suite": name, "title": suite["title"],
            "parts": [{key: part[key] for key in kept if key in part} for part in parts]}
    texts = {"json": json.dumps(data, indent=1, ensure_ascii=False) + "\n",
             "md": markdown_of(suite, parts), "html": page_of(suite, parts)}
    for ending, text in texts.items():
        (folder / f"{name}.{ending}").write_text(text, encoding="utf-8")
    print(f"suites: wrote {short(folder / f'{name}.html')}, .md, .json", file=sys.stderr)


# ---- command line ----


def option_argument(text):
    key, equals, value = text.partition("=")
    if not equals or key not in OPTIONS or key in REPEATED:
        raise argparse.ArgumentTypeError(f"{text!r} is not OPTION=VALUE of sardonyx bench")
    return key, value


def parse(arguments):
    suites = sorted(path.stem for path in HERE.glob("*.toml"))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Example: bench/suites/run.py languages --part program --set rounds=3")
    parser.add_argument("suite", nargs="*", metavar="SUITE", help=f"of {', '.join(suites)}, or a .toml file")
    parser.add_argument("--list", action="store_true", help="the suites, with their titles")
    parser.add_argument("--part", action="append", metavar="NAME", help="only these parts")
    parser.add_argument("--set", action="append", default=[], type=option_argument, metavar="OPTION=VALUE",
                        help="in place of what the suite says, for every part")
    parser.add_argument("--quick", action="store_true", help="does it work? A round or two of each")
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "results", metavar="DIR",
                        help="default: results")
    options = parser.parse_args(arguments)
    if not options.suite and not options.list:
        parser.error(f"name a suite: {', '.join(suites)}")
    return options


def run_suite(file, options):
    suite = read(file)
    given = ({"warmup": 0, "time": 0, "memory": 0, "rounds": 1} if options.quick else {})
    given |= dict(options.set)
    wanted = [part for part in suite["part"] if not options.part or part["name"] in options.part]
    if not wanted:
        raise SuiteError(f"{file.name}: no part {', '.join(options.part)}")
    if options.dry_run:
        for part in wanted:
            print(part.get("script") or
                  shlex.join([short(SARDONYX), "bench", *arguments_of(suite, part, given)]))
        return 0
    if not make_models(suite):
        print("suites: not all models could be made", file=sys.stderr)
    parts, code = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        for part in wanted:
            parts.append(measure(suite, part, given, pathlib.Path(scratch)))
            print(parts[-1].get("text", "") if parts[-1].get("targets") else "", end="", file=sys.stderr)
            if parts[-1]["code"] or any(t["verdict"] != "met" for t in parts[-1].get("targets", [])):
                code = 130 if INTERRUPTED else 1
            if INTERRUPTED:
                break
    write(file.stem, suite, parts, options.results)
    return code


INTERRUPTED = []


def main(arguments=None):
    options = parse(arguments)
    # The one that measures gets the signal too, and ends by itself.
    signal.signal(signal.SIGINT, lambda *_: INTERRUPTED.append(True))
    code = 0
    try:
        if options.list:
            for file in sorted(HERE.glob("*.toml")):
                print(f"{file.stem:12} {read(file)['title']}")
        for name in options.suite:
            file = pathlib.Path(name) if name.endswith(".toml") else HERE / f"{name}.toml"
            code = max(code, run_suite(file, options))
    except SuiteError as problem:
        print(f"suites: {problem}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    if sys.version_info < (3, 11):
        sys.exit("suites: Python 3.11 or later is needed")
    sys.exit(main())
