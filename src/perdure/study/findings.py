"""The list of everything that is wrong with a file, gathered while it is read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from perdure.base import text
from perdure.base.errors import Problem

_SHOWN_MAX = 60
_LISTED_MAX = 20
_COMPARED_MAX = 500


class Findings:
    """Problems of a file in the order they are met; the same problem is kept once."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._problems: dict[tuple[str, int, str], Problem] = {}

    def add(self, line: int, wrong: str, remedy: str) -> None:
        """Note that something is wrong at a line (0 if none), and what to write instead."""
        problem = Problem(file=self.file, line=line, wrong=wrong, remedy=remedy)
        self._problems.setdefault((self.file, line, wrong), problem)

    def take(self, other: Findings) -> None:
        """Take over the problems of another file, to which this one refers."""
        self._problems |= other._problems

    def __bool__(self) -> bool:
        return bool(self._problems)

    def __len__(self) -> int:
        return len(self._problems)

    def listed(self) -> list[Problem]:
        """List the problems in the order of the file, then those of each other file."""
        return sorted(
            self._problems.values(),
            key=lambda problem: (problem.file != self.file, problem.file, problem.line),
        )


def quoted(value: str) -> str:
    """Quote a text from a file for a message: one short line, nothing in it hidden."""
    shown = text.one_line(value, _SHOWN_MAX)
    return f"`{shown}`" if shown.isascii() else f"`{shown}` ({shown!a})"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Find the known word that was probably meant, if there is one."""
    # Comparing takes time, and what is known may come from a hostile file.
    short = [item for item in known if len(item) <= _SHOWN_MAX][:_COMPARED_MAX]
    near = difflib.get_close_matches(word[:_SHOWN_MAX], short, n=1, cutoff=0.6)
    return near[0] if near else None


def suggestion(word: str, known: Iterable[str]) -> str:
    """Say which of the known words was probably meant, or list what is known."""
    choices = list(known)
    near = nearest(word, choices)
    if near is not None:
        lookalike = "" if word.isascii() else " in plain Latin letters"
        return f"Did you mean `{text.one_line(near, _SHOWN_MAX)}`{lookalike}?"
    if not choices:
        return "There is none to refer to."
    listed = ", ".join(f"`{text.one_line(item, _SHOWN_MAX)}`" for item in choices[:_LISTED_MAX])
    more = ", …" if len(choices) > _LISTED_MAX else ""
    return f"Write one of {listed}{more}."
