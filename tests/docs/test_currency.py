"""Nothing exists that the documentation does not name, and nothing is named that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from tests.docs.pages import ROOT, blocks, pages, read
from tests.support.errors import every_error_class

from perdure.base import errors
from perdure.cli.app import app
from perdure.inference.retry import RETRIED
from perdure.records.events import IS_CONTENT
from perdure.records.outcome import TurnFailureCause, UnscorableCause
from perdure.records.registry import LOG_TYPE_OF
from perdure.records.request import FailureCause

README = Path("README.md")
ERRORS = Path("docs/errors.md")
FORMAT = Path("docs/format.md")
PROMISES = Path("docs/promises.md")
OLDER_FAULTS = Path("docs/older-faults.md")

STATUSES = {
    name: status
    for name, status in vars(errors).items()
    if name.startswith("EXIT_") and isinstance(status, int)
}
COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def rows(page: Path) -> dict[str, list[str]]:
    """Read a page's tables: each row's cells under its first cell, without back-ticks."""
    found = {}
    for line in read(page).splitlines():
        if line.startswith("|"):
            cells = [cell.strip().strip("`*") for cell in line.strip("|").split("|")]
            found[cells[0]] = cells[1:]
    return found


@pytest.mark.parametrize("name", sorted(STATUSES))
def test_every_exit_code_has_a_row(name: str) -> None:
    """The README says of each exit code what it means."""
    assert str(STATUSES[name]) in rows(README)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command: str) -> None:
    """The README names each command."""
    assert re.search(rf"\bperdure {command}\b", read(README))


def test_every_error_has_a_code_of_its_own() -> None:
    """A code names one class: from process to process an error is told by its code."""
    codes = [error.code for error in every_error_class()]
    assert len(set(codes)) == len(codes), sorted(codes)


def test_every_error_has_a_row() -> None:
    """The page of errors has each error's code, with its exit status."""
    documented = rows(ERRORS)
    for error in every_error_class():
        assert error.code in documented, error
        assert documented[error.code][0] == str(error.exit_status), error


@pytest.mark.parametrize("cause", [*FailureCause, *TurnFailureCause, *UnscorableCause], ids=str)
def test_every_cause_has_a_row(cause: str) -> None:
    """The page of errors has each way in which a call, a turn or a score can fail."""
    assert str(cause) in rows(ERRORS)


@pytest.mark.parametrize("cause", FailureCause, ids=str)
def test_what_is_said_of_retries_is_so(cause: FailureCause) -> None:
    """The page of errors says of each cause whether another attempt follows."""
    assert rows(ERRORS)[cause][0].startswith("yes") == (cause in RETRIED)


@pytest.mark.parametrize("kind", IS_CONTENT)
def test_every_kind_of_event_is_described(kind: str) -> None:
    """The description of the record has a row for each kind of event."""
    assert re.search(rf"^(\||#).*`{kind}`", read(FORMAT), re.MULTILINE)


@pytest.mark.parametrize("kind", LOG_TYPE_OF)
def test_every_kind_of_log_row_is_named(kind: str) -> None:
    """The description of the record names each kind of run-log row."""
    assert f"`{kind}`" in read(FORMAT)


@pytest.mark.parametrize("number", range(1, 14))
def test_every_promise_has_a_heading(number: int) -> None:
    """The page of promises explains each promise: what it means, what is kept, what is not."""
    found = re.search(rf"^## P{number} .*?(?=^## |\Z)", read(PROMISES), re.MULTILINE | re.DOTALL)
    assert found is not None
    assert all(part in found.group() for part in ("**Means.**", "**Today.**", "**Not yet.**"))


def test_promises_cite_tests_that_exist() -> None:
    """Each place that the page of promises cites is there."""
    cited = re.findall(r"`(tests/[\w/.]+)`", read(PROMISES))
    assert cited
    missing = [place for place in cited if not (ROOT / place).exists()]
    assert not missing


def test_every_older_fault_cites_tests_that_exist() -> None:
    """Each fault of the page of older faults has a test, and each test that it names is there."""
    faults = rows(OLDER_FAULTS)
    del faults["fault"], faults["---"]
    assert len(faults) >= 12
    for fault, (_, cited) in faults.items():
        tests = re.findall(r"(tests/[\w/]+\.py)(?:::(\w+))?", cited)
        assert tests, fault
        for file, name in tests:
            text = (ROOT / file).read_text(encoding="utf-8")
            assert not name or re.search(rf"^def {name}\(", text, re.MULTILINE), f"{file}::{name}"


def test_links_lead_somewhere() -> None:
    """Each link within the documentation leads to a file, and to a heading that it has."""
    broken = []
    for page in pages():
        for target in re.findall(r"\]\(([^)\s]+)\)", read(page)):
            if "://" in target:
                continue
            place, _, anchor = target.partition("#")
            path = (ROOT / page).parent / place if place else ROOT / page
            if not path.exists() or (anchor and anchor not in anchors(path)):
                broken.append(f"{page}: {target}")
    assert not broken


def anchors(path: Path) -> set[str]:
    """List the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


def test_the_readme_shows_the_test_command_that_is_run() -> None:
    """The README's test command is, to the letter, the one that checks every change."""
    lines = [line for block in blocks(README) for line in block.text.splitlines()]
    shown = [line for line in lines if "pytest" in line]
    assert len(shown) == 1
    command = shown[0].partition(" && ")[2]
    ran = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert command in ran
