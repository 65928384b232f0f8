"""What is installed: which distribution a module comes from, and in which version."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from perdure.closure.places import Places, Root
from perdure.closure.source import SourceError, parse
from perdure.records.record import Record


class Distribution(Record):
    """An installed distribution."""

    name: str
    version: str


class Installed(Protocol):
    """What a program can import beside its own folders and the standard library."""

    def providers(self, module: str) -> tuple[Distribution, ...]:
        """Find the distributions that bring a module. Several can share a namespace."""
        ...

    def stray(self, module: str) -> str:
        """Find a module that is importable and in no distribution: give its place, or ""."""
        ...

    def entry_points(self, group: str, own: Sequence[str] = ()) -> tuple[str, ...]:
        """List the entry points of a group, as `module:attribute`.

        `own` are the program's own folders: Python looks there as well, and an installation for
        development leaves them there.
        """
        ...

    def siblings(self, module: str) -> frozenset[str]:
        """Name the top-level modules that come with a module: those of its distributions."""
        ...

    def home(self, module: str) -> str:
        """Give the folder in which Python finds a module's top-level name, or ""."""
        ...

    def startup(self) -> tuple[str, ...]:
        """Name the modules that Python imports when it starts, because a `.pth` file says so."""
        ...


def is_standard(module: str) -> bool:
    """Say whether a module is part of the running Python, or stands for the program itself."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or top in sys.builtin_module_names or top == "__main__"


class Environment:
    """The distributions in the folders of a Python's path; those of the running one by default."""

    def __init__(self, folders: Sequence[str] | None = None) -> None:
        # The folder that a command was called in is not where a program's libraries are.
        self._folders = [f for f in (sys.path if folders is None else folders) if f]
        self._pth = [line for f in self._folders for line in _pth_lines(Path(f))]
        linked = (str(Path(f, line)) for f, line in self._pth if not _is_code(line))
        self._folders += [f for f in linked if f not in self._folders and Path(f).is_dir()]
        self._places = Places([Root(Path(folder)) for folder in self._folders])
        self._listed: list[_Entry] | None = None

    def providers(self, module: str) -> tuple[Distribution, ...]:
        """Find the distributions that bring a module. Several can share a namespace."""
        parts = module.split(".")
        for count in range(len(parts), 0, -1):
            found = [e for e in self._entries() if e.brings("/".join(parts[:count]))]
            if found:
                return tuple(e.described() for e in found)
        return tuple(
            e.described() for e in self._entries() if parts[0] in e.top_level and not e.editable
        )

    def stray(self, module: str) -> str:
        """Find a module that is importable and in no distribution: give its place, or ""."""
        top = module.partition(".")[0]
        found = self._places.find(top)
        if found is not None and found.path:
            return found.path
        return next((e.editable for e in self._entries() if e.editable and top in e.top_level), "")

    def entry_points(self, group: str, own: Sequence[str] = ()) -> tuple[str, ...]:
        """List the entry points of a group, as `module:attribute`."""
        found = {
            point.value.partition("[")[0].strip()
            for distribution in metadata.distributions(path=[*own, *self._folders])
            for point in _points(distribution)
            if point.group == group
        }
        return tuple(sorted(found))

    def siblings(self, module: str) -> frozenset[str]:
        """Name the top-level modules that come with a module: those of its distributions."""
        top = module.partition(".")[0]
        found = [entry.tops() for entry in self._entries() if entry.brings(top)]
        return frozenset({top}).union(*found)

    def home(self, module: str) -> str:
        """Give the folder in which Python finds a module's top-level name, or ""."""
        top = module.partition(".")[0]
        for folder in self._folders:
            if Places([Root(Path(folder))]).find(top) is not None:
                return folder
        return ""

    def startup(self) -> tuple[str, ...]:
        """Name the modules that Python imports when it starts, because a `.pth` file says so."""
        return tuple(
            dict.fromkeys(
                name for _, line in self._pth if _is_code(line) for name in _imported(line)
            )
        )

    def _entries(self) -> list[_Entry]:
        if self._listed is None:
            found = metadata.distributions(path=self._folders)
            self._listed = [_Entry(distribution) for distribution in found]
        return self._listed


class _Entry:
    """One distribution. Its list of files is searched as text: parsing all of them takes long."""

    def __init__(self, distribution: metadata.Distribution) -> None:
        self._distribution = distribution
        listed = distribution.read_text("RECORD") or ""
        self._files = f"\n{listed}"
        self.top_level = frozenset((distribution.read_text("top_level.txt") or "").split())
        self.editable = _editable(distribution.read_text("direct_url.json"))

    def brings(self, path: str) -> bool:
        """Say whether its files include a module or package, given with slashes."""
        if f"\n{path}/" in self._files:
            return True
        # As in `six.py` or `_cffi.abi3.so`, and not `six-1.0.dist-info/METADATA`.
        place = self._files.find(f"\n{path}.")
        file = self._files[place + 1 :].split(",", 1)[0] if place >= 0 else ""
        return "/" not in file.removeprefix(path) and file.endswith((".py", ".pyc", ".so", ".pyd"))

    def tops(self) -> frozenset[str]:
        """Name what of its files can be imported at the top level."""
        firsts = {line.split(",", 1)[0].partition("/")[0] for line in self._files.splitlines()}
        names = {first.partition(".")[0] for first in firsts if not first.endswith("-info")}
        return frozenset(name for name in names if name.isidentifier() and self.brings(name))

    def described(self) -> Distribution:
        """Give its name and version."""
        found = self._distribution
        return Distribution(name=found.metadata["Name"] or "?", version=found.version or "?")


def _points(distribution: metadata.Distribution) -> Sequence[metadata.EntryPoint]:
    try:
        return tuple(distribution.entry_points)
    except (ValueError, TypeError):
        # Where Python cannot read them, no program gets any.
        return ()


def _pth_lines(folder: Path) -> Iterator[tuple[str, str]]:
    """Give the lines of a folder's `.pth` files: each names a folder, or is code that is run."""
    for file in sorted(folder.glob("*.pth")):
        try:
            lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
        except OSError:
            continue
        yield from ((str(folder), line.rstrip()) for line in lines if line.strip(" \t\0"))


def _is_code(line: str) -> bool:
    return line.startswith(("import ", "import\t"))


def _imported(line: str) -> Iterator[str]:
    try:
        tree = parse(line, "")
    except SourceError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            # As in `__import__('name')`, which is how installers write it.
            yield from (
                one.value
                for one in node.args[:1]
                if isinstance(one, ast.Constant)
                and isinstance(one.value, str)
                and all(part.isidentifier() for part in one.value.split("."))
            )


def _editable(direct_url: str | None) -> str:
    """Give the folder of a distribution that is installed as a link to its source, or ""."""
    try:
        told = json.loads(direct_url) if direct_url else {}
        if told.get("dir_info", {}).get("editable"):
            return unquote(urlsplit(told.get("url", "")).path)
    except (ValueError, AttributeError):
        return ""
    return ""
