"""What people think of each claim, tick by tick: the path of opinion, and how communities part.

A persona that met a claim and was not moved by it is unsure of it, which is 0; one that did not
meet it has no belief, which is not 0. Every figure says which of the two it is over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from perdure.analysis.divergence import NONE, Divergence, Shuffler
from perdure.analysis.replicates import Between, Sample, SeedWorld, between, within
from perdure.records.events import BeliefsHeld, Event, StimulusPublished, TickClosed, Turn
from perdure.records.record import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STEPS_MAX = 3
STEPS = 2 * STEPS_MAX + 1
MEAN = "mean"
OF_MET = ("believing", "doubting", "unsure")
OF_ALL = ("met", "believing_of_all", "doubting_of_all")
NOT_MET = "nobody had met it yet"


class OpinionCount(Record):
    """How many people hold each belief in a claim at the end of a tick, from -3 to 3.

    `mark` is equal where the same people hold the same. `divergence` is that of the communities;
    absent where the population has none.
    """

    counts: tuple[int, ...]
    mark: str
    divergence: Divergence | None = None

    @property
    def met(self) -> int:
        """How many met the claim."""
        return sum(self.counts)

    @property
    def mean(self) -> float:
        """The mean belief of those who met it, -3 to 3."""
        return sum(count * (step - STEPS_MAX) for step, count in enumerate(self.counts)) / self.met


class SeedOpinion(Record):
    """The beliefs in a claim in one world: how many hold each, from -3 to 3."""

    seed: int
    world_id: str
    counts: tuple[int, ...]


class OpinionAt(Record):
    """The beliefs in a claim at the end of a tick, over seeds.

    `mean` has the spread of the mean belief of those who met it, `shares` those of the shares:
    believing (above 0), doubting (below 0) and unsure of those who met it; met, believing and
    doubting of everybody.
    """

    tick: int
    by_seed: tuple[SeedOpinion, ...]
    mean: Between
    shares: Between


class OpinionPath(Record):
    """How the beliefs in one claim went in one scenario. `personas` is everybody."""

    scenario: str
    claim: str
    personas: int
    at: tuple[OpinionAt, ...]


# The divergences under each relabelling, added up over the worlds of a scenario, by claim and tick.
Chances = dict[tuple[str, int], "NDArray[np.float64]"]


class OpinionPass:
    """Follows the beliefs of one world as its events pass."""

    kinds: ClassVar[frozenset[type[Record]]] = frozenset(
        {StimulusPublished, Turn, BeliefsHeld, TickClosed}
    )

    def __init__(
        self,
        places: Mapping[str, int],
        claims: Sequence[str],
        shuffler: Shuffler | None,
        chances: Chances,
    ) -> None:
        """Take the place of each persona, the claims, and the communities if there are any.

        What the relabellings give is added to `chances`, those of all worlds of the scenario.
        """
        import numpy as np  # noqa: PLC0415 - heavy

        self.counts: dict[str, dict[int, OpinionCount]] = {}
        self._chances = chances
        self._last: dict[str, NDArray[np.float64]] = {}
        self._places = places
        self._shuffler = shuffler
        self._claim_of: dict[str, str] = {}
        self._held: dict[str, NDArray[np.int64]] = {
            claim: np.full(len(places), NONE, dtype=np.int64) for claim in claims
        }
        self._moved = dict.fromkeys(claims, False)

    def see(self, event: Event) -> None:
        """Take note of what an event says of beliefs."""
        match event.payload:
            case StimulusPublished(stimulus=stimulus) if stimulus.claim in self._held:
                self._claim_of[stimulus.id] = stimulus.claim
            case Turn(presentation=shown):
                place = self._places.get(event.persona)
                for one in shown.impression.exposures:
                    claim = self._claim_of.get(one.stimulus, "")
                    if place is not None and claim and self._held[claim][place] == NONE:
                        self._set(claim, place, 0)
            case BeliefsHeld(beliefs=beliefs):
                place = self._places.get(event.persona)
                for claim, step in beliefs.items():
                    if place is not None and claim in self._held:
                        self._set(claim, place, step)
            case TickClosed():
                self._close(event.tick)
            case _:
                pass

    def _set(self, claim: str, place: int, step: int) -> None:
        self._held[claim][place] = max(-STEPS_MAX, min(STEPS_MAX, step)) + STEPS_MAX
        self._moved[claim] = True

    def _close(self, tick: int) -> None:
        for claim, held in self._held.items():
            known = self.counts.setdefault(claim, {})
            if self._moved[claim]:
                known[tick] = self._count(claim, held)
            elif tick - 1 in known:
                known[tick] = known[tick - 1]
            self._moved[claim] = False
            if claim in self._last:
                sums = self._chances.get((claim, tick))
                last = self._last[claim]
                self._chances[claim, tick] = last.copy() if sums is None else sums + last

    def _count(self, claim: str, held: NDArray[np.int64]) -> OpinionCount:
        import numpy as np  # noqa: PLC0415 - heavy

        counts = np.bincount(held[held != NONE], minlength=STEPS)
        found = None
        if self._shuffler is not None:
            found, chance = self._shuffler.divergence(held, STEPS)
            if len(chance):
                self._last[claim] = chance
        return OpinionCount(
            counts=tuple(int(one) for one in counts),
            mark=hashlib.sha256(held.astype("<i8").tobytes()).hexdigest()[:32],
            divergence=found,
        )


WorldOpinions = tuple[SeedWorld, Mapping[str, Mapping[int, OpinionCount]]]


def opinion_paths(
    scenario: str, worlds: Sequence[WorldOpinions], *, personas: int
) -> tuple[OpinionPath, ...]:
    """Sum up the beliefs of a scenario's worlds, by claim; one that nobody met is left out."""
    claims = dict.fromkeys(claim for _, counts in worlds for claim in counts)
    paths = (
        OpinionPath(
            scenario=scenario, claim=claim, personas=personas, at=_at(claim, worlds, personas)
        )
        for claim in claims
    )
    return tuple(path for path in paths if path.at)


def _at(claim: str, worlds: Sequence[WorldOpinions], personas: int) -> tuple[OpinionAt, ...]:
    ticks = sorted({tick for _, counts in worlds for tick in counts.get(claim, {})})
    made = []
    for tick in ticks:
        found = [(world, counts.get(claim, {}).get(tick)) for world, counts in worlds]
        made.append(
            OpinionAt(
                tick=tick,
                by_seed=tuple(
                    SeedOpinion(seed=world.seed, world_id=world.world_id, counts=one.counts)
                    for world, one in found
                    if one is not None
                ),
                mean=between(
                    [_sample(world, one, {MEAN: one.mean} if one else {}) for world, one in found],
                    (MEAN,),
                    tick=tick,
                    bounds=within(-STEPS_MAX, STEPS_MAX),
                ),
                shares=between(
                    [
                        _sample(world, one, _shares(one, personas) if one else {})
                        for world, one in found
                    ],
                    (*OF_MET, *OF_ALL),
                    tick=tick,
                ),
            )
        )
    return tuple(made)


def _shares(one: OpinionCount, personas: int) -> dict[str, float]:
    doubting, unsure = sum(one.counts[:STEPS_MAX]), one.counts[STEPS_MAX]
    believing = one.met - doubting - unsure
    of_met = (believing / one.met, doubting / one.met, unsure / one.met)
    of_all = (one.met / personas, believing / personas, doubting / personas)
    return dict(zip((*OF_MET, *OF_ALL), (*of_met, *of_all), strict=True))


def _sample(world: SeedWorld, one: OpinionCount | None, values: dict[str, float]) -> Sample:
    return Sample(
        seed=world.seed,
        worlds=(world,),
        of=one.met if one else None,
        values=values,
        answers=one.mark if one else "",
        why=NOT_MET,
    )
