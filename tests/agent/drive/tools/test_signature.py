"""A signature is a schema, and arguments are read by it strictly, every problem at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest

from perdure.agent.drive.tools.signature import ArgumentsError, Parameters
from perdure.records.record import Record


class Point(Record):
    """A place."""

    x: int
    y: int = 0


def paint(  # noqa: PLR0917 - as many as there are kinds of types
    path: Path,
    points: list[Point],
    colour: Annotated[Literal["red", "blue"], msgspec.Meta(description="Which.")] = "red",
    depth: Annotated[int, msgspec.Meta(ge=1, le=9)] = 3,
    tags: dict[str, int] | None = None,
    under: Path | None = None,
) -> None:
    """Paint points."""


PAINT = Parameters(paint)


def test_a_signature_is_a_schema() -> None:
    """Types, bounds, descriptions, defaults and records are all there, and no more."""
    schema = PAINT.schema
    assert schema["type"] == "object"
    assert schema["required"] == ["path", "points"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert properties["path"] == {"type": "string"}
    assert properties["colour"] == {
        "description": "Which.",
        "enum": ["blue", "red"],
        "default": "red",
    }
    assert properties["depth"] == {"type": "integer", "minimum": 1, "maximum": 9, "default": 3}
    assert properties["points"]["items"] == {"$ref": "#/$defs/Point"}
    assert schema["$defs"]["Point"]["required"] == ["x"]
    assert PAINT.paths == ("path", "under")
    msgspec.json.encode(schema)


def test_good_arguments_are_read() -> None:
    """Defaults stand in for what is not given."""
    read = PAINT.read('{"path": "a.md", "points": [{"x": 1}]}')
    assert read == {
        "path": "a.md",
        "points": [Point(x=1)],
        "colour": "red",
        "depth": 3,
        "tags": None,
        "under": None,
    }
    assert Parameters(lambda: None).read("") == {}


def test_every_problem_is_told_at_once_and_where_it_is() -> None:
    """A missing name, an unknown one, a wrong type, a bound, and parts of parts."""
    text = (
        '{"points": [{"x": 1}, {"x": "1", "z": 0}, {"y": 2}], "colour": "green", "depth": 10,'
        ' "tags": {"a": "b"}, "dept": 1}'
    )
    with pytest.raises(ArgumentsError) as caught:
        PAINT.read(text)
    told = {problem.partition(": ")[0]: problem for problem in caught.value.problems}
    assert list(told) == [
        "path",
        "points[1].x",
        "points[1].z",
        "points[2].x",
        "colour",
        "depth",
        "tags.a",
        "dept",
    ]
    assert "missing" in told["path"]
    assert "Expected `int`, got `str`" in told["points[1].x"]
    assert "There are: x, y." in told["points[1].z"]
    assert "Expected `int`, got `str`" in told["tags.a"]
    assert "There are: path, points" in told["dept"]


@pytest.mark.parametrize(
    "text", ["[1]", "{", '{"a": NaN}', "nul", '{"a": 1}x', "[" * 5000, '"\\ud800"']
)
def test_what_is_no_json_object_is_said_to_be_none(text: str) -> None:
    """A text that cannot be read is one problem."""
    with pytest.raises(ArgumentsError, match="arguments"):
        PAINT.read(text)


def test_numbers_are_not_made_of_texts() -> None:
    """Nothing is converted on the quiet."""
    for wrong in ('"3"', "3.5", "true", "null"):
        with pytest.raises(ArgumentsError, match="depth"):
            PAINT.read(f'{{"path": "a", "points": [], "depth": {wrong}}}')


def test_very_many_problems_are_counted_not_told() -> None:
    """An answer to a model has a bound."""
    text = msgspec.json.encode({"path": "a", "points": [0] * 500}).decode()
    with pytest.raises(ArgumentsError) as caught:
        PAINT.read(text)
    assert caught.value.problems[-1] == "And 480 more."


def untyped(a) -> None:
    """Has no type."""


def any_number(*a: int) -> None:
    """Take any number."""


def by_place(a: int, /) -> None:
    """Take it by its place."""


def no_schema(a: complex) -> None:
    """Has no form in JSON."""


@pytest.mark.parametrize("function", [untyped, any_number, by_place, no_schema])
def test_a_signature_that_is_no_tools_is_refused_at_once(function) -> None:
    """Not when a model calls it, hours later."""
    with pytest.raises(TypeError):
        Parameters(function)
