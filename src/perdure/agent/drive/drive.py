"""Dispatch, turns, freeze: the single authority for the lines that an agent's run leaves behind.

A study's persona, the stand-alone command and the simulator of the tests call this same function,
so that what a test pins is evidence about all of them. It counts no turns: what ends a drive is
what it did, a failure, or an interrupt, and every one of these ends in the same two lines.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from perdure.agent.drive.charter import Ending, freeze, open_drive
from perdure.agent.drive.early import Display
from perdure.agent.drive.halting import Halt
from perdure.agent.drive.handoff import Brief
from perdure.agent.drive.plan import DrivePlan
from perdure.agent.drive.ports import Hooks, Ledger, Model, ModelFailedError, Stop
from perdure.agent.drive.scribe import Scribe
from perdure.agent.drive.turn import IN_WAIT, Active, Concluded
from perdure.agent.drive.watchdog import Watchdog
from perdure.base.errors import PerdureError
from perdure.records.drive import (
    CancelReceived,
    CommandsKilled,
    Completion,
    DriverFailed,
    EndCause,
    ProviderFailed,
    WatchdogAction,
    WatchdogFired,
)
from perdure.records.request import FailureCause, Message


@dataclass(frozen=True, slots=True)
class Frozen:
    """A drive that is over. Nothing wakes it: going on is a new drive, from its handoff.

    `messages` are what the model saw, with its last words; `display_failures` how often a display
    failed and was let go. `failed` is the failure of the call that ended it, if one did.
    """

    run: str
    completion: Completion
    cause: EndCause
    turns: int
    evidence: tuple[int, ...]
    messages: tuple[Message, ...]
    text: str
    display_failures: int
    failed: FailureCause | None = None


async def drive(
    plan: DrivePlan,
    ledger: Ledger,
    model: Model,
    hooks: Hooks,
    handoff: Brief,
) -> Frozen:
    """Drive an agent from its dispatch to its end.

    Raises:
        StorageError: the ledger cannot be written. The next start-up closes the drive.
        Exception: what a hook or a tool face raised. The drive is closed first.

    """
    scribe = Scribe(plan.run, ledger, hooks.now, hooks.secrets)
    display = Display(hooks.sink)
    async with Halt(hooks.interrupts) as halt:
        active = Active(plan, scribe=scribe, model=model, hooks=hooks, halt=halt, display=display)
        error: BaseException | None = None
        try:
            active.conversation.take(open_drive(scribe, plan, hooks.tools.specs))
            ending = await _turns(active, plan, scribe, hooks, halt)
        except asyncio.CancelledError as cancelled:
            ending, error = Ending(cause=EndCause.HALT, turns=active.turns), cancelled
        except Exception as fault:  # noqa: BLE001 - the verdict first, then what was raised
            ending, error = Ending(cause=EndCause.FAULT, turns=active.turns), fault
    try:
        await close_commands(scribe, hooks, ending.cause)
    except Exception as fault:  # noqa: BLE001 - as above
        ending, error = Ending(cause=EndCause.FAULT, turns=active.turns), error or fault
    if error is not None:
        scribe.hold(failed_line(plan.run, scribe, error))
    await freeze(scribe, ending, handoff)
    if error is not None:
        raise error
    active.conversation.end(ending.completion)
    return Frozen(
        run=plan.run,
        completion=ending.completion,
        cause=ending.cause,
        turns=ending.turns,
        evidence=ending.evidence,
        messages=active.conversation.messages,
        text=scribe.facts.last_text,
        display_failures=display.failures,
        failed=scribe.facts.failed,
    )


async def _turns(
    active: Active, plan: DrivePlan, scribe: Scribe, hooks: Hooks, halt: Halt
) -> Ending:
    """Take turns until one of them ends the drive, asking again where the watchdog lets it."""
    watchdog = Watchdog(plan.run, plan.retries)
    while True:
        try:
            end = await active.turn()
            watchdog.answered()
        except ModelFailedError as error:
            now = scribe.now()
            until = watchdog.until(error, now)
            if until is None:
                active.record(
                    ProviderFailed(
                        run=plan.run,
                        t=now,
                        cause=error.cause,
                        status=error.status,
                        text=str(error),
                    )
                )
                return Ending(cause=EndCause.PROVIDER, turns=active.turns)
            active.record(
                WatchdogFired(
                    run=plan.run,
                    t=now,
                    action=WatchdogAction.BACK_OFF,
                    cause=error.cause,
                    until=until,
                    failures=watchdog.failures,
                )
            )
            await scribe.flush()
            active.point = IN_WAIT
            end = await halt.race(hooks.wait(until))
        match end:
            case Stop():
                active.record(
                    CancelReceived(
                        run=plan.run,
                        t=scribe.now(),
                        cause=end.cause,
                        by=end.by,
                        point=active.point,
                    )
                )
                return Ending(cause=end.cause, turns=active.turns)
            case Concluded():
                return Ending(cause=end.cause, turns=active.turns, evidence=end.evidence)
            case None:
                pass


async def close_commands(scribe: Scribe, hooks: Hooks, cause: EndCause) -> None:
    """End what the drive's tools left running, and record that."""
    killed = await hooks.tools.close(cause)
    if killed:
        scribe.hold(
            CommandsKilled(run=scribe.run, t=scribe.now_or_last(), commands=killed, cause=cause)
        )


def failed_line(run: str, scribe: Scribe, error: BaseException) -> DriverFailed:
    """Give the line that tells of a fault of one of the driver's parts."""
    code = error.code if isinstance(error, PerdureError) else type(error).__name__
    return DriverFailed(run=run, t=scribe.now_or_last(), code=code, text=str(error))
