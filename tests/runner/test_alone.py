"""A drive alone: what a halt closes, what a failing endpoint waits for, what is kept of secrets."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.crash.telling import tell
from tests.support.alone import (
    alone,
    asked_of,
    called,
    left_behind,
    lines_in,
    of_kind,
    task_of,
    turn_of,
)

from perdure.agent.drive.ceilings import Limited
from perdure.agent.drive.ports import Interrupt, Place, Stop
from perdure.agent.drive.tools.history import HistoryError
from perdure.agent.drive.tools.warden import missing
from perdure.base.clock import SystemClock
from perdure.base.errors import StorageFullError, UsageError
from perdure.records.alone import Bounds, Furnishing
from perdure.records.drive import (
    CancelReceived,
    CheckpointCommitted,
    ChildEnded,
    ChildStarted,
    CommandsKilled,
    DriveLine,
    DriverFailed,
    EndCause,
    HandoffWritten,
    ModelCalled,
    ModelReturned,
    RunFrozen,
    SteerReceived,
    ToolResult,
    WatchdogAction,
    WatchdogFired,
)
from perdure.records.increment import Increment, Said
from perdure.records.request import FailureCause
from perdure.records.tools import AnswerStatus
from perdure.runner.alone import Company, DrivenAlone, begin, resume
from perdure.runner.attended import Attended
from perdure.runner.branching import branch
from perdure.runner.looking_on import moment_of
from perdure.testing import MisbehavingServer, SkippingClock
from perdure.trace.stop_request import ask_to_stop

SECRET = "sk-Zx81Qp5vLm29TtRw77YhBn43KdEs60Ua"
SLEEPS = "(sleep 1000 & sleep 1000) & sleep 1000 & touch begun; wait"
# Where nothing can be confined, commands run as they are: what is shown here holds for both.
COMMANDS = Furnishing(commands=True, hands_down=True, unsandboxed=bool(missing()))


def handing_down(body: dict[str, Any]) -> Any:
    """Hand work down; who gets it runs a command that takes its time."""
    if "the rest" in task_of(body):
        return (called("run_command", command=SLEEPS),)
    return (called("hand_down", task="Do the rest."),) if turn_of(body) == 0 else "It is done."


def until_there(path: Path, driving: asyncio.Task[Any]) -> None:
    """Wait until a file is there, or nobody can write it any more."""
    while not path.exists() and not driving.done():
        asyncio.run(SystemClock().sleep(0.005))


def test_a_halt_closes_the_whole_scope(tmp_path: Path) -> None:
    """A command with grandchildren, and the child that ran it: all of it ends at once, recorded."""

    async def halted(folder: Path, server: MisbehavingServer) -> tuple[DrivenAlone, float]:
        person = Attended(folder)
        company = replace(alone(folder), interrupts=person)
        driving = asyncio.create_task(begin(folder, asked_of(server, tools=COMMANDS), company))
        await asyncio.to_thread(until_there, folder / "room" / "begun", driving)
        at = SystemClock().now_s()
        person.halt()
        ended = await driving
        return ended, SystemClock().now_s() - at

    took = []
    with MisbehavingServer(responder=handing_down) as server:
        for place in range(2):
            folder = tmp_path / str(place)
            ended, seconds = asyncio.run(halted(folder, server))
            took.append(seconds)
            assert left_behind(folder) == []
            assert ended.frozen.cause is EndCause.HALT
            lines = lines_in(folder)
            child = of_kind(lines, ChildStarted)[0].child
            (result,) = [one for one in of_kind(lines, ToolResult) if one.run == child]
            assert result.status is AnswerStatus.UNKNOWN
            (killed,) = of_kind(lines, CommandsKilled)
            assert (killed.run, killed.cause) == (child, EndCause.HALT)
            assert killed.commands[0].startswith("(sleep 1000")
            (over,) = of_kind(lines, ChildEnded)
            assert (over.child, over.cause) == (child, EndCause.HALT)
            assert {one.run for one in of_kind(lines, CancelReceived)} == {child, ended.frozen.run}
            ends = [(one.run, one.cause) for one in of_kind(lines, RunFrozen)]
            assert ends == [(child, EndCause.HALT), (ended.frozen.run, EndCause.HALT)]
    tell(f"from a halt to the end of all, in ms: {sorted(round(one * 1000) for one in took)}")
    assert min(took) < 2  # 100 ms where nothing else runs; a shared machine takes longer


def test_a_stop_ends_the_child_and_who_sent_it(tmp_path: Path) -> None:
    """A request to stop that a child meets at its safe point ends its parent as well."""

    def short(body: dict[str, Any]) -> Any:
        if "the rest" in task_of(body):
            ask_to_stop(tmp_path / "drive")
            return (called("list_files"),)
        return handing_down(body)

    with MisbehavingServer(responder=short) as server:
        folder = tmp_path / "drive"
        ended = asyncio.run(begin(folder, asked_of(server, tools=COMMANDS), alone(folder)))
    assert ended.frozen.cause is EndCause.CANCEL
    assert {one.cause for one in of_kind(lines_in(folder), RunFrozen)} == {EndCause.CANCEL}
    assert {one.by for one in of_kind(lines_in(folder), CancelReceived)} == {"perdure stop"}


def test_a_request_of_before_stops_nothing(tmp_path: Path) -> None:
    """A request to stop that a killed process did not follow is not for its successor."""
    ask_to_stop(tmp_path)
    with MisbehavingServer() as server:
        ended = asyncio.run(begin(tmp_path, asked_of(server), alone(tmp_path)))
    assert ended.frozen.cause is EndCause.CONCLUDED


def test_the_time_of_a_drive_is_that_of_its_children_too(tmp_path: Path) -> None:
    """A child gets what is left of its parent's time, and not as much again."""
    clock = SkippingClock()
    limited = Limited(Attended(tmp_path), Bounds(seconds=3.0), clock)

    async def go() -> Stop:
        await clock.sleep(2.0)
        return await limited.halted()

    assert asyncio.run(go()).cause is EndCause.TIME
    assert clock.slept == [2.0, 1.0]


def test_a_tool_server_outlives_a_child(tmp_path: Path) -> None:
    """What a child used of a tool server, its parent goes on using."""
    room = tmp_path / "room"
    room.mkdir()
    subprocess.run(["git", "init", "--quiet", str(room)], check=True)

    def using(body: dict[str, Any]) -> Any:
        look = (called("git_git_status", repo_path=str(room)),)
        if "the rest" in task_of(body):
            return look if turn_of(body) == 0 else "Looked."
        steps = [look, (called("hand_down", task="Do the rest."),), look, "It is done."]
        return steps[turn_of(body)]

    servers = {"git": f"{sys.executable} -m mcp_server_git"}
    tools = Furnishing(servers=servers, trusted=("git",), hands_down=True)
    with MisbehavingServer(responder=using) as server:
        ended = asyncio.run(begin(tmp_path, asked_of(server, tools=tools), alone(tmp_path)))
    results = of_kind(lines_in(tmp_path), ToolResult)
    assert [one.status for one in results] == [AnswerStatus.OK] * 4
    assert ended.frozen.cause is EndCause.CONCLUDED
    assert left_behind(tmp_path) == []


class WatchedClock(SkippingClock):
    """Skips, and notes what was durable when each wait of seconds began."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.durable: list[DriveLine] = []

    async def sleep(self, seconds: float) -> None:
        """Note the last line, and skip."""
        if (self._folder / "drive.db").exists() and seconds > 0.1:
            self.durable.append(lines_in(self._folder)[-1])
        await super().sleep(seconds)


def test_a_failing_endpoint_is_waited_for(tmp_path: Path) -> None:
    """Retry-After, server errors, cut streams: when it asks again is durable before it waits."""
    shown: list[str] = []

    def piece(increment: Increment) -> None:
        assert isinstance(increment, Said)
        shown.append(increment.text)

    faults = {0: "retry_after_seconds", 1: "status_500", 2: "cut_between", 3: "status_503"}
    clock = WatchedClock(tmp_path)
    with MisbehavingServer(responder=lambda _: "It is done as you asked me to.") as server:
        server.play(faults)
        company = alone(tmp_path, piece=piece)
        ended = asyncio.run(begin(tmp_path, asked_of(server), company, clock=clock))
        assert server.calls == 5
    fired = of_kind(lines_in(tmp_path), WatchdogFired)
    assert clock.durable == fired
    assert [one.action for one in fired] == [WatchdogAction.BACK_OFF] * 4
    assert [one.cause for one in fired] == [
        FailureCause.RATE_LIMITED,
        FailureCause.SERVER_ERROR,
        FailureCause.TRANSPORT,
        FailureCause.SERVER_ERROR,
    ]
    waits = [one.until - one.t for one in fired]
    assert waits[0] >= 2000  # as it asked for
    assert all(500 <= wait <= 6000 for wait in waits[1:])
    assert [one.attempt for one in of_kind(lines_in(tmp_path), ModelCalled)] == [0, 1, 2, 3, 4]
    assert ended.frozen.text == "It is done as you asked me to."
    # A reply that broke off is shown as far as it came, and then whole.
    assert "".join(shown).endswith("It is done as you asked me to.")


def test_a_halt_cuts_a_wait(tmp_path: Path) -> None:
    """What waits for an endpoint does not keep anybody waiting."""

    async def go(server: MisbehavingServer) -> DrivenAlone:
        person = Attended(tmp_path)

        def line(one: DriveLine) -> None:
            if isinstance(one, WatchdogFired):
                asyncio.get_running_loop().call_later(0.05, person.halt)

        company = replace(alone(tmp_path, line=line), interrupts=person)
        return await begin(tmp_path, asked_of(server), company)

    with MisbehavingServer() as server:
        server.play("retry_after_seconds")
        ended = asyncio.run(go(server))
    assert ended.frozen.cause is EndCause.HALT
    (fired,) = of_kind(lines_in(tmp_path), WatchdogFired)
    (cut,) = of_kind(lines_in(tmp_path), CancelReceived)
    assert cut.t < fired.until


def test_no_secret_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a result, an argument, a reply, a display, a status: the endpoint alone gets the key."""
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "keys.txt").write_text(f"key = {SECRET}\nand words\n")
    words = f"The key is {SECRET} and I wrote it down.\nThat is all, {SECRET}"

    def telling(body: dict[str, Any]) -> Any:
        steps: list[Any] = [
            (called("read_file", path="keys.txt"),),
            (called("write_file", path=f"{SECRET}.txt", text=SECRET),),
            words,
        ]
        return steps[turn_of(body)]

    shown: list[str] = []
    told: list[DriveLine] = []

    def piece(increment: Increment) -> None:
        shown.append(increment.text if isinstance(increment, Said) else repr(increment))

    with MisbehavingServer(responder=telling) as server:
        asked = asked_of(server)
        company = alone(tmp_path, piece=piece, line=told.append)
        ended = asyncio.run(begin(tmp_path, asked, company))
        sent = [message["content"] for message in server.requests[-1].body["messages"]]
        assert any(text and f"key = {SECRET}" in text for text in sent)
    kept = [path for path in tmp_path.iterdir() if path.is_file()]
    assert {path.suffix for path in kept} >= {".db", ".json", ".jsonl"}
    for path in kept:
        assert SECRET.encode() not in path.read_bytes(), path
    said = "".join(shown)
    assert SECRET not in said + repr(told) + ended.frozen.text
    assert said.count("[secret ") == 4  # an argument's two, and a reply's two
    assert said.split("'")[-1].endswith(ended.frozen.text)
    messages = subprocess.run(
        ["git", "--git-dir", str(tmp_path / "history.git"), "log", "--format=%B"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "After write_file [secret " in messages
    assert SECRET not in messages
    # In the room it is what it was: that is the user's own.
    assert (tmp_path / "room" / f"{SECRET}.txt").read_text() == SECRET


def test_words_are_read_with_the_next_request(tmp_path: Path) -> None:
    """What somebody says under way is in the next request, and nothing that was sent changes."""
    person = Attended(tmp_path)

    def line(one: DriveLine) -> None:
        if isinstance(one, ModelCalled) and one.turn == 0:
            person.say("In French, please.")

    def once(body: dict[str, Any]) -> Any:
        return (called("list_files"),) if turn_of(body) == 0 else "C'est fait."

    with MisbehavingServer(responder=once) as server:
        company = replace(alone(tmp_path, line=line), interrupts=person)
        asyncio.run(begin(tmp_path, asked_of(server), company))
        first, second = (seen.body["messages"] for seen in server.requests if seen.index >= 0)
    assert second[: len(first)] == first
    assert second[-1]["content"].endswith("In French, please.")
    assert [one.text for one in of_kind(lines_in(tmp_path), SteerReceived)] == [
        "In French, please."
    ]


def test_what_goes_on_knows_what_was_done(tmp_path: Path) -> None:
    """A drive that goes on is told of the last; the one before it keeps its end."""

    def two(body: dict[str, Any]) -> Any:
        if "was begun before you" in body["messages"][0]["content"]:
            return "It is all done."
        return (called("write_file", path="a.txt", text=f"{turn_of(body)}"),)

    with MisbehavingServer(responder=two) as server:
        asked = asked_of(server, bounds=Bounds(turns=2))
        first = asyncio.run(begin(tmp_path, asked, alone(tmp_path)))
        second = asyncio.run(resume(tmp_path, alone(tmp_path)))
        assert asyncio.run(resume(tmp_path, alone(tmp_path))) is None
        told = server.requests[-1].body["messages"][0]["content"]
    assert first.frozen.cause is EndCause.TURNS
    assert second is not None
    assert second.frozen.cause is EndCause.CONCLUDED
    assert "ceiling of turns" in told
    assert "a.txt" in told
    assert len(of_kind(lines_in(tmp_path), HandoffWritten)) == 2
    found = moment_of(tmp_path)
    assert found is not None
    assert found.doing == "done (concluded)"
    assert found.used == of_kind(lines_in(tmp_path), ModelReturned)[-1].usage.input_fresh  # type: ignore[union-attr]


def test_a_branch_has_the_room_as_it_stood(tmp_path: Path) -> None:
    """A branch begins with the files and the conversation of its place, in a folder of its own."""

    def writing(body: dict[str, Any]) -> Any:
        turn = turn_of(body)
        if "instead" in body["messages"][-1]["content"] or turn == 3:
            return "It is done."
        return (called("write_file", path="a.txt", text=f"state {turn}", tag=f"t{turn}"),)

    mother, out = tmp_path / "mother", tmp_path / "branch"
    with MisbehavingServer(responder=writing) as server:
        asyncio.run(begin(mother, asked_of(server), alone(mother)))
        lines = lines_in(mother)
        checkpoints = [n for n, one in enumerate(lines) if isinstance(one, CheckpointCommitted)]
        asked = branch(mother, checkpoints[1] - 1, out, task="Write a poem instead.")
        asyncio.run(begin(out, asked, alone(out)))
        messages = server.requests[-1].body["messages"]
    assert (mother / "room" / "a.txt").read_text() == "state 2"
    assert (out / "room" / "a.txt").read_text() == "state 0"
    assert messages[-1]["content"].endswith("Write a poem instead.")
    assert sum(message["role"] == "tool" for message in messages) == 1
    with pytest.raises(UsageError, match="no line 999"):
        branch(mother, 999, out)


def test_a_branch_of_what_was_never_committed_has_the_room_too(tmp_path: Path) -> None:
    """Before any commit, and after a last wave that nobody committed, the room is as it stands."""
    room = tmp_path / "elsewhere"
    room.mkdir()
    (room / "note.txt").write_text("as it was")
    mother = tmp_path / "mother"

    def writing(body: dict[str, Any]) -> Any:
        if turn_of(body) == 0 and "Write" in task_of(body):
            return (called("write_file", path="note.txt", text="written"),)
        return (called("list_files"),) if turn_of(body) == 1 else "It is done."

    with MisbehavingServer(responder=writing) as server:
        reads = asked_of(server, room=str(room), bounds=Bounds(turns=1))
        asyncio.run(begin(mother, reads, alone(mother)))
        assert not of_kind(lines_in(mother), CheckpointCommitted)
        first = tmp_path / "first"
        asyncio.run(begin(first, branch(mother, 4, first), alone(first)))
        assert (first / "room" / "note.txt").read_text() == "as it was"
        other = tmp_path / "other"
        writes = asked_of(server, "Write it.", room=str(room), bounds=Bounds(turns=1))
        asyncio.run(begin(other, writes, alone(other)))
        end = len(lines_in(other)) - 3
        second = tmp_path / "second"
        asyncio.run(begin(second, branch(other, end, second), alone(second)))
        assert (second / "room" / "note.txt").read_text() == "written"


def test_a_room_that_is_gone_is_said(tmp_path: Path) -> None:
    """Going on where there is no folder to work in any more is refused, in words."""
    room = tmp_path / "elsewhere"
    room.mkdir()
    folder = tmp_path / "drive"
    with MisbehavingServer(responder=lambda _: (called("list_files"),)) as server:
        asked = asked_of(server, bounds=Bounds(turns=1), room=str(room))
        asyncio.run(begin(folder, asked, alone(folder)))
        room.rmdir()
        with pytest.raises(UsageError, match="is not there"):
            asyncio.run(resume(folder, alone(folder)))


class Breaks(Attended):
    """Nobody is there any more when the second turn begins."""

    def at(self, place: Place) -> Sequence[Interrupt]:
        """Break down."""
        if place.turn:
            raise RuntimeError("gone")
        return super().at(place)


def test_a_ledger_is_one_file_however_its_drive_ended(tmp_path: Path) -> None:
    """After a fault, and after a look whether anything is left to do, reading leaves nothing."""
    with MisbehavingServer() as server:
        server.responder = lambda _body: (called("list_files"),)
        with pytest.raises(RuntimeError, match="gone"):
            asyncio.run(begin(tmp_path, asked_of(server), Company(interrupts=Breaks(tmp_path))))
        before = sorted(path.name for path in tmp_path.iterdir())
        (failed,) = of_kind(lines_in(tmp_path), DriverFailed)
        assert failed.text == "gone"
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        server.responder = lambda _body: "It is done."
        assert asyncio.run(resume(tmp_path, alone(tmp_path))) is not None
        assert asyncio.run(resume(tmp_path, alone(tmp_path))) is None
    lines_in(tmp_path)
    assert {path.name for path in tmp_path.glob("drive.db*")} == {"drive.db"}


def test_a_room_that_goes_away_under_way_is_said(tmp_path: Path) -> None:
    """The drive is closed with what went wrong, which is an error of a known kind."""
    folder = tmp_path / "drive"

    def says(body: dict[str, Any]) -> Any:
        if turn_of(body) == 1:
            (folder / "room").rename(tmp_path / "elsewhere")
        return (called("write_file", path="a.txt", text="hi", tag=str(turn_of(body))),)

    with (
        MisbehavingServer(responder=says) as server,
        pytest.raises(HistoryError, match="is not there any more"),
    ):
        asyncio.run(begin(folder, asked_of(server), alone(folder)))
    (failed,) = of_kind(lines_in(folder), DriverFailed)
    assert failed.code == "history"
    assert of_kind(lines_in(folder), RunFrozen)[0].cause is EndCause.FAULT


def test_a_branch_is_brought_over_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No room for its copy is said as such, and the same command makes it once there is some."""
    mother, other = tmp_path / "drive", tmp_path / "other"
    with MisbehavingServer(responder=lambda _: "It is done.") as server:
        asyncio.run(begin(mother, asked_of(server), alone(mother)))
        (mother / "room" / "a.txt").write_text("one")
        asked = branch(mother, 1, other)

        def full(place: Path, copy: Path, **_: object) -> None:
            copy.mkdir()
            raise shutil.Error([(str(place), str(copy), "[Errno 28] No space left on device")])

        with monkeypatch.context() as patch:
            patch.setattr(shutil, "copytree", full)
            with pytest.raises(StorageFullError):
                asyncio.run(begin(other, asked, alone(other)))
        assert not (other / "room").exists()
        asyncio.run(begin(other, asked, alone(other)))
    assert (other / "room" / "a.txt").read_text() == "one"
