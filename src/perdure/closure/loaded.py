"""What a process has really loaded, held against what was found in the source.

The walk over the source cannot see everything; a process that runs knows what it runs. A module
that was loaded and is in no fingerprint would be code that decides and that nobody compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from perdure.closure.rooms import is_ours, only_reads
from perdure.records.fingerprint import Fingerprint


def unlisted(
    found: Fingerprint, loaded: Mapping[str, ModuleType], folders: Sequence[Path] = ()
) -> tuple[str, ...]:
    """Name the loaded modules that a fingerprint lacks: our own, and those from `folders`.

    `loaded` is `sys.modules`. What of our own only reads records is left out.
    """
    listed = found.engine.keys() | found.transport.keys() | found.plugins.keys()
    listed |= {name.removeprefix("module ") for name in found.files}
    homes = [folder.resolve() for folder in folders]
    missing = set()
    for name, module in list(loaded.items()):
        real = _name_of(name, module)
        file = getattr(module, "__file__", None)
        ours = is_ours(real) and not only_reads(real)
        theirs = isinstance(file, str) and any(Path(file).is_relative_to(h) for h in homes)
        if (ours or (theirs and not is_ours(real))) and real not in listed:
            missing.add(real)
    return tuple(sorted(missing))


def _name_of(name: str, module: ModuleType) -> str:
    """Give the name of a module as it is imported, though it was started as a command."""
    spec = getattr(module, "__spec__", None) if name == "__main__" else None
    return spec.name if spec is not None else name
