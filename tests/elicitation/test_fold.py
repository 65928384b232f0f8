"""Folding leaves plain words, whatever marks and forms an answer is written in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.elicitation.fold import MARKS_FIRST, READ_MAX, fold


def test_marks_go_and_lines_stay() -> None:
    """Markdown, quotation marks and bullets go; lines and sentence marks stay."""
    assert fold("# Well\n\n- **Bob_Dole**, \u201cyes\u201d!") == "well\n\nbob dole , yes !"


def test_abbreviations_do_not_end_a_sentence() -> None:
    """The full stop of a title or an initial goes, that of a sentence stays."""
    assert fold("Sen. Dole. Mr. J. Smith.") == "sen dole. mr j smith."


def test_an_answer_cannot_bring_marks_of_ours() -> None:
    """The characters that stand for choices cannot come from an answer."""
    assert chr(MARKS_FIRST) not in fold(f"a{chr(MARKS_FIRST)}b")


@given(st.text())
def test_any_text_folds_to_a_bounded_text_without_marks(text: str) -> None:
    """Folding never raises, and what it gives holds no character that stands for a choice."""
    folded = fold(text)
    assert not any(
        ord(character) >= MARKS_FIRST and ord(character) < 0xFFFFE for character in folded
    )
    assert len(folded) <= READ_MAX * 18
