"""`perdure budget`: what a run may spend, and changing it."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.base.errors import EXIT_DONE
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand

HELP = """\
Show the budget of a run, or change it. A change is recorded in the run for ever.

What was spent stays spent: the new limits are on all that the run spends, what it
has spent included. A run that is paused by its budget goes on when it is run again.
`none` lifts a limit; a ceiling that is lifted is the amount. A run that somebody works
on has to be stopped first.

\b
Example:
  perdure budget runs/first --amount 25.00
"""

Amount = Annotated[
    str | None,
    typer.Option(metavar="X", help="The most to spend, in the study's currency."),
]
Ceiling = Annotated[
    str | None,
    typer.Option(metavar="X", help="Where spending ends, if not at the amount."),
]
Calls = Annotated[str | None, typer.Option(metavar="N", help="The most calls to send.")]
Tokens = Annotated[str | None, typer.Option(metavar="N", help="The most tokens in and out.")]
Hours = Annotated[str | None, typer.Option(metavar="H", help="The most hours at work.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("budget", help=HELP, cls=PlainCommand)(budget)


def budget(
    folder: RunFolder,
    *,
    amount: Amount = None,
    ceiling: Ceiling = None,
    calls: Calls = None,
    tokens: Tokens = None,
    hours: Hours = None,
    json: Json = False,
) -> int:
    """Show the budget of a run, or change it.

    Raises:
        UsageError: the folder holds no run, a limit cannot be read, or they cannot stand together.
        HeldError: a process works on the run.
        DamagedRecordError: the record does not hold what was written.
        StorageError: it could not be recorded.

    """
    from perdure.cli.budget_view import budget_parts  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.record import opened, require_run  # noqa: PLC0415 - heavy
    from perdure.records.registry import WorldState  # noqa: PLC0415 - heavy
    from perdure.runner.ledger import spent_in, spent_outside  # noqa: PLC0415 - heavy
    from perdure.runner.rebudget import budget_of, change_budget  # noqa: PLC0415 - heavy
    from perdure.study.money_flags import rebudgeted  # noqa: PLC0415 - heavy

    given = {"amount": amount, "ceiling": ceiling, "calls": calls, "tokens": tokens, "hours": hours}
    with opened(folder) as record:
        before, currency = budget_of(record.entry, record.log), record.entry.currency
        outcomes = record.outcomes.values()
        spent = sum(map(spent_in, outcomes), spent_outside(record.log))
    after = rebudgeted(before, given)
    if after != before:
        require_run(folder)
        change_budget(folder, after)
    if json:
        write_json({"before": before, "budget": after, "changed": after != before})
    else:
        is_over = all(one.state is WorldState.COMPLETED for one in outcomes)
        show(*budget_parts(before, after, currency, spent=spent.money, is_over=is_over))
    return EXIT_DONE
