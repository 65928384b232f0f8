"""Compares what was drawn with its target, attribute by attribute, and says pass or fail. Pure.

All comparisons of a draw are one family: their chances are judged after Holm, so that a sound draw
fails any of them at most as often as `alpha` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import msgspec

from perdure.base.errors import Problem
from perdure.population.statistics import chi_squared_tail, kolmogorov_tail
from perdure.population.targets import Margins, Shares
from perdure.records.persona import Persona
from perdure.records.population import Gate, GateState, Level, PopulationManifest
from perdure.records.study import PopulationSpec

CHI_SQUARED = "chi-squared"
KOLMOGOROV_SMIRNOV = "Kolmogorov-Smirnov"

EXPECTED_MIN = 5.0
NUMBERS_MIN = 8
_DIGITS = 9


def gates(personas: Sequence[Persona], target: Margins, spec: PopulationSpec) -> tuple[Gate, ...]:
    """Compare the personas with every target, as one family."""
    found = [
        _codes(name, Counter(_held(personas, name)), shares, declared=name in spec.targets)
        for name, shares in target.codes.items()
    ]
    found += [_numbers(name, personas, pairs) for name, pairs in target.numbers.items()]
    return tuple(judged(found, spec.alpha))


def accepted(gates: Iterable[Gate], accept: Collection[str]) -> tuple[Gate, ...]:
    """Mark the failed gates that the study lets fail."""
    return tuple(
        msgspec.structs.replace(gate, accepted=True)
        if gate.state is GateState.FAILED and gate.name in accept
        else gate
        for gate in gates
    )


def judged(found: Sequence[Gate], alpha: float) -> list[Gate]:
    """Judge the comparisons as one family, after Holm."""
    asked = sorted((gate.p, place) for place, gate in enumerate(found) if gate.p is not None)
    failed: set[int] = set()
    for rank, (chance, place) in enumerate(asked):
        if chance > alpha / (len(asked) - rank):
            break
        failed.add(place)
    return [
        msgspec.structs.replace(gate, state=GateState.FAILED) if place in failed else gate
        for place, gate in enumerate(found)
    ]


def refusals(manifest: PopulationManifest, file: str) -> list[Problem]:
    """Say why a study is not run with these people: its gates that fail and are not accepted."""
    return [
        Problem(
            file=file,
            line=0,
            wrong=f"The population fails the gate `{gate.name}`: {evidence(gate)}.",
            remedy=f"{_remedy(gate)}, or write `gates: {{accept: [{gate.name}]}}` under "
            "`population`, which is recorded.",
        )
        for gate in manifest.gates
        if gate.state is GateState.FAILED and not gate.accepted
    ]


def _remedy(gate: Gate) -> str:
    if gate.least is not None:
        return "Change what `graph` asks for"
    return "Draw more people, by quota or by weight"


def evidence(gate: Gate) -> str:
    """Say in words what a gate found."""
    if gate.state is GateState.UNMEASURED:
        return gate.why
    if gate.least is not None:
        due = (
            f"{gate.least:.4g} or more"
            if gate.most is None
            else f"{gate.least:.4g} to {gate.most:.4g}"
        )
        return f"the {gate.test} is {gate.statistic:.4g}, and {due} is asked for"
    if gate.target_mean is not None and gate.drawn_mean is not None:
        return (
            f"the largest distance of the two distributions is {gate.statistic:.3f} "
            f"({gate.test}, p {_chance(gate.p)}), the mean {gate.drawn_mean:.4g} for "
            f"{gate.target_mean:.4g}"
        )
    worst = max(gate.levels, key=lambda one: abs(_share(one, gate) - one.target))
    return (
        f"code `{worst.code}` has {_share(worst, gate):.1%} for {worst.target:.1%} "
        f"({gate.test} {gate.statistic:.2f} with {gate.freedom} degrees of freedom, "
        f"p {_chance(gate.p)})"
    )


def _chance(chance: float | None) -> str:
    assert chance is not None
    return f"{chance:.3f}" if chance >= 0.001 else "< 0.001"  # noqa: PLR2004 - three digits


def _share(level: Level, gate: Gate) -> float:
    return level.drawn / gate.compared


def _held(personas: Iterable[Persona], name: str) -> list[str]:
    return [str(one.attributes[name]) for one in personas if name in one.attributes]


def _codes(name: str, drawn: Counter[str], shares: Shares, *, declared: bool) -> Gate:
    compared = drawn.total()
    levels = tuple(
        Level(code=code, target=round(share, _DIGITS), drawn=drawn[code])
        for code, share in shares.items()
    )
    gate = Gate(
        name=name,
        test=CHI_SQUARED,
        declared=declared,
        compared=compared,
        levels=levels,
        state=GateState.PASSED,
    )
    cells = _pooled([(drawn[code], compared * share) for code, share in shares.items()])
    impossible = any(drawn[code] for code, share in shares.items() if share == 0)
    if len(cells) <= 1 and not impossible:
        why = "too few people for two groups of which five are expected"
        return msgspec.structs.replace(gate, state=GateState.UNMEASURED, why=why)
    statistic = sum((seen - due) ** 2 / due for seen, due in cells)
    freedom = max(1, len(cells) - 1)
    # What should never be there makes any chance zero.
    chance = 0.0 if impossible else chi_squared_tail(statistic, freedom)
    return msgspec.structs.replace(
        gate, statistic=round(statistic, _DIGITS), freedom=freedom, p=round(chance, _DIGITS)
    )


def _pooled(cells: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Put the codes of which too few are expected together, so that the test holds."""
    large = [cell for cell in cells if cell[1] >= EXPECTED_MIN]
    small = [cell for cell in cells if 0 < cell[1] < EXPECTED_MIN]
    if not small:
        return large
    rest = (sum(seen for seen, _ in small), sum(due for _, due in small))
    if rest[1] >= EXPECTED_MIN:
        return [*large, rest]
    if not large:
        return [rest]
    least = min(range(len(large)), key=lambda place: large[place][1])
    large[least] = (large[least][0] + rest[0], large[least][1] + rest[1])
    return large


def _numbers(name: str, personas: Iterable[Persona], target: Sequence[tuple[float, float]]) -> Gate:
    values = sorted(float(one.attributes[name]) for one in personas if name in one.attributes)
    gate = Gate(name=name, test=KOLMOGOROV_SMIRNOV, compared=len(values), state=GateState.PASSED)
    if len(values) < NUMBERS_MIN:
        why = f"fewer than {NUMBERS_MIN} people have it"
        return msgspec.structs.replace(gate, state=GateState.UNMEASURED, why=why)
    distance = _distance(values, target)
    return msgspec.structs.replace(
        gate,
        statistic=round(distance, _DIGITS),
        p=round(kolmogorov_tail(distance, len(values)), _DIGITS),
        target_mean=round(sum(value * share for value, share in target), _DIGITS),
        drawn_mean=round(sum(values) / len(values), _DIGITS),
    )


def _distance(values: Sequence[float], target: Sequence[tuple[float, float]]) -> float:
    """Give the largest distance of two distribution functions. Both are sorted."""
    seen = place = 0
    due = largest = 0.0
    points = sorted({*values, *(value for value, _ in target)})
    for point in points:
        while seen < len(values) and values[seen] <= point:
            seen += 1
        while place < len(target) and target[place][0] <= point:
            due += target[place][1]
            place += 1
        largest = max(largest, abs(seen / len(values) - due))
    return largest
