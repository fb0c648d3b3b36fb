#!/usr/bin/env python3
"""Random cases for every operator, compared with ONNX Runtime and with onnx.reference.

A case counts if at least one of the two answers. Where a reference answers otherwise than Sardonyx
(or Sardonyx refuses what a reference can do) the case fails, unless an entry of `explained` says why
the reference is wrong. Cases depend on the operator and their number only, so that a failure can be
repeated: `run.py --operator Conv --case 57`.

usage: tests/differential/run.py [--per-operator N] [--operator NAME].. [--case N] [--dump DIR]
                                 [--only-engine] [--report FILE.md] [--at-least N] [--jobs N]
"""
import argparse
import collections
import json
import multiprocessing
import pathlib
import os
import select
import signal
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from explained import ORT, REFERENCE  # noqa: E402

REFERENCE_NAMES = (ORT, REFERENCE)

WORKER_SECONDS = 900  # for all cases of one operator
FULL = 100  # cases of each operator from which on a run shows every explanation


def answer(engine, model, inputs):
    """(outputs, None) or (None, why not)."""
    from engines import NoAnswer
    try:
        return engine(model, inputs), None
    except NoAnswer as refusal:
        return None, str(refusal)


def judge(case, model, inputs, only_engine, stage):
    """One case through all engines: a dict for the report."""
    from compare import difference
    from engines import REFERENCES, sardonyx
    import explained
    stage("Sardonyx")
    ours, refusal = answer(sardonyx, model, inputs)
    result = {"index": case.index, "version": case.version, "answers": 0, "mistakes": [],
              "explained": [], "refused": refusal}
    for name, engine in ({} if only_engine else REFERENCES).items():
        stage(name)
        theirs, _ = answer(engine, model, inputs)
        if theirs is None:
            continue
        result["answers"] += 1
        problem = refusal if ours is None else difference(ours, theirs, case)
        if not problem:
            continue
        entry = explained.find(case, name, refusal if ours is None else ours, theirs)
        if entry:
            result["explained"].append([explained.ENTRIES.index(entry), name])
        else:
            result["mistakes"].append(f"{name}: {problem}")
    return result


def describe(case):
    from compare import np

    def one(value):
        if value is None or isinstance(value, dict):
            return str(value)
        if isinstance(value, (list, tuple)):
            return "(" + " ".join(one(v) for v in value) + ")"
        array = np.asarray(value)
        return f"{array.dtype.name}{list(array.shape)}"
    attributes = {k: v if len(str(v)) < 80 else "..." for k, v in case.attributes.items()}
    return f"v{case.version} {' '.join(one(v) for v in case.inputs)} {attributes}"


def work(domain, operator, indices, only_engine, out):
    """The worker: one line of JSON a case; a line {"stage"} before each engine, in case it dies."""
    import families  # noqa: F401
    from case import make_case

    def say(fact):
        out.write(json.dumps(fact) + "\n")
        out.flush()
    for index in indices:
        say({"index": index, "stage": "the generator"})
        case, model, inputs = make_case(domain, operator, index)
        result = judge(case, model, inputs, only_engine,
                       lambda name, i=index: say({"index": i, "stage": name}))
        if result["mistakes"]:
            result["what"] = describe(case)
        say(result)


def run_in_child(domain, operator, indices, only_engine):
    """What the worker says, how it ended ("no end" after too long), and the end of its errors.

    A fork, since starting Python and importing all engines takes longer than most operators' cases.
    """
    ours, theirs = os.pipe()
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(ours)
                os.dup2(errors.fileno(), 2)
                with os.fdopen(theirs, "w") as out:
                    work(domain, operator, indices, only_engine, out)
                code = 0
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(code)
        os.close(theirs)
        output, end, late = bytearray(), time.monotonic() + WORKER_SECONDS, False
        while not late:
            ready, _, _ = select.select([ours], [], [], max(0, end - time.monotonic()))
            late = not ready
            data = os.read(ours, 1 << 16) if ready else b""
            if ready and not data:
                break
            output += data
        if late:
            os.kill(child, signal.SIGKILL)
        os.close(ours)
        status = os.waitpid(child, 0)[1]
        errors.seek(0)
        return (output.decode(errors="replace"),
                "no end" if late else os.waitstatus_to_exitcode(status),
                errors.read()[-1500:].decode(errors="replace"))


def run_operator(arguments):
    """All cases of an operator, in a process of its own that is started again if an engine dies."""
    domain, operator, indices, only_engine = arguments
    results, crashes = [], []
    while indices:
        output, code, errors = run_in_child(domain, operator, indices, only_engine)
        last, done = None, 0
        for line in output.splitlines():
            try:
                last = json.loads(line)
            except ValueError:
                break
            if "answers" in last:
                results.append(last)
                done += 1
        if done < len(indices):
            stage = last.get("stage", "?") if last else "the start"
            # A reference that dies gives no answer; Sardonyx and the generator may not die.
            crashes.append({"index": indices[done], "stage": stage, "code": code,
                            "errors": errors})
            if stage not in REFERENCE_NAMES:
                break
            done += 1
        indices = indices[done:]
    return domain, operator, results, crashes


def dump(folder, case, model, inputs):
    """The case as a folder that `sardonyx test` takes; expected outputs from the first reference
    that answers and agrees with the judgement, so that only good cases are written."""
    import onnx
    from compare import difference
    from engines import REFERENCES, sardonyx
    ours, _ = answer(sardonyx, model, inputs)
    expected = None
    for engine in REFERENCES.values():
        theirs, _ = answer(engine, model, inputs)
        if theirs is not None and ours is not None and not difference(ours, theirs, case):
            expected = theirs
            break
    name = f"{(case.domain + '.') if case.domain else ''}{case.operator}_{case.index}"
    target = pathlib.Path(folder) / name
    data = target / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(model, target / "model.onnx")
    try:
        for kind, infos, values in (("input", model.graph.input, inputs),
                                    ("output", model.graph.output, expected or [])):
            for i, (info, value) in enumerate(zip(infos, values)):
                (data / f"{kind}_{i}.pb").write_bytes(_proto(value, info.name))
    except Exception as error:
        print(f"{name}: not written whole: {error}", file=sys.stderr)
    print(target)


def _proto(value, name):
    from case import _tensor
    from onnx import numpy_helper
    if isinstance(value, dict):
        return numpy_helper.from_dict(value, name).SerializeToString()
    if isinstance(value, (list, tuple)):
        return numpy_helper.from_list(list(value), name).SerializeToString()
    return _tensor(name, value).SerializeToString()


def report(all_results, died, path):
    """The sum, the explained disagreements and the table per operator, as Markdown."""
    import explained
    import onnx
    import onnxruntime
    everything = [r for results in all_results.values() for r in results]
    counted = [r for r in everything if r["answers"]]
    told = sum(bool(r["explained"]) for r in counted)
    reasons = collections.defaultdict(list)
    for entry in explained.ENTRIES:
        reasons[entry.reference, entry.reason].append(entry)
    lines = [
        "# Random cases against two references", "",
        f"Written by `make differential`: {len(everything) + died} random cases over {len(all_results)} "
        f"operators, of versions and types drawn at random, compared with ONNX Runtime "
        f"{onnxruntime.__version__} and onnx.reference of ONNX {onnx.__version__}. A case counts if "
        "at least one of the two answers. Repeat one with `tests/differential/run.py --operator NAME "
        "--case N`.", "",
        "| | cases |", "|---|---|",
        f"| that count | {len(counted)} |",
        f"| answered by both references | {sum(r['answers'] == 2 for r in counted)} |",
        f"| without an answer of either | {len(everything) - len(counted)} |",
        f"| that end a reference's process | {died} |",
        f"| in which a reference is wrong, for one of {len(reasons)} reasons below | {told} |",
        f"| in which Sardonyx is wrong | {sum(bool(r['mistakes']) for r in counted)} |",
        "", "## Where a reference is wrong, and why", ""]
    for (reference, reason), entries in sorted(reasons.items()):
        names = ", ".join(entry.operator for entry in entries)
        lines.append(f"- **{names}**, {reference} ({sum(e.hits for e in entries)} cases): {reason}")
    lines += ["", "## Operators", "", "| operator | cases | explained |", "|---|---|---|"]
    for (domain, operator), results in sorted(all_results.items()):
        good = [r for r in results if r["answers"]]
        lines.append(f"| {(domain + '.') if domain else ''}{operator} | {len(good)} | "
                     f"{sum(bool(r['explained']) for r in good)} |")
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def missing():
    """Operators of the standard that no family has."""
    import onnx
    from case import GENERATORS
    from families import NOT_GENERATED
    return sorted({(s.domain, s.name) for s in onnx.defs.get_all_schemas()}
                  - set(GENERATORS) - set(NOT_GENERATED))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-operator", type=int, default=150)
    parser.add_argument("--operator", action="append")
    parser.add_argument("--case", type=int)
    parser.add_argument("--dump")
    parser.add_argument("--only-engine", action="store_true")
    parser.add_argument("--report")
    parser.add_argument("--at-least", type=int, default=0, help="cases that must count")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args()
    import explained
    import families  # noqa: F401
    import engines
    engines.load(options.only_engine)
    from case import GENERATORS, make_case
    chosen = [key for key in sorted(GENERATORS)
              if not options.operator or key[1] in options.operator]
    if options.case is not None:
        case, model, inputs = make_case(*chosen[0], options.case)
        print(describe(case))
        if options.dump:
            dump(options.dump, case, model, inputs)
        print(json.dumps(judge(case, model, inputs, options.only_engine, lambda _: None), indent=1))
        return 0
    full = options.per_operator >= FULL
    jobs = [(*key, [*range(options.per_operator),
                    *(explained.showing(*key, options.per_operator) if full else [])],
             options.only_engine) for key in chosen]
    all_results, failures, counts = {}, [], collections.Counter()
    with multiprocessing.Pool(options.jobs) as pool:
        for domain, operator, results, crashes in pool.imap_unordered(run_operator, jobs):
            all_results[domain, operator] = results
            for result in results:
                counts["cases"] += bool(result["answers"]) or options.only_engine
                counts["without an answer of either reference"] += not result["answers"]
                for index, _ in result["explained"]:
                    explained.ENTRIES[index].hits += 1
                    counts["explained"] += 1
                failures += [f"{operator} {result['index']} {result['what']}: {m}"
                             for m in result["mistakes"]]
            for crash in crashes:
                fact = f"{operator} {crash['index']}: died in {crash['stage']} ({crash['code']})"
                if crash["stage"] in REFERENCE_NAMES:
                    counts["a reference died"] += 1
                else:
                    failures.append(f"{fact} {crash['errors']}")
            good = sum(bool(r["answers"]) for r in results)
            if not good and not options.only_engine:
                failures.append(f"{operator}: no reference answers any of {len(results)} cases")
    if not options.operator:
        failures += [f"{domain}.{name}: no generator" for domain, name in missing()]
    if counts["cases"] < options.at_least:
        failures.append(f"{counts['cases']} cases count, not {options.at_least}")
    if options.report:
        report(all_results, counts["a reference died"], options.report)
    if not options.operator and not options.only_engine and full:
        failures += [f"explained: nothing shows '{e.operator}, {e.reference}: {e.reason}'"
                     for e in explained.ENTRIES if not e.hits]
    for failure in failures:
        print(failure)
    print(f"{len(all_results)} operators, " + ", ".join(f"{n} {what}" for what, n in counts.items())
          + f", {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
