"""A program to ask about: its folders, its entries, and what its owner declares."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perdure.base.errors import UsageError
from perdure.closure.graph import Closure
from perdure.closure.installed import Environment, Installed
from perdure.closure.library import Library
from perdure.closure.places import Kind, Module, Places, Root, identity
from perdure.closure.walk import walk
from perdure.records.record import Record


class Program(Record):
    """A Python program.

    `entries` are what starts it: files, modules, or `module:Class` strings that something loads by
    name. `roots` are the folders in which its own modules are found, before all others; the folder
    of an entry file is one of them without being named. `sites` are the folders of its installed
    libraries, if they are not those of the running Python. `declared` maps a module with unknown
    imports to all that they import, which its owner answers for. `files` are patterns of data files
    that decide what it does: prompts, templates, schemas.
    """

    entries: tuple[str, ...]
    roots: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    declared: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - a record copies its defaults
    files: tuple[str, ...] = ()
    folder: str = "."

    def at(self, path: str) -> Path:
        """Give a path of the program in full."""
        return Path(self.folder, path).resolve()


@dataclass(frozen=True)
class Walked:
    """A closure with what it was made from, for questions about it."""

    program: Program
    closure: Closure
    places: Places
    library: Library
    installed: Installed


def closure_of(program: Program, *, installed: Installed | None = None) -> Walked:
    """Find what a program's entries reach.

    Raises:
        UsageError: an entry, a root or a declared module is not there.
        SourceError: an entry cannot be read as Python.

    """
    places = Places([Root(folder) for folder in _roots(program)])
    starts = [start for entry in program.entries for start in _starts(entry, places, program)]
    if not starts:
        raise UsageError("No entry is given.", remedy="Name what starts the program.")
    sites = [str(program.at(site)) for site in program.sites] or None
    library = Library(places, mentioned=_own(places, program))
    installed = installed or Environment(sites)
    closure = walk(
        starts, places=places, library=library, installed=installed, declared=program.declared
    )
    for start in starts:
        if start.name in library.failed:
            raise library.failed[start.name]
    _require_declared(program, closure, places)
    return Walked(program, closure, places, library, installed)


def _is_file(entry: str) -> bool:
    return entry.endswith(".py") or "/" in entry


def _entry_folders(program: Program) -> list[Path]:
    return [program.at(entry).parent for entry in program.entries if _is_file(entry)]


def _roots(program: Program) -> list[Path]:
    roots = _entry_folders(program)
    for root in program.roots:
        folder = program.at(root)
        if not folder.is_dir():
            raise UsageError(
                "This root is not a folder.",
                where=root,
                remedy="Name the folder in which the program's top-level modules and packages are.",
            )
        if not Places([Root(folder)]).top_level(folder):
            raise UsageError(
                "There is no module in this root.",
                where=root,
                remedy="Name the folder in which the program's top-level modules and packages are.",
            )
        roots.append(folder)
    if not roots:
        raise UsageError(
            "The folders of the program's own modules are not known.",
            remedy="Give a root, or name the entry as a file.",
        )
    return list(dict.fromkeys(roots))


def _starts(entry: str, places: Places, program: Program) -> list[Module]:
    if _is_file(entry):
        return [_file_start(program.at(entry), places, program)]
    name = entry.partition(":")[0]
    found = places.find(name)
    if found is None or (found.kind is Kind.NAMESPACE and places.find(f"{name}.__main__") is None):
        raise UsageError(
            f"There is no module {name!r} in the folders given.",
            where=", ".join(program.roots),
            remedy="Name the entry as a file, or as a module as Python would import it.",
        )
    main = places.find(f"{name}.__main__") if found.is_package and ":" not in entry else None
    return [found] if main is None else [main]


def _file_start(path: Path, places: Places, program: Program) -> Module:
    if not path.is_file():
        raise UsageError("There is no such entry file.", where=str(path))
    # Its name within a root that was given says more than that of the file alone.
    for root in [program.at(folder) for folder in program.roots]:
        if path.is_relative_to(root):
            name = ".".join(path.relative_to(root).with_suffix("").parts)
            found = places.find(name.removesuffix(".__init__"))
            if found is not None and identity(found) == str(path):
                return found
    return Module(name=path.stem, path=str(path))


def _own(places: Places, program: Program) -> frozenset[str]:
    """Give the top-level names of the program itself: strings may name its modules."""
    folders = [*_entry_folders(program), *(program.at(root) for root in program.roots)]
    return frozenset[str]().union(*(places.top_level(folder) for folder in folders))


def _require_declared(program: Program, closure: Closure, places: Places) -> None:
    for name, targets in program.declared.items():
        if name not in closure.modules:
            raise UsageError(
                f"Imports are declared for {name!r}, which the program does not reach.",
                remedy="Declare imports for a module that is reached.",
            )
        for target in targets:
            if places.find(target) is None:
                raise UsageError(
                    f"{name!r} is declared to import {target!r}, which is not there.",
                    remedy="Declare modules of the program, as Python would import them.",
                )
