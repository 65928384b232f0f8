"""What a report could not measure, and why: every gap named, with its count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

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

    Both are 0 where nothing can be counted.
    """

    what: str
    why: str
    count: int
    of: int


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
) -> tuple[Gap, ...]:
    """List every gap of a report, the ones that touch its main figures first.

    Every wave of every scenario counts its own, also where two scenarios were answered the same.
    """
    found: list[Gap] = []
    waves = [(part, row) for part in questions for row in part.ticks if row.wave]
    if not outcome:
        why = "the study holds no outcome out"
        found.append(Gap(what="comparison with real values", why=why, count=0, of=0))
    if waved and not waves:
        found.append(Gap(what="prediction", why="no wave has closed yet", count=0, of=0))
    if outcome and real_known < personas:
        why = WITHHELD if withheld else "no held-out value for this persona"
        found.append(Gap(what="real value", why=why, count=personas - real_known, of=personas))
    for part, row in waves:
        found.extend(_answer_gaps(row, part.id if len(waved) > 1 else ""))
    found.extend(
        Gap(what=f"change, {item.scenario}", why=item.unmeasured, count=0, of=0)
        for item in changes
        if item.unmeasured
    )
    for part in questions:
        found.extend(_score_gaps(part))
    if graph is not None and (why := _no_communities(graph)):
        found.append(Gap(what="polarization", why=why, count=0, of=0))
    found.extend(_turn_gaps(readings))
    found.extend(_cost_gaps(cost, beside))
    return tuple(found)


def _no_communities(graph: GraphReport) -> str:
    """Say why nothing can be compared between communities; empty if it can be."""
    if graph.communities is None:
        return "nobody is tied to anybody, so there are no communities"
    if graph.communities.why:
        return f"no partition of the graph qualifies as communities: {graph.communities.why}"
    return ""


def _cost_gaps(cost: CostSum, beside: Outside) -> Iterable[Gap]:
    if cost.unknown:
        why = "the amount of these attempts is unknown"
        yield Gap(what="cost", why=why, count=cost.unknown, of=cost.attempts)
    if cost.usage_unknown:
        why = "no token counts were reported for these attempts"
        yield Gap(what="tokens", why=why, count=cost.usage_unknown, of=cost.attempts)
    if beside.unknown:
        why = "what these attempts or ticks outside closed ticks cost is unknown"
        yield Gap(what="cost", why=why, count=beside.unknown, of=0)
    if estimated := sum(loss.ticks for loss in beside.losses):
        why = "these ticks may have been open when the call journal was lost: an estimate"
        yield Gap(what="cost", why=why, count=estimated, of=0)
    if beside.open:
        why = "the run has not ended, and calls of open ticks are not on record"
        yield Gap(what="cost", why=why, count=0, of=0)


def _answer_gaps(row: TickShares, question: str) -> Iterable[Gap]:
    answers = row.answers
    named = f" to {question}" if question else ""
    what = f"answer{named}, {row.scenario}, tick {row.tick}"
    yield from _by_cause(what, "unscorable", answers.unscorable, answers.asked)
    yield from _by_cause(what, "failed", answers.failed, answers.asked)
    if answers.unjudged:
        yield Gap(what=what, why="no score on record", count=answers.unjudged, of=answers.asked)


def _score_gaps(part: QuestionShares) -> Iterable[Gap]:
    """Answers to a closed question outside the waves that have no score."""
    tallies = [row.answers for row in part.ticks if not row.wave]
    answered = sum(one.answered for one in tallies)
    causes = _sum(one.unscorable for one in tallies)
    yield from _by_cause(f"answer to {part.id}", "unscorable", causes, answered)
    unjudged = sum(one.unjudged for one in tallies)
    if unjudged:
        why = "no score on record"
        yield Gap(what=f"answer to {part.id}", why=why, count=unjudged, of=answered)


def _turn_gaps(readings: Sequence[WorldReading]) -> Iterable[Gap]:
    """Failures at all ticks, waves included: the record holds one outcome for every job."""
    failed = _sum(reading.failures for reading in readings)
    jobs = sum(reading.turns for reading in readings) + failed.total()
    yield from _by_cause("turn, all ticks", "failed", failed, jobs)
    failed = _sum(reading.reflections_failed for reading in readings)
    reflections = sum(reading.reflections for reading in readings) + failed.total()
    yield from _by_cause("reflection", "no reply", failed, reflections)
    failed = _sum(reading.own_calls_failed for reading in readings)
    calls = sum(reading.own_calls for reading in readings)
    yield from _by_cause("call of the world itself", "no reply", failed, calls)


def _sum(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    summed: Counter[str] = Counter()
    for part in counts:
        summed.update(part)
    return summed


def _by_cause(what: str, kind: str, causes: Mapping[str, int], of: int) -> Iterable[Gap]:
    for cause, count in sorted(causes.items(), key=lambda item: (-item[1], item[0])):
        words = cause.replace("_", " ")
        why = words if ":" in words else f"{kind}: {words}"
        yield Gap(what=what, why=why, count=count, of=of)
