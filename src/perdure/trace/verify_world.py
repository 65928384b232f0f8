"""Verifying one world: its chain, its blobs, its rules, and what others know of it."""

from __future__ import annotations

import re
from typing import NamedTuple

from perdure.base.canonical import sha256
from perdure.base.errors import DamagedRecordError, PerdureError
from perdure.records.events import Event, Head
from perdure.records.record import Record
from perdure.records.registry import LogHead, WorldEntry, WorldOutcome, WorldState
from perdure.trace.decoding import decode_event
from perdure.trace.reader import RunReader
from perdure.trace.rows import read_head, read_header
from perdure.trace.rules import Tally, cited
from perdure.trace.run_log import StoredLog
from perdure.trace.rungs import Moves, Rungs, moves_of, unlogged_rung
from perdure.trace.stored import WorldRows
from perdure.trace.verify_claims import MISSING
from perdure.trace.verify_registry import Finding
from perdure.trace.walk import Walker, walked

# Texts that many prompts share are looked up once; the memory of that has a limit.
_SEEN_MAX = 10_000
_SEQ_MAX = 2**63 - 1


class WorldReport(Record):
    """What verifying a world found: its events, its last tick, its hashes, and what is wrong.

    After a bad event, events, tick and hashes are those of the good ones before it. A world that
    has not started has no hashes. It is asked to go up to the tick `horizon` - 1.
    """

    world_id: str
    horizon: int
    events: int = 0
    tick: int = -1
    chain: str = ""
    digest: str = ""
    findings: tuple[Finding, ...] = ()


class Known(NamedTuple):
    """What is known of a world outside its partition. What is damaged is absent."""

    outcome: WorldOutcome | None
    witness: Head | None
    log: tuple[StoredLog, ...] | None
    moves: Moves
    personas: tuple[str, ...] | None


def check_world(reader: RunReader, entry: WorldEntry, known: Known) -> WorldReport:
    """Check one world of a run; the report names the first thing that is wrong."""
    name, horizon = entry.world_id, entry.horizon
    try:
        if not reader.has(name):
            absent = _findings(name, _wrongly_absent(known))
            return WorldReport(world_id=name, horizon=horizon, findings=absent)
        rows = reader.partition(name)
        walker = Walker(name, read_header(rows))
    except PerdureError as error:
        return WorldReport(world_id=name, horizon=horizon, findings=(Finding.of(error, name),))
    try:
        findings = _check(reader, rows, walker, entry, known)
    except PerdureError as error:
        findings = (Finding.of(error, name),)
    head = walker.head
    return WorldReport(
        world_id=name,
        horizon=horizon,
        events=head.seq + 1,
        tick=head.tick,
        chain=head.chain,
        digest=head.digest,
        findings=findings,
    )


def _check(
    reader: RunReader, rows: WorldRows, walker: Walker, entry: WorldEntry, known: Known
) -> tuple[Finding, ...]:
    name, tally, seen = entry.world_id, Tally(entry.horizon), set[str]()
    header = reader.header(name)
    if known.personas is not None and header.persona_ids != known.personas:
        return _findings(name, "Its header names other personas than the registry.")
    stored, log_head = _head(rows, walker)
    for row in walked(walker, rows.rows(stored.seq), stored, known.witness):
        seq, tick, kind, persona, content, payload, _ = row
        decoded = decode_event(kind, payload, name, seq)
        event = Event(seq=seq, tick=tick, payload=decoded, persona=persona, content=content)
        broken = tally.follow(event)
        wrong = f"The event breaks a rule: {broken}." if broken else None
        wrong = wrong or missing_blob(rows, cited(event), seen)
        if wrong is not None:
            return _findings(f"{name}:{seq}", wrong)
    if known.log is not None:
        reader.check_witness(name, walker.head)
    wrong = (
        next((wrong for key, data in rows.blobs() if (wrong := wrong_blob(key, data))), None)
        or _wrong_log(reader, log_head, known.log)
        or _wrong_rungs(reader, name, tally.rungs, known)
        or _wrong_outcome(known, walker.head, tally)
    )
    return _findings(name, wrong)


def _head(rows: WorldRows, walker: Walker) -> tuple[Head, LogHead]:
    """Read the head; where events are missing at the end, count the good ones before it."""
    try:
        return read_head(rows)
    except DamagedRecordError as error:
        try:
            for row in rows.rows(_SEQ_MAX):
                walker.step(row)
        except DamagedRecordError as earlier:
            if earlier.where != error.where:
                raise
        raise error from None


def _findings(where: str, wrong: str | None) -> tuple[Finding, ...]:
    return () if wrong is None else (Finding(where=where, wrong=wrong),)


def _wrongly_absent(known: Known) -> str | None:
    if known.witness is None and (known.outcome is None or known.outcome.tick < 0):
        return None
    return MISSING


def missing_blob(rows: WorldRows, names: tuple[str, ...], seen: set[str]) -> str | None:
    """Say which of the blobs that an event cites is missing; `seen` is kept between events."""
    for name in names:
        if name in seen:
            continue
        if not _is_hash(name) or not rows.has_blob(bytes.fromhex(name)):
            return f"The event cites the blob {name[:64]!r}, which is missing."
        if len(seen) >= _SEEN_MAX:
            seen.clear()
        seen.add(name)
    return None


def _is_hash(name: str) -> bool:
    return bool(re.fullmatch(r"[0-9a-f]{64}", name))


def wrong_blob(key: object, data: object) -> str | None:
    """Say that stored bytes do not match the hash that they are kept under."""
    if isinstance(data, bytes) and sha256(data) == key:
        return None
    shown = key.hex() if isinstance(key, bytes) else repr(key)
    return f"The blob {shown} does not match its hash."


def _wrong_log(
    reader: RunReader, log_head: LogHead, log: tuple[StoredLog, ...] | None
) -> str | None:
    if log is None or log_head.seq < 0:
        return None
    if log_head.seq >= len(log):
        log = reader.run_log()  # a run that is live has gone on since
    if log_head.seq < len(log) and log[log_head.seq].chain == log_head.chain:
        return None
    return f"It was written when the run log had a row {log_head.seq} that is not there now."


def _wrong_rungs(reader: RunReader, world_id: str, rungs: Rungs, known: Known) -> str | None:
    if known.log is None or unlogged_rung(world_id, rungs, known.moves) is None:
        return None
    # Read again: a run that is live has gone on since. What it logged then it has logged still.
    return unlogged_rung(world_id, rungs, moves_of(reader.log))


def _wrong_outcome(known: Known, head: Head, tally: Tally) -> str | None:
    outcome = known.outcome
    if outcome is None:
        return None
    if outcome.state is WorldState.COMPLETED and not tally.completed:
        return "The registry says that it is completed, and its record does not."
    if outcome.tick > head.tick:
        return f"The registry says that tick {outcome.tick} is closed, and its record does not."
    if outcome.tick < head.tick or outcome.state is WorldState.NOT_STARTED:
        return None
    if outcome.digest not in {"", head.digest}:
        return "The registry has another digest than the record."
    return (
        _wrong_turns(outcome, tally)
        or _wrong_cost(outcome, tally)
        or _wrong_noted_rungs(known, head, tally)
    )


def _wrong_noted_rungs(known: Known, head: Head, tally: Tally) -> str | None:
    outcome, witness = known.outcome, known.witness
    # A pause is no tick: a record that is ahead of its witness may have one that is not noted yet.
    if outcome is None or witness is None or witness.seq != head.seq:
        return None
    if outcome.rungs == tally.rungs:
        return None
    return "The registry has other rungs of it than its record."


def _wrong_turns(outcome: WorldOutcome, tally: Tally) -> str | None:
    if (outcome.turns, outcome.turns_failed) == (tally.turns, tally.turns_failed):
        return None
    return (
        f"The registry says {outcome.turns} turns and {outcome.turns_failed} failed ones; its"
        f" record has {tally.turns} and {tally.turns_failed}."
    )


def _wrong_cost(outcome: WorldOutcome, tally: Tally) -> str | None:
    cost, unknown = tally.cost, tally.unknown_costs
    if (outcome.cost, outcome.unknown_costs) == (cost, unknown):
        return None
    return (
        f"The registry says that it cost {outcome.cost} and {outcome.unknown_costs} unknown; the"
        f" record sums to {cost} and {unknown}."
    )
