"""That a failed attempt is made again exactly when the policy says, and never for ever."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.inference.retry import (
    RETRIED,
    STOPS_RUN,
    RetryPolicy,
    attempt_timeout,
    backoff_bound,
    wait_before_retry,
)
from perdure.records.request import Failure, FailureCause

POLICY = RetryPolicy()
FINAL = sorted(set(FailureCause) - RETRIED)


@pytest.mark.parametrize("cause", FINAL)
def test_what_will_not_get_better_is_final(cause: FailureCause) -> None:
    """Refused keys, rejected requests and bad replies are never tried again."""
    failure = Failure(cause=cause, retry_after_s=1.0)
    assert wait_before_retry(POLICY, failure, attempts=1, elapsed_s=0, draw=0.5) is None


@pytest.mark.parametrize("cause", sorted(RETRIED))
def test_what_may_get_better_is_tried_again_until_the_last_attempt(cause: FailureCause) -> None:
    """Passing faults are tried again, up to the number of attempts and no further."""
    failure = Failure(cause=cause)
    waits = [
        wait_before_retry(POLICY, failure, attempts=attempts, elapsed_s=0, draw=0.999)
        for attempts in range(1, POLICY.attempts_max + 1)
    ]
    assert waits[-1] is None
    assert all(wait is not None for wait in waits[:-1])


def test_causes_that_stop_a_run_are_not_retried() -> None:
    """A cause cannot both stop the run and be tried again."""
    assert not RETRIED & STOPS_RUN


def test_backoff_doubles_up_to_its_cap() -> None:
    """The bound of the wait doubles with every attempt, to the cap, however many there were."""
    policy = RetryPolicy(backoff_first_s=1.0, backoff_max_s=10.0)
    assert [backoff_bound(policy, attempts) for attempts in (1, 2, 3, 4, 5, 5000)] == [
        *(1.0, 2.0, 4.0, 8.0, 10.0, 10.0)
    ]


@pytest.mark.parametrize(("asked", "wait"), [(2.0, 2.0), (0.0, 0.0), (1e9, 120.0)])
def test_a_wait_that_was_asked_for_is_kept_up_to_the_cap(asked: float, wait: float) -> None:
    """The endpoint's wish is honoured, but nobody waits 31 years for it."""
    failure = Failure(cause=FailureCause.RATE_LIMITED, status=429, retry_after_s=asked)
    assert wait_before_retry(POLICY, failure, attempts=1, elapsed_s=0, draw=0.0) == wait


@pytest.mark.parametrize("asked", [-5.0, math.nan, math.inf, -math.inf])
def test_an_impossible_wish_counts_as_none(asked: float) -> None:
    """A negative or infinite wait is replaced by ordinary back-off."""
    failure = Failure(cause=FailureCause.RATE_LIMITED, status=429, retry_after_s=asked)
    wait = wait_before_retry(POLICY, failure, attempts=1, elapsed_s=0, draw=0.5)
    assert wait == 0.5 * POLICY.backoff_first_s


@given(
    cause=st.sampled_from(FailureCause),
    asked=st.none() | st.floats(allow_nan=True, allow_infinity=True),
    attempts=st.integers(1, 10_000),
    elapsed=st.floats(0, 10_000),
    draw=st.floats(0, 1, exclude_max=True),
)
def test_every_wait_is_bounded_and_ends_before_the_deadline(
    cause: FailureCause, asked: float | None, attempts: int, elapsed: float, draw: float
) -> None:
    """Whatever an endpoint says, a wait is never negative, above its cap, or past the deadline."""
    failure = Failure(cause=cause, retry_after_s=asked)
    wait = wait_before_retry(POLICY, failure, attempts=attempts, elapsed_s=elapsed, draw=draw)
    if wait is not None:
        assert 0 <= wait <= POLICY.retry_after_max_s + POLICY.backoff_first_s
        assert elapsed + wait < POLICY.total_s
        assert attempts < POLICY.attempts_max


def test_an_attempt_may_take_what_is_left_of_the_call() -> None:
    """The last attempt is cut short by the call's own deadline."""
    assert attempt_timeout(POLICY, 0.0) == POLICY.attempt_s
    assert attempt_timeout(POLICY, POLICY.total_s - 3.0) == 3.0
