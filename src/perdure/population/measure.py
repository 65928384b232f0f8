"""Measures how well rows that are put into groups tell the held-out outcome. Pure.

The guess for a row is the commonest outcome among the *other* rows of its group, so that a group of
one proves nothing and a column of ids is not mistaken for an answer. A measure counts only if it is
beyond chance: the surprise is in bits, less what the choice among possible groupings was worth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

Table = Sequence[Mapping[str, int]]

# The whole outcome is told: this share of right guesses, and this share of the errors that the best
# single guess makes are gone.
RIGHT_MIN = 0.95
SAVED_MIN = 0.75
# Which part of the choices has the outcome is told, all but exactly. A good predictor of the whole
# outcome comes near this by itself: so the wrong guesses at the whole must also avoid the border of
# the part, as they would by chance once in so many times.
PART_RIGHT_MIN = 0.99
PART_SAVED_MIN = 0.9
AVOIDED_BY_CHANCE = 1e-2
# A chance of one in 2**14 for each thing that is looked at.
BITS_MIN = 14.0
# With this many choices at most, every way to part them in two is looked at; with more, each choice
# against the rest.
ALL_PARTS_MAX = 6
# Fewer right guesses than errors of this share would be needed to pay for one more range.
_SWITCH = 3.0


@dataclass(frozen=True)
class Told:
    """What was measured: how many rows, right guesses, and right guesses without the attribute.

    `part` holds the choices that are told apart from the rest; empty if all are told apart.
    """

    rows: int
    right: int
    plain: int
    part: tuple[str, ...] = ()

    @property
    def saved(self) -> float:
        """The share of the best single guess's errors that are gone."""
        wrong = self.rows - self.plain
        return (self.right - self.plain) / wrong if wrong else 0.0


def parts_of(choices: Sequence[str]) -> list[tuple[str, ...]]:
    """List the parts of the choices to be told from the rest, the empty one (the whole) first."""
    parts: list[tuple[str, ...]] = [()]
    if len(choices) > 2:  # noqa: PLR2004 - of two choices, one against the rest is the whole
        parts += [(choice,) for choice in choices]
        if len(choices) <= ALL_PARTS_MAX:
            for size in range(2, len(choices) // 2 + 1):
                parts += [
                    part
                    for part in combinations(choices, size)
                    if 2 * size < len(choices) or part[0] == choices[0]
                ]
    return parts


def folded(table: Table, part: tuple[str, ...]) -> list[Counter[str]]:
    """Count a part of the choices and the rest as two outcomes; the whole stays as it is."""
    if not part:
        return [Counter(dict(group)) for group in table]
    inside = frozenset(part)
    return [
        Counter(
            {
                "+": sum(count for choice, count in group.items() if choice in inside),
                "-": sum(count for choice, count in group.items() if choice not in inside),
            }
        )
        for group in table
    ]


def told(
    grouped: Callable[[tuple[str, ...]], Iterable[Counter[str]]],
    choices: Sequence[str],
    price: float,
) -> Told | None:
    """Say what is told of the outcome by a way to group rows; None if too little, or by chance.

    `grouped` makes the groups that suit a part best, with their outcomes folded by it; each costs
    `price` bits to choose.
    """
    parts = parts_of(choices)
    due = BITS_MIN + math.log2(len(parts))
    whole_wrong = 0
    total: Counter[str] = Counter()
    for part in parts:
        table = list(grouped(part))
        measured, bits = _measure(table, part, price)
        if not measured.rows:
            continue
        wrong = measured.rows - measured.right
        if not part:
            whole_wrong = wrong
            for group in table:
                total.update(group)
            enough = measured.right >= RIGHT_MIN * measured.rows and measured.saved >= SAVED_MIN
        else:
            enough = (
                wrong <= max(1, (1 - PART_RIGHT_MIN) * measured.rows)
                and measured.saved >= PART_SAVED_MIN
                and avoided(whole_wrong, wrong, total, part) <= AVOIDED_BY_CHANCE / len(parts)
            )
        if enough and bits >= due:
            return measured
    return None


def avoided(wrong: int, across: int, total: Mapping[str, int], part: tuple[str, ...]) -> float:
    """How likely so few of the wrong guesses go across the border of a part by chance."""
    rows = sum(total.values())
    shares = [count / rows for count in total.values()]
    inside = sum(total[choice] for choice in part) / rows
    border = 2 * inside * (1 - inside) / (1 - sum(share * share for share in shares))
    if not 0 < border < 1:
        return 1.0
    across = min(across, wrong)
    return sum(
        2 ** (_log2_choose(wrong, n) + n * math.log2(border) + (wrong - n) * math.log2(1 - border))
        for n in range(across + 1)
    )


def gain(group: Mapping[str, int], weights: Mapping[str, float]) -> float:
    """How many bits a group saves in telling its outcomes; the first row of a group is free."""
    top = max(group, key=lambda choice: group[choice])
    size = sum(group.values())
    return (group[top] - 1) * weights[top] - _log2_choose(size, size - group[top])


def weights_of(total: Mapping[str, int]) -> dict[str, float]:
    """How many bits it takes to tell each outcome if nothing is known of a row."""
    rows = sum(total.values())
    return {choice: -math.log2(count / rows) for choice, count in total.items() if count}


def ranges(ordered: Table) -> list[Counter[str]]:
    """Put counts in an order into the few ranges that tell most: dynamic programming."""
    choices = sorted({choice for group in ordered for choice in group})
    cost = dict.fromkeys(choices, 0.0)
    came: list[dict[str, str]] = []
    for group in ordered:
        size = sum(group.values())
        best = min(choices, key=cost.__getitem__)
        step: dict[str, str] = {}
        new: dict[str, float] = {}
        for choice in choices:
            stay = cost[choice] <= cost[best] + _SWITCH
            step[choice] = choice if stay else best
            wrong = size - group.get(choice, 0)
            new[choice] = (cost[choice] if stay else cost[best] + _SWITCH) + wrong
        came.append(step)
        cost = new
    return _walked_back(ordered, came, min(choices, key=cost.__getitem__))


def _walked_back(
    ordered: Table, came: Sequence[Mapping[str, str]], last: str
) -> list[Counter[str]]:
    found: list[Counter[str]] = [Counter()]
    choice = last
    for group, step in zip(reversed(ordered), reversed(came), strict=True):
        found[-1].update(group)
        if step[choice] != choice:
            found.append(Counter())
            choice = step[choice]
    return [group for group in found if group]


def _measure(
    table: Iterable[Counter[str]], part: tuple[str, ...], price: float
) -> tuple[Told, float]:
    groups = [group for group in table if group.total() > 1]
    total: Counter[str] = Counter()
    for group in groups:
        total.update(group)
    rows = total.total()
    weights = weights_of(total)
    right = sum(_right(group) for group in groups)
    wrong = sum(group.total() - max(group.values()) for group in groups)
    bits = sum((max(group.values()) - 1) * weights[_top(group)] - price for group in groups)
    plain = max(total.values(), default=0)
    return Told(rows, right, plain, part), bits - _log2_choose(rows, wrong)


def _right(group: Counter[str]) -> int:
    """Count the rows whose outcome is the commonest one among the other rows of their group."""
    (top, most), *others = group.most_common(2)
    rest = others[0][1] if others else 0
    return most if group[top] - 1 >= rest else 0


def _top(group: Counter[str]) -> str:
    return group.most_common(1)[0][0]


def _log2_choose(size: int, taken: int) -> float:
    nats = math.lgamma(size + 1) - math.lgamma(taken + 1) - math.lgamma(size - taken + 1)
    return nats / math.log(2)
