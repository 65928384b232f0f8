"""The prompt of a recorded turn, assembled again from the events before it.

What is on record of a prompt is its text, by hash. Here the persona's state is rebuilt from its own
events, as a resume rebuilds it, and the persona agent words the prompt once more. Where both are
the same, byte for byte, the prompt follows from the record. No model is asked, nothing is written,
and no code of the study's own is loaded: what another agent sent can be read, not made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial

import msgspec

from perdure.agent import AGENT_VERSION, Refused, must_compare, prompt_of
from perdure.records.events import (
    KIND_OF,
    Event,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.persona import Memory, Persona
from perdure.records.presentation import Plan, Presentation, Said, TurnJob, WorldDelta
from perdure.records.record import Record
from perdure.records.registry import RunForced
from perdure.records.request import Message
from perdure.records.scenario import AGENT_WITH_TOOLS, AgentSettings, Header, Question
from perdure.records.study import Study
from perdure.runner.carried import Carried
from perdure.runner.difference import Differing, differing
from perdure.runner.past import past_ticks
from perdure.study.identity import header_as
from perdure.trace.lookup import Lookup
from perdure.trace.wanted import Span, Wanted

_OURS = (AgentSettings().agent, AGENT_WITH_TOOLS)
_STEPS = tuple(KIND_OF[kind] for kind in (StimulusPublished, TickClosed))


class Standing(StrEnum):
    """What was found of a prompt."""

    FOLLOWS = "follows"
    DIFFERS = "differs"
    OTHER_VERSION = "other_version"
    NOT_SENT = "not_sent"
    NOT_ASSEMBLED = "not_assembled"


class Assembled(Record):
    """A prompt assembled again, beside the one on record.

    `messages` are the prompt as assembled, and `recalled` the content numbers of the memories that
    it tells; both are empty if there is none. `why` says in a sentence what `standing` means here.
    `difference` is the first place where the two part.
    """

    standing: Standing
    why: str
    messages: tuple[Message, ...] = ()
    recalled: tuple[int, ...] = ()
    difference: Differing | None = None


def header_at(lookup: Lookup, tick: int) -> Header:
    """Give a world's header as it held at a tick: a run can be forced to go on under another study.

    Raises:
        DamagedRecordError: the record does not hold what was written.

    """
    header = lookup.reader.header(lookup.world_id)
    for row in lookup.reader.log:
        if isinstance(row, RunForced) and row.study and tick > row.ticks.get(lookup.world_id, -1):
            header = header_as(header, msgspec.json.decode(row.study, type=Study))
    return header


def assemble(
    lookup: Lookup,
    outcome: Event,
    header: Header,
    persona: Persona,
    *,
    plan: Plan,
    sent: Sequence[Message],
    refused: Refused | None = None,
) -> Assembled:
    """Assemble the prompt of a turn again and compare it with what was sent, if that is known.

    `outcome` is the turn, taken or failed; `header` and `plan` are those in force at its tick.
    `sent` is the last prompt of the turn, and `refused` the answer after which it was sent, if it
    was not the first.

    Raises:
        DamagedRecordError: the events before it do not hold what was written.

    """
    turn = outcome.payload
    assert isinstance(turn, Turn | TurnNotTaken), "only these have a prompt"
    if header.agent.agent not in _OURS:
        return Assembled(
            standing=Standing.NOT_ASSEMBLED,
            why=(
                f"The agent is the study's own ({header.agent.agent}), whose code is not loaded "
                "here, so the prompt is not made again."
            ),
        )
    job = _job(lookup, outcome, turn, header, persona)
    if isinstance(job, str):
        return Assembled(standing=Standing.NOT_ASSEMBLED, why=f"It cannot be made again: {job}.")
    recalled: list[Memory] | None = None
    if isinstance(turn, Turn) and turn.recalled:
        kept = {memory.number: memory for memory in job.state.memories}
        lost = [number for number in turn.recalled if number not in kept]
        if lost:
            return Assembled(
                standing=Standing.DIFFERS,
                why="The prompt does not follow from the record: it tells the memory with content "
                f"number {lost[0]}, which the persona does not have.",
                difference=Differing(field="recalled", was=str(lost[0]), now="nothing"),
            )
        recalled = [kept[number] for number in turn.recalled]
    elif isinstance(turn, TurnNotTaken) and must_compare(header, job.state.memories):
        return Assembled(
            standing=Standing.NOT_ASSEMBLED,
            why="It cannot be made again: which memories came to mind is not on record.",
        )
    prompted = prompt_of(job, header, plan, recalled=recalled, refused=refused)
    messages = () if prompted is None else prompted.messages
    found = Assembled(
        standing=Standing.FOLLOWS,
        why="",
        messages=messages,
        recalled=() if prompted is None else tuple(one.number for one in prompted.memories),
    )
    return msgspec.structs.replace(found, **_compared(lookup, sent, messages))


def _job(
    lookup: Lookup, outcome: Event, turn: Turn | TurnNotTaken, header: Header, persona: Persona
) -> TurnJob | str:
    """Make the job of a turn again; or say what is missing for it."""
    span = lookup.span_of(outcome.tick)
    carried = Carried(header, {persona.id: persona})
    before = Wanted(persona=persona.id, besides=_STEPS)
    events = lookup.events(Span(0, span.first - 1), before)
    for past in past_ticks(events, partial(lookup.reader.blob, lookup.world_id)):
        carried.relive(past)
    delta = _delta(lookup, span, outcome.tick, turn.presentation)
    carried.publish(delta)
    for exposure in turn.presentation.impression.exposures:
        if exposure.stimulus not in carried.stimuli:
            return f"the record has no message {exposure.stimulus!r}, which was shown"
    if turn.presentation.question not in carried.questions:
        return f"the study has no question {turn.presentation.question!r}"
    (job,) = carried.jobs(delta)
    earlier = _earlier(lookup, span, turn, carried.questions)
    return msgspec.structs.replace(job, index=turn.job, earlier=earlier)


def _earlier(
    lookup: Lookup, span: Span, turn: Turn | TurnNotTaken, questions: Mapping[str, Question]
) -> tuple[Said, ...]:
    """Give what was asked and answered before in the same interview."""
    shown = turn.presentation
    if shown.impression.exposures or shown.actions:
        return ()
    wanted = Wanted(persona=shown.persona, kinds=(KIND_OF[Turn],))
    return tuple(
        Said(question=questions[one.presentation.question].text, answer=one.answer)
        for event in lookup.events(span, wanted)
        if isinstance(one := event.payload, Turn)
        and one.job < turn.job
        and one.presentation.impression == shown.impression
        and not one.presentation.actions
    )


def _delta(lookup: Lookup, span: Span, tick: int, shown: Presentation) -> WorldDelta:
    published = lookup.events(span, Wanted(kinds=(KIND_OF[StimulusPublished],)))
    return WorldDelta(
        tick=tick,
        stimuli=tuple(
            event.payload.stimulus
            for event in published
            if isinstance(event.payload, StimulusPublished)
        ),
        presentations=(shown,),
    )


def _compared(
    lookup: Lookup, sent: Sequence[Message], messages: Sequence[Message]
) -> dict[str, object]:
    if not sent:
        why = "No prompt is on record with its outcome: the turn was not taken."
        if messages:
            why += " It is shown as it is assembled from the events before it."
        return {"standing": Standing.NOT_SENT, "why": why}
    found = difference_of(sent, messages)
    if found is None:
        return {
            "why": "The prompt follows from the record: assembled again from the events before it, "
            "it is the same, byte for byte."
        }
    was = lookup.reader.entry.versions.get("agent", str(AGENT_VERSION))
    if was != str(AGENT_VERSION):
        standing = Standing.OTHER_VERSION
        why = (
            f"It was made under version {was} of the persona agent; version {AGENT_VERSION} words "
            f"it otherwise: {found.told}."
        )
    else:
        standing = Standing.DIFFERS
        why = f"The prompt does not follow from the record: {found.told}."
    return {"standing": standing, "why": why, "difference": found}


def difference_of(sent: Sequence[Message], now: Sequence[Message]) -> Differing | None:
    """Find where two prompts first part; None if they are the same, byte for byte. Pure."""
    for place, (was, found) in enumerate(zip(sent, now, strict=False)):
        for name, left, right in (
            (f"prompt[{place}].role", was.role, found.role),
            (f"prompt[{place}]", was.content, found.content),
            (f"prompt[{place}].calls", was.calls, found.calls),
            (f"prompt[{place}].call_id", was.call_id, found.call_id),
        ):
            if left != right:
                return differing(name, left, right)
    if len(sent) != len(now):
        return differing("the number of messages", len(sent), len(now))
    return None
