"""Where a dotted name leads, by Python's own rules, without importing anything.

Every folder is listed once, so that one answer is about one moment. A later question needs new
places.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path

from perdure.base.errors import UsageError
from perdure.closure.shelf import Disk, Files
from perdure.closure.source import Source
from perdure.records.record import Record

_MODULES_MAX = 100_000


class Kind(StrEnum):
    """What a module is on disk."""

    SOURCE = "source"
    NATIVE = "native"
    BYTECODE = "bytecode"
    NAMESPACE = "namespace"


# In the order in which Python looks for them.
_SUFFIXES = (
    *((suffix, Kind.NATIVE) for suffix in EXTENSION_SUFFIXES),
    *((suffix, Kind.SOURCE) for suffix in SOURCE_SUFFIXES),
    *((suffix, Kind.BYTECODE) for suffix in BYTECODE_SUFFIXES),
)


class Module(Record):
    """A module that is on disk. A namespace has no file of its own, and so no path."""

    name: str
    path: str = ""
    kind: Kind = Kind.SOURCE
    is_package: bool = False


@dataclass(frozen=True)
class Root:
    """A folder in which top-level names are looked up: all of them, or only those given."""

    folder: Path
    only: frozenset[str] | None = None


@dataclass(frozen=True)
class _Found:
    module: Module
    folders: tuple[str, ...] = ()


class Places:
    """Looks names up in folders, the first folder first."""

    def __init__(self, roots: Sequence[Root], files: Files | None = None) -> None:
        self._roots = tuple((str(root.folder), root.only) for root in roots)
        self._files = files or Disk()
        self._listings: dict[str, frozenset[str]] = {}
        self._found: dict[str, _Found | None] = {}

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that top-level names are looked up in."""
        return tuple(folder for folder, _ in self._roots)

    def find(self, name: str) -> Module | None:
        """Find a module by its full name; None if no folder has it."""
        found = self._locate(name)
        return found.module if found else None

    def chain(self, name: str) -> tuple[Module, ...]:
        """Give what importing a name executes, outermost package first, as far as it is there."""
        found: list[Module] = []
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            module = self.find(".".join(parts[:count]))
            if module is None:
                break
            found.append(module)
        return tuple(found)

    def source(self, module: Module) -> Source:
        """Read and parse a module that was found.

        Raises:
            SourceError: it cannot be read as Python.

        """
        return self._files.source(module.path)

    def below(self, name: str) -> Iterator[Module]:
        """Find a module and every module of its package, namespaces left out. "" means all.

        Raises:
            UsageError: there are too many.

        """
        waiting = [name] if name else sorted(self._top_level())
        seen: set[str] = set()
        count = 0
        while waiting:
            found = self._locate(waiting.pop())
            if found is None:
                continue
            if found.module.path:
                count += 1
                yield found.module
            if count > _MODULES_MAX:
                raise UsageError(
                    f"There are more than {_MODULES_MAX} modules here.",
                    where=", ".join(folder for folder, _ in self._roots),
                    remedy="Name the folders that the program's own modules are in.",
                )
            for folder in found.folders:
                # A link that leads back up would be followed for ever.
                identity = os.path.realpath(folder)
                if identity not in seen:
                    seen.add(identity)
                    children = sorted(_names(self._listing(folder)))
                    waiting.extend(f"{found.module.name}.{child}" for child in children)

    def beginning(self, prefix: str) -> Iterator[Module]:
        """Find every module whose name begins with a prefix, with what is below it.

        Raises:
            UsageError: there are too many.

        """
        package, _, first = prefix.rpartition(".")
        names = self.beside(package) if package else self._top_level()
        for name in sorted(names):
            if name.startswith(first):
                yield from self.below(f"{package}.{name}" if package else name)

    def top_level(self, folder: Path) -> frozenset[str]:
        """List the names that a folder may hold as modules."""
        return frozenset(_names(self._listing(str(folder))))

    def beside(self, package: str) -> frozenset[str]:
        """List the names that a package may hold as modules; nothing if it is none."""
        found = self._locate(package) if package else None
        folders = found.folders if found else ()
        return frozenset(name for folder in folders for name in _names(self._listing(folder)))

    def _top_level(self) -> set[str]:
        names: set[str] = set()
        for folder, only in self._roots:
            here = set(_names(self._listing(folder)))
            names |= here if only is None else here & only
        return names

    def _locate(self, name: str) -> _Found | None:
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def _search(self, name: str) -> _Found | None:
        parent, _, last = name.rpartition(".")
        if not last:
            return None
        if parent:
            above = self._locate(parent)
            folders = above.folders if above else ()
        else:
            folders = tuple(f for f, only in self._roots if only is None or last in only)
        portions = []
        for folder in folders:
            found = self._in_folder(folder, name, last)
            if found is not None:
                return found
            inner = os.path.join(folder, last)  # noqa: PTH118 - many thousand times
            if last in self._listing(folder) and self._files.is_folder(inner):
                portions.append(inner)
        if portions:
            return _Found(Module(name=name, kind=Kind.NAMESPACE, is_package=True), tuple(portions))
        return None

    def _in_folder(self, folder: str, name: str, last: str) -> _Found | None:
        listing = self._listing(folder)
        inner = os.path.join(folder, last)  # noqa: PTH118 - many thousand times
        if last in listing:
            inside = self._listing(inner)
            for suffix, kind in _SUFFIXES:
                if f"__init__{suffix}" in inside:
                    path = os.path.join(inner, f"__init__{suffix}")  # noqa: PTH118 - as above
                    return _Found(
                        Module(name=name, path=path, kind=kind, is_package=True), (inner,)
                    )
        for suffix, kind in _SUFFIXES:
            if last + suffix in listing:
                path = inner + suffix
                if self._files.is_file(path):
                    return _Found(Module(name=name, path=path, kind=kind))
        return None

    def _listing(self, folder: str) -> frozenset[str]:
        if folder not in self._listings:
            self._listings[folder] = self._files.names(folder)
        return self._listings[folder]


def kind_of(path: str) -> Kind:
    """Say by a file's name what kind of module it is."""
    return next((kind for suffix, kind in _SUFFIXES if path.endswith(suffix)), Kind.SOURCE)


def identity(module: Module) -> str:
    """Name the file of a module, so that two names of one file are seen to be the same."""
    return os.path.realpath(module.path) if module.path else ""


def _names(listing: frozenset[str]) -> Iterator[str]:
    seen = set()
    for entry in listing:
        name = entry.partition(".")[0]
        suffixed = name == entry or any(entry == name + suffix for suffix, _ in _SUFFIXES)
        if suffixed and name.isidentifier() and name not in seen and not _is_special(name):
            seen.add(name)
            yield name


def _is_special(name: str) -> bool:
    return name in {"__init__", "__pycache__"}
