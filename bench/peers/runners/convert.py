"""Converting models for engines that do not read ONNX files: once, until the model or the converter
changes."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
SECONDS = 900


def once(model, result, version, work):
    """The file `result`, made by work(result) unless it, or the reason why it cannot be made, is there
    already. work: returns the command that makes it, to be run in its folder, or None where that is
    done. version: of the converter, and of whatever else the result depends on."""
    status = pathlib.Path(model).stat()
    stamp = result.with_name(f"{result.name}.json")
    wanted = [pathlib.Path(model).name, status.st_size, status.st_mtime_ns, version]
    known = json.loads(stamp.read_text()) if stamp.exists() else {}
    if known.get("of") != wanted or not (known["problem"] or result.exists()):
        result.parent.mkdir(parents=True, exist_ok=True)
        known = {"of": wanted, "problem": _problem(work(result), result)}
        stamp.write_text(json.dumps(known))
    if known["problem"]:
        raise ValueError(known["problem"])
    return str(result)


def _problem(command, result):
    """Runs the command; what went wrong, or None."""
    if command:
        with open(result.with_name(f"{result.name}.log"), "wb") as log:
            try:
                code = subprocess.run(command, cwd=result.parent, stdin=subprocess.DEVNULL,
                                      stdout=log, stderr=log, timeout=SECONDS).returncode
            except subprocess.TimeoutExpired:
                return f"its converter takes more than {SECONDS} s"
        if code != 0:
            return f"its converter ends with exit code {code}"
    return None if result.exists() else "its converter writes nothing"
