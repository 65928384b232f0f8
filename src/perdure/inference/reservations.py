"""What a run may still spend: every attempt reserves its worst case before it is sent.

One object decides for the whole run, so no two calls can count on the same remainder. What does
not fit waits, first in, first out, while any reservation is open: worst cases throttle, they do
not stop. Only what would not fit with nothing open is refused, and its tick with it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from enum import StrEnum

from perdure.base.clock import Clock
from perdure.records.record import Record

Place = tuple[str, int]  # a world, and its tick
Kind = tuple[str, str]  # a role, and a purpose


class Amounts(Record):
    """What is counted against a budget: nano-units of money, attempts, tokens in and out.

    `unknown` counts the attempts whose amount of money is not known, and in no sum.
    """

    money: int = 0
    calls: int = 0
    tokens: int = 0
    unknown: int = 0

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(
            money=self.money + other.money,
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            unknown=self.unknown + other.unknown,
        )

    def __sub__(self, other: Amounts) -> Amounts:
        return Amounts(
            money=self.money - other.money,
            calls=self.calls - other.calls,
            tokens=self.tokens - other.tokens,
            unknown=self.unknown - other.unknown,
        )


NOTHING = Amounts()


class Ceilings(Record):
    """The most that may be spent; what is absent has no limit. `wall_s` is from now on."""

    money: int | None = None
    calls: int | None = None
    tokens: int | None = None
    wall_s: float | None = None


class Limit(StrEnum):
    """Which ceiling a reservation did not fit under."""

    MONEY = "money"
    CALLS = "calls"
    TOKENS = "tokens"
    WALL = "wall"


def exceeded(ceilings: Ceilings, committed: Amounts, more: Amounts) -> Limit | None:
    """Name the first ceiling that would be exceeded by `more` on top of `committed`. Pure."""
    after = committed + more
    for limit, ceiling, amount in (
        (Limit.MONEY, ceilings.money, after.money),
        (Limit.CALLS, ceilings.calls, after.calls),
        (Limit.TOKENS, ceilings.tokens, after.tokens),
    ):
        if ceiling is not None and amount > ceiling:
            return limit
    return None


class Reservation:
    """The worst case of one attempt, held until it is known what the attempt cost."""

    __slots__ = ("_owner", "kind", "worst")

    def __init__(self, owner: Reservations, kind: Kind, worst: Amounts) -> None:
        self._owner: Reservations | None = owner
        self.kind = kind
        self.worst = worst

    def settle(self, actual: Amounts) -> None:
        """Charge what the attempt cost, and give back the rest. Only the first end counts."""
        owner, self._owner = self._owner, None
        if owner is not None:
            owner._settle(self, actual)  # noqa: SLF001 - the two are one object in two parts

    def release(self) -> None:
        """Give all of it back: nothing was sent."""
        self.settle(NOTHING)

    def abandon(self) -> None:
        """Charge all of it: what was sent may have cost as much."""
        self.settle(self.worst)


class _Waiting:
    __slots__ = ("answer", "kind", "place", "worst")

    def __init__(self, place: Place, kind: Kind, worst: Amounts) -> None:
        self.place = place
        self.kind = kind
        self.worst = worst
        self.answer: asyncio.Future[Reservation | None] = asyncio.Future()


class Reservations:
    """The ceilings of a run, what was spent, what is reserved, and who waits. On one event loop."""

    def __init__(self, ceilings: Ceilings, spent: Amounts, clock: Clock) -> None:
        self.ceilings = ceilings
        self.settled = spent
        self.reserved = NOTHING
        self.open: Counter[Kind] = Counter()
        self.refused: dict[Place, Limit] = {}
        self._waiting: deque[_Waiting] = deque()
        self._clock = clock
        self._until_s = None if ceilings.wall_s is None else clock.now_s() + ceilings.wall_s

    def charge(self, amounts: Amounts) -> None:
        """Count what was spent in no reservation of this sitting."""
        self.settled += amounts

    async def reserve(self, place: Place, kind: Kind, worst: Amounts) -> Reservation | None:
        """Reserve an attempt's worst case; wait for it while others are open; None if refused.

        Once a reservation of a tick was refused, so is every later one of the same tick.
        """
        if not self._waiting:
            decided, given = self._decide(place, kind, worst)
            if decided:
                return given
        waiting = _Waiting(place, kind, worst)
        self._waiting.append(waiting)
        self._serve()
        try:
            return await waiting.answer
        except asyncio.CancelledError:
            if not waiting.answer.cancelled() and (given := waiting.answer.result()) is not None:
                given.release()
            self._serve()
            raise

    def _decide(self, place: Place, kind: Kind, worst: Amounts) -> tuple[bool, Reservation | None]:
        """Say whether a reservation is decided now, and give it unless it is refused."""
        if place in self.refused:
            return True, None
        if self._is_time_up():
            self.refused[place] = Limit.WALL
            return True, None
        limit = exceeded(self.ceilings, self.settled + self.reserved, worst)
        if limit is None:
            self.reserved += worst
            self.open[kind] += 1
            return True, Reservation(self, kind, worst)
        if self.open:
            return False, None
        self.refused[place] = limit
        return True, None

    def _settle(self, reservation: Reservation, actual: Amounts) -> None:
        self.reserved -= reservation.worst
        self.settled += actual
        self.open[reservation.kind] -= 1
        if not self.open[reservation.kind]:
            del self.open[reservation.kind]
        self._serve()

    def _serve(self) -> None:
        """Decide for those who wait, in order, as far as can be decided now."""
        while self._waiting:
            first = self._waiting[0]
            if not first.answer.cancelled():
                decided, given = self._decide(first.place, first.kind, first.worst)
                if not decided:
                    return
                first.answer.set_result(given)
            self._waiting.popleft()

    def _is_time_up(self) -> bool:
        return self._until_s is not None and self._clock.now_s() >= self._until_s
