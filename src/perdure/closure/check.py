"""Whether a module may be edited while a program runs: frozen, safe, or unknown. Fails closed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from msgspec.structs import replace

from perdure.base.errors import UsageError
from perdure.closure.doubts import Doubts
from perdure.closure.facts import Unknown
from perdure.closure.files import declared_files
from perdure.closure.graph import Edge, way_to
from perdure.closure.installed import is_standard
from perdure.closure.places import Module, identity
from perdure.closure.program import Walked
from perdure.records.record import Record


class Standing(StrEnum):
    """What a module is to a program that runs."""

    FROZEN = "frozen"
    SAFE = "safe"
    UNKNOWN = "unknown"


class Verdict(Record):
    """What a name stands for, and why.

    `frozen` are the modules of it that the program reaches, of `modules` in all; `way` leads from
    an entry to the first of them. `doubts` are the unknown imports that could reach the rest.
    `said` is a sentence about a name that is no module in the program's own folders.
    """

    name: str
    standing: Standing
    modules: int = 0
    frozen: tuple[str, ...] = ()
    way: tuple[Edge, ...] = ()
    doubts: tuple[Unknown, ...] = ()
    said: str = ""


def check(walked: Walked, names: Sequence[str]) -> tuple[Verdict, ...]:
    """Say of each module, package or file whether the program reaches it.

    A package is safe only if everything in it is. Nothing is called safe that is not in the
    program's own folders, nor while an import that could not be followed may reach it; a name that
    leads to nothing is unknown.

    Raises:
        UsageError: a name would be safe, and the closure is too small for that to be believed; or a
            pattern of data files matches none.

    """
    asked = _Asked(walked)
    verdicts = tuple(asked.about(name) for name in names)
    if asked.is_alone and any(one.standing is Standing.SAFE for one in verdicts):
        raise UsageError(
            "The entry reaches no other module of the folders given, so nothing can be concluded.",
            where=", ".join(walked.closure.entries),
            remedy="Look whether the roots are the folders that its modules are found in.",
        )
    return verdicts


class _Asked:
    """Answers for the names that are asked about one program."""

    def __init__(self, walked: Walked) -> None:
        self._walked = walked
        modules = walked.closure.modules.values()
        self._reached = {identity(module): module.name for module in modules if module.path}
        self._doubts = Doubts(walked)
        self._loaded = walked.program.really_loaded()
        files = declared_files(walked.program).values()
        self._data = frozenset(file.resolve() for file in files)

    @property
    def is_alone(self) -> bool:
        """Say whether nothing is reached but the entry itself."""
        return len(self._reached) < 2  # noqa: PLR2004 - the entry and one more

    def about(self, name: str) -> Verdict:
        path = self._walked.program.at(name)
        if "/" in name or path.is_file() or name.endswith((".py", ".pyw")):
            return self._about_path(name, path)
        module = name.partition(":")[0]
        own = list(self._walked.places.below(module)) if module else []
        if not own and module in self._walked.closure.modules:
            own = [self._walked.closure.modules[module]]
        verdict = self._verdict(name, own) if own else self._elsewhere(name, module)
        loaded = [one for one in self._loaded if one == module or one.startswith(f"{module}.")]
        if verdict.standing is Standing.FROZEN or not loaded:
            return verdict
        said = "A process of this program loaded it."
        frozen = tuple(sorted(loaded))
        return replace(verdict, standing=Standing.FROZEN, doubts=(), frozen=frozen, said=said)

    def _verdict(self, name: str, modules: Sequence[Module]) -> Verdict:
        closure = self._walked.closure
        frozen = [self._reached[i] for i in map(identity, modules) if i in self._reached]
        if frozen:
            return Verdict(
                name=name,
                standing=Standing.FROZEN,
                modules=len(modules),
                frozen=tuple(sorted(frozen)),
                way=min((way_to(closure, one) for one in frozen), key=len),
            )
        doubts = self._doubts.about(modules)
        standing = Standing.UNKNOWN if doubts else Standing.SAFE
        return Verdict(name=name, standing=standing, modules=len(modules), doubts=doubts)

    def _about_path(self, name: str, path: Path) -> Verdict:
        modules = [*self._walked.closure.modules.values(), *self._walked.places.below("")]
        if path.is_dir():
            found = [m for m in modules if m.path and Path(identity(m)).is_relative_to(path)]
        else:
            found = [m for m in modules if identity(m) == str(path)]
        unique = list({identity(module): module for module in found}.values())
        data = [one for one in self._data if one == path or one.is_relative_to(path)]
        if data:
            said = "It is declared data." if data == [path] else "It holds declared data."
            return Verdict(
                name=name,
                standing=Standing.FROZEN,
                modules=len(unique),
                frozen=tuple(sorted(map(str, data))) if data != [path] else (name,),
                said=said,
            )
        if unique:
            return self._verdict(name, unique)
        return Verdict(
            name=name,
            standing=Standing.UNKNOWN,
            said="It is no module of the folders given, and no declared data file."
            if path.exists()
            else "There is no such file.",
        )

    def _elsewhere(self, name: str, module: str) -> Verdict:
        """Answer about what is in none of the program's own folders."""
        closure = self._walked.closure
        if is_standard(module):
            said = "It is part of Python, on which the program runs."
            return Verdict(name=name, standing=Standing.FROZEN, frozen=(module,), said=said)
        providers = self._walked.installed.providers(module)
        for one in providers:
            if one.name in closure.outside:
                edge = closure.outside[one.name]
                return Verdict(
                    name=name,
                    standing=Standing.FROZEN,
                    frozen=(module,),
                    way=(*way_to(closure, edge.importer), edge),
                    said=f"It is in {one.name} {one.version}, which the program imports.",
                )
        if providers:
            listed = " and ".join(f"{one.name} {one.version}" for one in providers)
            said = f"It is in {listed}: what installed libraries import is not followed."
        elif stray := self._walked.installed.stray(module):
            said = f"It is at {stray}, in none of the folders given and in no distribution."
        else:
            said = f"There is no module {module!r} in the folders given.{self._meant(module)}"
        return Verdict(name=name, standing=Standing.UNKNOWN, said=said)

    def _meant(self, module: str) -> str:
        known = {one.name for one in self._walked.places.below("")}
        close = difflib.get_close_matches(module, known, n=3)
        return f" Did you mean {' or '.join(close)}?" if close else ""
