"""One persona's answer to a question, and how many of each kind there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from perdure.base.canonical import encode, sha256
from perdure.records.events import ScoreGiven
from perdure.records.outcome import TurnFailureCause, UnscorableCause
from perdure.records.record import Record
from perdure.records.request import FailureCause

N = TypeVar("N", int, float)


class Answer(Record):
    """What became of one question put to one persona.

    Exactly one holds: it is scored (`choice`, `choices`, `number` or `masses` is set, as its
    question asks), `unscorable` is set (answered in words that have no score), `failed` is set (the
    turn was not taken; `call` says which call failure it was), or none of them (answered, and no
    score is on record).
    """

    choice: str = ""
    unscorable: UnscorableCause | None = None
    failed: TurnFailureCause | None = None
    call: FailureCause | None = None
    choices: tuple[str, ...] | None = None
    number: float | None = None
    masses: tuple[float, ...] = ()

    @property
    def is_scored(self) -> bool:
        """Whether it has a score."""
        given = self.choices is not None or self.number is not None
        return bool(self.choice or self.masses or given)


def answer_of(score: ScoreGiven) -> Answer:
    """Give an answer as it was scored."""
    return Answer(
        choice=score.choice,
        unscorable=score.unscorable,
        choices=score.choices,
        number=score.number,
        masses=score.masses,
    )


Values = Callable[[Answer], Mapping[str, float]]


def _nothing(_answer: Answer) -> Mapping[str, float]:
    return {}


class Tally(Record):
    """How many were asked, and what became of it: asked = answered + failed, by cause.

    answered = scored + unscorable, by cause, + `unjudged`, which have no score on record.
    """

    asked: int
    answered: int
    scored: int
    unscorable: dict[str, int]
    failed: dict[str, int]
    unjudged: int


def failure_name(answer: Answer) -> str:
    """Name the cause of a failed turn: the call's own cause where a call was at fault."""
    if answer.failed is None:
        return ""
    return f"{answer.failed}: {answer.call}" if answer.call else str(answer.failed)


def mark(persona: str, answer: Answer) -> int:
    """Mark one persona's answer. The sum of marks is the same for the same answers, in any order.

    It takes a good hash: the differences between the built-in hashes of two pairs hardly depend on
    the persona, so that their sums meet.
    """
    return int.from_bytes(sha256(encode((persona, answer))))


def marks(answers: Mapping[str, Answer]) -> int:
    """Mark the answers of some personas: the sum of their marks."""
    return sum(mark(persona, answer) for persona, answer in answers.items())


def tally(answers: Iterable[Answer]) -> Tally:
    """Count answers by what became of them."""
    return count(answers).tally


class Count(Record):
    """Answers counted: those scored, the sum of each figure over them, and causes why not."""

    scored: int
    sums: dict[str, float]
    unscorable: dict[str, int]
    failed: dict[str, int]
    unjudged: int

    def __add__(self, other: Count) -> Count:
        return Count(
            scored=self.scored + other.scored,
            sums=_sum(self.sums, other.sums),
            unscorable=_sum(self.unscorable, other.unscorable),
            failed=_sum(self.failed, other.failed),
            unjudged=self.unjudged + other.unjudged,
        )

    @property
    def tally(self) -> Tally:
        """How many were asked, and what became of it."""
        unscorable = sum(self.unscorable.values())
        answered = self.scored + unscorable + self.unjudged
        return Tally(
            asked=answered + sum(self.failed.values()),
            answered=answered,
            scored=self.scored,
            unscorable=self.unscorable,
            failed=self.failed,
            unjudged=self.unjudged,
        )


NO_ANSWERS = Count(scored=0, sums={}, unscorable={}, failed={}, unjudged=0)


class Counting:
    """Counts answers as they pass. `values` gives what a scored one adds to each figure."""

    def __init__(self, values: Values = _nothing) -> None:
        self._values = values
        self._scored = 0
        self._sums: dict[str, float] = {}
        self._unscorable: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._unjudged = 0

    def add(self, answer: Answer) -> None:
        """Count one answer."""
        if answer.failed is not None:
            self._failed[failure_name(answer)] += 1
        elif answer.unscorable is not None:
            self._unscorable[str(answer.unscorable)] += 1
        elif answer.is_scored:
            self._scored += 1
            for name, value in self._values(answer).items():
                self._sums[name] = self._sums.get(name, 0) + value
        else:
            self._unjudged += 1

    def count(self) -> Count:
        """Give the count so far."""
        return Count(
            scored=self._scored,
            sums=dict(sorted(self._sums.items())),
            unscorable=dict(sorted(self._unscorable.items())),
            failed=dict(sorted(self._failed.items())),
            unjudged=self._unjudged,
        )


def count(answers: Iterable[Answer], values: Values = _nothing) -> Count:
    """Count answers by what became of them, and sum the values that scored ones give."""
    counting = Counting(values)
    for answer in answers:
        counting.add(answer)
    return counting.count()


def _sum(one: Mapping[str, N], other: Mapping[str, N]) -> dict[str, N]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted({*one, *other})}
