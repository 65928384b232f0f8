"""What a report could not measure, and why: every gap named, with its count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from perdure.analysis.address import address
from perdure.analysis.change import Change
from perdure.analysis.costs import CostSum
from perdure.analysis.outside import Outside
from perdure.analysis.questions import QuestionShares, TickShares
from perdure.analysis.reading import WorldReading
from perdure.records.graph import GraphReport
from perdure.records.record import Record

WITHHELD = "the real values were left out of this export"


class Gap(Record):
    """One thing that was not measured: `count` of `of`, which is 0 where there is no whole.

    Both are 0 where nothing can be counted. `figure` is the address of what it is missing from, and
    `cause` what of it, by the name that the record has for it.
    """

    what: str
    why: str
    count: int
    of: int
    figure: str = ""
    cause: str = ""


def gaps(
    *,
    outcome: str,
    waved: Sequence[str],
    personas: int,
    real_known: int,
    withheld: bool,
    questions: Sequence[QuestionShares],
    changes: Sequence[Change],
    readings: Sequence[WorldReading],
    cost: CostSum,
    beside: Outside,
    graph: GraphReport | None = None,
    unparted: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Gap, ...]:
    """List every gap of a report, the ones that touch its main figures first.

    Every wave of every scenario counts its own, also where two scenarios were answered the same.
    `unparted` says of questions why communities are not compared over them.
    """
    found: list[Gap] = []
    waves = [(part, row) for part in questions for row in part.ticks if row.wave]
    if not outcome:
        why = "the study holds no outcome out"
        found.append(Gap(what="comparison with real values", why=why, count=0, of=0))
    asked = any(reading.turns or reading.failures for reading in readings)
    if not asked and any(reading.tick >= 0 for reading in readings):
        why = "nobody was asked anything in the ticks that closed"
        found.append(Gap(what="answers", why=why, count=0, of=0))
    if waved and not waves:
        found.append(Gap(what="prediction", why="no wave has closed yet", count=0, of=0))
    if outcome and real_known < personas:
        why = WITHHELD if withheld else "no held-out value for this persona"
        missing = personas - real_known
        found.append(Gap(what="real value", why=why, count=missing, of=personas, figure="outcome"))
    for part, row in waves:
        found.extend(_answer_gaps(row, part.id, named=len(waved) > 1))
    found.extend(
        Gap(
            what=f"change{_of(item.question, waved)}, {item.scenario}",
            why=item.unmeasured,
            count=0,
            of=0,
            figure=address("changes", item.question, item.scenario),
        )
        for item in changes
        if item.unmeasured
    )
    for part in questions:
        found.extend(_score_gaps(part))
    if graph is not None and (why := _no_communities(graph)):
        found.append(Gap(what="polarization", why=why, count=0, of=0, figure="population"))
    elif graph is not None:
        found.extend(
            Gap(what=f"polarization over {name}", why=why, count=0, of=0)
            for name, why in unparted.items()
        )
    found.extend(_turn_gaps(readings))
    found.extend(_cost_gaps(cost, beside))
    return tuple(found)


def _of(question: str, waved: Sequence[str]) -> str:
    return f" of {question}" if len(waved) > 1 else ""


def _no_communities(graph: GraphReport) -> str:
    """Say why nothing can be compared between communities; empty if it can be."""
    if graph.communities is None:
        return "nobody is tied to anybody, so there are no communities"
    if graph.communities.why:
        return f"no partition of the graph qualifies as communities: {graph.communities.why}"
    return ""


def _cost_gaps(cost: CostSum, beside: Outside) -> Iterable[Gap]:
    def of_attempts(what: str, why: str, count: int, cause: str) -> Gap:
        return Gap(what=what, why=why, count=count, of=cost.attempts, figure="costs", cause=cause)

    if cost.unknown:
        why = "the amount of these attempts is unknown"
        yield of_attempts("cost", why, cost.unknown, "unknown")
    if cost.usage_unknown:
        why = "no token counts were reported for these attempts"
        yield of_attempts("tokens", why, cost.usage_unknown, "no_usage")
    if beside.unknown:
        why = "what these attempts or ticks outside closed ticks cost is unknown"
        yield Gap(what="cost", why=why, count=beside.unknown, of=0, figure="outside")
    if estimated := sum(loss.ticks for loss in beside.losses):
        why = "these ticks may have been open when the call journal was lost: an estimate"
        yield Gap(what="cost", why=why, count=estimated, of=0, figure="outside")
    if beside.open:
        why = "the run has not ended, and calls of open ticks are not on record"
        yield Gap(what="cost", why=why, count=0, of=0, figure="outside")


def _answer_gaps(row: TickShares, question: str, *, named: bool) -> Iterable[Gap]:
    answers = row.answers
    to = f" to {question}" if named else ""
    what = f"answer{to}, {row.scenario}, tick {row.tick}"
    figure = address("answers", question, row.scenario, row.tick)
    yield from _by_cause(what, "unscorable", answers.unscorable, answers.asked, figure)
    yield from _by_cause(what, "failed", answers.failed, answers.asked, figure)
    if answers.unjudged:
        yield _unjudged(what, answers.unjudged, answers.asked, figure)


def _score_gaps(part: QuestionShares) -> Iterable[Gap]:
    """Answers to a closed question outside the waves that have no score."""
    tallies = [row.answers for row in part.ticks if not row.wave]
    answered = sum(one.answered for one in tallies)
    causes = _sum(one.unscorable for one in tallies)
    what, figure = f"answer to {part.id}", address("answers", part.id)
    yield from _by_cause(what, "unscorable", causes, answered, figure)
    unjudged = sum(one.unjudged for one in tallies)
    if unjudged:
        yield _unjudged(what, unjudged, answered, figure)


def _unjudged(what: str, count: int, of: int, figure: str) -> Gap:
    why = "no score on record"
    return Gap(what=what, why=why, count=count, of=of, figure=figure, cause="unjudged")


def _turn_gaps(readings: Sequence[WorldReading]) -> Iterable[Gap]:
    """Failures at all ticks, waves included: the record holds one outcome for every job."""
    failed = _sum(reading.failures for reading in readings)
    jobs = sum(reading.turns for reading in readings) + failed.total()
    yield from _failures("turn, all ticks", "failed", failed, jobs, "turn")
    failed = _sum(reading.reflections_failed for reading in readings)
    reflections = sum(reading.reflections for reading in readings) + failed.total()
    yield from _failures("reflection", "no reply", failed, reflections, "reflection")
    failed = _sum(reading.own_calls_failed for reading in readings)
    calls = sum(reading.own_calls for reading in readings)
    yield from _failures("call of the world itself", "no reply", failed, calls, "call")


def _failures(what: str, kind: str, causes: Mapping[str, int], of: int, name: str) -> Iterable[Gap]:
    for gap in _by_cause(what, kind, causes, of, ""):
        figure = address("failures", name, gap.cause.replace(": ", ":"))
        yield msgspec.structs.replace(gap, figure=figure)


def _sum(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    summed: Counter[str] = Counter()
    for part in counts:
        summed.update(part)
    return summed


def _by_cause(
    what: str, kind: str, causes: Mapping[str, int], of: int, figure: str
) -> Iterable[Gap]:
    for cause, count in sorted(causes.items(), key=lambda item: (-item[1], item[0])):
        words = cause.replace("_", " ")
        why = words if ":" in words else f"{kind}: {words}"
        yield Gap(what=what, why=why, count=count, of=of, figure=figure, cause=cause)
