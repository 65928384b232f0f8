"""Who lives in a world: personas, what is known of them, what they carry from tick to tick."""

from __future__ import annotations

import math
from collections.abc import Iterable

from perdure.records.record import Record

AttributeValue = str | int | float


class AttributeSpec(Record):
    """One attribute of a study's ontology.

    `label` is how a person would name it. `scale` maps each code to its words; an empty scale means
    a plain number or text with an optional `unit`; `text` says which of the two. A persona without
    a `required` attribute is refused. A `determining` one may tell the held-out outcome: the
    study's author says so. `order` has the codes from low to high where that is another order than
    their own: a mapping is recorded in the order of its keys.
    """

    name: str
    label: str
    scale: dict[str, str] = {}
    unit: str = ""
    required: bool = False
    text: bool = False
    determining: bool = False
    order: tuple[str, ...] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the scale, from low to high."""
        return self.order or own_order(self.scale)


def own_order(codes: Iterable[str]) -> tuple[str, ...]:
    """Put codes in the order that they have by themselves: numbers by size, all else as text."""

    def size(code: str) -> tuple[float, str]:
        try:
            number = float(code)
        except ValueError:
            number = math.inf
        return (number if math.isfinite(number) else math.inf), code

    return tuple(sorted(codes, key=size))


class Choice(Record):
    """One answer of a closed question: its id, how it is named, and other names it goes by."""

    id: str
    label: str
    aliases: tuple[str, ...] = ()


class OutcomeSpec(Record):
    """The held-out outcome: what it is called, the question that asks for it, its choices' ids.

    The values themselves are kept in the registry by source row and are never given to a persona,
    a world, an agent or a model.
    """

    name: str
    question: str


class Ontology(Record):
    """A study's attributes and its held-out outcome, if it has one."""

    attributes: tuple[AttributeSpec, ...]
    outcome: OutcomeSpec | None = None


class Persona(Record):
    """One respondent: a stable id (that of the source row) and attributes by name.

    `audience` is the id of the audience that the persona was drawn for, if the study has any.
    """

    id: str
    attributes: dict[str, AttributeValue]
    audience: str = ""


class Memory(Record):
    """A private, dated note of one persona. `claim` names the claim that it is about, if any.

    `vector` is what the text means to the embedding model, as little-endian 32-bit floats; empty
    without one. `number` is the content number of the memory's own event, given by the runner. In
    that event there is neither: the vector is among the blobs.
    """

    tick: int
    text: str
    importance: float
    claim: str = ""
    source: str = "exposure"
    vector: bytes = b""
    number: int = -1


class PersonaState(Record):
    """What a persona carries from tick to tick, rebuilt from its events alone.

    `beliefs` is how far it believes each claim that it met, in steps from -3 to 3; 0 is unsure.
    """

    memories: tuple[Memory, ...] = ()
    turns_since_reflection: int = 0
    beliefs: dict[str, int] = {}
