"""The retry policy: from values to values. Whether a failed attempt is made again, and when."""

from __future__ import annotations

import math

from perdure.records.record import Record
from perdure.records.request import Failure, FailureCause

RETRIED = frozenset(
    {
        FailureCause.TIMEOUT,
        FailureCause.CONNECT,
        FailureCause.TRANSPORT,
        FailureCause.RATE_LIMITED,
        FailureCause.SERVER_ERROR,
    }
)
STOPS_RUN = frozenset(
    {FailureCause.KEY_REFUSED, FailureCause.MODEL_UNKNOWN, FailureCause.OUT_OF_MONEY}
)


class RetryPolicy(Record):
    """How long a call may take, and how often and how patiently it is tried again.

    `total_s` bounds everything from the moment a call is first admitted to its end: attempts,
    back-off, and waits between attempts. `attempt_s` bounds one attempt.
    """

    attempts_max: int = 6
    attempt_s: float = 120.0
    total_s: float = 600.0
    backoff_first_s: float = 0.5
    backoff_max_s: float = 30.0
    retry_after_max_s: float = 120.0


def wait_before_retry(
    policy: RetryPolicy, failure: Failure, *, attempts: int, elapsed_s: float, draw: float
) -> float | None:
    """Decide what follows a failed attempt: the seconds to wait before another, or None for none.

    `attempts` counts the attempts made so far, `draw` is uniform over [0, 1). A wait that the
    endpoint asked for is kept up to the policy's cap; otherwise the wait is uniform between zero
    and a bound that doubles with every attempt. No wait begins that ends after the deadline.
    """
    if failure.cause not in RETRIED or attempts >= policy.attempts_max:
        return None
    bound = backoff_bound(policy, attempts)
    asked = failure.retry_after_s
    if asked is not None and math.isfinite(asked) and asked >= 0:
        # A little jitter on top, or all calls that were turned away come back at one instant.
        wait = min(asked, policy.retry_after_max_s) + draw * policy.backoff_first_s
    else:
        wait = draw * bound
    return wait if elapsed_s + wait < policy.total_s else None


def backoff_bound(policy: RetryPolicy, attempts: int) -> float:
    """Give the longest back-off after so many attempts."""
    doublings = min(max(attempts - 1, 0), 64)
    return min(policy.backoff_max_s, policy.backoff_first_s * 2.0**doublings)


def attempt_timeout(policy: RetryPolicy, elapsed_s: float) -> float:
    """Give the time that an attempt may take: its own limit, or what is left of the call's."""
    return min(policy.attempt_s, policy.total_s - elapsed_s)
