"""Anomalies by stated rules: each with its threshold, its figure, its events, and what it may mean.

A rule that finds something proves nothing: it says where to look. A rule that could not be applied
says why, which is not the same as having found nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from perdure.analysis.incidents import Incident, WorldIncidents
from perdure.analysis.opinions import MEAN, STEPS_MAX, OpinionAt, OpinionPath
from perdure.analysis.replicates import ScenarioSeeds, SeedWorld
from perdure.records.record import Record

HERDING, BACKLASH, SATURATION = "herding", "backlash", "saturation"
ONE_ANSWER, IDENTICAL, DRIFT, FAILURES = "one_answer", "identical_worlds", "drift", "failures"

TRAIL = 3  # ticks over which a move is taken
HERDING_RATIO = 2.0
HERDING_MOVE = 0.25  # in steps: less is nobody's herd, however alike the seeds are
SPLIT = 0.3
SPLIT_MORE = 0.2
SATURATED = 0.5
SAME_WORDS = 0.5
DRIFTED = 0.1
FAILING = 2.0
PEOPLE_MIN = 10
PROBES_MIN = 20
FAILED_MIN = 5
_SURE = 3.0  # standard errors beyond what is expected
_DRIFT_SURE = 2.0


class Rule(Record):
    """One rule, what it asks, and what came of it.

    `looked` counts the places that it was applied to, `found` those at which it held. `why` says
    why it could not be applied anywhere, and is empty otherwise.
    """

    name: str
    asks: str
    threshold: float
    meaning: str
    looked: int
    found: int
    why: str = ""


class Anomaly(Record):
    """One place at which a rule held.

    `about` is the claim or question that it is about, if any; `tick` is -1 for a whole world.
    `events` are ids, `<world>:<number>`, of the first few events that the figure is of.
    """

    rule: str
    scenario: str
    figure: float
    threshold: float
    about: str = ""
    tick: int = -1
    world_ids: tuple[str, ...] = ()
    events: tuple[str, ...] = ()


class Anomalies(Record):
    """All rules, and all that they found, in the order of the rules."""

    rules: tuple[Rule, ...] = ()
    found: tuple[Anomaly, ...] = ()


WorldSeen = tuple[SeedWorld, WorldIncidents]
_Place = Anomaly | None  # looked at, and something or nothing found

_RULES: tuple[tuple[str, str, float, str, str], ...] = (
    (
        HERDING,
        (
            f"the mean belief in a claim moved over {TRAIL} ticks by more than this many times the "
            f"standard deviation between seeds, and by {HERDING_MOVE:g} steps or more"
        ),
        HERDING_RATIO,
        "people follow one another, or one message moves everybody alike",
        "no claim has seeds that differ over enough ticks",
    ),
    (
        BACKLASH,
        (
            "of those who take a side on a claim, this share is on the smaller one at the end "
            f"(after an intervention: it grew by {SPLIT_MORE:g} or more)"
        ),
        SPLIT,
        "what convinced some put others off; look whether sides follow a group",
        "nobody took a side on any claim, or too few did",
    ),
    (
        SATURATION,
        "this share of those who met a claim is at an end of the scale",
        SATURATED,
        (
            "beliefs cannot move any further, so later ticks and scenarios cannot be told apart by "
            "them"
        ),
        "too few people met any claim",
    ),
    (
        ONE_ANSWER,
        "this share of answers to a question at a tick has the very same words",
        SAME_WORDS,
        "the model does not play persons but repeats one sentence; look at temperature and prompt",
        "too few answers in words at any tick, or all of them by a declared rule",
    ),
    (
        IDENTICAL,
        "this many worlds of a scenario are the same, event by event",
        2.0,
        "the seeds make no difference: a temperature of 0, or a rule without noise",
        "no scenario has two worlds",
    ),
    (
        DRIFT,
        (
            "the agreement of probes with what is known fell by this from the first half of the "
            "ticks to the second"
        ),
        DRIFTED,
        "personas forget who they are as their memory grows",
        "there are too few scored probes",
    ),
    (
        FAILURES,
        (
            "the failed share of a tick's turns is this many times that of the whole run, and is "
            "no accident of few turns"
        ),
        FAILING,
        "an outage, a limit of the endpoint, or prompts that grew too long",
        "no turn was taken",
    ),
)


def anomalies(
    cells: Mapping[str, Sequence[WorldSeen]],
    paths: Sequence[OpinionPath],
    seeds: Sequence[ScenarioSeeds],
    *,
    worded: Collection[str],
) -> Anomalies:
    """Apply every rule. `worded` are the questions whose answers are words of a model's own."""
    looked: dict[str, list[_Place]] = {
        HERDING: [one for path in paths for one in _herding(path, cells)],
        BACKLASH: [one for path in paths for one in _backlash(path, cells)],
        SATURATION: [one for path in paths for one in _saturation(path, cells)],
        ONE_ANSWER: list(_one_answer(cells, worded)),
        IDENTICAL: list(_identical(seeds, cells)),
        DRIFT: list(_drift(cells)),
        FAILURES: list(_failures(cells)),
    }
    found = tuple(one for places in looked.values() for one in places if one is not None)
    return Anomalies(
        rules=tuple(
            Rule(
                name=name,
                asks=asks,
                threshold=threshold,
                meaning=meaning,
                looked=len(looked[name]),
                found=sum(one is not None for one in looked[name]),
                why="" if looked[name] else why,
            )
            for name, asks, threshold, meaning, why in _RULES
        ),
        found=found,
    )


def _herding(path: OpinionPath, cells: Mapping[str, Sequence[WorldSeen]]) -> Iterator[_Place]:
    """Find the tick of a claim at which the mean moved most against the spread between seeds."""
    by_tick = {at.tick: at for at in path.at}
    best: tuple[float, OpinionAt] | None = None
    looked = False
    for at in path.at:
        before = by_tick.get(at.tick - TRAIL)
        if before is None or at.mean.seeds != before.mean.seeds:
            continue
        now, then = at.mean.spreads[MEAN], before.mean.spreads[MEAN]
        if now.mean is None or then.mean is None or not now.sd:
            continue
        looked = True
        move = abs(now.mean - then.mean)
        ratio = move / now.sd
        if move >= HERDING_MOVE and ratio > HERDING_RATIO and (best is None or ratio > best[0]):
            best = ratio, at
    if best is not None:
        ratio, at = best
        yield _of_path(HERDING, path, at, figure=ratio, threshold=HERDING_RATIO, cells=cells)
    elif looked:
        yield None


def _backlash(path: OpinionPath, cells: Mapping[str, Sequence[WorldSeen]]) -> Iterator[_Place]:
    last = path.at[-1]
    sides = _sides(last)
    if sum(sides) < PEOPLE_MIN:
        return
    split = min(sides) / sum(sides)
    ticks = [one.tick for _, seen in cells[path.scenario] for one in seen.interventions]
    before = [at for at in path.at if at.tick < min(ticks)] if ticks else []
    if before:
        earlier = _sides(before[-1])
        was = min(earlier) / sum(earlier) if sum(earlier) else 0.0
        held = split >= SPLIT and split - was >= SPLIT_MORE
    else:
        held = split >= SPLIT
    yield (
        _of_path(BACKLASH, path, last, figure=split, threshold=SPLIT, cells=cells) if held else None
    )


def _sides(at: OpinionAt) -> tuple[int, int]:
    counts = [one.counts for one in at.by_seed]
    return (
        sum(sum(one[:STEPS_MAX]) for one in counts),
        sum(sum(one[STEPS_MAX + 1 :]) for one in counts),
    )


def _saturation(path: OpinionPath, cells: Mapping[str, Sequence[WorldSeen]]) -> Iterator[_Place]:
    last = path.at[-1]
    met = sum(sum(one.counts) for one in last.by_seed)
    if met < PEOPLE_MIN:
        return
    share = sum(one.counts[0] + one.counts[-1] for one in last.by_seed) / met
    held = share >= SATURATED
    yield (
        _of_path(SATURATION, path, last, figure=share, threshold=SATURATED, cells=cells)
        if held
        else None
    )


def _of_path(
    rule: str,
    path: OpinionPath,
    at: OpinionAt,
    *,
    figure: float,
    threshold: float,
    cells: Mapping[str, Sequence[WorldSeen]],
) -> Anomaly:
    """Name the belief snapshots of that tick, or the last before it, in each world."""
    events = []
    for world, seen in cells[path.scenario]:
        moves = [one for one in seen.moves if one.tick <= at.tick]
        if moves:
            events.append(f"{world.world_id}:{moves[-1].events[0]}")
    return Anomaly(
        rule=rule,
        scenario=path.scenario,
        figure=figure,
        threshold=threshold,
        about=path.claim,
        tick=at.tick,
        world_ids=tuple(one.world_id for one in at.by_seed),
        events=tuple(events),
    )


def _one_answer(
    cells: Mapping[str, Sequence[WorldSeen]], worded: Collection[str]
) -> Iterator[_Place]:
    for scenario, worlds in cells.items():
        for world, seen in worlds:
            for one in seen.shared:
                if one.answers < PEOPLE_MIN or one.question not in worded:
                    continue
                share = one.same / one.answers
                yield (
                    Anomaly(
                        rule=ONE_ANSWER,
                        scenario=scenario,
                        figure=share,
                        threshold=SAME_WORDS,
                        about=one.question,
                        tick=one.tick,
                        world_ids=(world.world_id,),
                        events=_ids(world, one.events),
                    )
                    if share > SAME_WORDS
                    else None
                )


def _identical(
    seeds: Sequence[ScenarioSeeds], cells: Mapping[str, Sequence[WorldSeen]]
) -> Iterator[_Place]:
    for one in seeds:
        worlds = [(world, seen) for world, seen in cells[one.scenario] if world.tick >= 0]
        if len(worlds) < 2:  # noqa: PLR2004 - two can be the same
            continue
        if not one.identical:
            yield None
        for same in one.identical:
            alike = [(world, seen) for world, seen in worlds if world.seed in same]
            yield Anomaly(
                rule=IDENTICAL,
                scenario=one.scenario,
                figure=float(len(alike)),
                threshold=2.0,
                world_ids=tuple(world.world_id for world, _ in alike),
                events=tuple(f"{world.world_id}:{seen.first}" for world, seen in alike),
            )


def _drift(cells: Mapping[str, Sequence[WorldSeen]]) -> Iterator[_Place]:
    for scenario, worlds in cells.items():
        ticks = [one.tick for _, seen in worlds for one in seen.disagreed]
        if not ticks:
            continue
        middle = (min(ticks) + max(ticks)) / 2
        early = [one for _, seen in worlds for one in seen.disagreed if one.tick <= middle]
        late = [(w, one) for w, seen in worlds for one in seen.disagreed if one.tick > middle]
        first, second = _total(early), _total([one for _, one in late])
        if min(first[1], second[1]) < PROBES_MIN:
            continue
        fell = second[0] / second[1] - first[0] / first[1]
        pooled = (first[0] + second[0]) / (first[1] + second[1])
        error = math.sqrt(pooled * (1 - pooled) * (1 / first[1] + 1 / second[1]))
        held = fell >= DRIFTED and fell > _DRIFT_SURE * error
        yield (
            Anomaly(
                rule=DRIFT,
                scenario=scenario,
                figure=fell,
                threshold=DRIFTED,
                tick=math.floor(middle) + 1,
                world_ids=tuple(dict.fromkeys(world.world_id for world, _ in late)),
                events=tuple(
                    f"{world.world_id}:{one.events[0]}" for world, one in late if one.events
                ),
            )
            if held
            else None
        )


def _failures(cells: Mapping[str, Sequence[WorldSeen]]) -> Iterator[_Place]:
    places = [
        (scenario, world, one)
        for scenario, worlds in cells.items()
        for world, seen in worlds
        for one in seen.failures
    ]
    failed, turns = _total([one for _, _, one in places])
    rate = failed / turns if turns else 0.0
    for scenario, world, one in places:
        share = one.count / one.of
        error = math.sqrt(rate * (1 - rate) / one.of)
        held = one.count >= FAILED_MIN and share > FAILING * rate and share - rate > _SURE * error
        yield (
            Anomaly(
                rule=FAILURES,
                scenario=scenario,
                figure=share / rate,
                threshold=FAILING,
                tick=one.tick,
                world_ids=(world.world_id,),
                events=_ids(world, one.events),
            )
            if held
            else None
        )


def _total(incidents: Sequence[Incident]) -> tuple[int, int]:
    return sum(one.count for one in incidents), sum(one.of for one in incidents)


def _ids(world: SeedWorld, events: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"{world.world_id}:{number}" for number in events)
