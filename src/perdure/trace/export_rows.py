"""The rows of an export: from a world's events, tick by tick, to one row per turn. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perdure.records.drive import ToolCalled, ToolResult, job_of
from perdure.records.events import (
    KIND_OF,
    Cost,
    Event,
    ScoreGiven,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.reaction import Reaction
from perdure.records.registry import RunEntry, WorldEntry
from perdure.records.scenario import Scenario
from perdure.trace.parquet_table import Row
from perdure.trace.sealing import Row as Stored

# The purpose of the call that a persona reflects with, which is not part of its turn's answer.
REFLECTION = "reflection"
TOOL_KINDS = tuple(KIND_OF[kind] for kind in (ToolCalled, ToolResult, Turn, TurnNotTaken))


def event_row(run_id: str, world_id: str, stored: Stored) -> Row:
    """Give the row of an event as it is stored. Its payload has been decoded: it is JSON."""
    seq, tick, kind, persona, content, payload, chain = stored
    return {
        "run": run_id,
        "world": world_id,
        "seq": seq,
        "tick": tick,
        "kind": kind,
        "persona": persona or None,
        "content": content,
        "payload": payload.decode(),
        "hash": chain,
    }


def turn_rows(
    entry: RunEntry, world: WorldEntry, scenario: Scenario, events: Iterable[Event]
) -> Iterator[Row]:
    """Give one row per turn, taken or failed, in the order of the record."""
    fixed = {
        "run": entry.run_id,
        "world": world.world_id,
        "scenario": world.scenario,
        "variant": world.variant,
        "seed": world.replicate_seed,
        "currency": entry.currency,
    }
    claims: dict[str, str] = {}
    tick: list[Event] = []
    for event in events:
        if isinstance(event.payload, StimulusPublished):
            claims[event.payload.stimulus.id] = event.payload.stimulus.claim
        tick.append(event)
        if isinstance(event.payload, TickClosed):
            yield from _tick_rows(fixed, scenario, claims, tick)
            tick = []


def tool_rows(entry: RunEntry, world: WorldEntry, events: Iterable[Event]) -> Iterator[Row]:
    """Give one row per call of a tool, in the order of the record.

    `events` are at least those of `TOOL_KINDS`.
    """
    fixed = {
        "run": entry.run_id,
        "world": world.world_id,
        "scenario": world.scenario,
        "variant": world.variant,
        "seed": world.replicate_seed,
    }
    called: dict[int, list[ToolCalled]] = {}
    answered: dict[tuple[int, int, str], ToolResult] = {}
    for event in events:
        line = event.payload
        if isinstance(line, ToolCalled):
            called.setdefault(job_of(line.run), []).append(line)
        elif isinstance(line, ToolResult):
            answered[job_of(line.run), line.turn, line.call_id] = line
        elif isinstance(line, Turn | TurnNotTaken):
            taken = list(line.did) if isinstance(line, Turn) else []
            for place, one in enumerate(called.pop(line.job, ())):
                answer = answered.pop((line.job, one.turn, one.call.id))
                took_effect = one.call in taken
                if took_effect:
                    taken.remove(one.call)
                yield {
                    **fixed,
                    "tick": event.tick,
                    "job": line.job,
                    "persona": event.persona,
                    "place": place,
                    "reply": one.turn,
                    "tool": one.call.name,
                    "effect": None if one.effect is None else one.effect.value,
                    "arguments": one.call.arguments,
                    "status": answer.status.value,
                    "answer": answer.text,
                    "dropped": answer.dropped,
                    "took_effect": took_effect,
                }


def _tick_rows(
    fixed: Row, scenario: Scenario, claims: dict[str, str], tick: list[Event]
) -> Iterator[Row]:
    moment = scenario.moment(tick[0].tick)
    fixed = fixed if moment is None else {**fixed, "date": moment.stamp}
    scores: dict[int, ScoreGiven] = {}
    costs: dict[int, list[Cost]] = {}
    for event in tick:
        if isinstance(event.payload, ScoreGiven):
            scores[event.payload.turn] = event.payload
        elif isinstance(event.payload, Cost):
            costs.setdefault(event.payload.job, []).append(event.payload)
    for event in tick:
        turn = event.payload
        if not isinstance(turn, Turn | TurnNotTaken):
            continue
        shown = (claims.get(one.stimulus, "") for one in turn.presentation.impression.exposures)
        yield {
            **fixed,
            "tick": event.tick,
            "wave": _wave(scenario, event.tick, turn.presentation.question),
            "job": turn.job,
            "persona": event.persona,
            "question": turn.presentation.question,
            "channel": turn.presentation.impression.channel,
            "claims": [claim for claim in shown if claim],
            **_said(turn, None if event.content is None else scores.get(event.content)),
            **_paid(costs.get(turn.job, [])),
        }


def _wave(scenario: Scenario, tick: int, question: str) -> int | None:
    if tick not in scenario.waves or question not in scenario.wave_questions:
        return None
    return scenario.waves.index(tick)


def _said(turn: Turn | TurnNotTaken, score: ScoreGiven | None) -> Row:
    row: Row = dict.fromkeys(("answer", "choice", "choices", "number", "masses", "unscorable"))
    row |= dict.fromkeys(("failure", "call_failure"))
    row |= {"order": list(turn.order) or None}
    row |= dict.fromkeys(("words", "action", "about", "rejected", "change"))
    if isinstance(turn, Turn):
        row["answer"] = turn.answer
        row |= _done(turn.reaction)
    else:
        row["failure"] = turn.cause.value
        row["call_failure"] = None if turn.call is None else turn.call.value
    if score is not None:
        row["choice"] = score.choice or None
        row["choices"] = None if score.choices is None else list(score.choices)
        row["number"] = score.number
        row["masses"] = list(score.masses) or None
        row["unscorable"] = None if score.unscorable is None else score.unscorable.value
    return row


def _done(reaction: Reaction | None) -> Row:
    """Give what a persona did, where it could do something."""
    if reaction is None:
        return {}
    return {
        "words": reaction.words,
        "action": reaction.action or None,
        "about": reaction.stimulus or None,
        "rejected": None if reaction.rejected is None else reaction.rejected.value,
        "change": None if reaction.change is None else reaction.change.value,
    }


def _paid(costs: list[Cost]) -> Row:
    """Sum the calls of a turn; those of its reflection stand apart."""
    row = _sums([cost for cost in costs if cost.purpose != REFLECTION], "")
    return {**row, **_sums([cost for cost in costs if cost.purpose == REFLECTION], "reflection_")}


def _sums(costs: list[Cost], prefix: str) -> Row:
    unknown = sum(cost.amount is None for cost in costs)
    used = [cost.usage for cost in costs if cost.usage is not None]
    sums: Row = {
        "attempts": len(costs),
        # A sum without its unknown parts would pass for the whole.
        "cost_nano": None if unknown else sum(cost.amount or 0 for cost in costs),
        "unknown_costs": unknown,
        "tokens_input_fresh": sum(usage.input_fresh for usage in used) if used else None,
        "tokens_cache_write": sum(usage.cache_write for usage in used) if used else None,
        "tokens_cache_read": sum(usage.cache_read for usage in used) if used else None,
        "tokens_output": sum(usage.output for usage in used) if used else None,
    }
    return {f"{prefix}{name}": value for name, value in sums.items()}
