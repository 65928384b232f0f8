"""What `perdure drive` is given: read within bounds, refused at once, and stored without keys."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.alone import alone, asked_of, called, lines_in, of_kind, turn_of
from tests.support.drive_desk import Desk

from perdure.base.errors import (
    EXIT_HELD,
    EXIT_KEY_OR_MODEL,
    EXIT_STORAGE,
    EXIT_UNREACHABLE,
    EXIT_USAGE,
)
from perdure.records.drive import DriveLine, ModelCalled, SteerReceived
from perdure.runner.alone import begin
from perdure.runner.attended import Attended
from perdure.testing import MisbehavingServer

KEY = "sk-proj-Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5kL7n"
NUMBERS = (
    "--turns",
    "--tokens",
    "--budget",
    "--seconds",
    "--retries",
    "--reply-tokens",
    "--window",
)


def files_in(folder: Path) -> list[str]:
    """List everything that lies in a folder, however deep."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("given", "where"),
    [
        (("--goal", f"{KEY} works."), "The goal holds"),
        (("--rules", "rules.md"), "The file of rules rules.md holds"),
        (("--server", f"s=env KEY={KEY} true"), "--server, number 1, holds"),
        (("--server", f"s=http://127.0.0.1:1/{KEY}/mcp"), "--server, number 1, holds"),
        (("--room", KEY), "The folder to work in (--room) holds"),
        (("--key-env", KEY), "What --key-env gives holds"),
        (("--base-url", f"http://127.0.0.1:1/{KEY}"), "What --base-url gives holds"),
        ((), "The task holds"),
    ],
)
def test_what_looks_like_a_key_is_refused_before_anything_is_made(
    desk: Desk, tmp_path: Path, given: tuple[str, ...], where: str
) -> None:
    """Whatever is stored as it is given is looked through; the refusal says where, and no more."""
    (tmp_path / "rules.md").write_text(f"Use {KEY} for it.\n")
    (tmp_path / KEY).mkdir()
    before = files_in(tmp_path)
    said = desk.drive(*given, task="Do it." if given else f"use {KEY}")
    assert said.status == EXIT_USAGE
    assert f"{where} what looks like a key or a password" in said.err
    assert files_in(tmp_path) == before
    if "--key-env" not in given:
        assert KEY not in said.err + said.out


def test_a_program_and_a_branch_are_given_no_key_either(desk: Desk, tmp_path: Path) -> None:
    """The line of a program is stored, and so are the words that a branch begins with."""
    said = desk.call(
        "drive", "t", "--out", "d", "--program", f"env KEY={KEY} true", "--unsandboxed"
    )
    assert (said.status, "(--program) holds" in said.err) == (EXIT_USAGE, True)
    desk.says("It is done.")
    desk.drive()
    before = files_in(tmp_path)
    said = desk.call("drive", "fork", desk.out, "--at", 2, "--out", "other", f"With {KEY}.")
    assert (said.status, "The task holds what looks like a key" in said.err) == (EXIT_USAGE, True)
    assert files_in(tmp_path) == before


def test_words_under_way_are_stored_without_their_keys(tmp_path: Path) -> None:
    """The agent is told what was typed; the ledger, the transcript and the display are not."""
    person = Attended(tmp_path)
    shown: list[DriveLine] = []

    def line(one: DriveLine) -> None:
        shown.append(one)
        if isinstance(one, ModelCalled) and one.turn == 0:
            person.say(f"The key is {KEY}.")

    def once(body: dict[str, Any]) -> Any:
        return (called("list_files"),) if turn_of(body) == 0 else "Done."

    with MisbehavingServer(responder=once) as server:
        company = replace(alone(tmp_path, line=line), interrupts=person)
        asyncio.run(begin(tmp_path, asked_of(server), company))
        assert KEY in server.requests[-1].body["messages"][-1]["content"]
    (steer,) = of_kind(lines_in(tmp_path), SteerReceived)
    assert steer.text.startswith("The key is [secret ")
    assert KEY not in repr(shown)
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert KEY.encode() not in path.read_bytes(), path


def test_all_that_is_wrong_is_said_at_once_numbers_too(desk: Desk, tmp_path: Path) -> None:
    """A number that cannot be hides nothing else that is wrong."""
    wrong = dict(zip(NUMBERS, ("0", "-3", "x", "inf", "1.5", "0", "1e9"), strict=True))
    given = [word for pair in wrong.items() for word in pair]
    said = desk.drive(*given, "--rules", "/nope", "--trust", "zz", "--room", "/nonexistent")
    assert said.status == EXIT_USAGE
    for flag, value in wrong.items():
        assert f"{flag} `{value}` cannot be read." in said.err
    assert said.err.startswith(f"perdure: {len(wrong) + 3} things are wrong:")
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("flag", NUMBERS)
@pytest.mark.parametrize("value", ["inf", "nan", "1e400", "-1", "9" * 400, "0x10", "many"])
def test_a_number_that_is_none_is_no_bug_of_ours(
    desk: Desk, tmp_path: Path, flag: str, value: str
) -> None:
    """Every number is plain and bounded; what is not is refused, and nothing is left behind."""
    said = desk.drive(flag, value)
    assert said.status == EXIT_USAGE, said.err
    assert f"{flag} `" in said.err
    assert files_in(tmp_path) == []


def test_rules_are_read_within_bounds(desk: Desk, tmp_path: Path) -> None:
    """A device without an end, a pipe that nobody writes to, and a huge file are refused."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge").write_bytes(b" " * ((1 << 20) + 1))
    for name, why in (
        ("/dev/zero", "is not a regular file"),
        ("pipe", "is not a regular file"),
        ("huge", "is larger than 1,048,576 bytes"),
        (".", "is a folder, not a file"),
    ):
        said = desk.drive("--rules", name)
        assert (said.status, why in said.err) == (EXIT_USAGE, True), said.err
    assert not desk.out.exists()


@pytest.mark.parametrize("out", ["file", "file/x", "file/x/y"])
def test_a_file_in_the_way_is_named(desk: Desk, tmp_path: Path, out: str) -> None:
    """Where the drive's folder cannot be made, for a branch too, that is said of the file."""
    desk.says("It is done.")
    desk.drive()
    (tmp_path / "file").touch()
    before = files_in(tmp_path)
    fork = desk.call("drive", "fork", desk.out, "--at", 2, "--out", out)
    desk.out = Path(out)
    for said in (desk.drive(), fork):
        assert said.status == EXIT_USAGE, said.err
        assert said.err.startswith("perdure: file: The drive's folder is")
    assert files_in(tmp_path) == before


def test_a_room_that_is_a_file_is_no_bug_of_ours(desk: Desk) -> None:
    """Something in the place of the room is a failure of storage, and stays."""
    desk.out.mkdir()
    (desk.out / "room").touch()
    said = desk.drive()
    assert said.status == EXIT_STORAGE, said.err
    assert files_in(desk.out) == ["room"]


def test_what_cannot_begin_leaves_nothing_behind(desk: Desk, tmp_path: Path) -> None:
    """Without its endpoint, its servers or its key it is refused, and the folder is as it was."""
    desk.out = Path("deep/drive")
    server = "a=true", "b=false"
    said = desk.drive("--server", server[0], "--server", server[1])
    assert said.status == EXIT_UNREACHABLE
    assert "2 tool servers cannot be used:" in said.err
    assert "'a'" in said.err
    assert "'b'" in said.err
    assert files_in(tmp_path) == []
    assert desk.drive("--base-url", "http://127.0.0.1:1/v1").status == EXIT_UNREACHABLE
    assert files_in(tmp_path) == []
    said = desk.drive("--key-env", "NO_SUCH_KEY_HERE", "--turns", "0")
    assert "environment variable NO_SUCH_KEY_HERE" in said.err
    assert said.err.startswith("perdure: 2 things are wrong:")
    assert desk.drive("--key-env", "NO_SUCH_KEY_HERE").status == EXIT_KEY_OR_MODEL
    assert files_in(tmp_path) == []


def test_what_was_there_stays_when_a_drive_cannot_begin(desk: Desk) -> None:
    """Only what the command itself made is taken away again."""
    (desk.out / "room").mkdir(parents=True)
    (desk.out / "room" / "mine.txt").write_text("mine")
    (desk.out / "notes.txt").write_text("mine too")
    script = shlex.quote("open('left.txt', 'w').write('by the server')")
    said = desk.drive("--server", f"a={sys.executable} -c {script}")
    assert said.status == EXIT_UNREACHABLE
    assert files_in(desk.out) == ["notes.txt", "room", "room/left.txt", "room/mine.txt"]
    desk.says("It is done.")
    desk.drive()
    before = files_in(desk.out)
    assert desk.drive().status == EXIT_HELD
    assert files_in(desk.out) == before


def test_bytes_that_are_no_text_are_no_bug_of_ours(desk: Desk, tmp_path: Path) -> None:
    """A task, a folder or a line in another encoding cannot be stored, and is refused as that."""
    odd = os.fsdecode(b"caf\xe9")
    (tmp_path / odd).mkdir()
    given = ("--goal", odd, "--room", odd, "--server", f"a=true {odd}", "--rules", f"{odd}/x")
    said = desk.drive(*given, task=odd)
    assert said.status == EXIT_USAGE
    for name in ("The task", "The goal", "The folder to work in (--room)", "--server, number 1,"):
        assert f"{name} holds bytes that are no text in UTF-8." in said.err
    assert not desk.out.exists()


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (("--speaks", "lines"), "--speaks is given without --program, and means nothing."),
        (("--budget", "0"), "--budget 0 is no budget."),
    ],
)
def test_what_would_mean_nothing_is_refused(desk: Desk, given: tuple[str, ...], wrong: str) -> None:
    """Nothing that is asked for is passed over in silence."""
    said = desk.drive(*given)
    assert (said.status, wrong in said.err) == (EXIT_USAGE, True)
    assert not desk.out.exists()
