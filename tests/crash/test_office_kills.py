"""That an office of people with tools survives any kill, and what it does outside is done once.

P1, P3 and P4 on real processes, as in `test_run_kills` and `test_worker_kills`. With a tool outside
the world, nothing that it does happens twice, and what a kill cut is told as unknown in the record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crash import test_run_kills as runs
from tests.crash import test_worker_kills as processes
from tests.crash.office_client import DAYS, PEOPLE
from tests.crash.test_run_kills import FULL, SEED, Forks, Life, digests, made_whole
from tests.crash.watching_server import WatchingServer
from tests.support.office import furnish, respond

from perdure.base.chance import Stream
from perdure.records.drive import ToolCalled, ToolResult
from perdure.records.tools import AnswerStatus, ToolCall
from perdure.runner.replay import replay
from perdure.trace.reader import RunReader

CLIENT = Path(__file__).with_name("office_client.py")
PARTS, KILLS = (4, 26) if FULL else (1, 6)
WORKER_KILLS = 24 if FULL else 2
OPTIONS: dict[str, Any] = {"office": True, "seeds": [1, 2], "in_flight": 8}


class OfficeServer(WatchingServer):
    """A server whose model works as a clerk does, one tool after the other."""

    def _say(self, request: dict[str, Any]) -> Any:
        return respond(request)


@pytest.fixture(scope="module")
def server() -> Iterator[OfficeServer]:
    """Give one server to all runs."""
    with OfficeServer() as running:
        yield running


@pytest.fixture(scope="module", params=["inside", "outside"])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Furnish the office; once with tools of the world only, and once with one outside it."""
    with pytest.MonkeyPatch.context() as patched:
        study = furnish(tmp_path_factory.mktemp("office") / "study")
        patched.setenv("PERDURE_TEST_OFFICE", str(study))
        if request.param == "outside":
            patched.setenv("PERDURE_TEST_OUTSIDE", "1")
        yield request.param


@pytest.fixture(scope="module")
def forks(
    server: OfficeServer, place: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Forks]:
    """Give the process that forks, and see that nothing which it forked ever said a word."""
    errors = tmp_path_factory.mktemp(f"forks-{place}") / "stderr"
    started = Forks(server, errors, CLIENT)
    yield started
    started.close()
    assert errors.read_text() == ""


def outside(out: Path) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Give what is in the book, and by the record what was written there, and what is unknown."""
    told: dict[AnswerStatus, Counter[str]] = {status: Counter() for status in AnswerStatus}
    with RunReader.open(out) as reader:
        for world in reader.worlds:
            calls: dict[tuple[int, str, str], ToolCall] = {}
            for event in reader.events(world.world_id, ("tool_called", "tool_result")):
                line = event.payload
                if isinstance(line, ToolCalled):
                    calls[event.tick, line.run, line.call.id] = line.call
                elif isinstance(line, ToolResult) and line.name == "append_line":
                    called = calls[event.tick, line.run, line.call_id]
                    told[line.status][called.arguments] += 1
    book = Path(f"{out}.desk") / "book"
    lines = book.read_text().splitlines() if book.exists() else []
    written = Counter(f'{{"text": "{line}"}}' for line in lines)
    return written, told[AnswerStatus.OK], told[AnswerStatus.UNKNOWN]


def require_once(out: Path) -> int:
    """Require that nothing was done twice, and nothing that nobody knows of; count the unknown."""
    written, done, unknown = outside(out)
    assert max(written.values(), default=0) <= 1, "something was done outside twice"
    assert not done - written, "something is told as done that was not"
    assert not written - done - unknown, "something was done of which the record says nothing"
    return unknown.total()


def require_few_again(asked: Counter[bytes], life: Life) -> None:
    """Require that no more is asked twice than the kills may have cost."""
    again = sum(count - 1 for count in asked.values())
    assert again <= life.allowed, "more calls were made again than the kills caught"


class OutsideRuns(runs.Campaign):
    """Kills runs that act outside."""

    unknown = 0

    def require_asked_once(self, life: Life) -> None:
        """Require what is asked once to be; after a lost effect other things may be asked."""
        require_few_again(Counter(one.key for one in self.server.asked[life.begun :]), life)

    def require_same_end(self, life: Life) -> None:
        """Require the same end where no effect was lost, and else that it is told."""
        unknown = require_once(life.out)
        self.unknown += unknown
        if not unknown:
            super().require_same_end(life)
            return
        assert len(digests(life.out)) == len(self.whole.digests)
        self.require_asked_once(life)


class OutsideProcesses(processes.Campaign):
    """Kills workers and governors of runs that act outside."""

    unknown = 0

    def require_same_end(self, life: Life) -> None:
        """Require the same end where no effect was lost, and else that it is told."""
        unknown = require_once(life.out)
        self.unknown += unknown
        if not unknown:
            super().require_same_end(life)
            return
        assert len(digests(life.out)) == len(self.whole.digests)
        require_few_again(Counter(one.key for one in self.server.asked[life.begun :]), life)


@pytest.mark.timeout(3_600 if FULL else 300)
def test_an_office_killed_anywhere_ends_as_if_it_never_was(
    server: OfficeServer, forks: Forks, place: str, tmp_path: Path
):
    """Same digests, and nothing asked again but what a kill caught; outside, all of it once."""
    whole = made_whole(server, forks, tmp_path / "whole")
    assert max(whole.asked.values()) == 1
    assert not replay(tmp_path / "whole").diverged
    written, done, unknown = outside(tmp_path / "whole")
    assert written == done
    assert written.total() == (PEOPLE * DAYS if place == "outside" else 0)
    assert not unknown
    for part in range(PARTS):
        draws = Stream(SEED, part, f"kill an office {place}")
        kind = OutsideRuns if place == "outside" else runs.Campaign
        campaign = kind(server, forks, whole, draws)
        counts = campaign.counts
        while counts.kills < KILLS:
            out = tmp_path / f"run{part}-{counts.runs}"
            campaign.kill_a_run(out, KILLS - counts.kills)
        print(counts, getattr(campaign, "unknown", ""))  # noqa: T201 - the campaign's figures
        assert counts.in_finished >= KILLS / 2
        if FULL and isinstance(campaign, OutsideRuns):
            assert campaign.unknown


@pytest.mark.timeout(3_600 if FULL else 300)
def test_an_office_whose_processes_are_killed_ends_as_if_none_was(
    server: OfficeServer, place: str, tmp_path: Path
):
    """The same with worlds in processes of their own, which are killed as well."""
    if place == "inside" and not FULL:
        pytest.skip("With a tool outside, all of it is seen at the quick size.")
    whole = processes.made_whole(server, OPTIONS, tmp_path / "whole")
    kind = OutsideProcesses if place == "outside" else processes.Campaign
    campaign = kind(server, whole, Stream(SEED, 0, f"kill an office {place}"), OPTIONS)
    while campaign.counts.kills.total() < WORKER_KILLS:
        campaign.live(tmp_path / f"run{campaign.counts.runs}")
    print(campaign.counts, getattr(campaign, "unknown", ""))  # noqa: T201 - as above
