r"""Secrets taken out of a text before it is stored: each one becomes `[secret 1a2b3c4d]`.

The eight digits begin the SHA-256 of what was there, so one secret has one mark wherever it is.
Found are the shapes of known keys, what a credential's name is given as its value, long runs of
mixed characters that look like chance, and secrets that are handed in by their exact text.

A text without secrets is given back as it is, so doing it twice is doing it once; JSON stays JSON;
and the time is linear in the text. All three rest on one rule: what is taken out begins and ends
where a run of word characters does, and whether it is depends on itself and on what is before it.
The `[` of a mark ends a run like any other character that no run has.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import quote

_MARK = re.compile(r"(\[secret [0-9a-f]{8}\])")

# Shorter than this, a text that is handed in as a secret would spoil innocent text.
_KNOWN_MIN = 6
_RUN_MIN = 20
_BITS_MIN = 3.5
_BITS_40_MIN = 4.4
# Pieces of one case, or digits: in what is made of words they are longer, by far.
_WORD_PIECE_MEAN = 3.0
_VALUE_MIN = 6
_WEAK_VALUE_MIN = 16

_W = r"[A-Za-z0-9_\-]"
# Where a run begins: after the escape of a line feed and the like within JSON, and never within.
_START = (
    r"(?:(?<![A-Za-z0-9_\-\\])|(?<=\\)(?![bfnrtu])"
    r"|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
)
_V = r"""[^\s"'`\\,;&<>(){}\[\]|:=]"""
_QUOTE = r"""(?:\\*["'])"""
_SEPARATOR = rf"{_QUOTE}?\s{{0,4}}(?:=>|:=|=|:)\s{{0,4}}{_QUOTE}?(?!-----BEGIN)(?={_V})"

_SHAPES = rf"""
      eyJ{_W}{{8,}}+(?:\.{_W}*+){{2,4}}
    | SG\.{_W}{{16,}}+\.{_W}{{16,}}+
    | ya29\.{_W}{{20,}}+
    | AIza{_W}{{30,}}+
    | (?:sk|xai|pplx|tvly|nvapi|GOCSPX|glpat|gldt)-{_W}{{16,}}+
    | (?:sk|rk|pk)_(?:live|test)_{_W}{{10,}}+
    | (?:whsec|gsk|r8|secret|ntn|lin_api|hf|npm|dop_v1|doo_v1|shpat|shpss|shpca)_{_W}{{20,}}+
    | gh[pousr]_{_W}{{20,}}+ | github_pat_{_W}{{20,}}+
    | (?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}(?!{_W})
    | xox[a-z]-{_W}{{10,}}+ | xapp-{_W}{{10,}}+
    | pypi-{_W}{{40,}}+
    | SK[0-9a-f]{{32}}(?!{_W}) | key-[0-9a-f]{{32}}(?!{_W})
    | AGE-SECRET-KEY-1{_W}{{40,}}+
"""
_BEGIN = r"-----BEGIN[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----"
_END = r"-----END[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----"
_BLOCK = rf"""
      {_BEGIN}(?:[A-Za-z0-9+/=\s\\:,.()]|-(?!----))*+{_END}{_W}*+
    | {_BEGIN}(?:(?:\s|\\[rn])*+[A-Za-z0-9+/=]{{16,}}+)++{_W}*+
"""
# What looks like chance and is none: pictures, and hashes that say so.
_INNOCENT = r"""
      data:[A-Za-z0-9.+/;=_\-]{1,100}?;base64,[A-Za-z0-9+/=_\-]*+
    | sha(?:1|256|384|512)-[A-Za-z0-9+/=]*+
"""
_IN_ADDRESS = (
    r"""(?<=:)//(?P<user>[^\s/:@"'\\\[\]]{0,64}):(?P<password>[^\s/:@"'\\\[\]]{3,256})(?=@)"""
)

_TOKEN = re.compile(
    rf"""
    {_IN_ADDRESS} | {_START}(?:
      (?P<innocent>{_INNOCENT})
    | (?P<whole>{_BLOCK}|{_SHAPES})
    | (?P<forty>(?<![+/])[A-Za-z0-9][A-Za-z0-9/+]{{38}}[A-Za-z0-9](?![A-Za-z0-9_+/=\-]))
    | (?P<flag>--[A-Za-z0-9\-]{{2,40}}+)(?P<gap>[ ]{{1,4}}(?=[^\s"'`\\,;&<>(){{}}\[\]|:=\-]))
    | (?P<scheme>(?i:bearer|basic))(?P<space>[ ]{{1,4}}(?={_V}))
    | (?P<run>{_W}{{{_RUN_MIN},}}+)(?P<is>{_SEPARATOR})?
    | (?P<name>{_W}{{2,{_RUN_MIN - 1}}}+)(?P<equals>{_SEPARATOR})
    )""",
    re.VERBOSE,
)
_AFTER_FORTY = re.compile(rf"{_START}(?P<run>{_W}{{{_RUN_MIN},}}+)")
_VALUE = re.compile(rf"{_V}++=*+")
_QUOTED_VALUE = re.compile(rf"""{_V}[^"'\\\r\n\[\]]*+(?=\\*["'])""")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|Digest|Negotiate|ApiKey|Key)\b[ ]*", re.IGNORECASE)

_STRONG_NAME = re.compile(
    r"(?:password|passwd|passphrase|pwd|secret|token|credentials?|authorization"
    r"|api_?key|access_?key|private_?key|secret_?key|signing_?key|encryption_?key|account_?key"
    r"|auth_?key|session_?id|set_cookie|cookie)$"
)
_WEAK_NAME = re.compile(r"(?:(?:^|_)key|(?:^|_)auth|bearer|basic)$")
# A shell's word for where it is ends like a password's name.
_FOLDER_NAME = re.compile(r"pwd$", re.IGNORECASE)
_FOLDER = re.compile(r"~?/|\.\.?/")
_NUMBER = re.compile(r"[0-9.eE+\-]+|true|false|null|-?Infinity|NaN")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


class Redactor:
    """Takes secrets out of texts: those with a shape, and `known` ones by their exact text."""

    __slots__ = ("_known",)

    def __init__(self, known: Iterable[str] = ()) -> None:
        forms = {form for secret in known if len(secret) >= _KNOWN_MIN for form in _forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._known = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def __call__(self, text: str) -> str:
        """Give a text without its secrets."""
        return self.counted(text)[0]

    def counted(self, text: str) -> tuple[str, int]:
        """Give a text without its secrets, and how many there were."""
        count = 0
        if self._known is not None:
            pieces = _MARK.split(text)
            for place in range(0, len(pieces), 2):
                pieces[place], found = self._known.subn(_mark_of_match, pieces[place])
                count += found
            text = "".join(pieces)
        spans = list(_spans(text))
        return _without(text, spans), count + len(spans)


_PLAIN = Redactor()


def redacted(text: str, known: Sequence[str] = ()) -> str:
    """Give a text without its secrets; `known` are more of them, by their exact text."""
    return Redactor(known)(text) if known else _PLAIN(text)


def holds_key(text: str) -> bool:
    """Say whether a text holds a key beyond doubt: by its shape, or as a password in an address.

    For names and paths, in which words and numbers in a row may look like chance.
    """
    kinds = (match.lastgroup for match in _TOKEN.finditer(text))
    return any(kind in {"whole", "password"} for kind in kinds)


def _forms(secret: str) -> set[str]:
    return {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}


def _mark(secret: str) -> str:
    digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
    return f"[secret {digest[:8]}]"


def _mark_of_match(match: re.Match[str]) -> str:
    return _mark(match.group())


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    if not spans:
        return text
    pieces, end = [], 0
    for start, stop in spans:
        pieces += [text[end:start], _mark(text[start:stop])]
        end = stop
    return "".join([*pieces, text[end:]])


def _spans(text: str) -> Iterable[tuple[int, int]]:
    """Find what is to be taken out, in order."""
    at = 0
    while (match := _TOKEN.search(text, at)) is not None:
        at = match.end()
        kind = match.lastgroup
        if kind == "whole":
            yield match.span()
        elif kind == "password":
            user = match.start("user")
            yield from ((user + start, user + end) for start, end in _spans(match["user"]))
            yield match.span("password")
        elif kind == "forty":
            yield from _of_forty(text, match)
        elif kind != "innocent":
            if match["run"] and _is_chance(match["run"]):
                yield match.span("run")
            value = _value(text, match)
            if value is not None:
                yield value
                at = value[1]


def _of_forty(text: str, match: re.Match[str]) -> Iterable[tuple[int, int]]:
    whole = match["forty"]
    odd = "/" in whole or "+" in whole
    if odd and _is_mixed(whole) and _bits(whole) >= _BITS_40_MIN:
        yield match.span("forty")
        return
    for run in _AFTER_FORTY.finditer(text, *match.span("forty")):
        if _is_chance(run["run"]):
            yield run.span("run")


def _value(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """Find the value that a credential's name is given, if it can be a secret."""
    name = match["flag"] or match["scheme"] or match["run"] or match["name"]
    between = match["gap"] or match["space"] or match["is"] or match["equals"]
    if not between:
        return None
    plain = name.lower().replace("-", "_")
    is_strong = _STRONG_NAME.search(plain) is not None
    if not is_strong and _WEAK_NAME.search(plain) is None:
        return None
    start = match.end()
    if plain.endswith("authorization"):
        scheme = _SCHEME.match(text, start)
        start = scheme.end() if scheme else start
    if between[-1] in "\"'":
        quoted = _QUOTED_VALUE.match(text, start)
        if quoted and _is_secret(quoted.group(), name, between, is_strong=is_strong):
            return quoted.span()
    value = _VALUE.match(text, start)
    if value and _is_secret(value.group(), name, between, is_strong=is_strong):
        return value.span()
    return None


def _is_secret(value: str, name: str, between: str, *, is_strong: bool) -> bool:
    """Say whether a value can be a secret. What is part of one that cannot, cannot either."""
    is_bare = ":" in between and "=" not in between and between[-1] not in "\"'"
    if len(value) < _VALUE_MIN or value.startswith("$") or (is_bare and _NUMBER.fullmatch(value)):
        return False
    if _FOLDER_NAME.search(name) and _FOLDER.match(value):
        return False
    has_digit = any(map(str.isdigit, value))
    if not is_strong:
        has_letter = any(map(str.isalpha, value))
        return len(value) >= _WEAK_VALUE_MIN and has_digit and has_letter and " " not in value
    if " " in value and "pass" not in name.lower():
        return False
    is_setting = "=" in between and name.isupper()
    has_sign = any(not character.isalnum() and character not in " ._-/$" for character in value)
    is_both = any(map(str.isupper, value)) and any(map(str.islower, value))
    return is_setting or has_digit or has_sign or is_both


def _is_mixed(run: str) -> bool:
    return any(map(str.isupper, run)) and any(map(str.islower, run)) and any(map(str.isdigit, run))


def _is_chance(run: str) -> bool:
    """Say whether a run of word characters is more like chance than like words."""
    if not _is_mixed(run) or _bits(run) < _BITS_MIN:
        return False
    pieces = _PIECE.findall(run)
    return sum(map(len, pieces)) / len(pieces) < _WORD_PIECE_MEAN


def _bits(run: str) -> float:
    """Give the entropy of a run's characters, in bits each."""
    counts = Counter(run).values()
    return -sum(count / len(run) * math.log2(count / len(run)) for count in counts)
