"""By which anchors the answers to a question were scored, if they were by their likeness. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from perdure.base.canonical import hash_hex
from perdure.records.record import Record
from perdure.records.rescore import Rescoring
from perdure.records.study import Study
from perdure.study.read_models import EMBED


class ScoredBy(Record):
    """The anchors of a question's scores, their hash, the model of vectors, and the formula's two.

    `scores` is the id of scores that were given after the run; empty for those of its record.
    """

    question: str
    construct: str
    version: str
    anchors_hash: str
    model: str
    epsilon: float
    temperature: float
    scores: str = ""


def scored_by(study: Study, rescoring: Rescoring | None) -> tuple[ScoredBy, ...]:
    """Say it of every question of a study that is scored so, in its order."""
    return tuple(_all(study, rescoring))


def _all(study: Study, rescoring: Rescoring | None) -> Iterable[ScoredBy]:
    for question in study.questions:
        again = rescoring if rescoring and rescoring.question == question.id else None
        how = again.how if again else question.similarity
        if how is None:
            continue
        anchors = again.anchors if again else study.anchors[how.anchors]
        pin = again.pin if again else study.models[EMBED].pin
        epsilon, temperature = how.numbers
        yield ScoredBy(
            question=question.id,
            construct=anchors.construct,
            version=anchors.version,
            anchors_hash=hash_hex(anchors),
            model=pin.model,
            epsilon=epsilon,
            temperature=temperature,
            scores=again.id if again else "",
        )
