"""What a draw is compared with: the distribution of each attribute that it should have. Pure.

The target is the study's own where it declares one; else it is that of the rows who can take part,
each counted by its weight, and each audience by its share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perdure.population.audiences import audience_of
from perdure.records.persona import Ontology, Persona
from perdure.records.study import PopulationSpec

Shares = Mapping[str, float]


@dataclass(frozen=True)
class Margins:
    """The target of each attribute: shares by code, or numbers with their shares, in order."""

    codes: dict[str, Shares]
    numbers: dict[str, list[tuple[float, float]]]


def margins(
    personas: Sequence[Persona],
    weights: Sequence[float],
    spec: PopulationSpec,
    ontology: Ontology,
) -> Margins:
    """Work out the target of every attribute with a scale, and of every number."""
    counted = _counted(personas, weights, spec)
    codes: dict[str, Shares] = {}
    numbers: dict[str, list[tuple[float, float]]] = {}
    for one in ontology.attributes:
        if one.text:
            continue
        if one.name in spec.targets:
            declared = spec.targets[one.name]
            codes[one.name] = _whole({code: declared.get(code, 0.0) for code in one.scale})
            continue
        sums: dict[str | int | float, float] = defaultdict(float)
        for persona, weight in zip(personas, counted, strict=True):
            value = persona.attributes.get(one.name)
            if value is not None:
                sums[value] += weight
        if one.scale:
            held = {str(value): weight for value, weight in sums.items()}
            codes[one.name] = _whole({code: held.get(code, 0.0) for code in one.scale})
        else:
            total = sum(sums.values()) or 1.0
            pairs = ((float(value), weight / total) for value, weight in sums.items())
            numbers[one.name] = sorted(pairs)
    return Margins(codes=codes, numbers=numbers)


def _counted(
    personas: Sequence[Persona], weights: Sequence[float], spec: PopulationSpec
) -> Sequence[float]:
    """Weigh each persona so that the audiences together have their shares."""
    if not spec.audiences:
        return weights
    places = [audience_of(persona, spec.audiences) for persona in personas]
    totals: dict[int | None, float] = defaultdict(float)
    for place, weight in zip(places, weights, strict=True):
        totals[place] += weight
    return [
        0.0 if place is None else weight * spec.audiences[place].share / totals[place]
        for place, weight in zip(places, weights, strict=True)
    ]


def _whole(shares: Shares) -> Shares:
    total = sum(shares.values()) or 1.0
    return {code: share / total for code, share in shares.items()}
