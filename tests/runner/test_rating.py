"""Answers are rated in a run by vectors that are asked for once, journaled, paid and recorded."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from tests.support.rated import ANCHORS, SAID, provider, rated_town, said_by, vector_of, vectors
from tests.support.town import run_in_memory

from perdure.base.vectors import rounded
from perdure.elicitation.similarity import masses, similarities
from perdure.records.events import AnswerGiven, Cost, Event, ScoreGiven, TickClosed, Turn
from perdure.records.outcome import UnscorableCause
from perdure.records.registry import WorldState
from perdure.records.request import SCORER_JOB, EmbedRequest, Failure, FailureCause, Vectors
from perdure.runner.rating import parts

RATED = SAID[:3]
CAUSES = {
    "4": UnscorableCause.ONLY_A_NUMBER,
    SAID[4]: UnscorableCause.REFUSED,
    " ": UnscorableCause.EMPTY,
}


def of(events: list[Event], kind: type) -> list[Any]:
    """List the payloads of a kind."""
    return [event.payload for event in events if isinstance(event.payload, kind)]


def test_every_answer_is_rated_by_the_formula_or_has_its_cause() -> None:
    """The recorded masses are those of the formula for the vectors; what is no answer has none."""
    events = run_in_memory(rated_town(40), provider()).events()
    said = {one.content: one.payload.answer for one in events if isinstance(one.payload, Turn)}
    scores = of(events, ScoreGiven)
    assert len(scores) == 80
    sets = [rounded([vector_of(text) for text in points]) for points in ANCHORS.sets]
    seen = set()
    for score in scores:
        answer = said[score.turn]
        seen.add(answer)
        if answer in CAUSES:
            assert (score.unscorable, score.masses) == (CAUSES[answer], ())
            continue
        near = similarities(rounded([vector_of(answer)])[0], sets)
        assert score.similarities == near
        assert score.masses == masses(near)
        assert math.isclose(sum(score.masses), 1.0, abs_tol=1e-9)
        assert score.choice == ""
    assert seen == set(SAID)


def test_a_text_is_embedded_once_a_tick_however_many_said_it() -> None:
    """Anchors and answers are one call each, with every text once; the record has their vectors."""
    model = provider()
    ran = run_in_memory(rated_town(personas=12, seeds=(1,)), model)
    texts = [request.texts for request in model.embeddings]
    anchors = tuple(text for points in ANCHORS.sets for text in points)
    assert Counter(texts)[anchors] == 2
    for asked in texts:
        assert len(set(asked)) == len(asked)
        assert not set(asked) & set(CAUSES)
    given = [one for one in of(ran.events(), AnswerGiven) if one.job == SCORER_JOB]
    assert [(one.purpose, one.ordinal) for one in given] == [("anchors", 0), ("score", 0)] * 2
    costs = [one for one in of(ran.events(), Cost) if one.job == SCORER_JOB]
    assert [(one.role, one.purpose) for one in costs] == [
        ("embed", "anchors"),
        ("embed", "score"),
    ] * 2


def test_texts_are_parted_into_calls_that_endpoints_take() -> None:
    """No call has more than 64 texts, each text is in one, and their order is kept."""
    texts = [str(number % 150) for number in range(400)]
    found = list(parts(texts))
    assert [len(part) for part in found] == [64, 64, 22]
    assert [text for part in found for text in part] == [str(number) for number in range(150)]


def failing(purposes: set[str], times: int) -> Any:
    """Fail the first calls for anchors, or for answers."""
    left = [times]

    def answer(request: EmbedRequest) -> Vectors | Failure:
        purpose = "anchors" if request.texts[0] == ANCHORS.sets[0][0] else "score"
        if purpose in purposes and left[0]:
            left[0] -= 1
            return Failure(cause=FailureCause.SERVER_ERROR, status=500)
        return vectors(request)

    return answer


@pytest.mark.parametrize("purpose", ["anchors", "score"])
def test_a_tick_without_vectors_does_not_close(purpose: str) -> None:
    """Where nothing could be rated the world stops, resumable, and nothing of the tick is kept."""
    ran = run_in_memory(rated_town(seeds=(1,)), provider(failing({purpose}, 99)))
    (world,) = ran.result.worlds
    assert world.state is not WorldState.COMPLETED
    assert "server_error" in world.cause
    assert ran.events() == []
    # What was answered is kept: the tick that is run again asks for vectors alone.
    model = provider()
    again = run_in_memory(rated_town(seeds=(1,)), model, after=ran)
    assert again.digests == run_in_memory(rated_town(seeds=(1,)), provider()).digests
    assert again.result.worlds[0].state is WorldState.COMPLETED
    assert len(model.requests) == 12, "the second wave alone"


def test_vectors_of_zeros_are_no_vectors() -> None:
    """Whoever gives them: the call fails, is charged what it used, and the tick does not close."""

    def zeros(request: EmbedRequest) -> Vectors:
        return Vectors(vectors=((0.0, 0.0),) * len(request.texts), served="scripted")

    ran = run_in_memory(rated_town(seeds=(1,)), provider(zeros))
    (world,) = ran.result.worlds
    assert world.state is not WorldState.COMPLETED
    assert "bad_reply" in world.cause
    assert ran.events() == []


def test_a_few_answers_without_vectors_are_counted() -> None:
    """Within the quorum an answer that got no vector has no score, and says so."""
    config = rated_town(seeds=(1,), quorum=0.0)
    events = run_in_memory(config, provider(failing({"score"}, 2))).events()
    scores = of(events, ScoreGiven)
    lost = [one for one in scores if one.unscorable is UnscorableCause.NOT_EMBEDDED]
    assert 0 < len(lost) < len(scores)
    failed = [one for one in of(events, AnswerGiven) if one.failed is not None]
    assert [(one.job, one.purpose) for one in failed] == [(SCORER_JOB, "score")]
    assert len(of(events, TickClosed)) == 3


def test_what_personas_say_does_not_depend_on_who_else_was_asked() -> None:
    """The same words get the same masses in any world and any company."""
    found: dict[str, set[tuple[float, ...]]] = {}
    for people in (6, 12, 40):
        events = run_in_memory(rated_town(people), provider()).events()
        turns = {one.content: one for one in events if isinstance(one.payload, Turn)}
        for score in of(events, ScoreGiven):
            found.setdefault(said_by(turns[score.turn].persona), set()).add(score.masses)
    assert all(len(each) == 1 for each in found.values())
    assert set(RATED) <= set(found)
