"""Every error ends as one sentence or one document, with its own exit status."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.base.errors import (
    EXIT_BUG,
    EXIT_INVALID_STUDY,
    EXIT_STOPPED,
    EXIT_STORAGE,
    EXIT_USAGE,
    HeldError,
)
from perdure.cli import status as status_command

READING = ("status", "ledger", "verify", "report", "export")


@pytest.mark.parametrize("command", READING)
def test_a_folder_without_a_run_is_a_usage_error(perdure, command, tmp_path):
    """Nothing to read is said in one sentence that names the folder; nothing is created."""
    said = perdure(command, tmp_path)
    assert said.status == EXIT_USAGE
    assert said.out == ""
    assert said.err.startswith("perdure: ")
    assert said.err.count("\n") == 1
    assert str(tmp_path) in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", READING)
def test_errors_are_json_too(perdure, command, tmp_path):
    """With --json an error is one document with what, where and what to do, on stdout alone."""
    said = perdure(command, tmp_path, "--json")
    assert said.status == EXIT_USAGE
    assert said.err == ""
    error = said.document["error"]
    assert error["code"] == "usage"
    assert error["where"] == str(tmp_path)
    assert error["remedy"]
    assert error["problems"] == []


def test_usage_errors_of_the_parser_are_ours(perdure):
    """An unknown command or option, or a missing argument, is a sentence and status 2."""
    for arguments in (("reprot", "x"), ("report",), ("report", "x", "--nonsense")):
        said = perdure(*arguments)
        assert said.status == EXIT_USAGE
        assert said.err.startswith("perdure: ")
        assert "--help" in said.err
    assert "'report'" in perdure("reprot", "x").err
    assert perdure("report", "--json").document["error"]["code"] == "usage"


def test_every_problem_of_a_study_is_listed(perdure, study_file):
    """An invalid study ends with 65 and all its problems, as lines and as data."""
    text = study_file.read_text()
    study_file.write_text(text.replace("horizon: 3", "horizon: no").replace("seeds:", "sedes:"))
    said = perdure("plan", study_file)
    assert said.status == EXIT_INVALID_STUDY
    assert len([line for line in said.err.splitlines() if "study.yaml:" in line]) >= 2
    error = perdure("plan", study_file, "--json").document["error"]
    assert error["code"] == "invalid-study"
    assert len(error["problems"]) >= 2
    assert all(problem["line"] > 0 for problem in error["problems"])


def test_an_unexpected_exception_is_a_bug_without_a_traceback(perdure, recorded, monkeypatch):
    """What nobody expected ends with 70 and a sentence; no frame, no local value is shown."""
    folder = recorded()

    def explode(*_: object, **__: object) -> None:
        raise RuntimeError("boom\x1b[2J")

    monkeypatch.setattr("perdure.analysis.standing.standing", explode)
    said = perdure("status", folder)
    assert said.status == EXIT_BUG
    assert "bug" in said.err
    assert "boom" in said.err
    assert "\x1b" not in said.err
    assert "Traceback" not in said.err
    monkeypatch.setenv("PERDURE_DEBUG", "1")
    assert "Traceback" in perdure("status", folder).err
    assert perdure("status", folder, "--json").document["error"]["code"] == "internal"


def test_ctrl_c_is_one_sentence(perdure, recorded, monkeypatch):
    """An interrupt anywhere in a command is no traceback and has the status of a stop."""
    folder = recorded()

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("perdure.analysis.standing.standing", interrupt)
    said = perdure("status", folder)
    assert said.status == EXIT_STOPPED
    assert said.err == "perdure: Interrupted. What was recorded is kept.\n"


def test_an_error_keeps_its_own_status(perdure, recorded, monkeypatch):
    """The exit status is the error's, and hostile text in it is made visible."""

    def held(*_: object, **__: object) -> None:
        raise HeldError("Held by \x1b[31mnobody\x1b[0m.")

    monkeypatch.setattr("perdure.analysis.standing.standing", held)
    said = perdure("status", recorded())
    assert said.status == HeldError.exit_status
    assert "\\x1b[31m" in said.err
    assert status_command.HELP


def test_a_reader_that_goes_away_is_no_error(recorded):
    """`perdure report | head` ends quietly with the command's own status."""
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [sys.executable, "-m", "perdure.cli", "report", str(recorded())],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert process.returncode == 0
    assert process.stderr == b""


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_full_stdout_is_a_sentence(recorded, form):
    """Where nothing can be written, the command says so with the code of a storage fault."""
    command = [sys.executable, "-m", "perdure.cli", "status", str(recorded()), *form]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == EXIT_STORAGE
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--step-limit", "--worker-memory"])
@pytest.mark.parametrize("value", ["inf", "nan", "1e400", "-1"])
def test_a_number_without_an_end_is_no_bug_of_ours(
    perdure, study_file, tmp_path, option: str, value: str
):
    """What no limit can be is refused with the status for it, and nothing is begun."""
    out = tmp_path / "run"
    said = perdure("run", study_file, "--out", out, option, value)
    assert said.status == EXIT_USAGE
    assert option in said.err
    assert not out.exists()


@pytest.mark.parametrize("words", [("run", "{}"), ("plan", "{}"), ("drive", "Do it.")])
def test_a_path_that_is_too_long_is_no_bug_of_ours(perdure, study_file, words):
    """The system takes no such name, which is said of its first characters."""
    where = [] if words[0] != "drive" else ["--model", "http"]
    said = perdure(*(word.format(study_file) for word in words), "--out", "9" * 400, *where)
    assert said.status in (EXIT_USAGE, EXIT_STORAGE)
    assert "too long" in said.err or "longer than this system takes" in said.err
    assert "bug" not in said.err
