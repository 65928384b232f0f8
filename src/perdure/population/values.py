"""Turns the text of a field into an attribute's value, as the ontology says. Pure."""

from __future__ import annotations

import re

from perdure.records.persona import AttributeSpec, AttributeValue

_NUMBER = re.compile(
    r"[+-]?([0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})([eE][+-]?[0-9]{1,3})?", re.ASCII
)
_WHOLE_AS_DECIMAL = re.compile(r"(-?[0-9]+)\.0+", re.ASCII)
_CODE = re.compile(r"0|-?[1-9][0-9]{0,14}", re.ASCII)
_LARGEST = 1e15


class RefusedValueError(ValueError):
    """A field is not a value of its attribute; the text says what is due."""


def value_of(spec: AttributeSpec, field: str, decimal: str = ".") -> AttributeValue:
    """Read one field. `decimal` is what stands before the decimals of a number.

    A code of a scale stays what it is, as a number if it is written as one; `3.0`, which many
    programs make of `3`, is the code `3`. A plain number is an int where it is whole.

    Raises:
        RefusedValueError: it is not a code of the scale, or not a number.

    """
    if spec.scale:
        return _code(spec, field)
    return field if spec.text else _number(field, decimal)


def plain_code(field: str) -> str:
    """Write a whole number without the decimals that some programs add."""
    match = _WHOLE_AS_DECIMAL.fullmatch(field)
    return match.group(1) if match else field


def _code(spec: AttributeSpec, field: str) -> AttributeValue:
    code = field if field in spec.scale else plain_code(field)
    if code not in spec.scale:
        raise RefusedValueError("not a code of its scale")
    return int(code) if _CODE.fullmatch(code) else code


def _number(field: str, decimal: str) -> AttributeValue:
    if decimal != ".":
        field = field.replace(".", " ").replace(decimal, ".")
    if not _NUMBER.fullmatch(field):
        raise RefusedValueError("not a number")
    number = float(field)
    if not abs(number) <= _LARGEST:
        raise RefusedValueError("too large a number")
    return int(number) if number.is_integer() else number
