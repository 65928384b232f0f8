"""Find the weights of a local model, check them, and say how to fetch them if they are not here.

Nothing of the package that brings the weights is imported or run: only its file is read.
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

from perdure.base.errors import UsageError
from perdure.base.text import one_line
from perdure.inference.local.packaged import installer, module_here, packaged_file
from perdure.inference.local.settings import (
    ENGINE_MODULE,
    ENGINE_REQUIREMENT,
    WEIGHTS_FILE,
    WEIGHTS_MODULE,
    WEIGHTS_NAME,
    WEIGHTS_REQUIREMENT,
    WEIGHTS_SHA256,
    LocalSettings,
)
from perdure.records.record import Record

_GGUF_MAGIC = b"GGUF"


class Weights(Record):
    """A file of weights that is there and is what it should be.

    `name` is what it is served as: the known name of the packaged weights, else the file's own.
    """

    path: str
    name: str
    sha256: str


def check_local(settings: LocalSettings) -> Weights:
    """Check that a local model can be run with these settings; nothing is loaded or created.

    Raises:
        UsageError: the engine or the weights are missing, or the file is not the right one.

    """
    engine_here = module_here(ENGINE_MODULE)
    path = (
        Path(settings.weights_file)
        if settings.weights_file
        else packaged_file(WEIGHTS_MODULE, WEIGHTS_FILE)
    )
    if path is None or not engine_here:
        raise UsageError(
            f"A local model needs {_missing(engine=not engine_here, weights=path is None)}, "
            "and that is not installed here.",
            remedy=f"This line fetches it: {fetch_line(weights=path is None)}",
        )
    return _checked(path, settings)


def fetch_line(*, weights: bool = True) -> str:
    """Write the one line that fetches what a local model needs, for the interpreter in use.

    The weights come without the dependencies of their package, which would be built from source.
    """
    lines = []
    if not module_here(ENGINE_MODULE):
        lines.append(f"{installer()} {shlex.quote(ENGINE_REQUIREMENT)}")
    if weights:
        lines.append(f"{installer()} --no-deps {WEIGHTS_REQUIREMENT}")
    return " && ".join(lines)


def _missing(*, engine: bool, weights: bool) -> str:
    parts = (["openvino-genai"] if engine else []) + (["its weights"] if weights else [])
    return " and ".join(parts)


def _checked(path: Path, settings: LocalSettings) -> Weights:
    where = one_line(str(path))
    try:
        with path.open("rb") as file:
            magic = file.read(len(_GGUF_MAGIC))
            file.seek(0)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as fault:
        raise UsageError(
            f"The weights cannot be read ({fault.strerror}).",
            where=where,
            remedy="Name a GGUF file that can be read, or none to use the packaged weights.",
        ) from fault
    if magic != _GGUF_MAGIC:
        raise UsageError(
            "This is not a GGUF file.", where=where, remedy="Name the weights as one GGUF file."
        )
    expected = settings.sha256 or ("" if settings.weights_file else WEIGHTS_SHA256)
    if expected and sha256 != expected:
        raise UsageError(
            f"These weights are not the ones that are asked for: their SHA-256 is {sha256}, "
            f"not {expected}.",
            where=where,
            remedy=_remedy_for_other_file(packaged=not settings.weights_file),
        )
    name = WEIGHTS_NAME if sha256 == WEIGHTS_SHA256 else path.name.removesuffix(".gguf")
    return Weights(path=str(path), name=name, sha256=sha256)


def _remedy_for_other_file(*, packaged: bool) -> str:
    if packaged:
        reinstall = fetch_line().replace(" --no-deps ", " --force-reinstall --no-deps ")
        return f"This line fetches them again: {reinstall}"
    return "Name the right file, or pin the hash of this one."
