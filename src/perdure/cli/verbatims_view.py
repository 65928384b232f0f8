"""What people said in their own words, drawn for a terminal: clusters, each with quotes."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.analysis.document import Block
from perdure.analysis.report import Report
from perdure.analysis.verbatims import Said, Verbatims
from perdure.base.text import one_line
from perdure.cli.figures import count, percent, plural
from perdure.cli.tables import heading, paragraph

_CLUSTERS_MAX = 3
_QUOTES_MAX = 2
_TEXT_MAX = 160


def verbatim_parts(report: Report) -> Iterator[Block]:
    """Draw the largest clusters of each question and scenario."""
    if not report.verbatims:
        return
    yield heading("In their own words")
    for one in report.verbatims:
        yield paragraph(f"{one.question}, {one.scenario}: {_of(one)}", indent=2)
        for said in one.clusters[:_CLUSTERS_MAX]:
            yield from _cluster(said)
    yield paragraph(
        "Events behind a cluster: perdure show DIR verbatims/QUESTION/SCENARIO/0, .../1, ...",
        style="dim",
    )
    yield paragraph(report.notes["verbatims"], style="dim")


def _of(one: Verbatims) -> str:
    whole = plural(one.answers, "answer")
    if one.sampled < one.answers:
        whole = f"{count(one.sampled)} of {whole}"
    found = plural(len(one.clusters), "cluster") if one.clusters else f"no cluster, {one.why}"
    more = f", {count(one.wordless)} without words" if one.wordless else ""
    return f"{found} in {whole}; {count(one.rest)} in none{more}."


def _cluster(said: Said) -> Iterator[Block]:
    yield paragraph(f"{percent(said.share)}: {', '.join(said.words)}", indent=4)
    for quote in said.quotes[:_QUOTES_MAX]:
        text = one_line(quote.text, _TEXT_MAX)
        yield paragraph(f"“{text}” {quote.persona}, {quote.event}", indent=6)
