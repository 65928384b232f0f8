"""Anchors: what the points of a scale sound like, and what a check of them found."""

from __future__ import annotations

from perdure.records.record import Record


class Anchors(Record):
    """Reference statements for a construct, in several sets, each with one statement per point.

    `points` are the ids of the scale's points from low to high. `ladder` holds graded answers that
    are no anchors, by step from low to high: the order in which a check has to find them.
    """

    construct: str
    version: str
    points: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    ladder: tuple[tuple[str, ...], ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that is embedded for a check: the sets one by one, then the ladder."""
        return tuple(text for part in (*self.sets, *self.ladder) for text in part)


class LadderAnswer(Record):
    """What became of one answer of a ladder.

    `similarities` are (1 + cosine) / 2 by set and point, to 12 decimals. `scores` are its mean
    points, 1 for the lowest, by set, absent by a set to whose points it is equally near; `score` is
    that of all sets together, absent if one of them is.
    """

    similarities: tuple[tuple[float, ...], ...]
    scores: tuple[float | None, ...]
    score: float | None


class AnchorCheck(Record):
    """What a check of anchors found under one model of vectors: the evidence and the verdict.

    `anchors_hash` is of exactly the anchors that were checked. `provider`, `model` and
    `file_sha256` are the model's pin. `steps` has the answers of each step of the ladder, from low
    to high, and `step_scores` the mean of their scores. `spread` is how far the highest of these is
    above the lowest, `apart` how far the shares of any two answers differ at most (0 to 1: what
    would have to move to make them equal). `graded` is Spearman's rank correlation of step and
    score; `stable` the mean correlation of the scores between every two sets. A figure is absent
    where a score is, and a correlation also where all ranks are equal. `failed` has a sentence for
    everything that speaks against the anchors.
    """

    anchors_hash: str
    construct: str
    version: str
    provider: str
    model: str
    file_sha256: str = ""
    steps: tuple[tuple[LadderAnswer, ...], ...] = ()
    step_scores: tuple[float | None, ...] = ()
    spread: float | None = None
    apart: float | None = None
    graded: float | None = None
    stable: float | None = None
    failed: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the anchors."""
        return not self.failed
