"""Reads the channels of a scenario, its interventions, and how active its people are.

What is left out and what is written as its default are the same, to the last byte of an id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from perdure.base.text import a
from perdure.records.calendar import Calendar
from perdure.records.channels import (
    Channels,
    Feed,
    Forum,
    InterventionKind,
    Involvement,
    PlannedIntervention,
    Ranking,
    Scope,
    WordOfMouth,
)
from perdure.records.record import Record
from perdure.study import schema
from perdure.study.findings import quoted, suggestion
from perdure.study.kinds import Spot
from perdure.study.read_calendar import week_of
from perdure.study.read_models import require_vectors
from perdure.study.references import References
from perdure.study.section import Field, Section

R = TypeVar("R", bound=Record)

_FEED, _FORUM, _MOUTH = (field.key for field in schema.CHANNEL_FIELDS)
_OF_A_CLAIM = (InterventionKind.PUBLISH, InterventionKind.PROMOTE, InterventionKind.REMOVE)
_BY_MOUTH = (InterventionKind.PUBLISH, InterventionKind.REMOVE)

_NO_GRAPH = "Write `graph:` in `population`: who knows whom."


def read_channels(section: Section, references: References) -> Channels:
    """Read the channels that a scenario has, checked against what they refer to."""
    feed, forum, mouth = (
        section.get(field) if section.has(field) else None for field in schema.CHANNEL_FIELDS
    )
    given: dict[str, Feed | Forum | WordOfMouth] = {}
    if feed is not None:
        given[_FEED] = _made(Feed, _board(feed, schema.FEED_GROUP.fields, references))
    if forum is not None:
        values = _board(forum, schema.FORUM_GROUP.fields, references)
        given[_FORUM] = _made(Forum, {**values, "scope": Scope(forum.get(schema.SCOPE))})
        if forum.get(schema.SCOPE) == Scope.COMMUNITY:
            _require_graph(forum, schema.SCOPE, references, "has no communities")
    if mouth is not None:
        references.check_question(mouth, schema.CHANNEL_QUESTION)
        values = {field.key: mouth.get(field) for field in schema.MOUTH_GROUP.fields}
        starts = references.claims_at(mouth.get(schema.STARTS), "start", mouth.found)
        given[_MOUTH] = _made(WordOfMouth, {**values, "starts": starts})
        _require_graph(mouth, None, references, "has no graph, so nobody knows anybody")
    return Channels(**given)  # type: ignore[arg-type]  # each under its own key


def _board(
    section: Section, fields: tuple[Field[Any], ...], references: References
) -> dict[str, Any]:
    references.check_question(section, schema.CHANNEL_QUESTION)
    values = {field.key: section.get(field) for field in fields}
    ranking = Ranking(section.get(schema.RANKING))
    if ranking is Ranking.NETWORK:
        _require_graph(section, schema.RANKING, references, "has no graph to rank by")
    if ranking is Ranking.INTEREST:
        line = section.line_of(schema.RANKING)
        require_vectors(references.study, line, f"`{section.trail}` ranks by interest")
    posts = references.claims_at(section.get(schema.POSTS), "post", section.found)
    return {**values, "posts": posts, "ranking": ranking}


def _require_graph(
    section: Section, field: Field[Any] | None, references: References, lacks: str
) -> None:
    if references.known.has_graph is False:
        line = section.line if field is None else section.line_of(field)
        section.found.add(line, f"`{section.trail}` needs ties: the population {lacks}.", _NO_GRAPH)


def _made(record: type[R], values: dict[str, Any]) -> R:
    """Make a record of what differs from the defaults. What equals them is left out of it."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(record)}
    return record(**{key: value for key, value in values.items() if defaults[key] != value})


def read_interventions(
    section: Section, asked: Section, channels: Channels, references: References
) -> tuple[PlannedIntervention, ...]:
    """Read the interventions, each checked against the channels that the scenario has.

    `asked` is where these are written.
    """
    there = [field.key for field in schema.CHANNEL_FIELDS if asked.present(field)]
    spots: tuple[Spot[Section], ...] = section.get(schema.INTERVENTIONS)
    planned = tuple(_intervention(spot.value, there, references) for spot in spots)
    for spot, one in zip(spots, planned, strict=True):
        if spot.value.sound and _is_known(one.claim, references):
            _check_posted(spot.value, one, channels, planned, references)
    return planned


def _intervention(
    section: Section, there: Sequence[str], references: References
) -> PlannedIntervention:
    found, kind = section.found, InterventionKind(section.get(schema.INTERVENTION_KIND))
    tick, channel = section.get(schema.INTERVENTION_TICK), section.get(schema.INTERVENTION_CHANNEL)
    claim, ranking = section.get(schema.OF_CLAIM), section.get(schema.NEW_RANKING)
    references.check_tick(section.line_of(schema.INTERVENTION_TICK), tick, "intervention", found)
    if section.has(schema.INTERVENTION_CHANNEL) and channel not in there:
        wrong = f"The scenario has no channel {quoted(channel)}."
        section.wrong(schema.INTERVENTION_CHANNEL, wrong, suggestion("", there))
    if section.has(schema.INTERVENTION_KIND):
        _check_fields(section, kind, references)
    return _made(
        PlannedIntervention,
        {
            "tick": tick,
            "kind": kind,
            "channel": channel,
            "claim": claim,
            "ranking": Ranking(ranking) if ranking else None,
            "ticks": section.get(schema.FOR_TICKS),
        },
    )


def _check_fields(section: Section, kind: InterventionKind, references: References) -> None:
    """Note what an intervention of this kind lacks, or has and cannot have."""
    ranking = section.get(schema.NEW_RANKING)
    for field, kinds in (
        (schema.OF_CLAIM, _OF_A_CLAIM),
        (schema.NEW_RANKING, (InterventionKind.RANK,)),
    ):
        if kind in kinds and not section.present(field):
            wrong = f"`{kind.value}` needs `{field.key}`."
            section.wrong(schema.INTERVENTION_KIND, wrong, f"Write `{field.key}:`.")
        elif kind not in kinds and section.present(field):
            section.wrong(field, f"`{kind.value}` has no `{field.key}`.", "Remove it.")
    if claim := section.get(schema.OF_CLAIM):
        references.check_claim(section.line_of(schema.OF_CLAIM), claim, section.found)
    if section.get(schema.INTERVENTION_CHANNEL) == _MOUTH and kind not in _BY_MOUTH:
        wrong = "Word of mouth has neither ranking nor counts, and nothing on it comes first."
        section.wrong(schema.INTERVENTION_KIND, wrong, "Write `publish` or `remove`.")
    if ranking == Ranking.INTEREST:
        line = section.line_of(schema.NEW_RANKING)
        require_vectors(references.study, line, f"`{section.trail}` ranks by interest")
    if ranking == Ranking.NETWORK and references.known.has_graph is False:
        wrong = "The population has no graph to rank by."
        section.wrong(schema.NEW_RANKING, wrong, _NO_GRAPH)
    if kind is InterventionKind.PUBLISH and section.get(schema.FOR_TICKS):
        wrong = "What is published stays: `publish` has no `ticks`."
        section.wrong(schema.FOR_TICKS, wrong, "Remove it, and `remove` the claim later.")


def _check_posted(
    section: Section,
    one: PlannedIntervention,
    channels: Channels,
    planned: tuple[PlannedIntervention, ...],
    references: References,
) -> None:
    """Note a claim that is to be promoted or removed and is not on the channel by then."""
    board = getattr(channels, one.channel, None)
    if not isinstance(board, Feed | Forum) or one.kind is InterventionKind.PUBLISH:
        return
    # A misspelt claim among those posted may have been meant to be this one.
    if not all(_is_known(claim, references) for claims in board.posts.values() for claim in claims):
        return
    posted = [int(tick) for tick, claims in board.posts.items() if one.claim in claims]
    posted += [
        other.tick
        for other in planned
        if other.kind is InterventionKind.PUBLISH
        and (other.channel, other.claim) == (one.channel, one.claim)
    ]
    if not posted or (one.kind is InterventionKind.PROMOTE and min(posted) > one.tick):
        wrong = f"The claim {quoted(one.claim)} is not on `{one.channel}` at tick {one.tick}."
        section.wrong(schema.OF_CLAIM, wrong, "Post it there by then, or name another claim.")


def _is_known(claim: str, references: References) -> bool:
    return claim in (references.known.claims or ())


def read_involvement(section: Section, references: References) -> Involvement:
    """Read by which attribute people differ in how often they are active."""
    name, levels = section.get(schema.INVOLVED_BY), section.get(schema.LEVELS)
    attributes = references.known.attributes
    if attributes is not None and section.has(schema.INVOLVED_BY):
        spec = attributes.get(name)
        if spec is None:
            wrong = f"{quoted(name)} is not among the attributes of the ontology."
            section.wrong(schema.INVOLVED_BY, wrong, suggestion(name, attributes))
        elif not levels and (spec.scale or spec.text) and not section.present(schema.LEVELS):
            wrong = f"The attribute `{name}` is not a number, and there are no `levels`."
            section.wrong(schema.INVOLVED_BY, wrong, "Write `levels:` with a factor for each code.")
        elif spec.scale:
            for entry in levels:
                if entry.key not in spec.scale:
                    wrong = f"{quoted(entry.key)} is not a code of the scale of `{name}`."
                    section.found.add(entry.line, wrong, suggestion(entry.key, spec.scale))
    return _made(
        Involvement,
        {
            "attribute": name,
            "levels": {entry.key: entry.value for entry in levels},
            "otherwise": section.get(schema.OTHERWISE),
        },
    )


def read_rhythm(
    section: Section, tick_unit: str, calendar: Calendar | None, horizon: int
) -> tuple[float, ...]:
    """Read the factor of each tick, written out or by the name of a rhythm.

    Where ticks have dates, a day of a rhythm is that of its weekday.
    """
    value = section.get(schema.RHYTHM)
    if not isinstance(value, str):
        return tuple(spot.value for spot in value)
    unit, factors = schema.RHYTHMS[value]
    if tick_unit != unit:
        wrong = f"The rhythm `{value}` is one of ticks of {a(unit)}, and a tick is {a(tick_unit)}."
        section.wrong(schema.RHYTHM, wrong, f"Write `tick: {unit}`, or a list of factors.")
    if calendar is not None and tick_unit == unit == "day":
        return week_of(factors, calendar, horizon)
    return factors
