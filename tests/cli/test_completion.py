"""Shell completion knows the commands and leaves paths to the shell."""

import os
import subprocess
import sys

import pytest


def complete(*words: str) -> list[str]:
    """Ask for what may follow, as bash does after a press of Tab."""
    done = subprocess.run(
        [sys.executable, "-m", "perdure.cli"],
        capture_output=True,
        check=False,
        env={
            **os.environ,
            "_PERDURE_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        },
    )
    assert done.returncode == 0
    assert done.stderr == b""
    return done.stdout.decode().split()


def test_commands_are_completed():
    """The beginning of a command is completed to it."""
    assert complete("perdure", "rep") == ["replay", "report"]


def test_options_are_completed():
    """The options of a command are known."""
    assert "--model" in complete("perdure", "run", "--mod")


@pytest.mark.parametrize("command", ["plan", "run", "report"])
def test_paths_are_left_to_the_shell(command):
    """Files and folders are completed by the shell itself: we offer nothing in their place."""
    assert complete("perdure", command, "x") == []
