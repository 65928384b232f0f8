"""What the documentation shows is what happens: every block of every page is run, in order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, Block, blocks, pages
from tests.support.sizes import some

from perdure.study.findings import Findings
from perdure.study.yaml_reader import read_yaml
from perdure.testing import MisbehavingServer

BOOTSTRAP = "python3 -m pip install -qq --target .uv uv"
IN_ENVIRONMENT = re.compile(r"\.uv/bin/uv run (?:--[a-z-]+ )*")
EXPECTED = re.compile(r"# exit (\d+)\s*$")
ANSWER_TOKENS = "answer_tokens: 80\n"
ENDPOINT = "http://127.0.0.1:8000/v1"


class Sandbox:
    """A folder like a fresh clone, in which a page's blocks are run one after the other."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder = folder
        self.endpoint = endpoint
        self.program = ""
        self.variables = dict(os.environ)
        programs = Path(sys.executable).parent
        self.variables["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.variables["COLUMNS"] = "100"
        for name in ("examples", "docs"):
            shutil.copytree(ROOT / name, folder / name)
        # The same study with shorter answers of a language model, so that the test takes seconds.
        study = folder / "examples" / "vote96" / "study.yaml"
        text = study.read_text(encoding="utf-8")
        assert ANSWER_TOKENS in text
        study.write_text(text.replace(ANSWER_TOKENS, "answer_tokens: 8\n"), encoding="utf-8")

    def run(self, block: Block) -> None:
        """Run one block, as its language and role say."""
        if block.role == "file":
            path = self.folder / block.what
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.role == "output":
            shown = self.shell(block.what)
            _in_order(block.text.splitlines(), shown)
        elif block.language == "python":
            self.program += block.text
        elif block.language == "sh":
            for command in _commands(block.text):
                self.command(command)
        elif block.language in {"", "text", "sql"}:
            pass  # a picture of a layout or a schema; tests/trace holds those against the code
        elif block.language == "yaml":
            found = Findings(f"line {block.line}")
            assert read_yaml(block.text.encode(), found) is not None, found.listed()
        else:
            pytest.fail(f"line {block.line}: nothing says what to do with this block")

    def command(self, line: str) -> None:
        """Run one command of a shell block."""
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            self.variables[name] = value
            return
        if line.startswith(BOOTSTRAP):
            # Installing is tried on fresh machines; here, only what is run after it.
            rest = line.removeprefix(BOOTSTRAP).removeprefix(" && ")
            if not rest:
                return
            line = IN_ENVIRONMENT.sub("", rest)
        if line.startswith("pytest"):
            return  # tests/docs/test_currency.py holds it against .ci/run
        expected = EXPECTED.search(line)
        self.shell(line, status=int(expected[1]) if expected else 0)

    def shell(self, line: str, status: int = 0) -> str:
        """Run a shell line to its expected end; give what it printed."""
        # The same command on fewer people, so that the test takes seconds.
        line = line.replace(ENDPOINT, self.endpoint).replace("--n 30", "--n 1")
        return self._run(["bash", "-c", line], status)

    def end(self) -> None:
        """Run the page's Python, all of it as one program."""
        if self.program:
            self._run([sys.executable, "-c", self.program], 0)

    def _run(self, command: list[str], status: int) -> str:
        ended = subprocess.run(
            command,
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert ended.returncode == status, f"{command}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout


def _commands(text: str) -> list[str]:
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _in_order(wanted: list[str], shown: str) -> None:
    lines = [line.rstrip() for line in shown.splitlines()]
    place = 0
    for line in wanted:
        if line.strip() == "...":
            continue
        assert line.rstrip() in lines[place:], f"{line!r} is not in\n{shown}"
        place = lines.index(line.rstrip(), place) + 1


def turns() -> list[Path]:
    """List the pages that have blocks; of the long examples one at quick size, and all at full."""
    listed = [page for page in pages() if blocks(page)]
    long = [page for page in listed if "examples" in str(page)]
    return [page for page in listed if page not in long] + some(long, 3)


@pytest.mark.timeout(300)  # runs the example, and a real model
@pytest.mark.parametrize("page", turns(), ids=str)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    """Each block does what the page says, in a folder like a fresh clone."""
    with MisbehavingServer(models=("some-model-1",)) as server:
        sandbox = Sandbox(tmp_path, server.base_url)
        for block in blocks(page):
            sandbox.run(block)
        sandbox.end()


def test_a_world_of_ones_own_is_forty_lines():
    """The tutorial's world is as short as the page says."""
    (world,) = (
        one for one in blocks(Path("docs/writing-a-world.md")) if one.what == "town_hall.py"
    )
    assert "class TownHall(BaseWorld):" in world.text
    assert len(world.text.splitlines()) <= 40
