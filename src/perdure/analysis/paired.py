"""The same personas' answers at two places: how far each choice's share moved between them.

The shares are those of the personas who were scored at both, so that what moved cannot come from
who happened to be scorable.
"""

from __future__ import annotations

from collections.abc import Mapping

from perdure.analysis.answers import Answer, count
from perdure.analysis.figures import Figures
from perdure.analysis.replicates import Sample, SeedWorld
from perdure.records.record import Record


class Pair(Record):
    """The answers of one seed at both places, and the worlds they come from.

    Answers are None where the place was not reached, or nobody was asked. `marks` marks both.
    """

    seed: int
    worlds: tuple[SeedWorld, ...]
    first: dict[str, Answer] | None
    last: dict[str, Answer] | None
    marks: tuple[int, ...]


class SeedChange(Record):
    """The change with one seed. `paired` were scored at both places, `moved` of them differently.

    `world_id` is the world of the last place. `unpaired` were asked at either place but not scored
    at both. `change` holds, per figure, its mean at the last place minus that at the first, and is
    empty if nobody is paired: the shares of choices, and the mean where there is one.
    """

    seed: int
    world_id: str
    paired: int
    unpaired: int
    moved: int
    change: dict[str, float]


def seed_change(pair: Pair, figures: Figures) -> SeedChange | None:
    """Measure the change with one seed; None if it has not both places."""
    if pair.first is None or pair.last is None:
        return None
    before, after = _scored(pair.first), _scored(pair.last)
    paired = sorted(before.keys() & after.keys())
    old = count((before[persona] for persona in paired), figures.values).sums
    new = count((after[persona] for persona in paired), figures.values).sums
    return SeedChange(
        seed=pair.seed,
        world_id=pair.worlds[-1].world_id,
        paired=len(paired),
        unpaired=len(pair.first.keys() | pair.last.keys()) - len(paired),
        moved=sum(before[persona] != after[persona] for persona in paired),
        change={
            name: (new.get(name, 0) - old.get(name, 0)) / len(paired)
            for name in figures.names
            if paired
        },
    )


def sample_of(pair: Pair, measured: SeedChange | None) -> Sample:
    """Give a pair's part in the spread over seeds."""
    return Sample(
        seed=pair.seed,
        worlds=pair.worlds,
        of=measured.paired if measured else None,
        values=measured.change if measured else {},
        answers=pair.marks,
    )


def _scored(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    return {persona: answer for persona, answer in answers.items() if answer.is_scored}
