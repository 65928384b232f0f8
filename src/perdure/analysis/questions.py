"""The answers to every scored question of a study: shares by scenario, tick and claim. Pure.

This needs no real values: a study that holds no outcome out has all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perdure.analysis.answers import NO_ANSWERS, Count, Tally, count
from perdure.analysis.calendars import stamp
from perdure.analysis.cells import Cells, Replicate
from perdure.analysis.figures import MEAN, Figures, figures_of
from perdure.analysis.replicates import Between, Sample, SeedWorld, between
from perdure.analysis.shares import Share, ratio
from perdure.records.record import Record
from perdure.records.scenario import Question, QuestionType, Scenario, Scoring
from perdure.records.study import Study

_MIRRORED = 2  # with two choices, one share is one minus the other


class SeedShares(Record):
    """The answers of one world: how many were scored, and the mean of each figure over them."""

    seed: int
    world_id: str
    scored: int
    shares: dict[str, float]


class TickShares(Record):
    """The answers of one scenario at one tick, over its seeds: `shares` are of scored ones.

    `wave` says whether it is a survey wave. `shares` pools the answers of all seeds, `by_seed` has
    them world by world, where any was scored, and `between` their spread, by figure. `mean` pools
    the points of a scale or the numbers, and is absent where there is none. `date` is that of the
    tick, empty without a calendar.
    """

    scenario: str
    tick: int
    wave: bool
    seeds: tuple[int, ...]
    answers: Tally
    shares: tuple[Share, ...]
    by_seed: tuple[SeedShares, ...]
    between: Between
    mean: float | None = None
    date: str = ""


class ClaimShares(Record):
    """The answers of one scenario to a question that was put with a claim, over ticks and seeds.

    `by_seed` and `between` cover the worlds at their end: others have not had all the ticks.
    """

    scenario: str
    claim: str
    answers: Tally
    shares: tuple[Share, ...]
    by_seed: tuple[SeedShares, ...]
    between: Between
    mean: float | None = None


class QuestionShares(Record):
    """One question that is scored: what it asks for, its choices by id, and how it was answered.

    A number is in `unit`. `by_claim` covers the answers that are not of a wave; one that was given
    to two claims shown together counts for both.
    """

    id: str
    text: str
    choices: dict[str, str]
    ticks: tuple[TickShares, ...]
    by_claim: tuple[ClaimShares, ...]
    asks_for: QuestionType = QuestionType.ONE
    scoring: Scoring = Scoring.TEXT
    unit: str = ""

    @property
    def mirrored(self) -> str:
        """The second of two choices of which each answer gives one: it says the same as the first.

        Empty where no choice is so: an answer may give several, or neither.
        """
        is_one_of_two = len(self.choices) == _MIRRORED and self.asks_for is not QuestionType.SEVERAL
        return tuple(self.choices)[-1] if is_one_of_two else ""


def waved_questions(study: Study) -> tuple[str, ...]:
    """Name the scored questions that are asked at waves: the outcome's, and the scenarios' own."""
    outcome = study.ontology.outcome
    names = [outcome.question] if outcome is not None else []
    names.extend(name for scenario in study.scenarios for name in scenario.wave_questions)
    scored = scored_questions(study)
    return tuple(name for name in dict.fromkeys(names) if name in scored)


def scored_questions(study: Study) -> dict[str, Question]:
    """Give the questions whose answers are scored, by id."""
    return {question.id: question for question in study.questions if question.is_scored}


def figures_by_question(study: Study) -> dict[str, Figures]:
    """Say of every question that is scored what is counted of its answers."""
    return {name: figures_of(question) for name, question in scored_questions(study).items()}


def question_shares(study: Study, cells: Cells) -> tuple[QuestionShares, ...]:
    """Count the answers to every scored question that was asked, in the order of the study."""
    found = []
    scenarios = {one.id: one for one in study.scenarios}
    for question in scored_questions(study).values():
        figures = figures_of(question)
        ticks: list[TickShares] = []
        claims: list[ClaimShares] = []
        for scenario, mine in cells.items():
            ticks.extend(_ticks(scenarios[scenario], question.id, mine, figures))
            claims.extend(_claims(scenario, question.id, mine, figures))
        if ticks:
            found.append(
                QuestionShares(
                    id=question.id,
                    text=question.text,
                    choices={choice.id: choice.label for choice in question.choices},
                    ticks=tuple(ticks),
                    by_claim=tuple(claims),
                    asks_for=question.asks_for,
                    scoring=question.scoring or Scoring.TEXT,
                    unit=question.unit,
                )
            )
    return tuple(found)


_Marked = tuple[Count, int]  # answers counted, and the mark of who gave which


def _ticks(
    scenario: Scenario, question: str, worlds: Sequence[Replicate], figures: Figures
) -> Iterable[TickShares]:
    at: dict[tuple[int, bool], dict[int, _Marked]] = {}
    for reading, world in worlds:
        marks = reading.marks.get(question, {})
        for tick, answers in reading.waves.get(question, {}).items():
            at.setdefault((tick, True), {})[world.seed] = (
                count(answers.values(), figures.values),
                marks[tick],
            )
        for tick, counted in reading.others.get(question, {}).items():
            at.setdefault((tick, False), {})[world.seed] = counted, marks[tick]
    for (tick, wave), counts in sorted(at.items()):
        whole = sum((counted for counted, _ in counts.values()), NO_ANSWERS)
        samples = [_sample(world, counts.get(world.seed), figures) for _, world in worlds]
        yield TickShares(
            scenario=scenario.id,
            tick=tick,
            wave=wave,
            seeds=tuple(counts),
            answers=whole.tally,
            shares=_shares(whole, figures),
            by_seed=_by_seed(samples),
            between=between(samples, figures.names, tick=tick, bounds=figures.bounds),
            mean=_mean(whole, figures),
            date=stamp(scenario, tick),
        )


def _claims(
    scenario: str, question: str, worlds: Sequence[Replicate], figures: Figures
) -> Iterable[ClaimShares]:
    found: dict[str, dict[int, _Marked]] = {}
    for reading, world in worlds:
        marks = reading.claim_marks.get(question, {})
        for claim, counted in reading.by_claim.get(question, {}).items():
            found.setdefault(claim, {})[world.seed] = counted, marks[claim]
    for claim, counts in sorted(found.items()):
        whole = sum((counted for counted, _ in counts.values()), NO_ANSWERS)
        last = max(world.horizon for _, world in worlds) - 1
        samples = [
            _sample(world, counts.get(world.seed) if world.tick == last else None, figures)
            for _, world in worlds
        ]
        yield ClaimShares(
            scenario=scenario,
            claim=claim,
            answers=whole.tally,
            shares=_shares(whole, figures),
            by_seed=_by_seed(samples),
            between=between(samples, figures.names, tick=last, bounds=figures.bounds),
            mean=_mean(whole, figures),
        )


def _sample(world: SeedWorld, found: _Marked | None, figures: Figures) -> Sample:
    counted, answers = found or (NO_ANSWERS, 0)
    scored = counted.scored
    return Sample(
        seed=world.seed,
        worlds=(world,),
        of=scored if found else None,
        values={name: counted.sums.get(name, 0) / scored for name in figures.names}
        if scored
        else {},
        answers=answers,
    )


def _by_seed(samples: Sequence[Sample]) -> tuple[SeedShares, ...]:
    return tuple(
        SeedShares(
            seed=sample.seed,
            world_id=sample.worlds[0].world_id,
            scored=sample.of,
            shares=sample.values,
        )
        for sample in samples
        if sample.of
    )


def _mean(counted: Count, figures: Figures) -> float | None:
    return ratio(counted.sums.get(MEAN, 0), counted.scored) if figures.has_mean else None


def _shares(counted: Count, figures: Figures) -> tuple[Share, ...]:
    return tuple(
        Share(
            choice=choice,
            count=counted.sums.get(choice, 0),
            of=counted.scored,
            share=ratio(counted.sums.get(choice, 0), counted.scored),
        )
        for choice in figures.choices
    )
