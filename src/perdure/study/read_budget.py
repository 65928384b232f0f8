"""Reads what a study may spend, and refuses a budget that could not hold."""

from __future__ import annotations

from itertools import pairwise

from perdure.records.budget import Budget, Ladder
from perdure.study import schema
from perdure.study.section import Field, Section

_SECONDS = 3_600


def read_budget(study: Section) -> Budget:
    """Read the budget: no limit at all if there is none."""
    if not study.has(schema.BUDGET_FIELD):
        return Budget()
    section = study.get(schema.BUDGET_FIELD)
    ladder = section.get(schema.LADDER_FIELD)
    _check_money(section)
    _check_unpriced(section)
    _check_ladder(section, ladder)
    limits = (schema.AMOUNT, schema.CALLS, schema.TOKENS, schema.HOURS)
    is_empty = not any(section.present(field) for field in (*limits, schema.UNPRICED))
    if section.sound and is_empty:
        section.found.add(
            section.line, "The budget limits nothing.", "Write `amount:`, or leave it out."
        )
    return Budget(
        amount=_given(section, schema.AMOUNT),
        ceiling=_given(section, schema.CEILING),
        calls=_given(section, schema.CALLS),
        tokens=_given(section, schema.TOKENS),
        wall_s=section.get(schema.HOURS) * _SECONDS if section.has(schema.HOURS) else None,
        unpriced_accepted=section.has(schema.UNPRICED),
        ladder=Ladder(
            warn=ladder.get(schema.WARN),
            freeze=ladder.get(schema.FREEZE),
            subsample=ladder.get(schema.SUBSAMPLE),
            share=ladder.get(schema.SHARE),
        ),
    )


def _given(section: Section, field: Field[int]) -> int | None:
    return section.get(field) if section.has(field) else None


def _check_money(section: Section) -> None:
    for field in (schema.AMOUNT, schema.CEILING):
        if section.has(field) and section.get(field) == 0:
            wrong = f"`{section.trail}.{field.key}` is 0, so nothing could be called."
            section.wrong(field, wrong, "Write what may be spent, or leave the budget out.")
    if not section.has(schema.CEILING):
        return
    if not section.present(schema.AMOUNT):
        wrong = f"`{section.trail}.ceiling` has no `amount` beside it."
        section.wrong(schema.CEILING, wrong, "Write `amount:`; it is the ceiling too.")
    elif section.has(schema.AMOUNT) and section.get(schema.CEILING) < section.get(schema.AMOUNT):
        wrong = f"`{section.trail}.ceiling` is below `amount`."
        section.wrong(schema.CEILING, wrong, "Write at least the amount, or leave it out.")


def _check_unpriced(section: Section) -> None:
    if not section.has(schema.UNPRICED):
        return
    for field in (schema.AMOUNT, schema.CEILING):
        if section.present(field):
            wrong = f"`{field.key}` cannot hold where unpriced calls are accepted."
            remedy = "Remove it, or give every model a price, a `price_as` or a `price_bound`."
            section.wrong(field, wrong, remedy)
    if not section.present(schema.CALLS) and not section.present(schema.TOKENS):
        wrong = "Unpriced calls are accepted, and nothing limits how many."
        section.wrong(schema.UNPRICED, wrong, "Write `calls:` or `tokens:` beside it.")


def _check_ladder(section: Section, ladder: Section) -> None:
    if not section.has(schema.LADDER_FIELD):
        return
    if not section.present(schema.AMOUNT):
        wrong = f"`{ladder.trail}` is measured by `amount`, and there is none."
        section.wrong(schema.LADDER_FIELD, wrong, "Write `amount:`, or leave the ladder out.")
    rungs = (schema.WARN, schema.FREEZE, schema.SUBSAMPLE)
    for lower, higher in pairwise(rungs):
        is_read = all(ladder.has(one) or not ladder.present(one) for one in (lower, higher))
        if is_read and ladder.get(lower) > ladder.get(higher):
            wrong = (
                f"`{ladder.trail}.{lower.key}` ({ladder.get(lower):g}) comes after "
                f"`{higher.key}` ({ladder.get(higher):g})."
            )
            written = lower if ladder.present(lower) else higher
            ladder.wrong(written, wrong, "Write them in the order warn, freeze, subsample.")
    if ladder.has(schema.SHARE) and ladder.get(schema.SHARE) == 0:
        wrong = f"`{ladder.trail}.share` is 0, so nobody would be active."
        ladder.wrong(schema.SHARE, wrong, "Write a number above 0; 1 leaves the rung out.")
