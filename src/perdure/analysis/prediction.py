"""Predicted against real: shares, accuracy and Brier score, beside the simplest yardsticks.

Accuracy is over scored answers whose persona has a known real value; where answers are scored by
likeness it is the mean probability of the real value. For the Brier score, a persona's probability
of a choice is the share of its scored answers, over the seeds, that name it, or their mean;
the score is the mean over personas of the sum over choices of (probability - outcome) squared: 0 is
perfect, 2 is certain and always wrong. With one seed every probability is 0 or 1. The log loss is
the mean of -ln(probability of the real value), where a probability below a stated floor counts as
the floor: a share of few seeds cannot tell 0 from little.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from perdure.analysis.answers import Answer, Tally, count, tally
from perdure.analysis.calibration import Calibration, calibration
from perdure.analysis.figures import Figures
from perdure.analysis.replicates import Sample, SeedWorld, between
from perdure.analysis.shares import Share, most_common, ratio, shares
from perdure.analysis.spread import Spread
from perdure.records.record import Record

ACCURACY = "accuracy"
LOG_FLOOR = 0.01

AnswersByPersona = Mapping[str, Answer]


class Fit(Record):
    """How well answers meet the real values. A number is absent where nothing could be compared.

    `compared` counts scored answers whose persona has a known real value, `personas` the personas
    they come from; `correct` is no whole number where answers have probabilities. `floored` counts
    the personas whose real value had a probability below `LOG_FLOOR`, and counts as that in the log
    loss (natural logarithm; 0 is perfect).
    """

    compared: int
    correct: float
    personas: int
    accuracy: float | None
    brier: float | None
    log_loss: float | None = None
    floored: int = 0


class WorldFit(Record):
    """The fit of one world alone."""

    world_id: str
    seed: int
    fit: Fit


class GroupFit(Record):
    """Everything about one group of personas, or about all of them (`group` is empty).

    `real` is over the group's personas with a known value, `real_unknown` counts the others.
    `always` is the fit of giving the group's most common real value to every compared answer.
    """

    group: str
    label: str
    personas: int
    answers: Tally
    predicted: tuple[Share, ...]
    real: tuple[Share, ...]
    real_unknown: int
    fit: Fit
    always_choice: str
    always: Fit


class Prediction(Record):
    """One scenario's answers at one wave, over its seeds, against the real values.

    `always_by_group` is the fit of giving every persona the most common real value of its own
    group. `calibration` says whether shares and probabilities are what really came out. `accuracy`
    has the spread over the seeds of each world's own accuracy. `same_as` names an earlier scenario
    whose answers at this wave were the same, one by one.
    """

    scenario: str
    tick: int
    world_ids: tuple[str, ...]
    seeds: tuple[int, ...]
    overall: GroupFit
    groups: tuple[GroupFit, ...]
    always_by_group: Fit | None
    calibration: Calibration
    by_world: tuple[WorldFit, ...]
    accuracy: Spread
    same_as: str


class WorldAnswers(Record):
    """The answers of one world at one wave, and their mark."""

    world: SeedWorld
    answers: dict[str, Answer]
    mark: int


class Group(Record):
    """A group of personas: the code of the attribute's value, its words, who is in it."""

    code: str
    label: str
    personas: frozenset[str]


def fit(
    worlds: Sequence[AnswersByPersona],
    real: Mapping[str, str],
    choices: Sequence[str],
) -> Fit:
    """Compare the scored answers of some worlds with the real values."""
    named = named_by(worlds, real, choices)
    compared = sum(
        answer.is_scored and persona in real
        for answers in worlds
        for persona, answer in answers.items()
    )
    right = (
        Figures(choices=tuple(choices)).values(answer).get(real[persona], 0)
        for answers in worlds
        for persona, answer in answers.items()
        if answer.is_scored and persona in real
    )
    correct = sum(right)
    loss = sum(_brier(shares, real[persona]) for persona, shares in named.items())
    chances = [shares[real[persona]] for persona, shares in named.items()]
    surprise = math.fsum(-math.log(max(chance, LOG_FLOOR)) for chance in chances)
    return Fit(
        compared=compared,
        correct=correct,
        personas=len(named),
        accuracy=ratio(correct, compared),
        brier=ratio(loss, len(named)),
        log_loss=ratio(surprise, len(named)),
        floored=sum(chance < LOG_FLOOR for chance in chances),
    )


def given_shares(answers: Iterable[Answer], choices: Sequence[str]) -> tuple[Share, ...]:
    """Give the share of each choice among the scored ones of some answers."""
    counted = count(answers, Figures(choices=tuple(choices)).values)
    sums, scored = counted.sums, counted.scored
    return tuple(
        Share(
            choice=choice,
            count=sums.get(choice, 0),
            of=scored,
            share=ratio(sums.get(choice, 0), scored),
        )
        for choice in choices
    )


def named_by(
    worlds: Sequence[AnswersByPersona], real: Mapping[str, str], choices: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Give the probability of each choice, by persona with a known real value: over the worlds."""
    given: defaultdict[str, list[Answer]] = defaultdict(list)
    for answers in worlds:
        for persona, answer in answers.items():
            if answer.is_scored and persona in real:
                given[persona].append(answer)
    return {persona: _chances(mine, choices) for persona, mine in given.items()}


def _chances(answers: Sequence[Answer], choices: Sequence[str]) -> dict[str, float]:
    shares = Figures(choices=tuple(choices))
    counted = count(answers, shares.values)
    return {choice: counted.sums.get(choice, 0) / counted.scored for choice in choices}


def predict(
    scenario: str,
    tick: int,
    worlds: Sequence[WorldAnswers],
    *,
    real: Mapping[str, str],
    choices: Sequence[str],
    everyone: Sequence[str],
    groups: Sequence[Group],
    same_as: str = "",
) -> Prediction:
    """Compare one scenario's answers at one wave with the real values, overall and by group."""
    by_world = [world.answers for world in worlds]
    alone = tuple(
        WorldFit(
            world_id=one.world.world_id,
            seed=one.world.seed,
            fit=fit([one.answers], real, choices),
        )
        for one in worlds
    )
    whole = Group(code="", label="", personas=frozenset(everyone))
    fits = tuple(_group_fit(group, by_world, real, choices) for group in groups)
    own = {
        p: g.always_choice for group, g in zip(groups, fits, strict=True) for p in group.personas
    }
    return Prediction(
        scenario=scenario,
        tick=tick,
        world_ids=tuple(one.world_id for one in alone),
        seeds=tuple(one.seed for one in alone),
        overall=_group_fit(whole, by_world, real, choices),
        groups=fits,
        always_by_group=_constant(by_world, real, choices, own) if groups else None,
        calibration=calibration(
            named_by(by_world, real, choices),
            real,
            choices,
            [(group.code, group.label, group.personas) for group in groups],
            graded=len(worlds) > 1 or any(a.masses for one in by_world for a in one.values()),
        ),
        by_world=alone,
        accuracy=_accuracy(tick, worlds, alone),
        same_as=same_as,
    )


def _accuracy(tick: int, worlds: Sequence[WorldAnswers], alone: Sequence[WorldFit]) -> Spread:
    samples = [
        Sample(
            seed=one.world.seed,
            worlds=(one.world,),
            of=by_itself.fit.compared,
            values={ACCURACY: by_itself.fit.accuracy or 0.0},
            answers=one.mark,
        )
        for one, by_itself in zip(worlds, alone, strict=True)
    ]
    return between(samples, (ACCURACY,), tick=tick).spreads[ACCURACY]


def _group_fit(
    group: Group,
    worlds: Sequence[AnswersByPersona],
    real: Mapping[str, str],
    choices: Sequence[str],
) -> GroupFit:
    kept = [{p: a for p, a in answers.items() if p in group.personas} for answers in worlds]
    known = {persona: value for persona, value in real.items() if persona in group.personas}
    always = most_common(known.values(), choices)
    return GroupFit(
        group=group.code,
        label=group.label,
        personas=len(group.personas),
        answers=tally(answer for answers in kept for answer in answers.values()),
        predicted=given_shares((a for answers in kept for a in answers.values()), choices),
        real=shares(known.values(), choices),
        real_unknown=len(group.personas) - len(known),
        fit=fit(kept, known, choices),
        always_choice=always,
        always=_constant(kept, known, choices, dict.fromkeys(known, always)),
    )


def _constant(
    worlds: Sequence[AnswersByPersona],
    real: Mapping[str, str],
    choices: Sequence[str],
    given: Mapping[str, str],
) -> Fit:
    """Fit of a stated value per persona, over just the answers that the model is judged on."""
    swapped = [
        {
            persona: Answer(choice=given[persona])
            for persona, answer in answers.items()
            if answer.is_scored and persona in given
        }
        for answers in worlds
    ]
    return fit(swapped, real, choices)


def _brier(shares: Mapping[str, float], truth: str) -> float:
    return sum((share - (choice == truth)) ** 2 for choice, share in shares.items())
