"""Where the model scripts find the project's folders and put their files."""

import contextlib
import os
import pathlib
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV_PYTHON = ROOT / ".venv" / "bin" / "python"
DEBIAN_PYTHON = pathlib.Path("/usr/bin/python3")
MODEL_DIR = ROOT / "build" / "models"
WHEEL_DIR = ROOT / "build" / "wheels"


@contextlib.contextmanager
def scratch_beside(target):
    """Gives a temporary path in the target's folder; deleted at the end.

    The caller writes there and renames onto the target when all is well, so
    that an interrupted run never leaves a half-written file under its name.
    """
    target = pathlib.Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    # mkstemp makes private files; the result is an ordinary one.
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(name, 0o666 & ~mask)
    try:
        yield pathlib.Path(name)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def shown(path):
    """The path as a user in the project's folder would type it."""
    with contextlib.suppress(ValueError):
        return str(pathlib.Path(path).resolve().relative_to(pathlib.Path.cwd()))
    return str(path)
