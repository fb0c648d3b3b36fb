"""The suites: each measures one of the project's goals and holds the figures against it."""

import contextlib
import hashlib
import json
import pathlib
import shutil
import subprocess

import numpy as np
import onnx

import describe
import double
import engines
import figures
import protocol
from bench import MODELS

THREE = ("sardonyx", "onnxruntime", "openvino")
BOUND_MODELS = ("regnet_x_400mf", "mobilenet_v2", "efficientnet_b1")
SCALING_MODELS = ("resnet50", "vit_b_16")
BATCH_MODELS = ("efficientnet_b1", "regnet_x_400mf")
BATCHES = (8, 16, 32, 64, 128, 256)
ALTERNATING = (1, 8, 3, 16)
MB = 1e6


def _ms(nanoseconds):
    value = nanoseconds / 1e6
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _span(ratio):
    return ratio.low, ratio.high


def _label(name):
    return engines.ALL[name].label


# ---- 1 and 2: batch 1 ----


def _multiply_adds(bench, case):
    """Counted once per model file; a run of ONNX Runtime is needed for it."""
    store = engines.CACHE / "multiply_adds.json"
    known = json.loads(store.read_text()) if store.exists() else {}
    status = case.file.stat()
    key = f"{case.name} {status.st_size} {status.st_mtime_ns} {case.batch}"
    if key not in known:
        known[key] = int(describe.multiply_adds(onnx.load(case.file), bench.arrays(case)))
        store.write_text(json.dumps(known, indent=1))
    return known[key]


def _latency(bench, suite, threads):
    report, times, ratios = bench.report, [], []
    by_peer = {}  # peer -> ratios of all models
    for name, file in bench.models(MODELS):
        bench.progress(f"{suite}: {name}")
        case = bench.case(name, file, 1)
        with bench.opened(case, threads) as found, contextlib.ExitStack() as stack:
            turns = {engine: (one.runner, "1") for engine, one in found.items()}
            if "sardonyx" in found and threads > 1 and name in SCALING_MODELS:
                alone = bench.open(engines.ALL["sardonyx"], [case], 1)
                stack.callback(alone.runner.quit)
                turns["one thread"] = (alone.runner, "1")
            if "sardonyx" in found:
                series, peaks, others = bench.interleave(turns, found["sardonyx"].runner)
        if "sardonyx" not in found or "sardonyx" not in series:
            report.unmeasured(suite, name, "Sardonyx did not run it, or not correctly")
            continue
        ours = series["sardonyx"]
        peers = [engine for engine in series if engine in found and engine != "sardonyx"]
        against = {peer: figures.ratio(series[peer], ours) for peer in peers}
        bests = {peer: figures.ratio(series[peer], ours, "best") for peer in peers}
        for peer, ratio in against.items():
            by_peer.setdefault(peer, []).append(ratio)
        times.append([name] + [f"{_ms(figures.median(series[e]))} / {_ms(figures.best(series[e]))}"
                               if e in series else "" for e in engines.ALL])
        ratios.append([name] + [f"{against[e]}; {bests[e].value:.2f}" if e in against else ""
                                for e in engines.ALL if e != "sardonyx"])
        report.figure(suite, model=name, threads=threads, others=others,
                      rounds=len(ours), peak_flops=float(np.median(peaks)) if peaks else None,
                      times={label: {"median_ns": figures.median(s), "best_ns": figures.best(s),
                                     "rounds_ns": s} for label, s in series.items()})
        for peer in ("onnxruntime", "openvino"):
            if peer in against:
                report.check(suite, f"{name}: speed over {_label(peer)}", against[peer].value,
                             "≥", 1, _span(against[peer]))
        if against:
            worst = min(against, key=lambda peer: against[peer].value)
            report.check(suite, f"{name}: speed over the best peer, {_label(worst)}",
                         against[worst].value, "≥", 1, _span(against[worst]))
        if name == "resnet18" and "mnn" in against:
            report.check(suite, "resnet18: speed over MNN", against["mnn"].value, "≥", 1,
                         _span(against["mnn"]))
        if name in BOUND_MODELS and peaks and max(peaks) > 0:
            bound = 2e9 * _multiply_adds(bench, case) / (float(np.median(peaks)) * threads)
            reached = bound / figures.median(ours)
            report.check(suite, f"{name}: share of the direct bound ({_ms(bound)} ms at "
                         f"{np.median(peaks) * threads / 1e9:.0f} GFLOP/s; the best run: "
                         f"{bound / figures.best(ours):.2f})", reached, "≥", 0.75)
        if "one thread" in series:
            gain = figures.ratio(series["one thread"], ours)
            report.check(suite, f"{name}: {threads} threads over one", gain.value, "≥", 1.8,
                         _span(gain))
    report.line("Median / best time in ms:")
    report.line()
    report.table(["model"] + [engine.label for engine in engines.ALL.values()], times)
    report.line("How many times as long the peer takes: of medians (95 % interval); of bests:")
    report.line()
    report.table(["model"] + [e.label for e in engines.ALL.values() if e.peer], ratios)
    for peer, of_models in by_peer.items():
        mean = figures.geometric_mean(of_models)
        what = f"geometric mean over {_label(peer)}, {len(of_models)} models"
        if peer == "onnxruntime":
            report.check(suite, what, mean.value, "≥", 1.3, _span(mean))
        else:
            report.line(f"{what}: {mean}")
    report.line()


def single(bench):
    _latency(bench, "single", bench.options.threads or 1)


def threads(bench):
    _latency(bench, "threads", bench.options.threads or 2)


# ---- 3: batches ----


def batch(bench):
    report, rows = bench.report, []
    count = bench.options.threads or 2
    for name, file in bench.models(BATCH_MODELS):
        small = bench.case(name, file, 1)
        beyond = {}  # batch -> our peak memory without inputs and outputs
        total = {}
        for size in bench.options.batches or BATCHES:
            bench.progress(f"batch: {name}, {size}")
            case = bench.case(name, file, size)
            with bench.opened(case, count, THREE) as found, contextlib.ExitStack() as stack:
                turns = {engine: (each.runner, str(size)) for engine, each in found.items()}
                series = {}
                if "sardonyx" in found:
                    one = bench.open(engines.ALL["sardonyx"], [small], count)
                    stack.callback(one.runner.quit)
                    turns["batch 1"] = (one.runner, "1")
                    series, _, others = bench.interleave(turns, one.runner)
                if not {"sardonyx", "batch 1"} <= set(series):
                    report.unmeasured("batch", f"{name}, {size}", "Sardonyx did not run it")
                    continue
                peaks = {e: each.runner.ask("memory")["peak"] for e, each in found.items()
                         if e in series}
                io = sum(a.nbytes for a in bench.arrays(case).values()) + sum(
                    a.nbytes for a in bench.outputs(found["sardonyx"]))
            ours = series["sardonyx"]
            beyond[size], total[size] = peaks["sardonyx"] - io, peaks["sardonyx"]
            report.figure("batch", model=name, batch=size, threads=count, others=others,
                          peak_bytes=peaks, io_bytes=io,
                          times={label: {"median_ns": figures.median(s),
                                         "best_ns": figures.best(s), "rounds_ns": s}
                                 for label, s in series.items()})
            rows.append([name, size, _ms(figures.median(series["batch 1"]))] + [
                f"{_ms(figures.median(series[e]) / size)} / {peaks[e] / MB:.0f}"
                if e in series else "" for e in engines.ALL])
            slower = figures.scaled(figures.ratio(ours, series["batch 1"]), 1 / size)
            report.check("batch", f"{name}, {size}: time per image over that of batch 1",
                         slower.value, "≤", 1.02, _span(slower))
            if "onnxruntime" in series:
                ahead = figures.ratio(series["onnxruntime"], ours)
                report.check("batch", f"{name}, {size}: speed over ONNX Runtime", ahead.value,
                             "≥", 1, _span(ahead))
        if len(beyond) > 1:
            low, high = min(beyond), max(beyond)
            report.check("batch", f"{name}: memory beyond inputs and outputs at {high} over "
                         f"that at {low}", beyond[high] / beyond[low], "≤", 1.3)
            report.check("batch", f"{name}: peak memory at {high}", total[high] / MB, "<", 500,
                         unit=" MB")
    report.line(f"{count} threads; time per image in ms / peak resident memory in MB:")
    report.line()
    report.table(["model", "batch", "ours at 1, ms"] + [e.label for e in engines.ALL.values()],
                 rows)


# ---- 4: alternating batches ----


def alternate(bench):
    report, rows = bench.report, []
    count = bench.options.threads or 1
    sizes = tuple(bench.options.batches or ALTERNATING)
    for name, file in bench.models(BATCH_MODELS):
        cases = [bench.case(name, file, size) for size in sizes]
        for engine in bench.engines(THREE):
            bench.progress(f"alternate: {name}, {engine.label}")
            # Loaded with open sizes by everybody, for the fixed sizes too.
            options = [] if engine.tuned_to_shapes else engine.options(cases[0])
            opened = []
            try:
                if engine.name == "tract":
                    raise engines.Unavailable("is made for one size")
                opened = [bench.open(engine, [case], count, options) for case in cases]
                opened.append(bench.open(engine, cases, count, options))
                keys = ",".join(str(size) for size in sizes)
                turns = {str(size): (one.runner, str(size)) for size, one in zip(sizes, opened)}
                turns["all"] = (opened[-1].runner, keys)
                # A turn of all sizes is little more than one pass: without a first one that is not
                # counted, only the first size would be held against runs behind a pause.
                series, _, others = bench.interleave(turns, settle=True)
                if len(series) < len(turns):
                    raise engines.Unavailable("failed while it was measured")
            except (engines.Unavailable, protocol.RunnerError) as problem:
                bench.skip(f"{engine.label}, {name}, alternating", str(problem))
                continue
            finally:
                for one in opened:
                    one.runner.quit()
            row = [name, engine.label]
            for number, size in enumerate(sizes):
                mixed = [times[number::len(sizes)] for times in series["all"]]
                slower = figures.ratio(mixed, series[str(size)])
                row.append(f"{_ms(figures.median(series[str(size)]))} → "
                           f"{_ms(figures.median(mixed))}: {slower}")
                if engine.name == "sardonyx":
                    report.check("alternate", f"{name}, {size}: alternating over fixed",
                                 slower.value, "≤", 1.02, _span(slower))
            report.figure("alternate", model=name, engine=engine.name, sizes=sizes,
                          others=others, rounds_ns=series)
            rows.append(row)
    report.line("Median ms with one size alone → with all sizes in turn: ratio (95 % interval)")
    report.line()
    report.table(["model", "engine"] + [f"batch {size}" for size in sizes], rows)


# ---- 5: memory, load and first run ----


def _first_run(bench, engine, case, count):
    """One fresh process: start, load, first run, end."""
    one = bench.open(engine, [case], count)
    try:
        first = one.runner.ask("run", case.batch, 1)
        hello = one.runner.hello
    finally:
        lived = one.runner.quit()
    return {"load_ns": one.load["ns"], "first_ns": first["ns"][0], "lived_ns": lived,
            "bare": hello.get("bare", hello["rss"]), "imported": hello["rss"],
            "peak": first["peak"]}


def memory(bench):
    report, rows = bench.report, []
    count = bench.options.threads or 1
    for name, file in bench.models(MODELS):
        bench.progress(f"memory: {name}")
        case = bench.case(name, file, 1)
        with open(file, "rb") as data:  # into the page cache, for everybody
            while data.read(1 << 24):
                pass
        taken = {}
        names = [engine for engine in bench.engines()]
        for number in range(bench.options.starts):
            start = number % max(1, len(names))
            for engine in names[start:] + names[:start]:
                try:
                    taken.setdefault(engine.name, []).append(
                        _first_run(bench, engine, case, count))
                except (engines.Unavailable, protocol.RunnerError) as problem:
                    bench.skip(f"{engine.label}, {name}, {count} threads", str(problem))
        report.figure("memory", model=name, threads=count, starts=taken)

        def middle(engine, *fields):
            return float(np.median([sum(one[f] for f in fields) for one in taken[engine]]))

        for engine in (e for e in engines.ALL if e in taken):
            load, first = middle(engine, "load_ns"), middle(engine, "first_ns")
            peak, imported = middle(engine, "peak"), middle(engine, "imported")
            rows.append([name, _label(engine), _ms(load), _ms(first), _ms(load + first),
                         _ms(middle(engine, "lived_ns")), f"{middle(engine, 'bare') / MB:.0f}",
                         f"{imported / MB:.0f}", f"{peak / MB:.0f}",
                         f"{(peak - imported) / MB:.0f}"])
        if not {"sardonyx", "onnxruntime"} <= set(taken):
            report.unmeasured("memory", name, "Sardonyx or ONNX Runtime did not run it")
            continue
        report.check("memory", f"{name}: peak resident memory over ONNX Runtime's",
                     middle("sardonyx", "peak") / middle("onnxruntime", "peak"), "≤", 0.6)
        series = {e: [[one["load_ns"] + one["first_ns"]] for one in taken[e]]
                  for e in ("sardonyx", "onnxruntime")}
        if len(series["sardonyx"]) == len(series["onnxruntime"]):
            ratio = figures.ratio(series["sardonyx"], series["onnxruntime"])
            report.check("memory", f"{name}: load and first run over ONNX Runtime's", ratio.value,
                         "≤", 0.5, _span(ratio))
    report.line(f"Fresh processes, {count} threads, medians of {bench.options.starts}. Times in ms; "
                "`process` is from start to end, the import included. Resident memory in MB: the "
                "bare interpreter (where there is one), after the engine's import, the peak after "
                "the first run, and the peak less the import. MNN and ncnn load converted files.")
    report.line()
    report.table(["model", "engine", "load", "first run", "both", "process", "bare", "imported",
                  "peak", "peak - imported"], rows)


# ---- 6: accuracy ----


def _float64(bench, case):
    """Outputs of the graph in float64: Sardonyx's portable bodies, nothing optimised."""
    engine = engines.ALL["sardonyx"]
    folder = engines.CACHE / "float64" / case.name
    stamp = folder / "stamp.json"
    status = case.file.stat()
    source = hashlib.sha256(pathlib.Path(double.__file__).read_bytes()).hexdigest()
    wanted = json.dumps([status.st_size, status.st_mtime_ns, case.batch, bench.options.seed,
                         source, engine.version])
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        model = bench.scratch / f"{case.name}.float64.onnx"
        try:
            double.write(case.file, model)
            one = bench.open(engine, [case], 2, ["optimize=0"], model, "float64")
            with one.runner:
                one.runner.ask("run", case.batch, 1, timeout=1800)
                for number, array in enumerate(bench.outputs(one)):
                    np.save(folder / f"{number}.npy", array)
        finally:
            model.unlink(missing_ok=True)
            model.with_name(model.name + ".data").unlink(missing_ok=True)
        stamp.write_text(wanted)
    return [np.load(folder / f"{number}.npy") for number in range(len(list(folder.glob("*.npy"))))]


def _error(bench, engine, case, want, extra=()):
    one = bench.open(engine, [case], 1, [*engine.options(case), *extra])
    with one.runner:
        one.runner.ask("run", case.batch, 1)
        return figures.largest_error(bench.outputs(one), want)


def accuracy(bench):
    report, rows = bench.report, []
    for name, file in bench.models(MODELS):
        bench.progress(f"accuracy: {name}")
        case = bench.case(name, file, 2)
        try:
            want = _float64(bench, case)
        except (ValueError, engines.Unavailable, protocol.RunnerError) as problem:
            report.unmeasured("accuracy", name, f"no float64 run: {problem}")
            continue
        errors = {}
        for engine in bench.engines():
            try:
                errors[engine.name] = _error(bench, engine, case, want)
            except (engines.Unavailable, protocol.RunnerError) as problem:
                bench.skip(f"{engine.label}, {name}, accuracy", str(problem))
        plain = None
        if "sardonyx" in errors:
            try:
                plain = _error(bench, engines.ALL["sardonyx"], case, want, ["winograd=0"])
            except (engines.Unavailable, protocol.RunnerError) as problem:
                report.unmeasured("accuracy", f"{name}: Winograd off", str(problem))
        report.figure("accuracy", model=name, errors=errors, winograd_off=plain)
        rows.append([name] + [f"{errors[e]:.1e}" if e in errors else "" for e in engines.ALL]
                    + ["" if plain is None else f"{plain:.1e}"])
        if "sardonyx" not in errors:
            continue
        report.check("accuracy", f"{name}: largest error", errors["sardonyx"], "<", 1e-4)
        theirs = errors.get("onnxruntime")
        if theirs:
            report.check("accuracy", f"{name}: error over ONNX Runtime's",
                         errors["sardonyx"] / theirs, "≤", 10)
            if plain is not None:
                report.check("accuracy", f"{name}: error over ONNX Runtime's, Winograd off",
                             plain / theirs, "≤", 2)
    report.line("Largest error against float64, relative to the largest output, batch 2:")
    report.line()
    report.table(["model"] + [e.label for e in engines.ALL.values()] + ["Winograd off"], rows)


# ---- 7: kernels ----


def kernels(bench):
    """Another program's: it prints its own table and exits with 1 where a target is missed."""
    program = engines.ROOT / "build" / "bench_kernels"
    if not program.exists():
        bench.report.unmeasured("kernels", "GEMM, convolution and matrix-vector near peak",
                                "build/bench_kernels is not there")
        return
    done = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    for line in ["```", *done.stdout.splitlines(), "```", ""]:
        bench.report.line(line)
    bench.report.check("kernels", "exit code of build/bench_kernels", done.returncode, "≤", 0)


SUITES = {
    "single": (single, "batch 1, one thread"),
    "threads": (threads, "batch 1, two threads"),
    "batch": (batch, "growing batches"),
    "alternate": (alternate, "alternating batch sizes"),
    "memory": (memory, "memory, load and first run"),
    "accuracy": (accuracy, "accuracy against float64"),
    "kernels": (kernels, "kernels near the machine's peak"),
}
