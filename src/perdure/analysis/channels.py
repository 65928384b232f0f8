"""The channels of a scenario over its seeds: exposures, reach, concentration, actions, drops.

Figures of whole worlds are over those that are at their end; others have not had all their ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from perdure.analysis.exposure import ChannelSeen, Message
from perdure.analysis.replicates import (
    A_NUMBER,
    A_SHARE,
    Between,
    Bounds,
    Sample,
    SeedWorld,
    between,
)
from perdure.records.record import Record

EXPOSURES = "exposures"
FEW = "fewer than two messages were shown"
_NUMBERS = frozenset({EXPOSURES, "messages", "turns"})


class WorldChannel(Record):
    """One channel of one world, with its messages that were shown most."""

    seed: int
    world_id: str
    tick: int
    seen: ChannelSeen


class TickExposures(Record):
    """How many exposures a channel had at a tick, over the seeds that closed it."""

    tick: int
    between: Between


class ChannelFigures(Record):
    """One channel of a scenario: its worlds, its exposures tick by tick, and figures over seeds.

    `figures` are over worlds at their end, each by name: `exposures`, `messages` (shown at least
    once) and `turns` are numbers; `reached`, `told` and `first_hand` shares of all personas; `gini`
    and `first_tenth` say how unequally exposures fall on those messages. `claims` has the share of
    all personas whom each claim reached, `actions`, `rejected` and `dropped` numbers, by name, by
    name and cause, by reason.
    """

    scenario: str
    channel: str
    worlds: tuple[WorldChannel, ...]
    by_tick: tuple[TickExposures, ...]
    figures: dict[str, Between]
    claims: dict[str, Between]
    actions: dict[str, Between]
    rejected: dict[str, Between]
    dropped: dict[str, Between]


WorldSeen = tuple[SeedWorld, Mapping[str, ChannelSeen]]
_NONE = ChannelSeen(
    by_tick={},
    messages={},
    gini=None,
    first_tenth=None,
    most_shown=(),
    reached=0,
    told=0,
    first_hand=0,
    claims={},
    turns=0,
    failed=0,
    actions={},
    rejected={},
    dropped={},
    marks={},
)


def channel_figures(
    scenario: str, worlds: Sequence[WorldSeen], *, personas: int
) -> tuple[ChannelFigures, ...]:
    """Sum up each channel on which something was shown or dropped in any of a scenario's worlds."""
    names = sorted({name for _, seen in worlds for name in seen})
    return tuple(
        _figures(
            scenario, name, [(world, seen.get(name, _NONE)) for world, seen in worlds], personas
        )
        for name in names
    )


_One = tuple[SeedWorld, ChannelSeen]
_Measure = Callable[[ChannelSeen], float | None]


def _figures(scenario: str, channel: str, worlds: Sequence[_One], personas: int) -> ChannelFigures:
    def share(count: Callable[[ChannelSeen], int]) -> _Measure:
        return lambda seen: count(seen) / personas if personas else None

    measures: dict[str, _Measure] = {
        EXPOSURES: lambda seen: seen.exposures,
        "messages": lambda seen: sum(seen.messages.values()),
        "turns": lambda seen: seen.turns,
        "reached": share(lambda seen: seen.reached),
        "told": share(lambda seen: seen.told),
        "first_hand": share(lambda seen: seen.first_hand),
        "gini": lambda seen: seen.gini,
        "first_tenth": lambda seen: seen.first_tenth,
    }
    return ChannelFigures(
        scenario=scenario,
        channel=channel,
        worlds=tuple(
            WorldChannel(
                seed=world.seed,
                world_id=world.world_id,
                tick=world.tick,
                seen=seen,
            )
            for world, seen in worlds
        ),
        by_tick=_by_tick(worlds),
        figures={
            name: _over(worlds, name, measure, bounds=A_NUMBER if name in _NUMBERS else A_SHARE)
            for name, measure in measures.items()
        },
        claims=_counted(worlds, lambda seen: seen.claims, personas),
        actions=_counted(worlds, lambda seen: seen.actions),
        rejected=_counted(worlds, _rejected),
        dropped=_counted(worlds, lambda seen: seen.dropped),
    )


def _rejected(seen: ChannelSeen) -> dict[str, int]:
    return {
        f"{name or 'no action'}: {cause}": count
        for name, causes in seen.rejected.items()
        for cause, count in causes.items()
    }


def _by_tick(worlds: Sequence[_One]) -> tuple[TickExposures, ...]:
    ticks = sorted({tick for _, seen in worlds for tick in map(int, seen.by_tick)})
    return tuple(
        TickExposures(
            tick=tick,
            between=between(
                [
                    Sample(
                        seed=world.seed,
                        worlds=(world,),
                        of=1 if world.tick >= tick else None,
                        values={EXPOSURES: float(seen.by_tick.get(str(tick), 0))}
                        if world.tick >= tick
                        else {},
                        answers=seen.marks.get(str(tick), ""),
                    )
                    for world, seen in worlds
                ],
                (EXPOSURES,),
                tick=tick,
                bounds=A_NUMBER,
            ),
        )
        for tick in ticks
    )


def _counted(
    worlds: Sequence[_One], counts: Callable[[ChannelSeen], Mapping[str, int]], of: int = 0
) -> dict[str, Between]:
    def measure(name: str) -> _Measure:
        return lambda seen: counts(seen).get(name, 0) / (of or 1)

    names: Iterable[str] = sorted({name for _, seen in worlds for name in counts(seen)})
    bounds = A_SHARE if of else A_NUMBER
    return {name: _over(worlds, name, measure(name), bounds=bounds) for name in names}


def _over(worlds: Sequence[_One], name: str, measure: _Measure, *, bounds: Bounds) -> Between:
    last = max(world.horizon for world, _ in worlds) - 1
    samples = []
    for world, seen in worlds:
        value = measure(seen) if world.tick == last else None
        samples.append(
            Sample(
                seed=world.seed,
                worlds=(world,),
                of=None if value is None else 1,
                values={} if value is None else {name: float(value)},
                answers=(tuple(seen.marks.items()), tuple(seen.actions.items())),
                why=FEW,
            )
        )
    return between(samples, (name,), tick=last, bounds=bounds)


def most_shown(figures: ChannelFigures) -> tuple[tuple[str, Message], ...]:
    """Give the messages of a channel that were shown most, each with the id of its event."""
    found = [
        (f"{world.world_id}:{message.event}", message)
        for world in figures.worlds
        for message in world.seen.most_shown
    ]
    return tuple(sorted(found, key=lambda one: (-one[1].exposures, one[0])))
