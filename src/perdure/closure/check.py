"""Whether a module may be edited while a program runs: frozen, downstream, or unknown."""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from perdure.base.errors import UsageError
from perdure.closure.facts import Unknown
from perdure.closure.files import declared_files
from perdure.closure.graph import Edge, way_to
from perdure.closure.places import Module, identity
from perdure.closure.program import Walked
from perdure.records.record import Record


class Standing(StrEnum):
    """What a module is to a program that runs."""

    FROZEN = "frozen"
    DOWNSTREAM = "downstream"
    UNKNOWN = "unknown"


class Verdict(Record):
    """What a name stands for, and why.

    `frozen` are the modules of it that the program reaches, of `modules` in all; `way` leads from
    an entry to the first of them. `doubts` are the unknown imports that could reach the rest.
    """

    name: str
    standing: Standing
    modules: int = 0
    frozen: tuple[str, ...] = ()
    way: tuple[Edge, ...] = ()
    doubts: tuple[Unknown, ...] = ()


def check(walked: Walked, names: Sequence[str]) -> tuple[Verdict, ...]:
    """Say of each module, package or file whether the program reaches it.

    A package is downstream only if everything in it is. Nothing is called downstream while an
    import that could not be followed may reach it.

    Raises:
        UsageError: a name is not there, or the closure is too small to be believed.

    """
    groups = [(name, _modules(walked, name)) for name in names]
    if len(_files(walked)) < 2:  # noqa: PLR2004 - the entry and one more
        raise UsageError(
            "The entry reaches no other module of the folders given, so nothing can be concluded.",
            where=", ".join(walked.closure.entries),
            remedy="Look whether the roots are the folders that its modules are found in.",
        )
    reached = _files(walked)
    doubts = _Doubts(walked)
    return tuple(_verdict(walked, name, modules, reached, doubts) for name, modules in groups)


def _verdict(
    walked: Walked,
    name: str,
    modules: Sequence[Module],
    reached: dict[str, str],
    doubts: _Doubts,
) -> Verdict:
    if not modules:
        # A declared data file.
        return Verdict(name=name, standing=Standing.FROZEN, frozen=(name,))
    frozen = [reached[identity(module)] for module in modules if identity(module) in reached]
    if frozen:
        return Verdict(
            name=name,
            standing=Standing.FROZEN,
            modules=len(modules),
            frozen=tuple(sorted(frozen)),
            way=min((way_to(walked.closure, one) for one in frozen), key=len),
        )
    found = doubts.about(modules)
    standing = Standing.UNKNOWN if found else Standing.DOWNSTREAM
    return Verdict(name=name, standing=standing, modules=len(modules), doubts=found)


def _files(walked: Walked) -> dict[str, str]:
    """Map each file that is reached to the name that it is reached by."""
    modules = walked.closure.modules.values()
    return {identity(module): module.name for module in modules if module.path}


def _modules(walked: Walked, name: str) -> list[Module]:
    """Find the modules that a name, or a path, stands for; none for a declared data file."""
    path = walked.program.at(name)
    if "/" in name or path.is_file() or name.endswith(".py"):
        return _modules_at(walked, name, path)
    found = list(walked.places.below(name.partition(":")[0]))
    if not found and name in walked.closure.modules:
        return [walked.closure.modules[name]]
    if not found:
        raise _not_there(walked, name)
    return found


def _modules_at(walked: Walked, name: str, path: Path) -> list[Module]:
    if not path.exists():
        raise UsageError("There is no such file.", where=name)
    modules = [*walked.closure.modules.values(), *walked.places.below("")]
    if path.is_dir():
        found = [m for m in modules if m.path and Path(identity(m)).is_relative_to(path)]
    else:
        found = [m for m in modules if identity(m) == str(path)]
    unique = {identity(module): module for module in found}
    if unique:
        return list(unique.values())
    if path in {file.resolve() for file in declared_files(walked.program).values()}:
        return []
    raise UsageError(
        "This is no module of the folders given, and no declared data file.",
        where=name,
        remedy="Name a module, or declare the file if it decides what the program does.",
    )


def _not_there(walked: Walked, name: str) -> UsageError:
    known = {module.name for module in walked.places.below("")}
    close = difflib.get_close_matches(name, known, n=3)
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    return UsageError(
        f"There is no module {name!r} in the folders given.{meant}",
        remedy="Names are as Python imports them; a misspelt one is never called safe.",
    )


class _Doubts:
    """Which unknown imports could reach a module, through whatever they may import first."""

    def __init__(self, walked: Walked) -> None:
        self._walked = walked
        self._unknown = walked.closure.unknown
        self._anything = tuple(found for found in self._unknown if "" in found.prefixes)
        self._because: dict[str, Unknown] | None = None

    def about(self, modules: Iterable[Module]) -> tuple[Unknown, ...]:
        if self._anything:
            return self._anything
        if not self._unknown:
            return ()
        if self._because is None:
            self._because = self._spread()
        found = {
            id(self._because[identity(module)]): self._because[identity(module)]
            for module in modules
            if identity(module) in self._because
        }
        return tuple(found.values())

    def _spread(self) -> dict[str, Unknown]:
        """Follow every unknown import to all that it may reach, by file."""
        because: dict[str, Unknown] = {}
        waiting: deque[tuple[Module, Unknown]] = deque()
        everything = list(self._walked.places.below(""))
        for unknown in self._unknown:
            waiting.extend((m, unknown) for m in everything if unknown.reaches(m.name))
        while waiting:
            module, unknown = waiting.popleft()
            if identity(module) in because:
                continue
            because[identity(module)] = unknown
            targets, further = self._next(module)
            waiting.extend((target, unknown) for target in targets)
            for more in further:
                waiting.extend((m, unknown) for m in everything if more.reaches(m.name))
        return because

    def _next(self, module: Module) -> tuple[list[Module], list[Unknown]]:
        facts = self._walked.library.facts(module)
        names: list[str] = []
        further = [] if module.name in self._walked.program.declared else list(facts.unknown)
        for found in facts.imports:
            if found.is_executed:
                names.append(found.target)
                names += [f"{found.target}.{name}" for name in found.names if name != "*"]
                if "*" in found.names:
                    prefix = f"{found.target}."
                    further.append(
                        Unknown(module=module.name, line=0, what="all", prefixes=(prefix,))
                    )
        names += self._walked.program.declared.get(module.name, ())
        names += [mention.text.partition(":")[0] for mention in facts.mentions]
        for group, _ in facts.groups:
            names += [p.partition(":")[0] for p in self._walked.installed.entry_points(group)]
        names.append(module.name)
        targets = [found for name in names for found in self._walked.places.chain(name)]
        return [found for found in targets if found.path], further
