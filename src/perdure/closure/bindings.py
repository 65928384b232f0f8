"""Which names a module binds, where, and to what. Pure.

A name that is bound exactly once in all of a module, whatever the scope, has one meaning there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from perdure.closure.relative import absolute

_READS = frozenset({"get", "keys", "values", "items", "index", "count", "copy"})
_READERS = frozenset(
    {"len", "sorted", "list", "tuple", "set", "frozenset", "dict", "iter", "enumerate", "reversed"}
)
_NAMING = (
    ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.ClassDef
    | ast.ExceptHandler
    | ast.MatchAs
    | ast.MatchStar
)
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


@dataclass(frozen=True)
class Binding:
    """One place that binds a name: to a value, to each item of a value, or to an import.

    `node` is the statement that does.
    """

    how: Literal["value", "item", "import", "other"]
    value: ast.expr | None = None
    module: str = ""
    attribute: str = ""
    node: ast.AST | None = None

    @property
    def dotted(self) -> str:
        """The full name of what an import binds."""
        return f"{self.module}.{self.attribute}" if self.attribute else self.module


@dataclass
class Bindings:
    """The bindings of one module, by name."""

    tree: ast.Module
    module: str
    package: str
    by_name: dict[str, list[Binding]] = field(default_factory=dict)
    _parents: dict[int, ast.AST] | None = None

    def single(self, name: str) -> Binding | None:
        """Give the one binding of a name; None if there is none, or there may be another."""
        # A star may bring any name with it.
        found = () if "*" in self.by_name else self.by_name.get(name, ())
        return found[0] if len(found) == 1 else None

    def is_bound(self, name: str) -> bool:
        """Say whether the module binds a name anywhere."""
        return name in self.by_name

    def imported_as(self, name: str) -> set[str]:
        """Give the full names of what a name is imported as."""
        return {b.dotted for b in self.by_name.get(name, ()) if b.how == "import"}

    def is_local(self, binding: Binding) -> bool:
        """Say whether a binding is within a function or a class, and so out of others' reach."""
        around = binding.node
        if isinstance(around, ast.comprehension):
            return True
        while around is not None:
            if isinstance(around, _SCOPES):
                return True
            around = self.parents().get(id(around))
        return False

    def only_read(self, name: str) -> bool:
        """Say whether a module only ever reads from the collection that a name is bound to."""
        return all(self.is_read(node) for node in self.loads(name))

    def loads(self, name: str) -> list[ast.Name]:
        """Give every place in the module that reads a name."""
        names = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name))
        return [one for one in names if one.id == name and isinstance(one.ctx, ast.Load)]

    def is_read(self, node: ast.expr) -> bool:
        """Say whether an expression that gives a collection is only read from where it stands."""
        parents = self.parents()
        return _is_read(node, parents.get(id(node)), parents)

    def parents(self) -> dict[int, ast.AST]:
        """Map each node of the tree to the one around it."""
        if self._parents is None:
            self._parents = {
                id(child): node
                for node in ast.walk(self.tree)
                for child in ast.iter_child_nodes(node)
            }
        return self._parents


def bindings_of(tree: ast.Module, module: str, package: str) -> Bindings:
    """Find every binding of a module."""
    found = Bindings(tree, module, package)
    told: set[int] = set()
    for node in ast.walk(tree):
        for name, binding, target in _with_value(node):
            told.add(id(target))
            found.by_name.setdefault(name, []).append(binding)
        for name, binding in _bound(node, told, package):
            found.by_name.setdefault(name, []).append(binding)
    return found


def _with_value(node: ast.AST) -> Iterator[tuple[str, Binding, ast.expr]]:
    pairs: list[tuple[ast.expr, ast.expr | None, Literal["value", "item"]]] = []
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value, "value") for target in node.targets]
    elif (isinstance(node, ast.AnnAssign) and node.value is not None) or isinstance(
        node, ast.NamedExpr
    ):
        pairs = [(node.target, node.value, "value")]
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        pairs = [(node.target, node.iter, "item")]
    for target, value, how in pairs:
        if isinstance(target, ast.Name):
            yield target.id, Binding(how, value, node=node), target


def _bound(node: ast.AST, told: set[int], package: str) -> Iterator[tuple[str, Binding]]:
    other = Binding("other")
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load) and id(node) not in told:
            yield node.id, other
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from _imported(node, package)
    elif isinstance(node, ast.arg):
        yield node.arg, other
    elif isinstance(node, _NAMING | ast.MatchMapping):
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        # Some go without a name: `except KeyError:`, `case [1, *_]:`.
        yield from ((name, other),) if name is not None else ()
    elif isinstance(node, ast.Global | ast.Nonlocal):
        # Says that the name is bound elsewhere too.
        for name in node.names:
            yield name, other


def _imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, Binding]]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            top = alias.name.partition(".")[0]
            module = alias.name if alias.asname else top
            yield alias.asname or top, Binding("import", module=module, node=node)
        else:
            module = absolute(node.module or "", node.level, package) or ""
            bound = alias.asname or alias.name
            yield bound, Binding("import", module=module, attribute=alias.name, node=node)


def _is_read(node: ast.expr, parent: ast.AST | None, parents: dict[int, ast.AST]) -> bool:
    if isinstance(parent, ast.Subscript):
        return parent.value is node and isinstance(parent.ctx, ast.Load)
    if isinstance(parent, ast.For | ast.AsyncFor | ast.comprehension):
        return parent.iter is node
    if isinstance(parent, ast.Attribute):
        return parent.attr in _READS
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id in _READERS
    if isinstance(parent, ast.Starred):
        return isinstance(parents.get(id(parent)), ast.List | ast.Tuple | ast.Set)
    return isinstance(parent, ast.Compare)
