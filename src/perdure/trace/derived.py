"""The tables of an export that only say in columns what the record of the run says already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from perdure.records.people import People
from perdure.records.persona import AttributeSpec
from perdure.trace.export_tables import TIES, persona_columns, persona_rows, tie_rows
from perdure.trace.manifest import PERSONAS_NAME, TIES_NAME
from perdure.trace.parquet_table import Columns, Row
from perdure.trace.reader import RunReader
from perdure.trace.verify_claims import asked


@dataclass(frozen=True)
class Derived:
    """What those of the population are made of; `outcome` is the name of what is held out."""

    people: People
    specs: dict[str, AttributeSpec]
    outcome: str

    @classmethod
    def of(cls, reader: RunReader) -> Derived:
        """Read what they are made of.

        Raises:
            DamagedRecordError: the record does not hold what was written.

        """
        ontology = asked(reader.entry).ontology
        specs = {spec.name: spec for spec in ontology.attributes} if ontology else {}
        people = People(personas=tuple(reader.personas), graph=tuple(reader.graph))
        outcome = ontology.outcome.name if ontology and ontology.outcome else ""
        return cls(people, specs, outcome)

    def tables(self) -> Iterator[tuple[str, Columns, Iterator[Row]]]:
        """Give those of the population: name, columns, rows."""
        columns = persona_columns(self.people, self.specs)
        yield PERSONAS_NAME, columns, persona_rows(self.people, columns, self.specs)
        if self.people.graph:
            yield TIES_NAME, TIES, tie_rows(self.people)
