"""Foreign text made safe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.base.text import (
    is_plain_identifier,
    normalise,
    one_line,
    printable,
    sentence,
    storable,
)

HOSTILE = [
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\r",
    "\x08",
    "\x7f",
    "\u202e",
    "\u200b",
    "\u2066",
    "\ufeff",
    "\U000e0041",
    "\x00",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_drives_a_terminal_becomes_a_visible_escape(text: str):
    """No control, bidi or zero-width character passes; each can still be seen."""
    shown = printable(f"a{text}b")
    assert shown.isprintable()
    assert "\\" in shown


@given(st.text(alphabet=st.characters(categories=None)))
def test_any_text_can_be_printed_and_stored(text: str):
    """Whatever a model says, it can be encoded, and only line feed and tab pass as controls."""
    shown = printable(text)
    shown.encode()
    storable(text).encode()
    assert not any((ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in shown)


def test_ordinary_text_is_left_alone():
    """Letters of any script, line feeds and tabs stay as they are."""
    text = "Grüße, 世界!\n\t— “ok” 👍"
    assert printable(text) == text


def test_one_line_is_one_line_and_short():
    """Line breaks are folded and a long text is cut with an ellipsis."""
    assert one_line("a\n\n b\tc") == "a b c"
    assert one_line("x" * 200, 10) == "x" * 9 + "…"


def test_plain_identifiers_are_safe_as_file_names():
    """No separator, no leading dot, no space, no other alphabet."""
    assert is_plain_identifier("anes96-0001")
    assert not any(map(is_plain_identifier, ["", ".x", "a/b", "a b", "é", "..", "a\n", "x" * 65]))


def test_normalising_folds_form_case_and_space():
    """Compatibility forms, case and white space do not make two answers differ."""
    assert normalise("  Bill\u00a0CLINTON ") == "bill clinton"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("the budget is used up", "The budget is used up."),
        ("the budget is used up.", "The budget is used up."),
        ("why..", "Why."),
        ("stopped: what now?", "Stopped: what now?"),
        ("runs/first is full", "runs/first is full."),
        ("`perdure` said so.", "`perdure` said so."),
    ],
)
def test_a_sentence_has_one_end(text: str, written: str):
    """Whoever gave the text, with a full stop or without one; a name is left as it is."""
    assert sentence(text) == written
