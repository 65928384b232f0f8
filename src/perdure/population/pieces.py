"""The pieces of a value that could give away an outcome: words, ends, letters, digits. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from perdure.base.text import normalise

_RUNS = re.compile(r"[^\W\d_]+|\d+")
_READ_MAX = 2_000
_ENDS = 4
_CHARACTERS = 8

Piece: TypeAlias = tuple[str, int, str]


def pieces_of(value: str, terms: Iterable[str]) -> set[Piece]:
    """Take a value apart. `terms` are codes and names of the outcome, looked for as they are."""
    text = normalise(value[:_READ_MAX])
    runs = _RUNS.findall(text)
    found: set[Piece] = {("word", 0, run) for run in runs}
    found |= {("word at", place, run) for place, run in enumerate(runs[:_ENDS])}
    found |= {("word before end", place, run) for place, run in enumerate(reversed(runs[-_ENDS:]))}
    found |= {("character at", place, one) for place, one in enumerate(text[:_CHARACTERS])}
    found |= {
        ("character before end", place, one)
        for place, one in enumerate(reversed(text[-_CHARACTERS:]))
    }
    found.add(("letters", 0, "".join(one for one in text if one.isalpha())))
    found.add(("digits", 0, "".join(one for one in text if one.isdigit())))
    found.add(("length", len(text), ""))
    found |= {("holds", 0, term) for term in terms if term in value}
    return found


def pieces_of_id(value: str, terms: Iterable[str]) -> set[Piece]:
    """Take an id apart. Its leading digits do not count: a file may be sorted by the outcome."""
    runs = _RUNS.findall(value.casefold())
    found: set[Piece] = {
        ("word before end", place, run) for place, run in enumerate(reversed(runs[-_ENDS:]))
    }
    found |= {("word", 0, run) for run in runs if run.isalpha()}
    found.add(("character before end", 0, value[-1:].casefold()))
    found |= {("holds", 0, term) for term in terms if not term.isdigit() and term in value}
    return found
