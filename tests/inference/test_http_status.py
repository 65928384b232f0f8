"""That error objects mean the same wherever an endpoint puts them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.inference.http.status import cause_of_error, cause_of_status
from perdure.records.request import FailureCause


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (400, b'{"error":{"code":"model_not_found"}}', FailureCause.MODEL_UNKNOWN),
        (400, b'{"error":{"status":"INVALID_ARGUMENT"}}', FailureCause.REJECTED),
        (400, b'{"error":{"code":"insufficient_quota"}}', FailureCause.REJECTED),
        (
            400,
            b'[{"error":{"code":400,"details":[{"reason":"API_KEY_INVALID"}]}}]',
            FailureCause.KEY_REFUSED,
        ),
        (429, b'{"error":{"type":"insufficient_quota"}}', FailureCause.OUT_OF_MONEY),
        (429, b'{"error":{"code":"billing_hard_limit_reached"}}', FailureCause.OUT_OF_MONEY),
        (429, b'{"code":"insufficient_quota"}', FailureCause.OUT_OF_MONEY),
        (429, b"slow down", FailureCause.RATE_LIMITED),
        (429, b"[" * 60_000, FailureCause.RATE_LIMITED),
        (500, b'{"error":{"code":"invalid_api_key"}}', FailureCause.SERVER_ERROR),
        (599, b"", FailureCause.SERVER_ERROR),
        (999, b"", FailureCause.SERVER_ERROR),
        (304, b"", FailureCause.REJECTED),
    ],
)
def test_a_status_and_its_error_have_one_cause(
    status: int, body: bytes, cause: FailureCause
) -> None:
    """The status decides, and the error's code where endpoints hide a stop behind 400 or 429."""
    assert cause_of_status(status, body) is cause


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ({"code": 429}, FailureCause.RATE_LIMITED),
        ({"code": "503"}, FailureCause.SERVER_ERROR),
        ({"code": 402}, FailureCause.OUT_OF_MONEY),
        ({"code": 401}, FailureCause.KEY_REFUSED),
        ({"type": "overloaded_error"}, FailureCause.SERVER_ERROR),
        ({"type": "authentication_error"}, FailureCause.KEY_REFUSED),
        ({"type": "invalid_request_error"}, FailureCause.REJECTED),
        ({"code": "model_not_found", "type": "invalid_request_error"}, FailureCause.MODEL_UNKNOWN),
        ({"code": True}, FailureCause.SERVER_ERROR),
        ("something broke", FailureCause.SERVER_ERROR),
        (None, FailureCause.SERVER_ERROR),
    ],
)
def test_an_error_inside_a_success_counts_as_what_it_says(
    error: object, cause: FailureCause
) -> None:
    """An error with status 200 is classified by the status or the code that it names."""
    assert cause_of_error(error)[0] is cause


@given(st.integers(300, 999), st.binary(max_size=200))
def test_no_error_is_an_exception(status: int, body: bytes) -> None:
    """Every status with every body has a cause."""
    assert isinstance(cause_of_status(status, body), FailureCause)
