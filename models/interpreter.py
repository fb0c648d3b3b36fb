"""Restarts a script under the Python that has the modules it needs.

onnx and onnxruntime live in .venv (numpy 2), torch in Debian's own Python
(numpy 1). Whoever starts a script need not know which one it wants.
"""

import importlib.util
import os
import sys

# Set in the restarted process: a second restart would go round in circles.
GUARD = "SARDONYX_RESTARTED"


def need(modules, python, how_to_get):
    """Returns if the modules are importable here, else restarts in `python`."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if not missing:
        os.environ.pop(GUARD, None)  # not for the scripts this one starts
        return
    if os.environ.get(GUARD) or not os.access(python, os.X_OK):
        names = ", ".join(missing)
        sys.exit(f"{sys.argv[0]}: no {names} in {python}; run {how_to_get}")
    os.environ[GUARD] = "1"
    os.execv(python, [str(python), *sys.argv])
