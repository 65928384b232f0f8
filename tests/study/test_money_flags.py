"""Limits that are given to a run later are read as a study file has them."""

from __future__ import annotations

import pytest

from perdure.base.errors import UsageError
from perdure.records.budget import Budget
from perdure.study.money_flags import rebudgeted

BUDGET = Budget(amount=5_000_000_000, calls=10)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, BUDGET),
        ({"amount": None, "calls": "20"}, Budget(amount=5_000_000_000, calls=20)),
        ({"amount": "0.25"}, Budget(amount=250_000_000, calls=10)),
        ({"calls": "none", "tokens": "7"}, Budget(amount=5_000_000_000, tokens=7)),
        ({"hours": "1.5"}, Budget(amount=5_000_000_000, calls=10, wall_s=5_400.0)),
        ({"ceiling": "6"}, Budget(amount=5_000_000_000, ceiling=6_000_000_000, calls=10)),
    ],
)
def test_what_is_given_is_changed_and_nothing_else(
    given: dict[str, str | None], wanted: Budget
) -> None:
    """What is not given stays; `none` lifts a limit."""
    assert rebudgeted(BUDGET, given) == wanted


@pytest.mark.parametrize("name", ["amount", "ceiling", "calls", "tokens", "hours"])
@pytest.mark.parametrize(
    "text",
    ["", " ", "1e30", "1_000", "\u0663", "-1", "nan", "NONE", "1.00000000000000000001", "1" * 30],
)
def test_what_no_study_could_have_is_refused(name: str, text: str) -> None:
    """The flag is named, with what to write in its place."""
    with pytest.raises(UsageError) as caught:
        rebudgeted(BUDGET, {name: text})
    assert caught.value.wrong.startswith(f"--{name} ")
    assert "`none`" in caught.value.remedy
