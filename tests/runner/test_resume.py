"""A run that stopped goes on from its record alone, and ends as if it had never stopped."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.town import OwnParts, Ran, run_in_memory, town

from perdure.base.chance import Stream
from perdure.records.events import StimulusPublished
from perdure.records.persona import PersonaState
from perdure.records.presentation import Need, WorldDelta
from perdure.records.registry import RunState, WorldDiverged, WorldState
from perdure.records.request import ChatRequest, FailureCause, Vectors
from perdure.runner.config import RunConfig
from perdure.testing import ScriptedProvider
from perdure.world import ChannelWorld

CALLS = 60


def answer(request: ChatRequest) -> str:
    """Answer by the prompt and the sampling seed alone."""
    said = str([message.content for message in request.messages]) + str(request.seed)
    return ["Ada Hill. I agree.", "Ben Cole. I disagree.", "I do not know."][len(said) % 3]


def vectors(request: Any) -> Vectors:
    """Embed a text as numbers that no 32-bit float holds."""
    return Vectors(vectors=tuple((0.1 * len(text), 1 / 3) for text in request.texts), served="s")


class Ranking(ChannelWorld):
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
    return town(5, seeds=(1,), quorum=1.0, skew=2, embeds=True)


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


class Reworded(Ranking):
    """Steps as before, but for one letter of what is published at one tick."""

    at = 1

    def step(self, tick: int, *args: Any) -> WorldDelta:
        delta = super().step(tick, *args)
        if tick == self.at and delta.stimuli:
            changed = [
                type(s)(id=s.id, kind=s.kind, text=s.text + "!", claim=s.claim)
                for s in delta.stimuli
            ]
            return type(delta)(tick=tick, stimuli=tuple(changed), presentations=delta.presentations)
        return delta


def go_on(config: RunConfig, world: Any, after: Ran, *, forced: bool = False) -> Ran:
    """Continue a run, its worlds being of another class."""
    parts = OwnParts(config, world=lambda _header: world())
    provider = ScriptedProvider(answer, vectors=vectors)
    return run_in_memory(config, provider, parts=parts, after=after, forced=forced)


def divergences(ran: Ran) -> list[WorldDiverged]:
    """List where worlds diverged, by the run log."""
    return [row.payload for row in ran.run.log if isinstance(row.payload, WorldDiverged)]


def test_a_world_that_steps_otherwise_is_named_with_its_first_difference():
    """A world whose code moved does not go on: the tick, the field, old and new value are named."""
    config = study()
    stopped = go(config, stopping_after(18))
    assert stopped.result.worlds[0].tick >= 1

    again = go_on(config, Reworded, stopped)
    assert again.result.exit_status == 78
    assert "tick 1" in again.result.worlds[0].cause
    assert "stimuli[0].text" in again.result.worlds[0].cause
    assert again.result.worlds[0].state is not WorldState.COMPLETED


def test_after_a_force_a_difference_is_recorded_and_the_world_goes_on():
    """Where a forced world diverged is on record, and it goes on from the recorded turns."""
    config = study()
    stopped = go(config, stopping_after(18))
    before = [stopped.events(place) for place in range(2)]
    forced = go_on(config, Reworded, stopped, forced=True)
    assert forced.result.state is RunState.COMPLETED
    found = divergences(forced)
    assert {row.world_id for row in found} <= {one.world_id for one in forced.result.worlds}
    assert found
    for row in found:
        place = [one.world_id for one in forced.result.worlds].index(row.world_id)
        seq = int(row.event.partition(":")[2])
        payload = forced.events(place)[seq].payload
        assert row.tick == forced.events(place)[seq].tick == 1
        assert isinstance(payload, StimulusPublished)
        assert row.wrong == (
            f"stimuli[0].text was {payload.stimulus.text!r} and is {payload.stimulus.text + '!'!r}"
        )
    # What was recorded before is as it was.
    for place, events in enumerate(before):
        assert forced.events(place)[: len(events)] == events


def test_a_divergence_is_recorded_once():
    """However often a forced run is continued, each first difference is on record once."""
    config = study()
    stopped = go(config, stopping_after(18))
    parts = OwnParts(config, world=lambda _header: Reworded())
    again = run_in_memory(
        config, stopping_after(4), parts=parts, after=stopped, forced=True, attempts_max=1
    )
    assert again.result.state is RunState.PARTIAL
    first = divergences(again)
    assert first
    last = go_on(config, Reworded, again)
    assert last.result.state is RunState.COMPLETED
    assert divergences(last) == first


def test_what_is_lived_after_a_force_must_come_out_the_same():
    """A force forgives the ticks before it; one that was lived under it and differs is refused."""
    config = study()
    stopped = go(config, stopping_after(10))
    parts = OwnParts(config, world=lambda _header: Ranking())
    forced = run_in_memory(
        config, stopping_after(12), parts=parts, after=stopped, forced=True, attempts_max=1
    )
    assert not divergences(forced)
    tick = forced.result.worlds[0].tick
    assert stopped.result.worlds[0].tick < tick < 5

    class Later(Ranking):
        def step(self, now: int, *args: Any) -> WorldDelta:
            delta = super().step(now, *args)
            kept = delta.presentations[: -1 if now == tick else None]
            return type(delta)(tick=now, stimuli=delta.stimuli, presentations=kept)

    refused = go_on(config, Later, forced)
    assert refused.result.exit_status == 78
    assert f"tick {tick}" in refused.result.worlds[0].cause
    assert "presentations had" in refused.result.worlds[0].cause


def test_other_needs_are_a_difference_too():
    """A world that asks for more than is answered on record is named; forced, it goes on."""

    class Asking(Ranking):
        def needs(self, tick: int, turns: Any, plan: Any) -> tuple[Need, ...]:
            more = (Need(purpose="more", texts=("x",), role="embed"),) if tick == 1 else ()
            return (*super().needs(tick, turns, plan), *more)

    config = study()
    stopped = go(config, stopping_after(18))
    refused = go_on(config, Asking, stopped)
    assert "needs had 1 parts and has 2" in refused.result.worlds[0].cause
    forced = go_on(config, Asking, go(config, stopping_after(18)), forced=True)
    assert forced.result.state is RunState.COMPLETED
    assert {row.wrong for row in divergences(forced)} == {"needs had 1 parts and has 2"}


def test_a_world_that_gives_no_delta_when_stepping_again_has_failed():
    """What a world returns instead of a delta is its own fault, and named, forced or not."""

    class Empty(Ranking):
        def step(self, tick: int, *args: Any) -> Any:
            return None if tick == 1 else super().step(tick, *args)

    config = study()
    stopped = go(config, stopping_after(18))
    failed = go_on(config, Empty, stopped, forced=True)
    assert failed.result.exit_status == 1
    assert failed.result.worlds[0].state is WorldState.FAILED


def test_a_completed_run_is_left_alone(undisturbed: Ran):
    """To continue what has ended calls no model and changes no world."""
    provider = ScriptedProvider(answer, vectors=vectors)
    again = go(study(), provider, after=undisturbed)
    assert provider.calls == 0
    assert again.digests == undisturbed.digests
    assert again.result.state is RunState.COMPLETED
