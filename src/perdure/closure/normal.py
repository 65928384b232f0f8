"""The normal form of a module: what of its source can change what it does. Pure.

Comments, layout, brackets that change nothing, and ways of writing the same constant are not in it.
Docstrings are in it only where somebody may read them: in a plug-in, whose docstrings may be sent
to a model.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable

# What follows from a node's place, or says only how a constant was written.
_BESIDE = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def normal_hash(tree: ast.Module, *, docstrings: bool) -> str:
    """Hash a module's normal form: 64 hex digits.

    Two hashes can be compared only if the same version of Python parsed both sources.
    """
    return hashlib.sha256(_written(tree, docstrings=docstrings).encode()).hexdigest()


def normal_text(tree: ast.Module, *, docstrings: bool) -> str:
    """Write a module's normal form as source, laid out the same way whatever the original's layout.

    The tree is changed: what is not part of the normal form is taken out of it.
    """
    if not docstrings:
        for node in ast.walk(tree):
            if isinstance(body := getattr(node, "body", None), list):
                node.body = effective(body)  # type: ignore[attr-defined]
    return ast.unparse(tree)


def effective(body: list[ast.stmt]) -> list[ast.stmt]:
    """Leave out of a block what does nothing: docstrings, other bare constants, `pass`."""
    kept = [node for node in body if not _is_idle(node)]
    return kept or ([ast.Pass()] if body else [])


def _is_idle(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _fields() -> dict[type[ast.AST], tuple[str, ...]]:
    kinds = [kind for kind in vars(ast).values() if isinstance(kind, type)]
    return {
        kind: tuple(name for name in kind._fields if name not in _BESIDE)
        for kind in kinds
        if issubclass(kind, ast.AST)
    }


_FIELDS = _fields()


def _written(tree: ast.Module, *, docstrings: bool) -> str:
    """Write a tree as lines: each node's kind, then its fields in order, lists in brackets.

    Without recursion, because a long chain of operators is a deep tree.
    """
    written: list[str] = []
    waiting: list[ast.AST | str] = [tree]
    while waiting:
        item = waiting.pop()
        if item.__class__ is str:
            written.append(item)
            continue
        kind = item.__class__
        if kind is ast.Name:
            written.append(f"Name {item.id!r}")  # type: ignore[union-attr]
            continue
        if kind is ast.Constant:
            written.append(f"Constant {item.value!r}")  # type: ignore[union-attr]
            continue
        written.append(kind.__name__)
        values = item.__dict__
        parts: list[ast.AST | str] = []
        for name in _FIELDS[kind]:  # type: ignore[index]
            value = values.get(name)
            if value.__class__ is list:
                if name == "body" and not docstrings:
                    value = effective(value)
                elif kind is ast.Delete:
                    value = _targets(value)
                parts.append("[")
                parts.extend(_items(value))
                parts.append("]")
            else:
                parts.append(value if isinstance(value, ast.AST) else repr(value))
        parts.reverse()
        waiting.extend(parts)
    return "\n".join(written)


def _items(values: Iterable[object]) -> Iterable[ast.AST | str]:
    return (value if isinstance(value, ast.AST) else repr(value) for value in values)


def _targets(targets: list[ast.expr]) -> list[ast.expr]:
    """Read `del (a, b)` as `del a, b`, as formatters write it."""
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple):
        return targets[0].elts
    return targets
