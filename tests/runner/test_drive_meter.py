"""The ceilings of a drive hold whatever its endpoint reports: what nobody counted is not zero."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.alone import alone, asked_of, called, lines_in, of_kind

from perdure.base.clock import Clock, SystemClock
from perdure.base.errors import BudgetReachedError
from perdure.records.alone import Bounds
from perdure.records.drive import CancelReceived, EndCause, ModelCalled, RunFrozen
from perdure.records.request import FailureCause
from perdure.records.tools import ToolCall
from perdure.runner.alone import DrivenAlone, begin, resume
from perdure.runner.drive_meter import Spent
from perdure.testing import MisbehavingServer, SkippingClock

WORTH = 20_000  # tokens; at a price of 1 a million each is worth 1000 nano-units
CEILINGS = [Bounds(tokens=WORTH), Bounds(money=WORTH * 1000)]


def looks(_: dict[str, Any]) -> tuple[ToolCall, ...]:
    """Say what never ends: something is looked at."""
    return (called("list_files"),)


def driven(
    folder: Path, faults: Any, bounds: Bounds, *, watched: bool = False, clock: Clock | None = None
) -> DrivenAlone:
    """Drive to the end against an endpoint with faults."""
    with MisbehavingServer(responder=looks) as server:
        server.play(faults)
        company = alone(folder, piece=(lambda _: None) if watched else None)
        asked = asked_of(server, bounds=bounds)
        return asyncio.run(begin(folder, asked, company, clock=clock or SkippingClock()))


def spent_in(ended: DrivenAlone) -> Spent:
    """Give what a drive took."""
    assert ended.spent is not None
    return ended.spent


@pytest.mark.parametrize("ceiling", CEILINGS)
@pytest.mark.parametrize(
    ("fault", "watched"),
    [
        ("usage_missing", False),
        ("usage_null", False),
        ("usage_negative", False),
        ("status_500", False),
        ("reset_mid_body", False),
        ("cut_inside", True),
        ("cut_after_finish", True),
    ],
)
def test_what_nobody_counted_counts_as_the_most(
    tmp_path: Path, fault: str, ceiling: Bounds, *, watched: bool
) -> None:
    """Replies without a usage, and calls that broke off, reach a ceiling without passing it."""
    ended = driven(tmp_path, fault, ceiling, watched=watched)
    assert ended.frozen.cause is (EndCause.TOKENS if ceiling.tokens else EndCause.MONEY)
    spent = spent_in(ended)
    assert 0 < spent.tokens <= WORTH
    assert spent.money == spent.tokens * 1000
    assert spent.estimated == spent.calls == len(of_kind(lines_in(tmp_path), ModelCalled)) > 0
    assert spent.unpriced == 0
    (stop,) = of_kind(lines_in(tmp_path), CancelReceived)
    assert (stop.by, stop.point) == ("ceiling", "before_call")


def test_what_cannot_have_been_billed_counts_nothing(tmp_path: Path) -> None:
    """An endpoint that turns calls away spends no tokens, and the drive goes on behind it."""
    spent = spent_in(
        driven(tmp_path, dict.fromkeys(range(20), "status_429"), Bounds(tokens=WORTH, turns=1))
    )
    assert (spent.calls, spent.estimated) == (21, 0)
    assert spent.tokens < 5000


def test_a_call_that_the_time_cuts_counts_as_the_most(tmp_path: Path) -> None:
    """It was sent, and may be billed in full."""
    ended = driven(tmp_path, "stall", Bounds(seconds=0.5), clock=SystemClock())
    assert ended.frozen.cause is EndCause.TIME
    spent = spent_in(ended)
    assert (spent.calls, spent.estimated) == (1, 1)
    assert spent.tokens > 4096


def test_without_a_ceiling_what_is_not_known_is_said(tmp_path: Path) -> None:
    """A failure that is not asked again ends it as before, and is counted."""
    ended = driven(tmp_path, "body_list", Bounds())
    assert ended.frozen.failed is FailureCause.BAD_REPLY
    assert spent_in(ended).estimated == 1


@pytest.mark.parametrize(("fault", "watched"), [("body_list", False), ("no_stream", True)])
def test_what_is_no_reply_is_judged_alike_with_and_without_a_display(
    tmp_path: Path, fault: str, *, watched: bool
) -> None:
    """Whether somebody looks on decides nothing about a failure: it is final either way."""
    faults = {0: fault, 1: "body_list"}
    ended = driven(tmp_path, faults, Bounds(turns=1), watched=watched)
    assert ended.frozen.failed is FailureCause.BAD_REPLY
    assert spent_in(ended).calls == 1 + watched  # a stream is asked for once in one piece


@pytest.mark.parametrize("ceiling", [Bounds(tokens=300), Bounds(money=400_000)])
def test_where_not_even_one_call_fits_nothing_begins(tmp_path: Path, ceiling: Bounds) -> None:
    """It is refused with what it takes; with exactly that, one call is made."""
    with pytest.raises(BudgetReachedError, match="Not even one call fits") as refused:
        driven(tmp_path / "drive", {}, ceiling)
    assert not (tmp_path / "drive" / "drive.db").exists()
    given = refused.value.remedy.split()[4].rstrip(",")

    def bounds(less: int) -> Bounds:
        if ceiling.tokens is not None:
            return Bounds(tokens=int(given) - less)
        return Bounds(money=round(float(given) * 1_000_000_000) - less)

    with pytest.raises(BudgetReachedError):
        driven(tmp_path / "drive", {}, bounds(1))
    ended = driven(tmp_path / "drive", {}, bounds(0))
    assert spent_in(ended).calls == 1


def test_a_budget_without_a_price_is_refused(tmp_path: Path) -> None:
    """What nobody can tell holds no ceiling, and is never taken for nothing."""
    with MisbehavingServer() as server:
        asked = asked_of(server, price="", bounds=Bounds(money=1_000_000_000))
        with pytest.raises(BudgetReachedError, match="nobody knows what a call costs"):
            asyncio.run(begin(tmp_path, asked, alone(tmp_path)))


def test_what_goes_on_is_refused_in_the_same_way(tmp_path: Path) -> None:
    """A handoff makes the first request longer: where that does not fit any more, it says so."""
    folder = tmp_path / "drive"
    with MisbehavingServer(responder=looks) as server:
        with pytest.raises(BudgetReachedError) as refused:
            asyncio.run(begin(folder, asked_of(server, bounds=Bounds(tokens=1)), alone(folder)))
        least = int(refused.value.remedy.split()[4].rstrip(","))
        asked = asked_of(server, bounds=Bounds(tokens=least))
        asyncio.run(begin(folder, asked, alone(folder)))
        with pytest.raises(BudgetReachedError, match=f"and {least} tokens are allowed"):
            asyncio.run(resume(folder, alone(folder)))
    assert len(of_kind(lines_in(folder), RunFrozen)) == 1
