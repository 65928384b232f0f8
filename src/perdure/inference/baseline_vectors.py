"""Vectors of texts without a model: words hashed into places. Overlap of words, not meaning.

Two texts are near each other as far as they use the same words; "car" and "automobile" are as far
apart as any two. It is the hashing trick: each word adds 1 or takes 1 away at a place that its
SHA-256 names, and the vector is brought to length 1. There is nothing to learn, and nothing that
differs between machines: sums are of whole numbers, then one root and one division each.

The first place is kept for texts in which no word is left, such as an empty one. Their vector is
that place alone: of length 1 like any other, the same for all of them, and at a cosine of 0 to
every text with words. No vector is all zeros, which no cosine could be taken of.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from perdure.base.text import normalise, storable

DIMENSIONS = 256

_WORDLESS = (1.0,) + (0.0,) * (DIMENSIONS - 1)
_PLAIN_WORD = re.compile(r"[a-z0-9]+")
# Written without spaces between words: Thai, Lao, Burmese, Khmer, kana, and Chinese characters.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_WORD_CATEGORIES = frozenset("LMN")


def vector_of(text: str) -> tuple[float, ...]:
    """Give a text's vector: `DIMENSIONS` numbers, of length 1, the same on every machine."""
    sums = [0] * DIMENSIONS
    for word in words_of(text):
        place, sign = _place(word)
        sums[place] += sign
    length = math.sqrt(sum(number * number for number in sums))
    return tuple(number / length for number in sums) if length else _WORDLESS


def words_of(text: str) -> Iterator[str]:
    """Give the words of a text, in lower case. Where none are set apart, each letter is one."""
    folded = normalise(storable(text))
    if folded.isascii():
        yield from _PLAIN_WORD.findall(folded)
        return
    apart = _UNSPACED.sub(lambda letter: f" {letter.group()} ", folded)
    kept = (one if unicodedata.category(one)[0] in _WORD_CATEGORIES else " " for one in apart)
    yield from "".join(kept).split()


@lru_cache(maxsize=65_536)
def _place(word: str) -> tuple[int, int]:
    """Say where a word adds, and whether it adds or takes away."""
    digest = hashlib.sha256(word.encode()).digest()
    place = 1 + int.from_bytes(digest[:8], "big") % (DIMENSIONS - 1)
    return place, 1 if digest[8] & 1 else -1
