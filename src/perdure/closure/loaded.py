"""What a process has really loaded, held against what was found in the source.

The walk over the source cannot see everything, and the source can be edited between the moment it
was read and the moment it is imported. A process that runs knows what it runs: a module that was
loaded and is in no fingerprint, or not as it is there, would be code that decides and that nobody
compares.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

from perdure.base.clock import Clock, started_s
from perdure.base.errors import MovedError
from perdure.closure.compare import diff_of, is_same
from perdure.closure.rooms import is_ours, only_reads
from perdure.closure.source import SourceError, hash_file, read_text
from perdure.records.fingerprint import Code, Fingerprint

_NAMES_SHOWN = 5
# A clock may be a little behind the one that dates files.
_CLOCK_S = 2.0
_SITES = frozenset({"site-packages", "dist-packages"})
_STANDARD = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))

_Signature = tuple[int, int, int, int] | None

# What this process has loaded, as far as it was ever checked: the specification that the import
# left, and the text. Code once loaded stays what it is, whatever becomes of its file.
_checked: dict[str, tuple[object, str]] = {}
# What was refused once in this process is still loaded, and is refused again.
_refused: dict[str, object] = {}


class Watch:
    """Holds what this process loads, and a run's data files, against the run's fingerprint.

    It is made before the fingerprint is taken, so that nothing comes in between.
    """

    def __init__(
        self, folder: Path, files: Sequence[str] = (), plugins: Sequence[str] = ()
    ) -> None:
        """Take note of what is loaded.

        `folder` is the study's, `files` are the paths of its data files in it, and `plugins` its
        `module:Class` strings: those modules are loaded anew if they were loaded from elsewhere.
        """
        self._folder = folder
        self._plugins = {plugin.partition(":")[0] for plugin in plugins}
        self._files = {name: folder / name for name in files}
        self._signatures = {name: _signature(path) for name, path in self._files.items()}
        self._before = {
            name: spec
            for name, spec in _specs(sys.modules)
            if name not in _refused or _refused[name] is not spec
        }
        self._count = -1
        self._found: Fingerprint | None = None
        self._lock = Lock()

    def begin(self, found: Fingerprint, clock: Clock) -> None:
        """Take the fingerprint, and check what was loaded before it was taken.

        Raises:
            MovedError: a module of it is loaded in another state than the one on disk.

        """
        self._found = found
        codes = found.engine | found.plugins
        stale = [
            name
            for name, spec in self._before.items()
            if name in codes
            and not (name in self._plugins and not _is_below(_origin(spec), self._folder))
            and _is_stale(name, spec, codes[name], found, clock)
        ]
        if stale:
            raise MovedError(
                f"This program has loaded other code than the run would: {_listed(stale)} is from "
                "elsewhere, or was changed since the program began.",
                moved=_parts(stale),
                where=str(self._folder),
                remedy="Start the program again; in a notebook, restart its kernel.",
            )

    def look(self) -> None:
        """Check what was loaded since, and whether the data files are as they were.

        Raises:
            MovedError: code was loaded that is not in the fingerprint, or not as it is there; or a
                data file changed. Names it.

        """
        with self._lock:
            self._look_at_files()
            count = len(sys.modules)
            if count != self._count:
                self._look_at_modules()
                # Only now: whatever was wrong is wrong for everybody who asks after.
                self._count = count

    def _look_at_modules(self) -> None:
        assert self._found is not None, "a watch begins with a fingerprint"
        before = self._before
        fresh = {
            name: module
            for name, module in list(sys.modules.items())
            if name not in before or before[name] is not _spec(module)
        }
        declared = {os.path.realpath(path) for path in self._files.values()}
        strays = [
            name
            for name in unlisted(self._found, fresh, [self._folder])
            if os.path.realpath(_file(fresh.get(name)) or "/") not in declared
        ]
        if strays:
            _refused.update((name, _spec(fresh.get(name))) for name in strays)
            raise MovedError(
                f"Code takes part in this run that nothing would compare: {_listed(strays)} was "
                "loaded, and no import of it was found in the source.",
                moved=_parts(strays),
                where=str(self._folder),
                remedy="Import it by its name where it is used, or list its file under `files` in "
                "the study; then run again.",
            )
        changed = dict(_changed(self._found, fresh))
        if changed:
            _refused.update((name, _spec(fresh[name])) for name in changed)
            raise MovedError(
                f"The code of this run changed while the run worked: {_listed(changed)}.",
                moved=_parts(changed),
                diffs=tuple(diff for diff in changed.values() if diff),
                where=str(self._folder),
                remedy="Run again, with the code as it is meant to be.",
            )
        before.update(_specs(fresh))

    def _look_at_files(self) -> None:
        assert self._found is not None, "a watch begins with a fingerprint"
        for name, path in self._files.items():
            signature = _signature(path)
            if signature == self._signatures[name]:
                continue
            if self._found.files.get(name) != _hash(path):
                raise MovedError(
                    f"A data file of this run changed while the run worked: {name}.",
                    moved=("files",),
                    where=str(self._folder),
                    remedy="Restore it and run again, or start another run in another folder.",
                )
            self._signatures[name] = signature


def unlisted(
    found: Fingerprint, loaded: Mapping[str, ModuleType], folders: Sequence[Path] = ()
) -> tuple[str, ...]:
    """Name the loaded modules that a fingerprint lacks: our own, and those from `folders`.

    `loaded` is `sys.modules` or a part of it. What of our own only reads records is left out, and
    so are installed packages, wherever they are.
    """
    listed = found.engine.keys() | found.transport.keys() | found.plugins.keys()
    listed |= {name.removeprefix("module ") for name in found.files}
    homes = [folder.resolve() for folder in folders]
    missing = set()
    for name, module in list(loaded.items()):
        real = _name_of(name, module)
        ours = is_ours(real) and not only_reads(real)
        theirs = not is_ours(real) and any(_is_below(_file(module), home) for home in homes)
        if (ours or theirs) and real not in listed:
            missing.add(real)
    return tuple(sorted(missing))


def _changed(found: Fingerprint, fresh: Mapping[str, ModuleType]) -> Iterator[tuple[str, str]]:
    """Name the modules whose file is not what was found in it, each with its diff."""
    codes = found.engine | found.plugins
    for name, module in fresh.items():
        file = _file(module)
        if file is not None and f"module {name}" in found.files:
            if found.files[f"module {name}"] != _hash(Path(file)):
                yield name, ""
        elif file is not None and name in codes:
            text = _text(file)
            if not _is_as_found(codes[name], text, name, found):
                old = codes[name].text
                yield name, diff_of(name, old, text or "", docstrings=name in found.plugins)
            elif text is not None:
                _checked[name] = (_spec(module), text)


def _is_stale(name: str, spec: object, code: Code, found: Fingerprint, clock: Clock) -> bool:
    """Say whether a module that is loaded already is another than its file."""
    known, loaded_text = _checked.get(name, (None, ""))
    if known is spec and spec is not None:
        return not _is_as_found(code, loaded_text, name, found)
    file = _origin(spec)
    if file is None:
        return False
    try:
        changed_s = Path(file).stat().st_ctime
    except OSError:
        return True
    if started_s() < changed_s <= clock.wall_s() + _CLOCK_S:
        return True
    text = _text(file)
    if not _is_as_found(code, text, name, found):
        return True
    _checked[name] = (spec, code.text if text == code.text else text or "")
    return False


def _is_as_found(code: Code, text: str | None, name: str, found: Fingerprint) -> bool:
    if text is None:
        return False
    now = Code(text=text)
    return is_same(code, now, docstrings=name in found.plugins)


def _specs(modules: Mapping[str, ModuleType]) -> Iterator[tuple[str, object]]:
    return ((name, _spec(module)) for name, module in list(modules.items()))


def _spec(module: object) -> Any:
    return _attribute(module, "__spec__")


def _origin(spec: object) -> str | None:
    origin = getattr(spec, "origin", None)
    return origin if isinstance(origin, str) else None


def _file(module: object) -> str | None:
    file = _attribute(module, "__file__")
    return file if isinstance(file, str) else None


def _attribute(module: object, name: str) -> Any:
    """Read a module's attribute as it stands: a lazy one would be loaded by asking it."""
    try:
        return object.__getattribute__(module, "__dict__").get(name)
    except AttributeError:
        return None


def _name_of(name: str, module: ModuleType) -> str:
    """Give the name of a module as it is imported, though it was started as a command."""
    spec = _spec(module) if name == "__main__" else None
    return spec.name if spec is not None else name


def _is_below(file: str | None, home: Path) -> bool:
    if file is None:
        return False
    for path in (Path(file), Path(os.path.realpath(file))):
        if path.is_relative_to(home) and not any(path.is_relative_to(one) for one in _STANDARD):
            return not _SITES & set(path.relative_to(home).parts)
    return False


def _text(file: str) -> str | None:
    try:
        return read_text(Path(file))
    except SourceError:
        return None


def _hash(path: Path) -> str:
    try:
        return hash_file(path)
    except SourceError:
        return ""


def _signature(path: Path) -> _Signature:
    """Give what tells that a file was written, without reading it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _listed(names: Iterable[str]) -> str:
    names = sorted(names)
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _parts(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys("engine" if is_ours(name) else "plugins" for name in names))
