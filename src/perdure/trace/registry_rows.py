"""Reading what a registry holds: the run, its worlds, its personas, its held-out values."""

from __future__ import annotations

from perdure.base.canonical import encode, hash_each, sha256
from perdure.base.errors import DamagedRecordError
from perdure.records.events import Head
from perdure.records.graph import Node
from perdure.records.persona import Persona
from perdure.records.record import Record
from perdure.records.registry import LOG_KIND_OF, RunEntry, RunOpened, WorldEntry, WorldOutcome
from perdure.trace.chain import log_start, log_step
from perdure.trace.decoding import decode
from perdure.trace.stored import RegistryRows

_OPENED = (LOG_KIND_OF[RunOpened], encode(RunOpened(epoch=1)))


class StoredWorld(Record):
    """A world as the registry knows it: as asked, where its record ends, how it stands."""

    entry: WorldEntry
    witness: Head | None = None
    outcome: WorldOutcome | None = None


def read_entry(rows: RegistryRows) -> tuple[bytes, RunEntry]:
    """Read the run as asked: its bytes, and what they say, checked against the run log.

    The first row of the log is written with the run and is always the same, so one that does not
    match its hash means that the run as asked is another. A first row that is itself another one
    is left for whoever walks the log.

    Raises:
        DamagedRecordError: it does not hold what was written.

    """
    where = f"{rows.path}: run entry"
    payload = rows.entry()
    entry = decode(payload, RunEntry, where)
    first = rows.first_log()
    if first is None:
        raise DamagedRecordError(
            "The first row of the run log is missing.", where=f"{rows.path}: run log 0"
        )
    kind, opened, stored = first
    if (kind, opened) == _OPENED:
        chain = log_step(log_start(payload), seq=0, kind=kind.encode(), payload=opened)
        if chain != stored:
            raise DamagedRecordError(
                "The run as asked does not match the run log, whose chain starts from its hash.",
                where=where,
            )
    return payload, entry


def read_worlds(rows: RegistryRows) -> tuple[StoredWorld, ...]:
    """Read the worlds in their order.

    Raises:
        DamagedRecordError: a row does not hold what was written.

    """
    worlds = []
    for place, row in enumerate(rows.worlds()):
        position, world_id, entry, witness, outcome = row
        if position != place:
            raise DamagedRecordError(
                f"The row at position {place} is missing.", where=f"{rows.path}: worlds"
            )
        worlds.append(_world(rows, world_id, entry, witness, outcome))
    return tuple(worlds)


def read_world(rows: RegistryRows, world_id: str) -> StoredWorld:
    """Read one world.

    Raises:
        DamagedRecordError: there is none of this id, or its row does not hold what was written.

    """
    found = rows.world(world_id)
    if len(found) != 1:
        raise DamagedRecordError(
            "The run has no such world.", where=f"{rows.path}: world {world_id}"
        )
    return _world(rows, *found[0])


def _world(
    rows: RegistryRows, world_id: str, entry: object, witness: object, outcome: object
) -> StoredWorld:
    where = f"{rows.path}: world {world_id}"
    world = StoredWorld(
        entry=decode(entry, WorldEntry, where),
        witness=None if witness is None else decode(witness, Head, where),
        outcome=None if outcome is None else decode(outcome, WorldOutcome, where),
    )
    if world.entry.world_id != world_id:
        raise DamagedRecordError("The row is that of another world.", where=where)
    return world


def read_personas(rows: RegistryRows) -> tuple[Persona, ...]:
    """Read the population in its order.

    Raises:
        DamagedRecordError: a row does not hold what was written.

    """
    personas = []
    for place, (position, name, payload) in enumerate(rows.personas()):
        where = f"{rows.path}: persona {place}"
        persona = decode(payload, Persona, where)
        if position != place or persona.id != name or encode(persona) != payload:
            raise DamagedRecordError("The row is that of another persona.", where=where)
        personas.append(persona)
    return tuple(personas)


def read_graph(rows: RegistryRows) -> tuple[Node, ...]:
    """Read the graph, a node for each persona in their order.

    Raises:
        DamagedRecordError: there is none, or a row does not hold what was written.

    """
    stored = rows.graph()
    if stored is None:
        raise DamagedRecordError("The graph is missing.", where=str(rows.path))
    nodes = []
    for place, (position, payload) in enumerate(stored):
        where = f"{rows.path}: node {place}"
        node = decode(payload, Node, where)
        if position != place or encode(node) != payload:
            raise DamagedRecordError("The row is that of another node.", where=where)
        nodes.append(node)
    return tuple(nodes)


def read_held_out(rows: RegistryRows) -> dict[str, str] | None:
    """Read the held-out values by source row; None if they were left out of this copy.

    Raises:
        DamagedRecordError: a row does not hold what was written.

    """
    stored = rows.held_out()
    if stored is None:
        return None
    values: dict[str, str] = dict(stored)
    if not all(isinstance(part, str) for pair in values.items() for part in pair):
        raise DamagedRecordError("A held-out value is not text.", where=str(rows.path))
    return values


def population_hash(personas: tuple[Persona, ...]) -> str:
    """Hash a population: the canonical JSON of the list of its personas, one at a time."""
    return hash_each(personas)


def graph_hash(nodes: tuple[Node, ...]) -> str:
    """Hash a graph: the canonical JSON of the list of its nodes, one at a time."""
    return hash_each(nodes)


def held_out_hash(values: dict[str, str]) -> str:
    """Hash held-out values: the canonical JSON of the object from source row to value."""
    return sha256(encode(values)).hex()
