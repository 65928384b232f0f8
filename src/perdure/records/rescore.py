"""Answers of a closed run that were scored again: by which anchors, with what result and cost."""

from __future__ import annotations

from perdure.records.anchors import Anchors
from perdure.records.outcome import UnscorableCause
from perdure.records.record import Record
from perdure.records.scenario import ModelPin, Similarity


class Rescoring(Record):
    """What is scored again: a question of a run, by these anchors under this model of vectors.

    `id` follows from all the rest. `ends` has the last event of each world whose answers are
    scored, by world. `points` names the points of the scale, from low to high. `again` is the id
    of scores in which vectors were missing, where these are the same with what was missing.
    """

    id: str
    format: int
    run_id: str
    question: str
    anchors: Anchors
    anchors_hash: str
    how: Similarity
    pin: ModelPin
    points: dict[str, str]
    ends: dict[str, int]
    again: str = ""


class RescoredAnswer(Record):
    """The score of one answer: its turn's event, and masses as in `Scored`, or why it has none."""

    world: str
    seq: int
    tick: int
    persona: str
    masses: tuple[float, ...] = ()
    unscorable: UnscorableCause | None = None
    similarities: tuple[tuple[float, ...], ...] = ()


class RescoringEnd(Record):
    """How many answers were scored, and what the calls for vectors cost that it took.

    `kept` answers had their vectors on record. `calls` counts attempts, `lost` those of them that
    were sent and never answered, charged at the worst case; `cost` is the sum of known amounts in
    nano-units, `unknown_costs` counts the others. `tokens` are those charged.
    """

    answers: int
    scored: int
    unscorable: dict[str, int]
    kept: int
    calls: int = 0
    lost: int = 0
    cost: int = 0
    unknown_costs: int = 0
    tokens: int = 0
