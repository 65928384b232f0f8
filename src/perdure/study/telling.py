"""What may be told of a persona, and in which words. Pure.

The held-out outcome has no way in: only attributes that the ontology declares are told, and the
outcome is never one of them.
"""

from __future__ import annotations

from perdure.base.codes import code_of
from perdure.records.persona import AttributeSpec, AttributeValue, Ontology


def known_attributes(ontology: Ontology) -> tuple[AttributeSpec, ...]:
    """List the attributes that may be told: what the ontology declares, without the outcome."""
    held_out = ontology.outcome.name if ontology.outcome is not None else None
    return tuple(spec for spec in ontology.attributes if spec.name != held_out)


def in_words(spec: AttributeSpec, value: AttributeValue) -> str:
    """Put a value into words: those of its scale, or the value itself with its unit."""
    code = code_of(value)
    words = spec.scale.get(code, code)
    return f"{words} {spec.unit}" if spec.unit and not spec.scale else words
