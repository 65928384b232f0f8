"""The code by which a value is known on a scale, the same in every room that looks one up. Pure."""

from __future__ import annotations


def code_of(value: str | float) -> str:
    """Write a value as the code of its scale: a whole float as its integer, 3.0 as `3`."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
