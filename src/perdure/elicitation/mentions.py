"""Finding the choices of a question in a folded answer, whole words only. Pure.

Each mention is replaced by one character that stands for its choice, so that everything after
this reads sentences and not names. Numbers are given to choices by the order of their ids, so the
order in which a study lists its choices decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from perdure.elicitation.fold import MARKS_FIRST, MARKS_LAST, fold
from perdure.records.persona import Choice

_WORD = re.compile(r"\w+")
_BETWEEN_WORDS = r"[^\w!?;\n]{1,3}"
_OPPOSITE_PREFIXES = ("dis", "un", "not ", "do not ", "don't ")

# A name that is also a word of negation is one only where it stands by itself.
_NEGATION_NAMES = frozenset({"no", "not", "none", "never", "nope"})
_CHANCE = re.compile(r"likely|probabl|possibl|certain")
_STANDS_ALONE = r"(?=[ ]*(?:$|[.,!;:)\n]|(?:i|it|we|they|this|that|he|she)\b))"


class Names:
    """The names of a question's choices, ready to be found."""

    def __init__(self, choices: tuple[Choice, ...]) -> None:
        self.ids = tuple(sorted({choice.id for choice in choices}))
        if len(self.ids) > MARKS_LAST - MARKS_FIRST:
            raise ValueError(f"a closed question has at most {MARKS_LAST - MARKS_FIRST} choices")
        number = {choice: place for place, choice in enumerate(self.ids)}
        self._numbers: dict[str, set[int]] = {}
        for choice in choices:
            for name in (choice.label, *choice.aliases):
                # Who answers is read apart from the name: "I agree" is "agree", said by "I".
                words = _words(name).removeprefix("i ")
                if words:
                    self._numbers.setdefault(words, set()).add(number[choice.id])
        self.opposite = dict(self._opposites())
        self.persons = {number[choice.id] for choice in choices if _is_person(choice)}
        self.negations = {
            place for name in _NEGATION_NAMES for place in self._numbers.get(name, set())
        }
        self.yes = set(self._numbers.get("yes", ()))
        self.chances = {
            place
            for name, every in self._numbers.items()
            if _CHANCE.search(name)
            for place in every
        }
        self._pattern = self._compile()

    def mark(self, folded: str) -> str:
        """Replace every mention by its choice's mark; of overlapping names the longest counts."""
        return self._pattern.sub(self._marks_of, folded) if self._pattern is not None else folded

    def _marks_of(self, match: re.Match[str]) -> str:
        # A name that two choices share names both, and so decides nothing.
        numbers = sorted(self._numbers[_words(match.group())])
        return " / ".join(chr(MARKS_FIRST + number) for number in numbers)

    def _compile(self) -> re.Pattern[str] | None:
        ordered = sorted(self._numbers, key=lambda name: (-len(name), name))
        if not ordered:
            return None
        return re.compile(rf"\b(?<!\w[-'])(?:{'|'.join(map(_name_pattern, ordered))})")

    def _opposites(self) -> Iterator[tuple[int, int]]:
        """Pair choices such as agree and disagree: to deny the first is to give the second."""
        for name, numbers in self._numbers.items():
            for prefix in _OPPOSITE_PREFIXES:
                others = self._numbers.get(_words(prefix + name), set())
                if len(numbers) == 1 and len(others) == 1 and numbers != others:
                    yield min(numbers), min(others)


@lru_cache(maxsize=256)
def names_of(choices: tuple[Choice, ...]) -> Names:
    """Prepare the names of a question's choices, once for each question."""
    return Names(choices)


def _is_person(choice: Choice) -> bool:
    """Say whether a choice is somebody: a name of several words, each with a capital."""
    spelled = [name.split() for name in (choice.label, *choice.aliases)]
    return any(len(parts) > 1 and all(part[0].isupper() for part in parts) for parts in spelled)


def _words(name: str) -> str:
    return " ".join(_WORD.findall(fold(name)))


def _name_pattern(name: str) -> str:
    body = _BETWEEN_WORDS.join(map(re.escape, name.split(" ")))
    if len(name) == 1 and name.isalnum():
        # One letter or digit is a name only as a numbered answer, or after the word for one.
        return (
            rf"(?:(?<=option )|(?<=answer )|(?<=choice )|(?<=answer: )|(?<=answer is )){body}(?!\w)"
            rf"|(?m:^){body}(?=[).:]|[ ]*(?m:$))"
        )
    tail = _STANDS_ALONE if name in _NEGATION_NAMES else ""
    return rf"{body}(?!\w){tail}"
