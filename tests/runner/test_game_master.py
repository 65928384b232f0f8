"""A world that lets a model decide what happens is run, recorded and resumed like any other.

The game master is told what people answered at the tick before, and what it says happens is shown
to everybody at this one. It keeps no state that is not in what it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.support.town import OwnParts, Ran, run_in_memory, town

from perdure.records.events import AnswerGiven, Cost, StimulusPublished, Turn
from perdure.records.presentation import (
    CompletedTurn,
    Exposure,
    Impression,
    Need,
    NeedAnswer,
    Plan,
    Presentation,
    Stimulus,
    WorldDelta,
)
from perdure.records.request import ChatRequest, FailureCause, Message
from perdure.records.scenario import Header
from perdure.runner.config import RunConfig
from perdure.testing import ScriptedProvider
from perdure.testing.contracts import WorldContract
from perdure.world import BaseWorld, World


class GameMaster(BaseWorld):
    """Asks a model what happens next, and shows everybody its answer; without one, no news."""

    def reset(self, header: Header) -> None:
        self.header = header
        self.news: list[str] = []

    def needs(self, tick: int, turns: Sequence[CompletedTurn], plan: Plan) -> Sequence[Need]:
        said = "\n".join(f"- {turn.persona}: {turn.answer}" for turn in turns) or "- nothing yet"
        before = "\n".join(self.news[-3:]) or "It is the first day."
        ask = f"{before}\nThe people said:\n{said}\nWhat happens next? One sentence."
        return (Need(purpose="master", messages=(Message(role="user", content=ask),)),)

    def step(
        self,
        tick: int,
        turns: Sequence[CompletedTurn],
        plan: Plan,
        answers: Sequence[NeedAnswer],
    ) -> WorldDelta:
        (answer,) = answers
        if answer.failed is not None or not answer.text.strip():
            return WorldDelta(tick=tick)
        self.news.append(answer.text)
        news = Stimulus(id=f"news-{tick}", kind="news", text=answer.text)
        impression = Impression(
            channel="news", exposures=(Exposure(stimulus=news.id, reason="news"),)
        )
        return WorldDelta(
            tick=tick,
            stimuli=(news,),
            presentations=tuple(
                Presentation(persona=persona, impression=impression, question="vote")
                for persona in self.header.persona_ids
            ),
        )


class TestGameMaster(WorldContract):
    """The game master keeps the contract of a world."""

    def make_world(self) -> World:
        return GameMaster()


def is_master(request: Any) -> bool:
    """Say whether a request is the game master's own."""
    return isinstance(request, ChatRequest) and "What happens next?" in request.messages[-1].content


def reply(request: Any) -> Any:
    """Tell a story in which what people say decides what happens."""
    text = request.messages[-1].content
    if is_master(request):
        return f"Day {text.count('Day') + 1}: {text.count('Ada Hill')} people marched for Ada."
    return "Ada Hill." if "marched" in text and len(text) % 3 else "Ben Cole."


def config() -> RunConfig:
    """Make a study whose world is the game master's."""
    return town(5, scenarios=({"horizon": 4},), seeds=(1,))


def play(provider: ScriptedProvider, after: Ran | None = None) -> Ran:
    """Run the study, or go on with it."""
    parts = OwnParts(config(), world=lambda _: GameMaster())
    return run_in_memory(config(), provider, parts=parts, after=after, attempts_max=1)


@pytest.fixture(scope="module")
def ran() -> Ran:
    """Run the study to its end."""
    return play(ScriptedProvider(reply))


def test_what_the_model_says_happens_and_is_on_record(ran: Ran) -> None:
    """Each tick publishes its answer, which everybody is shown; the call is the world's own."""
    assert ran.result.state == "completed"
    events = ran.events()
    told = [event.payload.text for event in events if isinstance(event.payload, AnswerGiven)]
    news = [e.payload.stimulus.text for e in events if isinstance(e.payload, StimulusPublished)]
    assert told == news
    assert len(set(news)) == 4
    costs = [e.payload for e in events if isinstance(e.payload, Cost)]
    assert [cost.purpose for cost in costs if cost.job == -1] == ["master"] * 4
    shown = [e.payload for e in events if isinstance(e.payload, Turn)]
    assert {turn.presentation.impression.channel for turn in shown} == {"news"}
    assert len(shown) == 20


def test_what_people_say_decides_what_happens(ran: Ran) -> None:
    """The story depends on the answers of the tick before: others make another story."""
    silent = play(ScriptedProvider(lambda r: reply(r) if is_master(r) else "Ben Cole."))
    assert silent.digests != ran.digests


def test_a_run_that_stops_is_told_the_same_story_without_asking_again(ran: Ran) -> None:
    """A resumed world gets the recorded answers, asks for the rest alone, and ends the same."""
    left, asked = [9], list[str]()

    def stopping(request: Any) -> Any:
        left[0] -= 1
        return FailureCause.CONNECT if left[0] < 0 else reply(request)

    broken = play(ScriptedProvider(stopping))
    assert broken.result.state != "completed"

    def noting(request: Any) -> Any:
        if is_master(request):
            asked.append(request.messages[-1].content)
        return reply(request)

    resumed = play(ScriptedProvider(noting), after=broken)
    assert resumed.digests == ran.digests
    assert len(asked) == 2


def test_a_failed_call_is_no_news_and_no_end(ran: Ran) -> None:
    """The world says what a missing answer means: nothing is shown, and it goes on."""

    def failing(request: Any) -> Any:
        fails = is_master(request) and request.messages[-1].content.count("Day") == 1
        return FailureCause.TIMEOUT if fails else reply(request)

    quiet = play(ScriptedProvider(failing))
    assert quiet.result.state == "completed"
    failed = [
        event.payload.failed
        for event in quiet.events()
        if isinstance(event.payload, AnswerGiven) and event.payload.failed
    ]
    assert failed == [FailureCause.TIMEOUT] * 3
