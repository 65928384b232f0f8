"""The walls of the house stand, and each of them catches what it forbids."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# contract -> (module to plant the import in, what is planted)
PLANTED = {
    "layers": ("perdure/world/planted.py", "import perdure.agent.port"),
    "frozen": ("perdure/records/planted.py", "import perdure.testing"),
    "reads": ("perdure/analysis/planted.py", "import perdure.runner.config"),
    "supervisor": ("perdure/supervise/planted.py", "import perdure.trace.lock"),
    "values": ("perdure/records/planted.py", "import pathlib"),
    "storage": ("perdure/analysis/planted.py", "import sqlite3"),
    "chance": ("perdure/agent/planted.py", "import random"),
    "network": ("perdure/agent/planted.py", "import socket"),
    "processes": ("perdure/agent/planted.py", "import subprocess"),
    "terminal": ("perdure/runner/planted.py", "import rich"),
    "files": ("perdure/population/planted.py", "import yaml"),
    "weights": ("perdure/agent/planted.py", "import openvino_genai"),
    "prices": ("perdure/inference/planted.py", "import genai_prices"),
    "communities": ("perdure/population/planted.py", "import graspologic_native"),
    "servers": ("perdure/inference/planted.py", "import mcp"),
    "inert": ("perdure/trace/planted.py", "import pickle"),
}


def contracts() -> dict[str, str]:
    """Read the contracts' names by id."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter", encoding="utf-8")
    start = "importlinter:contract:"
    return {
        section.removeprefix(start): parser[section]["name"]
        for section in parser.sections()
        if section.startswith(start)
    }


def lint(source: Path) -> str:
    """Check a source tree against the contracts; give what the linter says."""
    program = (
        "import sys; from importlinter.cli import lint_imports;"
        f"sys.exit(lint_imports(config_filename={str(ROOT / '.importlinter')!r}, no_cache=True))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], cwd=source, capture_output=True, text=True, check=False
    )
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.stdout + shown.stderr)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Plant every violation in one copy of the source, and let the linter look at it."""
    source = tmp_path_factory.mktemp("house")
    shutil.copytree(ROOT / "src" / "perdure", source / "perdure")
    for module, planted in PLANTED.values():
        with (source / module).open("a", encoding="utf-8") as file:
            file.write(planted + "\n")
    return lint(source)


def test_the_source_keeps_every_contract() -> None:
    """The source as it stands keeps every contract."""
    assert f"Contracts: {len(contracts())} kept, 0 broken." in lint(ROOT / "src")


@pytest.mark.parametrize("contract", sorted(contracts()))
def test_every_contract_catches_what_it_forbids(contract: str, verdicts: str) -> None:
    """A planted violation breaks the contract that it was planted against."""
    assert f"{contracts()[contract]} BROKEN" in verdicts
