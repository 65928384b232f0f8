"""Foreign text made safe: for a record, and for a terminal.

Nothing a model, a tool, a study file or a record says may drive a terminal. Only line feed and tab
pass; every other control character, and every character that reorders or hides text, is shown as
a visible escape.
"""

from __future__ import annotations

import re
import unicodedata

# C0 without tab and line feed, DEL, C1, and what hides, joins or reorders text (bidi, zero width,
# line and paragraph separators, byte-order mark, tags, interlinear marks).
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_WORD = re.compile(r"[a-z]+(?=[ ,;:.]|$)")
_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Replace lone surrogates, which no encoding can hold, with U+FFFD. Everything else is kept."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def printable(text: str) -> str:
    r"""Make text safe to print: unsafe characters become visible escapes such as `\x1b`."""
    return _UNSAFE.sub(_escape, storable(text))


def one_line(text: str, width_max: int = 120) -> str:
    """Make text safe to print on one line, cut to `width_max` characters with an ellipsis."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= width_max else flat[: width_max - 1] + "…"


def sentence(text: str) -> str:
    """Write a text as a sentence: a capital letter first, unless that is a name's, and one end."""
    text = text.strip()
    if _WORD.match(text):
        text = text[0].upper() + text[1:]
    return text if text.endswith(("!", "?", "…")) else f"{text.rstrip('.')}."


def a(noun: str) -> str:
    """Put the article before a noun."""
    return f"an {noun}" if noun.startswith(("a", "e", "i", "o", "u", "hour")) else f"a {noun}"


def is_plain_identifier(text: str) -> bool:
    """Say whether a text is an id that is safe as a file name, a key and a word on a terminal."""
    return bool(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", text))


def normalise(text: str) -> str:
    """Fold a text for comparison: compatibility forms, case, and runs of white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFF:  # noqa: PLR2004 - two hex digits hold it
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four do
