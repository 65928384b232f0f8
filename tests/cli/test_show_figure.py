"""Every number of a report resolves to events: it comes out again from these very events alone.

Five runs are recorded. Every figure of their reports is looked up by its address, and its value is
computed a second time, by the small code here, from what its ids name and from nothing else.
"""

from __future__ import annotations

import enum
import html
import math
import re
import statistics
import types
import typing
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.figure_runs import RUNS, record

from perdure.analysis.address import KINDS, read_address
from perdure.analysis.addressed import figures
from perdure.analysis.addressing import Figure, value_at
from perdure.analysis.evidence import Evidence
from perdure.analysis.report import Report, build_report
from perdure.analysis.resolved import resolve
from perdure.base.errors import EXIT_DONE, EXIT_USAGE
from perdure.cli.shown import look
from perdure.records.events import KIND_OF, BeliefsHeld, Event, Turn
from perdure.records.study import Study
from perdure.records.tools import AnswerStatus
from perdure.trace.reader import RunReader

Found = Mapping[str, Sequence[tuple[str, Event]]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Record each run once."""
    made: dict[str, Path] = {}

    def give(name: str) -> Path:
        if name not in made:
            made[name] = record(name, tmp_path_factory.mktemp(name))
        return made[name]

    return give


class Held:
    """A record whose events were read once, and are kept: they are asked for very often here."""

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader
        self.kept = {one.world_id: list(reader.events(one.world_id)) for one in reader.worlds}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def events(self, world_id: str, kinds: Any = None) -> Iterator[Event]:
        """Stream events of some kinds."""
        for event in self.kept[world_id]:
            if kinds is None or KIND_OF[type(event.payload)] in kinds:
                yield event


class Run:
    """A recorded run with its report, and every figure with the events that its ids name."""

    def __init__(self, reader: RunReader) -> None:
        self.reader = reader
        self.report = build_report(reader)
        self.study = msgspec.json.decode(reader.entry.study, type=Study)
        self.held = Held(reader)
        self.evidence = Evidence(self.held)
        self.seeds = {one.world_id: one.replicate_seed for one in reader.worlds}
        self.scenario = {one.world_id: one.scenario for one in reader.worlds}
        self.held_out = reader.held_out

    def named(self, figure: Figure) -> Found:
        """Look every event up again by its id alone."""
        return {
            part.name: [
                (world, self.event(f"{world}:{event.seq}"))
                for world, event in self.evidence.events(part)
            ]
            for part in figure.parts
        }

    def event(self, name: str) -> Event:
        """Give the event of an id."""
        world, _, seq = name.rpartition(":")
        event = self.held.kept[world][int(seq)]
        assert event.seq == int(seq)
        return event

    def evidence_of(self, group: str) -> frozenset[str]:
        """Name the people of a group, by the attribute that the report is grouped by."""
        return frozenset(
            one.id
            for one in self.reader.personas
            if str(one.attributes.get(self.report.grouped_by)) == group
        )

    def value(self, figure: Figure, place: int = 0) -> Any:
        """Give what the report has at a place of a figure."""
        return value_at(self.report, figure.at[place])


def give(choices: Sequence[str], name: str, payload: Any, *, several: bool) -> float:
    """Say what a score adds to a choice, or to the mean."""
    if payload.number is not None:
        return float(payload.number) if name == "mean" else 0.0
    if payload.masses:
        given: dict[str, float] = dict(zip(choices, payload.masses, strict=True))
    elif payload.choices is not None:
        given = dict.fromkeys(payload.choices if several else payload.choices[:1], 1.0)
    else:
        given = {payload.choice: 1.0}
    if name == "mean":
        return sum(place * given.get(one, 0.0) for place, one in enumerate(choices, 1))
    return given.get(name, 0.0)


def giving(run: Run, question: str, name: str) -> Callable[[Any], float]:
    """Make what gives the value of a score of a question."""
    (found,) = [one for one in run.study.questions if one.id == question]
    choices = [one.id for one in found.choices]
    return lambda payload: give(choices, name, payload, several=found.asks_for == "several")


def mean(values: Sequence[float]) -> float | None:
    """Give a mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def same(one: float | None, other: float | None) -> bool:
    """Say whether two numbers are the same but for rounding."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def check_spread(spread: Any, values: Sequence[float]) -> None:
    """Sum up one value for each seed."""
    assert spread.seeds == len(values)
    assert same(spread.mean, mean(values))
    assert same(spread.sd, statistics.stdev(values) if len(values) > 1 else None)
    assert same(spread.least, min(values, default=None))
    assert same(spread.most, max(values, default=None))


def by_world(found: Sequence[tuple[str, Event]]) -> dict[str, list[Event]]:
    """Sort events by world."""
    sorted_out: dict[str, list[Event]] = defaultdict(list)
    for world, event in found:
        sorted_out[world].append(event)
    return sorted_out


def payloads(found: Sequence[tuple[str, Event]]) -> list[Any]:
    """Give what the events say."""
    return [event.payload for _, event in found]


def check_tally(tally: Any, parts: Found) -> None:
    """Count what became of answers."""
    assert tally.asked == len(parts["asked"])
    assert tally.scored == len(parts["scored"])
    assert sum(tally.failed.values()) == len(parts.get("failed", ()))
    assert sum(tally.unscorable.values()) == len(parts.get("unscorable", ()))
    assert tally.unjudged == len(parts.get("unjudged", ()))
    causes = Counter(str(one.unscorable) for one in payloads(parts.get("unscorable", ())))
    assert tally.unscorable == causes


def check_answers(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Shares, means and tallies of answers; at a tick, or with a claim."""
    question, rest = keys[1], 4 if keys[0] in {"answers", "claims"} else 0
    if len(keys) == rest:
        row = run.value(figure)
        check_tally(row.answers, parts)
        for one in row.by_seed:
            mine = by_world(parts["scored"])[one.world_id]
            assert one.scored == len(mine)
    elif len(keys) > rest:
        name = keys[4]
        gives = giving(run, question, name)
        values = [gives(one) for one in payloads(parts["of"])]
        value = run.value(figure)
        assert same(mean(values), value if name == "mean" else value.share), figure.address
        counted = [gives(one) for one in payloads(parts["counted"])]
        assert all(counted)
        assert same(math.fsum(counted), math.fsum(values))
        if name != "mean":
            assert same(math.fsum(counted), value.count)
            assert value.of == len(parts["of"])
        seeds = [
            mean([gives(event.payload) for event in events])
            for events in by_world(parts["of"]).values()
        ]
        spread = run.value(figure, 1)
        if keys[0] == "answers":
            check_spread(spread, [one for one in seeds if one is not None])
    elif len(keys) == 3:
        rows = [run.value(figure, place) for place in range(len(figure.at))]
        assert sum(row.answers.scored for row in rows) == len(parts["scored"])


def check_moves(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Measure changes and differences again: by persona and seed, from the two scores of each."""
    depth = 3 if keys[0] == "changes" else 4
    if len(keys) == depth:
        row = run.value(figure)
        assert sum(one.paired for one in row.seeds) == len(parts["first"]) == len(parts["last"])
        assert sum(one.moved for one in row.seeds) == len(parts["moved"])
        left = {
            (run.seeds[world], event.persona)
            for name in ("left out first", "left out last")
            for world, event in parts[name]
        }
        assert sum(one.unpaired for one in row.seeds) == len(left)
        return
    gives = giving(run, keys[1], keys[depth])
    first: dict[int, dict[str, float]] = defaultdict(dict)
    last: dict[int, dict[str, float]] = defaultdict(dict)
    for name, into in (("of first", first), ("of last", last)):
        for world, event in parts[name]:
            into[run.seeds[world]][event.persona] = gives(event.payload)
    assert {seed: set(found) for seed, found in first.items()} == {
        seed: set(found) for seed, found in last.items()
    }
    moves = [
        mean([after - first[seed][persona] for persona, after in found.items()])
        for seed, found in last.items()
    ]
    check_spread(run.value(figure), [one for one in moves if one is not None])
    whole = math.fsum(gives(one) for one in payloads(parts["last"])) - math.fsum(
        gives(one) for one in payloads(parts["first"])
    )
    every = math.fsum(one for found in last.values() for one in found.values()) - math.fsum(
        one for found in first.values() for one in found.values()
    )
    assert same(whole, every)


def check_personas(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Figures over personas: what the scores add up to, by their number."""
    against = "?" in figure.address
    if len(keys) == 4:
        row = run.value(figure)
        assert row.answers == len(parts["of"])
        assert row.personas == len({event.persona for _, event in parts["of"]})
        return
    gives = giving(run, keys[1], keys[4])
    total = math.fsum(gives(one) for one in payloads(parts["of"]))
    if against:
        total -= math.fsum(gives(one) for one in payloads(parts["of other"]))
        assert len(parts["of"]) == len(parts["of other"])
    value = run.value(figure).value
    assert same(value, total / len(parts["of"]) if parts["of"] else None)


def check_predictions(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Accuracy, and the predicted share of a choice."""
    assert run.report.outcome is not None
    question = run.report.outcome.question_id
    if len(keys) == 3:
        overall = run.value(figure).overall
        check_tally(overall.answers, parts)
        assert overall.fit.compared == len(parts["compared"])
        right = math.fsum(
            giving(run, question, run.held_out[event.persona])(event.payload)
            for _, event in parts["right"]
        )
        assert same(overall.fit.correct, right)
        said: dict[str, list[Any]] = defaultdict(list)
        for _, event in parts["compared"]:
            said[event.persona].append(event.payload)
        assert overall.fit.personas == len(said)
        chances = {
            persona: {
                choice: mean([giving(run, question, choice)(one) for one in scores]) or 0.0
                for choice in run.report.outcome.choices
            }
            for persona, scores in said.items()
        }
        losses = [
            sum((part - (choice == run.held_out[who])) ** 2 for choice, part in chance.items())
            for who, chance in chances.items()
        ]
        assert same(overall.fit.brier, mean(losses))
        logs = [-math.log(max(chance[run.held_out[who]], 0.01)) for who, chance in chances.items()]
        assert same(overall.fit.log_loss, mean(logs))
        for one in run.value(figure).groups:
            people = run.evidence_of(one.group)
            mine = [event for _, event in parts["scored"] if event.persona in people]
            assert one.answers.scored == len(mine)
            for share in one.predicted:
                gives = giving(run, question, share.choice)
                assert same(share.share, mean([gives(event.payload) for event in mine]))
    else:
        gives = giving(run, question, keys[3])
        value = run.value(figure)
        assert value.of == len(parts["of"])
        assert same(value.count, math.fsum(gives(one) for one in payloads(parts["counted"])))


def step_of(claim: str, event: Event) -> int:
    """Give the belief that an event leaves, from -3 to 3."""
    if isinstance(event.payload, Turn):
        return 0
    assert isinstance(event.payload, BeliefsHeld)
    return max(-3, min(3, event.payload.beliefs[claim]))


def check_beliefs(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """How many hold each belief, world by world; and the share of a side."""
    claim = keys[1]
    if len(keys) == 4:
        for one in run.value(figure).by_seed:
            mine = by_world(parts["met"])[one.world_id]
            counts = Counter(step_of(claim, event) for event in mine)
            assert one.counts == tuple(counts[step] for step in range(-3, 4))
            assert len({event.persona for event in mine}) == len(mine)
        return
    shares = [
        len(by_world(parts["counted"])[world]) / len(events)
        for world, events in by_world(parts["of"]).items()
    ]
    check_spread(run.value(figure), shares)


STATUSES = [str(status) for status in AnswerStatus]
_OF_MESSAGES = {"exposures", "messages", "gini", "first_tenth"}


def check_channels(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Exposures, messages, reach, deeds, over worlds at their end."""
    people = len(run.reader.personas)
    if len(keys) == 3:
        seen = [one.seen for one in run.value(figure).worlds]
        assert sum(one.turns for one in seen) == len(parts["turns"])
        assert sum(one.failed for one in seen) == len(parts["failed"])
        assert sum(sum(one.dropped.values()) for one in seen) == len(parts["dropped"])
        return
    what = keys[3]
    if what.startswith("message-"):
        message = run.value(figure)
        ((world, published),) = parts["published"]
        assert (f"{world}:{published.seq}", message.stimulus) == (
            what.removeprefix("message-"),
            published.payload.stimulus.id,  # type: ignore[union-attr]
        )
        assert message.exposures == sum(
            one.stimulus == message.stimulus
            for turn in payloads(parts["of"])
            for one in turn.presentation.impression.exposures
        )
        assert message.reached == len({event.persona for _, event in parts["of"]})
        return
    ((name, spread),) = (
        run.value(figure).between.spreads.items()
        if what.startswith("tick-")
        else run.value(figure).spreads.items()
    )
    sides = by_world(parts["of"])
    ended = [one.world_id for one in run.report.worlds if run.scenario[one.world_id] == keys[2]]

    def measured(events: Sequence[Event]) -> float | None:
        shown = (
            Counter(
                one.stimulus
                for event in events
                for one in event.payload.presentation.impression.exposures  # type: ignore[union-attr]
            )
            if what.startswith("tick-") or what in _OF_MESSAGES
            else Counter()
        )
        if what in {"messages", "exposures"} or what.startswith("tick-"):
            return float(len(shown) if what == "messages" else shown.total())
        if what == "first_tenth":
            most = sorted(shown.values())[-math.ceil(len(shown) / 10) :]
            return sum(most) / shown.total() if len(shown) > 1 else None
        if what == "gini":
            values = sorted(shown.values())
            if len(values) < 2:
                return None
            pairs = sum(abs(one - other) for one in values for other in values)
            return pairs / (2 * len(values) * sum(values))
        if what in {"reached", "told", "first_hand"} or what.startswith("reach-"):
            return len({event.persona for event in events}) / people
        return float(len(events))

    values = [one for world in ended if (one := measured(sides[world])) is not None]
    assert name in {what, "exposures", what.partition("-")[2].replace(":", ": ")}
    check_spread(spread, values)


def check_tools(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Count calls by what they came to, and the turns and people that asked, of all that could."""
    found = run.value(figure)
    if len(keys) == 2:
        assert found.asked == len(parts["asked"])
        assert found.nameless == len(parts["nameless"])
        assert found.endings.turns == len(parts["turns"])
    elif len(keys) == 3:
        worlds = {name: by_world(parts[name]) for name in parts}
        counts = [(found.count, list(worlds["asked"]) + list(worlds["turns"]))]
        counts += [(one.count, [one.world_id]) for one in found.by_seed]
        for count, ids in counts:
            asked, answered, used, had = (
                [(world, event) for world in dict.fromkeys(ids) for event in worlds[name][world]]
                for name in ("asked", "answered", "used", "turns")
            )
            assert count.asked == len(asked) == len(answered)
            assert all(one.call.name == keys[2] for one in payloads(asked))
            assert all(keys[2] in one.tools for one in payloads(had))
            said = Counter(str(one.status) for one in payloads(answered))
            assert msgspec.to_builtins(count.outcomes) == {name: said[name] for name in STATUSES}
            runs = {(world, event.payload.run) for world, event in asked}  # type: ignore[union-attr]
            assert count.used == len(used) == len(runs)
            assert count.turns == len(had)
            assert count.people == len({event.persona for _, event in asked})
            assert count.personas == len({event.persona for _, event in had})
    elif keys[3] in STATUSES:
        assert found == len(parts["counted"])
        assert {str(one.status) for one in payloads(parts["counted"])} <= {keys[3]}
    else:
        counted, of = by_world(parts["counted"]), by_world(parts["of"])
        check_spread(found, [len(counted[world]) / len(events) for world, events in of.items()])


def check_effects(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Count the calls of what acts outside by what they came to."""
    found = run.value(figure)
    if len(keys) == 2:
        said = Counter(str(one.status) for one in payloads(parts["asked"]))
        assert msgspec.to_builtins(found) == {name: said[name] for name in STATUSES}
        assert {one.name for one in payloads(parts["asked"])} == {"append_line"}
    else:
        assert found == len(parts["counted"])
        assert {str(one.status) for one in payloads(parts["counted"])} <= {keys[2]}


def check_endings(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Count turns by why they ended, of those that began."""
    found = run.value(figure)
    causes = Counter(str(one.cause) for one in payloads(parts["counted"]))
    if len(keys) == 2:
        assert found.causes == causes
        assert found.turns == len(parts["of"]) == causes.total()
    else:
        assert {keys[2]: found} == causes


def check_costs(run: Run, figure: Figure, _keys: Sequence[str], parts: Found) -> None:
    """Add up attempts, amounts and tokens."""
    total = run.value(figure)
    total = getattr(total, "sum", total)
    costs = payloads(parts["attempts"])
    assert total.attempts == len(costs)
    assert total.amount == sum(one.amount or 0 for one in costs)
    assert total.output == sum(one.usage.output for one in costs if one.usage)
    assert total.input_fresh == sum(one.usage.input_fresh for one in costs if one.usage)
    assert total.failed == len(parts["failed"])
    assert total.unknown == len(parts["unknown"])
    assert total.usage_unknown == len(parts["no_usage"])


def check_worlds(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Count turns, failures, reflections and events."""
    lines = run.report.worlds if len(keys) == 1 else [run.value(figure)]
    assert sum(one.turns for one in lines) == len(parts["turns"])
    assert sum(one.turns_failed for one in lines) == len(parts["failed"])
    assert sum(one.reflections for one in lines) == len(parts["reflections"])
    assert sum(one.events for one in lines) == len(parts["events"])
    assert sum(one.tick + 1 for one in lines) == len(parts["ticks"])


def check_activations(run: Run, figure: Figure, _keys: Sequence[str], parts: Found) -> None:
    """People with a turn at exposure ticks, and what was dropped."""
    found = run.value(figure)
    assert found.realised == len({(event.tick, event.persona) for _, event in parts["realised"]})
    assert sum(found.dropped.values()) == len(parts["dropped"])


def check_models(run: Run, figure: Figure, _keys: Sequence[str], parts: Found) -> None:
    """Count the attempts that a role answered."""
    use = run.value(figure)
    assert use.failed == len(parts["failed"])
    names = Counter(one.served or one.model for one in payloads(parts["served"]))
    assert use.served == names


def check_verbatims(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Count the answers of a cluster, the rest, and all; what is quoted is among them."""
    found = run.value(figure)
    if len(keys) == 3:
        assert found.answers == len(parts["of"])
        assert found.rest == len(parts["rest"])
        assert found.wordless == len(parts["wordless"])
        return
    assert found.size == len(parts["counted"])
    ids = {f"{world}:{event.seq}" for world, event in parts["counted"]}
    assert {quote.event for quote in found.quotes} <= ids


def check_polarization(run: Run, figure: Figure, _keys: Sequence[str], parts: Found) -> None:
    """How many people of each world are compared."""
    for one in run.value(figure).by_seed:
        mine = by_world(parts["of"])[one.world_id]
        assert one.divergence.personas == len({event.persona for event in mine})


def check_anomalies(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Compute the figure of a rule from its events; of all of it, count how often it held."""
    found = run.value(figure)
    if len(keys) == 2:
        assert found.found == sum(one.rule == keys[1] for one in run.report.anomalies.found)
    elif keys[1] == "one_answer":
        assert same(found.figure, len(parts["counted"]) / len(parts["of"]))
    elif keys[1] == "failures":
        rate = len(parts["run failed"]) / len(parts["run"])
        assert same(found.figure, len(parts["counted"]) / len(parts["of"]) / rate)
    elif keys[1] == "saturation":
        steps = [step_of(found.about, event) for _, event in parts["at"]]
        assert same(found.figure, sum(abs(step) == 3 for step in steps) / len(steps))
    elif keys[1] == "herding":
        now, then = (
            [
                statistics.mean(step_of(found.about, event) for event in events)
                for events in by_world(parts[name]).values()
            ]
            for name in ("at", "before")
        )
        moved = abs(statistics.mean(now) - statistics.mean(then))
        assert same(found.figure, moved / statistics.stdev(now))
    elif keys[1] == "identical_worlds":
        texts = {
            world: tuple(
                (event.tick, event.payload) for event in events if event.content is not None
            )
            for world, events in by_world(parts["of"]).items()
        }
        assert len(set(map(repr, texts.values()))) == 1
        assert found.figure == len(texts)


def check_failures(_run: Run, _figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Find what failed among all that was tried, and that it failed so."""
    every = {(world, event.seq) for world, event in parts["of"]}
    assert {(world, event.seq) for world, event in parts["counted"]} <= every
    if len(keys) == 3:
        causes = {
            f"{getattr(one, 'cause', '')}:{getattr(one, 'call', '') or one.failed}"
            if hasattr(one, "cause")
            else str(one.failed)
            for one in payloads(parts["counted"])
        }
        assert causes == {keys[2]}


def check_gaps(run: Run, figure: Figure, _keys: Sequence[str], parts: Found) -> None:
    """Count what is missing, and what it is missing of."""
    gap = run.value(figure)
    if gap.cause:
        missing = [name for name in parts if name not in {"asked", "of", "attempts"}]
        assert gap.count == sum(len(parts[name]) for name in missing), (gap, missing)
    if gap.cause and "asked" in parts and gap.figure.count("/") > 1:
        assert gap.of == len(parts["asked"])
    for name in ("of", "attempts"):
        if gap.cause and name in parts:
            assert gap.of == len(parts[name])


def check_telling(run: Run, figure: Figure, keys: Sequence[str], parts: Found) -> None:
    """Take a difference of means, from the scores of both sides."""
    if len(keys) == 1:
        return
    one = run.value(figure)
    gives = giving(run, keys[1], keys[4])
    sides = []
    for name in ("first", "last"):
        means = [
            mean([gives(event.payload) for event in events])
            for events in by_world(parts[name]).values()
        ]
        sides.append(mean([each for each in means if each is not None]))
    if one.mean is not None:
        assert same(one.mean, (sides[1] or 0.0) - (sides[0] or 0.0))


def check_comparability(_run: Run, _figure: Figure, _keys: Sequence[str], parts: Found) -> None:
    """Failed turns are turns."""
    assert len(parts["failed"]) <= len(parts["of"])


CHECKS: dict[str, Callable[[Run, Figure, Sequence[str], Found], None]] = {
    "answers": check_answers,
    "claims": check_answers,
    "changes": check_moves,
    "differences": check_moves,
    "telling": check_telling,
    "personas": check_personas,
    "predictions": check_predictions,
    "beliefs": check_beliefs,
    "polarization": check_polarization,
    "channels": check_channels,
    "tools": check_tools,
    "effects": check_effects,
    "endings": check_endings,
    "verbatims": check_verbatims,
    "anomalies": check_anomalies,
    "worlds": check_worlds,
    "activations": check_activations,
    "failures": check_failures,
    "gaps": check_gaps,
    "models": check_models,
    "costs": check_costs,
    "comparability": check_comparability,
}
# What rests on no event, or on all of them: there is nothing to count.
UNCOUNTED = {
    "scored",
    "outcome",
    "outside",
    "budget",
    "population",
    "weighting",
    "marks",
    "seeds",
    "beside",
}


def test_every_kind_is_checked_or_rests_on_no_event():
    """No kind of figure is left out here."""
    assert CHECKS.keys() | UNCOUNTED == KINDS.keys()


@pytest.mark.parametrize("name", RUNS)
def test_every_figure_comes_out_again_from_its_events(recorded, name):
    """The ids that a figure gives are the right ones, and all of them."""
    with RunReader.open(recorded(name)) as reader:
        run = Run(reader)
        checked: Counter[str] = Counter()
        for figure in figures(run.report):
            wanted = read_address(figure.address)
            assert wanted.text == figure.address
            check = CHECKS.get(wanted.kind)
            if check is not None:
                check(run, figure, wanted.path, run.named(figure))
                checked[wanted.kind] += 1
    expected = {
        "vote": {"predictions", "claims", "differences", "beliefs"},
        "rumour": {"channels", "polarization", "anomalies", "changes"},
        "street": {"gaps", "failures", "costs", "models", "verbatims"},
        "likeness": {"answers", "personas", "changes", "telling"},
        "office": {"tools", "effects", "endings"},
    }[name]
    assert expected <= checked.keys()


# Under which kinds the numbers of each part of a report are found. The longest entry counts.
WHERE: dict[str, tuple[str, ...]] = {
    "models[]": ("models",),
    "worlds[]": ("worlds",),
    "worlds[].activation": ("activations",),
    "outcome": ("outcome",),
    "predictions[]": ("predictions",),
    "questions[].ticks[]": ("answers",),
    "questions[].by_claim[]": ("claims",),
    "changes[]": ("changes",),
    "differences[]": ("differences",),
    "seeds[]": ("seeds",),
    "gaps[]": ("gaps",),
    "cost.total": ("costs",),
    "cost.by_model[]": ("costs",),
    "cost.by_role[]": ("costs",),
    "cost.by_purpose[]": ("costs",),
    "cost.by_source[]": ("costs",),
    "cost.outside": ("outside",),
    "scored_by[]": ("scored",),
    "budget": ("budget",),
    "rungs[]": ("budget",),
    "marks": ("marks",),
    "comparability": ("comparability",),
    "population": ("population",),
    "telling": ("telling",),
    "over_personas[]": ("personas",),
    "weighting": ("weighting",),
    "opinions[]": ("beliefs",),
    "polarization[]": ("polarization",),
    "channels[]": ("channels",),
    "tools[]": ("tools",),
    "tools[].endings": ("endings",),
    "tools[].effects": ("effects",),
    "anomalies": ("anomalies",),
    "verbatims[]": ("verbatims",),
    "beside.rows[]": ("beside",),
    # What the study says itself: how many ticks its worlds have.
    "calendars[]": ("worlds",),
}
# Every field of a number that a report can have, by the record that has it.
FIELDS: dict[str, str] = {
    "Activation": "ticks expected realised thinned_ticks dropped",
    "Alike": "failed_min failed_max",
    "Anomaly": "figure threshold tick",
    "Dates": "ticks in_prompt",
    "BesideFit": "tick personas",
    "Between": "seeds effective identical",
    "Bin": "low high pairs predicted real",
    "Budget": "amount ceiling calls tokens wall_s unpriced_accepted",
    "Calibration": "group_gap bin_gap",
    "Change": "first last identical",
    "ChannelSeen": (
        "by_tick messages gini first_tenth reached told first_hand claims turns failed "
        "actions rejected dropped"
    ),
    "ChoiceChange": "seeds mean sd",
    "ClaimShares": "mean",
    "Communities": "modularity resolution sizes",
    "Compared": "tick paired effective mean reach p",
    "CostSum": (
        "attempts failed amount unknown input_fresh cache_write cache_read output "
        "usage_unknown usage_impossible"
    ),
    "Difference": "tick",
    "Divergence": "personas communities bits value chance",
    "Endings": "turns causes",
    "Fit": "compared correct personas accuracy brier log_loss floored",
    "ForceMark": "ticks",
    "Gap": "count of",
    "Gate": "declared compared statistic freedom p accepted target_mean drawn_mean least most",
    "GraphReport": "ties degree_mean degree_max isolated clustering connected homophily outside",
    "GroupFit": "personas real_unknown",
    "GroupShare": "personas predicted real",
    "Interval": "value low high",
    "JournalLoss": "ticks amount unknown",
    "JournalLost": "epoch",
    "Ladder": "warn freeze subsample share",
    "Level": "target drawn",
    "Message": "event tick exposures reached",
    "ModelUse": "served failed",
    "OpinionAt": "tick",
    "OpinionPath": "personas",
    "Outcome": "personas known withheld",
    "Outcomes": "ok error refused unknown",
    "Outside": "attempts amount unknown discarded open",
    "OutsidePart": "count amount unknown",
    "PersonaFigures": "tick seeds personas answers",
    "PolarizedAt": "tick p relabellings",
    "PopulationManifest": "rows_read rows_drawn left_out audiences",
    "Prediction": "tick seeds",
    "Quote": "tick",
    "Relaxation": "lacking gained",
    "Rule": "threshold looked found",
    "RungAt": "tick lifted",
    "Said": "size share",
    "ScenarioSeeds": "seeds states effective identical",
    "ScoredBy": "epsilon temperature",
    "SeedChange": "seed paired unpaired moved change",
    "SeedDivergence": "seed",
    "SeedNote": "seed",
    "SeedOpinion": "seed counts",
    "SeedShares": "seed scored shares",
    "SeedTool": "seed",
    "Share": "count of share",
    "Spread": "seeds effective mean sd least most low high",
    "Tally": "asked answered scored unscorable failed unjudged",
    "Telling": "least least_mean differ hold",
    "TickExposures": "tick",
    "TickShares": "tick wave seeds mean",
    "ToolCount": "asked used turns people personas",
    "ToolFigures": "outside",
    "ToolUse": "asked nameless",
    "Verbatims": "answers sampled floor rest wordless",
    "Weighted": "effective",
    "Weighting": "applied personas effective design",
    "WorldChannel": "seed tick",
    "WorldDiverged": "tick",
    "WorldFit": "seed",
    "WorldLine": "seed tick horizon turns turns_failed reflections events",
}


def numbers(kind: Any, path: str = "", owner: str = "") -> Iterator[tuple[str, str]]:
    """Walk a type to its numbers: give the path of each, and the record and field that has it."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in {typing.Union, types.UnionType}:
        for one in inside:
            yield from numbers(one, path, owner)
    elif origin is tuple:
        for one in inside[:1]:
            yield from numbers(one, f"{path}[]", owner)
    elif origin is dict:
        yield from numbers(inside[1], f"{path}{{}}", owner)
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for name, hint in typing.get_type_hints(kind).items():
            if name in kind.__struct_fields__:
                yield from numbers(hint, f"{path}.{name}".lstrip("."), f"{kind.__name__}.{name}")
    elif kind in {int, float, bool}:
        yield path, owner
    else:
        assert kind in {str, type(None)} or issubclass(kind, enum.Enum), (path, kind)


def kinds_at(path: str) -> tuple[str, ...]:
    """Say which kinds cover a number, by the longest entry."""
    fitting = [one for one in WHERE if path == one or path.startswith((f"{one}.", f"{one}["))]
    assert fitting, f"the number {path} of a report has no address"
    return WHERE[max(fitting, key=len)]


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Walk a report to its numbers."""
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from leaves(getattr(value, name), (*path, name))
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, (*path, str(name)))
    elif isinstance(value, tuple):
        for place, inner in enumerate(value):
            yield from leaves(inner, (*path, place))
    elif isinstance(value, int | float):
        yield path


def test_every_number_that_a_report_can_have_is_in_the_table():
    """A field that is added without an address, or that is gone, is told by its name."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, owner in numbers(Report):
        assert kinds_at(path)
        record, _, field = owner.partition(".")
        found[record].add(field)
    assert {name: set(fields.split()) for name, fields in FIELDS.items()} == found


@pytest.mark.parametrize("name", RUNS)
def test_every_number_of_a_report_is_under_an_address_of_its_kind(recorded, name):
    """Field by field, entry by entry; and no two figures have the same address."""
    with RunReader.open(recorded(name)) as reader:
        report = build_report(reader)
    covered: dict[tuple[str | int, ...], set[str]] = defaultdict(set)
    addresses = []
    for figure in figures(report):
        addresses.append(figure.address)
        for path in figure.at:
            value_at(report, path)
            covered[path].add(figure.address.partition("?")[0].partition("/")[0])
    assert len(addresses) == len(set(addresses))
    missed = []
    for leaf in leaves(report):
        kinds = set().union(*(covered.get(leaf[:end], set()) for end in range(1, len(leaf) + 1)))
        static = "".join("[]" if isinstance(key, int) else f".{key}" for key in leaf).lstrip(".")
        wanted = [
            one for one in WHERE if static == one or static.startswith((f"{one}.", f"{one}["))
        ]
        if not wanted or not kinds & set(WHERE[max(wanted, key=len)]):
            missed.append((leaf, kinds))
    assert not missed


def test_a_figure_names_events_that_show_resolves(recorded, perdure):
    """Through the command: each id that a figure gives is one that the command takes."""
    folder = recorded("street")
    found = perdure("show", folder, "answers/tram/s/0", "--json").document
    ids = [name for part in found["parts"] for name in part["ids"]]
    assert len(ids) > 20
    with RunReader.open(folder) as reader:
        for name in ids:
            shown = look(reader, name)
            assert shown.event == name
            assert shown.turn is not None
            assert shown.turn.question_id == "tram"
    for part in found["parts"]:
        assert part["events"] == len(part["ids"]) == sum(part["kinds"].values())
    assert {"failed", "unscorable", "asked", "scored"} == {one["name"] for one in found["parts"]}


def test_on_a_terminal_the_first_are_listed_and_all_if_asked_for(recorded, perdure):
    """The first twenty with how many there are; with --all every one, in the record's order."""
    folder = recorded("vote")
    said = perdure("show", folder, "answers/vote/clinton-messages/0")
    every = perdure("show", folder, "answers/vote/clinton-messages/0", "--all")
    assert said.status == every.status == EXIT_DONE
    ids = [line.split()[0] for line in said.out.splitlines() if "turn of" in line]
    whole = [line.split()[0] for line in every.out.splitlines() if "turn of" in line]
    assert len(ids) == 20
    assert whole[:20] == ids
    assert f"and {len(whole) - 20} more: --all" in said.out
    assert f"{len(whole)} events: turn {len(whole)}" in said.out
    numbers = [int(name.partition(":")[2]) for name in whole]
    assert numbers[: len(numbers) // 2] == sorted(numbers[: len(numbers) // 2])
    for words in ("Values", "How it is computed", "share"):
        assert words in said.out


def test_filters_narrow_events_and_values(recorded, perdure):
    """By seed, persona, group and world; what the report has no value for says so."""
    folder = recorded("vote")
    place = "predictions/clinton-messages/0"
    whole = perdure("show", folder, place, "--json").document
    seed = perdure("show", folder, f"{place}?seed=2", "--json").document
    world = next(one.world_id for one in opened(folder) if one.replicate_seed == 2)
    asked = {part["name"]: part["ids"] for part in whole["parts"]}["asked"]
    mine = {part["name"]: part["ids"] for part in seed["parts"]}["asked"]
    assert mine == [name for name in asked if name.startswith(f"{world}:")]
    (fit,) = [one["value"] for one in seed["values"]]
    assert (fit["seed"], fit["world_id"]) == (2, world)
    group = perdure("show", folder, f"{place}?by=party&group=0", "--json").document
    (found,) = [
        one["value"] for one in group["values"] if "/groups/" in one["at"] and "fit" in one["value"]
    ]
    scored = {part["name"]: part["events"] for part in group["parts"]}["scored"]
    assert found["answers"]["scored"] == scored > 0
    labelled = perdure(
        "show", folder, f"{place}?group={found['label'].replace(' ', '%20')}", "--json"
    )
    assert labelled.document["parts"] == group["parts"]
    persona = perdure(
        "show", folder, "answers/vote/clinton-messages/0?persona=anes96-0046", "--json"
    )
    document = persona.document
    assert document["values"] == []
    assert "no value for persona anes96-0046 alone" in document["unmeasured"][0]["why"]
    assert {part["name"]: part["events"] for part in document["parts"]}["asked"] == 2
    several = perdure("show", folder, "costs?role=tier_a&purpose=turn", "--json").document
    assert several["values"] == []
    assert several["parts"][0]["events"] > 0


def opened(folder: Path) -> Sequence[Any]:
    """Give the worlds of a run."""
    with RunReader.open(folder) as reader:
        return reader.worlds


def test_what_is_not_measured_says_why_and_is_not_zero(recorded, perdure):
    """A tick at which nobody was asked; a figure without an interval; a gap with its cause."""
    folder = recorded("vote")
    nothing = perdure("show", folder, "answers/vote/clinton-messages/2", "--json").document
    assert nothing["values"] == nothing["parts"] == []
    assert nothing["says"] == "Not measured, which is not zero: nobody was asked there."
    assert "5 of 5 ticks closed" in nothing["unmeasured"][0]["why"]
    share = perdure("show", folder, "answers/vote/clinton-messages/0/dole", "--json").document
    assert any("effective replicates" in one["why"] for one in share["unmeasured"])
    street = recorded("street")
    with RunReader.open(street) as reader:
        gaps = build_report(reader).gaps
    for place, gap in enumerate(gaps):
        found = perdure("show", street, f"gaps/{place}", "--json").document
        assert found["values"][0]["value"]["count"] == gap.count
        assert found["unmeasured"][0]["why"] == gap.why


def test_an_unknown_address_names_the_nearest_and_the_kinds(recorded, perdure):
    """With exit code 2, whatever is wrong with it."""
    folder = recorded("vote")
    for name, words in {
        "answers/vote/clinton-message/0": "Did you mean `answers/vote/clinton-messages/0`?",
        "answrs/vote": "Did you mean `answers`?",
        "changes": "There is changes/vote/clinton-messages",
        "answers/vote/clinton-messages/0?sed=1": "Write one of seed, world, persona, by, group",
        "answers/vote/clinton-messages/0?seed=9": "Such as: 1, 2",
        "polarization/belief/x/y/0": "This report has none of polarization",
        "worlds/abc": "worlds/",
        "answers/vote/clinton-messages/9": "is no figure of this run",
        "answers//": "is no figure of this run",
    }.items():
        said = perdure("show", folder, name)
        assert said.status == EXIT_USAGE, name
        assert words in " ".join(said.err.split()), said.err
        assert not said.out
    assert perdure("show", folder, "0:1", "--all").status == EXIT_USAGE


def test_a_report_names_an_address_for_every_row_and_finding(recorded, perdure, tmp_path):
    """In a page each row has one that resolves; in Markdown each table says how it is made."""
    for name in RUNS:
        folder = recorded(name)
        with RunReader.open(folder) as reader:
            report = build_report(reader)
            study = msgspec.json.decode(reader.entry.study, type=Study)
        to = tmp_path / f"{name}.html"
        assert perdure("report", folder, "--to", to).status == EXIT_DONE
        page = to.read_text()
        bodies = re.findall(r"<tbody>(.*?)</tbody>", page, re.DOTALL)
        rows = [row for body in bodies for row in re.findall("<tr[^>]*>", body)]
        named = [re.search('data-figure="([^"]*)"', row) for row in rows]
        assert rows
        assert all(named), [row for row, one in zip(rows, named, strict=True) if not one]
        findings = re.findall(r'<ul class="findings">(.*?)</ul>', page, re.DOTALL)[0]
        assert all('<span class="at">[' in one for one in findings.strip().split("</li>")[:-1])
        for text in set(re.findall('data-figure="([^"]*)"', page)):
            resolve(report, study, read_address(html.unescape(text)))
        written = perdure("report", folder, "--format", "markdown").out
        tables = len(re.findall(r"^\| (---|---:)", written, re.MULTILINE))
        assert written.count("*Events behind a row: perdure show DIR ") == tables > 5
        document = perdure("report", folder, "--json").document
        assert document["worlds"][0]["address"].startswith("worlds/")
        for one in document["questions"][0]["ticks"]:
            key = f"{one['scenario']}/{one['tick']}"
            assert one["address"] == f"answers/{document['questions'][0]['id']}/{key}"
            assert all(share["address"] for share in one["shares"])


def test_events_stream_and_are_never_held(recorded, monkeypatch, capsys):
    """Pieces of the document are written while events are read: the first before the last."""
    from perdure.cli import show_figure  # noqa: PLC0415 - only this test looks into it

    order: list[str] = []
    read = Evidence.events

    def noted(self: Evidence, part: Any) -> Iterator[tuple[str, Event]]:
        for one in read(self, part):
            order.append("read")
            yield one

    monkeypatch.setattr(Evidence, "events", noted)
    monkeypatch.setattr(show_figure, "write_out", lambda _text: order.append("written"))
    monkeypatch.setattr(show_figure, "_PIECES_AT_ONCE", 10)
    name = "worlds"
    show_figure.show_figure(
        recorded("vote"), name, beside=None, every=True, scores="", as_json=True
    )
    assert "written" in order[:20]
    assert order.count("written") > 20


def test_a_run_beside_is_asked_for_its_own_events(recorded, perdure):
    """The events here are named, and the address under which the other run has its own."""
    folder = recorded("vote")
    name = "beside/clinton-messages/0"
    assert perdure("show", folder, name).status == EXIT_USAGE
    found = perdure("show", folder, name, "--beside", folder, "--json").document
    assert found["values"][0]["value"]["own"]["compared"] == found["parts"][0]["events"] > 0
    (other,) = [one for one in found["beside"] if one.startswith("the other run")]
    assert perdure("show", folder, other.rpartition(" ")[2]).status == EXIT_DONE
