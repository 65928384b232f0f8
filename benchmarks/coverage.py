"""Simulated studies with a known truth through the real analysis: coverage, false finds, power.

    python -m benchmarks.coverage [--studies 200] [--personas 60] [--seeds 6]

Every study has two scenarios of one variant and one wave, personas who differ in how they lean, and
seeds that shift everybody: together for both scenarios, as the same draws do, and apart. Its events
are made here and read by `build_report`. Once with no difference, and once with each stated one.

Printed: how often the 95 % intervals hold the truth (over seeds: what these personas would answer
over all seeds; over personas: what all such people would answer with these seeds), how often the
report tells the scenarios apart, and how often an interval of a difference misses 0. The people are
in communities drawn by lot, so any polarization is a false find; how often one is, is printed too.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from perdure.analysis.interval import Interval
from perdure.analysis.report import Report, build_report
from perdure.analysis.spread import Spread
from perdure.analysis.telling import Verdict
from perdure.base import canonical
from perdure.base.chance import Stream
from perdure.records.events import Event, ScoreGiven, TickClosed, Turn
from perdure.records.graph import Node
from perdure.records.journal import OpenTick
from perdure.records.persona import Choice, Ontology, Persona
from perdure.records.presentation import Impression, Plan, Presentation
from perdure.records.registry import (
    LogPayload,
    RunClosed,
    RunEntry,
    RunState,
    WorldEntry,
    WorldOutcome,
    WorldState,
)
from perdure.records.scenario import Brief, ModelPin, Question, Scenario, Variant
from perdure.records.study import ModelSpec, PopulationSpec, Study

PLAIN, LOUD = "plain", "loud"
LEAST, MOST = 0.2, 0.6  # how people lean: uniform between
SHARED, APART = 0.08, 0.04  # how far a seed shifts both scenarios together, and each apart
COMMUNITIES = 4
NOMINAL = 0.95


class SimulatedStudy:
    """A record of a study whose truth is known: `effect` is what the second scenario adds."""

    journal: tuple[OpenTick, ...] | None = None
    journal_fault = ""
    withheld = False

    def __init__(self, number: int, *, effect: float, personas: int, seeds: int) -> None:
        """Draw the people and the shifts of the seeds of this study."""
        draw = Stream("coverage", 0, f"people:{effect}", number)
        self._number = number
        self._effect = effect
        self.personas = tuple(Persona(id=f"p{n}", attributes={}) for n in range(personas))
        self._leans = [LEAST + (MOST - LEAST) * draw.uniform() for _ in self.personas]
        # How a person takes the second scenario differs, but only where it does something.
        self._adds = [effect * (0.5 + draw.uniform()) for _ in self.personas]
        self.graph = tuple(Node(community=draw.below(COMMUNITIES)) for _ in self.personas)
        self._shared = [SHARED * (2 * draw.uniform() - 1) for _ in range(seeds)]
        self._apart = {
            name: [APART * (2 * draw.uniform() - 1) for _ in range(seeds)] for name in (PLAIN, LOUD)
        }
        self.held_out: dict[str, str] = {}
        self.log: tuple[LogPayload, ...] = (RunClosed(state=RunState.COMPLETED, exit_status=0),)
        self.entry = _entry(seeds)
        self.worlds = tuple(
            WorldEntry(
                world_id=f"{name}-{seed}",
                scenario=name,
                variant="v",
                replicate_seed=seed,
                world_seed="0" * 16,
                horizon=1,
            )
            for name in (PLAIN, LOUD)
            for seed in range(seeds)
        )
        self.outcomes = {
            world.world_id: WorldOutcome(
                world_id=world.world_id, state=WorldState.COMPLETED, tick=0
            )
            for world in self.worlds
        }

    def share(self, scenario: str) -> float:
        """Give what these personas choose over all seeds."""
        return self._lean() + (sum(self._adds) / len(self._adds) if scenario == LOUD else 0.0)

    def share_of_all(self, scenario: str) -> float:
        """Give what all such people choose with these seeds."""
        added = self._effect if scenario == LOUD else 0.0
        shifts = [a + b for a, b in zip(self._shared, self._apart[scenario], strict=True)]
        return (LEAST + MOST) / 2 + added + sum(shifts) / len(shifts)

    @property
    def difference(self) -> float:
        """What the second scenario adds for these personas, over all seeds."""
        return self.share(LOUD) - self.share(PLAIN)

    @property
    def difference_of_all(self) -> float:
        """What it adds for all such people, with these seeds."""
        return self.share_of_all(LOUD) - self.share_of_all(PLAIN)

    def events(self, world_id: str, kinds: Collection[str] | None = None) -> Iterator[Event]:
        """Make a world's events."""
        assert kinds is None
        name, number = world_id.split("-")
        seed = int(number)
        draw = Stream(f"coverage:{self._number}:{self._effect}", 0, world_id)
        shift = self._shared[seed] + self._apart[name][seed]
        seq = 0
        for job, persona in enumerate(self.personas):
            chance = self._leans[job] + shift + (self._adds[job] if name == LOUD else 0.0)
            said = "a" if draw.uniform() < chance else "b"
            shown = Presentation(
                persona=persona.id, impression=Impression(channel="survey"), question="q"
            )
            turn = Turn(job=job, presentation=shown, prompt=(), answer=said)
            for payload in (turn, ScoreGiven(turn=0, question="q", choice=said)):
                yield Event(seq=seq, tick=0, payload=payload, persona=persona.id)
                seq += 1
        yield Event(seq=seq, tick=0, payload=TickClosed(plan=Plan(), jobs=len(self.personas)))

    def _lean(self) -> float:
        return sum(self._leans) / len(self._leans)


def _entry(seeds: int) -> RunEntry:
    study = Study(
        format=1,
        name="coverage",
        brief=Brief(title="A simulated study", text="Two choices."),
        ontology=Ontology(attributes=()),
        questions=(
            Question(
                id="q", text="?", choices=(Choice(id="a", label="A"), Choice(id="b", label="B"))
            ),
        ),
        population=PopulationSpec(file="x.csv", id_column="id", columns={}),
        variants=(Variant(id="v"),),
        scenarios=tuple(
            Scenario(id=name, variant="v", horizon=1, waves=(0,), wave_question="q")
            for name in (PLAIN, LOUD)
        ),
        seeds=tuple(range(seeds)),
        models={"tier_a": ModelSpec(pin=ModelPin(provider="http", model="m"))},
    )
    return RunEntry(
        format=1,
        run_id="0123456789ab",
        study=canonical.encode(study).decode(),
        study_path="/x/study.yaml",
        study_path_relative="study.yaml",
        hashes={},
        currency="USD",
    )


@dataclass
class Coverage:
    """What came of some studies with one effect: of how many, and how many by what."""

    studies: int = 0
    held: Counter[str] = field(default_factory=Counter)
    had: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    missed_zero: Counter[str] = field(default_factory=Counter)
    polarized: int = 0

    def add(self, study: SimulatedStudy, report: Report) -> None:
        """Compare a report with the truth of its study."""
        self.studies += 1
        self.verdicts[str(report.telling.verdict)] += 1
        for row in report.questions[0].ticks:
            found = row.between.spreads["a"]
            self._judge("share, over seeds", found, study.share(row.scenario))
        for one in report.differences:
            self._judge("difference, over seeds", one.between.spreads["a"], study.difference)
        for figures in report.over_personas:
            interval = figures.figures["a"]
            if figures.reference:
                self._judge("difference, over personas", interval, study.difference_of_all)
            else:
                truth = study.share_of_all(figures.scenario)
                self._judge("share, over personas", interval, truth)
        ps = [at.p for one in report.polarization for at in one.at if at.p is not None]
        self.polarized += sum(p <= 1 - NOMINAL for p in ps)
        self.had["polarization"] += len(ps)

    def _judge(self, name: str, found: Spread | Interval, truth: float) -> None:
        if found.low is None or found.high is None:
            return
        self.had[name] += 1
        self.held[name] += found.low <= truth <= found.high
        if name.startswith("difference"):
            self.missed_zero[name] += not found.low <= 0.0 <= found.high

    def rate(self, name: str) -> float:
        """Give how often the interval of this name held the truth, of how often there was one."""
        return self.held[name] / self.had[name] if self.had[name] else math.nan

    def apart(self) -> float:
        """Give how often the report told the scenarios apart."""
        return self.verdicts[str(Verdict.APART)] / self.studies


def measure(effect: float, *, studies: int, personas: int, seeds: int) -> Coverage:
    """Simulate studies with one effect and analyse each."""
    found = Coverage()
    for number in range(studies):
        study = SimulatedStudy(number, effect=effect, personas=personas, seeds=seeds)
        found.add(study, build_report(study))
    return found


def main() -> None:
    """Print the coverage for no difference and for some."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--studies", type=int, default=200)
    asked.add_argument("--personas", type=int, default=60)
    asked.add_argument("--seeds", type=int, default=6)
    asked.add_argument("--effects", type=float, nargs="*", default=[0.0, 0.05, 0.1, 0.2])
    given = asked.parse_args()
    print(f"{given.studies} studies each, {given.personas} personas, {given.seeds} seeds")
    for effect in given.effects:
        found = measure(effect, studies=given.studies, personas=given.personas, seeds=given.seeds)
        print(f"\neffect {effect:g}: told apart in {100 * found.apart():.1f} % {_said(found)}")
        for name in sorted(found.held):
            line = f"  {name:<27} covers {100 * found.rate(name):5.1f} % of {found.had[name]}"
            if name.startswith("difference"):
                line += f"; misses 0 in {100 * found.missed_zero[name] / found.had[name]:.1f} %"
            print(line)
        number = found.had["polarization"]
        print(f"  polarization, none planted: p <= 0.05 in {100 * found.polarized / number:.1f} %")


def _said(found: Coverage) -> str:
    return "(" + ", ".join(f"{name} {n}" for name, n in sorted(found.verdicts.items())) + ")"


if __name__ == "__main__":
    main()
