"""Whether an answer gives only a number, or a point of a scale, where words were asked for. Pure.

A number among words of its own is words: "I bought 4 of them". A number among words that only lead
to a rating is a number: "I'd say a 4 out of 5". Words are English, numbers of any script.
"""

from __future__ import annotations

import re

from perdure.base.text import normalise
from perdure.elicitation.fold import READ_MAX

_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:st|nd|rd|th)?(?![^\W\d_])|\d+[^\W_]+")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)|first|second|third|\w+th")
_DIGITS = re.compile(r"\d+(?:st|nd|rd|th)?")
_APOSTROPHES = re.compile("[\u2018\u2019\u02bc\u00b4\u2032]")
_STARS = frozenset("\u2605\u2606\u2b50\U0001f31f")

_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred first second third fourth fifth sixth seventh eighth ninth tenth "
    "ii iii iv v vi vii viii ix x"
)
# What may lead to a rating or follow it, and says nothing by itself.
_FRAME_WORDS = (
    "i i'd i'll i'm id im me it it's its that's that this there's there here's here is be would "
    "will was my the a an of on in at to from as for out and or with between about around roughly "
    "approximately nearly almost probably maybe perhaps definitely honestly just only like lean "
    "leaning toward towards guess think feel believe "
    "say give choose pick select put go rate score mark answer respond "
    "solid strong point points star stars number option choice half percent percentage per cent "
    "overall hmm um uh well okay ok so"
)
# What speaks of a scale outright. With one of these, "one" is a number and no pronoun.
_SCALE_WORDS = (
    "scale rating rate rated score scored point points star stars number out say give percent "
    "likelihood chance probability intent intention interest level"
)

# With these an ordinal speaks of an order: "my first choice", "I'd put it second".
_RANKING = frozenset({"choice", "option", "put", "pick"})

_NUMBERS = frozenset(_NUMBER_WORDS.split())
_SCALE = frozenset(_SCALE_WORDS.split())
_FRAME = _SCALE | frozenset(_FRAME_WORDS.split())


def is_numeric(answer: str) -> bool:
    """Say whether an answer has a number in it, and nothing else that says anything.

    An answer without any number is never numeric, nor is an empty one.
    """
    text = _APOSTROPHES.sub("'", normalise(answer[:READ_MAX]))
    tokens = _TOKEN.findall(text)
    numbers = [token for token in tokens if _is_number(token)]
    rest = {token for token in tokens if not _is_number(token)}
    if not rest <= _FRAME:
        return False
    if not numbers:
        return not rest and not _STARS.isdisjoint(text)
    if all(map(_ORDINAL.fullmatch, numbers)) and not rest.isdisjoint(_RANKING):
        return False
    return set(numbers) != {"one"} or not rest or not rest.isdisjoint(_SCALE)


def _is_number(token: str) -> bool:
    return token in _NUMBERS or _DIGITS.fullmatch(token) is not None
