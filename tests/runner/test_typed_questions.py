"""Questions of every type are asked, scored and recorded, in an order drawn and on record."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import msgspec
import pytest
from tests.support.town import Ran, run_in_memory, town

from perdure.records.events import ScoreGiven, Turn
from perdure.records.persona import Choice
from perdure.records.request import ChatRequest
from perdure.records.scenario import Question, QuestionType
from perdure.testing import ScriptedProvider

WAYS = tuple(Choice(id=name, label=f"the {name}") for name in ("train", "bus", "car", "ferry"))
POINTS = tuple(
    Choice(id=str(number), label=label)
    for number, label in enumerate(("very unlikely", "unlikely", "likely", "very likely"), 1)
)
PEOPLE = 40


def asked(question: Question, said: Any, *, seeds: tuple[int, ...] = (1,)) -> Ran:
    """Run one wave of a question, answered by what `said` makes of a prompt."""
    config = town(
        PEOPLE,
        scenarios=({"waves": (0,), "wave_question": question.id, "exposures": {}, "horizon": 1},),
        seeds=seeds,
    )
    study = msgspec.structs.replace(config.study, questions=(*config.study.questions, question))
    config = dataclasses.replace(config, study=study)
    return run_in_memory(config, ScriptedProvider(said))


def listed(request: ChatRequest) -> list[str]:
    """Give the possible answers as a prompt lists them."""
    line = next(
        line
        for line in request.messages[-1].content.splitlines()
        if line.startswith("Possible answers: ")
    )
    return line.removeprefix("Possible answers: ").split(" / ")


def of(ran: Ran, kind: type) -> list[Any]:
    """List the payloads of a kind, in order."""
    return [event.payload for event in ran.events() if isinstance(event.payload, kind)]


@pytest.mark.parametrize(
    ("question", "said", "expected"),
    [
        (
            Question(id="used", text="Which?", choices=WAYS, type=QuestionType.SEVERAL),
            "I use the car and the train.",
            {"choices": ("train", "car")},
        ),
        (
            Question(id="used", text="Which?", choices=WAYS, type=QuestionType.SEVERAL),
            "None of them.",
            {"choices": ()},
        ),
        (
            Question(id="best", text="Rank.", choices=WAYS, type=QuestionType.RANKED),
            "1. the car 2. the bus 3. the ferry 4. the train",
            {"choices": ("car", "bus", "ferry", "train")},
        ),
        (
            Question(id="how", text="How likely?", choices=POINTS, type=QuestionType.LIKERT),
            "Very likely.",
            {"choice": "4"},
        ),
        (
            Question(id="pay", text="How much?", type=QuestionType.NUMBER, unit="dollars"),
            "About twenty dollars.",
            {"number": 20.0},
        ),
    ],
)
def test_every_type_is_scored_into_the_record(
    question: Question, said: str, expected: dict[str, Any]
) -> None:
    """What an answer gives is in the score event of its turn, for every type of question."""
    scores = of(asked(question, lambda _request: said), ScoreGiven)
    assert len(scores) == PEOPLE
    for score in scores:
        given = ScoreGiven(turn=score.turn, question=question.id, **expected)
        assert score == given


def test_the_order_of_choices_is_drawn_for_everybody_and_recorded_as_it_was_listed() -> None:
    """With `shuffle` each order is about as frequent, and the record has the one that was sent."""
    question = Question(id="best", text="Which one?", choices=WAYS, shuffle=True)
    seen: list[list[str]] = []

    def said(request: ChatRequest) -> str:
        seen.append(listed(request))
        return f"{seen[-1][0].capitalize()}."

    ran = asked(question, said, seeds=(1, 2, 3))
    turns = of(ran, Turn)
    told = {tuple(f"the {name}" for name in turn.order) for turn in turns}
    assert told <= {tuple(order) for order in seen}
    assert len(told) > 10
    first = Counter(turn.order[0] for turn in turns)
    assert set(first) == {choice.id for choice in WAYS}
    # Whoever takes what is listed first is scored as what the record says stood first.
    scores = {score.turn: score.choice for score in of(ran, ScoreGiven)}
    events = [event for event in ran.events() if isinstance(event.payload, Turn)]
    assert [scores[event.content or 0] for event in events] == [turn.order[0] for turn in turns]
    assert len(set(ran.digests)) == 3


@pytest.mark.parametrize("kind", [QuestionType.SEVERAL, QuestionType.RANKED])
def test_the_order_in_which_choices_are_listed_is_not_in_the_score(kind: QuestionType) -> None:
    """Who says the same gets the same score: several choices stand as the study lists them."""
    question = Question(id="used", text="Which?", choices=WAYS, type=kind, shuffle=True)
    ran = asked(question, lambda _r: "The ferry, the car, the train and the bus.")
    assert len({turn.order for turn in of(ran, Turn)}) > 5
    (choices,) = {score.choices for score in of(ran, ScoreGiven)}
    listed_by_study = ("train", "bus", "car", "ferry")
    said = ("ferry", "car", "train", "bus")
    assert choices == (listed_by_study if kind is QuestionType.SEVERAL else said)


def test_a_scale_is_listed_from_either_end() -> None:
    """A shuffled scale keeps its own order, turned round for about half of the people."""
    question = Question(
        id="how", text="How likely?", choices=POINTS, type=QuestionType.LIKERT, shuffle=True
    )
    orders = Counter(turn.order for turn in of(asked(question, lambda _r: "likely"), Turn))
    assert set(orders) == {("1", "2", "3", "4"), ("4", "3", "2", "1")}
    assert min(orders.values()) > PEOPLE // 5


def test_without_shuffle_nothing_of_an_order_is_recorded() -> None:
    """A question that does not ask for it is listed as it is written, and its record is as ever."""
    question = Question(id="best", text="Which one?", choices=WAYS)
    seen: list[list[str]] = []

    def said(request: ChatRequest) -> str:
        seen.append(listed(request))
        return "the bus"

    ran = asked(question, said)
    assert {tuple(order) for order in seen} == {tuple(choice.label for choice in WAYS)}
    assert {turn.order for turn in of(ran, Turn)} == {()}
