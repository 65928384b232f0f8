"""Verifying a registry: the population and the held-out values against their hashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self, TypeVar

from perdure.base.errors import PerdureError
from perdure.records.record import Record
from perdure.trace.reader import RunReader
from perdure.trace.registry_rows import held_out_hash, population_hash

T = TypeVar("T")


class Finding(Record):
    """One thing that is wrong: where (`<world>:<seq>`, `run log <seq>`, `registry`), and what."""

    where: str
    wrong: str

    @classmethod
    def of(cls, error: PerdureError, place: str) -> Self:
        """Make a finding of an error; `place` serves where the error names none."""
        return cls(where=error.where or place, wrong=error.wrong)


def read_or_find(read: Callable[[], T], findings: list[Finding], place: str) -> T | None:
    """Read something of a record; what is wrong with it goes to the findings."""
    try:
        return read()
    except PerdureError as error:
        findings.append(Finding.of(error, place))
        return None


def check_registry(reader: RunReader) -> Iterator[Finding]:
    """Check what the registry holds beside the worlds and the run log."""
    found: list[Finding] = []
    hashes = reader.entry.hashes
    personas = read_or_find(lambda: reader.personas, found, "registry")
    held_out = read_or_find(lambda: reader.held_out, found, "registry")
    yield from found
    if personas is not None and population_hash(personas) != hashes.get("population"):
        yield Finding(where="registry", wrong="The population does not match its hash.")
    expected = hashes.get("held_out", held_out_hash({}))
    if held_out is not None and held_out_hash(held_out) != expected:
        yield Finding(where="registry", wrong="The held-out values do not match their hash.")
