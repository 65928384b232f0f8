"""What is installed here: found through the import system, and nothing of it imported or run."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from pathlib import Path


def module_here(name: str) -> bool:
    """Say whether a top-level module is installed."""
    return importlib.util.find_spec(name) is not None


def packaged_file(module: str, file: str) -> Path | None:
    """Find a file inside a top-level package; None if the package or the file is not here."""
    spec = importlib.util.find_spec(module)
    if spec is None:
        return None
    folders = (Path(folder) for folder in spec.submodule_search_locations or ())
    return next((folder / file for folder in folders if (folder / file).is_file()), None)


def installer() -> str:
    """Write the beginning of a line that installs something for the interpreter in use."""
    python = shlex.quote(sys.executable)
    if module_here("pip"):
        return f"{python} -m pip install"
    beside = Path(".uv/bin/uv")
    uv = "uv" if shutil.which("uv") or not beside.is_file() else str(beside)
    return f"{uv} pip install --python {python}"
