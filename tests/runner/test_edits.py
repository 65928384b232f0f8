"""Every place at which two inputs differ is said, with what was there and what is there now."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.records.persona import AttributeSpec, Ontology
from perdure.records.scenario import Brief, Claim
from perdure.runner.edits import differences

LONG = "word " * 100


@pytest.mark.parametrize(
    ("then", "now", "says"),
    [
        (1, 1, []),
        (1, 2, ["it was 1 and is 2"]),
        (1, 1.0, ["it was 1 and is 1.0"]),
        ("a", "b", ["it was 'a' and is 'b'"]),
        ("a b", "a  b", ["it was 'a b' and is 'a  b'"]),
        (True, False, ["it was True and is False"]),
        ({"a": 1, "b": 2}, {"a": 3, "c": 4}, ["a was 1 and is 3", "b is gone", "c is new"]),
        ([1, 2], [1, 2, 3], ["it was 1, 2 and is 1, 2, 3"]),
        ([], ["x"], ["it was none and is x"]),
        ({"seeds": [1]}, {"seeds": [2]}, ["seeds was 1 and is 2"]),
        (
            [{"id": "a", "n": 1}, {"id": "b", "n": 2}],
            [{"id": "c", "n": 9}, {"id": "a", "n": 5}],
            ["[a].n was 1 and is 5", "[b] is gone", "[c] is new"],
        ),
        (
            {"all": [{"id": "a"}, {"id": "b"}]},
            {"all": [{"id": "b"}, {"id": "a"}]},
            ["the order of all was a, b and is b, a"],
        ),
        # items that cannot be told apart by a name are compared by place
        ([{"id": "a"}, {"id": "a"}], [{"id": "a"}], ["it had 2 parts and has 1"]),
        ([{"id": "a"}], [{"name": "a"}], ["[0].id is gone", "[0].name is new"]),
        ([[1, {"x": 2}]], [[1, {"x": 3}]], ["[0][1].x was 2 and is 3"]),
        ({"a": None}, {"a": "x"}, ["a was nothing and is 'x'"]),
        ({"a": "\x1b[2J"}, {"a": "b"}, [r"a was '\x1b[2J' and is 'b'"]),
    ],
)
def test_every_difference_is_said(then: Any, now: Any, says: list[str]) -> None:
    """Old and new value stand beside the place; nothing that is said drives a terminal."""
    assert list(differences(then, now)) == says


def test_defaults_are_values_too() -> None:
    """A field that is left out on record is shown with its default, not as if it were missing."""
    spec = AttributeSpec(name="age", label="Age")
    was = Ontology(attributes=(spec,))
    now = Ontology(attributes=(AttributeSpec(name="age", label="Age", determining=True),))
    assert list(differences(was, now)) == ["attributes[age].determining was False and is True"]
    was_brief = Brief(title="t", text="x", claims=(Claim(id="c", text="One."),))
    assert list(differences(was_brief, Brief(title="t", text="x"))) == ["claims[c] is gone"]


def test_of_long_texts_the_place_where_they_part_is_shown() -> None:
    """Two pages that differ in one word show that word."""
    (said,) = differences({"text": LONG + "old " + LONG}, {"text": LONG + "new " + LONG})
    assert "word old word" in said
    assert "word new word" in said
    assert len(said) < 220
    (said,) = differences(LONG, LONG + "and more")
    assert said.endswith("word word word and more'")
