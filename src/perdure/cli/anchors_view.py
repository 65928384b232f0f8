"""What a check of anchors found, for people: the graded ladder, the verdict, and its limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from perdure.analysis.document import Block
from perdure.cli.figures import plural, score, spend
from perdure.cli.tables import heading, paragraph, table, verbatim
from perdure.elicitation.anchor_check import SPREAD_LEAST, STABLE_ABOVE
from perdure.records.anchors import AnchorCheck, Anchors
from perdure.runner.anchors import CheckedAnchors

DOES_NOT_SHOW = (
    "It says that the anchors put their author's own graded answers in order under this model. It "
    "does not say that real people who answer so mean the same, or that shares from these scores "
    "are those of a population: for that, compare with answers of people."
)
SETS_ADVISED = 6
_SETS_SHOWN = 8


def anchors_parts(
    anchors: Anchors, checked: CheckedAnchors, currency: str, receipt: Path
) -> Iterator[Block]:
    """Show a check."""
    found = checked.check
    verdict = "passed" if found.passed else "FAILED"
    yield paragraph(
        f"Anchors {found.construct}, version {found.version}: {verdict} under {found.model} "
        f"({found.provider}).",
        style="bold",
    )
    yield heading("The graded ladder: mean point by step")
    yield table(*_by_step(anchors, found))
    yield heading("Its answers")
    yield table(("step", "answer", "score"), _by_answer(anchors, found), left=2)
    yield heading("Figures")
    yield table(("what", "measured", "wanted"), _figures(anchors, found))
    yield from _verdict(anchors, found)
    yield paragraph(f"\nWhat this does not show. {DOES_NOT_SHOW}")
    yield paragraph(
        f"\n{plural(checked.calls, 'call')}, {spend(checked.amount, checked.unknown, currency)}. "
        "The receipt:"
    )
    yield verbatim(str(receipt))


def _by_step(anchors: Anchors, found: AnchorCheck) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Lay out the scores of each step: by each set, or by the extremes of many, and by all."""
    sets = len(anchors.sets)
    few = sets <= _SETS_SHOWN
    names = [f"set {number + 1}" for number in range(sets)] if few else ["lowest", "highest"]
    rows = []
    for number, step in enumerate(found.steps):
        by_set = [_mean([answer.scores[place] for answer in step]) for place in range(sets)]
        shown = by_set if few else _extremes(by_set)
        cells = map(score, (*shown, found.step_scores[number]))
        rows.append((str(number + 1), *cells))
    return ("step", *names, "all sets"), rows


def _by_answer(anchors: Anchors, found: AnchorCheck) -> list[tuple[str, ...]]:
    return [
        (str(number), text, score(answer.score))
        for number, (texts, step) in enumerate(
            zip(anchors.ladder, found.steps, strict=True), start=1
        )
        for text, answer in zip(texts, step, strict=True)
    ]


def _figures(anchors: Anchors, found: AnchorCheck) -> list[tuple[str, ...]]:
    least = SPREAD_LEAST * (len(anchors.points) - 1)
    return [
        ("rank correlation of step and score", score(found.graded), ""),
        ("mean rank correlation of two sets", score(found.stable), f"above {STABLE_ABOVE}"),
        ("from the lowest step to the highest, in points", score(found.spread), f"{least:.1f}"),
    ]


def _verdict(anchors: Anchors, found: AnchorCheck) -> Iterator[Block]:
    if found.passed:
        yield paragraph("\nEvery step scores above the one before, and the sets agree.")
    for reason in found.failed:
        yield paragraph(f"\n{reason}", style="bold")
    if len(anchors.sets) < SETS_ADVISED:
        yield paragraph(
            f"\nThere are {len(anchors.sets)} sets; {SETS_ADVISED} are advised, so that the "
            "wording of any one weighs less."
        )


def _mean(scores: Sequence[float | None]) -> float | None:
    some = [one for one in scores if one is not None]
    return sum(some) / len(some) if some and len(some) == len(scores) else None


def _extremes(scores: Sequence[float | None]) -> list[float | None]:
    some = [one for one in scores if one is not None]
    return [min(some), max(some)] if len(some) == len(scores) else [None, None]
