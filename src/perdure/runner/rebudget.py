"""Changing the budget of a run: a row in its run log, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from perdure.base.clock import Clock, SystemClock
from perdure.base.errors import UsageError
from perdure.records.budget import Budget
from perdure.records.registry import BudgetChanged, LogPayload, RunEntry
from perdure.records.study import Study
from perdure.trace.lock import GovernorLock
from perdure.trace.registry import Registry
from perdure.trace.rungs import budget_in_force


def budget_of(entry: RunEntry, log: tuple[LogPayload, ...]) -> Budget:
    """Give the budget that is in force: as asked, or as changed since. Pure."""
    study = msgspec.json.decode(entry.study, type=Study)
    return budget_in_force(study.budget, log)


def require_sound(budget: Budget) -> None:
    """Refuse a budget that no study could have.

    Raises:
        UsageError: names what is wrong.

    """
    amount, ceiling = budget.amount, budget.ceiling
    if budget.unpriced_accepted and (amount, ceiling) != (None, None):
        raise UsageError(
            "No amount can hold where unpriced calls are accepted.",
            remedy="Give --calls or --tokens; what the calls cost is unknown.",
        )
    if 0 in {amount, ceiling}:
        raise UsageError(
            "With a budget of 0 nothing could be called.", remedy="Give what may be spent."
        )
    if ceiling is not None and amount is None:
        raise UsageError(
            "A ceiling needs an amount beside it.", remedy="Give --amount; it is the ceiling too."
        )
    if amount is not None and ceiling is not None and ceiling < amount:
        raise UsageError(
            "The ceiling is below the amount.",
            remedy="Give a higher --ceiling too, or `--ceiling none`: it is then the amount.",
        )
    if budget.unpriced_accepted and budget.calls is None and budget.tokens is None:
        raise UsageError(
            "A run that accepts unpriced spend needs a ceiling on calls or tokens.",
            remedy="Give --calls or --tokens.",
        )


def change_budget(folder: Path, budget: Budget, *, clock: Clock | None = None) -> None:
    """Record another budget for a run that nobody works on.

    Raises:
        UsageError: no study could have such a budget.
        HeldError: a process works on the run.
        DamagedRecordError: the registry does not hold what was written.
        StorageError: it could not be recorded.

    """
    require_sound(budget)

    async def change() -> None:
        lock = await GovernorLock.acquire(folder, clock or SystemClock())
        try:
            registry = await Registry.open(folder)
            try:
                await registry.log(BudgetChanged(budget=budget))
                await registry.finish()
            finally:
                await registry.close()
        finally:
            lock.release()

    asyncio.run(change())
