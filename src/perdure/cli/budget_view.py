"""A budget drawn: its limits, and what was spent of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from perdure.analysis.document import Block
from perdure.base.money import show
from perdure.cli.figures import count
from perdure.cli.tables import paragraph, table
from perdure.records.budget import Budget, Rung
from perdure.records.registry import RungAt

NO_LIMIT = "no limit"


class OnLadder(Protocol):
    """A world, with the rungs that its record tells of."""

    @property
    def world_id(self) -> str:
        """The world's id."""
        ...

    @property
    def tick(self) -> int:
        """Its last closed tick."""
        ...

    @property
    def rungs(self) -> tuple[RungAt, ...]:
        """Its rungs, in the order in which they were taken."""
        ...


UNPRICED = (
    "Unpriced spend is accepted: there is no ceiling in money, and what calls cost is unknown."
)


def limits(budget: Budget, currency: str) -> list[tuple[str, str]]:
    """Name each limit of a budget, with its value."""
    hours = None if budget.wall_s is None else f"{budget.wall_s / 3_600:g}"
    return [
        ("amount", NO_LIMIT if budget.amount is None else show(budget.amount, currency)),
        ("ceiling", NO_LIMIT if budget.money_max is None else show(budget.money_max, currency)),
        ("calls", NO_LIMIT if budget.calls is None else count(budget.calls)),
        ("tokens", NO_LIMIT if budget.tokens is None else count(budget.tokens)),
        ("hours", hours or NO_LIMIT),
    ]


def budget_line(budget: Budget, currency: str) -> str:
    """Say in one line what a run may spend; empty if it has no limit."""
    found = [f"{name} {value}" for name, value in limits(budget, currency) if value != NO_LIMIT]
    if budget.ceiling is None:
        found = [part for part in found if not part.startswith("ceiling")]
    return ", ".join(found)


def budget_parts(
    before: Budget, after: Budget, currency: str, *, spent: int, is_over: bool
) -> Iterator[Block]:
    """Draw a budget, beside the one that it replaces if it does.

    `spent` is what the run spent so far, in nano-units; `is_over` says that it is complete.
    """
    if before == after:
        rows = [list(row) for row in limits(after, currency)]
        yield table(["limit", "value"], rows, left=1)
    else:
        pairs = zip(limits(before, currency), limits(after, currency), strict=True)
        rows = [[name, was, now] for (name, was), (_, now) in pairs]
        yield table(["limit", "was", "is"], rows, left=1)
        yield paragraph(f"The change is recorded. {_what_follows(after, currency, spent, is_over)}")
    if after.unpriced_accepted:
        yield paragraph(UNPRICED)


def _what_follows(budget: Budget, currency: str, spent: int, is_over: bool) -> str:  # noqa: FBT001
    if is_over:
        return "The run is complete: what is left is for scores that are given again."
    if budget.money_max is not None and spent >= budget.money_max:
        return f"{show(spent, currency)} are spent already: the run makes no further call."
    return "`perdure run` or `perdure resume` goes on."


def rungs_text(rungs: Sequence[RungAt]) -> str:
    """Name rungs with the ticks over which each has effect, but for those that had none."""
    return ", ".join(
        f"{at.rung} from tick {at.tick}"
        if at.lifted is None
        else f"{at.rung} from tick {at.tick} to before tick {at.lifted}"
        for at in rungs
        if at.lifted is None or at.lifted > at.tick
    )


def _taken(rungs: Sequence[RungAt], worlds: Sequence[OnLadder]) -> str:
    """Name the rungs of a run that had effect; empty if none had.

    One that does not have it over the same ticks in every world is at each one's own.
    """
    apart = {
        at.rung
        for world in worlds
        for at in world.rungs
        if at.rung is not Rung.PAUSE and not any(_is_seen(one, at, world.tick) for one in rungs)
    }
    told = (
        f"{at.rung} at each world's own tick" if at.rung in apart else rungs_text([at])
        for at in rungs
    )
    return ", ".join(dict.fromkeys(text for text in told if text))


def _is_seen(of_run: RungAt, of_world: RungAt, tick: int) -> bool:
    """Say whether a world that closed `tick` has a rung as the run has it, as far as it came."""
    if (of_run.rung, of_run.tick) != (of_world.rung, of_world.tick):
        return False
    is_before = of_world.lifted is None and of_run.lifted is not None and tick < of_run.lifted
    return is_before or of_world.lifted == of_run.lifted


def standing_parts(
    budget: Budget, rungs: Sequence[RungAt], worlds: Sequence[OnLadder], currency: str, spent: int
) -> Iterator[Block]:
    """Say what a run may spend, which rungs it took, and which worlds have them on record.

    `spent` is what it spent in all, in nano-units.
    """
    if line := budget_line(budget, currency):
        yield paragraph(f"Budget: {line}.")
    if budget.money_max is not None and spent > budget.money_max:
        over = show(spent - budget.money_max, currency)
        yield paragraph(
            f"The run cost {over} more than it may: a provider reported more than was reserved for "
            "its calls, or the budget was lowered since.",
            style="bold",
        )
    if budget.unpriced_accepted:
        yield paragraph(UNPRICED, style="bold")
    if not rungs:
        return
    if taken := _taken(rungs, worlds):
        yield paragraph(f"Rungs taken by the run: {taken}.")
    by_rungs: dict[str, list[str]] = {}
    for world in worlds:
        by_rungs.setdefault(rungs_text(world.rungs) or "none", []).append(world.world_id)
    if set(by_rungs) != {rungs_text(rungs) or "none"}:
        for text, names in by_rungs.items():
            yield paragraph(f"{', '.join(names)}: {text}", indent=2)
