"""Whether anchors tell graded answers apart under one model of vectors, and why not. Pure.

A check scores the answers of the anchors' own ladder as it would score any other. Everything in its
receipt follows from the similarities that it keeps, so a receipt whose verdict or figures were
edited is known by drawing the conclusions again. What a check shows is that the anchors order these
answers under this model; it does not show that real people mean the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise

import msgspec

from perdure.base.canonical import hash_hex
from perdure.base.vectors import Vector
from perdure.elicitation.similarity import (
    NoShareError,
    masses,
    mean_point,
    similarities,
)
from perdure.records.anchors import AnchorCheck, Anchors, LadderAnswer
from perdure.records.scenario import ModelPin

# The sets have to agree on the order of the answers: the mean correlation of ranks is above this.
STABLE_ABOVE = 0.8
# The ladder has to reach over this share of the scale, from its lowest point to its highest.
SPREAD_LEAST = 0.1
# Some two answers have to differ by this share at least.
APART_LEAST = 0.15
# Scores that are equal to so many decimals are equal.
DECIMALS = 6

Ladder = Sequence[Sequence[Sequence[Sequence[float]]]]


def check(
    anchors: Anchors,
    sets: Sequence[Sequence[Vector]],
    ladder: Sequence[Sequence[Vector]],
    pin: ModelPin,
) -> AnchorCheck:
    """Check anchors by the vectors of their sets and of their ladder, in order, from model `pin`.

    Raises:
        ValueError: vectors differ in length, or one has no direction.

    """
    found = [[similarities(answer, sets) for answer in step] for step in ladder]
    return judged(anchors, found, pin)


def judged(anchors: Anchors, ladder: Ladder, pin: ModelPin) -> AnchorCheck:
    """Draw the conclusions from the similarities of each answer, by step, set and point."""
    steps = tuple(tuple(_scored(answer) for answer in step) for step in ladder)
    step_scores = tuple(_mean([answer.score for answer in step]) for step in steps)
    answers = [(number, answer) for number, step in enumerate(steps) for answer in step]
    scores = [answer.score for _, answer in answers]
    whole = AnchorCheck(
        anchors_hash=hash_hex(anchors),
        construct=anchors.construct,
        version=anchors.version,
        provider=pin.provider,
        model=pin.model,
        file_sha256=pin.file_sha256,
        steps=steps,
        step_scores=step_scores,
        spread=_spread(step_scores),
        apart=_apart([answer for _, answer in answers]),
        graded=rank_correlation([float(number) for number, _ in answers], scores),
        stable=_stable([answer.scores for _, answer in answers], len(anchors.sets)),
    )
    return msgspec.structs.replace(whole, failed=tuple(_failures(anchors, whole)))


def anchor_problems(
    name: str, anchors: Anchors, found: AnchorCheck | None, pin: ModelPin, command: str
) -> list[tuple[str, str]]:
    """List what speaks against scoring by the anchors `name` under model `pin`, and what to do.

    `found` is the receipt beside the anchors' file, `command` what writes one.
    """
    again = f"Run: {command}"
    if found is None:
        wrong = f"The anchors {name!r} are not known to pass a check: no receipt can be read."
        return [(wrong, again)]
    problems = []
    if found.anchors_hash != hash_hex(anchors):
        problems.append((f"The anchors {name!r} were edited since they were checked.", again))
    if (found.provider, found.model, found.file_sha256) != (
        pin.provider,
        pin.model,
        pin.file_sha256,
    ):
        wrong = (
            f"The anchors {name!r} were checked under another model, {found.model} "
            f"({found.provider}); what they are worth under {pin.model} ({pin.provider}) is not "
            "known."
        )
        problems.append((wrong, again))
    if problems:
        return problems
    if not _is_whole(anchors, found) or _judged_again(anchors, found, pin) != found:
        wrong = f"The receipt of the anchors {name!r} does not say what its own figures say."
        return [(wrong, again)]
    return [
        (
            f"The anchors {name!r} failed their check: {reason}",
            "Rewrite the anchors or the ladder, then check them again.",
        )
        for reason in found.failed
    ]


def rank_correlation(left: Sequence[float | None], right: Sequence[float | None]) -> float | None:
    """Give Spearman's rank correlation; equal values share their mean rank.

    None where a value is absent, or where all values of one side are equal.
    """
    some_left = [one for one in left if one is not None]
    some_right = [one for one in right if one is not None]
    if len(some_left) != len(left) or len(some_right) != len(right):
        return None
    return _correlation(_ranks(some_left), _ranks(some_right))


def _judged_again(anchors: Anchors, found: AnchorCheck, pin: ModelPin) -> AnchorCheck:
    ladder = [[answer.similarities for answer in step] for step in found.steps]
    return judged(anchors, ladder, pin)


def _is_whole(anchors: Anchors, found: AnchorCheck) -> bool:
    """Say whether a receipt has every answer of the ladder, by every set and point."""
    if [len(step) for step in found.steps] != [len(step) for step in anchors.ladder]:
        return False
    shape = [len(anchors.points)] * len(anchors.sets)
    answers = [answer for step in found.steps for answer in step]
    return all([len(points) for points in answer.similarities] == shape for answer in answers)


def _scored(found: Sequence[Sequence[float]]) -> LadderAnswer:
    scores = tuple(_score([points]) for points in found)
    return LadderAnswer(
        similarities=tuple(map(tuple, found)),
        scores=scores,
        score=None if None in scores else _score(found),
    )


def _score(found: Sequence[Sequence[float]]) -> float | None:
    try:
        return round(mean_point(masses(found)), DECIMALS)
    except NoShareError:
        return None


def _mean(scores: Sequence[float | None]) -> float | None:
    some = [score for score in scores if score is not None]
    if not some or len(some) != len(scores):
        return None
    return round(math.fsum(some) / len(some), DECIMALS)


def _spread(step_scores: Sequence[float | None]) -> float | None:
    some = [score for score in step_scores if score is not None]
    if not some or len(some) != len(step_scores):
        return None
    return round(max(some) - min(some), DECIMALS)


def _apart(answers: Sequence[LadderAnswer]) -> float | None:
    """Give the largest total variation distance between the shares of two answers."""
    if not answers or any(answer.score is None for answer in answers):
        return None
    shares = [masses(answer.similarities) for answer in answers]
    distances = [
        math.fsum(abs(one - other) for one, other in zip(left, right, strict=True)) / 2
        for left, right in combinations(shares, 2)
    ]
    return round(max(distances, default=0.0), DECIMALS)


def _stable(scores: Sequence[Sequence[float | None]], sets: int) -> float | None:
    """Give the mean rank correlation between every two sets."""
    columns = [[answer[number] for answer in scores] for number in range(sets)]
    found = [rank_correlation(left, right) for left, right in combinations(columns, 2)]
    return _mean(found)


def _failures(anchors: Anchors, found: AnchorCheck) -> list[str]:
    return [
        *_unscored(found),
        *_not_above(found),
        *_unstable(found),
        *_collapsed(anchors, found),
    ]


def _unscored(found: AnchorCheck) -> list[str]:
    return [
        f"By set {number} answer {place} of step {step} is equally near to every point, so it has "
        "no score."
        for step, answers in enumerate(found.steps, start=1)
        for place, answer in enumerate(answers, start=1)
        for number, score in enumerate(answer.scores, start=1)
        if score is None
    ]


def _not_above(found: AnchorCheck) -> list[str]:
    return [
        f"Step {number} of the ladder scores {higher:.3f}, which is not above step {number - 1} "
        f"with {lower:.3f}."
        for number, (lower, higher) in enumerate(pairwise(found.step_scores), start=2)
        if lower is not None and higher is not None and not higher > lower
    ]


def _unstable(found: AnchorCheck) -> list[str]:
    if found.stable is not None and found.stable > STABLE_ABOVE:
        return []
    measured = "cannot be taken" if found.stable is None else f"is {found.stable:.3f}"
    wrong = (
        "The sets do not order the answers alike: the mean rank correlation between two sets "
        f"{measured}, and has to be above {STABLE_ABOVE}."
    )
    return [wrong]


def _collapsed(anchors: Anchors, found: AnchorCheck) -> list[str]:
    reasons = []
    least = SPREAD_LEAST * (len(anchors.points) - 1)
    if found.spread is not None and found.spread < least:
        reasons.append(
            f"All steps of the ladder score nearly the same: they lie within {found.spread:.3f} "
            f"points, and have to reach over {least:.3f} at least."
        )
    if found.apart is not None and found.apart < APART_LEAST:
        reasons.append(
            f"All answers have nearly the same shares: the two that differ most differ by "
            f"{found.apart:.3f}, and have to by {APART_LEAST} at least."
        )
    return reasons


def _ranks(values: Sequence[float]) -> list[float]:
    """Rank from 1 up; equal values share the mean of their ranks."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered, start=1)))}
    last = {value: place for place, value in enumerate(ordered, start=1)}
    return [(first[value] + last[value]) / 2 for value in values]


def _correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    middle = (len(left) + 1) / 2
    off_left = [rank - middle for rank in left]
    off_right = [rank - middle for rank in right]
    both = math.fsum(one * one for one in off_left) * math.fsum(one * one for one in off_right)
    if both <= 0:
        return None
    product = math.fsum(one * other for one, other in zip(off_left, off_right, strict=True))
    return round(product / math.sqrt(both), DECIMALS)
