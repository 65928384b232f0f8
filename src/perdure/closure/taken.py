"""Functions that import or execute, where a module takes them from another than their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from perdure.closure.bindings import Bindings, bindings_of
from perdure.closure.facts import Facts, Unknown
from perdure.closure.library import Library
from perdure.closure.places import Module
from perdure.closure.source import SourceError

# Of a module: the name that it has for such a function, and the function.
Handles = dict[str, dict[str, str]]


def taken(
    modules: Iterable[Module], library: Library, is_answered: Callable[[str], bool]
) -> Iterator[Unknown]:
    """Find where a module uses such a function by the name that another has for it.

    What it is given there is not followed, and so may be anything.
    """
    listed = list(modules)
    handles: Handles = {m.name: dict(library.facts(m).handles) for m in listed}
    handles = {name: found for name, found in handles.items() if found}
    takers: dict[str, Bindings] = {}
    count = -1
    # Who takes one hands it on to those who take it from there.
    while handles and count != sum(map(len, handles.values())):
        count = sum(map(len, handles.values()))
        for module in listed:
            bindings = takers.get(module.name) or _taker(module, library, handles)
            if bindings is not None:
                takers[module.name] = bindings
                handles.setdefault(module.name, {}).update(_passed_on(bindings, handles))
    for name, bindings in takers.items():
        if not is_answered(name):
            for line, function, owner in _uses(bindings, handles):
                what = f"`{function}` is used, as {owner} has it"
                yield Unknown(module=name, line=line, what=what, prefixes=("",))


def _taker(module: Module, library: Library, handles: Handles) -> Bindings | None:
    """Read a module again that may use what another has; None if it does not look so."""
    code = library.code.get(module.name)
    named = _owners(library.facts(module))
    owners = named & handles.keys() - {module.name}
    names = {name for owner in owners for name in handles[owner]}
    if code is None or not names:
        return None
    has_all = any(f"{owner}.*" in named for owner in owners)
    pattern = rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b"
    if not has_all and not re.search(pattern, code.text):
        return None
    try:
        tree = library.places.source(module).tree
    except SourceError:
        return None
    package = module.name if module.is_package else module.name.rpartition(".")[0]
    return bindings_of(tree, module.name, package)


def _owners(facts: Facts) -> set[str]:
    """Name the modules that a module imports, or takes something from."""
    found: set[str] = set()
    for one in facts.imports:
        found.add(one.target)
        found.update(f"{one.target}.{name}" for name in one.names)
    return found


def _full(handles: Handles) -> dict[str, tuple[str, str]]:
    """Give the function and its owner by the full name that it has there."""
    return {
        f"{owner}.{name}": (function, owner)
        for owner, found in handles.items()
        for name, function in found.items()
    }


def _passed_on(bindings: Bindings, handles: Handles) -> Iterator[tuple[str, str]]:
    known = _full(handles)
    for name in bindings.by_name:
        for dotted in bindings.imported_as(name):
            if name == "*":
                yield from handles.get(dotted.removesuffix(".*"), {}).items()
            elif dotted in known:
                yield name, known[dotted][0]


def _uses(bindings: Bindings, handles: Handles) -> Iterator[tuple[int, str, str]]:
    known = _full(handles)
    stars = {
        name: (function, dotted.removesuffix(".*"))
        for dotted in bindings.imported_as("*")
        for name, function in handles.get(dotted.removesuffix(".*"), {}).items()
    }
    for node in ast.walk(bindings.tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            is_starred = isinstance(node, ast.Name) and not bindings.is_bound(node.id)
            if is_starred and isinstance(node, ast.Name) and node.id in stars:
                yield node.lineno, *stars[node.id]
            for dotted in _dotted(node, bindings, known):
                yield node.lineno, *known[dotted]


def _dotted(
    node: ast.expr, bindings: Bindings, known: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    """Give the full names among those known that an expression stands for."""
    last: list[str] = []
    while isinstance(node, ast.Attribute):
        last.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        for owner in bindings.imported_as(node.id):
            name = ".".join([owner, *last])
            if name in known:
                yield name
