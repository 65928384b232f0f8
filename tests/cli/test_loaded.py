"""P6: what a run has really loaded is what was compared, whatever is edited or imported meanwhile.

Plug-ins that import late, by a computed name, or beside an editor; in processes of their own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.commands import Told, commands, kill_each
from tests.support.sample_study import PEOPLE, SAMPLE

import perdure
from perdure.base.errors import EXIT_DONE, EXIT_MOVED
from perdure.trace.reader import RunReader

STUDY = SAMPLE.replace("  s1:\n", "  s1:\n    world: town:Town\n")
TOWN = """\
import os, threading
from pathlib import Path
from perdure.world import ChannelWorld

HERE = Path(__file__).parent

def save(name, text):
    # Whole, as an editor does it: two worlds, or processes, may save the same file at one moment.
    part = HERE / f"{{name}}.{{os.getpid()}}.{{threading.get_ident()}}"
    part.write_text(text + chr(10))
    part.replace(HERE / name)

{top}

class Town(ChannelWorld):
    def step(self, tick, turns, plan, answers):
        if tick == 1:
            {late}
        return super().step(tick, turns, plan, answers)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a study and its people; a test writes the plug-in."""
    study = tmp_path / "study"
    study.mkdir()
    (study / "study.yaml").write_text(STUDY)
    (study / "people.csv").write_text(PEOPLE)
    (study / "helper.py").write_text("SHIFT = 1\n")
    return study


def town(folder: Path, *, top: str = "", late: str = "pass") -> None:
    """Write the plug-in: what it does when it is imported, and what at tick 1."""
    (folder / "town.py").write_text(TOWN.format(top=top, late=late))


def run(folder: Path, **environment: str) -> Told:
    """Start or continue the run of the study, in a process of its own."""
    arguments = ("run", folder / "study.yaml", "--out", folder / "run", "--quiet", "--json")
    return commands(arguments, home=None, python="", **environment)[0]


def ticks(folder: Path) -> list[int]:
    """Give the last closed tick of each world of the plug-in."""
    with RunReader.open(folder / "run") as reader:
        told = reader.outcomes
        found = [told.get(one.world_id) for one in reader.worlds if one.scenario == "s1"]
    return [-1 if one is None else one.tick for one in found]


def test_what_is_imported_by_its_name_is_compared(folder: Path) -> None:
    """A plain import, however late, is found in the source: the run completes."""
    town(folder, late="import helper; assert helper.SHIFT")
    assert run(folder).status == EXIT_DONE


def test_a_module_that_nobody_compares_stops_the_run_before_its_tick(folder: Path) -> None:
    """A late import by a computed name: 78 names it, and nothing of that tick is on record."""
    town(folder, late="__import__(''.join(('hel', 'per')))")
    said = run(folder)
    assert said.status == EXIT_MOVED, said
    cause = said.document["result"]["cause"]
    assert "helper was loaded, and no import of it was found in the source" in cause
    assert "list its file under `files`" in cause
    assert max(ticks(folder)) <= 0
    again = run(folder)
    assert again.status == EXIT_MOVED
    assert max(ticks(folder)) <= 0


def test_a_module_whose_file_is_declared_is_compared(folder: Path) -> None:
    """What is imported by a computed name may go on if its file is one of the study's files."""
    town(folder, late="__import__(''.join(('hel', 'per')))")
    (folder / "study.yaml").write_text(f"{STUDY}files: [helper.py]\n")
    died = run(folder, PERDURE_CRASH_AT="tick.after-witness:6")
    assert died.status == -9
    (folder / "helper.py").write_text("SHIFT = 2\n")
    refused = run(folder)
    assert refused.status == EXIT_MOVED
    assert refused.document["error"]["moved"] == ["files"]
    assert "helper.py was" in refused.document["error"]["wrong"]
    (folder / "helper.py").write_text("SHIFT = 1\n")
    assert run(folder).status == EXIT_DONE


def test_a_module_that_nobody_compares_is_refused_before_anything_is_made(folder: Path) -> None:
    """Imported with the plug-in itself, it is refused before there is a folder."""
    town(folder, top="__import__(''.join(('hel', 'per')))")
    said = run(folder)
    assert said.status == EXIT_MOVED
    assert "helper was loaded" in said.document["error"]["wrong"]
    assert said.document["error"]["moved"] == ["plugins"]
    assert not (folder / "run").exists()


EDIT = "save('helper.py', 'SHIFT = 2')"


def test_code_that_is_edited_before_it_is_imported_is_refused(folder: Path) -> None:
    """Between the look at the source and the import somebody saves a file: 78 names it."""
    town(folder, top=f"{EDIT}\nfrom helper import SHIFT")
    said = run(folder)
    assert said.status == EXIT_MOVED, said
    error = said.document["error"]
    assert "changed while the run worked: helper" in error["wrong"]
    assert "-SHIFT = 1\n+SHIFT = 2" in error["diffs"][0]
    assert not (folder / "run").exists()
    # Nobody edits it any more, and the run begins.
    assert run(folder).status == EXIT_DONE


def test_code_that_is_edited_before_a_late_import_stops_the_run(folder: Path) -> None:
    """The same at tick 1: that tick is not written."""
    town(folder, late=f"{EDIT}; import helper")
    said = run(folder)
    assert said.status == EXIT_MOVED, said
    assert "changed while the run worked: helper" in said.document["result"]["cause"]
    assert max(ticks(folder)) <= 0
    assert run(folder).document["error"]["moved"] == ["plugins"]
    (folder / "helper.py").write_text("SHIFT = 1\n")
    assert run(folder).status == EXIT_MOVED, "it edits the file once more"


def test_a_comment_that_is_edited_meanwhile_is_nothing(folder: Path) -> None:
    """What moves nothing may be saved at any moment."""
    edit = "save('helper.py', 'SHIFT = 1  # one')"
    town(folder, top=f"{edit}\nfrom helper import SHIFT")
    assert run(folder).status == EXIT_DONE


def test_code_that_is_loaded_already_may_be_edited_while_a_run_works(folder: Path) -> None:
    """An editor does not stop a live run; to continue it later is another matter."""
    town(folder, top="from helper import SHIFT", late=EDIT)
    kill_each(folder / "study.yaml", folder / "run", {"s1@1": 2})
    assert max(ticks(folder)) == 1
    assert run(folder).document["error"]["moved"] == ["plugins"]


def test_a_data_file_that_is_edited_stops_the_run_before_its_tick(folder: Path) -> None:
    """No tick mixes two versions of a declared file; put back, the run comes to its end."""
    (folder / "study.yaml").write_text(f"{STUDY}files: [shocks.csv]\n")
    (folder / "shocks.csv").write_text("rain\n")
    town(folder, late="save('shocks.csv', os.environ.get('NEWS', 'rain'))")
    said = run(folder, NEWS="snow")
    assert said.status == EXIT_MOVED, said
    assert "A data file of this run changed while the run worked: shocks.csv" in said.out
    assert max(ticks(folder)) <= 0
    refused = run(folder)
    assert refused.document["error"]["moved"] == ["files"]
    (folder / "shocks.csv").write_text("rain\n")
    # Written again with the same bytes, it is the same file.
    assert run(folder).status == EXIT_DONE


PROGRAM = """\
import sys, time
from pathlib import Path
from perdure.cli.entry import execute
import perdure.runner
from perdure.base.clock import started_s
folder = Path(sys.argv[1])
command = ["run", str(folder / "study.yaml"), "--quiet", "--json", "--out"]
def edit(path, old, new):
    while time.time() < started_s() + 0.05:
        time.sleep(0.01)
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new, 1))
said = []
def go(name):
    said.append(execute([*command, str(folder / name)]))
"""


def notebook(folder: Path, *cells: str) -> tuple[list[int], str]:
    """Run cells in one long-lived process; give the exit status of each run, and what was said."""
    home = folder / "home"
    shutil.copytree(perdure.__path__[0], home / "perdure")  # and what is compiled of it
    done = subprocess.run(
        [sys.executable, "-c", "\n".join((PROGRAM, *cells, "sys.exit(str(said))")), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(home), "PATH": ""},
    )
    last = done.stderr.strip().splitlines()[-1]
    return [int(one) for one in last.strip("[]").split(",")], done.stdout + done.stderr


def test_a_program_older_than_its_source_is_refused(folder: Path) -> None:
    """The source was edited after this program had loaded it: what runs would not be compared."""
    town(folder)
    edit = "edit(folder / 'home/perdure/agent/prompt.py', 'What you remember:', 'You recall:')"
    statuses, said = notebook(folder, edit, "go('one')", "go('two')")
    assert statuses == [EXIT_MOVED, EXIT_MOVED]
    assert "perdure.agent.prompt is from elsewhere, or was changed since the program began" in said
    assert "restart its kernel" in said
    assert not (folder / "one").exists()


def test_a_notebook_runs_what_it_has_loaded_or_nothing(folder: Path) -> None:
    """Run again, all is well; with the plug-in edited in between, the old one would run: 78."""
    town(folder)
    statuses, said = notebook(
        folder,
        "go('one')",
        "go('two')",
        "edit(folder / 'town.py', 'tick == 1', 'tick == 2')",
        "go('three')",
        "edit(folder / 'town.py', 'tick == 2', 'tick == 1')",
        "go('four')",
    )
    assert statuses == [EXIT_DONE, EXIT_DONE, EXIT_MOVED, EXIT_DONE], said
    assert "town is from elsewhere, or was changed" in said


def test_a_plug_in_that_is_written_in_a_notebook_runs(folder: Path) -> None:
    """Files that are edited before they are loaded for the first time are no trouble."""
    town(folder)
    statuses, said = notebook(
        folder, "edit(folder / 'town.py', 'tick == 1', 'tick == 2')", "go('one')", "go('two')"
    )
    assert statuses == [EXIT_DONE, EXIT_DONE], said


def test_another_studys_helper_is_not_taken_for_ones_own(folder: Path) -> None:
    """Two studies in one process, each with a module of the same name beside it."""
    town(folder, top="from helper import SHIFT")
    cells = (
        "go('one')",
        "import shutil; other = folder / 'other'; other.mkdir()",
        "[shutil.copy(folder / n, other / n) for n in ('study.yaml', 'people.csv', 'town.py')]",
        "(other / 'helper.py').write_text('SHIFT = 7')",
        "command[1] = str(other / 'study.yaml')",
        "go('two')",
    )
    statuses, said = notebook(folder, *cells)
    assert statuses == [EXIT_DONE, EXIT_MOVED], said
    assert "helper is from elsewhere" in said


def test_a_refusal_is_not_forgotten_in_the_same_process(folder: Path) -> None:
    """A module that nobody compares is still loaded at the next try, and is refused again."""
    town(folder, top="__import__(''.join(('hel', 'per')))")
    statuses, said = notebook(folder, "go('one')", "go('two')")
    assert statuses == [EXIT_MOVED, EXIT_MOVED]
    assert said.count("helper was loaded") == 2
