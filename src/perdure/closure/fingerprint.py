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
from perdure.closure.compare import code_hash
from perdure.closure.files import matching
from perdure.closure.graph import Closure
from perdure.closure.installed import Environment, Installed
from perdure.closure.library import Library
from perdure.closure.places import Kind, Module, Places
from perdure.closure.plugin_places import HOME, places_of
from perdure.closure.reached import reached
from perdure.closure.rooms import ENTRIES, OURS, STANDS_ON, is_ours, only_carries, only_reads
from perdure.closure.source import hash_file, read_text
from perdure.closure.walk import walk
from perdure.records.fingerprint import Code, Fingerprint


def python_version() -> str:
    """Give the running Python's version as far as it is compared, such as `3.12`."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def fingerprint(
    folder: Path,
    plugins: Sequence[str] = (),
    files: Sequence[str] = (),
    *,
    installed: Installed | None = None,
    home: Path = HOME,
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
    found = places_of(folder, plugins, installed=installed, home=home)
    library = Library(found.places, mentioned=found.beside, is_left_out=_could_decide)
    closure = walk(
        found.starts,
        places=found.places,
        library=library,
        installed=installed,
    )
    for error in library.failed.values():
        raise error
    return _gathered(closure, library, found.places, _hashed(matching(folder, files)))


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
