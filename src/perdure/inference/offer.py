"""What is about to be asked of a model, and what that may cost at most.

A token stands for at least one byte of text, so the bytes of a request bound its input. Where a
provider reports more than that, the bound of the role is raised for every later call.
"""

from __future__ import annotations

import math

from perdure.inference.reservations import Amounts
from perdure.inference.settlement import input_of, tokens_of
from perdure.records.record import Record
from perdure.records.request import ChatRequest, EmbedRequest
from perdure.records.usage import Price, Usage
from perdure.study.pricing import is_free, most_for

# What a request costs in tokens beside its text, at most: marks of roles, of starts and ends.
_TOKENS_PER_PART = 16
_STEP = 0.25


class Offer(Record):
    """A request, what it may use at most, and its price, if that is known."""

    request: ChatRequest | EmbedRequest
    worst: Usage
    price: Price | None = None

    @property
    def worst_amount(self) -> int | None:
        """The most that it may cost, in nano-units; None if there is no price."""
        return most_for(self.worst, self.price)

    @property
    def reserved(self) -> Amounts:
        """What one attempt reserves. Money without a price cannot be reserved."""
        tokens = 0 if is_free(self.price) else tokens_of(self.worst)
        amount = self.worst_amount
        return Amounts(money=amount or 0, calls=1, tokens=tokens, unknown=amount is None)


def worst_case(request: ChatRequest | EmbedRequest) -> Usage:
    """Bound what a request may use."""
    tokens, output = _TOKENS_PER_PART, 0
    if isinstance(request, EmbedRequest):
        for text in request.texts:
            tokens += _bytes(text) + _TOKENS_PER_PART
    else:
        output = request.tokens_max
        for message in request.messages:
            tokens += _bytes(message.content) + _TOKENS_PER_PART
    return Usage(input_fresh=tokens, output=output)


class Bounds:
    """By how much the calls of each role have gone above their worst case, and so may again."""

    def __init__(self) -> None:
        self._factors: dict[str, tuple[float, float]] = {}

    def raised(self, role: str, worst: Usage) -> Usage:
        """Give a worst case as this role has shown it to be."""
        if role not in self._factors:
            return worst
        taken, said = self._factors[role]
        return Usage(
            input_fresh=math.ceil(worst.input_fresh * taken),
            cache_write=math.ceil(worst.cache_write * taken),
            output=math.ceil(worst.output * said),
        )

    def learn(self, role: str, worst: Usage, used: Usage) -> None:
        """Take note of an attempt that used more than its worst case."""
        taken, said = self._factors.get(role, (1.0, 1.0))
        self._factors[role] = (
            _grown(taken, input_of(worst), input_of(used)),
            _grown(said, worst.output, used.output),
        )


def _grown(factor: float, worst: int, used: int) -> float:
    if used <= worst:
        return factor
    needed = factor * used / max(worst, 1)
    return math.ceil(needed / _STEP) * _STEP


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
