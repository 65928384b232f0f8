"""Polarization: how far communities part over a claim or a question, tick by tick, over seeds.

What chance alone gives is never 0, so the finding is the excess over it, and the chance of so high
a mean if communities had nothing to do with it, from the same relabelling of all worlds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from perdure.analysis.cells import WorldWaves
from perdure.analysis.divergence import NONE, Divergence, Shuffler
from perdure.analysis.opinions import Chances, WorldOpinions
from perdure.analysis.replicates import Between, Sample, SeedWorld, between, within
from perdure.records.record import Record
from perdure.records.scenario import Question, QuestionType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIGURES = ("divergence", "chance", "excess")
_NOT_ONE = {
    QuestionType.SEVERAL: "an answer may give several choices, or none",
    QuestionType.RANKED: "an answer is an order",
    QuestionType.NUMBER: "an answer is a number",
}
BELIEF, ANSWERS = "belief", "answers"
_ALIKE = 1e-12  # a relabelling that comes out alike counts as high, whatever the last bit


class SeedDivergence(Record):
    """The divergence of the communities in one world."""

    seed: int
    world_id: str
    divergence: Divergence


class PolarizedAt(Record):
    """How far communities part at a tick, over seeds.

    `between` has the spreads of the divergence (0 to 1), of what chance gives, and of the excess.
    `p` is the chance of a mean divergence at least as high if communities made no difference, one
    in `relabellings` + 1 at least; absent where nothing was measured.
    """

    tick: int
    by_seed: tuple[SeedDivergence, ...]
    between: Between
    p: float | None
    relabellings: int


class Polarization(Record):
    """How far communities part in a scenario: over a claim (`belief`) or question (`answers`)."""

    scenario: str
    about: str
    name: str
    at: tuple[PolarizedAt, ...]


def why_not_parted(question: Question) -> str:
    """Say why communities are not compared over a question that is scored; empty if they are."""
    if question.gives_chances:
        return "an answer is a probability of each choice"
    return _NOT_ONE.get(question.asks_for, "")


_Found = tuple[SeedWorld, Divergence | None, object]


def of_beliefs(
    scenario: str, worlds: Sequence[WorldOpinions], chances: Chances
) -> tuple[Polarization, ...]:
    """Compare the communities' beliefs in each claim, at the end of every tick."""
    claims = dict.fromkeys(claim for _, counts in worlds for claim in counts)
    made = []
    for claim in claims:
        ticks = sorted({tick for _, counts in worlds for tick in counts.get(claim, {})})
        at = []
        for tick in ticks:
            found: list[_Found] = []
            for world, counts in worlds:
                one = counts.get(claim, {}).get(tick)
                found.append((world, one.divergence if one else None, one.mark if one else ""))
            at.append(_at(tick, found, chances.get((claim, tick))))
        made.append(Polarization(scenario=scenario, about=BELIEF, name=claim, at=tuple(at)))
    return tuple(one for one in made if one.at)


def of_answers(
    scenario: str,
    question: str,
    worlds: Sequence[WorldWaves],
    *,
    choices: Sequence[str],
    places: Mapping[str, int],
    shuffler: Shuffler,
) -> Iterable[Polarization]:
    """Compare the communities' answers to a question, at every wave that was reached."""
    import numpy as np  # noqa: PLC0415 - heavy

    codes = {choice: code for code, choice in enumerate(choices)}
    at = []
    for tick in sorted({tick for one in worlds for tick in one.waves}):
        found: list[_Found] = []
        sums: NDArray[np.float64] | None = None
        for one in worlds:
            if tick not in one.waves:
                found.append((one.world, None, ""))
                continue
            given = np.full(len(places), NONE, dtype=np.int64)
            for persona, answer in one.waves[tick].items():
                if answer.choice in codes and persona in places:
                    given[places[persona]] = codes[answer.choice]
            apart, chance = shuffler.divergence(given, len(choices))
            found.append((one.world, apart, one.marks[tick]))
            if len(chance):
                sums = chance if sums is None else sums + chance
        at.append(_at(tick, found, sums))
    if at:
        yield Polarization(scenario=scenario, about=ANSWERS, name=question, at=tuple(at))


def _at(tick: int, found: Sequence[_Found], sums: NDArray[np.float64] | None) -> PolarizedAt:
    values = [one.value for _, one, _ in found if one is not None and not one.why]
    p = None
    if sums is not None and values:
        least = sum(values) * (1.0 - _ALIKE)
        p = (1 + int((sums >= least).sum())) / (len(sums) + 1)
    return PolarizedAt(
        tick=tick,
        by_seed=tuple(
            SeedDivergence(seed=world.seed, world_id=world.world_id, divergence=one)
            for world, one, _ in found
            if one is not None
        ),
        between=between(
            [_sample(world, one, mark) for world, one, mark in found],
            FIGURES,
            tick=tick,
            bounds=within(-1.0, 1.0),
        ),
        p=p,
        relabellings=0 if sums is None else len(sums),
    )


def _sample(world: SeedWorld, one: Divergence | None, mark: object) -> Sample:
    if one is None or one.why:
        why = one.why if one is not None else "nobody has one yet"
        return Sample(seed=world.seed, worlds=(world,), of=None, values={}, answers="", why=why)
    return Sample(
        seed=world.seed,
        worlds=(world,),
        of=one.personas,
        values=dict(zip(FIGURES, (one.value, one.chance, one.value - one.chance), strict=True)),
        answers=str(mark),
    )
