"""What is about to be asked of a model, and what that may cost at most.

A token stands for at least one byte of text, so the bytes of a request bound its input. Where a
provider reports more than that, the bound of the role is raised for every later call.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from perdure.base.canonical import encode
from perdure.inference.reservations import Amounts
from perdure.inference.settlement import input_of, is_above, tokens_of
from perdure.records.journal import Settled
from perdure.records.record import Record
from perdure.records.request import ChatRequest, EmbedRequest
from perdure.records.usage import Price, Usage
from perdure.study.pricing import is_free, most_for

# What a request costs in tokens beside its text, at most: marks of roles, of starts and ends.
_TOKENS_PER_PART = 16
# What tells a model that there are tools, beside what each of them is. Providers state up to 530.
_TOKENS_FOR_TOOLS = 640
_STEP = 0.25


class Offer(Record):
    """A request, what it may use at most, and its price, if that is known.

    `dearer` is how many times its price such a request was said to cost.
    """

    request: ChatRequest | EmbedRequest
    worst: Usage
    price: Price | None = None
    dearer: float = 1.0

    @property
    def worst_amount(self) -> int | None:
        """The most that it may cost, in nano-units; None if there is no price."""
        amount = most_for(self.worst, self.price)
        return amount if amount is None or self.dearer == 1 else math.ceil(amount * self.dearer)

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
            for call in message.calls:
                tokens += _bytes(call.id + call.name + call.arguments) + _TOKENS_PER_PART
            tokens += _bytes(message.call_id)
        if request.tools:
            tokens += _TOKENS_FOR_TOOLS
            for spec in request.tools:
                tokens += len(encode(spec)) + _TOKENS_PER_PART
    return Usage(input_fresh=tokens, output=output)


class Bounds:
    """By how much the calls of each role have gone above their worst case, and so may again.

    `version` is another one whenever a bound was raised.
    """

    def __init__(self) -> None:
        self._factors: dict[str, _Factors] = {}
        self.version = 0

    def offer(self, request: ChatRequest | EmbedRequest, price: Price | None) -> Offer:
        """Bound a request, as its role has shown it to be."""
        worst = worst_case(request)
        factors = self._factors.get(request.role)
        if factors is None:
            return Offer(request=request, worst=worst, price=price)
        raised = Usage(
            input_fresh=math.ceil(worst.input_fresh * factors.taken),
            output=math.ceil(worst.output * factors.said),
        )
        return Offer(request=request, worst=raised, price=price, dearer=factors.dearer)

    def look(self, offer: Offer, settled: Settled) -> None:
        """Look at what an attempt came to, and learn from one that went above what was offered."""
        used, most = settled.outcome.usage or Usage(), offer.worst_amount
        is_dearer = settled.amount is not None and most is not None and settled.amount > most
        if is_dearer or is_above(used, offer.worst):
            self.learn(offer, used, settled.amount)

    def learn(self, offer: Offer, used: Usage, amount: int | None) -> None:
        """Take note of an attempt that used, or was said to cost, more than was offered.

        What it is measured by is the first bound of all, for many calls that were offered the same
        may come back together.
        """
        role, first = offer.request.role, worst_case(offer.request)
        before = self._factors.get(role, _NO_FACTORS)
        factors = _Factors(
            taken=_grown(before.taken, input_of(first), input_of(used)),
            said=_grown(before.said, first.output, used.output),
            dearer=before.dearer,
        )
        self._factors[role] = factors
        most = self.offer(offer.request, offer.price).worst_amount
        if amount is not None and most is not None and amount > most:
            dearer = _grown(1.0, math.ceil(most / factors.dearer), amount)
            self._factors[role] = factors._replace(dearer=max(factors.dearer, dearer))
        self.version += self._factors[role] != before


class _Factors(NamedTuple):
    """How many times the tokens in, the tokens out, and the price of all that were reported."""

    taken: float = 1.0
    said: float = 1.0
    dearer: float = 1.0


_NO_FACTORS = _Factors()


def _grown(factor: float, first: int, used: int) -> float:
    return max(factor, math.ceil(used / max(first, 1) / _STEP) * _STEP)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
