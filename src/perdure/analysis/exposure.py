"""What went on on the channels of one world: who was shown what, who did what, what was dropped.

An exposure is a message in a turn that was taken. Whom a message reached is kept as a bit for each
persona, so that nothing grows with the number of exposures.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import ClassVar

from perdure.analysis.concentration import first_tenth, gini
from perdure.records.events import (
    Event,
    ExposureDropped,
    StimulusPublished,
    Turn,
    TurnNotTaken,
)
from perdure.records.presentation import Presentation
from perdure.records.reaction import Reaction
from perdure.records.record import Record

NOTHING = "nothing"
_MARK_BYTES = 8
_MARKS = 1 << 64


class Message(Record):
    """One message on a channel, by the event that published it, and how far it came.

    `event` is that event's number in its world; `reached` counts personas, `exposures` also those
    who were shown it again.
    """

    stimulus: str
    event: int
    claim: str
    author: str
    tick: int
    exposures: int
    reached: int


class ChannelSeen(Record):
    """One channel of one world.

    `by_tick` counts exposures by the number of the tick, and `messages` how many messages had so
    many exposures, the most first; `gini` and `first_tenth` say how unequal that is. `most_shown`
    are those that were shown most. `reached` counts the personas who were shown anything, `told`
    those who were told something by another, `first_hand` those who were shown something that
    nobody told them. `claims` counts the personas whom each claim reached. `turns` were taken on
    the channel, `failed` not. `actions` counts what was done by name (`nothing` where something
    could have been), `rejected` what had no effect, by name and cause. `dropped` is by reason.
    `marks` are by tick, and equal where the same people were shown the same.
    """

    by_tick: dict[str, int]
    messages: dict[str, int]
    gini: float | None
    first_tenth: float | None
    most_shown: tuple[Message, ...]
    reached: int
    told: int
    first_hand: int
    claims: dict[str, int]
    turns: int
    failed: int
    actions: dict[str, int]
    rejected: dict[str, dict[str, int]]
    dropped: dict[str, int]
    marks: dict[str, str]

    @property
    def exposures(self) -> int:
        """How many exposures there were."""
        return sum(self.by_tick.values())


class _Channel:
    def __init__(self) -> None:
        self.by_tick: Counter[int] = Counter()
        self.marks: Counter[int] = Counter()
        self.exposures: Counter[str] = Counter()
        self.reached: defaultdict[str, int] = defaultdict(int)
        self.claims: defaultdict[str, int] = defaultdict(int)
        self.told = self.first_hand = 0
        self.turns = self.failed = 0
        self.actions: Counter[str] = Counter()
        self.rejected: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.dropped: Counter[str] = Counter()


class ExposurePass:
    """Follows the channels of one world as its events pass."""

    kinds: ClassVar[frozenset[type[Record]]] = frozenset(
        {StimulusPublished, ExposureDropped, Turn, TurnNotTaken}
    )

    def __init__(self, places: Mapping[str, int], *, named: int = 10) -> None:
        """Take the place of each persona; of each channel the `named` most shown are named."""
        self._places = places
        self._named = named
        self._published: dict[str, tuple[int, int, str, str]] = {}
        self._channels: defaultdict[str, _Channel] = defaultdict(_Channel)

    def see(self, event: Event) -> None:
        """Take note of what an event says of channels."""
        match event.payload:
            case StimulusPublished(stimulus=one):
                self._published[one.id] = (event.seq, event.tick, one.claim, one.author)
            case ExposureDropped(dropped=dropped):
                self._channels[dropped.channel].dropped[dropped.reason] += 1
            case Turn(presentation=shown, reaction=reaction):
                self._turn(event, shown, reaction)
            case TurnNotTaken(presentation=shown) if shown.impression.exposures:
                self._channels[shown.impression.channel].failed += 1
            case _:
                pass

    def channels(self) -> dict[str, ChannelSeen]:
        """Sum up every channel on which something was shown or dropped, in order of name."""
        return {name: self._seen(one) for name, one in sorted(self._channels.items())}

    def _turn(self, event: Event, shown: Presentation, reaction: Reaction | None) -> None:
        if not shown.impression.exposures and not shown.actions:
            return
        channel = self._channels[shown.impression.channel]
        channel.turns += 1
        bit = 1 << self._places.get(event.persona, len(self._places))
        for one in shown.impression.exposures:
            channel.by_tick[event.tick] += 1
            channel.exposures[one.stimulus] += 1
            channel.reached[one.stimulus] |= bit
            claim = self._published.get(one.stimulus, (0, 0, "", ""))[2]
            if claim:
                channel.claims[claim] |= bit
            if one.stimulus in shown.view.told_by:
                channel.told |= bit
            else:
                channel.first_hand |= bit
        mark = f"{event.persona}\x1f{[one.stimulus for one in shown.impression.exposures]}"
        digest = hashlib.blake2b(mark.encode(), digest_size=_MARK_BYTES).digest()
        channel.marks[event.tick] = (channel.marks[event.tick] + int.from_bytes(digest)) % _MARKS
        if reaction is not None and reaction.rejected is not None:
            channel.rejected[reaction.action][str(reaction.rejected)] += 1
        elif shown.actions:
            channel.actions[(reaction.done if reaction else "") or NOTHING] += 1

    def _seen(self, one: _Channel) -> ChannelSeen:
        ranked = sorted(one.exposures.items(), key=lambda item: (-item[1], item[0]))
        counts = [count for _, count in ranked]
        everybody = 0
        for bits in one.reached.values():
            everybody |= bits
        return ChannelSeen(
            by_tick={str(tick): count for tick, count in sorted(one.by_tick.items())},
            messages={str(count): number for count, number in Counter(counts).items()},
            gini=gini(counts),
            first_tenth=first_tenth(counts),
            most_shown=tuple(
                self._message(stimulus, count, one.reached[stimulus])
                for stimulus, count in ranked[: self._named]
            ),
            reached=everybody.bit_count(),
            told=one.told.bit_count(),
            first_hand=one.first_hand.bit_count(),
            claims={claim: bits.bit_count() for claim, bits in sorted(one.claims.items())},
            turns=one.turns,
            failed=one.failed,
            actions=dict(sorted(one.actions.items())),
            rejected={name: dict(sorted(c.items())) for name, c in sorted(one.rejected.items())},
            dropped=dict(sorted(one.dropped.items())),
            marks={str(tick): f"{mark:016x}" for tick, mark in sorted(one.marks.items())},
        )

    def _message(self, stimulus: str, count: int, bits: int) -> Message:
        event, tick, claim, author = self._published.get(stimulus, (-1, -1, "", ""))
        return Message(
            stimulus=stimulus,
            event=event,
            claim=claim,
            author=author,
            tick=tick,
            exposures=count,
            reached=bits.bit_count(),
        )
