"""Survey weights: whether shares are counted by them, and why not.

A draw in proportion to weight is self-weighting, and quotas and audiences are shares by weight
already: there, to weight once more would count it twice, so the record keeps no weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from perdure.base.errors import DamagedRecordError
from perdure.records.persona import Persona
from perdure.records.record import Record
from perdure.records.study import PopulationSpec


class Weighting(Record):
    """Whether figures are given by weight too; `why` says why not, and is empty if they are.

    `effective` is Kish's effective sample size of the whole population, `design` the factor by
    which unequal weights swell a variance (1 if all are equal).
    """

    applied: bool = False
    why: str = "the study has no survey weights"
    personas: int = 0
    effective: float | None = None
    design: float | None = None


def weighting_of(
    spec: PopulationSpec, weights: Sequence[float], personas: Sequence[Persona]
) -> Weighting:
    """Say how a run's weights are used.

    Raises:
        DamagedRecordError: there are weights, and not one for each persona.

    """
    if weights and len(weights) != len(personas):
        raise DamagedRecordError(
            f"There are {len(weights):,} survey weights for {len(personas):,} personas.",
            where="the registry of the run",
            remedy="Run `perdure verify` on it.",
        )
    squares = math.fsum(one * one for one in weights)
    if squares:
        effective = math.fsum(weights) ** 2 / squares
        count = sum(one > 0.0 for one in weights)
        return Weighting(
            applied=True,
            why="",
            personas=count,
            effective=effective,
            design=count / effective,
        )
    return Weighting(why=_why_not(spec))


def weights_by_persona(
    weighting: Weighting, weights: Sequence[float], personas: Sequence[Persona]
) -> Mapping[str, float]:
    """Give each persona's weight; empty if the run's figures are not given by weight."""
    if not weighting.applied:
        return {}
    return {one.id: weight for one, weight in zip(personas, weights, strict=True)}


def _why_not(spec: PopulationSpec) -> str:
    if not spec.weight_column:
        return "the study has no survey weights"
    if spec.draw and spec.draw_by == "weight":
        return "people were drawn in proportion to their weights, so each counts the same"
    if spec.draw and (spec.quotas or spec.audiences):
        return "people were drawn to shares that are by weight already"
    return "the run was recorded before weights were kept beside the personas"
