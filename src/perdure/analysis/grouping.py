"""The groups of a population by one attribute of the study's ontology."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.analysis.prediction import Group
from perdure.base.codes import code_of
from perdure.base.errors import UsageError
from perdure.records.persona import AttributeSpec, Ontology, Persona

NOT_KNOWN = "not known"


def grouping_attribute(ontology: Ontology, name: str = "") -> AttributeSpec | None:
    """Choose the attribute to group by: the named one, else the first with a scale, if any.

    Raises:
        UsageError: the study has no attribute of that name, or it has no scale to group by.

    """
    scaled = [spec for spec in ontology.attributes if spec.scale]
    if not name:
        return scaled[0] if scaled else None
    for spec in scaled:
        if spec.name == name:
            return spec
    names = ", ".join(spec.name for spec in scaled) or "none"
    known = any(spec.name == name for spec in ontology.attributes)
    wrong = "has no scale to group by." if known else "is not an attribute of this study."
    raise UsageError(f"{name} {wrong}", where="--by", remedy=f"Attributes with a scale: {names}.")


def groups_of(personas: Sequence[Persona], spec: AttributeSpec | None) -> tuple[Group, ...]:
    """Group personas by an attribute, in the order of its scale; unknown values come last."""
    if spec is None:
        return ()
    members: dict[str, set[str]] = {code: set() for code in spec.codes}
    for persona in personas:
        value = persona.attributes.get(spec.name)
        members.setdefault(NOT_KNOWN if value is None else code_of(value), set()).add(persona.id)
    return tuple(
        Group(code=code, label=spec.scale.get(code, code), personas=frozenset(ids))
        for code, ids in members.items()
        if ids
    )
