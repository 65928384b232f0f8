"""The call journal of open ticks: how a tick was opened, what was sent, what came of it."""

from __future__ import annotations

from perdure.records.presentation import Plan
from perdure.records.record import Record
from perdure.records.request import CallKey, Failure, FailureCause, Reply, Vectors
from perdure.records.tools import Effect
from perdure.records.usage import CostSource, Usage

# Whether a failed attempt ends its call for ever. Whatever depends on the endpoint's state, or on
# the key and the account, may end otherwise after a stop, and is then tried again.
IS_FINAL: dict[FailureCause, bool] = {
    FailureCause.TIMEOUT: False,
    FailureCause.CONNECT: False,
    FailureCause.TRANSPORT: False,
    FailureCause.RATE_LIMITED: False,
    FailureCause.SERVER_ERROR: False,
    FailureCause.REJECTED: True,
    FailureCause.BAD_REPLY: False,
    FailureCause.REPLY_TOO_LARGE: False,
    FailureCause.WRONG_MODEL: False,
    FailureCause.KEY_REFUSED: False,
    FailureCause.MODEL_UNKNOWN: False,
    FailureCause.OUT_OF_MONEY: False,
    FailureCause.QUEUE_FULL: False,
    FailureCause.UNSUPPORTED: True,
    FailureCause.FACTS_MISSING: True,
    FailureCause.STOPPED: False,
}

assert set(IS_FINAL) == set(FailureCause)


class TickOpening(Record):
    """How a tick was opened: its plan, and a hash of everything that its first call depends on.

    Whoever runs the tick again runs it under this plan.
    """

    world: str
    tick: int
    plan: Plan
    input_hash: str


class Intent(Record):
    """One attempt that is about to be sent: `request` is the hash of the request, in hex.

    `role` is the model role that is asked.
    `worst` is what it may use at most. `amount` is what that would cost, in nano-units, absent
    exactly when `source` is unknown.

    A call of a tool that is outside the world has an `effect`, and costs nothing.
    """

    key: CallKey
    attempt: int
    request: str
    worst: Usage
    role: str = ""
    amount: int | None = None
    source: CostSource = CostSource.UNKNOWN
    effect: Effect | None = None


class Settled(Record):
    """What an attempt came to, and its cost: `amount` is absent exactly when `source` is unknown.

    The amount is for the usage of the outcome, or for `charged` where that is given.
    """

    outcome: Reply | Vectors | Failure
    amount: int | None = None
    source: CostSource = CostSource.UNKNOWN
    charged: Usage | None = None


class JournaledCall(Record):
    """One attempt as journaled: under which epoch, and what it came to, if that is known."""

    epoch: int
    intent: Intent
    settled: Settled | None = None


class OpenTick(Record):
    """A tick that the journal holds open: under which epoch it was opened, and its attempts."""

    epoch: int
    opening: TickOpening
    calls: tuple[JournaledCall, ...] = ()

    @property
    def model_calls(self) -> tuple[JournaledCall, ...]:
        """The attempts at calls of models: all that is counted, paid or lost as a call."""
        return tuple(call for call in self.calls if call.intent.effect is None)

    @property
    def effects(self) -> tuple[JournaledCall, ...]:
        """The calls of tools that are outside the world."""
        return tuple(call for call in self.calls if call.intent.effect is not None)
