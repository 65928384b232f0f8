"""Worlds of channels and turns that react: for tests of what channels do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from perdure.base.canonical import encode
from perdure.records.channels import (
    Channels,
    Feed,
    Forum,
    InterventionKind,
    PlannedIntervention,
    WordOfMouth,
)
from perdure.records.graph import Node
from perdure.records.people import People
from perdure.records.persona import Persona
from perdure.records.presentation import CompletedTurn, Plan, Presentation, WorldDelta
from perdure.records.reaction import Change, Reaction
from perdure.records.scenario import Header
from perdure.runner.config import RunConfig
from perdure.study.identity import expand
from perdure.testing.contracts import answer_need, example_header, example_people
from perdure.world import ChannelWorld

FEED = Feed(question="react", posts={"0": ("c1", "c2")})
FORUM = Forum(question="react", posts={"0": ("c1",), "2": ("c2",)})
WORD_OF_MOUTH = WordOfMouth(question="react", starts={"0": ("c1",)}, reach=0.5)

Doing = Callable[[Presentation], Reaction | None]


def header_of(
    personas: int = 12,
    *,
    feed: Feed | None = None,
    forum: Forum | None = None,
    word_of_mouth: WordOfMouth | None = None,
    **changes: Any,
) -> Header:
    """Make the header of a world with these channels, and neither waves nor exposures."""
    header = example_header(personas)
    channels = Channels(feed=feed, forum=forum, word_of_mouth=word_of_mouth)
    given = {"waves": (), "exposures": {}, "activation": 1.0, "horizon": 30, **changes}
    scenario = msgspec.structs.replace(header.scenario, channels=channels, **given)
    return msgspec.structs.replace(header, scenario=scenario)


def world_of(header: Header, people: People | None = None) -> ChannelWorld:
    """Make a world before its tick 0; its people are a ring unless they are given."""
    world = ChannelWorld()
    world.meet(example_people(header) if people is None else people)
    world.reset(header)
    return world


def tied(*ties: tuple[int, int, float], personas: int, communities: Sequence[int] = ()) -> People:
    """Make people who know each other as listed; the first so many are in communities."""
    found: list[dict[str, float]] = [{} for _ in range(personas)]
    for one, other, strength in ties:
        found[min(one, other)][f"p{max(one, other)}"] = strength
    return People(
        personas=tuple(
            Persona(id=f"p{number}", attributes={"age": 20 + number, "view": 1 + number % 2})
            for number in range(personas)
        ),
        graph=tuple(
            Node(ties=known, community=communities[n] if n < len(communities) else None)
            for n, known in enumerate(found)
        ),
    )


def with_graph(config: RunConfig) -> RunConfig:
    """Give the population of a run the ties and communities of the contract suites' people."""
    (cell, *_) = expand(config.study, config.population)
    graph = example_people(cell.header).graph
    population = msgspec.structs.replace(config.population, graph=graph, graph_hash="1" * 64)
    return dataclasses.replace(config, population=population)


def step(
    world: ChannelWorld, tick: int, turns: Sequence[CompletedTurn] = (), activation: float = 1.0
) -> WorldDelta:
    """Open a tick; the world's own calls are answered as in the contract suites."""
    plan = Plan(activation=activation)
    answers = tuple(map(answer_need, world.needs(tick, turns, plan)))
    return world.step(tick, turns, plan, answers)


def on(delta: WorldDelta, channel: str) -> dict[str, Presentation]:
    """Give a delta's presentations on a channel, by persona."""
    return {p.persona: p for p in delta.presentations if p.impression.channel == channel}


def shown_to(delta: WorldDelta, channel: str) -> dict[str, list[str]]:
    """Give what each persona is shown on a channel, in order."""
    return {
        persona: [exposure.stimulus for exposure in shown.impression.exposures]
        for persona, shown in on(delta, channel).items()
    }


def reasons(presentation: Presentation) -> list[str]:
    """Give the reason of each exposure."""
    return [exposure.reason for exposure in presentation.impression.exposures]


def turns_of(delta: WorldDelta, doing: Doing | Mapping[str, Reaction]) -> list[CompletedTurn]:
    """Answer everything that a delta shows, with what each persona does about it."""
    react = doing if callable(doing) else lambda shown: doing.get(shown.persona)
    return [
        CompletedTurn(
            persona=shown.persona,
            presentation=shown,
            answer="Agree",
            choice="agree",
            reaction=react(shown),
        )
        for shown in delta.presentations
    ]


def does(action: str, about: str = "", words: str = "", change: Change | None = None) -> Reaction:
    """Make a reaction."""
    return Reaction(action=action, stimulus=about, words=words, change=change)


def intervenes(tick: int, kind: str, channel: str, **more: Any) -> PlannedIntervention:
    """Plan an intervention."""
    return PlannedIntervention(tick=tick, kind=InterventionKind(kind), channel=channel, **more)


def live(
    header: Header, doing: Doing, *, ticks: int, people: People | None = None
) -> list[WorldDelta]:
    """Live a world for some ticks."""
    world, deltas, turns = world_of(header, people), list[WorldDelta](), list[CompletedTurn]()
    for tick in range(ticks):
        deltas.append(step(world, tick, turns))
        turns = turns_of(deltas[-1], doing)
    return deltas


def seen_bytes(deltas: Sequence[WorldDelta]) -> list[bytes]:
    """Give what is seen in each delta, without what is told of interventions."""
    return [encode(msgspec.structs.replace(delta, interventions=())) for delta in deltas]
