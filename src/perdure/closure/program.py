"""A program to ask about: its folders, its entries, and what its owner declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perdure.base.errors import UsageError, refuse_all
from perdure.closure.entries import MAIN, Entry, entry_of
from perdure.closure.graph import LOADED, STARTUP, Closure
from perdure.closure.installed import Environment, Installed, is_standard
from perdure.closure.library import Library
from perdure.closure.places import Kind, Module, Places, Root, identity, kind_of
from perdure.closure.plugin_places import places_of
from perdure.closure.rooms import ENTRIES, is_ours, only_reads
from perdure.closure.walk import walk
from perdure.records.record import Record

# Python imports these by itself when it starts, if they are there.
_CUSTOMS = ("sitecustomize", "usercustomize")
# At the end of a declared name: the package and every module in it.
_ALL = ".*"
_ROOT_REMEDY = "Name the folder in which the program's top-level modules and packages are."


class Program(Record):
    """A Python program.

    `entries` are what starts it: files, folders, modules, or `module:Class` strings that something
    loads by name. `roots` are the folders in which its own modules are found, before all others;
    the folder of an entry file is one of them without being named. `sites` are the folders of its
    installed libraries, if they are not those of the running Python. `declared` maps a module with
    unknown imports to all that they import, which its owner answers for; `package.*` is a package
    with all its modules. `registries` are modules whose strings name modules, all of which count as
    imported. `files` are patterns of data files that decide what it does: prompts, templates,
    schemas. `loaded` has modules that a process of it really loaded, with their files. With
    `engine` it is a study's: this package drives it, and `entries` are the study's plug-ins.
    """

    entries: tuple[str, ...]
    roots: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    declared: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - a record copies its defaults
    files: tuple[str, ...] = ()
    folder: str = "."
    registries: tuple[str, ...] = ()
    loaded: dict[str, str] = {}  # noqa: RUF012 - as above
    engine: bool = False

    def at(self, path: str) -> Path:
        """Give a path of the program in full."""
        return Path(self.folder, path).resolve()

    def really_loaded(self) -> dict[str, str]:
        """Give what a process loaded, without what of ours only reads a record.

        That is loaded because the same program also shows the record.
        """
        return {n: f for n, f in self.loaded.items() if not (self.engine and only_reads(n))}

    def is_answered(self, module: str) -> bool:
        """Say whether somebody answers for a module's unknown imports.

        Our own code, where it drives a study, loads what the study names and nothing else.
        """
        return module in self.declared or (self.engine and is_ours(module))


@dataclass(frozen=True)
class Walked:
    """A closure with what it was made from, for questions about it.

    `own` are the top-level names in the program's own folders.
    """

    program: Program
    closure: Closure
    places: Places
    library: Library
    installed: Installed
    own: frozenset[str]
    declared: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class _Laid:
    """Where a program's modules are, what starts it, and which names strings may mean."""

    places: Places
    starts: tuple[Module, ...]
    own: frozenset[str]
    mentioned: frozenset[str]


def closure_of(program: Program, *, installed: Installed | None = None) -> Walked:
    """Find what a program's entries reach.

    Raises:
        UsageError: an entry, a root or a declared module is not there.
        PluginError: the module of a study's plug-in is not there.
        SourceError: an entry cannot be read as Python.

    """
    installed = installed or Environment([str(program.at(s)) for s in program.sites] or None)
    laid = _study(program, installed) if program.engine else _laid(program, installed)
    if not laid.starts:
        raise UsageError("No entry is given.", remedy="Name what starts the program.")
    places = laid.places
    library = Library(places, mentioned=laid.mentioned)
    declared = {name: tuple(_each(t, places)) for name, t in program.declared.items()}
    closure = walk(
        laid.starts,
        places=places,
        library=library,
        installed=installed,
        declared=declared,
        registries=frozenset(program.registries),
        is_answered=program.is_answered,
        besides=[
            *((module, STARTUP) for module in _at_startup(places, installed)),
            *((module, LOADED) for module in _really_loaded(program, places, installed)),
        ],
    )
    for start in laid.starts:
        if start.name in library.failed:
            raise library.failed[start.name]
    _require_declared(program, declared, closure, places)
    return Walked(program, closure, places, library, installed, laid.own, declared)


def _study(program: Program, installed: Installed) -> _Laid:
    found = places_of(program.at("."), program.entries, installed=installed, whole=True)
    ours = [found.places.find(name) for name in ENTRIES]
    starts = (*(module for module in ours if module is not None), *found.starts)
    return _Laid(found.places, starts, found.beside, found.beside)


def _laid(program: Program, installed: Installed) -> _Laid:
    entries = [entry_of(text, Path(program.folder)) for text in program.entries]
    own = [entry.root for entry in entries if entry.root is not None]
    own += [root_of(program, root) for root in program.roots]
    folder = program.at(".")
    if not own and any(Places([Root(folder)]).find(entry.module) for entry in entries):
        # As `python -m` looks in the folder that it is called in.
        own = [folder]
    roots = [Root(folder) for folder in own]
    places = Places(list(dict.fromkeys(roots)))
    for entry in entries:
        if entry.file is None and places.find(entry.module) is None:
            home = installed.home(entry.module)
            if home:
                roots.append(Root(Path(home), installed.siblings(entry.module)))
    tops = frozenset[str]().union(*(places.top_level(folder) for folder in own))
    named = {name for root in roots for name in root.only or ()}
    places = Places(list(dict.fromkeys(roots)))
    starts = tuple(_start(entry, places, program) for entry in entries)
    return _Laid(places, starts, tops, tops | named)


def root_of(program: Program, root: str) -> Path:
    """Find a folder of a program's own modules.

    Raises:
        UsageError: it is not there, or holds no module.

    """
    folder = program.at(root)
    if not folder.is_dir():
        raise UsageError("This root is not a folder.", where=root, remedy=_ROOT_REMEDY)
    if not Places([Root(folder)]).top_level(folder):
        raise UsageError("There is no module in this root.", where=root, remedy=_ROOT_REMEDY)
    return folder


def _start(entry: Entry, places: Places, program: Program) -> Module:
    if entry.file is not None:
        return _file_start(entry.file, places, program)
    name = entry.module
    found = places.find(name)
    main = places.find(f"{name}.{MAIN}")
    if found is None or (found.kind is Kind.NAMESPACE and main is None):
        raise UsageError(
            f"There is no module {name!r} in the folders given, nor is it installed.",
            where=", ".join(program.roots),
            remedy="Name the entry as a file or a folder, or as a module as Python imports it.",
        )
    return main if main is not None and found.is_package and entry.runs_main else found


def _file_start(path: Path, places: Places, program: Program) -> Module:
    # Its name within a root that was given says more than that of the file alone.
    for root in [program.at(folder) for folder in program.roots]:
        if path.is_relative_to(root):
            name = ".".join(path.relative_to(root).with_suffix("").parts)
            found = places.find(name.removesuffix(".__init__"))
            if found is not None and identity(found) == str(path):
                return found
    return Module(name=path.stem, path=str(path))


def _each(targets: Sequence[str], places: Places) -> Iterator[str]:
    for target in targets:
        if target.endswith(_ALL):
            found = [module.name for module in places.below(target.removesuffix(_ALL))]
            # Of what is not there, the name is refused.
            yield from found or [target]
        else:
            yield target


def _at_startup(places: Places, installed: Installed) -> Iterator[Module]:
    for name in (*_CUSTOMS, *installed.startup()):
        yield from (module for module in places.chain(name) if module.name == name)


def _really_loaded(program: Program, places: Places, installed: Installed) -> Iterator[Module]:
    """Find the program's own among the modules that a process loaded.

    What is installed is not followed.
    """
    for name, file in program.really_loaded().items():
        found = places.find(name)
        if found is not None and (not file or identity(found) == str(Path(file).resolve())):
            yield found
        elif file and Path(file).is_file() and not (is_standard(name) or installed.providers(name)):
            yield Module(name=name, path=file, kind=kind_of(file))


def _require_declared(
    program: Program, declared: Mapping[str, Sequence[str]], closure: Closure, places: Places
) -> None:
    not_reached = [
        UsageError(
            f"Imports are declared for {name!r}, which the program does not reach.",
            remedy="Declare imports for a module that is reached.",
        )
        for name in (*declared, *program.registries)
        if name not in closure.modules
    ]
    not_there = [
        UsageError(
            f"{name!r} is declared to import {target!r}, which is not there.",
            remedy="Declare modules of the program, as Python would import them.",
        )
        for name, targets in declared.items()
        for target in targets
        if places.find(target) is None
    ]
    refuse_all([*not_reached, *not_there])
