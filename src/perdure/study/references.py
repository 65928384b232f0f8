"""Checks that what a scenario refers to is there: its claims, its ticks, its questions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from perdure.records.persona import AttributeSpec
from perdure.study.findings import Findings, quoted, suggestion
from perdure.study.kinds import Named, Spot
from perdure.study.section import Field, Section


@dataclass(frozen=True)
class Known:
    """What a scenario may refer to; None where it could not be read."""

    variants: Collection[str] | None
    claims: Collection[str] | None
    questions: Collection[str] | None
    attributes: Mapping[str, AttributeSpec] | None = None
    has_graph: bool | None = None


@dataclass(frozen=True)
class References:
    """What one scenario may refer to. Without a `horizon` that could be read, any tick is one.

    `study` is the whole file, as read.
    """

    study: Section
    known: Known
    horizon: int | None

    def check_claim(self, line: int, claim: str, found: Findings) -> None:
        """Note a claim that the brief does not have."""
        claims = self.known.claims
        if claims is not None and claim not in claims:
            wrong = f"The claim {quoted(claim)} is not among the brief's claims."
            found.add(line, wrong, suggestion(claim, claims))

    def check_tick(self, line: int, tick: int, what: str, found: Findings) -> None:
        """Note a tick that the world does not live to see."""
        if self.horizon is not None and tick >= self.horizon:
            last = self.horizon - 1
            wrong = f"The {what} at tick {tick} is beyond the last tick, {last}."
            found.add(line, wrong, f"Write a tick from 0 to {last}, or raise `horizon`.")

    def check_question(self, section: Section, field: Field[str]) -> None:
        """Note a question that the study does not have."""
        if name := section.get(field):
            self.check_asked(section.line_of(field), name, section.found)

    def check_asked(self, line: int, name: str, found: Findings) -> None:
        """Note a question, named on a line, that the study does not have."""
        questions = self.known.questions
        if questions is not None and name not in questions:
            wrong = f"The question {quoted(name)} is not among the questions."
            found.add(line, wrong, suggestion(name, questions))

    def claims_at(
        self, entries: tuple[Named[int, tuple[Spot[str], ...]], ...], what: str, found: Findings
    ) -> dict[str, tuple[str, ...]]:
        """Read which claims are listed under which tick, in the order of the ticks."""
        listed: dict[str, tuple[str, ...]] = {}
        for entry in sorted(entries, key=lambda named: named.key):
            self.check_tick(entry.line, entry.key, what, found)
            claims = tuple(dict.fromkeys(spot.value for spot in entry.value))
            if len(claims) != len(entry.value):
                wrong = f"A claim is listed twice at tick {entry.key}."
                found.add(entry.line, wrong, "Keep one.")
            for spot in entry.value:
                self.check_claim(spot.line, spot.value, found)
            listed[str(entry.key)] = claims
        return listed
