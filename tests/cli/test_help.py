"""`perdure --help` is a page of documentation, and every command has one of its own."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from perdure.base import errors
from perdure.cli.app import app
from perdure.trace.export_tables import TURNS

COMMANDS = (
    "plan",
    "run",
    "resume",
    "stop",
    "status",
    "budget",
    "ledger",
    "verify",
    "replay",
    "score",
    "show",
    "report",
    "export",
    "supervise",
)


def test_the_page_names_commands_exit_codes_and_environment(perdure):
    """Purpose, normal sequence, every command, every exit code and the environment are on it."""
    said = perdure("--help")
    assert said.status == 0
    for command in COMMANDS:
        assert f"\n  {command} " in said.out
        assert f"perdure {command}" in said.out
    codes = {getattr(errors, name) for name in dir(errors) if name.startswith("EXIT_")}
    listed = {int(line.split()[0]) for line in said.out.splitlines() if line[:6].strip().isdigit()}
    assert {code for code in codes if isinstance(code, int)} == listed
    for word in ("NO_COLOR", "TERM=dumb", "COLUMNS", "PERDURE_DEBUG", "--install-completion"):
        assert word in said.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_and_json(perdure, command):
    """A command's help shows how it is called, and that it can answer in JSON."""
    said = perdure(command, "--help")
    assert said.status == 0
    assert "Example:" in said.out
    assert f"  perdure {command} " in said.out
    assert "--json" in said.out


@pytest.mark.parametrize("command", [(), *((command,) for command in COMMANDS)])
def test_help_fits_eighty_columns(perdure, command, monkeypatch):
    """No line of any help page is wider than a small terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    said = perdure(*command, "--help")
    assert max(map(len, said.out.splitlines())) <= 80


def every_command(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Go through all commands, those within groups too."""
    group: Any = command or typer.main.get_command(app)
    for name, within in group.commands.items():
        yield (*path, name)
        if hasattr(within, "commands"):
            yield from every_command(within, (*path, name))


@pytest.mark.parametrize("path", tuple(every_command()), ids=" ".join)
def test_every_page_is_for_people_and_fits(perdure, path, monkeypatch):
    """Also of a command within a group: no words for programmers, and no line too wide."""
    monkeypatch.setenv("COLUMNS", "80")
    said = perdure(*path, "--help")
    assert said.status == 0
    for word in ("Raises:", "Returns:", "Error:", "Args:"):
        assert word not in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_the_list_of_commands_is_complete():
    """The list these tests go by is that of the program."""
    assert tuple(command.name for command in app.registered_commands) == COMMANDS


def test_the_page_says_what_pauses_a_run(perdure):
    """The run's own budget, or that of the provider."""
    page = " ".join(perdure("--help").out.split())
    assert "paused by its budget or the provider's" in page


def test_export_names_columns_that_exist(perdure):
    """Every column in the help of the export is one that it writes."""
    text = " ".join(perdure("export", "--help").out.split())
    listed = text.split("these columns: ")[1].split(". `wave`")[0]
    assert set(listed.split(", ")) <= {column.name for column in TURNS}


def test_no_command_shows_the_page(perdure):
    """Called without anything, the program shows its help page and ends with the usage status."""
    said = perdure()
    assert said.status == errors.EXIT_USAGE
    assert "The normal sequence" in said.err
    assert said.out == ""
