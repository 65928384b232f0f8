"""Answers folded for reading: case, compatibility forms, markdown and typographic marks. Pure."""

from __future__ import annotations

import re

from perdure.base.text import normalise

# Far beyond any answer to a closed question; what a runaway model adds after it is not read.
READ_MAX = 4_000

MARKS_FIRST = 0xF0000
MARKS_LAST = 0xFFFFD

_TO_SPACE = re.compile('[*_`#~|<>\\[\\]{}"\u201c\u201d\u201e\u00ab\u00bb\U000f0000-\U000ffffd]+')
# What a terminal would take for a colour or a title, and controls that are no line or tab.
_ESCAPE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b\n]*\x07?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
# Quoted speech: three words or more. A shorter quotation is a name; after the key or the value of a
# tree there is none.
_QUOTED = re.compile(
    '["\u201c\u201d\u201e\u00ab](?!\\s*[:,\\]}])\\s*(?:[^\\s"\u201c\u201d\u00bb]+\\s+){2,}[^"\u201c\u201d\u00bb]*(?:["\u201c\u201d\u00bb]|\\Z)'
)
_HIDDEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_APOSTROPHES = re.compile("[\u2018\u2019\u02bc\u00b4\u2032]")
_BULLET = re.compile("(?m)^[ ]*[-+\u2022\u2013\u2014][ ]+")
_ABBREVIATION = re.compile(
    r"\b(mr|mrs|ms|dr|sen|gov|pres|rep|st|jr|sr|vs|prof|(?<=[\w.] )[a-z]|[a-z](?=\.[a-z]\b))"
    r"\.(?=[ \w])"
)


def fold(text: str) -> str:
    """Fold a text line by line; what is left are lines of plain lower-case words and marks."""
    text = _without_quotations(_ESCAPE.sub("", text[:READ_MAX]))
    if not text.isascii():
        text = _APOSTROPHES.sub("'", _HIDDEN.sub("", text))
    lines = "\n".join(map(normalise, _TO_SPACE.sub(" ", text).splitlines()))
    return _ABBREVIATION.sub(r"\1", _BULLET.sub("", lines))


def _without_quotations(text: str) -> str:
    """Drop quoted sentences, unless the whole text is one."""
    rest = _QUOTED.sub(" . ", text)
    return rest if re.search(r"\w", rest) else text
