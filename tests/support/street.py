"""A street: people in communities, tied to each other, who are asked on channels; for tests.

Four communities stand around in a circle. Within one, everybody knows a few; each is tied to the
next one by a pair. Two communities lean one way and two the other, unless they are mixed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from tests.support.town import Ran, run_in_memory, town

from perdure.base.canonical import hash_hex
from perdure.inference.baseline import BaselineProvider
from perdure.records.baseline_rule import BaselineRule, Identification, Reactions
from perdure.records.channels import Channels
from perdure.records.events import BeliefsHeld, Turn
from perdure.records.graph import Node
from perdure.records.persona import Persona
from perdure.records.presentation import Stimulus
from perdure.records.scenario import AgentSettings, Brief, Claim, ModelPin
from perdure.records.study import ModelSpec, Study
from perdure.runner.config import RunConfig

COMMUNITIES = 4
CLAIMS = tuple(f"c{number}" for number in range(12))
RULE = BaselineRule(
    identification=Identification(attribute="view", midpoint=1.5, low="ada", high="ben", weight=2),
    claims={claim: {("ada", "ben")[n % 2]: 0.5} for n, claim in enumerate(CLAIMS)},
    social_proof=0.5,
    noise=0.3,
    reactions=Reactions(noise=0.5),
)


def street(
    *scenarios: dict[str, Any],
    size: int = 12,
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    rule: BaselineRule = RULE,
    tied: bool = True,
    mixed: bool = False,
    agent: AgentSettings | None = None,
    **changes: Any,
) -> RunConfig:
    """Make the run of a street with `size` people in each community, one scenario for each mapping.

    Without being `tied` nobody knows anybody. Where people are `mixed`, communities are drawn
    without regard to how anybody leans.
    """
    count = COMMUNITIES * size
    common = {"horizon": 8, "waves": (), "wave_question": "", "exposures": {}, "activation": 0.7}
    config = town(
        count,
        scenarios=tuple(common | {"exposure_question": ""} | one for one in scenarios),
        seeds=tuple(seeds),
        agent=agent or AgentSettings(reflect_every=0),
        **changes,
    )
    personas = tuple(
        Persona(id=f"p{number}", attributes={"view": 1 + (number // size) % 2, "age": 30})
        for number in range(count)
    )
    graph = tuple(
        Node(
            ties=dict(_ties(number, size, count)) if tied else {},
            community=number % COMMUNITIES if mixed else number // size,
        )
        for number in range(count)
    )
    brief = Brief(
        title=config.study.brief.title,
        text=config.study.brief.text,
        claims=tuple(Claim(id=claim, text=f"Claim {claim} about the town.") for claim in CLAIMS),
    )
    pin = ModelPin(provider="baseline", model="baseline", rule=rule)
    models = dict.fromkeys(config.study.models, ModelSpec(pin=pin))
    study: Study = msgspec.structs.replace(config.study, brief=brief, models=models)
    population = msgspec.structs.replace(
        config.population,
        personas=personas,
        population_hash=hash_hex(personas),
        graph=graph,
        graph_hash=hash_hex(graph),
    )
    return RunConfig(**vars(config) | {"study": study, "population": population})


def _ties(number: int, size: int, count: int) -> Iterable[tuple[str, float]]:
    last = number - number % size + size
    for other in (number + 1, number + 2, number + 5):
        if other < last:
            yield f"p{other}", 0.8
    if number % size == size - 1 and number + 1 < count:
        yield f"p{number + 1}", 0.4


def lived(config: RunConfig, rule: BaselineRule = RULE) -> Ran:
    """Run a street in memory with the baseline; every world has to reach its end."""
    ran = run_in_memory(config, BaselineProvider(rule))
    assert ran.result.exit_status == 0, [world.cause for world in ran.result.worlds]
    return ran


def channels(**asked: Any) -> dict[str, Any]:
    """Give the change that a scenario with these channels is."""
    return {"channels": Channels(**asked)}


class Street:
    """What came of one world of a run."""

    def __init__(self, ran: Ran, place: int) -> None:
        self.events = ran.events(place)
        self.stimuli: dict[str, Stimulus] = {
            event.payload.stimulus.id: event.payload.stimulus
            for event in self.events
            if hasattr(event.payload, "stimulus")
        }

    def turns(self, channel: str) -> list[tuple[str, Turn]]:
        """Give the turns on a channel, each with its persona."""
        return [
            (event.persona, event.payload)
            for event in self.events
            if isinstance(event.payload, Turn)
            and event.payload.presentation.impression.channel == channel
        ]

    def shown(self, channel: str) -> Counter[str]:
        """Count how often each message was shown on a channel."""
        return Counter(
            exposure.stimulus
            for _, turn in self.turns(channel)
            for exposure in turn.presentation.impression.exposures
        )

    def done(self, channel: str, *actions: str) -> Counter[str]:
        """Count how often one of these things was done with each message of a channel."""
        return Counter(
            turn.reaction.stimulus
            for _, turn in self.turns(channel)
            if turn.reaction is not None and turn.reaction.done in actions
        )

    def beliefs(self) -> dict[str, dict[str, int]]:
        """Give what everybody believes in the end, as far as anything moved it."""
        return {
            event.persona: event.payload.beliefs
            for event in self.events
            if isinstance(event.payload, BeliefsHeld)
        }


def gini(counts: Iterable[int]) -> float:
    """Say how unequal counts are: 0 if all are the same, towards 1 if one has everything."""
    ordered = sorted(counts)
    total = sum(ordered)
    if not total:
        return 0.0
    ranks = sum(place * count for place, count in enumerate(ordered, start=1))
    return 2 * ranks / (len(ordered) * total) - (len(ordered) + 1) / len(ordered)
