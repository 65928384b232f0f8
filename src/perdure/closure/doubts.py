"""What a program may reach beyond what was found: by which unknown import, through what else."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from perdure.closure.changes import changes
from perdure.closure.facts import Unknown
from perdure.closure.installed import is_standard
from perdure.closure.places import Module, identity
from perdure.closure.program import Walked
from perdure.closure.taken import taken


class Doubts:
    """Which unknown imports could reach a module, through whatever they may import first."""

    def __init__(self, walked: Walked) -> None:
        self._walked = walked
        unknown = walked.closure.unknown
        self._anything = tuple(found for found in unknown if "" in found.prefixes)
        self._because: dict[str, Unknown] | None = None

    def about(self, modules: Iterable[Module]) -> tuple[Unknown, ...]:
        """Give the unknown imports that may reach one of these modules; none if none can."""
        if not self._anything and self._because is None:
            self._spread([*self._walked.closure.unknown, *_hiding(self._walked)])
        if self._anything:
            return self._anything
        because = self._because or {}
        found = {
            id(because[identity(module)]): because[identity(module)]
            for module in modules
            if identity(module) in because
        }
        return tuple(found.values())

    def _spread(self, doubts: Iterable[Unknown]) -> None:
        """Follow every unknown import to all that it may reach, by file."""
        self._because = {}
        seen: dict[str, Module] = {}
        spread: set[str] = set()
        waiting: deque[tuple[Module, Unknown]] = deque()
        for unknown in doubts:
            waiting.extend((module, unknown) for module in self._reach(unknown, spread))
        while waiting:
            module, unknown = waiting.popleft()
            # Relative imports in a file that has two names lead to two places.
            if module.name in seen:
                continue
            seen[module.name] = module
            self._because.setdefault(identity(module), unknown)
            targets, further = self._next(module)
            waiting.extend((target, unknown) for target in targets)
            for more in further:
                if "" in more.prefixes:
                    self._anything = (more,)
                    return
                waiting.extend((target, unknown) for target in self._reach(more, spread))
        if seen:
            self._anything = tuple(self._hidden(seen))

    def _hidden(self, doubtful: Mapping[str, Module]) -> Iterator[Unknown]:
        """Find the constants that something doubtful imports by or may change.

        So with the functions that it takes from others, to import by.
        """
        program, library = self._walked.program, self._walked.library
        modules = {**self._walked.closure.modules, **doubtful}
        relied = {
            name: library.facts(module).relied
            for name, module in modules.items()
            if not program.is_answered(name)
        }
        yield from changes(relied, modules.values(), library)
        yield from taken(modules.values(), library, program.is_answered)

    def _reach(self, unknown: Unknown, spread: set[str]) -> Iterator[Module]:
        """Find what an unknown import may execute. `spread` are the prefixes already followed.

        Each name is looked up as Python would: a file that two folders lead to has two names, and
        either may be meant.
        """
        places = self._walked.places
        names = list(unknown.names)
        for prefix in unknown.prefixes:
            # As in `module:Class`: what is computed is within the module.
            module, mark, _ = prefix.partition(":")
            # The packages around a module are executed before it is found to be missing.
            names.append(module if mark else module.rpartition(".")[0])
            if not mark and prefix not in spread:
                spread.add(prefix)
                yield from places.beginning(prefix)
        for name in names:
            yield from (module for module in places.chain(name) if module.path)

    def _next(self, module: Module) -> tuple[list[Module], list[Unknown]]:
        facts = self._walked.library.facts(module)
        names: list[str] = []
        further = [] if self._walked.program.is_answered(module.name) else list(facts.unknown)
        for found in facts.imports:
            if found.is_executed:
                names.append(found.target)
                names += [f"{found.target}.{name}" for name in found.names if name != "*"]
                if "*" in found.names:
                    prefix = f"{found.target}."
                    further.append(
                        Unknown(module=module.name, line=0, what="all", prefixes=(prefix,))
                    )
        names += self._walked.declared.get(module.name, ())
        names += [mention.text.partition(":")[0] for mention in facts.mentions]
        for group, _ in facts.groups:
            points = self._walked.installed.entry_points(group, self._walked.places.folders)
            names += [point.partition(":")[0] for point in points]
        names.append(module.name)
        targets = [found for name in names for found in self._walked.places.chain(name)]
        return [found for found in targets if found.path], further


def _hiding(walked: Walked) -> Iterator[Unknown]:
    """Find what of the program's own hides a module of Python or of an installed library.

    Whoever imports that one, in code that is not followed, gets this one.
    """
    for top in sorted(walked.own):
        module = walked.places.find(top)
        if module is None or not module.path:
            continue
        if is_standard(top):
            hidden = "Python's own"
        elif walked.installed.providers(top) and not _is_at(walked.installed.stray(top), module):
            hidden = "an installed"
        else:
            continue
        yield Unknown(
            module=top,
            line=0,
            what=f"it has the name of {hidden} module, and whoever imports that may get this one",
            names=(top,),
            prefixes=(f"{top}.",),
        )


def _is_at(path: str, module: Module) -> bool:
    return os.path.realpath(path) == identity(module)
