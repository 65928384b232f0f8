"""Whether the model that answered is the model that was asked: from values to values."""

from __future__ import annotations

import re

from perdure.records.scenario import ModelPin

# A release of the same model: a date or a number behind the name; never a word such as `mini`.
_RELEASE = re.compile(r"[-@]v?\d[\d.]*(?:-\d+)*")


def is_served_as_pinned(pin: ModelPin, served: str) -> bool:
    """Say whether a served name counts as the pinned model.

    If the pin lists names, one of them must match. Otherwise the name that was sent does, with a
    date or version behind it, and with or without a provider's prefix (`x/name`). A reply that
    names no model counts only if the pin lists the empty name.
    """
    if pin.accepts:
        return served in pin.accepts
    if not served:
        return False
    asked_by, _, asked = pin.model.rpartition("/")
    served_by, _, name = served.rpartition("/")
    if not _is_same_house(asked_by, served_by):
        return False
    return name == asked or (
        name.startswith(asked) and _RELEASE.fullmatch(name, len(asked)) is not None
    )


def _is_same_house(asked_by: str, served_by: str) -> bool:
    """Say whether two prefixes can be one: one is missing, or both end alike."""
    if not asked_by or not served_by:
        return True
    return f"/{served_by}".endswith(f"/{asked_by}") or f"/{asked_by}".endswith(f"/{served_by}")
