"""Calls for tests of the call journal: openings, intents, and what attempts come to."""

from __future__ import annotations

from perdure.base.canonical import hash_hex
from perdure.records.journal import Intent, Settled, TickOpening
from perdure.records.presentation import Plan
from perdure.records.request import CallKey, Failure, FailureCause, FinishReason, Reply, Vectors
from perdure.records.tools import ToolCall
from perdure.records.usage import CostSource, Usage

WORLD = "000000000001"
OTHER = "000000000002"
REQUEST = hash_hex("a request")


def opening(tick: int = 0, world: str = WORLD, input_hash: str = "0" * 64) -> TickOpening:
    """Open a tick."""
    return TickOpening(world=world, tick=tick, plan=Plan(), input_hash=input_hash)


def key(job: int = 0, tick: int = 0, world: str = WORLD, ordinal: int = 0) -> CallKey:
    """Name a call."""
    return CallKey(world=world, tick=tick, job=job, purpose="answer", ordinal=ordinal)


def intent(
    call: CallKey, attempt: int = 0, request: str = REQUEST, amount: int | None = 900
) -> Intent:
    """Intend an attempt."""
    source = CostSource.UNKNOWN if amount is None else CostSource.PRICE_TABLE
    worst = Usage(input_fresh=800, output=100)
    return Intent(
        key=call, attempt=attempt, request=request, worst=worst, amount=amount, source=source
    )


def replied(text: str = "Yes.", amount: int = 12) -> Settled:
    """Answer."""
    reply = Reply(text=text, served="m", usage=Usage(input_fresh=10, output=2))
    return Settled(outcome=reply, amount=amount, source=CostSource.PRICE_TABLE)


def called() -> Settled:
    """Answer with calls of tools, whose arguments are text and no JSON that is read."""
    calls = (
        ToolCall(id="a", name="read", arguments='{"path": "\u2603"}'),
        ToolCall(id="b", name="clock", arguments='{"broken'),
    )
    reply = Reply(text="", served="m", finish=FinishReason.TOOL_CALLS, calls=calls)
    return Settled(outcome=reply)


def embedded() -> Settled:
    """Answer with vectors whose numbers need every bit."""
    vectors = Vectors(vectors=((0.1, -1e-300), (1 / 3, 2.0)), served="m")
    return Settled(outcome=vectors)


def failed(cause: FailureCause = FailureCause.TIMEOUT) -> Settled:
    """Fail."""
    return Settled(outcome=Failure(cause=cause, status=0))
