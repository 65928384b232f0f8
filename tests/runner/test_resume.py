"""A run that stopped goes on from its record alone, and ends as if it had never stopped."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.town import OwnParts, Ran, run_in_memory, town

from perdure.base.chance import Stream
from perdure.records.persona import PersonaState
from perdure.records.presentation import Need, WorldDelta
from perdure.records.registry import RunState, WorldState
from perdure.records.request import ChatRequest, FailureCause, Vectors
from perdure.runner.config import RunConfig
from perdure.testing import ScriptedProvider
from perdure.world import SurveyWorld

CALLS = 60


def answer(request: ChatRequest) -> str:
    """Answer by the prompt and the sampling seed alone."""
    said = str([message.content for message in request.messages]) + str(request.seed)
    return ["Ada Hill. I agree.", "Ben Cole. I disagree.", "I do not know."][len(said) % 3]


def vectors(request: Any) -> Vectors:
    """Embed a text as numbers that no 32-bit float holds."""
    return Vectors(vectors=tuple((0.1 * len(text), 1 / 3) for text in request.texts), served="s")


class Ranking(SurveyWorld):
    """Asks for embeddings and a word before every step, and lets them decide who is active."""

    def needs(self, tick: int, turns: Any, plan: Any) -> tuple[Need, ...]:
        return (Need(purpose="rank", texts=(f"tick {tick}", "x" * len(turns)), role="embed"),)

    def step(self, tick: int, turns: Any, plan: Any, answers: Any) -> WorldDelta:
        assert answers[0].vectors[0][1] != 1 / 3, "rounded to 32 bits before the world sees it"
        share = answers[0].vectors[0][0] % 1
        chance = Stream("rank", tick, "share").uniform()
        return super().step(
            tick, turns, type(plan)(activation=0.5 + 0.5 * abs(share - chance)), answers
        )


def stopping_after(calls: int) -> ScriptedProvider:
    """Answer so many turns, then never again; reflections still, which are recorded if failed."""
    left = [calls]

    def play(request: ChatRequest) -> Any:
        left[0] -= request.role == "tier_a"
        is_gone = left[0] < 0 and request.role == "tier_a"
        return FailureCause.CONNECT if is_gone else answer(request)

    return ScriptedProvider(play, vectors=vectors)


def study() -> RunConfig:
    """Make a study with memories, reflections and needs, two worlds, six ticks."""
    return town(5, seeds=(1,), quorum=1.0, skew=2)


def go(config: RunConfig, provider: Any, after: Ran | None = None) -> Ran:
    """Run or continue the study in its ranking world."""
    parts = OwnParts(config, world=lambda _header: Ranking())
    return run_in_memory(config, provider, parts=parts, after=after, attempts_max=1)


@pytest.fixture(scope="module")
def undisturbed() -> Ran:
    """Run the study without a stop."""
    ran = go(study(), ScriptedProvider(answer, vectors=vectors))
    assert ran.result.state is RunState.COMPLETED
    return ran


@pytest.mark.parametrize("calls", range(CALLS))
def test_a_run_that_stopped_anywhere_ends_in_the_same_digests(calls: int, undisturbed: Ran):
    """P4: stopped after any call, and once more after as many, the run ends the same."""
    config = study()
    first = go(config, stopping_after(calls))
    if first.result.state is RunState.COMPLETED:
        assert first.digests == undisturbed.digests
        return
    second = go(config, stopping_after(calls // 2), after=first)
    last = go(config, ScriptedProvider(answer, vectors=vectors), after=second)
    assert last.result.state is RunState.COMPLETED
    assert last.digests == undisturbed.digests
    for name in ("turns", "turns_failed", "calls"):
        assert [getattr(world, name) for world in last.result.worlds] == [
            getattr(world, name) for world in undisturbed.result.worlds
        ]


def test_personas_are_rebuilt_as_they_were_carried(undisturbed: Ran):
    """State at the last tick, rebuilt from events, equals the state that the agent was given."""
    config = study()
    seen: dict[tuple[str, int, str], PersonaState] = {}

    def watching(name: str) -> Any:
        from perdure.agent import PersonaAgent  # noqa: PLC0415

        class Watching(PersonaAgent):
            async def act(self, jobs: Any, plan: Any, models: Any) -> Any:
                for job in jobs:
                    seen[name, job.tick, job.persona.id] = job.state
                return await super().act(jobs, plan, models)

        return Watching

    def run(name: str, provider: Any, after: Ran | None = None) -> Ran:
        parts = OwnParts(
            config, world=lambda _h: Ranking(), agent=lambda h: watching(name + h.world_id)()
        )
        return run_in_memory(config, provider, parts=parts, after=after, attempts_max=1)

    run("whole", ScriptedProvider(answer, vectors=vectors))
    stopped = run("parts", stopping_after(18))
    assert stopped.result.state is RunState.PARTIAL
    run("parts", ScriptedProvider(answer, vectors=vectors), after=stopped)
    whole, parts = (
        {
            (key[0].removeprefix(name), *key[1:]): state
            for key, state in seen.items()
            if key[0].startswith(name)
        }
        for name in ("whole", "parts")
    )
    assert any(state.memories for state in whole.values())
    assert {key: parts[key] for key in whole} == whole
    assert undisturbed.result.state is RunState.COMPLETED


def test_a_world_that_steps_otherwise_is_named_with_its_first_difference():
    """A world whose code moved does not go on: the tick, the field, old and new value are named."""
    config = study()
    stopped = go(config, stopping_after(18))
    assert stopped.result.worlds[0].tick >= 1

    class Moved(Ranking):
        def step(self, tick: int, *args: Any) -> WorldDelta:
            delta = super().step(tick, *args)
            if tick == 1 and delta.stimuli:
                changed = [
                    type(s)(id=s.id, kind=s.kind, text=s.text + "!", claim=s.claim)
                    for s in delta.stimuli
                ]
                return type(delta)(
                    tick=tick, stimuli=tuple(changed), presentations=delta.presentations
                )
            return delta

    parts = OwnParts(config, world=lambda _header: Moved())
    again = run_in_memory(
        config, ScriptedProvider(answer, vectors=vectors), parts=parts, after=stopped
    )
    assert again.result.exit_status == 78
    assert "tick 1" in again.result.worlds[0].cause
    assert "stimuli[0].text" in again.result.worlds[0].cause
    assert again.result.worlds[0].state is not WorldState.COMPLETED


def test_a_completed_run_is_left_alone(undisturbed: Ran):
    """To continue what has ended calls no model and changes no world."""
    provider = ScriptedProvider(answer, vectors=vectors)
    again = go(study(), provider, after=undisturbed)
    assert provider.calls == 0
    assert again.digests == undisturbed.digests
    assert again.result.state is RunState.COMPLETED
