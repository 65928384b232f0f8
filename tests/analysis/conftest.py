"""A record in memory: a small survey study whose answers each test states."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pytest

from perdure.base import canonical
from perdure.records.events import (
    KIND_OF,
    Cost,
    Event,
    ScoreGiven,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.graph import Node
from perdure.records.journal import OpenTick
from perdure.records.outcome import TurnFailureCause, UnscorableCause
from perdure.records.persona import AttributeSpec, Choice, Ontology, OutcomeSpec, Persona
from perdure.records.presentation import Exposure, Impression, Plan, Presentation, Stimulus
from perdure.records.registry import (
    LogPayload,
    RunClosed,
    RunEntry,
    RunState,
    WorldEntry,
    WorldOutcome,
    WorldState,
)
from perdure.records.request import FailureCause
from perdure.records.scenario import (
    Brief,
    ModelPin,
    Question,
    QuestionType,
    Scenario,
    Scoring,
    Variant,
)
from perdure.records.study import ModelSpec, PopulationSpec, Study
from perdure.records.usage import CostSource, Usage

LAST = 2

# What one persona answers at a wave: a choice, several ones, a cause why there is no score, or a
# failed call.
Said = str | tuple[str, ...] | UnscorableCause | FailureCause


def presented(persona: str, question: str) -> Presentation:
    """Put a question to one persona on the survey channel."""
    return Presentation(persona=persona, impression=Impression(channel="survey"), question=question)


class MemoryRecord:
    """A `RecordSource` whose worlds hold what a test says."""

    def __init__(
        self,
        *,
        personas: Sequence[Persona],
        held_out: Mapping[str, str],
        seeds: Sequence[int] = (1, 2),
        scenarios: Sequence[str] = ("plain",),
        provider: str = "baseline",
        model: str = "m-1",
        waves: tuple[int, ...] = (0, LAST),
        outcome: bool = True,
        felt: Sequence[str] = (),
        kind: QuestionType = QuestionType.ONE,
        lettered: bool = False,
    ) -> None:
        study = Study(
            format=1,
            name="tiny",
            brief=Brief(title="A tiny study", text="Two choices."),
            ontology=Ontology(
                attributes=(
                    AttributeSpec(name="age", label="age", unit="years"),
                    AttributeSpec(name="lean", label="leaning", scale={"0": "left", "1": "right"}),
                ),
                outcome=OutcomeSpec(name="vote", question="vote") if outcome else None,
            ),
            questions=(
                Question(
                    id="vote",
                    text="Whom?",
                    choices=(Choice(id="a", label="Ann"), Choice(id="b", label="Bob")),
                    type=kind,
                ),
                Question(
                    id="felt",
                    text="What do you think?",
                    choices=tuple(Choice(id=name, label=name) for name in felt),
                    scoring=Scoring.LOGPROBS if lettered else None,
                ),
            ),
            population=PopulationSpec(file="x.csv", id_column="id", columns={}),
            variants=(Variant(id="v"),),
            scenarios=tuple(
                Scenario(
                    id=name,
                    variant="v",
                    horizon=LAST + 1,
                    waves=waves,
                    wave_question="vote",
                    exposures={"1": ("C1",)},
                    exposure_question="felt",
                    activation=0.5,
                )
                for name in scenarios
            ),
            seeds=tuple(seeds),
            models={"tier_a": ModelSpec(pin=ModelPin(provider=provider, model=model))},
        )
        self.entry = RunEntry(
            format=1,
            run_id="0123456789ab",
            study=canonical.encode(study).decode(),
            study_path="/x/study.yaml",
            study_path_relative="study.yaml",
            hashes={},
            currency="USD",
        )
        self.worlds = tuple(
            WorldEntry(
                world_id=f"{name}-{seed}",
                scenario=name,
                variant="v",
                replicate_seed=seed,
                world_seed="0" * 16,
                horizon=LAST + 1,
            )
            for name in scenarios
            for seed in seeds
        )
        self.log: tuple[LogPayload, ...] = (RunClosed(state=RunState.COMPLETED, exit_status=0),)
        self.open_ticks: tuple[OpenTick, ...] | None = None
        self.journal_fault = ""
        self.stands: dict[str, WorldOutcome] = {}
        self._personas = tuple(personas)
        self.graph: tuple[Node, ...] = ()
        self._held_out = dict(held_out)
        self._events: dict[str, list[Event]] = {world.world_id: [] for world in self.worlds}

    @property
    def journal(self) -> tuple[OpenTick, ...] | None:
        return self.open_ticks

    @property
    def outcomes(self) -> dict[str, WorldOutcome]:
        return self.stands

    @property
    def personas(self) -> tuple[Persona, ...]:
        return self._personas

    @property
    def held_out(self) -> dict[str, str]:
        return self._held_out

    @property
    def withheld(self) -> bool:
        return False

    def events(self, world_id: str, kinds: Collection[str] | None = None) -> Iterator[Event]:
        for event in self._events[world_id]:
            if kinds is None or KIND_OF[type(event.payload)] in kinds:
                yield event

    def wave(self, world_id: str, tick: int, said: Mapping[str, Said]) -> None:
        """Record one wave: a turn and its score for each persona, or its failure."""
        for job, (persona, answer) in enumerate(said.items()):
            shown = presented(persona, "vote")
            if isinstance(answer, FailureCause):
                self.put(
                    world_id,
                    tick,
                    TurnNotTaken(
                        job=job,
                        presentation=shown,
                        cause=TurnFailureCause.CALL_FAILED,
                        call=answer,
                    ),
                    persona,
                )
                continue
            self.put(
                world_id, tick, Turn(job=job, presentation=shown, prompt=(), answer="…"), persona
            )
            score = (
                ScoreGiven(turn=0, question="vote", unscorable=answer)
                if isinstance(answer, UnscorableCause)
                else ScoreGiven(turn=0, question="vote", choices=answer)
                if isinstance(answer, tuple)
                else ScoreGiven(turn=0, question="vote", choice=answer)
            )
            self.put(world_id, tick, score, persona)
        self.close(world_id, tick, len(said))

    def exposure(
        self,
        world_id: str,
        tick: int,
        personas: Sequence[str],
        *,
        said: Mapping[str, str] | None = None,
        claims: Sequence[str] = (),
    ) -> None:
        """Record an exposure tick at which these personas were active, and what they chose."""
        for claim in claims:
            stimulus = Stimulus(id=f"{tick}-{claim}", kind="claim", text="…", claim=claim)
            self.put(world_id, tick, StimulusPublished(stimulus=stimulus))
        exposures = tuple(Exposure(stimulus=f"{tick}-{one}", reason="plan") for one in claims)
        for job, persona in enumerate(personas):
            shown = Presentation(
                persona=persona,
                impression=Impression(channel="feed", exposures=exposures),
                question="felt",
            )
            turn = Turn(job=job, presentation=shown, prompt=(), answer="Hm.")
            self.put(world_id, tick, turn, persona)
            if choice := (said or {}).get(persona):
                score = ScoreGiven(turn=0, question="felt", choice=choice)
                self.put(world_id, tick, score, persona)
        self.close(world_id, tick, len(personas))

    def cost(self, world_id: str, amount: int | None, tick: int = 0, **fields: Any) -> None:
        """Record one attempt at a call."""
        stated: dict[str, Any] = {
            "job": 0,
            "purpose": "turn",
            "ordinal": 0,
            "attempt": 1,
            "role": "tier_a",
            "model": "m-1",
            "served": "m-1",
            "amount": amount,
            "source": CostSource.UNKNOWN if amount is None else CostSource.PRICE_TABLE,
            "usage": Usage(input_fresh=10, output=2),
        }
        self.put(world_id, tick, Cost(**{**stated, **fields}))

    def close(self, world_id: str, tick: int, jobs: int) -> None:
        self.put(world_id, tick, TickClosed(plan=Plan(), jobs=jobs))
        state = WorldState.COMPLETED if tick == LAST else WorldState.PARTIAL
        self.stands[world_id] = WorldOutcome(world_id=world_id, state=state, tick=tick)

    def put(self, world_id: str, tick: int, payload: Any, persona: str = "") -> None:
        events = self._events[world_id]
        events.append(Event(seq=len(events), tick=tick, payload=payload, persona=persona))


@pytest.fixture
def four_people() -> tuple[Persona, ...]:
    """Two who lean left, two who lean right."""
    return tuple(
        Persona(id=name, attributes={"age": 40, "lean": lean})
        for name, lean in (("p1", 0), ("p2", 0), ("p3", 1), ("p4", 1.0))
    )


@pytest.fixture
def record_of(four_people):
    """Make a record of the small study; real values are a, a, b and unknown unless stated."""

    def make(**fields: Any) -> MemoryRecord:
        stated = {"personas": four_people, "held_out": {"p1": "a", "p2": "a", "p3": "b"}}
        return MemoryRecord(**{**stated, **fields})

    return make
