"""What personas did with tools: what they asked for, what it came to, and how their turns ended.

A turn with tools is a drive, whose lines stand together in the record before the turn's own event.
It names the tools that it had, those outside the world last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import ClassVar, NamedTuple

from perdure.analysis.replicates import A_NUMBER, A_SHARE, Between, Sample, SeedWorld, between
from perdure.base.canonical import encode
from perdure.records.drive import EndCause, RunFrozen, RunStarted, ToolCalled, ToolResult
from perdure.records.events import Event, Payload
from perdure.records.record import Record
from perdure.records.tools import AnswerStatus, Effect

# What a line can be counted as.
HAD, ASKED, USED, NAMELESS = "had", "asked", "used", "nameless"
ANSWERED, EFFECT, ENDED = "answered", "effect", "ended"
LINES: tuple[type[Payload], ...] = (RunStarted, ToolCalled, ToolResult, RunFrozen)

TURNS_USED, CALLS = "used", "calls"
NOBODY_HAD_IT = "nobody had it"


class Outcomes(Record):
    """How many calls came to what: every status that an answer can have."""

    ok: int
    error: int
    refused: int
    unknown: int


assert set(Outcomes.__struct_fields__) == {str(status) for status in AnswerStatus}


class ToolCount(Record):
    """Calls of one tool that were asked for, by what they came to.

    `used` counts the turns that asked for it at least once, of `turns` that had it; `people` the
    personas of those turns, of `personas` who had it.
    """

    asked: int
    outcomes: Outcomes
    used: int
    turns: int
    people: int
    personas: int


class SeedTool(Record):
    """One tool in one world."""

    seed: int
    world_id: str
    count: ToolCount


class ToolFigures(Record):
    """One tool in a scenario: over the closed ticks of its worlds, each persona once, and by world.

    It is `outside` unless the world gives it. `between` has, over worlds at their end, `used`: the
    share of the turns that had it, and `calls`: per turn that had it.
    """

    tool: str
    outside: bool
    count: ToolCount
    by_seed: tuple[SeedTool, ...]
    between: Between


class Endings(Record):
    """How many turns of an agent with tools ended so, by cause, over the worlds of a scenario."""

    turns: int
    causes: dict[str, int]


class ToolUse(Record):
    """What was done with tools in the closed ticks of a scenario's worlds.

    Of the calls that were `asked` for, `nameless` are those of no tool that the turn had. `effects`
    are the calls of tools outside the world that may do more than read; absent if no turn had any
    tool outside.
    """

    scenario: str
    asked: int
    nameless: int
    endings: Endings
    effects: Outcomes | None
    tools: tuple[ToolFigures, ...]


class OnTool(NamedTuple):
    """Lines that are counted as `what`, of one tool or any, with one outcome or cause or any."""

    what: str
    tool: str = ""
    cause: str = ""


class ToolLine(NamedTuple):
    """What one line is counted as, of which tools, with which outcome or cause."""

    counts: tuple[str, ...]
    tools: tuple[str, ...] = ()
    cause: str = ""

    def is_meant(self, wanted: OnTool) -> bool:
        """Say whether a line is one that is wanted."""
        return (
            wanted.what in self.counts
            and wanted.tool in {"", *self.tools}
            and wanted.cause in {"", self.cause}
        )


class ToolLines:
    """Follows the drives of a world, line by line."""

    def __init__(self, outside: int) -> None:
        """Take how many of the tools of a turn are outside the world."""
        self._number = outside
        self.outside: frozenset[str] = frozenset()
        self._used: set[str] = set()
        self._open: dict[str, tuple[tuple[str, ...], bool]] = {}

    def line(self, payload: Payload) -> ToolLine | None:
        """Say what a line is counted as; None for what is no line of tools.

        A call without an effect is of no tool that there is: its name is the model's own, and is
        never counted by.
        """
        match payload:
            case RunStarted(tools=tools):
                self.outside = frozenset(tools[max(0, len(tools) - self._number) :])
                self._used.clear()
                self._open.clear()
                return ToolLine((HAD,), tools)
            case ToolCalled(call=call, effect=None):
                self._open[call.id] = (), False
                return ToolLine((ASKED, NAMELESS))
            case ToolCalled(call=call, effect=effect):
                acts = call.name in self.outside and effect is not Effect.READ
                self._open[call.id] = (call.name,), acts
                first = () if call.name in self._used else (USED,)
                self._used.add(call.name)
                return ToolLine((ASKED, *first), (call.name,))
            case ToolResult(call_id=call_id, status=status):
                tools, acts = self._open.pop(call_id, ((), False))
                return ToolLine((ANSWERED, *((EFFECT,) if acts else ())), tools, str(status))
            case RunFrozen(cause=cause):
                return ToolLine((ENDED,), cause=str(cause))
            case _:
                return None


class ToolsSeen(NamedTuple):
    """What was counted in a world, or in several: of any tool, and of each.

    `people` has a bit for each persona. `marks` are equal where the same people were answered the
    same by a tool, call by call.
    """

    tools: dict[str, None]
    outside: set[str]
    counts: Counter[OnTool]
    people: dict[OnTool, int]
    marks: Counter[str]


class ToolPass:
    """Follows the use of tools in one world as its events pass."""

    kinds: ClassVar[frozenset[type[Record]]] = frozenset(LINES)

    def __init__(self, places: Mapping[str, int], outside: int) -> None:
        """Take the place of each persona, and how many of a turn's tools are outside the world."""
        self.seen = ToolsSeen({}, set(), Counter(), {}, Counter())
        self._places = places
        self._lines = ToolLines(outside)

    def see(self, event: Event) -> None:
        """Take note of what a line says of tools."""
        line = self._lines.line(event.payload)
        if line is None:
            return
        seen = self.seen
        bit = 1 << self._places.get(event.persona, len(self._places))
        if HAD in line.counts:
            seen.tools.update(dict.fromkeys(line.tools))
            seen.outside.update(self._lines.outside)
        for what in line.counts:
            for tool in ("", *line.tools):
                for cause in {"", line.cause}:
                    seen.counts[OnTool(what, tool, cause)] += 1
        for tool in line.tools:
            for what in {HAD, USED}.intersection(line.counts):
                one = OnTool(what, tool)
                seen.people[one] = seen.people.get(one, 0) | bit
            if ANSWERED in line.counts:
                said = encode((event.persona, event.tick, line.cause))
                seen.marks[tool] += int.from_bytes(sha256(said).digest())


WorldTools = tuple[SeedWorld, ToolsSeen]


def tool_use(scenarios: Mapping[str, Sequence[WorldTools]]) -> tuple[ToolUse, ...]:
    """Sum up the use of tools by scenario; nothing where no turn of the run had any tool."""
    if not any(seen.tools for worlds in scenarios.values() for _, seen in worlds):
        return ()
    return tuple(_scenario(name, worlds) for name, worlds in scenarios.items())


def _scenario(name: str, worlds: Sequence[WorldTools]) -> ToolUse:
    every = ToolsSeen({}, set(), Counter(), {}, Counter())
    for _, seen in worlds:
        every.tools.update(seen.tools)
        every.outside.update(seen.outside)
        every.counts.update(seen.counts)
        for one, bits in seen.people.items():
            every.people[one] = every.people.get(one, 0) | bits
    counts = every.counts
    ended = ((cause, counts[OnTool(ENDED, cause=cause)]) for cause in EndCause)
    return ToolUse(
        scenario=name,
        asked=counts[OnTool(ASKED)],
        nameless=counts[OnTool(NAMELESS)],
        endings=Endings(
            turns=counts[OnTool(HAD)], causes={str(cause): n for cause, n in ended if n}
        ),
        effects=_outcomes(every, EFFECT) if every.outside else None,
        tools=tuple(
            ToolFigures(
                tool=tool,
                outside=tool in every.outside,
                count=_count(every, tool),
                by_seed=tuple(
                    SeedTool(seed=world.seed, world_id=world.world_id, count=_count(seen, tool))
                    for world, seen in worlds
                ),
                between=_between(worlds, tool),
            )
            for tool in every.tools
        ),
    )


def _outcomes(seen: ToolsSeen, what: str, tool: str = "") -> Outcomes:
    return Outcomes(
        **{str(status): seen.counts[OnTool(what, tool, status)] for status in AnswerStatus}
    )


def _count(seen: ToolsSeen, tool: str) -> ToolCount:
    had, used = OnTool(HAD, tool), OnTool(USED, tool)
    return ToolCount(
        asked=seen.counts[OnTool(ASKED, tool)],
        outcomes=_outcomes(seen, ANSWERED, tool),
        used=seen.counts[used],
        turns=seen.counts[had],
        people=seen.people.get(used, 0).bit_count(),
        personas=seen.people.get(had, 0).bit_count(),
    )


def _between(worlds: Sequence[WorldTools], tool: str) -> Between:
    last = max(world.horizon for world, _ in worlds) - 1
    samples = []
    for world, seen in worlds:
        turns = seen.counts[OnTool(HAD, tool)] if world.tick == last else None
        used, asked = (seen.counts[OnTool(what, tool)] for what in (USED, ASKED))
        samples.append(
            Sample(
                seed=world.seed,
                worlds=(world,),
                of=turns,
                values={TURNS_USED: used / turns, CALLS: asked / turns} if turns else {},
                answers=(turns, seen.marks[tool]),
                why=NOBODY_HAD_IT,
            )
        )
    return between(
        samples,
        (TURNS_USED, CALLS),
        tick=last,
        bounds=lambda figure: A_SHARE(figure) if figure == TURNS_USED else A_NUMBER(figure),
    )
