"""A fresh machine gets the versions that were tested, and no file names where they come from."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def named(requirement: str) -> str:
    """Give the normalised name at the start of a requirement."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found.group()).lower()


PINS = PROJECT["tool"]["uv"]["constraint-dependencies"]
PINNED = {named(pin) for pin in PINS}


def asked() -> list[str]:
    """List what the project asks for: dependencies, extras and groups."""
    project = PROJECT["project"]
    lists = [
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *PROJECT["dependency-groups"].values(),
    ]
    return [requirement for wanted in lists for requirement in wanted]


@pytest.mark.parametrize("requirement", asked())
def test_every_dependency_is_pinned(requirement: str) -> None:
    """What the project asks for has an exact version among the pins."""
    assert named(requirement) in PINNED


def test_the_tests_run_on_the_pinned_versions() -> None:
    """Every distribution in this environment is at a version that is pinned."""
    versions: dict[str, set[str]] = {}
    for pin in PINS:
        versions.setdefault(named(pin), set()).add(pin.split("==")[1].split(" ")[0])
    here = {named(found.metadata["Name"]): found.version for found in metadata.distributions()}
    strays = {
        name: version
        for name, version in here.items()
        if name in versions and version not in versions[name]
    }
    assert not strays


def test_every_dependency_has_its_reason() -> None:
    """Each package that a user installs is argued for in the record of decisions."""
    reasons = (ROOT / "docs" / "decisions" / "001-dependencies.md").read_text(encoding="utf-8")
    project = PROJECT["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["local"]]
    assert not [name for name in map(named, wanted) if f"**{name}**" not in reasons.lower()]


def test_no_file_names_a_registry() -> None:
    """No file of the repository holds the address of a package registry."""
    hosts = ["py" + "pi.org", "python" + "hosted", "npm" + "js", "conda.ana" + "conda"]
    registries = re.compile("|".join(hosts))
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = []
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.is_file() and registries.search(path.read_bytes().decode("utf-8", "replace")):
            found.append(name)
    assert not found
