"""What a report could not measure, and why: every gap named, with its count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from perdure.analysis.change import Change
from perdure.analysis.costs import CostSum
from perdure.analysis.outside import Outside
from perdure.analysis.prediction import Prediction
from perdure.analysis.reading import WorldReading
from perdure.records.record import Record


class Gap(Record):
    """One thing that was not measured: `count` of `of`, or 0 of 0 where nothing can be counted."""

    what: str
    why: str
    count: int
    of: int


def gaps(
    *,
    outcome: str,
    personas: int,
    real_known: int,
    predictions: Sequence[Prediction],
    changes: Sequence[Change],
    readings: Sequence[WorldReading],
    cost: CostSum,
    beside: Outside,
) -> tuple[Gap, ...]:
    """List every gap of a report, the ones that touch its main figures first."""
    found: list[Gap] = []
    if not outcome:
        found.append(Gap(what="prediction", why="the study holds no outcome out", count=0, of=0))
    elif not predictions:
        found.append(Gap(what="prediction", why="no wave has closed yet", count=0, of=0))
    if outcome and real_known < personas:
        why = "no held-out value for this persona"
        found.append(Gap(what="real value", why=why, count=personas - real_known, of=personas))
    for prediction in predictions:
        if not prediction.same_as:
            found.extend(_answer_gaps(prediction))
    found.extend(
        Gap(what=f"change, {item.scenario}", why=item.unmeasured, count=0, of=0)
        for item in changes
        if item.unmeasured
    )
    found.extend(_score_gaps(readings))
    found.extend(_turn_gaps(readings))
    if cost.unknown:
        why = "the amount of these attempts is unknown"
        found.append(Gap(what="cost", why=why, count=cost.unknown, of=cost.attempts))
    if cost.usage_unknown:
        why = "no token counts were reported for these attempts"
        found.append(Gap(what="tokens", why=why, count=cost.usage_unknown, of=cost.attempts))
    if beside.unknown:
        why = "the amount of these attempts outside closed ticks is unknown"
        found.append(Gap(what="cost", why=why, count=beside.unknown, of=beside.unknown))
    if beside.open:
        why = "the run has not ended; calls of open ticks are not on record"
        found.append(Gap(what="cost", why=why, count=0, of=0))
    return tuple(found)


def _answer_gaps(prediction: Prediction) -> Iterable[Gap]:
    answers = prediction.overall.answers
    what = f"answer, {prediction.scenario}, tick {prediction.tick}"
    yield from _by_cause(what, "unscorable", answers.unscorable, answers.asked)
    yield from _by_cause(what, "failed", answers.failed, answers.asked)
    if answers.unjudged:
        yield Gap(what=what, why="no score on record", count=answers.unjudged, of=answers.asked)


def _score_gaps(readings: Sequence[WorldReading]) -> Iterable[Gap]:
    """Answers to the other closed questions that have no score."""
    for name in sorted({name for reading in readings for name in reading.scores}):
        counts = [reading.scores[name] for reading in readings if name in reading.scores]
        causes = _sum(count.unscorable for count in counts)
        given = sum(count.scored for count in counts) + causes.total()
        yield from _by_cause(f"answer to {name}", "unscorable", causes, given)


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
