"""Ranking by interest: how alike a persona's profile and a message are to an embedding model.

What has no vector yet is asked for; if the call fails, it is asked for again at the next tick.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from perdure.records.persona import Ontology, Persona
from perdure.records.presentation import Need, NeedAnswer
from perdure.study.telling import in_words, known_attributes

if TYPE_CHECKING:
    from perdure.world.meanings import Meanings

PURPOSE = "interest"
ROLE = "embed"
TEXTS_MAX = 64


class Interest:
    """The profiles of the people and the vectors of all texts that are ranked by interest."""

    def __init__(self, ontology: Ontology, personas: Sequence[Persona]) -> None:
        self.profiles = {persona.id: profile(ontology, persona) for persona in personas}
        # What it stands on takes long to load, and only this ranking needs it.
        from perdure.world.meanings import Meanings  # noqa: PLC0415

        self.meanings: Meanings = Meanings()

    def needs(self, texts: Iterable[str]) -> tuple[Need, ...]:
        """Ask for the vectors that are lacking, those of profiles first. No texts, no needs."""
        asked = list(texts)
        if not asked:
            return ()
        wanted = dict.fromkeys((*self.profiles.values(), *asked))
        lacking = [text for text in wanted if text and not self.meanings.is_answered(text)]
        return tuple(
            Need(purpose=PURPOSE, role=ROLE, texts=tuple(lacking[start : start + TEXTS_MAX]))
            for start in range(0, len(lacking), TEXTS_MAX)
        )

    def learn(self, needs: Sequence[Need], answers: Sequence[NeedAnswer]) -> None:
        """Take in the answers to these needs, in their order; a failed one teaches nothing."""
        given = [answer for answer in answers if answer.purpose == PURPOSE]
        for need, answer in zip(needs, given, strict=False):
            for text, vector in zip(need.texts, answer.vectors, strict=False):
                self.meanings.learn(text, vector)


def profile(ontology: Ontology, persona: Persona) -> str:
    """Say in a line what is known of a persona, by the ontology; the outcome is never in it."""
    told = persona.attributes
    return " ".join(
        f"{spec.label}: {in_words(spec, told[spec.name])}."
        for spec in known_attributes(ontology)
        if spec.name in told
    )
