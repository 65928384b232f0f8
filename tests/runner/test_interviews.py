"""Several questions of a wave are put one after another, each with what was answered before it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import msgspec
import pytest
from tests.support.town import Ran, run_in_memory, town

from perdure.records.events import ScoreGiven, Turn
from perdure.records.persona import Choice
from perdure.records.request import ChatRequest, FailureCause
from perdure.records.scenario import Question
from perdure.runner.config import RunConfig
from perdure.testing import ScriptedProvider

ASKED = tuple(
    Question(
        id=name,
        text=f"What of the {name}?",
        choices=(Choice(id="good", label="good"), Choice(id="bad", label="bad")),
    )
    for name in ("train", "bus", "car")
)
NAMES = tuple(question.id for question in ASKED)
BEFORE = "You were asked before, in this interview:"


def interviewed(people: int = 12, *, shuffle: bool = False, **changes: Any) -> RunConfig:
    """Make the run of a town that is asked three questions at each of two waves."""
    scenario = {
        "waves": (0, 1),
        "horizon": 2,
        "exposures": {},
        "wave_question": NAMES[0],
        "more_questions": NAMES[1:],
        "shuffle_questions": shuffle,
    }
    config = town(people, scenarios=(scenario,), seeds=(1,), **changes)
    study = msgspec.structs.replace(config.study, questions=(*config.study.questions, *ASKED))
    return dataclasses.replace(config, study=study)


def about(request: ChatRequest) -> str:
    """Name what a prompt asks about now."""
    last = request.messages[-1].content.rpartition("What of the ")[2]
    return last.partition("?")[0]


def said(request: ChatRequest) -> str:
    """Say something of it."""
    return f"good, for my {about(request)}" if about(request) != "bus" else "bad"


def turns_of(ran: Ran) -> list[Turn]:
    """List the turns of a run, in order."""
    return [one.payload for one in ran.events() if isinstance(one.payload, Turn)]


def test_each_question_is_a_sample_of_its_own() -> None:
    """No two calls of an interview, and none of two people, have one sampling seed."""
    model = ScriptedProvider(said)
    run_in_memory(interviewed(), model)
    seeds = [request.seed for request in model.requests]
    assert len(set(seeds)) == len(seeds) == 12 * 3 * 2


def test_each_question_comes_with_the_answers_before_it() -> None:
    """The first prompt tells of nothing before it, the third of two questions and answers."""
    model = ScriptedProvider(said)
    ran = run_in_memory(interviewed(), model)
    assert len(model.requests) == 12 * 3 * 2 == len(turns_of(ran))
    told: dict[str, set[int]] = {name: set() for name in NAMES}
    for request in model.requests:
        text = request.messages[-1].content
        told[about(request)].add(text.count("You answered: "))
        if about(request) == "car":
            assert f'{BEFORE}\n- "What of the train?" You answered: "good, for my train"' in text
            assert '- "What of the bus?" You answered: "bad"' in text
    assert told == {"train": {0}, "bus": {1}, "car": {2}}
    scores = [one.payload for one in ran.events() if isinstance(one.payload, ScoreGiven)]
    assert Counter((one.question, one.choice) for one in scores if one.question == "bus") == {
        ("bus", "bad"): 24
    }


def test_the_order_is_drawn_for_everybody_at_each_wave_and_is_on_record() -> None:
    """With `shuffle_questions` all orders occur, what is told follows them, and seeds decide."""
    model = ScriptedProvider(said)
    ran = run_in_memory(interviewed(60, shuffle=True), model)
    orders: dict[tuple[int, str], list[str]] = {}
    for event in ran.events():
        if isinstance(event.payload, Turn):
            place = (event.tick, event.persona)
            orders.setdefault(place, []).append(event.payload.presentation.question)
    found = Counter(map(tuple, orders.values()))
    assert len(found) == 6
    assert min(found.values()) >= 120 // 6 // 3
    assert all(sorted(order) == sorted(NAMES) for order in orders.values())
    again = run_in_memory(interviewed(60, shuffle=True), ScriptedProvider(said))
    assert again.digests == ran.digests
    for request in model.requests:
        text = request.messages[-1].content
        assert text.count("You answered: ") == text.count("What of the ") - 1


def test_a_question_without_a_reply_is_passed_over() -> None:
    """Who gets no reply to the second question is asked the third, which tells of the first."""

    def fails(request: ChatRequest) -> Any:
        return FailureCause.SERVER_ERROR if about(request) == "bus" else said(request)

    model = ScriptedProvider(fails)
    ran = run_in_memory(interviewed(quorum=0.5), model)
    assert Counter(one.presentation.question for one in turns_of(ran)) == {"train": 24, "car": 24}
    last = [one for one in model.requests if about(one) == "car"]
    assert {one.messages[-1].content.count("You answered: ") for one in last} == {1}


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_wave_is_the_same_however_many_are_asked_at_once(shuffle: bool) -> None:  # noqa: FBT001
    """The outcomes are in job order, whatever the order in which replies come."""
    calm = run_in_memory(interviewed(shuffle=shuffle), ScriptedProvider(said))
    jobs = [one.job for one in turns_of(calm)]
    assert jobs == [*range(36), *range(36)]
