"""The fingerprint of a run: our own deciding code, the study's plug-ins and their data files.

A run takes it before it does anything else, so it reads our own modules and parses none of them:
all that could decide are kept. Which of them a run reaches is asked only when a text has moved
(`reached`). Plug-ins are followed at once, because what they reach can lie anywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from perdure.base.canonical import hash_hex
from perdure.base.errors import PluginError
from perdure.closure.compare import code_hash
from perdure.closure.files import matching
from perdure.closure.graph import Closure
from perdure.closure.installed import Environment, Installed
from perdure.closure.library import Library
from perdure.closure.places import Kind, Module, Places, Root
from perdure.closure.reached import reached
from perdure.closure.rooms import ENTRIES, OURS, STANDS_ON, is_ours, only_carries, only_reads
from perdure.closure.source import hash_file, read_text
from perdure.closure.walk import walk
from perdure.records.fingerprint import Code, Fingerprint

# The folder that this package is in.
_HOME = Path(__file__).resolve().parents[2]


def python_version() -> str:
    """Give the running Python's version as far as it is compared, such as `3.12`."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def fingerprint(
    folder: Path,
    plugins: Sequence[str] = (),
    files: Sequence[str] = (),
    *,
    installed: Installed | None = None,
    home: Path = _HOME,
) -> Fingerprint:
    """Take the fingerprint of a run, as the code stands on disk now.

    `plugins` are the `module:Class` strings of the study, `folder` is where it looks for them, and
    `files` are patterns of data files in that folder.

    Raises:
        PluginError: a plug-in's module is not there.
        UsageError: a pattern of data files matches none.
        SourceError: a module cannot be read, or one of the plug-ins' is no Python.

    """
    installed = installed or Environment()
    folder = folder.resolve()
    ours = Root(home, frozenset({OURS}))
    found = [_place(reference, folder, ours) for reference in plugins]
    # The study's folder stands last on a run's path: a name that is installed means what is
    # installed, except for the plug-in itself.
    beside = {name for name, root in found if root is None}
    here = _not_installed(folder, installed, beside) if found else frozenset()
    roots = [ours, *(root for _, root in found if root is not None), Root(folder, here)]
    places = Places(list(dict.fromkeys(roots)))
    library = Library(places, mentioned=here, is_left_out=_could_decide)
    starts = [places.find(name) for name, _ in found]
    closure = walk(
        [start for start in starts if start is not None],
        places=places,
        library=library,
        installed=installed,
    )
    for error in library.failed.values():
        raise error
    return _gathered(closure, library, places, _hashed(matching(folder, files)))


def deciding_hash(found: Fingerprint) -> str:
    """Hash what of a fingerprint decides a run, so that two runs' engines can be told apart.

    Fingerprints that two versions of Python took are always different.
    """
    counts = reached(found)
    engine = {name: code for name, code in found.engine.items() if name in counts}
    return hash_hex(
        {
            "python": found.python,
            "engine": {name: code_hash(code, docstrings=False) for name, code in engine.items()},
            "plugins": {n: code_hash(code, docstrings=True) for n, code in found.plugins.items()},
            "files": found.files,
        }
    )


def _place(reference: str, folder: Path, ours: Root) -> tuple[str, Root | None]:
    """Find a plug-in as a run would: in the study's folder, or else among what is installed.

    The root is None if it is in the study's folder.
    """
    name = reference.partition(":")[0]
    if is_ours(name):
        if Places([ours]).find(name) is None:
            raise _not_there(reference, "in this package")
        return name, ours
    here = Places([Root(folder)]).find(name)
    if here is not None and here.path:
        return name, None
    for entry in sys.path:
        path = Path(entry)
        module = Places([Root(path)]).find(name)
        if module is not None and module.path:
            return name, Root(path, frozenset({name.partition(".")[0]}))
    raise _not_there(reference, f"in {folder} and among the installed packages")


def _not_there(reference: str, where: str) -> PluginError:
    return PluginError(
        f"The module {reference.partition(':')[0]!r} is not there.",
        where=reference,
        remedy=f"It is looked for {where}.",
    )


def _not_installed(folder: Path, installed: Installed, plugins: set[str]) -> frozenset[str]:
    """Name what the study's folder holds and nothing that is installed hides."""
    named = {name.partition(".")[0] for name in plugins}
    names = Places([Root(folder)]).top_level(folder) - {OURS}
    return frozenset(
        name
        for name in names
        if name in named or (name not in sys.stdlib_module_names and not installed.providers(name))
    )


def _could_decide(module: str) -> bool:
    return is_ours(module) and not only_reads(module)


def _gathered(
    closure: Closure, library: Library, places: Places, files: dict[str, str]
) -> Fingerprint:
    engine: dict[str, Code] = {}
    transport: dict[str, Code] = {}
    plugins: dict[str, Code] = {}
    entries = set(ENTRIES)
    for name, module in closure.modules.items():
        if is_ours(name):
            entries.add(name)
        elif name in library.code:
            plugins[name] = library.code[name]
        else:
            files |= _without_source(module)
    modules = {module.name: module for module in places.below(OURS) if _could_decide(module.name)}
    modules |= {name: closure.modules[name] for name in entries if only_reads(name)}
    for name, module in sorted(modules.items()):
        if module.kind is not Kind.SOURCE:
            files |= _without_source(module)
            continue
        code = Code(text=read_text(Path(module.path)), is_package=module.is_package)
        (transport if only_carries(name) else engine)[name] = code
    return Fingerprint(
        python=python_version(),
        entries=tuple(sorted(entries)),
        engine=engine,
        transport=transport,
        plugins=plugins,
        files=dict(sorted(files.items())),
        distributions=dict(sorted((_versions(STANDS_ON) | closure.distributions).items())),
        unknown=tuple(
            f"{found.module}, line {found.line}: {found.what}"
            for found in closure.unknown
            if not is_ours(found.module)
        ),
    )


def _without_source(module: Module) -> dict[str, str]:
    if module.kind is Kind.NAMESPACE:
        return {}
    return {f"module {module.name}": hash_file(Path(module.path))}


def _versions(distributions: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in distributions:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # of an extra that is not installed
    return found


def _hashed(files: dict[str, Path]) -> dict[str, str]:
    return {name: hash_file(path) for name, path in files.items()}
