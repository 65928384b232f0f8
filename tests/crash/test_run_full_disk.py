"""F7, P3, P4 and P9 for whole runs: no room, no inodes, no leave to write, failing calls.

Every life is the command line itself, in a process of its own, on a disk of its own; a real server
counts what it is asked. Where no disk can be mounted a quota inside SQLite stands in, and says so.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from tests.crash.small_disk import PAGE, Disk, Said, small_disk
from tests.crash.telling import tell
from tests.crash.test_disk_full import why_no_mounts
from tests.support.street_study import ANSWERS, write_street

from perdure.base.errors import EXIT_DONE, EXIT_STOPPED, EXIT_STORAGE, EXIT_USAGE
from perdure.testing import MisbehavingServer, SeenRequest
from perdure.trace.reserve import RESERVE_BYTES

FULL = os.environ.get("PERDURE_CRASH") == "full"
# Levels of room of a whole run, and the tests that share them.
LEVELS, BLOCKS = (320, 16) if FULL else (10, 1)
# Two of five levels have no room for the run's birth.
BIRTHS = LEVELS * 2 // 5
RESUMES = 60 if FULL else 4
EXPORTS = 48 if FULL else 4
INODES = range(1, 32) if FULL else (2, 4, 5, 7, 9, 14)
# Of the calls between SQLite and the disk, in one whole run, every so manieth fails.
STRIDES = (
    {"write": 30, "sync": 3, "truncate": 1, "delete": 1}
    if FULL
    else {"write": 900, "sync": 70, "truncate": 8, "delete": 12}
)
BIG = 1 << 26
KIB = 1024

pytestmark = pytest.mark.timeout(3_600 if FULL else 300)


class Counting(MisbehavingServer):
    """Answers by the prompt alone, and counts what it is asked."""

    def __init__(self) -> None:
        super().__init__(responder=self._say)
        self.asked: Counter[bytes] = Counter()
        # What to do when so many calls have come.
        self.then: dict[int, Callable[[], None]] = {}

    def _see(self, method: str, path: str, headers: dict[str, str], body: bytes) -> SeenRequest:
        seen = super()._see(method, path, headers, body)
        if seen.index >= 0:
            self.then.pop(self.calls, lambda: None)()
            self.asked[_key(seen.body)] += 1
        return seen

    def _say(self, request: dict[str, Any]) -> str:
        return ANSWERS[_key(request)[1] % len(ANSWERS)]


def _key(request: dict[str, Any]) -> bytes:
    return sha256(str(sorted(request.items())).encode()).digest()


class Runs:
    """The one run of this module on its disk: its command, and its undisturbed end."""

    def __init__(self, disk: Disk, server: Counting, study: Path) -> None:
        self.disk = disk
        self._server = server
        self._words = ("run", str(study), "--out", str(disk.run), "--quiet", "--json")
        disk.new(BIG)
        said = self.run()
        assert said.status == EXIT_DONE, said
        self.digests = self.digests_of(said)
        self.once = Counter(server.asked)
        self.files = disk.files()
        disk.put_away("whole")

    def anew(self) -> Runs:
        """Have the disk and the server as they were when the run had come to its end."""
        self._server.play({})
        self._server.then.clear()
        self.disk.new(BIG)
        self.disk.take_out("whole")
        self.forget(self.once)
        return self

    def run(self, **how: Any) -> Said:
        """Start or continue the run."""
        said = self.disk.live(*self._words, **how)
        assert "Traceback" not in said.out + said.err, said.err
        return said

    def after(self, calls: int, do: Callable[[], None]) -> None:
        """Do something when so many calls from now have reached the server."""
        self._server.then[self._server.calls + calls] = do

    def fail_from(self, calls: int, fault: str) -> None:
        """Have the server play a fault at every call, after so many from now; none if empty."""
        begin = self._server.calls + calls
        self._server.play(lambda seen: fault if fault and seen.index >= begin else None)

    def ask(self, command: str) -> Said:
        """Read the run with a command."""
        return self.disk.live(command, str(self.disk.run), "--json")

    @property
    def asked(self) -> Counter[bytes]:
        """What the server has been asked, and how often."""
        return self._server.asked

    def forget(self, begun: Counter[bytes] | None = None) -> None:
        """Count what the server is asked from here on, on top of what had been asked by then."""
        self._server.asked = Counter(begun)

    def stopped(self, said: Said) -> str:
        """Check how a life ended that found no room; say where, or nothing if it came to its end.

        The run is paused and says why, its record is sound, and it is not there at all only if not
        even its registry could be born.
        """
        if said.status == EXIT_DONE:
            assert self.digests_of(said) == self.digests
            return ""
        assert said.status == EXIT_STOPPED, said
        told = said.document
        why = told["result"]["cause"] if "result" in told else told["error"]["wrong"]
        assert "is full. Everything acknowledged is kept." in why
        where = why if "result" in told else told["error"]["where"]
        status, verified = self.ask("status"), self.ask("verify")
        if "run.db" not in self.disk.files():
            assert status.status == verified.status == EXIT_USAGE
            assert status.document["error"]["wrong"] == "There is no run in this folder."
        else:
            assert verified.status == EXIT_DONE, verified.out
            assert status.document["state"] == "paused", status.document
            assert "is full" in status.document["cause"]
        return str(where).partition(str(self.disk.run))[2].partition(":")[0]

    def goes_on(self, *, is_lost: bool = False) -> int:
        """Check that the run comes to the undisturbed end, and asks nothing again that it has.

        Gives how many calls were made again: each of them was charged as lost before, unless the
        whole journal is lost, which is then recorded once.
        """
        said = self.run()
        assert said.status == EXIT_DONE, said
        assert self.digests_of(said) == self.digests
        assert self.ask("verify").status == EXIT_DONE
        ledger = self.ask("ledger")
        assert ledger.status == EXIT_DONE
        parts = {part["kind"]: part["count"] for part in ledger.document["outside"]["parts"]}
        again = self._server.asked - self.once
        assert set(self._server.asked) == set(self.once)
        losses = self.ask("verify").document["journal_losses"]
        assert len(losses) == is_lost
        assert parts.get("estimated", 0) == sum(loss["ticks"] for loss in losses)
        assert set(parts) <= {"lost", "estimated"}
        assert again.total() <= parts.get("lost", 0) or is_lost
        return again.total()

    def digests_of(self, said: Said) -> list[str]:
        """Read each world's digest from what a run said."""
        return [world["digest"] for world in said.document["result"]["worlds"]]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Make the run that is never disturbed, once for all tests."""
    place = tmp_path_factory.mktemp("place")
    with Counting() as server:
        study = write_street(place / "study", server.base_url)
        with small_disk(study, place) as disk:
            yield Runs(disk, server, study)


@pytest.fixture
def runs(shared: Runs) -> Runs:
    """Give a disk on which the run came to its end undisturbed."""
    return shared.anew()


def level(runs: Runs, number: int) -> int:
    """Give the size of a disk: from nothing at all to just enough for the whole run."""
    # A birth is made in a log and then copied; beside it stands the reserve.
    born = RESERVE_BYTES + 2 * runs.files["run.db"][0] + 48 * KIB
    if number < BIRTHS:
        return PAGE + (born - PAGE) * number // BIRTHS
    grows = 2 * sum(size for name, (size, _) in runs.files.items() if name.startswith("worlds/"))
    return born + grows * (number - BIRTHS) // max(LEVELS - BIRTHS - 1, 1)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_full_disk_pauses_a_run(runs: Runs, block: int, record_property: Any) -> None:
    """At every level of room: 75 and why, paused, sound; with room the same command ends it."""
    ends: Counter[str] = Counter()
    again = 0
    for number in range(block, LEVELS, BLOCKS):
        runs.forget()
        runs.disk.new(level(runs, number))
        ends[runs.stopped(runs.run()).partition("/worlds/")[0] or "/worlds"] += 1
        runs.disk.room()
        again += runs.goes_on()
    tell(f"fill levels: {ends.total()}, where: {dict(ends)}, calls made again: {again}")
    record_property("levels", ends.total())
    assert len(ends) > 2


def is_paused(runs: Runs, number: int) -> bool:
    """Run on a disk of this level; say whether it was too small for the whole run."""
    runs.forget()
    runs.disk.new(level(runs, number))
    return bool(runs.stopped(runs.run()))


@pytest.mark.parametrize("left", ["killed", "paused", "without its journal"])
def test_a_full_disk_pauses_what_is_continued(runs: Runs, left: str, record_property: Any) -> None:
    """However a run was left, and however little room there is: 75, paused, and on with room."""
    if left == "paused":
        # As far as a run comes that does not come to its end.
        assert any(is_paused(runs, number) for number in reversed(range(BIRTHS, LEVELS)))
    else:
        runs.forget()
        runs.disk.new(BIG)
        assert runs.run(crash_at="tick.before-append:6").status == -SIGKILL
    kept = runs.disk.put_away(left)
    if left == "without its journal":
        for path in kept.glob("calls.db*"):
            path.unlink()
    begun = Counter(runs.asked)
    ends: Counter[str] = Counter()
    for number in range(RESUMES):
        runs.forget(begun)
        runs.disk.new(BIG)
        runs.disk.take_out(left)
        runs.disk.leave(number * 768 * KIB // RESUMES // PAGE * PAGE)
        ends[runs.stopped(runs.run()).partition("/worlds/")[0] or "/worlds"] += 1
        runs.disk.leave(BIG // 2)
        runs.goes_on(is_lost=left == "without its journal")
    tell(f"fill levels of a run left {left}: {ends.total()}, where: {dict(ends)}")
    record_property("levels", ends.total())
    assert len(ends) > 1


@pytest.mark.parametrize("earlier", [False, True], ids=["first", "again"])
def test_an_export_is_whole_or_not_there(runs: Runs, earlier: bool) -> None:  # noqa: FBT001
    """Without room an export ends with 75 and leaves nothing of itself; reading needs no room."""
    whole = runs.files if not earlier else {}
    if earlier:
        assert runs.ask("export").status == EXIT_DONE
        whole = runs.disk.files()
    statuses = []
    for number in range(EXPORTS):
        runs.disk.leave(number * 1_600 * KIB // EXPORTS // PAGE * PAGE)
        said = runs.ask("export")
        statuses.append(said.status)
        if said.status == EXIT_STOPPED:
            assert "is full" in said.document["error"]["wrong"]
            assert runs.disk.files() == whole
        for command in ("report", "status", "ledger", "verify"):
            assert runs.ask(command).status == EXIT_DONE
        if said.status == EXIT_DONE:
            break
    assert statuses == [EXIT_STOPPED] * (len(statuses) - 1) + [EXIT_DONE]
    assert len(statuses) > 1
    tell(f"fill levels of an export: {len(statuses)}")


def test_a_disk_without_inodes_pauses_a_run(runs: Runs) -> None:
    """That no further file can be made is a full disk too."""
    require_mounts()
    ends: Counter[str] = Counter()
    for inodes in INODES:
        runs.forget()
        runs.disk.new(BIG, inodes=inodes)
        ends[runs.stopped(runs.run())] += 1
        runs.disk.room()
        runs.goes_on()
    tell(f"counts of inodes: {ends.total()}, where: {dict(ends)}")
    assert ends.total() - ends[""] > 2


def test_a_disk_that_may_not_be_written_is_said(runs: Runs) -> None:
    """Read-only from the start or since a pause: 74 and why, nothing touched; then on."""
    require_mounts()
    for begun in (False, True):
        runs.forget()
        runs.disk.new(BIG)
        if begun:
            assert runs.run(crash_at="tick.before-append:6").status == -SIGKILL
        runs.disk.read_only()
        before = runs.disk.files()
        said = runs.run()
        assert said.status == EXIT_STORAGE, said
        assert "Read-only file system" in said.document["error"]["wrong"]
        assert runs.disk.files() == before
        assert runs.ask("verify").status == (EXIT_DONE if begun else EXIT_USAGE)
        runs.disk.room()
        runs.goes_on()


@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("kind", STRIDES)
def test_a_failing_call_ends_a_run_by_name(runs: Runs, kind: str, for_good: bool) -> None:  # noqa: FBT001
    """A disk that fails under a run: 74 or 75 and why, sound, and another process goes on."""
    lives = ended = 0
    while True:
        runs.forget()
        runs.disk.new(BIG)
        said = runs.run(fails=(kind, 1 + lives * STRIDES[kind], for_good))
        if not runs.disk.failed:
            break
        lives += 1
        if said.status != EXIT_DONE:
            ended += 1
            assert said.status in {EXIT_STORAGE, EXIT_STOPPED}, said
            told = said.document
            assert told["result"]["cause"] if "result" in told else told["error"]["wrong"]
        if "run.db" in runs.disk.files():
            assert runs.ask("verify").status == EXIT_DONE
            assert runs.ask("status").document["state"] in {"paused", "interrupted", "completed"}
        runs.goes_on()
    tell(f"a {kind} fails: {lives} lives, {ended} of them ended by it")
    assert lives > 1


def require_mounts() -> None:
    """Skip where no disk can be mounted, and say why."""
    if why_no_mounts():
        pytest.skip(f"no disk of its own can be mounted: {why_no_mounts()}")
