"""`perdure drive` as it is given, told and ended, and the commands that take its folder too."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.alone import MODEL, called, left_behind, lines_in, of_kind, task_of, turn_of
from tests.support.drive_desk import Desk

from perdure.base.clock import SystemClock
from perdure.base.errors import (
    EXIT_DONE,
    EXIT_HELD,
    EXIT_KEY_OR_MODEL,
    EXIT_PAUSED,
    EXIT_SOME_FAILED,
    EXIT_STOPPED,
    EXIT_STORAGE,
    EXIT_UNREACHABLE,
    EXIT_USAGE,
)
from perdure.cli.drive_view import exit_of
from perdure.records.drive import (
    CancelReceived,
    ChildEnded,
    EndCause,
    HandoffWritten,
    SteerReceived,
)


def test_a_drive_is_told_and_shown(desk: Desk) -> None:
    """What it does is told as it does it; its folder can be read by each command that reads."""
    desk.says((called("write_file", path="a.txt", text="hi\n"),), "It is done.\nReally.")
    said = desk.drive("--window", 1000)
    assert said.status == EXIT_DONE, said.err
    assert said.err == ""
    told = said.out.splitlines()
    assert told[:2] == ["-> write_file a.txt", "   ok, 21 bytes: 3 bytes are in a.txt."]
    assert told[2:5] == ["It is done.", "Really.", ""]
    assert told[5].startswith("done (concluded) after 2 turns: 2 calls, ")
    assert told[6] == f"  perdure drive show {desk.out}  what it did, line by line"
    assert (desk.out / "room" / "a.txt").read_text() == "hi\n"
    listed = desk.call("drive", "show", desk.out).out
    assert "asks for write_file" in listed
    assert "run_frozen            done (concluded) after 2 turns: line 11" in listed
    assert max(map(len, listed.splitlines())) <= 100
    lines = desk.call("drive", "show", desk.out, "--json").document
    assert [one["seq"] for one in lines] == list(range(len(lines)))
    assert desk.call("drive", "show", desk.out, 1).document == lines[1]
    stands = desk.call("status", desk.out).out
    assert f"{desk.out}: done" in stands
    assert "of the 1,000 tokens of its window" in stands
    assert "Last ending: done (concluded) after 2 turns." in stands
    found = desk.call("status", desk.out, "--json").document
    assert (found["state"], found["drives"], found["ending"]["cause"]) == ("done", 1, "concluded")
    assert desk.call("verify", desk.out).out.startswith(f"{desk.out}: sound, {len(lines)} lines")
    assert desk.call("stop", desk.out).out.startswith("Nobody works on this drive")
    assert desk.drive().status == EXIT_HELD
    again = desk.call("drive", "resume", desk.out)
    assert (again.status, again.out[:15]) == (EXIT_DONE, "It is done alre")


def test_quiet_and_json_say_how_it_ended(desk: Desk) -> None:
    """--quiet shows nothing under way, and --json one document; no stream is asked for then."""
    desk.says("It is done.")
    said = desk.drive("--quiet")
    assert said.out.startswith("\ndone (concluded) after 1 turn: 1 call")
    desk.out = desk.out.with_name("other")
    document = desk.drive("--json").document
    assert (document["completion"], document["text"], document["exit"]) == (
        "done",
        "It is done.",
        0,
    )
    assert document["cost"] > 0
    assert not any("stream" in seen.body for seen in desk.server.requests if seen.body)


def test_everything_that_is_wrong_is_said_at_once(desk: Desk, tmp_path: Path) -> None:
    """Each option that cannot be is named, and nothing is begun."""
    (tmp_path / "rules").write_bytes(b"\xff\xfe\xff")
    said = desk.call(
        *("drive", " ", "--out", desk.out, "--model", "http", "--base-url", desk.server.base_url),
        *("--model-name", MODEL, "--room", tmp_path / "nowhere", "--rules", tmp_path / "rules"),
        *("--rules", tmp_path / "none", "--server", "nameless", "--server", "git=/no/such/program"),
        *("--trust", "gti", "--unsandboxed", "--budget", "1"),
    )
    assert said.status == EXIT_USAGE
    assert said.err.startswith("perdure: 9 things are wrong:\n")
    for wrong in (
        "The task is empty.",
        "There is no such folder to work in.",
        "The rules are not text in UTF-8.",
        "The file of rules does not exist.",
        "--server `nameless` does not name a server.",
        "names a program that is not there: `/no/such/program`.",
        "--trust `gti` names no server. Did you mean `git`?",
        "--unsandboxed is given without --commands",
        "A budget holds nothing where nobody knows what a call costs.",
    ):
        assert wrong in said.err
    assert not desk.out.exists()
    assert said.out == ""


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (("--commands", "--read-only"), "--commands is given, and --read-only too."),
        (("--budget", "much"), "--budget `much` cannot be read"),
        (("--turns", "0"), "--turns `0` cannot be read. Give a whole number from 1 to"),
        (("--program", "true"), "--program is given, and --model, --base-url"),
    ],
)
def test_what_contradicts_itself_is_refused(desk: Desk, given: tuple[str, ...], wrong: str) -> None:
    """Options that cannot both be meant are refused with the words for it."""
    said = desk.drive(*given)
    assert said.status == EXIT_USAGE
    assert wrong in said.err
    assert not desk.out.exists()


def test_the_record_is_kept_out_of_the_room(desk: Desk, tmp_path: Path) -> None:
    """An agent cannot be given the folder in which its own ledger lies."""
    said = desk.drive("--room", tmp_path)
    assert said.status == EXIT_USAGE
    assert "lies in the folder that is worked in" in said.err


def test_a_key_is_not_stored_with_the_task(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked is stored as it is, so a key of the environment is refused in it."""
    monkeypatch.setenv("SOME_TOKEN", "abcd-1234-efgh")
    said = desk.drive(task="Use abcd-1234-efgh.")
    assert said.status == EXIT_USAGE
    assert "holds a key of this environment" in said.err
    assert "abcd" not in said.err


def test_without_git_or_a_sandbox_it_says_what_to_do(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What this system lacks is said with the option that does without it."""
    monkeypatch.setattr("perdure.cli.drive_asked.missing", lambda: "Landlock is missing")
    monkeypatch.setenv("PATH", "/nowhere")
    said = desk.drive("--commands")
    assert said.status == EXIT_USAGE
    assert "Commands cannot be confined here: Landlock is missing." in said.err
    assert "(--unsandboxed)" in said.err
    assert "Install git, or let the agent only read (--read-only)." in said.err


def test_a_server_that_is_none_ends_it(desk: Desk) -> None:
    """A program that speaks no protocol is not there, which is no bug of ours."""
    said = desk.drive("--server", "git=true")
    assert said.status == EXIT_UNREACHABLE
    assert "The tool server 'git' is not there" in said.err
    assert "bug" not in said.err


@pytest.mark.parametrize(
    ("steps", "more", "status", "cause"),
    [
        ([(called("list_files"),)], (), EXIT_SOME_FAILED, "stuck"),
        ([""], (), EXIT_SOME_FAILED, "empty_reply"),
        ([(called("list_files"),)], ("--turns", "1"), EXIT_PAUSED, "turns"),
    ],
)
def test_how_it_ends_is_the_exit_code(
    desk: Desk, steps: list[Any], more: tuple[str, ...], status: int, cause: str
) -> None:
    """Each way to end has its code, and says how to go on."""
    desk.says(*steps)
    said = desk.drive(*more)
    assert said.status == status
    assert f"limit ({cause}) after " in said.out
    assert f"perdure drive resume {desk.out}" in said.out
    stands = desk.call("status", desk.out).out
    assert f"{desk.out}: limit" in stands
    assert f"  perdure drive resume {desk.out}" in stands.splitlines()


@pytest.mark.parametrize(("ceiling", "too_little"), [("--tokens", 300), ("--budget", "0.0004")])
def test_a_ceiling_is_never_passed_by_a_call(desk: Desk, ceiling: str, too_little: object) -> None:
    """What a call may take has to fit before it is sent: the first one too, or nothing begins."""
    desk.says((called("list_files"),))
    refused = desk.drive(ceiling, too_little)
    assert refused.status == EXIT_PAUSED
    assert "Not even one call fits: it may take up to " in refused.err
    assert "(--reply-tokens)" in refused.err
    assert [seen.method for seen in desk.server.requests] == ["GET"]
    least = refused.err.partition(f"Give at least {ceiling} ")[2].partition(",")[0]
    # Under less than that it begins nothing, and under that it makes one call.
    said = desk.drive(ceiling, least)
    cause = "tokens" if ceiling == "--tokens" else "money"
    assert (said.status, said.err) == (EXIT_PAUSED, "")
    assert f"limit ({cause}) after 1 turn: 1 call, " in said.out
    lines = lines_in(desk.out)
    assert [line.point for line in of_kind(lines, CancelReceived)] == ["before_call"]
    (handed,) = of_kind(lines, HandoffWritten)
    assert f"Another call did not fit under its ceiling of {cause}." in handed.overview
    assert f"perdure drive resume {desk.out}" in said.out


@pytest.mark.parametrize(
    ("fault", "status"),
    [("status_500", EXIT_UNREACHABLE), ("status_401", EXIT_KEY_OR_MODEL)],
)
def test_an_endpoint_that_fails_has_its_code(desk: Desk, fault: str, status: int) -> None:
    """Without retries a failed call ends the drive with the code of its cause."""
    desk.server.play(fault)
    said = desk.drive("--retries", "0")
    assert said.status == status
    assert "cancelled (provider, " in said.out


def test_every_cause_has_an_exit_code() -> None:
    """No ending is without one; only what is done is 0."""
    codes = {cause: exit_of(cause, None) for cause in EndCause}
    assert [cause for cause, code in codes.items() if code == EXIT_DONE] == [EndCause.CONCLUDED]
    assert codes[EndCause.CANCEL] == codes[EndCause.HALT] == EXIT_STOPPED


def test_a_branch_begins_before_the_wave(desk: Desk, tmp_path: Path) -> None:
    """`fork` says where it began, and leaves the mother's room as it is."""
    first, second = (
        (called("write_file", path="a.txt", text=text, tag=text),) for text in ("one", "two")
    )
    desk.says(first, second, "It is done.")
    desk.drive()
    lines = desk.call("drive", "show", desk.out, "--json").document
    at = [one["seq"] for one in lines if one["kind"] == "tool_called"][1]
    desk.says("no", "It is done another way.")
    other = tmp_path / "other"
    said = desk.call("drive", "fork", desk.out, "--at", at, "--out", other, "Another way.")
    assert said.status == EXIT_DONE, said.err
    assert f"line {at} is within a wave" in said.err
    assert (desk.out / "room" / "a.txt").read_text() == "two"
    assert (other / "room" / "a.txt").read_text() == "one"
    kinds = [one["kind"] for one in desk.call("drive", "show", other, "--json").document]
    assert kinds[:3] == ["job_pinned", "run_forked", "run_started"]
    missing = desk.call("drive", "fork", desk.out, "--at", 999, "--out", tmp_path / "third")
    assert (missing.status, "no line 999" in missing.err) == (EXIT_USAGE, True)
    assert not (tmp_path / "third").exists()


def test_what_shows_that_it_is_done_can_be_followed(desk: Desk) -> None:
    """An end cites lines of its own drive; shown are their places among those of all drives."""

    def says(body: dict[str, Any]) -> Any:
        if task_of(body).startswith("Task: Count the notes."):
            return "There are none."
        return (called("hand_down", task="Count the notes."),) if turn_of(body) == 0 else "Done."

    desk.server.responder = says
    assert desk.drive("--hand-down").status == EXIT_DONE
    rows = desk.call("drive", "show", desk.out, "--json").document
    ends = [row for row in rows if row["kind"] == "run_frozen"]
    assert ["." in row["run"] for row in ends] == [True, False]
    listed = desk.call("drive", "show", desk.out).out
    for end, text in zip(ends, ("There are none.", "Done."), strict=True):
        (place,) = end["evidence_seq"]
        shown = desk.call("drive", "show", desk.out, place).document
        assert (shown["run"], shown["kind"], shown["text"]) == (end["run"], "model_returned", text)
        assert desk.call("drive", "show", desk.out, end["seq"]).document == end
        assert f": line {place}" in listed
    assert ends[1]["evidence"] != ends[1]["evidence_seq"]
    script = Path(__file__).parents[2] / "docs" / "drive_check.py"
    told = subprocess.run(
        [sys.executable, "-I", script, desk.out], capture_output=True, text=True, check=True
    ).stdout
    said = desk.call("verify", desk.out, "--json").document
    assert told.splitlines() == [
        *(f"{end['run']} is done, as line {end['evidence_seq'][0]} shows" for end in ends),
        f"{said['lines']} {said['chain']}",
    ]


def test_a_damaged_ledger_is_found(desk: Desk) -> None:
    """`verify` names the first line that is not what was written, and exits with 74."""
    desk.says("It is done.")
    desk.drive()
    with sqlite3.connect(desk.out / "drive.db") as database:
        database.execute("UPDATE lines SET payload = x'7b7d' WHERE seq = 2")
    said = desk.call("verify", desk.out)
    assert said.status == EXIT_STORAGE
    assert "damaged" in said.out
    assert "drive.db: line 2" in said.out
    assert desk.call("verify", desk.out, "--json").document["sound"] is False


@pytest.mark.parametrize("damage", ["object", "commit"])
def test_a_damaged_history_is_found(desk: Desk, damage: str) -> None:
    """`verify` looks for every commit that the ledger cites, and for all that they hold."""
    one, two = (called("write_file", path="a.txt", text=text) for text in ("one", "two"))
    desk.says((one,), (two,), "It is done.")
    desk.drive()
    assert desk.call("verify", desk.out).status == EXIT_DONE
    history = desk.out / "history.git"
    if damage == "object":
        max(history.glob("objects/??/*"), key=lambda path: path.stat().st_size).unlink()
    else:
        subprocess.run(
            ["git", "-C", history, "update-ref", "refs/heads/drive", "HEAD~1"], check=True
        )
    said = desk.call("verify", desk.out)
    assert (said.status, "damaged" in said.out) == (EXIT_STORAGE, True)
    assert "history.git" in said.out
    shutil.rmtree(history)
    said = desk.call("verify", desk.out)
    assert said.status == EXIT_DONE
    assert "Its history is not here: " in said.out


def test_a_folder_without_a_drive_is_named(desk: Desk, tmp_path: Path) -> None:
    """Every command that goes on says what begins one; no words at all show the help."""
    for command in (("resume",), ("show",), ("fork", "--at", "1", "--out", tmp_path / "x")):
        said = desk.call("drive", command[0], tmp_path, *command[1:])
        assert said.status == EXIT_USAGE
        assert "`perdure drive TASK --out DIR` begins one." in said.err
    said = desk.call("drive")
    assert said.status == EXIT_USAGE
    assert "perdure drive resume drives/notes" in said.err


@pytest.mark.parametrize("task", ["show", "resume", "fork", "start"])
def test_a_task_that_is_named_like_a_command_is_a_task(desk: Desk, task: str) -> None:
    """With a folder to begin in and no folder to work on, that is what it can only be."""
    desk.says("It is done.")
    words = (task, "--out", desk.out) if task != "start" else ("--out", desk.out, task)
    said = desk.call("drive", *words, *desk.at)
    assert said.status == EXIT_DONE, said.err
    assert desk.call("status", desk.out, "--json").document["task"] == task
    again = desk.call("drive", "fork", desk.out, "--out", "other")
    assert (again.status, "Missing option '--at'" in again.err) == (EXIT_USAGE, True)


def process(desk: Desk, *more: str, **how: Any) -> subprocess.Popen[bytes]:
    """Begin a drive in a process of its own."""
    words = ["drive", "Do it.", "--out", str(desk.out), *desk.at, *more]
    return subprocess.Popen([sys.executable, "-m", "perdure.cli", *words], **how)


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    done = threading.Event()
    for _ in range(6_000):
        if holds():
            return
        done.wait(0.01)
    pytest.fail("it never came to that")


def test_a_killed_drive_is_interrupted_and_never_running(desk: Desk) -> None:
    """While a process works on it, it runs; once that is killed, it is interrupted; then closed."""
    going = threading.Event()

    def slow(body: dict[str, Any]) -> Any:
        going.wait(0.0 if going.is_set() else 30.0)
        return "It is done."

    desk.server.responder = slow
    started = process(desk, "--quiet", stdout=subprocess.DEVNULL)
    until(lambda: desk.server.calls)
    assert f"{desk.out}: running" in (told := desk.call("status", desk.out).out)
    assert "turn 0, waiting for the model." in told
    assert desk.call("stop", desk.out).out.startswith("The drive was asked to stop.")
    started.kill()
    started.wait()
    told = desk.call("status", desk.out).out
    assert f"{desk.out}: interrupted" in told
    assert "was left open in turn 0, waiting for the model, by a process" in told
    going.set()
    said = desk.call("drive", "resume", desk.out)
    assert said.status == EXIT_DONE, said.err
    assert "was left open by a process that died, and is closed" in said.out
    assert desk.call("status", desk.out, "--json").document["state"] == "done"


@pytest.mark.parametrize("how", ["killed", "halted"])
def test_who_goes_on_is_told_of_work_that_was_handed_down(desk: Desk, how: str) -> None:
    """Who had it, how far it came, and what nobody began: nobody hands it down again unawares."""
    going = threading.Event()
    read: list[str] = []

    def says(body: dict[str, Any]) -> Any:
        told = body["messages"][0]["content"]
        if task_of(body).startswith("Task: Count"):
            going.wait(0.0 if going.is_set() else 30.0)
            return "There are none."
        if "You go on with work" in told:
            read.append(told)
            return "I looked."
        down = [called("hand_down", task=f"Count the {one}.", tag=one) for one in ("notes", "days")]
        return tuple(down) if turn_of(body) == 0 else "Done."

    desk.server.responder = says
    started = process(desk, "--hand-down", "--quiet", stdout=subprocess.DEVNULL)
    until(lambda: desk.server.calls == 2)
    if how == "killed":
        started.kill()
    else:
        for _ in range(2):
            started.send_signal(signal.SIGTERM)
            threading.Event().wait(0.1)
    started.wait()
    going.set()
    assert desk.call("drive", "resume", desk.out, "--quiet").status == EXIT_DONE
    (run, _), (first, _), *_ = ended = list(
        dict.fromkeys((line.run, line.run.count(".")) for line in lines_in(desk.out))
    )
    second = first[:-1] + "1"
    cause = "crash" if how == "killed" else "halt"
    ends = [(line.child, line.cause) for line in of_kind(lines_in(desk.out), ChildEnded)]
    assert ends == [(first, cause), (second, cause)]
    assert len(ended) == 3  # the one that goes on hands nothing down
    (told,) = read
    assert f"Handed down to {first}: Count the notes. It ended: cancelled ({cause})." in told
    assert f"Look first how far {first} came, whose work broke off: Count the notes." in told
    assert f"What was handed down to {second} was never begun: Count the days." in told
    assert run in desk.call("drive", "show", desk.out).out


class Terminal:
    """A drive on a terminal that is 50 columns wide, as somebody would sit at it."""

    def __init__(self, desk: Desk) -> None:
        self._own, other = pty.openpty()
        environment = {**os.environ, "COLUMNS": "50"}
        self.process = process(
            desk, stdin=other, stdout=other, stderr=other, start_new_session=True, env=environment
        )
        os.close(other)
        self.shown = ""

    def until(self, text: str, times: int = 1) -> None:
        """Read until a text was shown so often."""
        clock = SystemClock()
        end = clock.now_s() + 60
        while self.shown.count(text) < times:
            assert clock.now_s() < end, self.shown
            if select.select([self._own], [], [], 0.1)[0]:
                try:
                    self.shown += os.read(self._own, 65_536).decode()
                except OSError:
                    assert self.shown.count(text) >= times, self.shown

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def type(self, text: str) -> None:
        """Type something."""
        os.write(self._own, text.encode())

    def end(self) -> int:
        """Read to the end."""
        self.until("what it did, line by line")
        status = self.process.wait(timeout=60)
        os.close(self._own)
        return status


def test_ctrl_c_asks_for_words_and_an_empty_line_stops(desk: Desk) -> None:
    """Words reach the agent, each time that they are asked for; Enter alone stops it."""

    def slow(body: dict[str, Any]) -> Any:
        turn = turn_of(body)
        threading.Event().wait(0.3)
        return (called("list_files", tag=f"t{turn}", pattern=f"*{turn}"),)

    desk.server.responder = slow
    at = Terminal(desk)
    at.until("-> list_files")
    for number, words in enumerate(("Hurry up.", "In French."), 1):
        at.interrupt()
        at.until("Say something to the agent", number)
        at.type(f"{words}\n")
        at.until(f"** user: {words}")
    at.interrupt()
    at.until("Say something to the agent", 3)
    at.type("\n")
    assert at.end() == EXIT_STOPPED
    assert "cancelled (cancel) after" in at.shown
    steers = [one.text for one in of_kind(lines_in(desk.out), SteerReceived)]
    assert steers == ["Hurry up.", "In French."]
    told = [line for line in at.shown.splitlines() if line.startswith(("->", "   ok"))]
    assert max(map(len, told)) <= 50


def test_a_second_ctrl_c_cuts_what_is_in_flight(desk: Desk) -> None:
    """A reply that does not come keeps nobody waiting; half-typed words go to nobody."""
    going = threading.Event()
    desk.server.responder = lambda _: "Late." if going.wait(60) else ""
    at = Terminal(desk)
    until(lambda: desk.server.calls)
    at.interrupt()
    at.until("Say something to the agent")
    at.type("half a wo")
    at.interrupt()
    assert at.end() == EXIT_STOPPED
    going.set()
    assert "cancelled (halt) after 0 turns" in at.shown
    assert of_kind(lines_in(desk.out), SteerReceived) == []


@pytest.mark.parametrize("signals", [1, 2, 5])
def test_what_is_not_ready_yet_can_be_cut(desk: Desk, tmp_path: Path, signals: int) -> None:
    """A tool server that never answers keeps nobody waiting, and is gone with the drive."""
    started = process(desk, "--server", "slow=sleep 1000", "--quiet", stderr=subprocess.PIPE)
    until(lambda: left_behind(tmp_path))
    for _ in range(signals):
        started.send_signal(signal.SIGTERM)
        threading.Event().wait(0.1)
    _, wrong = started.communicate(timeout=30)
    assert started.returncode == EXIT_STOPPED
    assert b"It was stopped before it began." in wrong
    until(lambda: not left_behind(tmp_path))


def test_a_signal_to_end_asks_nobody(desk: Desk) -> None:
    """SIGTERM stops a drive at its next safe point, terminal or not."""
    going = threading.Event()

    def slow(body: dict[str, Any]) -> Any:
        going.wait(30)
        return (called("list_files", tag=f"t{turn_of(body)}"),)

    desk.server.responder = slow
    started = process(desk, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    until(lambda: desk.server.calls)
    started.send_signal(signal.SIGTERM)
    threading.Event().wait(0.3)
    going.set()
    out, _ = started.communicate(timeout=60)
    assert started.returncode == EXIT_STOPPED
    assert b"cancelled (cancel)" in out
