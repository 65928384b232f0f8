"""A cosmetic edit moves nothing, and anything that can change what a module does moves it."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.closure.normal import normal_hash, normal_text
from perdure.closure.source import SourceError, parse

MODULE = '''\
"""What it is for."""

from __future__ import annotations

import os

RATE = 0.5
LIMITS = {"low": 1, "high": 10_000}
NAME = 'it'


def act(jobs: list[int], *, quorum: float = 0.9) -> list[int]:
    """Do it."""
    total = 0
    for job in jobs:
        if job > 3 and job != 7:
            total += job * 2  # twice
        else:
            continue
    assert total >= 0, f"never {total!r}"
    return [total, -total, not total] if jobs else []


class Agent:
    """One of them."""

    def speak(self) -> str:
        """Say it."""
        return "yes " "and no" + b"x".decode()

    def rest(self) -> None:
        """Nothing to do."""
'''
COSMETIC = {
    "a comment": ("RATE = 0.5", "RATE = 0.5  # half of them"),
    "blank lines": ("import os\n", "import os\n\n\n\n"),
    "spaces": ("RATE = 0.5", "RATE  =  0.5"),
    "quotes": ("'it'", '"it"'),
    "a way to write a number": ("10_000", "10000"),
    "another way to write it": ("0.5", ".50"),
    "brackets": ("job * 2", "(job * 2)"),
    "a trailing comma": ('"high": 10_000}', '"high": 10_000,}'),
    "broken lines": (
        "[total, -total, not total]",
        "[\n    total,\n    -total,\n    not total\n  ]",
    ),
    "joined strings": ('"yes " "and no"', '"yes and no"'),
    "an escape": ('"yes "', r'"\x79es "'),
    "a module's docstring": ("What it is for.", "What it really is for."),
    "a function's docstring": ("Do it.", "Do it at once."),
    "a class's docstring": ("One of them.", "The only one."),
    "no docstring": ('    """Do it."""\n', ""),
    "pass beside others": ("        return", "        pass\n        return"),
    "pass for a docstring": ('        """Nothing to do."""', "        pass"),
    "an ellipsis for it": ('        """Nothing to do."""', "        ..."),
    "windows lines": ("\n", "\r\n"),
}
REAL = {
    "a number": ("0.5", "0.6"),
    "an integer for a float": ("quorum: float = 0.9", "quorum: float = 1"),
    "a string": ("'it'", "'is'"),
    "a space in a string": ('"yes "', '"yes  "'),
    "bytes": ('b"x"', 'b"y"'),
    "a comparison": ("job > 3", "job >= 3"),
    "another comparison": ("!=", "=="),
    "a junction": (" and job", " or job"),
    "an operator": ("job * 2", "job + 2"),
    "a sign": ("-total", "+total"),
    "a negation": ("not total", "total"),
    "an assignment": ("total += job", "total = job"),
    "a default": ("quorum: float = 0.9", "quorum: float = 0.8"),
    "a name": ("NAME", "NAMES"),
    "a key": ('"low"', '"lower"'),
    "an order": ("[total, -total", "[-total, total"),
    "a jump": ("continue", "break"),
    "a conversion": ("{total!r}", "{total}"),
    "an import": ("import os", "import sys"),
    "an annotation": ("list[int],", "list[str],"),
    "a branch left out": ("        else:\n            continue\n", ""),
    "a keyword-only mark": (" *, quorum", " quorum"),
    "an assertion": ("total >= 0", "total >= 1"),
    "True for 1": ('"low": 1', '"low": True'),
}


def hashed(text: str, *, docstrings: bool = False) -> str:
    """Hash the normal form of a text."""
    return normal_hash(parse(text, "test"), docstrings=docstrings)


def edited(edit: tuple[str, str]) -> str:
    """Make one edit of the module."""
    old, new = edit
    assert old in MODULE
    return MODULE.replace(old, new) if old == "\n" else MODULE.replace(old, new, 1)


@pytest.mark.parametrize("edit", COSMETIC)
def test_a_cosmetic_edit_moves_nothing(edit):
    """An edit that cannot change what the module does leaves the hash as it is."""
    assert hashed(edited(COSMETIC[edit])) == hashed(MODULE)


@pytest.mark.parametrize("edit", REAL)
def test_a_real_edit_moves_it(edit):
    """A changed constant, operator, name or branch changes the hash, docstrings or not."""
    assert hashed(edited(REAL[edit])) != hashed(MODULE)
    changed = hashed(edited(REAL[edit]), docstrings=True)
    assert changed != hashed(MODULE, docstrings=True)


@pytest.mark.parametrize("edit", [edit for edit in COSMETIC if "docstring" not in edit])
def test_only_docstrings_count_more_in_a_plug_in(edit):
    """In a plug-in, comments and layout move nothing either."""
    if edit in {"pass beside others", "an ellipsis for it"}:
        pytest.skip("a plug-in keeps every statement")
    moved = hashed(edited(COSMETIC[edit]), docstrings=True)
    assert moved == hashed(MODULE, docstrings=True)


@pytest.mark.parametrize("edit", [edit for edit in COSMETIC if edit.endswith("'s docstring")])
def test_a_docstring_moves_a_plug_in(edit):
    """A docstring of a plug-in may be sent to a model, and so it counts."""
    moved = hashed(edited(COSMETIC[edit]), docstrings=True)
    assert moved != hashed(MODULE, docstrings=True)


OURS = sorted(Path(perdure.__path__[0]).rglob("*.py"))


@given(st.data())
def test_comments_and_blank_lines_anywhere_move_no_module_of_ours(data):
    """Comments at the ends of logical lines, and empty lines between them, change no hash."""
    path = data.draw(st.sampled_from(OURS))
    text = path.read_text(encoding="utf-8")
    ends = {
        token.end[0]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NEWLINE
    }
    chosen = data.draw(st.sets(st.sampled_from(sorted(ends)))) if ends else set()
    lines = text.split("\n")
    for line in chosen:
        lines[line - 1] += "  # " + data.draw(st.text("abc \\\"'#", max_size=5)) + "\n\n   # more"
    assert hashed("\n".join(lines)) == hashed(text)


def _constants(tree: ast.Module) -> list[ast.Constant]:
    """Find the constants that can change something: not those that stand alone."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [node for node in found if id(node) not in alone]


@given(st.data())
def test_any_changed_constant_moves_a_module_of_ours(data):
    """Whichever constant of whichever module is changed, the hash changes."""
    path = data.draw(st.sampled_from(OURS))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    before = normal_hash(tree, docstrings=False)
    constants = _constants(tree)
    if not constants:
        return
    constant = constants[data.draw(st.integers(0, len(constants) - 1))]
    value = constant.value
    constant.value = (
        f"{value}x" if isinstance(value, str) else 0 if value is None else [value, 1][1]
    )
    if constant.value is value or constant.value == value:
        constant.value = "other"
    assert normal_hash(tree, docstrings=False) != before


@pytest.mark.parametrize("docstrings", [False, True])
def test_the_normal_form_as_text_has_the_same_normal_form(docstrings):
    """What a diff is made of is the same code: written out and read again, its hash is kept."""
    for path in OURS:
        text = path.read_text(encoding="utf-8")
        tree = parse(text, str(path))
        before = normal_hash(tree, docstrings=docstrings)
        assert hashed(normal_text(tree, docstrings=docstrings), docstrings=docstrings) == before


def test_a_formatter_moves_no_module_of_ours():
    """A formatter with another width and other quotes changes text and no hash."""
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "60", "-"]
    quotes = ["--config", "format.quote-style='single'"]
    for path in OURS[::10]:
        text = path.read_text(encoding="utf-8")
        told = subprocess.run(
            [*command, *quotes], input=text, capture_output=True, text=True, check=True
        )
        assert hashed(told.stdout) == hashed(text), path


def test_a_very_long_chain_of_operators_is_no_trouble():
    """A deep tree is hashed without running out of stack, or is refused with a name."""
    text = "x = " + " + ".join(["1"] * 500)
    assert hashed(text) != hashed(text + " + 1")
    # Where the limit is differs from Python to Python, but there is one.
    with pytest.raises(SourceError, match="nested too deeply"):
        hashed("x = " + " + ".join(["1"] * 100_000))


@pytest.mark.parametrize("text", ["def (", "x = '\0'", "(" * 5_000, "return\n  x"])
def test_what_is_no_python_has_a_name(text):
    """Whatever the parser makes of a text, it is one error of ours."""
    with pytest.raises(SourceError):
        parse(text, "test")
