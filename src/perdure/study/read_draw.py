"""Reads how a population is drawn: by what chance, for which audiences, against which targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perdure.records.study import Audience, Filter
from perdure.study import schema
from perdure.study.findings import quoted, suggestion
from perdure.study.kinds import Named, Spot
from perdure.study.section import Section

SHARES_TOLERANCE = 0.0015
_BY_WEIGHT = "weight"


@dataclass(frozen=True)
class Draw:
    """How many are drawn (0 for all), and how."""

    n: int
    seed: int
    by: str
    quotas: tuple[str, ...]


def read_draw(population: Section, attributes: Mapping[str, Section]) -> Draw:
    """Read the draw, checked against the attributes."""
    if not population.has(schema.DRAW):
        return Draw(n=0, seed=0, by="chance", quotas=())
    draw = population.get(schema.DRAW)
    by = draw.get(schema.DRAW_BY)
    if by == _BY_WEIGHT and not population.present(schema.WEIGHT_COLUMN):
        wrong = "The draw is by weight, and no column holds the weights."
        draw.wrong(schema.DRAW_BY, wrong, "Name the column: `weight:` under `population`.")
    quotas = draw.get(schema.QUOTAS)
    for spot in _once(draw, quotas, "quota"):
        _require_scale(draw, spot.line, spot.value, attributes)
    return Draw(
        n=draw.get(schema.DRAW_N),
        seed=draw.get(schema.DRAW_SEED),
        by=by,
        quotas=tuple(dict.fromkeys(spot.value for spot in quotas)),
    )


def read_targets(
    population: Section, attributes: Mapping[str, Section]
) -> dict[str, dict[str, float]]:
    """Read the declared shares, which have to add up to 1 for each attribute."""
    targets = {}
    for named in population.get(schema.TARGETS):
        _require_scale(population, named.line, named.key, attributes)
        codes = _scale(attributes, named.key)
        for level in named.value:
            if codes and level.key not in codes:
                wrong = f"{quoted(level.key)} is not a code of the scale of `{named.key}`."
                population.found.add(level.line, wrong, suggestion(level.key, codes))
        shares = {level.key: level.value for level in named.value}
        _require_whole(population, named.line, f"The shares of `{named.key}`", shares.values())
        targets[named.key] = shares
    return targets


def read_audiences(population: Section, attributes: Mapping[str, Section]) -> tuple[Audience, ...]:
    """Read the audiences; their shares have to add up to 1."""
    named = population.get(schema.AUDIENCES)
    if named and not population.present(schema.DRAW):
        wrong = "There are audiences and no draw, so their shares are of nothing."
        population.wrong(schema.AUDIENCES, wrong, "Write `draw: {n: 100}` under `population`.")
    if named and all(one.value.has(schema.SHARE_OF_DRAW) for one in named):
        shares = [one.value.get(schema.SHARE_OF_DRAW) for one in named]
        line = population.line_of(schema.AUDIENCES)
        _require_whole(population, line, "The shares of the audiences", shares)
    return tuple(_audience(one, attributes) for one in named)


def _audience(named: Named[str, Section], attributes: Mapping[str, Section]) -> Audience:
    section = named.value
    filters = section.get(schema.WHERE)
    relax = section.get(schema.RELAX)
    known = [one.key for one in filters]
    for spot in _once(section, relax, "filter"):
        if spot.value not in known:
            wrong = f"{quoted(spot.value)} is no filter of the audience `{named.key}`."
            section.found.add(spot.line, wrong, suggestion(spot.value, known))
    return Audience(
        id=named.key,
        share=section.get(schema.SHARE_OF_DRAW),
        where=tuple(_filter(one, attributes) for one in filters),
        relax=tuple(dict.fromkeys(spot.value for spot in relax)),
    )


def _filter(named: Named[str, Section], attributes: Mapping[str, Section]) -> Filter:
    section = named.value
    values = section.get(schema.IS)
    least = section.get(schema.FROM) if section.has(schema.FROM) else None
    most = section.get(schema.TO) if section.has(schema.TO) else None
    attribute = attributes.get(named.key)
    if attribute is None:
        _unknown(section, named.line, named.key, attributes)
    elif not (values or section.present(schema.FROM) or section.present(schema.TO)):
        wrong = f"The filter of `{named.key}` asks for nothing."
        section.found.add(named.line, wrong, "Write `is:`, or `from:` and `to:` for a number.")
    elif _is_number(attribute):
        if section.present(schema.IS):
            wrong = f"`{named.key}` is a number, and `is` asks for codes or texts."
            section.wrong(schema.IS, wrong, "Write `from:` and `to:`.")
        if least is not None and most is not None and least > most:
            wrong = f"No number is from {least:g} to {most:g}."
            section.wrong(schema.FROM, wrong, "Write the lesser number under `from`.")
    else:
        _check_values(section, named.key, attribute, values)
    return Filter(
        attribute=named.key,
        values=tuple(spot.value for spot in values),
        least=least,
        most=most,
    )


def _check_values(
    section: Section, name: str, attribute: Section, values: Iterable[Spot[str]]
) -> None:
    for field in (schema.FROM, schema.TO):
        if section.present(field):
            wrong = f"`{name}` is not a number, and `{field.key}` asks for one."
            section.wrong(field, wrong, "Write `is:` and a list.")
    codes = [entry.key for entry in attribute.get(schema.SCALE)]
    for spot in values:
        if codes and spot.value not in codes:
            wrong = f"{quoted(spot.value)} is not a code of the scale of `{name}`."
            section.found.add(spot.line, wrong, suggestion(spot.value, codes))


def read_accepted(gates: Section, known: Iterable[str]) -> tuple[str, ...]:
    """Read which gates may fail; a name that is no gate's is refused."""
    names = list(known)
    accepted = gates.get(schema.ACCEPT)
    for spot in _once(gates, accepted, "gate"):
        if spot.value not in names:
            wrong = f"{quoted(spot.value)} is no gate: a gate has the name of its attribute."
            gates.found.add(spot.line, wrong, suggestion(spot.value, names))
    return tuple(dict.fromkeys(spot.value for spot in accepted))


def _once(section: Section, spots: Iterable[Spot[str]], what: str) -> list[Spot[str]]:
    """Give the spots, and note each that is there a second time."""
    seen: set[str] = set()
    kept = []
    for spot in spots:
        if spot.value in seen:
            wrong = f"The {what} {quoted(spot.value)} is there twice."
            section.found.add(spot.line, wrong, "Name it once.")
            continue
        seen.add(spot.value)
        kept.append(spot)
    return kept


def _require_scale(
    section: Section, line: int, name: str, attributes: Mapping[str, Section]
) -> None:
    if name not in attributes:
        _unknown(section, line, name, attributes)
    elif not _scale(attributes, name) and not attributes[name].present(schema.SCALE):
        wrong = f"`{name}` has no scale, so it has no shares."
        section.found.add(line, wrong, "Name an attribute with a scale.")


def _require_whole(section: Section, line: int, what: str, shares: Iterable[float]) -> None:
    total = sum(shares)
    if abs(total - 1) > SHARES_TOLERANCE:
        wrong = f"{what} add up to {total:.4g}."
        section.found.add(line, wrong, "Write shares that add up to 1.")


def _unknown(section: Section, line: int, name: str, attributes: Mapping[str, Section]) -> None:
    wrong = f"{quoted(name)} is not among the attributes of the ontology."
    section.found.add(line, wrong, suggestion(name, attributes))


def _scale(attributes: Mapping[str, Section], name: str) -> list[str]:
    section = attributes.get(name)
    return [] if section is None else [entry.key for entry in section.get(schema.SCALE)]


def _is_number(attribute: Section) -> bool:
    return not attribute.present(schema.SCALE) and attribute.get(schema.TYPE) == "number"
