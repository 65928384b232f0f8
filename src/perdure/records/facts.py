"""What a prompt says, as data: for models that do not read words."""

from __future__ import annotations

from perdure.records.persona import AttributeValue
from perdure.records.record import Record
from perdure.records.scenario import Question


class PersonaFacts(Record):
    """The persona of a prompt, what it is shown and what it is asked.

    `agreed` counts, for each claim that is shown now, the people who agreed with it so far.
    `remembered` lists claims met before, oldest first.
    """

    persona: str
    attributes: dict[str, AttributeValue]
    shown: tuple[str, ...] = ()
    agreed: dict[str, int] = {}
    remembered: tuple[str, ...] = ()
    question: Question | None = None
