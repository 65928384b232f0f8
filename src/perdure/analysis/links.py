"""What an event cites, and what cites it, by the ids of events.

Content refers to stimuli by their own ids and to turns and memories by content number; here they
become ids that can be shown in turn. Later events are looked through for those that cite one, and
no more than `CITING_MAX` are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from perdure.analysis.whole_turn import event_id, publications
from perdure.records.events import (
    KIND_OF,
    AnswerGiven,
    Cost,
    Degraded,
    Event,
    ExposureDropped,
    Restored,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.record import Record
from perdure.records.registry import LOG_KIND_OF, RungLifted, RungTaken
from perdure.records.request import WORLD_JOB
from perdure.trace.lookup import Lookup
from perdure.trace.wanted import Span, Wanted

CITING_MAX = 20

_COSTS = (KIND_OF[Cost],)
_ANSWERS = (KIND_OF[AnswerGiven],)


class Link(Record):
    """An event that this one cites, or is cited by: its id, its kind, and how.

    `event` is `run log:<number>` where it is a row of the run log.
    """

    event: str
    kind: str
    how: str


class Links(Record):
    """What an event cites and what cites it; `more` says that not all that cite it are listed."""

    cites: tuple[Link, ...]
    cited_by: tuple[Link, ...]
    more: bool = False


def links_of(lookup: Lookup, event: Event) -> Links:
    """Find what an event cites, and what cites it.

    Raises:
        DamagedRecordError: one of those events is not what was written.

    """
    found = list(islice(_cited_by(lookup, event), CITING_MAX + 1))
    return Links(
        cites=tuple(_cites(lookup, event)),
        cited_by=tuple(found[:CITING_MAX]),
        more=len(found) > CITING_MAX,
    )


def _cites(lookup: Lookup, event: Event) -> Iterator[Link]:
    match event.payload:
        case StimulusPublished(stimulus=stimulus) if stimulus.reply_to:
            yield from _published(lookup, event, stimulus.reply_to, "it answers this message")
        case ExposureDropped(dropped=dropped):
            yield from _published(lookup, event, dropped.stimulus, "this message was not shown")
        case Cost(job=job, purpose=purpose) if job == WORLD_JOB:
            span = lookup.span_of(event.tick)
            for one in lookup.events(span, Wanted(kinds=_ANSWERS)):
                if isinstance(one.payload, AnswerGiven) and one.payload.purpose == purpose:
                    yield _link(lookup, one, "an answer that the world paid for, of this purpose")
        case Degraded() | Restored():
            yield from _logged(lookup, event)
        case TickClosed():
            span = lookup.span_of(event.tick)
            yield _link(lookup, lookup.event(span.first), "the first event of this tick")
        case _:
            pass


def _cited_by(lookup: Lookup, event: Event) -> Iterator[Link]:
    match event.payload:
        case StimulusPublished(stimulus=stimulus):
            yield from _shown_in(lookup, event, stimulus.id)
        case AnswerGiven(purpose=purpose):
            span = lookup.span_of(event.tick)
            for one in lookup.events(span, Wanted(kinds=_COSTS)):
                cost = one.payload
                if isinstance(cost, Cost) and (cost.job, cost.purpose) == (WORLD_JOB, purpose):
                    yield _link(lookup, one, "what the world paid, for this purpose")
        case _:
            pass


def _shown_in(lookup: Lookup, event: Event, stimulus: str) -> Iterator[Link]:
    later = Span(event.seq + 1, lookup.head.seq)
    for one in lookup.events(later, Wanted(text=msgspec.json.encode(stimulus))):
        match one.payload:
            case Turn(presentation=shown) | TurnNotTaken(presentation=shown):
                if stimulus in {exposure.stimulus for exposure in shown.impression.exposures}:
                    yield _link(lookup, one, f"it was shown to {one.persona}")
            case ExposureDropped(dropped=dropped) if dropped.stimulus == stimulus:
                yield _link(lookup, one, f"it was not shown to {one.persona}")
            case StimulusPublished(stimulus=other) if other.reply_to == stimulus:
                yield _link(lookup, one, "it answers this message")
            case _:
                pass


def _published(lookup: Lookup, event: Event, stimulus: str, how: str) -> Iterator[Link]:
    found = publications(lookup, event.seq, {stimulus}).get(stimulus)
    if found is not None:
        yield _link(lookup, found, how)


def _logged(lookup: Lookup, event: Event) -> Iterator[Link]:
    """Find the row of the run log that says that a rung was taken or lifted at this tick."""
    assert isinstance(event.payload, Degraded | Restored), "only these are about a rung"
    wanted = RungTaken if isinstance(event.payload, Degraded) else RungLifted
    rows = [
        number
        for number, row in enumerate(lookup.reader.log)
        if isinstance(row, wanted)
        and row.rung == event.payload.rung
        # A world that was let in late has it from its beginning on.
        and event.tick in {row.ticks.get(lookup.world_id, row.tick), 0}
    ]
    for number in rows[-1:]:
        yield Link(event=f"run log:{number}", kind=LOG_KIND_OF[wanted], how="the run's own word")


def _link(lookup: Lookup, event: Event, how: str) -> Link:
    return Link(event=event_id(lookup, event), kind=KIND_OF[type(event.payload)], how=how)
