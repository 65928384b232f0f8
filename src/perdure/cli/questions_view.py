"""Answers to scored questions drawn for a terminal: shares by wave, by exposure tick, by claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.analysis.address import address
from perdure.analysis.answers import Tally
from perdure.analysis.document import Block
from perdure.analysis.prediction import Prediction
from perdure.analysis.questions import QuestionShares, TickShares
from perdure.analysis.shares import Share
from perdure.cli.calendar_view import date_text
from perdure.cli.figures import count, percent, plain, plural, score
from perdure.cli.headline_view import is_end
from perdure.cli.plot_view import claim_plots, share_plots
from perdure.cli.tables import fits, heading, paragraph, table

_COUNTS = ("asked", "scored", "unscorable", "failed")


def wave_parts(
    question: QuestionShares, name: str, predictions: Sequence[Prediction]
) -> Iterator[Block]:
    """Draw every wave of a question in one table, if that says more than its ends do.

    A question without real values is drawn nowhere else, so its ends are here in any case.
    """
    rows = [row for row in question.ticks if row.wave]
    if not rows or (predictions and all(is_end(rows, row) for row in rows)):
        return
    yield heading(f"{name}: every wave", level=3)
    if not predictions:
        yield paragraph(question.text, indent=2)
    fit = {(one.scenario, one.tick): one.overall.fit for one in predictions}
    extra = [
        [percent(one.accuracy), score(one.brier)]
        if (one := fit.get((row.scenario, row.tick)))
        else []
        for row in rows
    ]
    more = ("accuracy", "Brier") if predictions else ()
    yield _shares_table(question, _heads(rows), ("scenario", "tick"), more, extra)


def exposure_parts(question: QuestionShares) -> Iterator[Block]:
    """Draw the answers that a question got outside the waves."""
    rows = [row for row in question.ticks if not row.wave]
    if not rows:
        return
    yield heading(f"Answers to {question.id}, by tick", level=3)
    yield paragraph(question.text, indent=2)
    yield from share_plots(question, question.id, wave=False)
    yield _shares_table(question, _heads(rows), ("scenario", "tick"))
    if question.by_claim:
        yield heading(f"Answers to {question.id}, by claim shown", level=3)
        yield from claim_plots(question, question.by_claim)
        heads = [
            (one.scenario, one.claim, one.answers, one.shares, one.mean)
            for one in question.by_claim
        ]
        yield _shares_table(question, heads, ("scenario", "claim"))
        yield paragraph(
            "An answer that was given to two claims shown together counts for both.", style="dim"
        )


_Head = tuple[str, str, Tally, tuple[Share, ...], float | None]


def _heads(rows: Sequence[TickShares]) -> list[_Head]:
    return [(row.scenario, str(row.tick), row.answers, row.shares, row.mean) for row in rows]


def _dated(tick: str, date: str) -> str:
    return f"{tick} ({date_text(date)})" if date else tick


def _shares_table(
    question: QuestionShares,
    heads: Sequence[_Head],
    named: tuple[str, str],
    more: Sequence[str] = (),
    extra: Sequence[Sequence[str]] = (),
) -> Block:
    """Draw shares side by side where they fit on 80 columns, else one under the other.

    Where the counts do not fit either, only those of the denominator are drawn; the others are
    among the gaps.
    """
    extra = extra or [[] for _ in heads]
    kind = "claims" if named[1] == "claim" else "answers"
    at = [(kind, question.id, scenario, key) for scenario, key, *_ in heads]
    if kind == "answers":
        when = {(row.scenario, str(row.tick)): row.date for row in question.ticks if row.date}
        heads = [
            (one, _dated(key, when.get((one, key), "")), answers, shares, mean)
            for one, key, answers, shares, mean in heads
        ]
    behind = f"{address(kind, question.id)}/{'/'.join(named).upper()}"
    columns: list[str] = []
    rows: list[list[str]] = []
    for counted in (_COUNTS, _COUNTS[:2]):
        columns, rows = _wide(question, heads, (*named, *counted), more, extra)
        if fits(columns, rows, whole=len(named)):
            return table(
                columns, rows, left=2, figures=[address(*keys) for keys in at], behind=behind
            )
        columns, rows = _long(question, heads, named, (*counted, *more), extra)
        if fits(columns, rows, whole=len(named) + 1):
            break
    figures = [
        address(*keys, one)
        for keys, (_, _, _, shares, mean) in zip(at, heads, strict=True)
        for one in (*(share.choice for share in shares), *([] if mean is None else ["mean"]))
    ]
    return table(columns, rows, left=3, figures=figures, behind=behind)


_Drawn = tuple[list[str], list[list[str]]]


def _wide(
    question: QuestionShares,
    heads: Sequence[_Head],
    named: Sequence[str],
    more: Sequence[str],
    extra: Sequence[Sequence[str]],
) -> _Drawn:
    counted = len(named) - 2
    has_mean = any(mean is not None for *_, mean in heads)
    rows = [
        [
            *(first, second, *_counts(answers)[:counted]),
            *(percent(one.share) for one in shares),
            *([plain(mean)] if has_mean else []),
            *beside,
        ]
        for (first, second, answers, shares, mean), beside in zip(heads, extra, strict=True)
    ]
    return [*named, *question.choices.values(), *(["mean"] if has_mean else []), *more], rows


def _long(
    question: QuestionShares,
    heads: Sequence[_Head],
    named: Sequence[str],
    more: Sequence[str],
    extra: Sequence[Sequence[str]],
) -> _Drawn:
    rows = []
    for (first, second, answers, shares, mean), beside in zip(heads, extra, strict=True):
        filled = [*_counts(answers)[: len(more) - len(beside)], *beside]
        figures = [
            (question.choices.get(one.choice, one.choice), percent(one.share)) for one in shares
        ]
        figures += [] if mean is None else [("mean", plain(mean))]
        for place, (label, figure) in enumerate(figures):
            start, end = ([first, second], filled) if not place else (["", ""], [""] * len(more))
            rows.append([*start, label, figure, *end])
    return [*named, "choice", "share", *more], rows


def _counts(answers: Tally) -> list[str]:
    return [
        count(answers.asked),
        count(answers.scored),
        count(sum(answers.unscorable.values()) + answers.unjudged),
        count(sum(answers.failed.values())),
    ]


def denominators(answers: Tally, seeds: int) -> str:
    """Say what the shares of a wave are of."""
    parts = [
        f"{count(answers.asked)} asked",
        f"{count(answers.answered)} answered",
        f"{count(answers.scored)} scored",
        f"{count(sum(answers.unscorable.values()))} unscorable",
        f"{count(sum(answers.failed.values()))} failed",
    ]
    if answers.unjudged:
        parts.append(f"{count(answers.unjudged)} without a score")
    return f"{', '.join(parts)}, {plural(seeds, 'seed')}"
