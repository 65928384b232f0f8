"""The typed columns of an export, and the rows of the tables that are of people.

`docs/export.md` is this list for people; a test holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from perdure.base.canonical import encode
from perdure.base.codes import code_of
from perdure.records.graph import Node
from perdure.records.journal import OpenTick
from perdure.records.people import People
from perdure.records.persona import AttributeSpec
from perdure.records.scenario import Scenario
from perdure.trace.parquet_table import Column, Columns, Row
from perdure.trace.stored import Unchecked

_STORED = ("entry", "witness", "outcome", "header")
_HEAD = ("seq", "chain", "content", "digest", "tick", "log_seq", "log_chain")

_CALLS = (
    Column("attempts", "count", "attempts at {what}, each with a cost of its own"),
    Column(
        "cost_nano",
        "count",
        "sum over these attempts, in billionths of `currency`; NULL if any of them is unknown",
    ),
    Column("unknown_costs", "count", "how many of these attempts have an unknown amount"),
    Column(
        "tokens_input_fresh",
        "count",
        "input tokens read afresh; NULL where no attempt reported usage, as in the next three",
    ),
    Column("tokens_cache_write", "count", "input tokens written to the provider's cache"),
    Column("tokens_cache_read", "count", "input tokens read from the provider's cache"),
    Column("tokens_output", "count", "output tokens"),
)


def _calls(prefix: str, what: str) -> Columns:
    return tuple(
        Column(f"{prefix}{name}", kind, meaning.format(what=what)) for name, kind, meaning in _CALLS
    )


TURNS: Columns = (
    Column("run", "text", "id of the run"),
    Column("world", "text", "id of the world: one scenario with one seed"),
    Column("scenario", "name", "id of the world's scenario"),
    Column("variant", "name", "id of the scenario's variant"),
    Column("seed", "count", "replicate seed of the world"),
    Column("tick", "count", "tick of the turn, from 0; `perdure report` names waves by it"),
    Column(
        "wave",
        "count",
        "place of the survey wave among the scenario's waves: 0 is the first one, whatever its"
        " tick; NULL where the turn is not part of a wave",
    ),
    Column("job", "count", "place of the turn in its tick, from 0"),
    Column("persona", "text", "id of the persona"),
    Column("question", "name", "id of the question that was asked"),
    Column("channel", "name", "channel on which it was shown"),
    Column("claims", "names", "ids of the claims that were shown, in their order"),
    Column("answer", "text", "the answer in the model's own words; NULL if there is none"),
    Column(
        "words",
        "text",
        "the persona's own words in an answer that has a form; NULL where nothing could be done,"
        " as in the next four",
    ),
    Column("action", "name", "the action that it chose, as it named it; NULL if it chose none"),
    Column("about", "text", "id of the message that this is about; NULL if it is about none"),
    Column("rejected", "name", "why the action has no effect; NULL if it has one"),
    Column("change", "name", "how far it says that the message changed what it believes"),
    Column("choice", "name", "id of the choice that it was scored as; NULL if there is none"),
    Column(
        "choices",
        "names",
        "ids of the choices that it gives, where several are asked for, or all in order; an empty"
        " list for none of them, NULL where it was not scored as such",
    ),
    Column("number", "number", "the number that it gives, where one is asked for"),
    Column(
        "masses",
        "numbers",
        "the probability of each choice, as the question lists them, where an answer is scored by"
        " its likeness to anchors",
    ),
    Column("unscorable", "name", "why an answer has no score, where one was due"),
    Column("order", "names", "ids of the choices as they were listed, where that was drawn"),
    Column("failure", "name", "why the turn was not taken; NULL if it was"),
    Column("call_failure", "name", "how its model call failed, if that was the cause"),
    Column("currency", "name", "currency of the run"),
    *_calls("", "every call of the turn but its reflection's"),
    *_calls("reflection_", "the call of the reflection that followed; 0 where none did"),
)

DATE = Column("date", "text", "date on which the tick begins; with a calendar only")
_TICK = next(place for place, column in enumerate(TURNS) if column.name == "tick")


def turn_columns(scenario: Scenario) -> Columns:
    """Give the columns of a world's turns: with a calendar, the date stands beside the tick."""
    if scenario.calendar is None:
        return TURNS
    return (*TURNS[: _TICK + 1], DATE, *TURNS[_TICK + 1 :])


TOOLS: Columns = (
    Column("run", "text", "id of the run"),
    Column("world", "text", "id of the world: one scenario with one seed"),
    Column("scenario", "name", "id of the world's scenario"),
    Column("variant", "name", "id of the scenario's variant"),
    Column("seed", "count", "replicate seed of the world"),
    Column("tick", "count", "tick of the turn, from 0"),
    Column("job", "count", "place of the turn in its tick, from 0, as in `turns`"),
    Column("persona", "text", "id of the persona"),
    Column("place", "count", "place of the call among those of its turn, from 0"),
    Column("reply", "count", "which reply of the model asked for it, from 0"),
    Column("tool", "name", "name of the tool, as the model gave it"),
    Column(
        "effect",
        "name",
        "what the tool is declared to do: `read`, `write` or `egress`; NULL if there is no such"
        " tool",
    ),
    Column("arguments", "text", "the arguments, as the model wrote them"),
    Column("status", "name", "`ok`, `error`, `refused` or `unknown`"),
    Column("answer", "text", "what the model was told that it came to"),
    Column("dropped", "count", "how many bytes of the answer were cut away"),
    Column("took_effect", "truth", "whether the world was given it, as something that was done"),
)

EVENTS: Columns = (
    Column("run", "text", "id of the run"),
    Column("world", "text", "id of the world"),
    Column("seq", "count", "number of the event in its world, from 0"),
    Column("tick", "count", "tick that it is part of"),
    Column("kind", "name", "kind of the event"),
    Column("persona", "text", "id of the persona that it concerns; NULL where none is"),
    Column("content", "count", "its number among content events; NULL for the others"),
    Column("payload", "text", "canonical JSON as stored; its fields are in `format.md`"),
    Column("hash", "bytes", "hash of the chain up to this event"),
)

BLOBS: Columns = (
    Column(
        "sha256", "bytes", "hash of the bytes, by which events cite them; rows are in its order"
    ),
    Column("bytes", "bytes", "text of a prompt, or a vector, as `format.md` says"),
)

RUN: Columns = (
    Column("run", "text", "id of the run"),
    Column("entry", "text", "the run as asked: canonical JSON as stored"),
)

LOG: Columns = (
    Column("seq", "count", "number of the row in the run log, from 0"),
    Column("kind", "name", "kind of the row"),
    Column("payload", "text", "canonical JSON as stored; its fields are in `format.md`"),
    Column("hash", "bytes", "hash of the run log's chain up to this row"),
)

WORLDS: Columns = (
    Column("position", "count", "place of the world among those of the run, from 0"),
    Column("world", "text", "id of the world"),
    Column("entry", "text", "the world as asked: canonical JSON as stored, as in the next three"),
    Column(
        "witness", "text", "where its record ended when it was last noted; NULL if it never was"
    ),
    Column("outcome", "text", "how it stood when it was last noted; NULL if it never was"),
    Column("header", "text", "the header of its record; NULL without one, as in the next seven"),
    Column("seq", "count", "number of its last event; -1 if it has none"),
    Column("chain", "bytes", "hash of the chain up to there"),
    Column("content", "count", "how many content events there are"),
    Column("digest", "bytes", "digest of the content of its closed ticks"),
    Column("tick", "count", "its last closed tick; -1 if there is none"),
    Column("log_seq", "count", "number of the last row of the run log when it was last written"),
    Column("log_chain", "bytes", "hash of the run log's chain up to that row"),
)

PEOPLE: Columns = (
    Column("position", "count", "place of the persona in the population, from 0"),
    Column("persona", "text", "id of the persona"),
    Column("payload", "text", "canonical JSON of the persona, as stored"),
    Column(
        "node", "text", "canonical JSON of its node in the graph, as stored; NULL without a graph"
    ),
)

OPEN: Columns = (
    Column("position", "count", "place of the open tick in the call journal, from 0"),
    Column("payload", "text", "canonical JSON of how it was opened and of its calls"),
)

PERSONA = Column("persona", "text", "id of the persona: that of the source row")
AUDIENCE = Column("audience", "name", "id of the audience that the persona was drawn for")
COMMUNITY = Column(
    "community",
    "count",
    "number of the persona's community, 0 for the largest; NULL without a partition that qualifies",
)
_OWN_COLUMNS = frozenset(column.name for column in (PERSONA, AUDIENCE, COMMUNITY))

HELD_OUT: Columns = (
    PERSONA,
    Column("outcome", "name", "name of the held-out outcome"),
    Column("value", "name", "id of the choice that this person really made"),
)


TIES: Columns = (
    PERSONA,
    Column("other", "text", "id of the persona at the other end; every tie is there once"),
    Column("strength", "number", "strength of the tie, above 0 and up to 1"),
)


def persona_columns(people: People, specs: Mapping[str, AttributeSpec] | None = None) -> Columns:
    """Give the columns of a population: each attribute is of the narrowest type that holds it.

    Audience and community are there where the population has such. An attribute with a scale has
    the words of its codes in a column beside it, unless another attribute has that name.
    """
    kinds: dict[str, set[type]] = {}
    for persona in people.personas:
        for name, value in persona.attributes.items():
            kinds.setdefault(name, set()).add(type(value))
    columns = [PERSONA]
    if any(persona.audience for persona in people.personas):
        columns.append(AUDIENCE)
    if people.graph:
        columns.append(COMMUNITY)
    for name in sorted(kinds):
        spec = (specs or {}).get(name)
        meaning = spec.label if spec else name
        if spec and spec.unit:
            meaning = f"{meaning}, in {spec.unit}"
        columns.append(Column(attribute_column(name), _type_of(kinds[name]), meaning))
        if spec and spec.scale and f"{name}_label" not in kinds:
            words = f"{spec.label}: the words of the code in `{attribute_column(name)}`"
            columns.append(Column(f"{attribute_column(name)}_label", "name", words))
    return tuple(columns)


def persona_rows(
    people: People,
    columns: Columns,
    specs: Mapping[str, AttributeSpec] | None = None,
) -> Iterator[Row]:
    """Give one row per persona, in the order of the population."""
    kinds = {column.name: column.kind for column in columns}
    taken = {name for persona in people.personas for name in persona.attributes}
    labelled = {
        name: spec
        for name, spec in (specs or {}).items()
        if spec.scale and f"{name}_label" not in taken
    }
    nodes = people.graph or (Node(),) * len(people.personas)
    for persona, node in zip(people.personas, nodes, strict=True):
        row: Row = {"persona": persona.id, "community": node.community}
        row["audience"] = persona.audience or None
        for name, value in persona.attributes.items():
            column = attribute_column(name)
            row[column] = str(value) if kinds[column] == "text" else value
            if name in labelled:
                row[f"{column}_label"] = labelled[name].scale.get(code_of(value))
        yield {name: row.get(name) for name in kinds}


def tie_rows(people: People) -> Iterator[Row]:
    """Give one row per tie, in the order of the personas."""
    for persona, node in zip(people.personas, people.graph, strict=True):
        for other, strength in node.ties.items():
            yield {"persona": persona.id, "other": other, "strength": strength}


def held_out_rows(values: Mapping[str, str], outcome: str) -> Iterator[Row]:
    """Give one row per known real value, in the order of the personas' ids."""
    for persona, value in sorted(values.items()):
        yield {"persona": persona, "outcome": outcome, "value": value}


def people_rows(people: People) -> Iterator[Row]:
    """Give one row per persona with all that is known of it, in the order of the population."""
    nodes = people.graph or (None,) * len(people.personas)
    for place, (persona, node) in enumerate(zip(people.personas, nodes, strict=True)):
        yield {
            "position": place,
            "persona": persona.id,
            "payload": encode(persona).decode(),
            "node": None if node is None else encode(node).decode(),
        }


def log_rows(log: Iterable[Unchecked]) -> Iterator[Row]:
    """Give the rows of the run log, which have been checked, as they are stored."""
    for seq, kind, payload, chain in log:
        yield {"seq": seq, "kind": kind, "payload": payload.decode(), "hash": chain}


def world_rows(
    worlds: Iterable[Unchecked], begun: Callable[[str], tuple[bytes, Unchecked] | None]
) -> Iterator[Row]:
    """Give the rows of the worlds, which have been checked, as they are stored.

    `begun` gives the header and the head of a world's record, if it has one.
    """
    for position, world_id, *stored in worlds:
        header, head = begun(world_id) or (None, (None,) * len(_HEAD))
        texts = (*stored, header)
        yield {
            "position": position,
            "world": world_id,
            **{
                name: None if text is None else text.decode()
                for name, text in zip(_STORED, texts, strict=True)
            },
            # Behind them is the number of the last event, which the events say themselves.
            **dict(zip(_HEAD, head, strict=False)),
        }


def open_rows(ticks: Iterable[OpenTick]) -> Iterator[Row]:
    """Give one row per open tick of the call journal."""
    for place, tick in enumerate(ticks):
        yield {"position": place, "payload": encode(tick).decode()}


def attribute_column(name: str) -> str:
    """Give the column of an attribute: its own name, unless a column of ours has that."""
    return f"attribute_{name}" if name in _OWN_COLUMNS else name


def _type_of(kinds: set[Any]) -> str:
    if kinds == {int}:
        return "count"
    return "number" if kinds <= {int, float} else "text"
