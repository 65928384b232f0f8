"""What the rules of anomalies look at in one world: failures, answers, probes, interventions.

Only counts are kept, and for each the first few events that it is of.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from typing import ClassVar

from perdure.records.events import (
    BeliefsHeld,
    Event,
    InterventionApplied,
    Probed,
    Started,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.reaction import own_words
from perdure.records.record import Record

EVENTS_MAX = 5
_KEY_BYTES = 12


class Shared(Record):
    """The answer that most people gave in the same words: how many of how many, and its events."""

    question: str
    tick: int
    same: int
    answers: int
    events: tuple[int, ...]


class Incident(Record):
    """A count of something at a tick, of how many, and the first of its events by number."""

    tick: int
    count: int
    of: int
    events: tuple[int, ...] = ()


class WorldIncidents(Record):
    """What one world gave the rules to look at, tick by tick.

    `failures` are failed turns of all turns; `disagreed` probes whose answer is not what is known,
    of the scored ones; `moves` belief snapshots; `shared` the most common wording by question.
    `interventions` have their events. `first` is the number of the first event.
    """

    failures: tuple[Incident, ...]
    disagreed: tuple[Incident, ...]
    moves: tuple[Incident, ...]
    shared: tuple[Shared, ...]
    interventions: tuple[Incident, ...]
    first: int


class _Wordings:
    """How often each wording was given at a tick, by a key of its words alone."""

    def __init__(self) -> None:
        self.counts: Counter[bytes] = Counter()
        self.events: defaultdict[bytes, list[int]] = defaultdict(list)

    def add(self, text: str, seq: int) -> None:
        words = " ".join(text.casefold().split())
        key = hashlib.blake2b(words.encode(), digest_size=_KEY_BYTES).digest()
        self.counts[key] += 1
        if len(self.events[key]) < EVENTS_MAX:
            self.events[key].append(seq)


class _Tick:
    """What happened at the tick that is open."""

    def __init__(self) -> None:
        self.turns = 0
        self.failed: list[int] = []
        self.probes = 0
        self.disagreed: list[int] = []
        self.moves: list[int] = []
        self.interventions: list[int] = []
        self.wordings: defaultdict[str, _Wordings] = defaultdict(_Wordings)


class IncidentPass:
    """Follows one world as its events pass."""

    kinds: ClassVar[frozenset[type[Record]]] = frozenset(
        {Turn, TurnNotTaken, Probed, BeliefsHeld, InterventionApplied, Started, TickClosed}
    )

    def __init__(self) -> None:
        self._open = _Tick()
        self._failures: list[Incident] = []
        self._disagreed: list[Incident] = []
        self._moves: list[Incident] = []
        self._shared: list[Shared] = []
        self._interventions: list[Incident] = []
        self._first = -1

    def see(self, event: Event) -> None:
        """Take note of an event."""
        self._first = event.seq if self._first < 0 else self._first
        now = self._open
        match event.payload:
            case Turn(presentation=shown, answer=answer, reaction=reaction):
                now.turns += 1
                now.wordings[shown.question].add(own_words(answer, reaction), event.seq)
            case TurnNotTaken():
                now.failed.append(event.seq)
            case Probed(failed=None, choice=choice, code=code) if choice:
                now.probes += 1
                if choice != code:
                    now.disagreed.append(event.seq)
            case BeliefsHeld():
                now.moves.append(event.seq)
            case InterventionApplied():
                now.interventions.append(event.seq)
            case TickClosed():
                self._close(event.tick, now)
                self._open = _Tick()
            case _:
                pass

    def incidents(self) -> WorldIncidents:
        """Give what was seen."""
        return WorldIncidents(
            failures=tuple(self._failures),
            disagreed=tuple(self._disagreed),
            moves=tuple(self._moves),
            shared=tuple(self._shared),
            interventions=tuple(self._interventions),
            first=self._first,
        )

    def _close(self, tick: int, now: _Tick) -> None:
        def noted(events: list[int], of: int) -> Incident:
            return Incident(tick=tick, count=len(events), of=of, events=tuple(events[:EVENTS_MAX]))

        if jobs := now.turns + len(now.failed):
            self._failures.append(noted(now.failed, jobs))
        if now.probes:
            self._disagreed.append(noted(now.disagreed, now.probes))
        if now.moves:
            self._moves.append(noted(now.moves, len(now.moves)))
        if now.interventions:
            self._interventions.append(noted(now.interventions, len(now.interventions)))
        for question, wordings in now.wordings.items():
            # The first of equally common ones, in the order of the record.
            key, same = max(wordings.counts.items(), key=lambda item: item[1])
            self._shared.append(
                Shared(
                    question=question,
                    tick=tick,
                    same=same,
                    answers=wordings.counts.total(),
                    events=tuple(wordings.events[key]),
                )
            )
