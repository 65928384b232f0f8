"""Whether predicted shares and probabilities are what really came out: by group, and by bin. Pure.

A model can be right on the whole and wrong about everybody in it: too many of one group, too few of
another. And one that says 80 % ought to be right four times in five.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from perdure.records.record import Record

BINS = 10
_SEVERAL = 2

Named = Mapping[str, Counter[str]]


class GroupShare(Record):
    """The share of a choice in a group, predicted and real, over `personas` that have both.

    A persona's part in the predicted share is the share of its own scored answers that name it.
    """

    group: str
    label: str
    choice: str
    personas: int
    predicted: float
    real: float


class Bin(Record):
    """The predictions with a probability from `low` on, up to `high`.

    `pairs` of a persona and a choice have one: `predicted` is the mean of their probabilities,
    `real` the share of them that came out.
    """

    low: float
    high: float
    pairs: int
    predicted: float
    real: float


class Calibration(Record):
    """Predicted against real, over groups and over bins of predicted probability.

    `group_gap` is the mean absolute gap over the rows of `groups`, each counting its personas;
    `bin_gap` that over bins, each counting its pairs. Both are absent where there is nothing:
    `no_groups` and `no_bins` say why.
    """

    groups: tuple[GroupShare, ...] = ()
    group_gap: float | None = None
    no_groups: str = ""
    bins: tuple[Bin, ...] = ()
    bin_gap: float | None = None
    no_bins: str = ""


def calibration(
    named: Named,
    real: Mapping[str, str],
    choices: Sequence[str],
    groups: Sequence[tuple[str, str, Collection[str]]],
) -> Calibration:
    """Compare what personas named with their real values.

    `named` counts what each compared persona named; `groups` are code, label and members.
    """
    if not named:
        nothing = "no answer has a real value to be compared with"
        return Calibration(no_groups=nothing, no_bins=nothing)
    rows = [
        row
        for code, label, members in groups
        for row in _group(
            code, label, {p: c for p, c in named.items() if p in members}, real, choices
        )
    ]
    several = any(counts.total() >= _SEVERAL for counts in named.values())
    bins = _bins(named, real, choices) if several else ()
    return Calibration(
        groups=tuple(rows),
        group_gap=_gap([(row.personas, row.predicted, row.real) for row in rows]),
        no_groups="" if rows else "the study has no attribute to group by",
        bins=bins,
        bin_gap=_gap([(one.pairs, one.predicted, one.real) for one in bins]),
        no_bins="" if several else "with one seed every probability is 0 or 1",
    )


def _group(
    code: str, label: str, named: Named, real: Mapping[str, str], choices: Sequence[str]
) -> Sequence[GroupShare]:
    if not named:
        return ()
    return [
        GroupShare(
            group=code,
            label=label,
            choice=choice,
            personas=len(named),
            predicted=math.fsum(c[choice] / c.total() for c in named.values()) / len(named),
            real=sum(real[persona] == choice for persona in named) / len(named),
        )
        for choice in choices
    ]


def _bins(named: Named, real: Mapping[str, str], choices: Sequence[str]) -> tuple[Bin, ...]:
    held: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for persona, counts in named.items():
        total = counts.total()
        for choice in choices:
            # In whole numbers, so that no rounding moves a share of 3 in 10 into another bin.
            place = min(BINS - 1, BINS * counts[choice] // total)
            held[place].append((counts[choice] / total, real[persona] == choice))
    return tuple(
        Bin(
            low=place / BINS,
            high=(place + 1) / BINS,
            pairs=len(pairs),
            predicted=math.fsum(chance for chance, _ in pairs) / len(pairs),
            real=sum(came for _, came in pairs) / len(pairs),
        )
        for place, pairs in enumerate(held)
        if pairs
    )


def _gap(rows: Sequence[tuple[int, float, float]]) -> float | None:
    whole = sum(number for number, _, _ in rows)
    if not whole:
        return None
    return math.fsum(number * abs(said - came) for number, said, came in rows) / whole
