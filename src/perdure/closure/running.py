"""The modules that a process has really loaded, with their files as these are now.

Python's own are left out: its version stands for them. So is what has no file.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from perdure.closure.compare import Difference, Part
from perdure.closure.rooms import only_reads
from perdure.closure.source import SourceError, hash_file
from perdure.records.fingerprint import Fingerprint
from perdure.records.record import Record

_STANDARD = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
_SITES = frozenset({"site-packages", "dist-packages"})


class Loaded(Record):
    """A module that a process loaded: its file, and the SHA-256 of that; "" if it cannot be read.

    The file was read after the module was loaded from it.
    """

    path: str
    sha256: str


def loaded_now(
    modules: Mapping[str, ModuleType], known: Mapping[str, Loaded] | None = None
) -> dict[str, Loaded]:
    """List the loaded modules by name. `modules` is `sys.modules`; `known` are left out."""
    known = known or {}
    found = {}
    for name, path in sorted(_files(modules)):
        if name not in known or known[name].path != path:
            found[name] = Loaded(path=path, sha256=_hash(path))
    return found


def moved_since(
    loaded: Mapping[str, Loaded], found: Fingerprint
) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """Say of loaded modules that a fingerprint lacks whether their files moved since.

    The second part are those of installed libraries, which are told by their version, and of which
    this is a warning.
    """
    listed = found.engine.keys() | found.transport.keys() | found.plugins.keys()
    listed |= {name.removeprefix("module ") for name in found.files}
    refusing: list[Difference] = []
    warning: list[Difference] = []
    for name, one in sorted(loaded.items()):
        now = _hash(one.path)
        if name in listed or only_reads(name) or now == one.sha256:
            continue
        moved = Difference(part=Part.FILES, name=f"module {name}", old=one.sha256, new=now)
        (warning if _SITES & set(Path(one.path).parts) else refusing).append(moved)
    return tuple(refusing), tuple(warning)


def _files(modules: Mapping[str, ModuleType]) -> Iterator[tuple[str, str]]:
    for name, module in list(modules.items()):
        try:
            # Without asking the module, which a lazy one would answer by loading itself.
            attributes = object.__getattribute__(module, "__dict__")
        except AttributeError:
            continue
        file, spec = attributes.get("__file__"), attributes.get("__spec__")
        if not isinstance(file, str) or _is_standard(file):
            continue
        # What was started as a command has its real name there.
        real = getattr(spec, "name", None) if name == "__main__" else name
        yield real if isinstance(real, str) else name, os.path.abspath(file)  # noqa: PTH100 - lexical


def _is_standard(file: str) -> bool:
    path = Path(file)
    return any(
        path.is_relative_to(home) and not _SITES & set(path.relative_to(home).parts)
        for home in _STANDARD
    )


def _hash(path: str) -> str:
    try:
        return hash_file(Path(path))
    except SourceError:
        return ""
