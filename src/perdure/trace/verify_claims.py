"""What a registry says of a run, held against what else is known of it. Pure.

Rows of the registry are under no chain of their own. Each is therefore compared with something that
is: the run as asked (whose hash begins the run log), the headers and ends of the partitions, and
the run log. Whoever hands a row out checks it first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import sha256

import msgspec

from perdure.base.canonical import hash_hex
from perdure.base.errors import DamagedRecordError
from perdure.records.events import Head
from perdure.records.persona import Ontology
from perdure.records.registry import (
    ENDED,
    LogPayload,
    RunClosed,
    RunEntry,
    WorldEntry,
    WorldFailed,
    WorldOutcome,
    WorldState,
)
from perdure.records.scenario import Header, Scenario, Variant
from perdure.trace.sittings import last_end

# Of a world whose record is gone.
MISSING = "Its record is missing, though events of it were acknowledged."

_SEED_BYTES = 8
_ID_DIGITS = 12


class Asked(msgspec.Struct, frozen=True):
    """The part of a study as asked that a record is held against; empty where it states none."""

    scenarios: tuple[Scenario, ...] = ()
    variants: tuple[Variant, ...] = ()
    seeds: tuple[int, ...] = ()
    ontology: Ontology | None = None


def asked(entry: RunEntry) -> Asked:
    """Read what a run was asked for.

    Raises:
        DamagedRecordError: the study as asked is not one.

    """
    try:
        return msgspec.json.decode(entry.study, type=Asked)
    except (msgspec.MsgspecError, UnicodeEncodeError) as error:
        raise DamagedRecordError(
            f"The study as asked cannot be read: {error}", where="run entry"
        ) from error


def worlds_of(entry: RunEntry) -> tuple[WorldEntry, ...]:
    """Derive the worlds of a run from the study as asked: each scenario with each seed.

    Raises:
        DamagedRecordError: the study as asked is not one.

    """
    study, population = asked(entry), entry.hashes.get("population", "")
    graph = f":{entry.hashes['graph']}" if "graph" in entry.hashes else ""
    return tuple(
        WorldEntry(
            world_id=_hex(f"{hash_hex(scenario)}:{seed}:{population}{graph}")[:_ID_DIGITS],
            scenario=scenario.id,
            variant=scenario.variant,
            replicate_seed=seed,
            world_seed=_hex(f"{seed}:{scenario.variant}")[: 2 * _SEED_BYTES],
            horizon=scenario.horizon,
        )
        for scenario in study.scenarios
        for seed in study.seeds
    )


def wrong_worlds(
    entry: RunEntry, worlds: Sequence[WorldEntry], partitions: Collection[str]
) -> str | None:
    """Say what is wrong with the list of a run's worlds; `partitions` names those with a record.

    A study that states no scenarios derives no worlds, so only the records speak then.

    Raises:
        DamagedRecordError: the study as asked is not one.

    """
    wanted = {world.world_id: world for world in worlds_of(entry)}
    found = {world.world_id: world for world in worlds}
    for name, world in wanted.items():
        if name not in found:
            return f"The run was asked for the world {name}, and its row is missing."
        if found[name] != world:
            return f"The row of world {name} is not what the run was asked for."
    if wanted and list(found) != list(wanted):
        return "Its worlds are not those that the run was asked for, or not in that order."
    strays = sorted(set(partitions) - set(found))
    if strays:
        return f"There is a record of the world {strays[0]}, and its row is missing."
    return None


def wrong_header(
    entry: RunEntry, world: WorldEntry, header: Header, scenarios: Collection[str]
) -> str | None:
    """Say what is wrong with the registry's row of a world, by the header of its record.

    `scenarios` are the hashes of those that the run was asked for, as `asked` gives them.
    """
    scenario = header.scenario
    said = WorldEntry(
        world_id=header.world_id,
        scenario=scenario.id,
        variant=scenario.variant,
        replicate_seed=header.replicate_seed,
        world_seed=header.world_seed,
        horizon=scenario.horizon,
    )
    if said != world or header.variant.id != world.variant:
        return "Its header is of another world than the registry asks for."
    if header.population_hash != entry.hashes.get("population"):
        return "Its header names another population than the registry."
    if header.graph_hash != entry.hashes.get("graph", ""):
        return "Its header names another graph than the registry."
    if scenarios and hash_hex(scenario) not in scenarios:
        return "Its header has another scenario than the run was asked for."
    return None


def wrong_outcome(
    world: WorldEntry, witness: Head | None, outcome: WorldOutcome | None
) -> str | None:
    """Say what is wrong with the note of how a world stands, by the witness beside it.

    Both are written together. A world that could not be taken up again has a cause, and may be
    noted as a tick further than its witness, or as not begun.
    """
    seen = -1 if witness is None else witness.tick
    if outcome is None:
        return "Its outcome is missing, though ticks of it are closed." if seen >= 0 else None
    state, tick = outcome.state, outcome.tick
    wrong = None
    if outcome.world_id != world.world_id:
        wrong = "Its outcome is that of another world."
    elif state is WorldState.COMPLETED and tick != world.horizon - 1:
        wrong = f"The registry says that it is completed, and that its last tick is {tick}."
    elif tick > seen + (state is not WorldState.COMPLETED):
        wrong = f"The registry says that tick {tick} is closed, and its witness ends at {seen}."
    elif state is WorldState.NOT_STARTED and tick >= 0:
        wrong = f"The registry says that it has not started, and that tick {tick} is closed."
    elif tick < seen and not outcome.cause:
        wrong = f"The registry says that tick {tick} is its last, and its witness ends at {seen}."
    elif outcome.digest and (witness is None or outcome.digest != witness.digest):
        wrong = "The registry has another digest than the witness."
    return wrong


def wrong_end(outcomes: Sequence[WorldOutcome | None], log: Sequence[LogPayload]) -> str | None:
    """Say what is missing at the end of a run log, by how the worlds stand.

    That a world is completed or failed is noted only after the log says that the run ended.
    """
    ends = [place for place, row in enumerate(log) if isinstance(row, ENDED)]
    last = ends[-1] if ends else -1
    known = [outcome for outcome in outcomes if outcome is not None]
    completed = [one for one in known if one.state is WorldState.COMPLETED]
    if completed and (not ends or (len(completed) == len(outcomes) and last_end(log) is None)):
        return "Worlds are completed, and the run log does not say that the run ended."
    for outcome in known:
        if outcome.state is not WorldState.FAILED:
            continue
        failures = [
            place
            for place, row in enumerate(log)
            if isinstance(row, WorldFailed) and row.world_id == outcome.world_id
        ]
        if not failures or failures[0] > last:
            return f"The world {outcome.world_id} failed, and the run log does not say so."
    return None


def wrong_witness(head: Head, witness: Head | None, log: Sequence[LogPayload]) -> str | None:
    """Say that a witness is missing or has been set back, by where the record ends.

    A tick is witnessed before the next one opens. In a run that was closed every event is
    witnessed; in one that was paused the last tick may not be, because storage failed just then.
    """
    ended = last_end(log)
    if ended is None:
        return None
    seen, seq = (-1, -1) if witness is None else (witness.tick, witness.seq)
    is_seen = head.seq <= seq if isinstance(ended, RunClosed) else head.tick <= seen + 1
    if is_seen:
        return None
    noted = "nothing witnesses it" if witness is None else f"its witness ends at {seen} ({seq})"
    return (
        f"Its record ends at tick {head.tick} (event {head.seq}), and {noted}, though the run has"
        " ended."
    )


def _hex(text: str) -> str:
    return sha256(text.encode()).hexdigest()
