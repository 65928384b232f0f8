"""Which strings an expression can be, as far as its module's source says. Pure."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from perdure.closure.bindings import Bindings

_DEPTH_MAX = 8
_STRINGS_MAX = 1_000
_WRAPPERS = frozenset({"sorted", "list", "tuple", "set", "frozenset", "reversed", "iter"})


class Constant(NamedTuple):
    """A name of a module that is believed to stay what it was bound to.

    `in_place` says that it is a collection, which can also change without being bound again;
    `is_deep` that it holds others, which whoever sees it can change.
    """

    module: str
    name: str
    in_place: bool = False
    is_deep: bool = False


@dataclass(frozen=True)
class Strings:
    """What an expression can be: one of `values`, or anything with one of `prefixes`.

    `relied` are the constants that this was read from.
    """

    values: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    relied: frozenset[Constant] = frozenset()

    def __or__(self, other: Strings) -> Strings:
        return _bounded(
            Strings(
                self.values | other.values,
                self.prefixes | other.prefixes,
                self.relied | other.relied,
            )
        )

    def then(self, other: Strings) -> Strings:
        """Give what the two can be, one after the other."""
        if len(self.values) * (len(other.values) + len(other.prefixes)) > _STRINGS_MAX:
            return ANYTHING
        return Strings(
            frozenset(one + two for one in self.values for two in other.values),
            self.prefixes | {one + two for one in self.values for two in other.prefixes},
            self.relied | other.relied,
        )

    def read_from(self, *constants: Constant) -> Strings:
        """Say that this was read from constants as well."""
        return Strings(self.values, self.prefixes, self.relied.union(constants))


ANYTHING = Strings(prefixes=frozenset({""}))
_NOTHING = Strings()

# Gives the value of a module's constant, by module and name.
Lookup = Callable[[str, str], Strings]


def exactly(text: str) -> Strings:
    """Give the strings of a constant."""
    return Strings(frozenset({text}))


@dataclass(frozen=True)
class Reader:
    """Reads expressions of one module. `lookup` knows the constants of the others."""

    bindings: Bindings
    lookup: Lookup

    def read(self, node: ast.expr | None, depth: int = 0) -> Strings:
        """Say which strings an expression can be."""
        if node is None or depth > _DEPTH_MAX:
            return ANYTHING
        if isinstance(node, ast.Name):
            return self._name(node.id, depth)
        if isinstance(node, ast.Subscript):
            return self._entries(node.value, depth + 1)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        return self._literal(node, depth)

    def _literal(self, node: ast.expr, depth: int) -> Strings:
        """Read what is made of other expressions, or of none."""
        found = ANYTHING
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            found = exactly(text_of(node))
        elif isinstance(node, ast.JoinedStr):
            found = self._joined(node, depth)
        elif isinstance(node, ast.BinOp):
            found = self._operator(node, depth)
        elif isinstance(node, ast.IfExp):
            found = self.read(node.body, depth + 1) | self.read(node.orelse, depth + 1)
        elif isinstance(node, ast.BoolOp):
            found = _any(self.read(value, depth + 1) for value in node.values)
        elif isinstance(node, ast.NamedExpr):
            found = self.read(node.value, depth + 1)
        return found

    def _name(self, name: str, depth: int) -> Strings:
        own = {"__name__": self.bindings.module, "__package__": self.bindings.package}
        if name in own and not self.bindings.is_bound(name):
            return exactly(own[name])
        binding = self.bindings.single(name)
        found = ANYTHING
        if binding is not None and binding.how == "value":
            found = self.read(binding.value, depth + 1)
        elif binding is not None and binding.how == "item":
            found = self.items(binding.value, depth + 1)
        elif binding is not None and binding.how == "import" and binding.attribute:
            found = self.lookup(binding.module, binding.attribute)
        # What can be anything anyway is not believed.
        if binding is not None and "" not in found.prefixes and not self.bindings.is_local(binding):
            found = found.read_from(Constant(self.bindings.module, name))
        return found

    def _joined(self, node: ast.JoinedStr, depth: int) -> Strings:
        found = exactly("")
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                plain = part.conversion == -1 and part.format_spec is None
                found = found.then(self.read(part.value, depth + 1) if plain else ANYTHING)
            else:
                found = found.then(self.read(part, depth + 1))
        return found

    def _operator(self, node: ast.BinOp, depth: int) -> Strings:
        if isinstance(node.op, ast.Add):
            return self.read(node.left, depth + 1).then(self.read(node.right, depth + 1))
        if isinstance(node.op, ast.Mod):
            return _up_to(self.read(node.left, depth + 1), "%")
        return ANYTHING

    def _call(self, node: ast.Call, depth: int) -> Strings:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            return _up_to(self.read(node.func.value, depth + 1), "{")
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
            found = self._entries(node.func.value, depth + 1)
            return _any([found, *(self.read(default, depth + 1) for default in node.args[1:])])
        return ANYTHING

    def items(self, node: ast.expr | None, depth: int = 0) -> Strings:
        """Say which strings the items of a collection can be: a mapping's are its keys."""
        if depth > _DEPTH_MAX:
            return ANYTHING
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return _any(self._item(item, depth + 1) for item in node.elts)
        if isinstance(node, ast.Dict):
            return _any(self.read(key, depth + 1) for key in node.keys)
        if isinstance(node, ast.Name):
            return self._collection(node.id, depth, self.items)
        if isinstance(node, ast.Call):
            return self._items_of_call(node, depth)
        return ANYTHING

    def _item(self, node: ast.expr, depth: int) -> Strings:
        if isinstance(node, ast.Starred):
            return self.items(node.value, depth)
        return self.read(node, depth)

    def _items_of_call(self, node: ast.Call, depth: int) -> Strings:
        if isinstance(node.func, ast.Name) and node.func.id in _WRAPPERS and len(node.args) == 1:
            return self.items(node.args[0], depth + 1)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "values":
            return self._entries(node.func.value, depth + 1)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "keys":
            return self.items(node.func.value, depth + 1)
        return ANYTHING

    def _entries(self, node: ast.expr | None, depth: int) -> Strings:
        """Say which strings a subscript of a collection can give."""
        if depth > _DEPTH_MAX:
            return ANYTHING
        if isinstance(node, ast.Dict):
            # A key of None unpacks another mapping.
            if None in node.keys:
                return ANYTHING
            return _any(self.read(value, depth + 1) for value in node.values)
        if isinstance(node, ast.Tuple | ast.List):
            return _any(self._item(item, depth + 1) for item in node.elts)
        if isinstance(node, ast.Name):
            return self._collection(node.id, depth, self._entries)
        return ANYTHING

    def _collection(
        self, name: str, depth: int, read: Callable[[ast.expr | None, int], Strings]
    ) -> Strings:
        binding = self.bindings.single(name)
        if binding is None or binding.how != "value" or not self.bindings.only_read(name):
            return ANYTHING
        found = read(binding.value, depth + 1)
        # What other modules can see, they can add to; a tuple nobody can.
        can_grow = not isinstance(binding.value, ast.Tuple)
        if can_grow and not name.startswith("_"):
            return found | ANYTHING
        if self.bindings.is_local(binding):
            return found
        return found.read_from(Constant(self.bindings.module, name, in_place=can_grow))


def _up_to(strings: Strings, mark: str) -> Strings:
    return Strings(
        frozenset(text for text in strings.values if mark not in text),
        strings.prefixes | {text.partition(mark)[0] for text in strings.values if mark in text},
        strings.relied,
    )


def _any(found: Iterable[Strings]) -> Strings:
    total = _NOTHING
    for strings in found:
        total |= strings
    return total


def _bounded(strings: Strings) -> Strings:
    return strings if len(strings.values) + len(strings.prefixes) <= _STRINGS_MAX else ANYTHING


def text_of(node: ast.AST) -> str:
    """Give the text of a string; bytes are code, or a part of a command, as well."""
    value = node.value if isinstance(node, ast.Constant) else ""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else ""
