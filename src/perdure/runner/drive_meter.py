"""What the calls of an agent that is driven alone take, and whether another one fits. By one rule.

The rule is that of studies: before a call is sent, the most that it may take has to fit in what is
left; afterwards it counts as the endpoint reports it, and as the most where nobody knows. Calls
that came to nothing count as well, except those that cannot have been billed.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from perdure.agent.drive.ceilings import BY
from perdure.agent.drive.ports import Model, ModelFailedError, Stop
from perdure.base.errors import BudgetReachedError
from perdure.base.money import NANO, show
from perdure.inference.offer import Bounds as Worst
from perdure.inference.offer import Offer
from perdure.inference.reservations import Amounts, Ceilings, Limit, exceeded
from perdure.inference.settlement import (
    SETTLEMENT,
    UNSENT,
    Settlement,
    input_of,
    settle,
    tokens_of,
)
from perdure.records.alone import Bounds
from perdure.records.drive import EndCause
from perdure.records.increment import Increment
from perdure.records.record import Record
from perdure.records.request import ChatRequest, Failure, FailureCause, Reply
from perdure.records.usage import CostSource, Price

_CAUSES = {Limit.MONEY: EndCause.MONEY, Limit.TOKENS: EndCause.TOKENS}


class Spent(Record):
    """What a drive's calls took: attempts, tokens in and out, nano-units of money.

    `unpriced` counts the calls of which nobody knows what they cost, and which are in no sum;
    `estimated` those that are counted at the most that they may have taken.
    """

    calls: int = 0
    tokens: int = 0
    money: int = 0
    unpriced: int = 0
    estimated: int = 0


class Meter:
    """Counts what calls took, and says beforehand whether another one may be sent."""

    def __init__(self, ceilings: Bounds, price: Price | None) -> None:
        self._ceilings = Ceilings(money=ceilings.money, tokens=ceilings.tokens)
        self._price = price
        self._worst = Worst()
        self.spent = Spent()

    def offer(self, request: ChatRequest) -> Offer:
        """Say what a request may take at most."""
        return self._worst.offer(request, self._price)

    def forbids(self, request: ChatRequest) -> Stop | None:
        """Give the stop of a request that may take more than is left; None if it fits."""
        limit = self._limit(self.offer(request))
        return None if limit is None else Stop(cause=_CAUSES[limit], by=BY)

    def require(self, request: ChatRequest, currency: str) -> None:
        """Refuse ceilings under which not even the first request fits.

        Raises:
            BudgetReachedError: says what one call may take, and what to give.

        """
        offer = self.offer(request)
        limit = self._limit(offer)
        if limit is None:
            return
        taken, said = input_of(offer.worst), offer.worst.output
        tokens, amount = taken + said, offer.worst_amount
        if limit is Limit.TOKENS:
            most, given = f"{tokens} tokens", f"{self._ceilings.tokens} tokens"
            least = f"--tokens {tokens}"
        elif amount is None:
            raise BudgetReachedError(
                "A budget holds nothing where nobody knows what a call costs.",
                limit=limit.value,
                remedy="Give the model a price, or bound it by turns or seconds.",
            )
        else:
            most = show(amount, currency)
            given = show(self._ceilings.money or 0, currency)
            least = f"--budget {Decimal(amount) / NANO:f}"
        raise BudgetReachedError(
            f"Not even one call fits: it may take up to {most} ({taken} tokens in, a token for"
            f" every byte of what is sent, and {said} out), and {given} are allowed.",
            limit=limit.value,
            remedy=f"Give at least {least}, or let its replies be shorter (--reply-tokens).",
        )

    def settle(self, offer: Offer, outcome: Reply | Failure) -> None:
        """Count what a call that was offered came to."""
        if isinstance(outcome, Failure) and outcome.cause in UNSENT:
            return
        settled, before = settle(outcome, offer.worst, offer.price), self.spent
        tokens, is_known = _tokens(offer, outcome)
        is_estimate = settled.source is CostSource.ESTIMATE or not is_known
        self.spent = Spent(
            calls=before.calls + 1,
            tokens=before.tokens + tokens,
            money=before.money + (settled.amount or 0),
            unpriced=before.unpriced + (settled.amount is None),
            estimated=before.estimated + is_estimate,
        )
        self._worst.look(offer, settled)

    def _limit(self, offer: Offer) -> Limit | None:
        spent = Amounts(money=self.spent.money, tokens=self.spent.tokens)
        more = Amounts(money=offer.worst_amount or 0, tokens=tokens_of(offer.worst))
        if self._ceilings.money is not None and offer.worst_amount is None:
            # What nobody can tell may be more than is left.
            return Limit.MONEY
        return exceeded(self._ceilings, spent, more)


class Metered:
    """A model whose calls are counted, whatever becomes of them."""

    def __init__(self, model: Model, meter: Meter) -> None:
        self._model = model
        self._meter = meter

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def chat(
        self, request: ChatRequest, on_increment: Callable[[Increment], None] | None
    ) -> Reply:
        """Ask for one whole reply, and count it; what was cut under way may have been billed.

        Raises:
            ModelFailedError: there is none.

        """
        offer = self._meter.offer(request)
        outcome: Reply | Failure = Failure(cause=FailureCause.TRANSPORT)
        try:
            outcome = await self._model.chat(request, on_increment)
        except ModelFailedError as error:
            outcome = Failure(cause=error.cause, status=error.status, usage=error.usage)
            raise
        finally:
            self._meter.settle(offer, outcome)
        return outcome


def _tokens(offer: Offer, outcome: Reply | Failure) -> tuple[int, bool]:
    """Count the tokens of a call; and say whether that is known, or the most that it can be."""
    if outcome.usage is not None:
        return tokens_of(outcome.usage), True
    if isinstance(outcome, Failure) and SETTLEMENT[outcome.cause] is Settlement.RELEASED:
        return 0, True
    return tokens_of(offer.worst), False
