"""The transitive imports of a program, from its source alone.

Nothing is imported or run. An import that may happen counts as one that does: in a function, in a
branch, in a `try`. Every package around a module counts too, because importing the module runs it.
What is installed is named with its version and not followed.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from perdure.base.errors import UsageError
from perdure.closure.changes import changes
from perdure.closure.facts import Import, Mention, Relied, Unknown
from perdure.closure.graph import Closure, Edge
from perdure.closure.installed import Installed, is_standard
from perdure.closure.library import Library
from perdure.closure.places import Module, Places
from perdure.closure.taken import taken

_MODULES_MAX = 50_000


def walk(
    starts: Sequence[Module],
    *,
    places: Places,
    library: Library,
    installed: Installed,
    declared: Mapping[str, Sequence[str]] | None = None,
    registries: frozenset[str] = frozenset(),
    is_answered: Callable[[str], bool] | None = None,
    besides: Iterable[tuple[Module, str]] = (),
) -> Closure:
    """Find everything that a program's entries reach.

    `declared` names modules whose unknown imports somebody answers for, each with all that they
    import; `is_answered` says so of any module, and of those in `declared` if it is not given. In
    `registries`, every string that names a module is an import of it. `besides` are modules that
    are reached although nothing imports them, each with a word that says how.

    Raises:
        UsageError: it reaches more modules than a program can have.

    """
    declared = declared or {}
    walker = _Walker(
        places,
        library,
        installed,
        declared=declared,
        registries=registries,
        is_answered=is_answered or declared.__contains__,
    )
    for start in starts:
        walker.begin(start, "entry")
    walker.run()
    for module, how in besides:
        walker.begin(module, how)
    walker.run()
    return walker.closure(tuple(start.name for start in starts))


class _Walker:
    def __init__(
        self,
        places: Places,
        library: Library,
        installed: Installed,
        *,
        declared: Mapping[str, Sequence[str]],
        registries: frozenset[str],
        is_answered: Callable[[str], bool],
    ) -> None:
        self._places = places
        self._library = library
        self._installed = installed
        self._declared = declared
        self._registries = registries
        self._is_answered = is_answered
        self._modules: dict[str, Module] = {}
        self._because: dict[str, Edge] = {}
        self._waiting: deque[Module] = deque()
        self._typing: dict[tuple[str, str], Edge] = {}
        self._absent: dict[tuple[str, str], Edge] = {}
        self._standard: set[str] = set()
        self._distributions: dict[str, str] = {}
        self._outside: dict[str, tuple[str, ...]] = {}
        self._out: dict[str, Edge] = {}
        self._unknown: list[Unknown] = []
        self._relied: dict[str, list[Relied]] = defaultdict(list)
        self._mentioned: list[Unknown] = []

    def begin(self, start: Module, how: str) -> None:
        package = start.name.rpartition(".")[0]
        for module in self._places.chain(package) if package else ():
            self._add(module, Edge(importer="", imported=module.name, how=how))
        self._add(start, Edge(importer="", imported=start.name, how=how))

    def run(self) -> None:
        while self._waiting:
            self._visit(self._waiting.popleft())

    def closure(self, entries: tuple[str, ...]) -> Closure:
        mentioned = [
            unknown
            for unknown in self._mentioned
            if not all(name in self._modules for name in unknown.names)
        ]
        modules = self._modules.values()
        changed = changes(self._relied, modules, self._library)
        used = taken(modules, self._library, self._is_answered)
        return Closure(
            entries=entries,
            modules=dict(sorted(self._modules.items())),
            because=self._because,
            typing=tuple(self._typing.values()),
            absent=tuple(self._absent.values()),
            standard=tuple(sorted(self._standard)),
            distributions=dict(sorted(self._distributions.items())),
            unknown=(*self._unknown, *mentioned, *changed, *used),
            outside=self._out,
        )

    def _add(self, module: Module, edge: Edge) -> None:
        if module.name in self._modules:
            return
        if len(self._modules) >= _MODULES_MAX:
            raise UsageError(f"The program reaches more than {_MODULES_MAX} modules.")
        self._modules[module.name] = module
        self._because[module.name] = edge
        self._waiting.append(module)

    def _visit(self, module: Module) -> None:
        facts = self._library.facts(module)
        for found in facts.imports:
            self._follow(module, found)
        for target in self._declared.get(module.name, ()):
            self._follow(module, Import(target=target, line=0, how="declared"))
        if module.name in self._registries:
            for mention in facts.mentions:
                self._registered(module, mention)
        elif not self._is_answered(module.name):
            for mention in facts.mentions:
                self._mention(module, mention)
        if not self._is_answered(module.name):
            self._unknown.extend(facts.unknown)
            self._relied[module.name] += facts.relied
        for group, line in facts.groups:
            for point in self._installed.entry_points(group, self._places.folders):
                target = point.partition(":")[0]
                self._follow(module, Import(target=target, line=line, how="entry point"))

    def _follow(self, importer: Module, found: Import) -> None:
        chain = self._places.chain(found.target)
        if not found.is_executed:
            if chain and chain[-1].name == found.target:
                edge = Edge(
                    importer=importer.name, imported=found.target, line=found.line, how="typing"
                )
                self._typing.setdefault((importer.name, found.target), edge)
            return
        for module in chain:
            how = found.how if module.name == found.target else "package"
            self._reach(importer, module, found.line, how)
        if not chain or chain[-1].name != found.target:
            self._rest(importer, found, chain)
            return
        if found.runs_main and chain[-1].is_package:
            self._child(importer, chain[-1], "__main__", found)
        for name in found.names:
            if name == "*":
                self._star(importer, chain[-1], found)
            else:
                self._child(importer, chain[-1], name, found)

    def _child(self, importer: Module, package: Module, name: str, found: Import) -> None:
        child = self._places.find(f"{package.name}.{name}") if package.is_package else None
        if child is not None:
            self._reach(importer, child, found.line, found.how)
        elif package.is_package and not package.path:
            # A namespace has nothing in it but modules.
            target = f"{package.name}.{name}"
            rest = Import(target=target, line=found.line, is_guarded=found.is_guarded)
            self._rest(importer, rest, (package,))

    def _star(self, importer: Module, package: Module, found: Import) -> None:
        facts = self._library.facts(package)
        for name in facts.exports or ():
            self._child(importer, package, name, found)
        if facts.exports and package.is_package and not self._is_answered(importer.name):
            relied = (replace(one, line=found.line) for one in facts.exports_relied)
            self._relied[importer.name] += relied
        if facts.exports_open and package.is_package:
            what = f"all of {package.name} is imported, and what that is cannot be told"
            self._note(importer.name, found.line, what, prefixes=(f"{package.name}.",))

    def _reach(self, importer: Module, module: Module, line: int, how: str) -> None:
        edge = Edge(importer=importer.name, imported=module.name, line=line, how=how)
        self._add(module, edge)

    def _rest(self, importer: Module, found: Import, chain: tuple[Module, ...]) -> None:
        """Deal with what the program's own folders do not have."""
        if found.how == "string" and chain and chain[-1].path:
            # `package.module.Class`: what is left after the module is within it.
            missing = found.target.removeprefix(f"{chain[-1].name}.")
            if "." not in missing:
                return
        in_own = any(module.path for module in chain)
        edge = Edge(importer=importer.name, imported=found.target, line=found.line, how=found.how)
        if not in_own and self._is_outside(found.target, edge):
            return
        stray = "" if in_own else self._installed.stray(found.target)
        if found.is_guarded and not stray:
            self._absent.setdefault((importer.name, found.target), edge)
        elif not self._is_answered(importer.name):
            where = f"is at {stray}," if stray else "is"
            what = f"{found.target} {where} in none of the folders given and in no distribution"
            self._note(importer.name, found.line, what, prefixes=("",))

    def _is_outside(self, target: str, edge: Edge) -> bool:
        if is_standard(target):
            self._standard.add(target.partition(".")[0])
            return True
        if target not in self._outside:
            providers = self._installed.providers(target)
            self._distributions.update({found.name: found.version for found in providers})
            self._outside[target] = tuple(found.name for found in providers)
        for name in self._outside[target]:
            self._out.setdefault(name, edge)
        return bool(self._outside[target])

    def _registered(self, module: Module, mention: Mention) -> None:
        """Follow a string of a registry: to the module that it names, or that it names a part of.

        What names nothing of the program's own is a string like any other.
        """
        found = self._named(mention)
        if found is not None:
            self._follow(module, Import(target=found.name, line=mention.line, how="registry"))

    def _mention(self, module: Module, mention: Mention) -> None:
        found = self._named(mention)
        if found is not None:
            # Who is given the name of a package may import what is in it.
            inside = (f"{found.name}.",) if found.is_package else ()
            unknown = Unknown(
                module=module.name,
                line=mention.line,
                what=f"a string names {found.name}",
                names=(found.name,),
                prefixes=inside,
            )
            self._mentioned.append(unknown)

    def _named(self, mention: Mention) -> Module | None:
        chain = self._places.chain(mention.text.partition(":")[0])
        return chain[-1] if chain and chain[-1].path else None

    def _note(self, module: str, line: int, what: str, *, prefixes: Iterable[str]) -> None:
        self._unknown.append(Unknown(module=module, line=line, what=what, prefixes=tuple(prefixes)))
