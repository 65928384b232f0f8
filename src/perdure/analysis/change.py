"""The change between the first and the last wave, with its spread over the seeds."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.analysis.figures import Figures
from perdure.analysis.paired import Pair, SeedChange, sample_of, seed_change
from perdure.analysis.replicates import Between, between
from perdure.analysis.spread import SEEDS_MIN
from perdure.records.record import Record


class ChoiceChange(Record):
    """The change of one choice's share over seeds: mean, and standard deviation (n - 1)."""

    choice: str
    seeds: int
    mean: float | None
    sd: float | None


class Change(Record):
    """The change of one scenario's answers to a question between its first and its last wave.

    `between` has the spread of each figure's change over the seeds, and all else that is to know of
    them. `choices` and `identical` repeat of it what a report had before there was a `between`: who
    reads the figures of a report by name finds them where they were. `unmeasured` says why there is
    no change or no spread, and is empty if there are both.
    """

    scenario: str
    question: str
    first: int
    last: int
    seeds: tuple[SeedChange, ...]
    between: Between
    choices: tuple[ChoiceChange, ...]
    identical: tuple[tuple[int, ...], ...]
    unmeasured: str


def change(
    scenario: str,
    first: int,
    last: int,
    pairs: Sequence[Pair],
    *,
    question: str,
    figures: Figures,
) -> Change:
    """Measure one scenario's change. `pairs` has every seed, with its answers at both waves."""
    found = [seed_change(pair, figures) for pair in pairs]
    samples = [sample_of(pair, one) for pair, one in zip(pairs, found, strict=True)]
    over = between(samples, figures.names, tick=last, bounds=figures.change_bounds)
    seeds = tuple(one for one in found if one is not None)
    return Change(
        scenario=scenario,
        question=question,
        first=first,
        last=last,
        seeds=seeds,
        between=over,
        choices=tuple(
            ChoiceChange(choice=choice, seeds=one.seeds, mean=one.mean, sd=one.sd)
            for choice, one in over.spreads.items()
            if choice in figures.choices
        ),
        identical=over.identical,
        unmeasured=_why_not(len(over.seeds), len(seeds), len(pairs)),
    )


def _why_not(measured: int, reached: int, asked: int) -> str:
    if not reached:
        return f"none of {asked} worlds has reached the last wave"
    if not measured:
        return "nobody was scored at both waves"
    if measured < SEEDS_MIN:
        return f"the spread needs at least {SEEDS_MIN} seeds, and {measured} could be measured"
    return ""
