"""`perdure drive --program`: a program from its task to its end, killed, resumed, stopped."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perdure.agent.drive.tools.warden import missing
from perdure.base.errors import (
    EXIT_DONE,
    EXIT_PAUSED,
    EXIT_SOME_FAILED,
    EXIT_STOPPED,
    EXIT_UNREACHABLE,
    EXIT_USAGE,
)

pytestmark = pytest.mark.skipif(bool(missing()), reason="this system confines nothing")

# It notes its number. One that waits does so for ever, unless it goes on from a handoff.
PROGRAM = """
import json, os, sys, time
lines = sys.argv[1] == "lines"
def say(**message):
    print(json.dumps(message), flush=True)
def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit()
def reply(message, **result):
    say(jsonrpc="2.0", id=message["id"], result=result)
if not lines:
    reply(hear(), protocolVersion=1)
    reply(hear(), sessionId="s1")
told = hear()
text = told["text"] if lines else told["params"]["prompt"][0]["text"]
with open("pids", "a") as file:
    file.write(f"{os.getpid()}\\n")
def report(text):
    if lines:
        say(type="said", text=text)
    else:
        content = {"type": "text", "text": text}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        say(jsonrpc="2.0", method="session/update", params={"sessionId": "s1", "update": update})
with open("notes.txt", "w") as file:
    file.write("sorted")
report("Sorted.")
if "waits" in sys.argv and "You go on" not in text:
    open("ready", "w").close()
    time.sleep(600)
if "obeys" in sys.argv:
    open("ready", "w").close()
    assert hear() == {"type": "cancel"}
    say(type="answer", stop="cancelled")
if "ends" in sys.argv:
    say(type="answer", stop=sys.argv[-1], text="I will not.")
elif lines:
    say(type="answer", text="Sorted.")
else:
    reply(told, stopReason="end_turn")
hear()
"""


class Place:
    """A drive of the program, in a folder."""

    def __init__(self, folder: Path, speaks: str, *words: str) -> None:
        path = folder / "program.py"
        path.write_text(PROGRAM, encoding="utf-8")
        self.out = folder / "out"
        self.room = self.out / "room"
        command = shlex.join([sys.executable, str(path), speaks, *words])
        self.arguments = ["Sort the notes.", "--out", self.out, "--program", command]
        self.arguments += ["--speaks", speaks]

    def begin(self) -> subprocess.Popen[bytes]:
        """Begin the drive in a process of its own, and wait until the program is at work."""
        words = [str(one) for one in self.arguments]
        child = subprocess.Popen(
            [sys.executable, "-m", "perdure.cli", "drive", *words, "--quiet"],
            stdout=subprocess.DEVNULL,
        )
        while not (self.room / "ready").exists():
            assert child.poll() is None
            time.sleep(0.02)  # noqa: TID251 - a real process is waited for
        return child

    def gone(self) -> None:
        """Wait until nothing of the programs that were started is left."""
        pids = [int(line) for line in (self.room / "pids").read_text().split()]
        while any(Path(f"/proc/{pid}").exists() for pid in pids):
            time.sleep(0.01)  # noqa: TID251 - as above


@pytest.fixture(params=["lines", "acp"])
def speaks(request):
    """Give each way in which a program is spoken to."""
    return request.param


def test_a_program_is_driven_from_its_task_to_its_end(perdure, tmp_path, speaks):
    """What it does is shown and recorded, its room is kept, and it is done by its answer."""
    place = Place(tmp_path, speaks)
    said = perdure("drive", *place.arguments)
    assert said.status == EXIT_DONE
    assert "-- said: Sorted." in said.out
    assert "done (concluded) after 1 turn: what the program spent is not known" in said.out
    assert (place.room / "notes.txt").read_text() == "sorted"
    rows = perdure("drive", "show", place.out, "--json").document
    assert [row["kind"] for row in rows] == [
        *["job_pinned", "run_started", "checkpoint_committed", "harness_reported"],
        *["checkpoint_committed", "harness_answered", "handoff_written", "run_frozen"],
    ]
    assert rows[-1]["evidence"] == [5]
    assert rows[1]["tools"] == []
    assert rows[4]["files"] == ["notes.txt", "pids"]
    place.gone()


def test_one_whose_driver_is_killed_is_gone_and_gone_on_from_once(perdure, tmp_path, speaks):
    """No orphan; the drive that was open is closed once; the next one is told of it."""
    place = Place(tmp_path, speaks, "waits")
    child = place.begin()
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    place.gone()
    assert perdure("drive", "resume", place.out, "--quiet").status == EXIT_DONE
    assert perdure("drive", "resume", place.out, "--quiet").status == EXIT_DONE
    place.gone()
    rows = perdure("drive", "show", place.out, "--json").document
    ends = [row for row in rows if row["kind"] == "run_frozen"]
    assert [row["cause"] for row in ends] == ["crash", "concluded"]
    starts = [row for row in rows if row["kind"] == "run_started"]
    assert [row["run"] for row in starts] == [row["run"] for row in ends]
    assert starts[1]["predecessor"] == starts[0]["run"]
    assert len((place.room / "pids").read_text().split()) == 2


def test_one_is_stopped_from_elsewhere(perdure, tmp_path):
    """`perdure stop` has it asked to end its turn; what it did is kept."""
    place = Place(tmp_path, "lines", "obeys")
    child = place.begin()
    assert perdure("stop", place.out).status == EXIT_DONE
    assert child.wait() == EXIT_STOPPED
    place.gone()
    rows = perdure("drive", "show", place.out, "--json").document
    assert [row["kind"] for row in rows[-3:]] == [
        "cancel_received",
        "handoff_written",
        "run_frozen",
    ]
    assert (rows[-3]["by"], rows[-1]["cause"]) == ("perdure stop", "cancel")


@pytest.mark.parametrize("shown", ["--quiet", "--json"])
@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("marmalade", (EXIT_UNREACHABLE, "it ended its turn with 'marmalade', a word")),
        ("cancelled", (EXIT_UNREACHABLE, "it broke off its turn, and nobody had asked")),
        ("refusal", (EXIT_SOME_FAILED, "I will not.")),
    ],
)
def test_why_it_failed_is_told_where_nothing_was_shown(perdure, tmp_path, shown, word, told):
    """On standard error, or in the document: a drive that came to nothing is never silent."""
    place = Place(tmp_path, "lines", "ends", word)
    said = perdure("drive", *place.arguments, shown)
    status, why = told
    assert said.status == status
    assert why in (said.err if shown == "--quiet" else said.document["why"])


def test_a_ceiling_of_seconds_ends_it(perdure, tmp_path):
    """It is at a ceiling, and can be gone on from."""
    place = Place(tmp_path, "acp", "waits")
    said = perdure("drive", *place.arguments, "--seconds", 1, "--json")
    assert said.status == EXIT_PAUSED
    assert (said.document["completion"], said.document["cause"]) == ("limit", "time")
    place.gone()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["--tokens", 5, "--window", 9, "--retries", 0], "--tokens, --retries, --window too"),
        (["--model", "http", "--tokens", 5], "--model, --tokens too"),
        (["--commands"], "--program is given, and tools too"),
        (["--budget", "1"], "nobody knows what a call costs"),
        (["--speaks", "morse"], "--speaks"),
    ],
)
def test_what_a_program_does_not_take_is_refused(perdure, tmp_path, given, named):
    """Nothing that is asked for is passed over in silence."""
    said = perdure("drive", "Sort.", "--out", tmp_path / "out", "--program", "agent", *given)
    assert said.status == EXIT_USAGE
    assert named in said.err
    assert not (tmp_path / "out").exists()
