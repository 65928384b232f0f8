"""The strings of a module that could name another, wherever they are used. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import Enum

from perdure.closure.facts import Mention
from perdure.closure.strings import text_of

NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*(\.[^\W\d]\w*)*)?\Z")
_FILE = re.compile(r"([\w./-]*\w)\.py\b")
# What the import statements in a string of code name.
_DOTTED = r"[^\W\d][\w.]*"
_IMPORTED = re.compile(
    rf"(?:\bfrom\s+([\w.]+)\s+)?\bimport\b[\s(]*"
    rf"({_DOTTED}(?:\s+as\s+\w+)?(?:\s*,\s*{_DOTTED}(?:\s+as\s+\w+)?)*)"
)
_COMMAND = re.compile(r"(?:^|\s)-m\s+([^\W\d][\w.]*\w|[^\W\d])")


def mentions_of(
    tree: ast.Module, tops: frozenset[str], package: str = "", beside: frozenset[str] = frozenset()
) -> Iterator[Mention]:
    """Find the strings that could name a module under one of the top-level names in `tops`.

    They may also name one of `beside`, which are in the module's own `package`, or be the path of a
    file. Annotations are left out, and bare constants: no string there is imported from. A command
    line may hold such a name after `-m`, and code in its imports.
    """
    passed = _not_named(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant):
            continue
        said = text_of(node)
        how = passed.get(id(node))
        if not said or how is _Passed.WHOLE:
            continue
        for text in _names_in(said, words=how is None):
            top = re.split("[.:]", text, maxsplit=1)[0]
            if top in tops:
                yield Mention(text=text, line=node.lineno)
            if package and top in beside:
                yield Mention(text=f"{package}.{text}", line=node.lineno)


class _Passed(Enum):
    """How much of a string is passed over: all of it, or what is only a word."""

    WHOLE = 0
    WORD = 1


def _not_named(tree: ast.Module) -> dict[int, _Passed]:
    found: dict[int, _Passed] = {}
    for node in ast.walk(tree):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                found.update((id(part), _Passed.WHOLE) for part in ast.walk(annotation))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found[id(node.value)] = _Passed.WHOLE
        elif isinstance(node, ast.Compare):
            found.update((id(one), _Passed.WORD) for one in (node.left, *node.comparators))
        elif isinstance(node, ast.Subscript):
            found[id(node.slice)] = _Passed.WORD
    return found


def _names_in(text: str, *, words: bool) -> Iterator[str]:
    if (words or "." in text or ":" in text) and NAME.match(text):
        yield text
        return
    yield from _COMMAND.findall(text)
    if "import" in text:
        yield from _imported_in(text)
    for path in _FILE.findall(text):
        parts = [part for part in path.split("/") if part not in {"", ".", ".."}]
        # Whatever folder the path begins in, its end is the module's name.
        yield from (".".join(parts[place:]) for place in range(len(parts)))


def _imported_in(text: str) -> Iterator[str]:
    """Find what the import statements in a string of code name."""
    for owner, listed in _IMPORTED.findall(text):
        # From where a relative name counts depends on who executes it.
        package = owner.strip(".")
        for part in listed.split(","):
            name = part.split()[0].rstrip(".")
            yield f"{package}.{name}" if package else name
