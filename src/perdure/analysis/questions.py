"""The answers to every closed question of a study: shares by scenario, by tick, by claim. Pure.

This needs no real values: a study that holds no outcome out has all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from perdure.analysis.answers import NO_ANSWERS, Count, Tally, count
from perdure.analysis.reading import WorldReading
from perdure.analysis.shares import Share, ratio
from perdure.records.record import Record
from perdure.records.scenario import Question, Scenario
from perdure.records.study import Study


class TickShares(Record):
    """The answers of one scenario at one tick, over its seeds: `shares` are of scored ones.

    `wave` says whether it is a survey wave.
    """

    scenario: str
    tick: int
    wave: bool
    seeds: tuple[int, ...]
    answers: Tally
    shares: tuple[Share, ...]


class ClaimShares(Record):
    """The answers of one scenario to a question that was put with a claim, over ticks and seeds."""

    scenario: str
    claim: str
    answers: Tally
    shares: tuple[Share, ...]


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


def question_shares(
    study: Study, scenarios: Mapping[str, Scenario], readings: Sequence[WorldReading]
) -> tuple[QuestionShares, ...]:
    """Count the answers to every closed question that was asked, in the order of the study."""
    found = []
    for question in closed_questions(study).values():
        choices = tuple(choice.id for choice in question.choices)
        ticks: list[TickShares] = []
        claims: list[ClaimShares] = []
        for scenario in scenarios:
            mine = [one for one in readings if one.world.scenario == scenario]
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


def _ticks(
    scenario: str, question: str, readings: Sequence[WorldReading], choices: Sequence[str]
) -> Iterable[TickShares]:
    at: dict[tuple[int, bool], list[tuple[int, Count]]] = {}
    for reading in readings:
        seed = reading.world.replicate_seed
        for tick, answers in reading.waves.get(question, {}).items():
            at.setdefault((tick, True), []).append((seed, count(answers.values())))
        for tick, counted in reading.others.get(question, {}).items():
            at.setdefault((tick, False), []).append((seed, counted))
    for (tick, wave), counts in sorted(at.items()):
        whole = sum((counted for _, counted in counts), NO_ANSWERS)
        yield TickShares(
            scenario=scenario,
            tick=tick,
            wave=wave,
            seeds=tuple(seed for seed, _ in counts),
            answers=whole.tally,
            shares=_shares(whole, choices),
        )


def _claims(
    scenario: str, question: str, readings: Sequence[WorldReading], choices: Sequence[str]
) -> Iterable[ClaimShares]:
    whole: dict[str, Count] = {}
    for reading in readings:
        for claim, counted in reading.by_claim.get(question, {}).items():
            whole[claim] = whole.get(claim, NO_ANSWERS) + counted
    for claim, counted in sorted(whole.items()):
        yield ClaimShares(
            scenario=scenario, claim=claim, answers=counted.tally, shares=_shares(counted, choices)
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
