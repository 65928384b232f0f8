"""A record that holds every kind of event, written by the store's own writers.

Of its two worlds, one has two ticks, in which a persona sees, remembers, acts, believes, reflects
and is probed.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

from perdure.agent import Refused, prompt_of
from perdure.base.canonical import encode
from perdure.population import load_study
from perdure.records.budget import Rung
from perdure.records.events import (
    IS_CONTENT,
    KIND_OF,
    AnswerGiven,
    Batch,
    BeliefsHeld,
    Cost,
    Degraded,
    Event,
    ExposureDropped,
    GuardrailViolation,
    Head,
    InterventionApplied,
    MemoryFormed,
    Payload,
    Probed,
    PromptPart,
    Reflected,
    ScoreGiven,
    Started,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.outcome import Rule, TurnFailureCause
from perdure.records.persona import Memory, Persona, PersonaState
from perdure.records.presentation import (
    DroppedExposure,
    Exposure,
    Impression,
    Intervention,
    Plan,
    Presentation,
    Stimulus,
    TurnJob,
    View,
)
from perdure.records.reaction import Action, Change, Reaction, Rejection
from perdure.records.registry import RunEntry, RungTaken, WorldOutcome, WorldState
from perdure.records.request import FailureCause, Message
from perdure.records.scenario import Header
from perdure.records.usage import CostSource, Usage
from perdure.study.identity import expand, input_hashes
from perdure.trace.partition import PartitionWriter
from perdure.trace.registry import Registry

FIRST = Stimulus(id="m1", kind="post", text="Ann is honest.", claim="C1", author="p3")
REPLY = Stimulus(
    id="m2", kind="reply", text="She is not.", claim="C1", author="p4", reply_to="m1", stance="bob"
)
# Content numbers of the memories of `p0` and of `p1`: a message, an intervention, what was dropped
# and an answer are 0 to 3; then there is a turn and its memory of each.
OWN_MEMORY, OTHERS_MEMORY = 5, 7
MEMORY = Memory(tick=0, text="I saw the message.", importance=0.5, claim="C1")


class Tick:
    """The events of one tick as they are added, and the texts that they cite."""

    def __init__(self, tick: int, head: Head) -> None:
        self.tick = tick
        self._seq, self._content = head.seq + 1, head.content
        self.events: list[Event] = []
        self.blobs: dict[str, bytes] = {}

    def add(self, payload: Payload, persona: str = "") -> int:
        """Add an event; give its content number, or -1."""
        number = self._content if IS_CONTENT[KIND_OF[type(payload)]] else None
        event = Event(
            seq=self._seq, tick=self.tick, payload=payload, persona=persona, content=number
        )
        self.events.append(event)
        self._seq += 1
        self._content += number is not None
        return -1 if number is None else number

    def blob(self, data: bytes) -> str:
        """Keep bytes; give their hash."""
        name = hashlib.sha256(data).hexdigest()
        self.blobs[name] = data
        return name

    def prompt(self, messages: Sequence[Message]) -> tuple[PromptPart, ...]:
        """Keep a prompt; give its references."""
        return tuple(
            PromptPart(role=one.role, sha256=self.blob(one.content.encode())) for one in messages
        )

    def batch(self) -> Batch:
        """Close the tick."""
        return Batch(events=tuple(self.events), blobs=self.blobs)


def record_whole(
    study_file: Path, folder: Path, *, words: str = "", recalls: int = OWN_MEMORY
) -> str:
    """Record the run; give the id of its first world.

    `words` are added to everything that anybody says or is called. The last turn says that it
    recalls the memory with the content number `recalls`.
    """
    return asyncio.run(_record(study_file, folder, words, recalls=recalls))


async def _record(study_file: Path, folder: Path, words: str, *, recalls: int) -> str:
    loaded = load_study(study_file)
    cells = expand(loaded.study, loaded.population)
    registry = await Registry.create(
        folder,
        entry=RunEntry(
            format=1,
            run_id="0123456789ab",
            study=encode(loaded.study).decode(),
            study_path=str(study_file),
            study_path_relative="../study.yaml",
            hashes=input_hashes(loaded.study, loaded.population, loaded.held_out),
            currency=loaded.study.currency,
        ),
        worlds=[cell.entry for cell in cells],
        personas=loaded.population.personas,
        held_out=loaded.held_out.values,
    )
    await registry.log(RungTaken(rung=Rung.WARN, tick=1))
    world = cells[0].entry.world_id
    path = folder / "worlds" / f"{world}.db"
    partition = await PartitionWriter.create(path, cells[0].header, registry.epoch)
    people = {persona.id: persona for persona in loaded.population.personas}
    for tick in range(2):
        made = Tick(tick, partition.head)
        if tick == 0:
            _first(made, cells[0].header, people, words)
        else:
            _second(made, cells[0].header, people, words, recalls)
        log_head = registry.log_head
        head = await partition.append(made.batch(), epoch=registry.epoch, log_head=log_head)
        outcome = WorldOutcome(world_id=world, state=WorldState.PARTIAL, tick=tick)
        await registry.witness(world, head, outcome)
    await partition.close()
    await registry.close()
    return world


def _job(
    header: Header, persona: Persona, tick: int, shown: Presentation, state: PersonaState
) -> TurnJob:
    return TurnJob(
        index=0,
        tick=tick,
        persona=persona,
        state=state,
        presentation=shown,
        shown=tuple({"m1": FIRST, "m2": REPLY}[one.stimulus] for one in shown.impression.exposures),
        question=next(one for one in header.questions if one.id == shown.question),
    )


def _messages(job: TurnJob, header: Header, refused: Refused | None = None) -> tuple[Message, ...]:
    prompted = prompt_of(job, header, Plan(), refused=refused)
    assert prompted is not None
    return prompted.messages


def _first(tick: Tick, header: Header, people: dict[str, Persona], words: str) -> None:
    tick.add(Started())
    tick.add(StimulusPublished(stimulus=FIRST))
    tick.add(InterventionApplied(intervention=Intervention(kind="promote", detail=f"m1{words}")))
    tick.add(
        ExposureDropped(
            dropped=DroppedExposure(persona="p0", stimulus="m1", channel="forum", reason="budget")
        ),
        "p0",
    )
    tick.add(AnswerGiven(purpose="rank", vectors=tick.blob(bytes(8)), count=2))
    tick.add(_cost(-1, "rank", amount=7))
    for job, name in enumerate(("p0", "p1")):
        shown = Presentation(
            persona=name,
            impression=Impression(
                channel="feed", exposures=(Exposure(stimulus="m1", reason="hot"),)
            ),
            question="reaction",
        )
        prompt = tick.prompt(
            _messages(_job(header, people[name], 0, shown, PersonaState()), header)
        )
        turn = tick.add(
            Turn(job=job, presentation=shown, prompt=prompt, answer=f"I see.{words}"), name
        )
        tick.add(MemoryFormed(turn=turn, memory=MEMORY), name)
        tick.add(_cost(job, "turn", amount=1_000), name)
    tick.add(TickClosed(plan=Plan(), jobs=2))


def _second(
    tick: Tick, header: Header, people: dict[str, Persona], words: str, recalls: int
) -> None:
    tick.add(Degraded(rung=Rung.WARN))
    tick.add(StimulusPublished(stimulus=REPLY))
    shown = Presentation(
        persona="p0",
        impression=Impression(
            channel="feed",
            exposures=(
                Exposure(stimulus="m2", reason="a tie", attention=0.75),
                Exposure(stimulus="m1", reason="hot", attention=0.0),
            ),
        ),
        question="vote",
        view=View(
            counts={"m2": {"like": 3}},
            ties={"m2": 0.4},
            told_by={"m2": f"p5{words}"},
            near=("m2",),
            threads={"m2": ("m1",)},
        ),
        actions=(Action(name="like"), Action(name="reply", says=True)),
    )
    tick.add(
        ExposureDropped(
            dropped=DroppedExposure(persona="p0", stimulus="m1", channel="feed", reason="old")
        ),
        "p0",
    )
    state = PersonaState(memories=(MEMORY,))
    job = _job(header, people["p0"], 1, shown, state)
    first = _messages(job, header)
    broken = Refused(Rule.NOT_SHOWN, f"m9!{words}")
    prompt, stricter = tick.prompt(first), tick.prompt(_messages(job, header, broken))
    tick.add(GuardrailViolation(job=0, rule=broken.rule, prompt=prompt, answer=broken.answer), "p0")
    turn = tick.add(
        Turn(
            job=0,
            presentation=shown,
            prompt=stricter,
            answer=f"No!{words}\nAction: shout",
            recalled=(recalls,),
            reaction=Reaction(
                action="shout",
                stimulus="m2",
                words=f"No!{words}",
                change=Change.MUCH_LESS,
                rejected=Rejection.NOT_ACCEPTED,
            ),
        ),
        "p0",
    )
    tick.add(MemoryFormed(turn=turn, memory=Memory(tick=1, text="Quarrel.", importance=0.4)), "p0")
    tick.add(BeliefsHeld(turn=turn, beliefs={"C1": -2}), "p0")
    tick.add(Reflected(turn=turn, prompt=stricter, failed=FailureCause.TIMEOUT), "p0")
    tick.add(
        Probed(turn=turn, attribute="lean", code="0", prompt=stricter, answer="right", choice="1"),
        "p0",
    )
    tick.add(ScoreGiven(turn=turn, question="vote", choice="bob"), "p0")
    tick.add(_cost(0, "turn", amount=None, failed=FailureCause.SERVER_ERROR), "p0")
    tick.add(_cost(0, "turn", amount=2_000, attempt=1), "p0")
    other = Presentation(persona="p1", impression=Impression(channel="survey"), question="vote")
    tick.add(
        TurnNotTaken(
            job=1,
            presentation=other,
            cause=TurnFailureCause.CALL_FAILED,
            call=FailureCause.TIMEOUT,
        ),
        "p1",
    )
    tick.add(_cost(1, "turn", amount=None, failed=FailureCause.TIMEOUT), "p1")
    tick.add(TickClosed(plan=Plan(activation=0.5), jobs=2, unanswered=1))


def _cost(
    job: int,
    purpose: str,
    *,
    amount: int | None,
    attempt: int = 0,
    failed: FailureCause | None = None,
) -> Cost:
    return Cost(
        job=job,
        purpose=purpose,
        ordinal=0,
        attempt=attempt,
        role="tier_a",
        model="m",
        source=CostSource.UNKNOWN if amount is None else CostSource.PRICE_TABLE,
        amount=amount,
        usage=None if amount is None else Usage(input_fresh=10, output=2),
        failed=failed,
    )
