"""Sums of money drawn as tables: the count of unknown amounts stands beside every sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perdure.analysis.address import address
from perdure.analysis.costs import CostSum, NamedSum
from perdure.analysis.document import Block, Table
from perdure.analysis.ledger import Ledger
from perdure.analysis.outside import MEANING, Outside
from perdure.analysis.run_figures import NO_NAME
from perdure.base.money import show
from perdure.cli.figures import UNKNOWN, count, plural, spend
from perdure.cli.tables import heading, paragraph, table
from perdure.cli.worlds_table import world_rows
from perdure.trace.sittings import JournalLoss

_TOKENS = ("tokens in", "tokens out")


def _columns(currency: str) -> tuple[str, ...]:
    return ("attempts", "failed", currency, "unknown")


def cost_table(by: str, sums: Iterable[NamedSum], currency: str, *, behind: bool = False) -> Table:
    """Draw sums under what they were summed by; and, in a report, what is `behind` them."""
    sums = tuple(sums)
    rows = [
        [part.name or "(none)", *_money(part.sum, currency), *_tokens(part.sum)] for part in sums
    ]
    return table(
        [by, *_columns(currency), *_TOKENS],
        rows,
        caption=f"by {by}",
        figures=[address("costs", **{by: part.name or NO_NAME}) for part in sums if behind],
        behind=f"'costs?{by}={by.upper()}'" if behind else "",
    )


def ledger_parts(ledger: Ledger, folder: str) -> Iterator[Block]:
    """Draw a ledger: the total, its parts, and whether the registry agrees."""
    beside = ledger.outside
    total = spend(ledger.spent, ledger.spent_unknown, ledger.currency)
    yield paragraph(f"Ledger of {folder}: {total}", style="bold")
    yield paragraph(f"Model: {ledger.answered_by}.")
    yield paragraph("Summed from the cost events of the record.")
    yield heading("By stage")
    yield cost_table("purpose", ledger.by_purpose, ledger.currency)
    yield heading("By model")
    yield cost_table("model", ledger.by_model, ledger.currency)
    yield heading("By source of the amount")
    yield cost_table("source", ledger.by_source, ledger.currency)
    yield heading("By world")
    rows = [
        [world.world_id, world.scenario, str(world.seed), *_money(world.sum, ledger.currency)]
        for world in ledger.by_world
    ]
    columns = ["world", "scenario", "seed", *_columns(ledger.currency)]
    yield from world_rows(columns, rows)
    yield from outside_parts(beside, ledger.currency)
    yield from _agreement(ledger)


def outside_parts(beside: Outside, currency: str, *, total: str = "") -> Iterator[Block]:
    """Say what was called outside closed ticks, if anything was or may have been.

    `total` is what the run cost with it, where that is not shown above.
    """
    if beside.parts:
        counted = f"{total} in all" if total else "counted in the total above"
        yield paragraph(
            f"\nOutside closed ticks: {spend(beside.amount, beside.unknown, currency)}; {counted}."
        )
        for part in beside.parts:
            noun, why = MEANING[part.kind]
            cost = spend(part.amount, part.unknown, currency)
            yield paragraph(f"{plural(part.count, noun)} {why}: {cost}", indent=2)
    if beside.discarded:
        yield paragraph(f"{plural(beside.discarded, 'tick')} discarded when the run was killed.")
    for loss in beside.losses:
        yield paragraph(loss_text(loss, currency), style="bold")
    if beside.journal_fault:
        yield paragraph(
            f"\nThe call journal cannot be used: {beside.journal_fault} When the run is continued, "
            "it is set aside.",
            style="bold",
        )
    if beside.open:
        yield paragraph(
            "\nThe run has not ended: calls of ticks that are open, or were when it was killed, "
            "are not on record. What they cost is unknown, not zero."
        )


def loss_text(loss: JournalLoss, currency: str) -> str:
    """Say that a call journal was lost, and what is counted for it."""
    if not loss.ticks:
        return f"{lost_journal(loss)} Nothing is counted for it."
    return (
        f"{lost_journal(loss)} Their calls are made again; what was paid for them before is counted"
        f" at an estimate: {spend(loss.amount, loss.unknown, currency)}."
    )


def lost_journal(loss: JournalLoss) -> str:
    """Say that a call journal was lost, where it is kept, and what may have been open then."""
    lost = loss.lost
    why = f": {lost.why}" if lost.why else ""
    kept = f"could not be used, and is kept as {lost.file}{why}" if lost.file else "was missing"
    ticks = plural(loss.ticks, "tick") if loss.ticks else "No tick"
    return f"The call journal {kept.removesuffix('.')}. {ticks} may have been open then."


def outside_line(beside: Outside) -> str:
    """Count what was called outside closed ticks; empty if nothing was."""
    return plural(beside.attempts, "attempt") if beside.attempts else ""


def _agreement(ledger: Ledger) -> Iterator[Block]:
    if ledger.agrees:
        yield paragraph("\nThe registry's running total agrees with this sum for every world.")
        return
    for world in ledger.by_world:
        if not world.agrees:
            said = spend(world.registry_amount, world.registry_unknown, ledger.currency)
            found = spend(world.noted.amount, world.noted.unknown, ledger.currency)
            yield paragraph(
                f"\nWorld {world.world_id}, up to tick {world.registry_tick}: the registry says"
                f" {said}, the record sums to {found}.",
                style="bold",
            )


def _money(part: CostSum, currency: str) -> list[str]:
    return [
        count(part.attempts),
        count(part.failed),
        show(part.amount, currency).removesuffix(f" {currency}"),
        count(part.unknown),
    ]


def _tokens(part: CostSum) -> list[str]:
    """Write token counts; a `+` says that some attempts reported none, `n/a` that all did."""
    if part.usage_unknown and part.usage_unknown == part.attempts:
        return [UNKNOWN, UNKNOWN]
    more = "+" if part.usage_unknown else ""
    fed = part.input_fresh + part.cache_write + part.cache_read
    return [f"{count(fed)}{more}", f"{count(part.output)}{more}"]
