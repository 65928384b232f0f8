"""What `perdure show` shows: an event, the turn that it belongs to, and whether its prompt follows.

Everything is read from the record; no code of the study's own is loaded.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from perdure.agent import Refused
from perdure.analysis.calendars import stamp
from perdure.analysis.links import Links, links_of
from perdure.analysis.place import place_of
from perdure.analysis.turn import Judged, Remembered, WholeTurn
from perdure.analysis.whole_turn import event_id, gather, remembered
from perdure.base.errors import DamagedRecordError, UsageError
from perdure.records.calendar import Calendar
from perdure.records.events import KIND_OF, Event, Payload
from perdure.records.persona import Persona
from perdure.records.presentation import Plan
from perdure.records.record import Record
from perdure.records.registry import WorldEntry
from perdure.records.request import Message
from perdure.records.scenario import Header
from perdure.runner.reassembly import Assembled, Standing, assemble, header_at
from perdure.trace.lookup import Lookup
from perdure.trace.reader import RunReader
from perdure.trace.rules import cited
from perdure.trace.scores import Scores, answers_of


class Shown(Record):
    """One event as it is shown.

    `turn` is the whole turn that it belongs to, `assembled` its prompt made again, and `remembered`
    what that tells of the past: as the turn says, else as the agent chose it, absent if nobody
    knows. For events of no turn there are `links` instead. `blobs` gives the size in bytes of what
    the event cites by hash, each checked. `date` is that of its tick, empty without a calendar.
    """

    run_id: str
    event: str
    kind: str
    tick: int
    tick_unit: str
    date: str
    calendar: Calendar | None
    persona: str
    content: int | None
    world: WorldEntry
    payload: Payload
    blobs: dict[str, int]
    turn: WholeTurn | None = None
    assembled: Assembled | None = None
    remembered: tuple[Remembered, ...] | None = None
    links: Links | None = None

    @property
    def differs(self) -> bool:
        """Whether the prompt of the turn does not follow from the record."""
        return self.assembled is not None and self.assembled.standing is Standing.DIFFERS


def look(reader: RunReader, name: str) -> Shown:
    """Find an event by its id, with all that belongs to it.

    Raises:
        UsageError: the run has no such event; names the nearest that it has.
        DamagedRecordError: what would be shown is not what was written.

    """
    world, seq = place_of(name, reader.worlds)
    lookup = Lookup.of(reader, world.world_id)
    if lookup is None or lookup.head.seq < 0:
        raise UsageError(
            f"World {world.world_id} has no event yet.", where="ID", remedy=_others(reader, world)
        )
    if seq > lookup.head.seq:
        raise _no_such(lookup, seq)
    return _shown(reader, lookup, world, lookup.event(seq))


def scored_again(shown: Shown, folder: Path, scores: Scores) -> Shown:
    """Show an answer with the score that it was given after the run, in the place of the record's.

    Raises:
        UsageError: the event belongs to no answer that was scored then.
        DamagedRecordError: the scores are not what was written.

    """
    asked, turn = scores.rescoring, shown.turn
    event = turn.event if turn is not None else ""
    for answer in answers_of(folder, asked.id):
        if turn is not None and f"{answer.world}:{answer.seq}" == event:
            labels = [asked.points[point] for point in asked.anchors.points]
            score = Judged(
                event=event,
                question=asked.question,
                choice="",
                label="",
                unscorable=answer.unscorable,
                masses=tuple(zip(labels, answer.masses, strict=False)),
                similarities=answer.similarities,
                scores=asked.id,
            )
            turn = msgspec.structs.replace(turn, score=score)
            return msgspec.structs.replace(shown, turn=turn)
    raise UsageError(
        f"The scores {asked.id} have none of this event: they are of answers to {asked.question}.",
        where="ID",
        remedy="Drop `--scores`, or name such an answer.",
    )


def _shown(reader: RunReader, lookup: Lookup, world: WorldEntry, event: Event) -> Shown:
    header = header_at(lookup, event.tick)
    turn = assembled = known = links = None
    if event.persona:
        persona = _persona(reader, lookup, event)
        turn = gather(lookup, event, header, persona)
        if turn is not None:
            outcome = lookup.event(int(turn.event.rpartition(":")[2]))
            assembled = _assembled(lookup, outcome, header, persona, turn)
            known = turn.recalled or _chosen(lookup, assembled)
    if turn is None:
        links = links_of(lookup, event)
    return Shown(
        run_id=reader.entry.run_id,
        event=event_id(lookup, event),
        kind=KIND_OF[type(event.payload)],
        tick=event.tick,
        tick_unit=header.scenario.tick_unit,
        date=stamp(header.scenario, event.tick),
        calendar=header.scenario.calendar,
        persona=event.persona,
        content=event.content,
        world=world,
        payload=event.payload,
        blobs={one: len(reader.blob(world.world_id, one)) for one in cited(event)},
        turn=turn,
        assembled=assembled,
        remembered=known,
        links=links,
    )


def _assembled(
    lookup: Lookup, outcome: Event, header: Header, persona: Persona, turn: WholeTurn
) -> Assembled:
    """Make the last prompt of a turn again: the one that was answered, if any was."""
    last = turn.prompts[-1] if turn.prompts else ()
    before = turn.violations[: len(turn.prompts) - 1]
    return assemble(
        lookup,
        outcome,
        header,
        persona,
        plan=turn.plan or Plan(),
        sent=[
            Message(role=one.role, content=one.text, calls=one.calls, call_id=one.call_id)
            for one in last
        ],
        refused=Refused(before[-1].rule, before[-1].answer) if before else None,
    )


def _chosen(lookup: Lookup, assembled: Assembled) -> tuple[Remembered, ...] | None:
    if assembled.standing is Standing.NOT_ASSEMBLED:
        return None
    return tuple(remembered(lookup, number) for number in assembled.recalled)


def _persona(reader: RunReader, lookup: Lookup, event: Event) -> Persona:
    for persona in reader.personas:
        if persona.id == event.persona:
            return persona
    raise DamagedRecordError(
        f"The event concerns {event.persona!r}, who is not in the population.",
        where=event_id(lookup, event),
    )


def _no_such(lookup: Lookup, seq: int) -> UsageError:
    """Say that there is no such event, and which is the nearest."""
    last = lookup.event(lookup.head.seq)
    return UsageError(
        f"World {lookup.world_id} has no event {seq}: so far its events are 0 to {last.seq}.",
        where="ID",
        remedy=f"The nearest is `{event_id(lookup, last)}`, the {KIND_OF[type(last.payload)]} of "
        f"tick {last.tick}.",
    )


def _others(reader: RunReader, world: WorldEntry) -> str:
    """Name a world of the run that has events, if there is one."""
    for one in reader.worlds:
        if one.world_id != world.world_id and reader.has(one.world_id):
            return f"Others have, such as `{one.world_id}:0`."
    return "`perdure status` says how far the run is."
