"""Scores by likeness: the vectors of a tick's answers and of the anchors, and what follows of them.

The calls are nobody's turn: they belong to the scorer, are journaled and paid like any other, and
their vectors are kept, so that a closed run can be rated again without a model. Every text is
embedded once a tick, however many gave that answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from perdure.agent import CallFailedError
from perdure.base.vectors import Vector
from perdure.elicitation.rating import rate, unratable
from perdure.records.anchors import Anchors
from perdure.records.outcome import Outcome, Scored, TurnDone, UnscorableCause
from perdure.records.presentation import TurnJob
from perdure.records.reaction import own_words
from perdure.records.record import Record
from perdure.records.scenario import Question, Scoring
from perdure.runner.calls import JobCalls, TickCalls
from perdure.study.schedule import ANCHORS, SCORES, TEXTS_MAX


class Due(Record):
    """An answer that is to be rated: that of which job, in which words, to which question."""

    job: int
    words: str
    question: Question


def due(jobs: Sequence[TurnJob], outcomes: Sequence[Outcome]) -> tuple[Due, ...]:
    """List the answers of a tick that are rated by likeness, in job order."""
    return tuple(
        Due(job=job.index, words=own_words(outcome.answer, outcome.reaction), question=job.question)
        for job, outcome in zip(jobs, outcomes, strict=True)
        if isinstance(outcome, TurnDone) and job.question.scoring is Scoring.SIMILARITY
    )


def parts(texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Part texts into calls: each text once, in the order in which they first stand."""
    once = iter(dict.fromkeys(texts))
    while part := tuple(islice(once, TEXTS_MAX)):
        yield part


def to_embed(answers: Iterable[Due]) -> Iterator[tuple[str, ...]]:
    """Part the words of answers into calls; those that no vector could rate are left out."""
    return parts(one.words for one in answers if unratable(one.words) is None)


def anchors_to_embed(
    answers: Iterable[Due], anchors: Mapping[str, Anchors]
) -> Iterator[tuple[str, ...]]:
    """Part the statements of all anchors that some answers are compared with into calls."""
    rated = (one.question.similarity for one in answers)
    named = dict.fromkeys(how.anchors for how in rated if how is not None)
    return parts(text for name in named for points in anchors[name].sets for text in points)


async def rate_all(
    answers: Sequence[Due], anchors: Mapping[str, Anchors], calls: TickCalls
) -> dict[int, Scored]:
    """Rate the answers of a tick; the result is by job.

    An answer for which there are no vectors has no score, and says so.

    Raises:
        StorageError: a call could not be journaled.

    """
    if not any(unratable(one.words) is None for one in answers):
        return rate_by(answers, anchors, {})
    models = calls.for_scorer()
    vectors = await _embedded(models, ANCHORS[1], anchors_to_embed(answers, anchors))
    if vectors:
        vectors |= await _embedded(models, SCORES[1], to_embed(answers))
    return rate_by(answers, anchors, vectors)


def rate_by(
    answers: Sequence[Due], anchors: Mapping[str, Anchors], vectors: Mapping[str, Vector]
) -> dict[int, Scored]:
    """Rate answers by vectors that are there, by text. The result is by job."""
    compared: dict[str, list[list[Vector]] | None] = {}
    found = {}
    for one in answers:
        how = one.question.similarity
        assert how is not None, "only what is rated by likeness is due"
        if how.anchors not in compared:
            compared[how.anchors] = _sets(anchors[how.anchors], vectors)
        sets, vector, cause = compared[how.anchors], vectors.get(one.words), unratable(one.words)
        if cause is None and (sets is None or vector is None):
            cause = UnscorableCause.NOT_EMBEDDED
        if cause is not None:
            found[one.job] = Scored(unscorable=cause)
        else:
            assert sets is not None and vector is not None, "or there was a cause"  # noqa: PT018
            found[one.job] = rate(vector, sets, how)
    return found


def _sets(anchors: Anchors, vectors: Mapping[str, Vector]) -> list[list[Vector]] | None:
    if any(text not in vectors for points in anchors.sets for text in points):
        return None
    return [[vectors[text] for text in points] for points in anchors.sets]


async def _embedded(
    models: JobCalls, purpose: str, calls: Iterable[tuple[str, ...]]
) -> dict[str, Vector]:
    """Ask for vectors, call by call; a text whose call has no answer is left out."""
    found: dict[str, Vector] = {}
    for texts in calls:
        try:
            answer = await models.embed(purpose, texts)
        except CallFailedError:
            continue
        found.update(zip(texts, answer.vectors, strict=True))
    return found
