"""What a drive that goes on is given anew: ceilings and an endpoint, which hold from then on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.alone import called, lines_in, of_kind
from tests.support.drive_desk import Desk

from perdure.base.errors import EXIT_DONE, EXIT_KEY_OR_MODEL, EXIT_PAUSED, EXIT_USAGE
from perdure.records.drive import Anew, RunStarted
from perdure.testing import MisbehavingServer

KEY = "sk-proj-Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5kL7n"


def steps(count: int) -> list[object]:
    """Give replies that each look at something else, and then one that says that it is done."""
    asks = [(called("list_files", tag=f"t{turn}", pattern=f"*{turn}"),) for turn in range(count)]
    return [*asks, "It is done."]


def anews(folder: Path) -> list[Anew | None]:
    """Give what each drive of a folder was given anew, as its ledger has it."""
    return [line.anew for line in of_kind(lines_in(folder), RunStarted)]


def test_a_ceiling_that_was_reached_can_be_raised(desk: Desk) -> None:
    """It holds for the drive that goes on, and for those after it, and the ledger says so."""
    desk.says(*steps(9))
    assert desk.drive("--turns", 1, "--tokens", 900_000).status == EXIT_PAUSED
    said = desk.call("drive", "resume", desk.out)
    assert (said.status, "limit (turns) after 1 turn:" in said.out) == (EXIT_PAUSED, True)
    said = desk.call("drive", "resume", desk.out, "--turns", 3, "--seconds", "600.5")
    assert (said.status, "limit (turns) after 3 turns:" in said.out) == (EXIT_PAUSED, True)
    said = desk.call("drive", "resume", desk.out)
    assert "limit (turns) after 3 turns:" in said.out
    said = desk.call("drive", "resume", desk.out, "--turns", "none")
    assert said.status == EXIT_DONE
    three = Anew(turns=3, tokens=900_000, seconds=600.5)
    lifted = Anew(turns=None, tokens=900_000, seconds=600.5)
    assert anews(desk.out) == [None, None, three, three, lifted]
    assert desk.call("verify", desk.out).status == EXIT_DONE


def test_an_endpoint_that_moved_is_gone_on_with(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its new address and key are used from then on, for a branch too."""
    monkeypatch.setenv("NEW_API_KEY", KEY)
    desk.says(*steps(9))
    desk.drive("--turns", 1)
    asked = desk.server.calls
    with MisbehavingServer() as moved:
        first, desk.server = desk.server, moved
        desk.says(*steps(1))
        given = ("--base-url", moved.base_url, "--key-env", "NEW_API_KEY")
        assert desk.call("drive", "resume", desk.out, *given).status == EXIT_PAUSED
        desk.says("It is done.")
        assert desk.call("drive", "resume", desk.out).status == EXIT_DONE
        other = tmp_path / "other"
        lines = len(desk.call("drive", "show", desk.out, "--json").document)
        said = desk.call("drive", "fork", desk.out, "--at", lines - 1, "--out", other)
        assert said.status == EXIT_DONE, said.err
        keys = {seen.key for seen in moved.requests if seen.index >= 0}
    assert keys == {KEY}
    assert first.calls == asked
    anew = Anew(turns=1, base_url=moved.base_url, key_env="NEW_API_KEY")
    assert anews(desk.out) == [None, anew, anew]
    for path in desk.out.glob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes()


def test_what_cannot_be_given_anew_is_refused_at_once(desk: Desk) -> None:
    """All of it is said, and no drive is begun."""
    desk.says(*steps(9))
    desk.drive("--turns", 1)
    before = lines_in(desk.out)
    said = desk.call(
        *("drive", "resume", desk.out, "--turns", "0", "--tokens", "x", "--seconds", "inf"),
        *("--budget", "-1", "--base-url", "ftp://x", "--key-env", KEY),
    )
    assert said.status == EXIT_USAGE
    assert said.err.startswith("perdure: 7 things are wrong:")
    for wrong in (
        "--turns `0` cannot be read.",
        "--tokens `x` cannot be read.",
        "--seconds `inf` cannot be read.",
        "--budget `-1` cannot be read.",
        "--base-url is not an address.",
        "There is no usable key for the model endpoint.",
        "What --key-env gives holds what looks like a key",
    ):
        assert wrong in said.err
    said = desk.call("drive", "resume", desk.out, "--key-env", "NO_SUCH_KEY_HERE")
    assert said.status == EXIT_KEY_OR_MODEL
    said = desk.call("drive", "resume", desk.out, "--base-url", f"http://127.0.0.1:1/{KEY}")
    assert said.status == EXIT_USAGE
    assert lines_in(desk.out) == before


def test_a_budget_needs_a_price_when_it_is_given_anew_too(desk: Desk) -> None:
    """Nobody knows what a call costs, so nothing would hold it."""
    desk.says(*steps(9))
    url = desk.server.base_url
    at = ("--model", "http", "--base-url", url, "--model-name", "test-model")
    said = desk.call("drive", "Do it.", "--out", desk.out, *at, "--turns", 1)
    assert (said.status, "cost unknown" in said.out) == (EXIT_PAUSED, True)
    said = desk.call("drive", "resume", desk.out, "--budget", "1")
    assert said.status == EXIT_USAGE
    assert "A budget holds nothing where nobody knows what a call costs." in said.err


def test_a_program_has_no_endpoint_and_no_known_tokens(desk: Desk) -> None:
    """What a program brings itself is not given to it anew."""
    program = ("--program", "true", "--unsandboxed", "--speaks", "lines")
    desk.call("drive", "Do it.", "--out", desk.out, *program, "--seconds", "5")
    said = desk.call(
        *("drive", "resume", desk.out, "--tokens", "5", "--base-url", "http://127.0.0.1:1/v1"),
    )
    assert said.status == EXIT_USAGE
    assert "--base-url means nothing for what answers in this drive." in said.err
    assert "--tokens is given, and nobody here knows the calls of a program." in said.err
