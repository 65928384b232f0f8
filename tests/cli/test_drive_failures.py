"""What a drive says when its endpoint, its output or whoever sits there will not have it go on."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.support.alone import called, lines_in, of_kind
from tests.support.drive_desk import Desk

from perdure.base.errors import (
    EXIT_DONE,
    EXIT_KEY_OR_MODEL,
    EXIT_PAUSED,
    EXIT_STOPPED,
    EXIT_STORAGE,
    EXIT_UNREACHABLE,
)
from perdure.records.drive import ProviderFailed, RunFrozen

FAILURES = [
    ("status_400", EXIT_UNREACHABLE, "rejected the request (HTTP 400, rejected)", "--reply-tokens"),
    ("status_401", EXIT_KEY_OR_MODEL, "refused the key (HTTP 401, key_refused)", "(--key-env)"),
    ("status_402", EXIT_PAUSED, "until its account is paid (HTTP 402, out_", "Add credit"),
    ("status_404", EXIT_KEY_OR_MODEL, "does not know the model, or this address", "(--base-url)"),
]


def words(desk: Desk, *more: str) -> list[str]:
    """Give the command line of a drive in a process of its own."""
    drive = ["drive", "Do it.", "--out", str(desk.out), *desk.at, *more]
    return [sys.executable, "-m", "perdure.cli", *drive]


@pytest.mark.parametrize(("fault", "status", "what", "remedy"), FAILURES)
def test_a_failure_says_what_where_and_what_helps(
    desk: Desk, fault: str, status: int, what: str, remedy: str
) -> None:
    """On the screen, in the ledger, with --quiet and in JSON: the endpoint's own words too."""
    desk.server.play(fault)
    seen = desk.drive()
    assert seen.status == status
    (told,) = [line for line in seen.out.splitlines() if line.startswith("!! ")]
    (line,) = of_kind(lines_in(desk.out), ProviderFailed)
    assert told == f"!! {line.text}"
    assert line.text.startswith(f"{desk.server.base_url}: The model endpoint ")
    for part in (what, "It says: The test server was told to fail.", remedy):
        assert part in line.text
    desk.out = Path("quiet")
    quiet = desk.drive("--quiet")
    assert (quiet.status, quiet.err) == (status, f"perdure: {line.text}\n")
    desk.out = Path("json")
    assert desk.drive("--json").document["why"] == line.text


def test_another_model_than_the_one_asked_for_is_named(desk: Desk) -> None:
    """An endpoint that answers as another model is told of by that model's name."""
    desk.server.play("model_wrong")
    seen = desk.drive("--quiet")
    assert seen.status == EXIT_KEY_OR_MODEL
    assert "Another model answers than the one that was asked for" in seen.err
    assert "It answers as 'other-2'." in seen.err


@pytest.mark.parametrize("more", [(), ("--quiet",), ("--json",)])
def test_output_that_cannot_be_written_is_said(desk: Desk, more: tuple[str, ...]) -> None:
    """A full disk behind standard output is an error of its own; the drive goes on to its end."""
    desk.says((called("write_file", path="a.txt", text="a"),), "It is done.")
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            words(desk, *more), stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert ran.returncode == EXIT_STORAGE
    assert ran.stderr.startswith(b"perdure: Standard output cannot be written")
    assert ran.stderr.count(b"\n") == 1
    assert (desk.out / "room" / "a.txt").read_text() == "a"
    (frozen,) = of_kind(lines_in(desk.out), RunFrozen)
    assert frozen.completion.value == "done"


@pytest.mark.parametrize("pause_s", [0.001, 0.02, 0.1])
def test_more_interrupts_than_two_say_nothing_more(desk: Desk, pause_s: float) -> None:
    """Whoever presses Ctrl-C on and on gets the drive closed, and no traceback."""
    going = threading.Event()
    desk.server.responder = lambda _: "Late." if going.wait(60) else ""
    started = subprocess.Popen(words(desk), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not desk.server.calls:
        going.wait(0.01)
    while started.poll() is None:
        started.send_signal(signal.SIGINT)
        threading.Event().wait(pause_s)
    out, wrong = started.communicate(timeout=60)
    going.set()
    assert (started.returncode, wrong) == (EXIT_STOPPED, b"")
    assert b"cancelled (halt) after" in out
    (frozen,) = of_kind(lines_in(desk.out), RunFrozen)
    assert frozen.cause.value == "halt"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_after_the_end_changes_nothing(desk: Desk, number: signal.Signals) -> None:
    """A drive that has said that it is done exits as one that is done."""
    desk.says("It is done.")
    started = subprocess.Popen(words(desk), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert started.stdout is not None
    for line in started.stdout:
        if line.startswith(b"done (concluded)"):
            break
    while started.poll() is None:
        started.send_signal(number)
        threading.Event().wait(0.005)
    _, wrong = started.communicate(timeout=60)
    assert (started.returncode, wrong) == (EXIT_DONE, b"")
