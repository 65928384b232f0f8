"""What must be true of a run that was killed: of its record, given what it had told before.

Everything here goes by the two sides of the run alone: what left it (facts, told at the moment)
and what is in its folder in the end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec
from tests.crash.whole.facts import Fact

from perdure.base.errors import EXIT_DONE
from perdure.records.drive import ToolCalled, ToolResult
from perdure.records.events import Cost
from perdure.records.record import Record
from perdure.records.registry import CallsLost, CallsOrphaned, TickDiscarded
from perdure.records.tools import AnswerStatus
from perdure.trace.reader import RunReader
from perdure.trace.verify import verify

Place = tuple[str, int]

_END = {"RunPaused", "RunClosed"}


class Standing(Record):
    """Where a world ended: what a kill must not change."""

    world_id: str
    state: str
    tick: int
    turns: int
    turns_failed: int
    calls: int
    digest: str


class End(Record):
    """What a run came to: its worlds, and how many rows of each kind its log has."""

    worlds: tuple[Standing, ...]
    rows: dict[str, int]
    cost: int


@dataclass
class Sitting:
    """What one sitting told, place by place."""

    act: int
    epoch: int = -1
    status: int | None = None
    ending: bool = False
    ended: bool = False
    forced: bool = False
    opening: set[Place] = field(default_factory=set)
    opened: set[Place] = field(default_factory=set)
    closing: set[Place] = field(default_factory=set)
    closed: set[Place] = field(default_factory=set)
    counts: dict[Place, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


class Books(NamedTuple):
    """What is in the folder: rows of the log, and what the closed ticks' calls cost."""

    end: End
    log: tuple[object, ...]
    costs: dict[Place, list[int | None]]
    chains: dict[tuple[str, int], str]
    closed: set[Place]
    # By how they ended: what calls of the tool outside that acts said, and in which worlds.
    acted: dict[str, Counter[str]]
    unknown_in: set[str]


def read_books(folder: Path, facts: Sequence[Fact]) -> tuple[Books, list[str]]:
    """Read a run, and give what is wrong with its record by itself."""
    report = verify(folder)
    wrong = [f"{one.where}: {one.wrong}" for one in report.every_finding]
    costs: dict[Place, list[int | None]] = defaultdict(list)
    chains: dict[tuple[str, int], str] = {}
    closed: set[Place] = set()
    acted: dict[str, Counter[str]] = defaultdict(Counter)
    unknown_in: set[str] = set()
    asked = {(fact[1], fact[3]) for fact in facts if fact[0] == "closed"}
    with RunReader.open(folder) as reader:
        log = reader.log
        outcomes = [reader.outcomes[world.world_id] for world in reader.worlds]
        for world in reader.worlds:
            name = world.world_id
            called = {}
            for event in reader.events(name):
                closed.add((name, event.tick))
                line = event.payload
                if isinstance(line, ToolCalled):
                    called[event.tick, line.run, line.call.id] = line.call
                elif isinstance(line, ToolResult) and line.name == "append_line":
                    call = called[event.tick, line.run, line.call_id]
                    acted[line.status][call.arguments] += 1
                    if line.status is AnswerStatus.UNKNOWN:
                        unknown_in.add(name)
                if isinstance(event.payload, Cost):
                    costs[name, event.tick].append(event.payload.amount)
            if reader.has(name):
                rows = reader.rows(name)
                chains |= {(name, q): h.hex() for q, *_, h in rows if (name, q) in asked}
    charged = sum(row.cost for row in log if isinstance(row, CallsLost | CallsOrphaned))
    end = End(
        worlds=tuple(
            Standing(
                world_id=one.world_id,
                state=one.state,
                tick=one.tick,
                turns=one.turns,
                turns_failed=one.turns_failed,
                calls=one.calls,
                digest=one.digest,
            )
            for one in outcomes
        ),
        rows=dict(Counter(type(row).__name__ for row in log)),
        cost=charged + sum(amount or 0 for found in costs.values() for amount in found),
    )
    return Books(end, log, costs, chains, closed, acted, unknown_in), wrong


def sittings(facts: Sequence[Fact]) -> list[Sitting]:
    """Sort facts by the sitting that told them."""
    found: list[Sitting] = []
    for fact in facts:
        word = fact[0]
        if word == "sat":
            found.append(Sitting(act=fact[1]))
            continue
        sitting = found[-1]
        if word in {"claiming", "claimed"}:
            sitting.epoch = fact[1]
        elif word == "ended":
            sitting.status = fact[1]
        elif word == "logging":
            sitting.ending |= fact[1] in _END
            sitting.forced |= fact[1] == "RunForced"
        elif word == "logged":
            sitting.ended |= fact[1] in _END
        else:
            _note(sitting, fact)
    return found


def _note(sitting: Sitting, fact: Fact) -> None:
    word, place = fact[0], (fact[1], fact[2])
    if word == "opened":
        if fact[3]:
            sitting.opened.add(place)
    elif word in {"opening", "closing", "closed"}:
        getattr(sitting, word).add(place)
    else:
        sitting.counts[place][word] += 1


def judge(folder: Path, facts: Sequence[Fact], whole: End | None) -> tuple[End, list[str]]:
    """Say what is wrong with a run that came to its end; `whole` is how it ends undisturbed."""
    books, wrong = read_books(folder, facts)
    told = sittings(facts)
    wrong += _ticks_kept(books, facts)
    wrong += _asked_again(facts)
    wrong += _discarded(books, told)
    wrong += _lost(books, told)
    wrong += _charged(books, facts)
    wrong += _acted(books, facts)
    if whole is not None:
        is_worlds, whole_worlds = (
            _told(end.worlds, books.unknown_in) for end in (books.end, whole)
        )
        if is_worlds != whole_worlds:
            wrong.append(f"it ends in {is_worlds}, not in {whole_worlds}")
    return books.end, wrong


def _told(worlds: Sequence[Standing], unknown_in: set[str]) -> list[Standing]:
    """Leave out the digest of a world in which the outcome of an effect is not known."""
    return [
        msgspec.structs.replace(one, digest="") if one.world_id in unknown_in else one
        for one in worlds
    ]


def _acted(books: Books, facts: Sequence[Fact]) -> Iterator[str]:
    """P4: nothing is done outside twice; what was done is on record as done, or as unknown."""
    did = Counter(fact[2] for fact in facts if fact[0] == "did" and fact[1] == "append_line")
    for what, count in did.items():
        if count > 1:
            yield f"{what} was done {count} times outside"
    done = books.acted[AnswerStatus.OK]
    for what in done - did:
        yield f"{what} is on record as done outside, and was not"
    for what in did - done - books.acted[AnswerStatus.UNKNOWN]:
        yield f"{what} was done outside, and is not on record"


def _ticks_kept(books: Books, facts: Sequence[Fact]) -> Iterator[str]:
    """P1: a tick that was acknowledged is there as it was, and was never made again."""
    closed = [fact for fact in facts if fact[0] == "closed"]
    for _, world, tick, seq, chain in closed:
        if books.chains.get((world, seq)) != chain:
            yield f"the acknowledged tick {tick} of {world} is not there"
    again = [place for place, n in Counter((f[1], f[2]) for f in closed).items() if n > 1]
    for world, tick in again:
        yield f"the acknowledged tick {tick} of {world} was made again"


def _asked_again(facts: Sequence[Fact]) -> Iterator[str]:
    """P3: an attempt that was acknowledged as final is never made again for the same request."""
    request: dict[tuple[str, int, str], str] = {}
    final: set[tuple[str, int, str, str]] = set()
    for fact in facts:
        if fact[0] == "sent":
            _, world, tick, call, _, digest = fact
            request[world, tick, call] = digest
            if (world, tick, call, digest) in final:
                yield f"the finished call {call} of tick {tick} of {world} was made again"
        elif fact[0] == "settled" and fact[5]:
            _, world, tick, call, *_ = fact
            final.add((world, tick, call, request[world, tick, call]))
        elif fact == ("logging", "RunForced"):
            final.clear()  # what was forced gives up every open tick, and pays for it again


def _discarded(books: Books, told: Sequence[Sitting]) -> Iterator[str]:
    """P9: a tick that was open at a kill is discarded, once for each sitting that lost it."""
    rows = [row for row in books.log if isinstance(row, TickDiscarded)]
    found = Counter((row.world_id, row.tick, row.epoch) for row in rows)
    for (world, tick, epoch), count in found.items():
        if count > 1:
            yield f"tick {tick} of {world} is discarded {count} times for epoch {epoch}"
    must, may = set[tuple[str, int, int]](), set[tuple[str, int, int]]()
    for sitting in told:
        was_clean = sitting.ended or (sitting.status == EXIT_DONE)
        counts = sitting.counts.items()
        worked = {place for place, n in counts if n["intended"] or n["effect intended"]}
        tried = {place for place, n in counts if n["intending"] or n["effect intending"]}
        if not was_clean:
            open_then = (sitting.opening | tried) - sitting.closed
            may |= {(*place, sitting.epoch) for place in open_then}
        if not was_clean and not sitting.ending:
            lost = (sitting.opened | worked) - sitting.closing
            must |= {(*place, sitting.epoch) for place in lost}
    # The last sitting is nobody's loss yet.
    must = {loss for loss in must if told and loss[2] != told[-1].epoch}
    for loss in must - set(found):
        yield f"the loss of (world, tick, epoch) {loss} is not recorded"
    for loss in set(found) - may:
        yield f"(world, tick, epoch) {loss} is recorded as lost, and was not"


def _lost(books: Books, told: Sequence[Sitting]) -> Iterator[str]:
    """P3: calls in flight at a kill are charged as lost, once; no others are."""
    rows = [row for row in books.log if isinstance(row, CallsLost)]
    found = {(row.world_id, row.tick, row.epoch): row.calls for row in rows}
    if len(found) < len(rows):
        yield "lost calls are charged twice"
    known: set[tuple[str, int, int]] = set()
    for sitting in told[:-1]:
        for place, count in sitting.counts.items():
            key = (*place, sitting.epoch)
            known.add(key)
            least = count["intended"] - count["settling"]
            most = count["intending"] - count["settled"]
            if not least <= found.get(key, 0) <= most:
                yield f"{found.get(key, 0)} calls of {key} are lost, not {least} to {most}"
    for key in set(found) - known:
        yield f"calls of {key} are charged as lost that nobody made"


class _Paid:
    """What the attempts of one tick may have cost, and how many there were, by what was told."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.least = self.most = 0
        self._attempts: dict[tuple[str, int], tuple[int, int]] = {}

    def note(self, fact: Fact) -> None:
        """Take in a fact about this tick."""
        word = fact[0]
        self.made[word] += 1
        if word == "billed":
            self.least += fact[3]
        elif word == "intending":
            self._attempts[fact[3], fact[4]] = (fact[5], fact[5])
            self.most += fact[5]
        elif word == "settling":
            self._attempts[fact[3], fact[4]] = (self._attempts[fact[3], fact[4]][0], fact[5])
        elif word == "settled":
            worst, amount = self._attempts[fact[3], fact[4]]
            self.most += amount - worst


def _charged(books: Books, facts: Sequence[Fact]) -> Iterator[str]:
    """P3: every attempt is paid for once: in its tick, or as lost, or as orphaned."""
    rows = [row for row in books.log if isinstance(row, CallsLost | CallsOrphaned)]
    orphaned = [(r.world_id, r.tick, r.epoch) for r in rows if isinstance(r, CallsOrphaned)]
    if len(set(orphaned)) < len(orphaned):
        yield "orphaned calls are charged twice"
    told: dict[Place, _Paid] = defaultdict(_Paid)
    for fact in facts:
        if fact[0] in {"billed", "sent", "intending", "settling", "settled"}:
            told[fact[1], fact[2]].note(fact)
    for place in books.closed:
        costs, paid = books.costs.get(place, []), told[place]
        extra = [row for row in rows if (row.world_id, row.tick) == place]
        calls = len(costs) + sum(row.calls for row in extra)
        if not paid.made["sent"] <= calls <= paid.made["intending"]:
            between = f"{paid.made['sent']} to {paid.made['intending']}"
            yield f"{place}: {calls} attempts are paid for, not {between}"
        amount = sum(one or 0 for one in costs) + sum(row.cost for row in extra)
        if not paid.least <= amount <= paid.most:
            yield f"{place}: {amount} is paid, not {paid.least} to {paid.most}"
