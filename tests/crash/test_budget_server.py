"""That a run never costs more than its budget, by the books of the one who bills it.

P5 on real processes: a real server bills what it reads, answered or not; runs of several worlds
with 64 calls in flight are killed at random and taken up again, under budgets of every size.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from tests.crash.billing_server import INPUT, OUTPUT, BillingServer
from tests.crash.budget_client import PERSONAS
from tests.crash.test_run_kills import environment

from perdure.analysis.ledger import build_ledger
from perdure.base.chance import Stream
from perdure.base.errors import EXIT_DONE, EXIT_PAUSED, EXIT_UNREACHABLE
from perdure.records.budget import Budget, Ladder
from perdure.trace.reader import RunReader
from perdure.trace.verify import verify

CLIENT = Path(__file__).with_name("budget_client.py")
ROOT = Path(__file__).parents[2]
RUNS = 120 if os.environ.get("PERDURE_CRASH") == "full" else 6
SEED = os.environ.get("PERDURE_CRASH_SEED", "0")
WORLDS = 2
# The calls of a round under the plan that restrains most: nobody reflects.
ROUND = WORLDS * PERSONAS
# What a call may cost at most: the longest prompt has so many bytes, an answer so many tokens.
WORST_CALL = 1_000 * INPUT + 60 * OUTPUT


class Forks:
    """Starts and kills runs that are forked by a process which has everything imported."""

    def __init__(self, server: BillingServer) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(CLIENT), server.base_url],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, *order: str) -> int | None:
        """Give an order; give what it says of the run, as `waitpid` has it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        status: int | None = json.loads(self._process.stdout.readline())[0]
        return status

    def close(self) -> None:
        """End the process that forks."""
        self._process.communicate(timeout=60)


def live(
    forks: Forks, out: Path, budget: Budget, kills: list[float], *, unruly: bool = False
) -> int:
    """Run to an end, killed after each of these times; give the exit status."""
    # Where every call is answered none may be given up, however busy the machine is.
    attempt_s = "1" if unruly else "60"
    order = (str(out), msgspec.json.encode(budget).decode(), "64", attempt_s)
    for after_s in kills:
        forks.ask("start", *order)
        threading.Event().wait(after_s)
        status = forks.ask("kill")
        if status is not None and os.WIFEXITED(status):
            break
    forks.ask("start", *order)
    status = forks.ask("wait")
    assert status is not None
    return os.waitstatus_to_exitcode(status)


def spent(out: Path) -> tuple[int, int]:
    """Give what a run says that it spent, and how many amounts it does not know."""
    with RunReader.open(out) as reader:
        ledger = build_ledger(reader)
    assert ledger.agrees
    beside = ledger.outside
    return ledger.total.amount + beside.amount, ledger.total.unknown + beside.unknown


@pytest.mark.crash
@pytest.mark.timeout(1_800)
def test_no_run_costs_more_than_its_budget(tmp_path: Path) -> None:
    """Whoever bills, whatever fails, whenever it is killed; and no run stops a round too early.

    Where calls fail or are lost, that is a round of worst cases, else one of the dearest calls.
    """
    draws = Stream("budgets", 0, "runs", SEED)
    paused = killed = billed = 0
    with BillingServer() as calm:
        forks = Forks(calm)
        try:
            assert live(forks, tmp_path / "whole", Budget(), []) == EXIT_DONE
        finally:
            forks.close()
        whole = calm.billed
        assert spent(tmp_path / "whole") == (whole, 0)
    for number in range(RUNS):
        amount = int(whole * (0.1 + 1.3 * draws.uniform()))
        budget = Budget(amount=amount, ladder=Ladder(share=(1.0, 0.4)[number % 2]))
        kills = [0.05 + 0.5 * draws.uniform() for _ in range(number % 3)]
        unruly = (0.0, 0.1, 0.25)[number % 3]
        with BillingServer(unruly=unruly) as server:
            forks = Forks(server)
            try:
                out = tmp_path / f"run{number}"
                status = live(forks, out, budget, kills, unruly=unruly > 0)
            finally:
                forks.close()
            says, unknown = spent(out)
            assert server.billed <= says <= amount, (number, server.billed, says, amount)
            assert unknown == 0
            assert verify(out).is_sound
            assert status in {EXIT_DONE, EXIT_PAUSED, EXIT_UNREACHABLE}
            if status == EXIT_PAUSED:
                paused += 1
                disturbed = unruly or kills
                each = WORST_CALL if disturbed else calm.dearest
                assert amount - says < ROUND * each, (number, amount, says)
            killed += len(kills)
            billed += server.billed
    print(f"runs {RUNS}, kills {killed}, paused {paused}, billed {billed}")  # noqa: T201
    assert paused
