"""P4: runs whose personas act, believe, remember by meaning, reflect and are probed end the same.

Stopped anywhere they resume, driven again from the record they come out the same, and what was
written keeps every rule of a record.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.crash.whole.shapes import SHAPES, Act, Shape, reacting
from tests.crash.whole.townsfolk import Square
from tests.support.town import OwnParts, Ran, run_in_memory

from perdure.agent import afterwards, answering, persona
from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.retry import RetryPolicy
from perdure.records.events import (
    KIND_OF,
    AnswerGiven,
    BeliefsHeld,
    Event,
    GuardrailViolation,
    MemoryFormed,
    Probed,
    Reflected,
    Turn,
    TurnNotTaken,
)
from perdure.records.outcome import TurnFailureCause
from perdure.records.reaction import Rejection
from perdure.records.registry import RunState
from perdure.records.request import CallKey, ChatRequest, EmbedRequest, FailureCause
from perdure.records.result import RunResult
from perdure.runner import assembly
from perdure.runner.config import RunConfig
from perdure.runner.replay import replay
from perdure.testing import ScriptedProvider, SkippingClock
from perdure.trace.reader import RunReader
from perdure.trace.verify import verify

CHANNELS = next(shape for shape in SHAPES if shape.name == "channels")
MORE = CHANNELS._replace(people=5, scenarios=({**CHANNELS.scenarios[0], "horizon": 6},), quorum=1.0)
HERE = Path(__file__).resolve().parents[1] / "crash" / "whole"
STOPS = 37


class Model(ScriptedProvider):
    """Answers as the shape says, for so many turns; from then on nobody is there to answer them.

    What a turn can do without is answered still, as it would be on record if it had failed. A
    provider does not know which job asks, so vectors are lost by what they are of.
    """

    def __init__(self, turns: int | None = None) -> None:
        left = [turns]

        def play(request: ChatRequest) -> Any:
            question = request.facts.question if request.facts is not None else None
            is_turn = question is not None and not question.id.startswith("probe:")
            # Who was answered once has a reply: what fails after that is on record as failed.
            is_turn = is_turn and "Answer again" not in request.messages[-1].content
            if left[0] is not None and is_turn:
                left[0] -= 1
                if left[0] < 0:
                    return FailureCause.CONNECT
            return reacting(_key(), request)

        def vectors(request: EmbedRequest) -> Any:
            is_lost = request.texts[0].startswith("I ") and len("".join(request.texts)) % 4 == 0
            return reacting(_key("memory", 1 if is_lost else 0), request)

        super().__init__(play, vectors=vectors)


def _key(purpose: str = "turn", job: int = 0) -> CallKey:
    return CallKey(world="w", tick=1, job=job, purpose=purpose, ordinal=0)


def go(shape: Shape, provider: ScriptedProvider, after: Ran | None = None) -> Ran:
    """Run or continue the study in memory."""
    config = shape.config(Act(), Path("out"))
    parts = OwnParts(config, world=lambda _header: Square())
    return run_in_memory(config, provider, parts=parts, after=after, attempts_max=1)


@pytest.fixture(scope="module")
def undisturbed() -> Ran:
    """Run the study without a stop."""
    ran = go(MORE, Model())
    assert ran.result.state is RunState.COMPLETED
    return ran


def of(events: list[Event], kind: type) -> list[Any]:
    """List the payloads of one kind."""
    return [event.payload for event in events if isinstance(event.payload, kind)]


def test_all_that_can_happen_does(undisturbed: Ran) -> None:
    """The study is no easy one: it has every kind of what personas do, and of what fails."""
    events = undisturbed.events()
    turns = of(events, Turn)
    assert {turn.reaction.done for turn in turns} >= {"", "like", "reply", "post"}
    assert {turn.reaction.rejected for turn in turns} >= {None, Rejection.NOT_ACCEPTED}
    assert any(len(turn.recalled) == 2 for turn in turns)
    assert len(of(events, BeliefsHeld)) > 5
    assert len(of(events, GuardrailViolation)) > 5
    assert {failed.cause for failed in of(events, TurnNotTaken)} == {TurnFailureCause.GUARDRAIL}
    assert len(of(events, Probed)) > 1
    assert len(of(events, Reflected)) > 2
    memories = of(events, MemoryFormed)
    assert {bool(memory.vector) for memory in memories} == {True, False}
    assert all(memory.memory.vector == b"" for memory in memories)
    assert all(memory.memory.number == -1 for memory in memories)
    answers = of(events, AnswerGiven)
    assert {(one.purpose, one.failed) for one in answers} == {
        ("recall", None),
        ("memory", FailureCause.REJECTED),
    }


@pytest.mark.parametrize("turns", range(STOPS))
def test_a_run_that_stopped_anywhere_ends_in_the_same_digests(turns: int, undisturbed: Ran) -> None:
    """P4: stopped after any turn's call, and once more, it ends in the digests of the whole run."""
    first = go(MORE, Model(turns))
    assert first.result.state is RunState.PARTIAL
    second = go(MORE, Model(turns // 2), after=first)
    last = go(MORE, Model(), after=second)
    assert last.result.state is RunState.COMPLETED
    assert last.digests == undisturbed.digests


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the study in a real folder."""
    out = tmp_path_factory.mktemp("channels") / "run"
    assert _run(MORE.config(Act(), out)).state is RunState.COMPLETED
    return out


def _run(config: RunConfig) -> RunResult:
    def host_for(_models: Any, _currency: str) -> InferenceHost:
        roles = dict.fromkeys(("tier_a", "tier_b", "embed"), Respondent(Model(), None))
        return InferenceHost(roles, clock=SkippingClock(), retry=RetryPolicy(attempts_max=1))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly, "host_for", host_for)
        return asyncio.run(assembly.run_async(config, clock=SkippingClock()))


def test_a_folder_holds_what_memory_holds(folder: Path, undisturbed: Ran) -> None:
    """The run in a folder ends in the digest of the one in memory, and verifies."""
    report = verify(folder)
    assert report.is_sound, report.every_finding
    assert [world.digest for world in report.worlds] == undisturbed.digests


def test_a_record_comes_out_the_same(folder: Path) -> None:
    """Driven again from the record alone, with no model, every event is made again."""
    replayed = replay(folder, study_file=HERE / "study.yaml")
    assert not replayed.diverged, replayed.worlds
    (world,) = replayed.worlds
    with RunReader.open(folder) as reader:
        events = list(reader.events(world.world_id))
    assert (world.ticks, world.events) == (6, len(events))


PLANTED: dict[str, tuple[Any, str, Any, type]] = {
    "beliefs": (afterwards, "moved", lambda *_: None, GuardrailViolation),
    "relevance": (
        answering,
        "relevance",
        lambda memories, _: [1.0] * len(memories),
        Turn,
    ),
    "probes": (persona, "probed", lambda *_: None, Probed),
    "vectors": (afterwards, "pack", lambda _: b"\0" * 32, MemoryFormed),
    "strictness": (answering, "correction_text", lambda *_: "Well?", GuardrailViolation),
}


@pytest.mark.parametrize("name", PLANTED)
def test_another_agent_is_told_from_the_recorded_one(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of how personas believe, remember or are asked is found at an event of its kind."""
    module, attribute, other, kind = PLANTED[name]
    monkeypatch.setattr(module, attribute, other)
    (world,) = replay(folder, study_file=HERE / "study.yaml").worlds
    assert world.divergence is not None
    assert world.divergence.kind == KIND_OF[kind]
