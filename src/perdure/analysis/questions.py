"""The answers to every closed question of a study: shares by scenario, by tick, by claim. Pure.

This needs no real values: a study that holds no outcome out has all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perdure.analysis.answers import NO_ANSWERS, Count, Tally, count
from perdure.analysis.cells import Cells, Replicate
from perdure.analysis.replicates import Between, Sample, SeedWorld, between
from perdure.analysis.shares import Share, ratio
from perdure.records.record import Record
from perdure.records.scenario import Question
from perdure.records.study import Study


class SeedShares(Record):
    """The answers of one world: how many were scored, and the share of each choice among them."""

    seed: int
    world_id: str
    scored: int
    shares: dict[str, float]


class TickShares(Record):
    """The answers of one scenario at one tick, over its seeds: `shares` are of scored ones.

    `wave` says whether it is a survey wave. `shares` pools the answers of all seeds, `by_seed` has
    them world by world, where any was scored, and `between` their spread, by choice.
    """

    scenario: str
    tick: int
    wave: bool
    seeds: tuple[int, ...]
    answers: Tally
    shares: tuple[Share, ...]
    by_seed: tuple[SeedShares, ...]
    between: Between


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


class QuestionShares(Record):
    """One closed question: its choices by id, and how it was answered.

    `by_claim` covers the answers that are not of a wave; one that was given to two claims shown
    together counts for both.
    """

    id: str
    text: str
    choices: dict[str, str]
    ticks: tuple[TickShares, ...]
    by_claim: tuple[ClaimShares, ...]


def waved_questions(study: Study) -> tuple[str, ...]:
    """Name the closed questions that are asked at waves: the outcome's, and the scenarios' own."""
    outcome = study.ontology.outcome
    names = [outcome.question] if outcome is not None else []
    names.extend(scenario.wave_question for scenario in study.scenarios)
    closed = closed_questions(study)
    return tuple(name for name in dict.fromkeys(names) if name in closed)


def closed_questions(study: Study) -> dict[str, Question]:
    """Give the questions that have choices, by id."""
    return {question.id: question for question in study.questions if question.choices}


def question_shares(study: Study, cells: Cells) -> tuple[QuestionShares, ...]:
    """Count the answers to every closed question that was asked, in the order of the study."""
    found = []
    for question in closed_questions(study).values():
        choices = tuple(choice.id for choice in question.choices)
        ticks: list[TickShares] = []
        claims: list[ClaimShares] = []
        for scenario, mine in cells.items():
            ticks.extend(_ticks(scenario, question.id, mine, choices))
            claims.extend(_claims(scenario, question.id, mine, choices))
        if ticks:
            found.append(
                QuestionShares(
                    id=question.id,
                    text=question.text,
                    choices={choice.id: choice.label for choice in question.choices},
                    ticks=tuple(ticks),
                    by_claim=tuple(claims),
                )
            )
    return tuple(found)


_Marked = tuple[Count, int]  # answers counted, and the mark of who gave which


def _ticks(
    scenario: str, question: str, worlds: Sequence[Replicate], choices: Sequence[str]
) -> Iterable[TickShares]:
    at: dict[tuple[int, bool], dict[int, _Marked]] = {}
    for reading, world in worlds:
        marks = reading.marks.get(question, {})
        for tick, answers in reading.waves.get(question, {}).items():
            at.setdefault((tick, True), {})[world.seed] = count(answers.values()), marks[tick]
        for tick, counted in reading.others.get(question, {}).items():
            at.setdefault((tick, False), {})[world.seed] = counted, marks[tick]
    for (tick, wave), counts in sorted(at.items()):
        whole = sum((counted for counted, _ in counts.values()), NO_ANSWERS)
        samples = [_sample(world, counts.get(world.seed), choices) for _, world in worlds]
        yield TickShares(
            scenario=scenario,
            tick=tick,
            wave=wave,
            seeds=tuple(counts),
            answers=whole.tally,
            shares=_shares(whole, choices),
            by_seed=_by_seed(samples),
            between=between(samples, choices, tick=tick),
        )


def _claims(
    scenario: str, question: str, worlds: Sequence[Replicate], choices: Sequence[str]
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
            _sample(world, counts.get(world.seed) if world.tick == last else None, choices)
            for _, world in worlds
        ]
        yield ClaimShares(
            scenario=scenario,
            claim=claim,
            answers=whole.tally,
            shares=_shares(whole, choices),
            by_seed=_by_seed(samples),
            between=between(samples, choices, tick=last),
        )


def _sample(world: SeedWorld, found: _Marked | None, choices: Sequence[str]) -> Sample:
    counted, answers = found or (NO_ANSWERS, 0)
    scored = sum(counted.choices.values())
    return Sample(
        seed=world.seed,
        worlds=(world,),
        of=scored if found else None,
        values={choice: counted.choices.get(choice, 0) / scored for choice in choices}
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


def _shares(counted: Count, choices: Sequence[str]) -> tuple[Share, ...]:
    scored = sum(counted.choices.values())
    return tuple(
        Share(
            choice=choice,
            count=counted.choices.get(choice, 0),
            of=scored,
            share=ratio(counted.choices.get(choice, 0), scored),
        )
        for choice in choices
    )
