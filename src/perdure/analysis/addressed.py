"""Every figure of a report by its address: where in the report it is, and what it rests on. Pure.

The addresses together cover every number of a report. What a figure rests on is told as parts, each
a pick of events; what does not come from events names the row or entry that it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from perdure.analysis.address import address
from perdure.analysis.addressing import ENTRY, Figure
from perdure.analysis.answer_figures import AnswerFigures
from perdure.analysis.conduct_figures import ConductFigures
from perdure.analysis.evidence import (
    Part,
    Put,
)
from perdure.analysis.report import Report
from perdure.analysis.run_figures import RunFigures
from perdure.analysis.unmeasured import Gap
from perdure.records.outcome import UnscorableCause


def figures(report: Report) -> Iterator[Figure]:
    """Give every figure of a report."""
    known: dict[str, Figure] = {}
    for section in (AnswerFigures(report), ConductFigures(report), RunFigures(report)):
        for one in section:
            known[one.address] = one
            yield one
    yield from _gaps(report, known)


def _gaps(report: Report, known: Mapping[str, Figure]) -> Iterator[Figure]:
    for place, gap in enumerate(report.gaps):
        found = known.get(gap.figure)
        parts = found.parts if found else ()
        yield Figure(
            address("gaps", place),
            f"Not measured: {gap.what}, {gap.why}.",
            f"Counted where it is missing, which is {gap.figure}."
            if found
            else "There is nothing to count.",
            (("gaps", place),),
            tuple(_missing(parts, gap)) if gap.cause else parts,
            found.rows if found else (),
            found.beside if found else (ENTRY,),
        )


def _missing(parts: Iterable[Part], gap: Gap) -> Iterator[Part]:
    """Keep what is missing of what a figure rests on, and all that it is missing of."""
    named = "unscorable" if gap.cause in set(UnscorableCause) else "failed"
    for part in parts:
        pick = part.pick
        if isinstance(pick, Put) and gap.figure.count("/") == 1:
            pick = pick._replace(waves=False)
        if part.name in {"asked", "of", "attempts"}:
            yield part._replace(pick=pick)
        elif part.name == gap.cause or (part.name == "counted" and "failures/" in gap.figure):
            yield part
        elif isinstance(pick, Put) and part.name == named:
            yield part._replace(pick=pick._replace(cause=gap.cause))
