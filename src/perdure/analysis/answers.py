"""One persona's answer to a question, and how many of each kind there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from perdure.base.canonical import encode, sha256
from perdure.records.outcome import TurnFailureCause, UnscorableCause
from perdure.records.record import Record
from perdure.records.request import FailureCause


class Answer(Record):
    """What became of one question put to one persona.

    Exactly one holds: `choice` is set (scored), `unscorable` is set (answered in words that have
    no score), `failed` is set (the turn was not taken; `call` says which call failure it was), or
    none of them (answered, and no score is on record).
    """

    choice: str = ""
    unscorable: UnscorableCause | None = None
    failed: TurnFailureCause | None = None
    call: FailureCause | None = None


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
    """Answers counted: by choice, and by the cause why there is none."""

    choices: dict[str, int]
    unscorable: dict[str, int]
    failed: dict[str, int]
    unjudged: int

    def __add__(self, other: Count) -> Count:
        return Count(
            choices=_sum(self.choices, other.choices),
            unscorable=_sum(self.unscorable, other.unscorable),
            failed=_sum(self.failed, other.failed),
            unjudged=self.unjudged + other.unjudged,
        )

    @property
    def tally(self) -> Tally:
        """How many were asked, and what became of it."""
        scored, unscorable = sum(self.choices.values()), sum(self.unscorable.values())
        answered = scored + unscorable + self.unjudged
        return Tally(
            asked=answered + sum(self.failed.values()),
            answered=answered,
            scored=scored,
            unscorable=self.unscorable,
            failed=self.failed,
            unjudged=self.unjudged,
        )


NO_ANSWERS = Count(choices={}, unscorable={}, failed={}, unjudged=0)


class Counting:
    """Counts answers as they pass."""

    def __init__(self) -> None:
        self._choices: Counter[str] = Counter()
        self._unscorable: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._unjudged = 0

    def add(self, answer: Answer) -> None:
        """Count one answer."""
        if answer.failed is not None:
            self._failed[failure_name(answer)] += 1
        elif answer.unscorable is not None:
            self._unscorable[str(answer.unscorable)] += 1
        elif answer.choice:
            self._choices[answer.choice] += 1
        else:
            self._unjudged += 1

    def count(self) -> Count:
        """Give the count so far."""
        return Count(
            choices=dict(sorted(self._choices.items())),
            unscorable=dict(sorted(self._unscorable.items())),
            failed=dict(sorted(self._failed.items())),
            unjudged=self._unjudged,
        )


def count(answers: Iterable[Answer]) -> Count:
    """Count answers by what became of them."""
    counting = Counting()
    for answer in answers:
        counting.add(answer)
    return counting.count()


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted({*one, *other})}
