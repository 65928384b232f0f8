"""The change between the first and the last wave, with its spread over the seeds.

A change is measured on the personas who were scored at both waves, so that it cannot come from who
happened to be scorable. The spread is the standard deviation over seeds (divisor n - 1), absent
with fewer than two.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from perdure.analysis.answers import Answer
from perdure.analysis.shares import ratio, shares
from perdure.records.record import Record

SEEDS_MIN = 2


class SeedChange(Record):
    """The change in one world. `paired` were scored at both waves, `moved` of them differently.

    `unpaired` were asked at either wave but not scored at both. `change` holds, per choice, the
    share at the last wave minus that at the first, and is empty if nobody is paired.
    """

    seed: int
    world_id: str
    paired: int
    unpaired: int
    moved: int
    change: dict[str, float]


class ChoiceChange(Record):
    """The change of one choice's share over seeds: mean, and standard deviation (n - 1)."""

    choice: str
    seeds: int
    mean: float | None
    sd: float | None


class Change(Record):
    """The change of one scenario's answers to a question between its first and its last wave.

    `unmeasured` says why there is no change or no spread, and is empty if there are both.
    `identical` lists groups of seeds whose answers at both waves were the same, persona by persona:
    the spread over such seeds says nothing.
    """

    scenario: str
    question: str
    first: int
    last: int
    seeds: tuple[SeedChange, ...]
    choices: tuple[ChoiceChange, ...]
    identical: tuple[tuple[int, ...], ...]
    unmeasured: str


class TwoWaves(Record):
    """The answers of one world at its first and last wave."""

    seed: int
    world_id: str
    first: dict[str, Answer]
    last: dict[str, Answer]


def change(
    scenario: str,
    first: int,
    last: int,
    worlds: Sequence[TwoWaves],
    *,
    question: str,
    choices: Sequence[str],
    seeds_asked: int,
) -> Change:
    """Measure one scenario's change over the worlds that reached the last wave."""
    seeds = tuple(_seed_change(world, choices) for world in worlds)
    measured = [seed for seed in seeds if seed.paired]
    return Change(
        scenario=scenario,
        question=question,
        first=first,
        last=last,
        seeds=seeds,
        choices=tuple(_choice_change(choice, measured) for choice in choices),
        identical=_identical(worlds),
        unmeasured=_why_not(len(measured), len(worlds), seeds_asked),
    )


def _seed_change(world: TwoWaves, choices: Sequence[str]) -> SeedChange:
    before, after = _scored(world.first), _scored(world.last)
    paired = sorted(before.keys() & after.keys())
    old = shares((before[persona] for persona in paired), choices)
    new = shares((after[persona] for persona in paired), choices)
    return SeedChange(
        seed=world.seed,
        world_id=world.world_id,
        paired=len(paired),
        unpaired=len(world.first.keys() | world.last.keys()) - len(paired),
        moved=sum(before[persona] != after[persona] for persona in paired),
        change={
            choice: (b.count - a.count) / len(paired)
            for choice, a, b in zip(choices, old, new, strict=True)
            if paired
        },
    )


def _choice_change(choice: str, seeds: Sequence[SeedChange]) -> ChoiceChange:
    values = [seed.change[choice] for seed in seeds]
    return ChoiceChange(
        choice=choice,
        seeds=len(values),
        mean=ratio(sum(values), len(values)),
        sd=statistics.stdev(values) if len(values) >= SEEDS_MIN else None,
    )


def _identical(worlds: Sequence[TwoWaves]) -> tuple[tuple[int, ...], ...]:
    groups: list[list[TwoWaves]] = []
    for world in worlds:
        for group in groups:
            if (group[0].first, group[0].last) == (world.first, world.last):
                group.append(world)
                break
        else:
            groups.append([world])
    return tuple(tuple(w.seed for w in group) for group in groups if len(group) > 1)


def _why_not(measured: int, reached: int, asked: int) -> str:
    if not reached:
        return f"none of {asked} worlds has reached the last wave"
    if not measured:
        return "nobody was scored at both waves"
    if measured < SEEDS_MIN:
        return f"the spread needs at least {SEEDS_MIN} seeds, and {measured} could be measured"
    return ""


def _scored(answers: Mapping[str, Answer]) -> dict[str, str]:
    return {persona: answer.choice for persona, answer in answers.items() if answer.choice}
