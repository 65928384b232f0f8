"""A run from its first tick to its end, over in-memory parts and scripted models."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.support.town import OwnParts, answering, run_in_memory, town

from perdure.agent import PersonaAgent
from perdure.base.canonical import encode
from perdure.records.events import (
    Completed,
    Cost,
    MemoryFormed,
    Reflected,
    ScoreGiven,
    Started,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.outcome import TurnFailed, TurnFailureCause, UnscorableCause
from perdure.records.registry import RunState, WorldFailed, WorldState
from perdure.records.request import ChatRequest, FailureCause, Reply
from perdure.records.usage import Price, Usage
from perdure.study.identity import expand
from perdure.testing import ScriptedProvider, wrong_model
from perdure.world import ChannelWorld


def payloads(ran: Any, cls: type, place: int = 0) -> list[Any]:
    """List the payloads of one kind in a world's record."""
    return [event.payload for event in ran.events(place) if isinstance(event.payload, cls)]


def test_a_run_completes_and_every_job_has_one_outcome():
    """Each tick is whole: started first, one outcome per job, closed last, completed once."""
    ran = run_in_memory(town())
    assert ran.result.state is RunState.COMPLETED
    assert ran.result.exit_status == 0
    assert len(ran.result.worlds) == 4
    for place in range(4):
        events = ran.events(place)
        assert [event.seq for event in events] == list(range(len(events)))
        assert isinstance(events[0].payload, Started)
        assert isinstance(events[-1].payload, TickClosed)
        assert isinstance(events[-2].payload, Completed)
        jobs = Counter(e.tick for e in events if isinstance(e.payload, Turn | TurnNotTaken))
        closed = {e.tick: e.payload.jobs for e in events if isinstance(e.payload, TickClosed)}
        assert list(closed) == list(range(6))
        assert dict(jobs) == {tick: count for tick, count in closed.items() if count}


def test_content_refers_to_content_by_its_number():
    """Scores, memories and reflections name their turn by content number, never by seq."""
    events = run_in_memory(town()).events()
    by_content = {event.content: event for event in events if event.content is not None}
    assert sorted(by_content) == list(range(len(by_content)))
    followers: set[type] = set()
    for event in events:
        if isinstance(event.payload, ScoreGiven | MemoryFormed | Reflected):
            followers.add(type(event.payload))
            turn = by_content[event.payload.turn]
            assert isinstance(turn.payload, Turn)
            assert (turn.persona, turn.tick) == (event.persona, event.tick)
    assert followers == {ScoreGiven, MemoryFormed, Reflected}


def test_the_same_study_gives_the_same_digests():
    """Two runs of one study with the same replies agree in every world; another seed does not."""
    assert run_in_memory(town()).digests == run_in_memory(town()).digests
    assert run_in_memory(town()).digests != run_in_memory(town(seeds=(3, 4))).digests


def test_rebuilding_world_and_agent_at_every_tick_changes_no_digest():
    """State travels with the jobs and the record: objects may be thrown away between ticks."""

    class Replayed:
        def __init__(self, _header: Any) -> None:
            self.past: list[tuple[Any, ...]] = []

        def reset(self, header: Any) -> None:
            self.header = header

        def needs(self, *_: Any) -> tuple[()]:
            return ()

        def step(self, *args: Any) -> Any:
            fresh = ChannelWorld()
            fresh.reset(self.header)
            for past in self.past:
                fresh.step(*past)
            self.past.append(args)
            return fresh.step(*args)

    class Anew:
        def __init__(self, header: Any) -> None:
            self.header = header

        def reset(self, _header: Any) -> None:
            pass

        async def act(self, *args: Any) -> Any:
            agent = PersonaAgent()
            agent.reset(self.header)
            return await agent.act(*args)

    config = town()
    parts = OwnParts(config, world=Replayed, agent=Anew)
    assert run_in_memory(config, parts=parts).digests == run_in_memory(config).digests


def test_scenarios_of_one_variant_share_their_draws():
    """Both scenarios get the same sampling seeds for the same persona, tick and purpose."""
    seeds: dict[tuple[str, str], set[int]] = {}

    def note(request: ChatRequest) -> str:
        assert request.facts is not None
        question = request.facts.question.id if request.facts.question else "reflection"
        seeds.setdefault((request.facts.persona, question), set()).add(request.seed)
        return "Ada Hill"

    run_in_memory(town(seeds=(1,)), ScriptedProvider(note))
    waves = {key: found for key, found in seeds.items() if key[1] == "vote"}
    assert waves
    # Two waves, two scenarios: two seeds, not four.
    assert all(len(found) == 2 for found in waves.values())


def test_replicates_get_their_own_samples():
    """Two seeds give two sampling seeds for one persona at one tick."""
    seen: list[int] = []

    def note(request: ChatRequest) -> str:
        seen.append(request.seed)
        return "Ada Hill"

    run_in_memory(
        town(2, scenarios=({"horizon": 1, "waves": (0,), "exposures": {}},)), ScriptedProvider(note)
    )
    assert len(seen) == len(set(seen)) == 4


def test_a_failed_call_is_an_outcome_and_is_counted():
    """A turn without a reply is recorded with its cause; the tick closes within the quorum."""

    def one_fails(request: ChatRequest) -> Any:
        assert request.facts is not None
        return FailureCause.REJECTED if request.facts.persona.endswith("3") else "Ada Hill"

    ran = run_in_memory(town(20, quorum=0.8), ScriptedProvider(one_fails))
    failed = payloads(ran, TurnNotTaken)
    assert failed
    assert {f.cause for f in failed} == {TurnFailureCause.CALL_FAILED}
    assert {f.call for f in failed} == {FailureCause.REJECTED}
    assert ran.result.state is RunState.COMPLETED
    assert ran.result.worlds[0].turns_failed == len(failed)


def test_a_tick_below_its_quorum_is_not_kept_and_stops_the_run():
    """An endpoint that goes away ends the run with 69; what was closed before stays."""
    calls = Counter[str]()

    def goes_away(_request: ChatRequest) -> Any:
        calls["n"] += 1
        return "Ada Hill" if calls["n"] <= 6 * 4 else FailureCause.CONNECT

    ran = run_in_memory(town(), ScriptedProvider(goes_away))
    assert ran.result.state is RunState.PARTIAL
    assert ran.result.exit_status == 69
    assert "no reply" in ran.result.cause
    assert {world.state for world in ran.result.worlds} == {WorldState.PARTIAL}
    for place, world in enumerate(ran.result.worlds):
        events = ran.events(place)
        assert world.tick == events[-1].tick
        assert isinstance(events[-1].payload, TickClosed)


@pytest.mark.parametrize(
    ("cause", "exit_status"),
    [
        (FailureCause.KEY_REFUSED, 77),
        (FailureCause.MODEL_UNKNOWN, 77),
        (FailureCause.OUT_OF_MONEY, 76),
    ],
)
def test_what_stops_a_run_stops_it_at_once_whatever_the_agent_made_of_it(
    cause: FailureCause, exit_status: int
):
    """A refused key, an unknown model and an empty account close no further tick."""

    class Dreamer(PersonaAgent):
        """Makes up an answer when a call fails."""

        async def act(self, jobs: Any, plan: Any, models: Any) -> Any:
            from perdure.records.outcome import TurnDone  # noqa: PLC0415

            outcomes = await super().act(jobs, plan, models)
            return [
                o if isinstance(o, TurnDone) else TurnDone(messages=(), answer="Ada")
                for o in outcomes
            ]

    config = town()
    provider = ScriptedProvider(lambda _request: cause)
    parts = OwnParts(config, agent=lambda _header: Dreamer())
    ran = run_in_memory(config, provider, parts=parts)
    assert ran.result.exit_status == exit_status
    assert all(world.tick == -1 for world in ran.result.worlds)
    assert all(world.state is WorldState.NOT_STARTED for world in ran.result.worlds)
    assert provider.calls <= 6 * 4


def test_a_model_that_answers_under_another_name_is_no_completed_run():
    """Replies of a model that was not pinned fail every turn, and the run ends with 77."""
    failure = FailureCause.WRONG_MODEL
    ran = run_in_memory(town(), ScriptedProvider(lambda _request: failure))
    assert ran.result.exit_status == 77
    assert wrong_model("x").served != "scripted"


def test_one_worlds_failure_leaves_the_others_running():
    """A world that raises is failed with class, message and tick; its siblings complete."""

    class Breaks(ChannelWorld):
        def step(self, tick: int, *args: Any) -> Any:
            if tick == 3 and self.header.replicate_seed == 2:
                raise ZeroDivisionError("the town is gone")
            return super().step(tick, *args)

        def reset(self, header: Any) -> None:
            self.header = header
            super().reset(header)

    config = town()
    ran = run_in_memory(config, parts=OwnParts(config, world=lambda _header: Breaks()))
    states = [world.state for world in ran.result.worlds]
    assert states == [WorldState.COMPLETED, WorldState.FAILED] * 2
    assert ran.result.exit_status == 1
    failed = ran.result.worlds[1]
    assert failed.tick == 2
    assert "ZeroDivisionError: the town is gone" in failed.cause
    logged = [row.payload for row in ran.run.log if isinstance(row.payload, WorldFailed)]
    assert {row.tick for row in logged} == {2}
    assert len(logged) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        lambda outcomes: outcomes[:-1],
        lambda outcomes: [*outcomes, outcomes[0]],
        lambda outcomes: ["Ada Hill" for _ in outcomes],
        lambda outcomes: [None for _ in outcomes],
        lambda outcomes: [replace(outcome, answer=42) for outcome in outcomes],
        lambda outcomes: [replace(outcome, answer="\ud800") for outcome in outcomes],
        lambda outcomes: [replace(outcome, messages=("x",)) for outcome in outcomes],
    ],
)
def test_an_agent_that_breaks_its_contract_ends_its_world(wrong: Any):
    """Too few, too many or untyped outcomes are never recorded as turns."""

    class Wrong(PersonaAgent):
        async def act(self, *args: Any) -> Any:
            return wrong(await super().act(*args))

    config = town(seeds=(1,), scenarios=({},))
    ran = run_in_memory(config, parts=OwnParts(config, agent=lambda _header: Wrong()))
    assert ran.result.worlds[0].state is WorldState.FAILED
    assert "outcome" in ran.result.worlds[0].cause
    assert not ran.partitions.worlds[ran.result.worlds[0].world_id].rows


def test_an_unscorable_answer_is_a_reply_with_a_cause():
    """An answer without a choice closes its tick and is recorded as what it is."""
    ran = run_in_memory(town(), answering("I like trains."))
    scores = payloads(ran, ScoreGiven)
    assert {score.unscorable for score in scores} == {UnscorableCause.NO_CHOICE}
    assert ran.result.state is RunState.COMPLETED


def test_every_attempt_has_its_cost_and_an_unknown_one_is_never_zero():
    """Without a price each attempt counts as unknown; with one, tokens are priced exactly."""

    class Priced(ScriptedProvider):
        name = "http"

    def used(_request: ChatRequest) -> Reply:
        return Reply(text="Ada Hill", served="scripted", usage=Usage(input_fresh=100, output=10))

    unpriced = run_in_memory(town(), Priced(used))
    costs = payloads(unpriced, Cost)
    assert unpriced.result.cost == 0
    assert unpriced.result.unknown_costs == sum(world.calls for world in unpriced.result.worlds)
    assert {cost.amount for cost in costs} == {None}
    priced = run_in_memory(
        town(), Priced(used), price=Price(input_fresh=1_000_000, output=2_000_000)
    )
    assert priced.result.unknown_costs == 0
    calls = sum(world.calls for world in priced.result.worlds)
    assert priced.result.cost == calls * (100 * 1 + 10 * 2)


def test_the_calls_of_a_tick_that_did_not_close_are_accounted_for():
    """What was asked and is in no tick is in the journal with its cost, and in the result."""

    def half(request: ChatRequest) -> Any:
        assert request.facts is not None
        return "Ada Hill" if request.facts.persona < "p3" else FailureCause.CONNECT

    class Priced(ScriptedProvider):
        name = "http"

    ran = run_in_memory(town(seeds=(1,), scenarios=({},)), Priced(half))
    assert ran.result.exit_status == 69
    [kept] = ran.calls.ticks.values()
    assert kept.opening.tick == 0
    assert len({call.intent.key for call in kept.calls}) == 6
    assert all(call.settled is not None for call in kept.calls)
    # The replies have no known price; connections that failed cost nothing.
    assert ran.result.unknown_costs == 3


def test_a_finished_tick_leaves_nothing_in_the_journal():
    """A tick that is in the record is given up by the journal."""
    ran = run_in_memory(town())
    assert ran.result.state is RunState.COMPLETED
    assert ran.calls.ticks == {}


def test_a_failed_reflection_is_recorded_and_not_swallowed():
    """Optional work that got no reply leaves an event with its cause; the turn still counts."""
    provider = ScriptedProvider(
        {"tier_a": ["I agree."] * 100, "tier_b": [FailureCause.REJECTED] * 99}
    )
    ran = run_in_memory(town(seeds=(1,), scenarios=({},)), provider)
    reflections = payloads(ran, Reflected)
    assert reflections
    assert {reflection.failed for reflection in reflections} == {FailureCause.REJECTED}
    assert ran.result.state is RunState.COMPLETED


def test_held_out_values_reach_neither_world_nor_agent_nor_model():
    """Nothing that a worker is given holds the held-out outcome."""
    handed: list[bytes] = []

    class Watching(ChannelWorld):
        def reset(self, header: Any) -> None:
            handed.append(encode(header))
            super().reset(header)

        def step(self, tick: int, turns: Any, plan: Any, answers: Any) -> Any:
            handed.extend(map(encode, turns))
            return super().step(tick, turns, plan, answers)

    class Curious(PersonaAgent):
        async def act(self, jobs: Any, plan: Any, models: Any) -> Any:
            handed.extend(map(encode, jobs))
            return await super().act(jobs, plan, models)

    def ask(request: ChatRequest) -> str:
        handed.append(encode(request))
        return "I agree."

    config = town()
    marked = {persona.id: "zzheldoutzz" for persona in config.population.personas}
    held_out = msgspec.structs.replace(config.held_out, values=marked)
    secret = type(config)(**{**vars(config), "held_out": held_out})
    parts = OwnParts(secret, world=lambda _h: Watching(), agent=lambda _h: Curious())
    ran = run_in_memory(secret, ScriptedProvider(ask), parts=parts)
    assert ran.result.state is RunState.COMPLETED
    assert ran.run.held_out == marked
    assert len(handed) > 100
    assert not any(b"zzheldoutzz" in data for data in handed)
    for world in ran.partitions.worlds.values():
        assert b"zzheldoutzz" not in world.header
        assert not any(b"zzheldoutzz" in row[5] for row in world.rows)


def test_worlds_advance_together():
    """Breadth-first: no world is ever more than `skew` ticks ahead of the slowest."""
    closed: list[tuple[str, int]] = []

    async def watch(session: Any) -> None:
        real = session.registry.witness

        async def witness(world_id: str, head: Any, outcome: Any) -> None:
            closed.append((world_id, head.tick))
            await real(world_id, head, outcome)

        session.registry.witness = witness

    run_in_memory(town(scenarios=({"horizon": 30, "waves": (0, 29)},), skew=1), before=watch)
    last: dict[str, int] = {}
    for world_id, tick in closed:
        last[world_id] = tick
        if len(last) == 2:
            assert max(last.values()) - min(last.values()) <= 2
    assert set(last.values()) == {29}


@pytest.mark.parametrize(
    "raised", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()]
)
@pytest.mark.parametrize("where", ["world", "agent"])
def test_whatever_a_plugin_raises_is_its_worlds_outcome(raised: BaseException, where: str):
    """Even what would end a program ends one world, named with its class, world and tick."""

    class Ends(ChannelWorld):
        def step(self, tick: int, *args: Any) -> Any:
            if tick == 2:
                raise raised
            return super().step(tick, *args)

    class Quits(PersonaAgent):
        async def act(self, jobs: Any, *args: Any) -> Any:
            if jobs[0].tick == 2:
                raise raised
            return await super().act(jobs, *args)

    config = town(seeds=(1,))
    first = expand(config.study, config.population)[0].header.world_id
    parts = OwnParts(
        config,
        world=lambda h: Ends() if where == "world" and h.world_id == first else ChannelWorld(),
        agent=lambda h: Quits() if where == "agent" and h.world_id == first else PersonaAgent(),
    )
    ran = run_in_memory(config, parts=parts)
    assert [world.state for world in ran.result.worlds] == [
        WorldState.FAILED,
        WorldState.COMPLETED,
    ]
    assert type(raised).__name__ in ran.result.worlds[0].cause
    assert "tick 2" in ran.result.worlds[0].cause
    assert ran.result.exit_status == 1


def test_an_agent_that_declines_every_turn_completes_nothing():
    """Turns that failed without a model are no success with missing data."""

    class Declines(PersonaAgent):
        async def act(self, jobs: Any, *_args: Any) -> Any:
            return [TurnFailed(cause=TurnFailureCause.AGENT_DECLINED) for _ in jobs]

    config = town(seeds=(1,), scenarios=({},))
    ran = run_in_memory(config, parts=OwnParts(config, agent=lambda _header: Declines()))
    assert ran.result.worlds[0].state is WorldState.FAILED
    assert "agent_declined 6" in ran.result.worlds[0].cause


def test_a_delta_with_many_faults_is_told_in_a_few():
    """One mistake that every persona meets is not repeated for each of them."""

    class Asks(ChannelWorld):
        def step(self, tick: int, *args: Any) -> Any:
            delta = super().step(tick, *args)
            wrong = tuple(replace(shown, question="nope") for shown in delta.presentations)
            return replace(delta, presentations=wrong)

    config = town(50, seeds=(1,), scenarios=({},))
    ran = run_in_memory(config, parts=OwnParts(config, world=lambda _header: Asks()))
    assert "47 more" in ran.result.worlds[0].cause
    assert len(ran.result.worlds[0].cause) < 600
