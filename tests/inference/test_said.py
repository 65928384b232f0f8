"""What an endpoint says of a failure, in its own words: one line, bounded, and without secrets."""

from __future__ import annotations

import json

import pytest

from perdure.inference.http.key import load_key
from perdure.inference.http.status import said_in

SECRET = "the-key-of-this-endpoint"
KEY = load_key({"K": SECRET}, key_env="K", key_file="")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "Too long:\n  9 of 8.", "code": 400}}, "Too long: 9 of 8."),
        ({"error": "no such model"}, "no such model"),
        ({"error": {"error": {"detail": "deep"}}}, "deep"),
        ({"detail": "Not Found"}, "Not Found"),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ({"error": {"code": 400}}, ""),
        ({"error": {"message": 5}}, ""),
        ({}, ""),
    ],
)
def test_the_words_of_an_error_are_found(body: object, said: str) -> None:
    """Wherever endpoints write them, and nothing is made up where there are none."""
    assert said_in(json.dumps(body).encode(), KEY) == said


def test_what_is_no_document_is_its_own_words() -> None:
    """Plain text is taken as it is; a page for a browser, and nothing, say nothing."""
    assert said_in(b"upstream is down\n", KEY) == "upstream is down"
    assert said_in(b"<!doctype html><h1>502</h1>", KEY) == ""
    assert said_in(b"", KEY) == ""
    assert said_in(b"\xff\xfe", KEY) == "\ufffd\ufffd"


def test_they_are_one_line_without_secrets() -> None:
    """The key and what looks like one are taken out before it is cut, all else is printable."""
    other = "sk-proj-Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5kL7n"
    words = f"{'x ' * 140}{SECRET} and {other} \x1b[2J" + "y " * 50_000
    said = said_in(json.dumps({"error": {"message": words[:60_000]}}).encode(), KEY)
    assert len(said) == 300
    assert said.isprintable()
    assert "sk-proj" not in said
    assert SECRET[:8] not in said
