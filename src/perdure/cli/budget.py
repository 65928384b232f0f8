"""`perdure budget`: what a run may spend, and changing it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.base.errors import EXIT_DONE, UsageError
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand

if TYPE_CHECKING:
    from perdure.records.budget import Budget

HELP = """\
Show the budget of a run, or change it. A change is recorded in the run for ever.

What was spent stays spent: the new limits are on all that the run spends, what it
has spent included. A run that is paused by its budget goes on when it is run again.
`none` lifts a limit.

\b
Example:
  perdure budget runs/first --amount 25.00
"""

NONE = "none"

Amount = Annotated[
    str, typer.Option(metavar="X", help="The most to spend, in the study's currency, or `none`.")
]
Ceiling = Annotated[
    str,
    typer.Option(metavar="X", help="Where spending ends, if not at the amount; or `none`."),
]
Calls = Annotated[str, typer.Option(metavar="N", help="The most calls to send, or `none`.")]
Tokens = Annotated[str, typer.Option(metavar="N", help="The most tokens in and out, or `none`.")]
Hours = Annotated[str, typer.Option(metavar="H", help="The most hours at work, or `none`.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("budget", help=HELP, cls=PlainCommand)(budget)


def budget(
    folder: RunFolder,
    *,
    amount: Amount = "",
    ceiling: Ceiling = "",
    calls: Calls = "",
    tokens: Tokens = "",
    hours: Hours = "",
    json: Json = False,
) -> int:
    """Show the budget of a run, or change it.

    Raises:
        UsageError: the folder holds no run, or a limit is no number.
        HeldError: a process works on the run.
        DamagedRecordError: the record does not hold what was written.
        StorageError: it could not be recorded.

    """
    from perdure.cli.budget_view import budget_parts  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.record import opened  # noqa: PLC0415 - heavy
    from perdure.runner.rebudget import budget_of, change_budget  # noqa: PLC0415 - heavy

    given = {"amount": amount, "ceiling": ceiling, "calls": calls, "tokens": tokens, "hours": hours}
    with opened(folder) as record:
        before, currency = budget_of(record.entry, record.log), record.entry.currency
    after = changed(before, given)
    if after != before:
        change_budget(folder, after)
    if json:
        write_json({"before": before, "budget": after, "changed": after != before})
    else:
        show(*budget_parts(before, after, currency))
    return EXIT_DONE


def changed(budget: Budget, given: dict[str, str]) -> Budget:
    """Change the limits of a budget that are given; an empty text leaves one as it is.

    Raises:
        UsageError: one of them is no number above zero, and not `none`.

    """
    import msgspec  # noqa: PLC0415 - heavy

    from perdure.base import money  # noqa: PLC0415 - heavy

    limits: dict[str, tuple[str, Callable[[Decimal], float]]] = {
        "amount": ("amount", money.nano),
        "ceiling": ("ceiling", money.nano),
        "calls": ("calls", int),
        "tokens": ("tokens", int),
        "hours": ("wall_s", lambda hours: float(hours * 3_600)),
    }
    changes: dict[str, float | None] = {}
    for flag, text in given.items():
        if text:
            name, read = limits[flag]
            whole = read is int
            changes[name] = None if text == NONE else read(_number(flag, text, whole=whole))
    return msgspec.structs.replace(budget, **changes)


def _number(flag: str, text: str, *, whole: bool) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal(0)
    if not number.is_finite() or number <= 0 or (whole and number != int(number)):
        wanted = "a whole number above zero" if whole else "a number above zero"
        raise UsageError(
            f"--{flag} is {wanted}, or `none`; it was given {text[:40]!r}.",
            remedy=f"For example: --{flag} 25",
        )
    return number
