"""Whether a study can tell its scenarios apart: the first thing that a reader has to know.

Each scenario is compared with the first of its variant, seed by seed, at the last wave of each
question; the first scenario of another variant, which shares no draws, with the first scenario of
the study. With many comparisons some interval misses 0 by chance alone, so a difference counts only
if it is also there after Holm's correction for their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from perdure.analysis.difference import Difference
from perdure.analysis.figures import MEAN
from perdure.analysis.questions import QuestionShares, TickShares
from perdure.analysis.spread import CONFIDENCE, EFFECTIVE_MIN, Spread, error_of
from perdure.analysis.student import t_quantile, t_tail
from perdure.records.record import Record
from perdure.records.scenario import Scenario

_SIGNS = 6  # as many of one sign have a chance below 5 %: 2 / 2^6


class Verdict(StrEnum):
    """What can be said: they differ, perhaps, no difference seen, or it cannot be said.

    `nothing_to_compare` is a study of one scenario.
    """

    APART = "apart"
    PERHAPS = "perhaps"
    NOT_APART = "not_apart"
    CANNOT_SAY = "cannot_say"
    NOTHING_TO_COMPARE = "nothing_to_compare"


class Compared(Record):
    """One difference between two scenarios over seeds, and the chance of one as large by chance.

    `paired` says that it was taken seed by seed. `reach` is half of its 95 % interval: a smaller
    difference would not have been told from none; it is absent where `why` says why there is no
    interval. `p` is two-sided and not corrected: of Student's t, or of the sign, where every one of
    enough seeds has the very same difference. `effective` are the fewest replicates
    that differ.
    """

    question: str
    scenario: str
    reference: str
    tick: int
    choice: str
    paired: bool
    effective: int
    mean: float | None
    reach: float | None = None
    p: float | None = None
    why: str = ""


class Telling(Record):
    """The verdict, the sentence that says so (empty where there is nothing to warn of), and why.

    `differ` counts the comparisons whose interval does not hold 0, `hold` those that are left after
    Holm's correction. `least` is the smallest difference that the study could have seen, as a share
    (0.05 is five percentage points) and `least_mean` as one of means of points or numbers; absent
    where nothing has an interval.
    """

    verdict: Verdict
    sentence: str = ""
    least: float | None = None
    least_mean: float | None = None
    differ: int = 0
    hold: int = 0
    compared: tuple[Compared, ...] = ()


def telling(
    scenarios: Sequence[Scenario],
    differences: Sequence[Difference],
    questions: Sequence[QuestionShares],
) -> Telling:
    """Judge what a study can tell of the differences between its scenarios."""
    if len(scenarios) < 2:  # noqa: PLR2004 - it takes two to differ
        return Telling(verdict=Verdict.NOTHING_TO_COMPARE)
    found = (*_paired(differences, questions), *_apart(scenarios, questions))
    chances = [one.p for one in found if one.p is not None]
    differ = sum(p < 1.0 - CONFIDENCE for p in chances)
    hold = _holm(chances)
    verdict, sentence = _verdict(found, differ, hold)
    return Telling(
        verdict=verdict,
        sentence=sentence,
        least=_least(found, of_means=False),
        least_mean=_least(found, of_means=True),
        differ=differ,
        hold=hold,
        compared=found,
    )


def _verdict(found: Sequence[Compared], differ: int, hold: int) -> tuple[Verdict, str]:
    if hold:
        return Verdict.APART, ""
    judged = [one for one in found if one.p is not None or _none_at_all(one)]
    if not judged or (not differ and len(judged) < len(found)):
        why = _why_none([one for one in found if one not in judged])
        be = "is" if len(judged) == 1 else "are"
        some = (
            f"of {len(found)} differences {len(judged)} {be} not clear of chance; of the others, "
        )
        return Verdict.CANNOT_SAY, (
            "This study cannot say whether its scenarios differ at the last wave: "
            f"{some if judged else ''}{why}."
        )
    seen = _seen(found)
    if differ:
        return Verdict.PERHAPS, (
            f"This study hardly tells its scenarios apart: of {len(judged)} differences between "
            f"them at the last wave {differ} would count alone, and none does among so many; "
            f"{seen}."
        )
    return Verdict.NOT_APART, (
        f"This study cannot tell its scenarios apart: {_none_of(len(judged))} clear of chance; "
        f"{seen}."
    )


def _least(found: Sequence[Compared], *, of_means: bool) -> float | None:
    """Give the smallest difference that could have been seen, of shares or of means."""
    reaches = (one.reach for one in found if one.p is not None and (one.choice == MEAN) is of_means)
    return min((reach for reach in reaches if reach is not None), default=None)


def _seen(found: Sequence[Compared]) -> str:
    share, mean = _least(found, of_means=False), _least(found, of_means=True)
    told = [f"{100 * share:.1f} percentage points"] if share is not None else []
    told += [f"{mean:.3g} in a mean"] if mean is not None else []
    if told:
        return f"the smallest difference that it could have seen alone is {' and '.join(told)}"
    if all(one.mean == 0.0 for one in found):
        return "each is 0, with every seed"
    if max(one.effective for one in found) < _SIGNS:
        sure = f"to be sure of its sign takes {_SIGNS} seeds"
    else:
        sure = "among so many its sign is not sure"
    return f"every seed shows the same difference, and {sure}"


def _none_of(judged: int) -> str:
    at = "between them at the last wave is"
    return (
        f"the one difference {at} not" if judged == 1 else f"none of the {judged} differences {at}"
    )


def _why_none(found: Sequence[Compared]) -> str:
    if not found:
        return "no scored question was answered at a wave of two of them"
    effective = max(one.effective for one in found)
    if effective < EFFECTIVE_MIN:
        return (
            f"that takes {EFFECTIVE_MIN} seeds that differ in what was answered, and of any two "
            f"scenarios it has at most {effective}"
        )
    return "; ".join(dict.fromkeys(one.why for one in found if one.why))


def _none_at_all(one: Compared) -> bool:
    """Say whether the figure was the same under both, with every one of several seeds."""
    return one.p is None and one.mean == 0.0 and one.reach == 0.0


def _paired(
    differences: Sequence[Difference], questions: Sequence[QuestionShares]
) -> Iterator[Compared]:
    mirrored = {one.id: one.mirrored for one in questions}
    last = {(one.question, one.scenario): one for one in differences}
    for one in last.values():
        for choice, measured in _distinct(one.between.spreads, mirrored[one.question]):
            error = error_of(measured)
            base = Compared(
                question=one.question,
                scenario=one.scenario,
                reference=one.reference,
                tick=one.tick,
                choice=choice,
                paired=True,
                effective=measured.effective,
                mean=measured.mean,
                reach=0.0 if measured.sd == 0.0 and not one.between.unlike else None,
                why=measured.no_interval,
            )
            if error is not None:
                yield _with_error(base, error, measured.effective - 1)
            elif base.reach == 0.0 and base.mean and base.effective >= EFFECTIVE_MIN:
                # Without a spread there is no interval: what is left is the test of its sign.
                p = 2.0 * 0.5**base.effective
                yield msgspec.structs.replace(base, reach=None, p=p)
            else:
                yield base


def _apart(
    scenarios: Sequence[Scenario], questions: Sequence[QuestionShares]
) -> Iterator[Compared]:
    """Compare the first scenario of each other variant with the study's first (Welch's test)."""
    first = scenarios[0]
    heads = {one.variant: one.id for one in reversed(scenarios)}
    heads.pop(first.variant)
    others = [one.id for one in scenarios if heads.get(one.variant) == one.id]
    for question in questions:
        last = {row.scenario: row for row in question.ticks if row.wave}
        for name in others:
            if name in last and first.id in last:
                yield from _welch(question, last[name], last[first.id])


def _welch(question: QuestionShares, row: TickShares, other: TickShares) -> Iterator[Compared]:
    for choice, mine in _distinct(row.between.spreads, question.mirrored):
        theirs = other.between.spreads[choice]
        errors = error_of(mine), error_of(theirs)
        known = mine.mean is not None and theirs.mean is not None
        base = Compared(
            question=question.id,
            scenario=row.scenario,
            reference=other.scenario,
            tick=row.tick,
            choice=choice,
            paired=False,
            effective=min(mine.effective, theirs.effective),
            mean=(mine.mean or 0.0) - (theirs.mean or 0.0) if known else None,
            why=mine.no_interval or theirs.no_interval,
        )
        if errors[0] is None or errors[1] is None:
            yield base
            continue
        squares = errors[0] ** 2, errors[1] ** 2
        parts = squares[0] ** 2 / (mine.effective - 1) + squares[1] ** 2 / (theirs.effective - 1)
        # Rounded down, which makes the interval a little wider.
        freedom = max(1, math.floor(math.fsum(squares) ** 2 / parts))
        yield _with_error(base, math.sqrt(math.fsum(squares)), freedom)


def _with_error(one: Compared, error: float, freedom: int) -> Compared:
    return Compared(
        question=one.question,
        scenario=one.scenario,
        reference=one.reference,
        tick=one.tick,
        choice=one.choice,
        paired=one.paired,
        effective=one.effective,
        mean=one.mean,
        reach=t_quantile(CONFIDENCE, freedom) * error,
        p=t_tail((one.mean or 0.0) / error, freedom),
    )


def _distinct(spreads: Mapping[str, Spread], mirrored: str) -> Iterable[tuple[str, Spread]]:
    """Leave out a choice that says the same as another.

    A scale is compared by its mean: each of its points would be one more chance to err.
    """
    if MEAN in spreads:
        return [(MEAN, spreads[MEAN])]
    return [(choice, spread) for choice, spread in spreads.items() if choice != mirrored]


def _holm(chances: Sequence[float]) -> int:
    """Count the differences that hold after Holm's correction for their number."""
    held = 0
    for place, p in enumerate(sorted(chances)):
        if p * (len(chances) - place) >= 1.0 - CONFIDENCE:
            break
        held += 1
    return held
