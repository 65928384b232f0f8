"""A tool outside the world is called at most once, however often the run around it is killed."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.desk import SECRET
from tests.support.office import asks, clerk, furnish, office, respond
from tests.support.town import Ran, run_in_memory

from perdure import runner
from perdure.base import crashpoints
from perdure.base.crashpoints import POINTS
from perdure.base.errors import MovedError, PluginError, UsageError
from perdure.records.drive import ToolCalled, ToolResult
from perdure.records.events import Cost
from perdure.records.registry import CallsLost, CallsOrphaned
from perdure.records.request import ChatRequest, Reply
from perdure.records.scenario import AgentSettings, ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.tools import AnswerStatus
from perdure.records.usage import Price
from perdure.runner.plugins import PluginParts
from perdure.runner.replay import replay
from perdure.runner.session import Session
from perdure.runner.trial import try_out
from perdure.testing import MisbehavingServer, ScriptedProvider
from perdure.trace.journal_memory import MemoryCalls

POINTS_OF_EFFECTS = ("effect.intended", "effect.done", "effect.settled")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder that the tools write to."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.setenv("PERDURE_TEST_DESK", str(folder))
    return folder


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Give the study's file, with its code beside it."""
    return furnish(tmp_path / "study")


def lines(desk: Path, name: str = "book") -> list[str]:
    """Read what tools wrote."""
    file = desk / name
    return file.read_text().splitlines() if file.exists() else []


def results(ran: Ran) -> list[ToolResult]:
    """List the answers of tools in the record."""
    return [event.payload for event in ran.events() if isinstance(event.payload, ToolResult)]


def test_a_tool_outside_is_called_once_and_no_call_of_a_model(desk: Path, study: Path) -> None:
    """Each persona's line of each day is in the book, and the run counts model calls alone."""
    ran = run_in_memory(office(study, "append_line", "look_up"), ScriptedProvider(clerk))
    assert ran.result.exit_status == 0, ran.result.worlds
    assert len(set(lines(desk))) == len(lines(desk)) == 15
    assert len(lines(desk, "looks")) == 15
    told = [one for one in results(ran) if one.name == "append_line"]
    assert [one.text for one in told] == ["It is written."] * 15
    costs = [event for event in ran.events() if isinstance(event.payload, Cost)]
    assert ran.result.worlds[0].calls == len(costs) == 15 * 6
    assert not any(kind in str(ran.run.log) for kind in ("CallsLost", "CallsOrphaned"))


class _Killed:
    """What is left of a run that is killed at the `hit`-th passing of a crash point."""

    def __init__(self, point: str, hit: int) -> None:
        self.place, self._left = point, hit
        self.calls = MemoryCalls()
        self.left: tuple[Any, Any, MemoryCalls] | None = None
        self.book: list[str] = []
        self._session: Session | None = None
        self._desk = Path()

    def __call__(self, desk: Path, config: Any) -> Ran:
        self._desk = desk
        (desk / "book").unlink(missing_ok=True)

        async def before(session: Session) -> None:
            self._session = session

        crashpoints._armed, crashpoints._hit = "these", self._hit
        try:
            provider = ScriptedProvider(clerk)
            return run_in_memory(config, provider, before=before, calls=self.calls)
        finally:
            crashpoints._armed, crashpoints._hit = "", _HIT

    def _hit(self, name: str) -> None:
        if name != self.place or self._session is None:
            return
        self._left -= 1
        if self._left == 0:
            # What is kept at this instant is all that is left of a run that is killed here.
            kept = self._session.registry.run, self._session.partitions, self.calls  # type: ignore[attr-defined]
            self.left = copy.deepcopy(kept)
            self.book = lines(self._desk)


_HIT = crashpoints._hit


def _passings(desk: Path, config: Any) -> Counter[str]:
    passed: Counter[str] = Counter()
    crashpoints._armed = "these"
    crashpoints._hit = lambda name: passed.update([name])
    try:
        run_in_memory(config, ScriptedProvider(clerk))
    finally:
        crashpoints._armed, crashpoints._hit = "", _HIT
    (desk / "book").unlink()
    return passed


def _places(passed: Counter[str]) -> Iterator[tuple[str, int]]:
    for point in POINTS:
        every = 1 if point in POINTS_OF_EFFECTS else 9
        yield from ((point, hit) for hit in range(1, passed[point] + 1, every))


def test_killed_anywhere_no_effect_happens_twice_and_a_lost_one_is_unknown(
    desk: Path, study: Path
) -> None:
    """Where no answer was lost the end is the same; where one was, the record says so."""
    config = office(study, "append_line", personas=3, horizon=2)
    whole = run_in_memory(config, ScriptedProvider(clerk))
    (desk / "book").unlink()
    unknown_at: Counter[str] = Counter()
    places = list(_places(_passings(desk, config)))
    for point, hit in places:
        killed = _Killed(point, hit)
        cut = killed(desk, config)
        assert killed.left is not None
        run, partitions, calls = killed.left
        lost = sum(call.settled is None for tick in calls.ticks.values() for call in tick.effects)
        cut_off = sum(
            call.settled is None for tick in calls.ticks.values() for call in tick.model_calls
        )
        (desk / "book").write_text("".join(f"{line}\n" for line in killed.book))
        after = replace(cut, run=run, partitions=partitions, calls=calls)
        again = run_in_memory(config, ScriptedProvider(clerk), after=after)
        where = f"{point}:{hit}"
        assert again.result.exit_status == 0, where
        written = Counter(lines(desk))
        assert max(written.values()) == 1, where
        unknown = [one for one in results(again) if one.status is AnswerStatus.UNKNOWN]
        assert len(unknown) == lost, where
        unknown_at[point] += lost
        assert sum(written.values()) >= 6 - lost, where
        if not lost:
            assert again.digests == whole.digests, where
        log = [row.payload for row in again.run.log]
        charged = sum(row.calls for row in log if isinstance(row, CallsLost))
        assert charged == cut_off, where
        assert not any(isinstance(row, CallsOrphaned) for row in log), where
    assert set(POINTS_OF_EFFECTS) <= {point for point, _ in places}
    assert min(unknown_at["effect.intended"], unknown_at["effect.done"]) >= 6
    assert len(places) > 30


def test_what_only_reads_is_read_again(desk: Path, study: Path) -> None:
    """A look that was lost is no loss: it is done again, and the end is the same."""
    config = office(study, "look_up", personas=2, horizon=1)
    whole = run_in_memory(config, ScriptedProvider(clerk))
    killed = _Killed("effect.intended", 2)
    cut = killed(desk, config)
    assert killed.left is not None
    run, partitions, calls = killed.left
    before = len(lines(desk, "looks"))
    after = replace(cut, run=run, partitions=partitions, calls=calls)
    again = run_in_memory(config, ScriptedProvider(clerk), after=after)
    assert again.digests == whole.digests
    assert len(lines(desk, "looks")) > before


def test_secrets_are_taken_out_before_anybody_keeps_them(desk: Path, study: Path) -> None:
    """Of what a tool answers, and of what a model says and asks for: not in record or request."""
    seen: list[str] = []

    def careless(request: ChatRequest) -> Reply | str:
        seen.append(str(request.messages))
        done = sum(message.role == "tool" for message in request.messages)
        if done == 0:
            return Reply(text="", served="s", calls=(asks("key_of_the_safe", 0),))
        if done == 1:
            call = asks("append_line", 1, text=f"The key is {SECRET}")
            return Reply(text=f"I note {SECRET}", served="s", calls=(call,))
        return f"I agree. {SECRET}"

    config = office(study, "key_of_the_safe", "append_line", personas=1, horizon=1)
    ran = run_in_memory(config, ScriptedProvider(careless))
    assert ran.result.exit_status == 0
    everything = str([row for world in ran.partitions.worlds.values() for row in world.rows])
    assert "[secret " in everything
    assert SECRET not in everything
    assert SECRET not in str(seen)
    assert "[secret " in lines(desk)[0]


def test_a_study_that_is_driven_again_does_nothing_outside(
    desk: Path, study: Path, tmp_path: Path
) -> None:
    """A replay answers from the record; in processes of their own worlds end the same."""
    with MisbehavingServer(responder=respond) as server:
        digests = []
        out = tmp_path / "run2"
        for workers in (0, 2):
            folder = tmp_path / f"run{workers}"
            config = over_http(study, server.base_url, folder, workers=workers)
            result = runner.run(config)
            assert result.exit_status == 0, result.worlds
            digests.append([world.digest for world in result.worlds])
        assert digests[0] == digests[1]
        written = lines(desk)
        # Both runs wrote, each in both worlds, two people for two days.
        assert len(written) == 2 * 8
        asked = server.calls
        replayed = replay(out, study_file=study)
        assert not replayed.diverged, replayed
        assert lines(desk) == written
        assert server.calls == asked


def over_http(study: Path, base_url: str, out: Path, **more: Any) -> Any:
    """Make a study of two worlds whose model is an endpoint."""
    config = office(study, "append_line", "look_up", personas=2, horizon=2, seeds=(1, 2))
    spec = ModelSpec(
        pin=ModelPin(provider="http", model="test-model"),
        endpoint=Endpoint(base_url=base_url),
        price=Price(input_fresh=1, output=1),
    )
    models = dict.fromkeys(("tier_a", "tier_b"), spec)
    asked = msgspec.structs.replace(config.study, models=models)
    return replace(config, study=asked, out=str(out), **more)


def test_what_cannot_be_a_tool_of_a_persona_is_said_at_once(study: Path) -> None:
    """All that is wrong with the functions of a study, in one error before anything begins."""
    named = ("put", "hand_down", "burn", "nothing", "missing", "tell_the_press", "append_line")
    settings = AgentSettings(outside_tools=tuple(f"desk:{name}" for name in named))
    with pytest.raises(PluginError) as raised:
        PluginParts(settings, [], study.parent)
    told = str(raised.value)
    for name in named[:-1]:
        assert f"desk:{name} " in told
    assert "append_line" not in told
    allowed = AgentSettings(outside_tools=("desk:tell_the_press",), outside_egress=True)
    assert len(PluginParts(allowed, [], study.parent).outside) == 1


def test_a_tool_outside_cannot_have_the_name_of_one_of_the_world(desk: Path, study: Path) -> None:
    """The tick is not closed, and the error says which name it is."""
    ran = run_in_memory(office(study, "read_else", personas=1), ScriptedProvider(clerk))
    assert "read_document" in ran.result.worlds[0].cause
    assert ran.result.worlds[0].tick == -1
    assert not lines(desk)


def test_what_a_study_opts_in_is_all_that_a_persona_is_shown(desk: Path, study: Path) -> None:
    """The world's tools come first, then those of the study, in its order."""
    seen: list[list[str]] = []

    def watching(request: ChatRequest) -> Reply | str:
        seen.append([one.name for one in request.tools])
        return "I agree."

    run_in_memory(office(study, "look_up", "append_line", personas=1), ScriptedProvider(watching))
    assert seen[0][-2:] == ["look_up", "append_line"]
    assert "key_of_the_safe" not in seen[0]
    called = [asks("burn", 0)]

    def wants(request: ChatRequest) -> Reply | str:
        done = any(message.role == "tool" for message in request.messages)
        return "I agree." if done else Reply(text="", served="s", calls=tuple(called))

    ran = run_in_memory(office(study, "append_line", personas=1), ScriptedProvider(wants))
    (answer, *_) = results(ran)
    assert answer.status is AnswerStatus.ERROR
    assert json.dumps(answer.text)
    assert not any(
        isinstance(event.payload, ToolCalled) and event.payload.effect for event in ran.events()
    )
    assert not lines(desk)


def test_a_trial_does_nothing_outside_unless_it_is_allowed(
    desk: Path, study: Path, tmp_path: Path
) -> None:
    """`plan --try` is refused before any call; allowed, it does in earnest what it tries."""
    with MisbehavingServer(responder=respond) as server:
        config = over_http(study, server.base_url, tmp_path / "none")
        with pytest.raises(UsageError, match="really use them"):
            try_out(config)
        assert (server.calls, lines(desk)) == (0, [])
        assert try_out(config, acts_outside=True).exit_status == 0
        assert len(lines(desk)) == 2


def test_a_run_is_not_forced_past_a_tick_that_has_acted(desk: Path, study: Path) -> None:
    """Opened afresh, the tick would act again: it goes on as it was, and then is forced."""
    config = office(study, "append_line", personas=3, horizon=2)
    for point, acted in (("tick.opened", False), ("effect.done", True)):
        killed = _Killed(point, 1)
        cut = killed(desk, config)
        assert killed.left is not None
        run, partitions, calls = copy.deepcopy(killed.left)
        after = replace(cut, run=run, partitions=partitions, calls=calls)
        if not acted:
            again = run_in_memory(config, ScriptedProvider(clerk), after=after, forced=True)
            assert again.result.exit_status == 0
            continue
        with pytest.raises(MovedError, match="acted outside"):
            run_in_memory(config, ScriptedProvider(clerk), after=after, forced=True)
        run, partitions, calls = killed.left
        after = replace(cut, run=run, partitions=partitions, calls=calls)
        assert run_in_memory(config, ScriptedProvider(clerk), after=after).result.exit_status == 0
