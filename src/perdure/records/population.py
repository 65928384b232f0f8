"""Who is in a study, and, strictly apart from it, what is held out about them."""

from __future__ import annotations

from perdure.records.persona import Persona
from perdure.records.record import Record


class PopulationManifest(Record):
    """What became of the rows of the source: read, drawn, and left out by cause.

    `file_sha256` is of the file's bytes, for people: it enters no hash of ours.
    """

    file: str
    file_sha256: str
    rows_read: int
    rows_drawn: int
    left_out: dict[str, int] = {}


class Population(Record):
    """The personas of a study in the order of the source. The hash is over the personas alone."""

    personas: tuple[Persona, ...]
    population_hash: str
    manifest: PopulationManifest

    @property
    def persona_ids(self) -> tuple[str, ...]:
        """The ids of the personas, in order."""
        return tuple(persona.id for persona in self.personas)


class HeldOut(Record):
    """The held-out outcome by row id, as the id of a choice. For the registry, and nobody else.

    A drawn row whose outcome is missing has no entry and is counted in `missing`.
    """

    values: dict[str, str]
    held_out_hash: str
    missing: int = 0
