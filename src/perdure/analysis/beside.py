"""Two runs on the same people against the same real values: a model beside the rule baseline, say.

Each wave of a scenario that both runs have is judged on the personas that both have an answer of,
so that neither is spared the ones that are hard to tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.analysis.answers import Answer
from perdure.analysis.cells import Cells, waves_of
from perdure.analysis.prediction import Fit, fit
from perdure.analysis.shares import most_common
from perdure.records.record import Record
from perdure.records.scenario import Question

_Wave = Mapping[str, Answer]


class BesideFit(Record):
    """One wave in both runs: the fit of each over the `personas` that both have an answer of.

    `always` is the fit of the most common real value of these personas.
    """

    scenario: str
    tick: int
    personas: int
    world_ids: tuple[str, ...]
    other_world_ids: tuple[str, ...]
    own: Fit
    other: Fit
    always: Fit


class Beside(Record):
    """Another run beside this one: which, by which models, and how each wave fits.

    `why` says why nothing can be compared; empty if something can.
    """

    run_id: str
    study: str
    models: tuple[str, ...]
    why: str = ""
    rows: tuple[BesideFit, ...] = ()


class Side(Record):
    """One of two runs, as far as they are compared: its question, real values and answers."""

    question: Question | None
    real: dict[str, str]
    waves: dict[str, dict[int, dict[str, dict[str, Answer]]]]


def side(question: Question | None, real: Mapping[str, str], cells: Cells) -> Side:
    """Gather what a run has to be compared by: its answers by scenario, tick and world id."""
    waves: dict[str, dict[int, dict[str, dict[str, Answer]]]] = {}
    if question is not None:
        for name, mine in cells.items():
            for one in waves_of(question.id, mine):
                for tick, answers in one.waves.items():
                    waves.setdefault(name, {}).setdefault(tick, {})[one.world.world_id] = answers
    return Side(question=question, real=dict(real), waves=waves)


def why_not(one: Side, other: Side) -> str:
    """Say why two runs cannot be compared; empty if they can."""
    if one.question is None or other.question is None:
        return "one of the two studies holds no outcome out"
    if _choices(one) != _choices(other):
        return "the two studies do not ask for the same choices"
    both = one.real.keys() & other.real.keys()
    if not both:
        return "they have no persona with a real value in common"
    if any(one.real[persona] != other.real[persona] for persona in both):
        return "the real values of the same personas are not the same"
    return ""


def compare(one: Side, other: Side) -> tuple[BesideFit, ...]:
    """Judge every wave that both runs have, in the order of this one."""
    if one.question is None:
        return ()
    choices = [choice.id for choice in one.question.choices]
    rows = []
    for scenario, ticks in one.waves.items():
        theirs = other.waves.get(scenario, {})
        for tick in sorted(ticks.keys() & theirs.keys()):
            mine, others = list(ticks[tick].values()), list(theirs[tick].values())
            scored = _scored(mine) & _scored(others)
            real = {p: v for p, v in one.real.items() if p in scored and p in other.real}
            common = Answer(choice=most_common(real.values(), choices))
            rows.append(
                BesideFit(
                    scenario=scenario,
                    tick=tick,
                    personas=len(real),
                    world_ids=tuple(ticks[tick]),
                    other_world_ids=tuple(theirs[tick]),
                    own=fit(mine, real, choices),
                    other=fit(others, real, choices),
                    always=fit([dict.fromkeys(real, common)], real, choices),
                )
            )
    return tuple(rows)


def _choices(one: Side) -> tuple[str, ...]:
    return tuple(choice.id for choice in one.question.choices) if one.question else ()


def _scored(worlds: Sequence[_Wave]) -> set[str]:
    return {
        persona for answers in worlds for persona, answer in answers.items() if answer.is_scored
    }
