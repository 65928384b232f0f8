"""What a prompt says, as data: for models that do not read words."""

from __future__ import annotations

from perdure.records.persona import AttributeValue
from perdure.records.reaction import Action
from perdure.records.record import Record
from perdure.records.scenario import Question


class MessageFacts(Record):
    """One message that is shown on a channel where something can be done.

    `stance` is the choice that its author's turn was scored as, empty for a claim itself. `counts`
    says how often what was done with it, as far as that is seen. `tie` is how strong the persona's
    tie to its author or teller is, 0 for none.
    """

    claim: str = ""
    stance: str = ""
    counts: dict[str, int] = {}
    tie: float = 0.0


class PersonaFacts(Record):
    """The persona of a prompt, what it is shown and what it is asked.

    `agreed` counts, for each claim that is shown now, the people who agreed with it so far.
    `remembered` lists claims met before, oldest first. Where something can be done, `messages` are
    those shown, in order, and `actions` what can be done. `beliefs` is how far the persona believes
    each claim that it met, -3 to 3.
    """

    persona: str
    attributes: dict[str, AttributeValue]
    shown: tuple[str, ...] = ()
    agreed: dict[str, int] = {}
    remembered: tuple[str, ...] = ()
    question: Question | None = None
    messages: tuple[MessageFacts, ...] = ()
    actions: tuple[Action, ...] = ()
    beliefs: dict[str, int] = {}
