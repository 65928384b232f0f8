"""Every view says the same of a run and of its export, byte for byte, from whatever it is read."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.commands import commands
from tests.support.figure_runs import ANCHORS, record
from tests.support.sample_study import PEOPLE, SAMPLE
from tests.support.whole_record import record_whole

from perdure.base.errors import EXIT_DONE, EXIT_USAGE
from perdure.cli.entry import execute
from perdure.records.drive import DRIVE_KIND_OF
from perdure.records.events import KIND_OF
from perdure.trace.forced import marks
from perdure.trace.open_record import open_record
from perdure.trace.reader import RunReader

from .conftest import write_study
from .test_lost_journal import lose

VIEWS = (
    ("report",),
    ("report", "--format", "html"),
    ("report", "--format", "markdown"),
    ("report", "--json"),
    ("ledger",),
    ("ledger", "--json"),
    ("status",),
    ("status", "--json"),
    ("verify",),
    ("verify", "--json"),
    ("budget", "--json"),
)
KINDS = sorted(KIND_OF.values())


def done(*arguments: object) -> None:
    """Call the command line, and let nothing of what it says be seen."""
    with contextlib.redirect_stdout(io.StringIO()):
        assert execute([str(one) for one in arguments]) == EXIT_DONE


def vote(folder: Path) -> Path:
    """Run the example on a vote, which holds an outcome out."""
    return record("vote", folder)


def rumour(folder: Path) -> Path:
    """Run the example on a rumour, in which people are tied and tell each other."""
    return record("rumour", folder)


def likeness(folder: Path) -> Path:
    """Run a study whose scale is scored by its likeness to anchors."""
    text = SAMPLE.replace(
        "models:\n",
        "roles: {tier_a: baseline, embed: words}\nmodels:\n  words: {provider: baseline}\n",
    )
    text = text.replace(
        "    choices: {agree: agree, disagree: disagree}\n",
        '    type: likert\n    choices: {"no": "no", perhaps: perhaps, "yes": "yes"}\n'
        "    scoring: similarity\n    anchors: intent\n    epsilon: 0.1\n",
    )
    (folder / "study.yaml").write_text(f"{text}anchors: {{intent: intent.yaml}}\n")
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "intent.yaml").write_text(ANCHORS)
    study, run = folder / "study.yaml", folder / "run"
    done("anchors", "check", folder / "intent.yaml", "--study", study)
    done("run", study, "--out", run, "--quiet")
    return run


def killed(folder: Path) -> Path:
    """Kill a run where the calls of a tick are in the journal alone."""
    (folder / "study.yaml").write_text(SAMPLE)
    (folder / "people.csv").write_text(PEOPLE)
    run = folder / "run"
    commands(
        ("run", folder / "study.yaml", "--out", run, "--quiet"),
        PERDURE_CRASH_AT="call.settled:60",
    )
    with RunReader.open(run) as reader:
        assert reader.journal, "ticks are open, and their calls are on no other record"
        assert any(tick.calls for tick in reader.journal)
    return run


def forced(folder: Path) -> Path:
    """Kill a run, edit its study, and force it past that."""
    run = killed(folder)
    study = folder / "study.yaml"
    study.write_text(SAMPLE.replace("Do you agree?", "Do you agree with it?"))
    done("resume", run, "--quiet", "--force", "questions")
    with RunReader.open(run) as reader:
        assert marks(reader.log).forced
    return run


def whole(folder: Path) -> Path:
    """Record every kind of event, by the store's own writers."""
    record_whole(write_study(folder), folder / "run")
    return folder / "run"


RUNS = {one.__name__: one for one in (vote, rumour, likeness, killed, forced, whole)}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Make each run that is asked for once, in a folder that no test changes."""
    made: dict[str, Path] = {}

    def run(name: str) -> Path:
        if name not in made:
            made[name] = RUNS[name](tmp_path_factory.mktemp(name))
        return made[name]

    return run


@pytest.fixture
def copy_of(original: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Give a run of one's own."""
    return lambda name: shutil.copytree(original(name), tmp_path / "run")


@pytest.fixture(scope="module", params=RUNS)
def pair(
    request: pytest.FixtureRequest,
    original: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, Path]:
    """Make a run, and an export of it at a place of its own; both are called `it`."""
    folder = tmp_path_factory.mktemp(request.param)
    return both(shutil.copytree(original(request.param), folder / "run"), folder)


def both(run: Path, folder: Path, *options: str) -> tuple[Path, Path]:
    """Export a run, and put each of the two into a folder of its own as `it`."""
    done("export", run, *(options or ("--with-held-out",)))
    live, exported = folder / "live", folder / "exported"
    live.mkdir()
    exported.mkdir()
    (run / "export").rename(exported / "it")
    shutil.move(run, live / "it")
    return live, exported


@pytest.fixture
def ask(
    perdure: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[object, object]]:
    """Give the same command to two folders, from within each, and give both answers."""

    def call(pair: tuple[Path, Path], command: str, *options: str) -> tuple[object, object]:
        said = []
        for place in pair:
            monkeypatch.chdir(place)
            said.append(perdure(command, "it", *options))
        return said[0], said[1]

    return call


def test_every_view_says_the_same_of_an_export(pair, ask):
    """What is written to stdout and stderr is equal, and so is the exit status."""
    for view in VIEWS:
        live, exported = ask(pair, *view)
        assert live == exported, view
        assert len(live.out) > 200, view


def chosen(folder: Path) -> Iterator[str]:
    """Choose events to be shown: of every kind that there is, the first and the last."""
    with open_record(folder) as reader:
        for world in reader.worlds[:1] + reader.worlds[-1:]:
            found: dict[str, list[int]] = {}
            for event in reader.events(world.world_id):
                found.setdefault(KIND_OF[type(event.payload)], []).append(event.seq)
            for seqs in found.values():
                for seq in {seqs[0], seqs[-1]}:
                    yield f"{world.world_id}:{seq}"


def test_every_kind_of_event_is_shown_the_same(pair, ask):
    """Turns with their prompts, other events with what they cite and what cites them."""
    names = list(chosen(pair[0] / "it"))
    assert len(names) > 10
    for name in names:
        live, exported = ask(pair, "show", name)
        assert live == exported, name
        assert len(live.out) > 100
    live, exported = ask(pair, "show", names[0], "--json")
    assert live == exported
    live, exported = ask(pair, "show", f"{names[0].partition(':')[0]}:999999")
    assert live == exported
    assert live.status == EXIT_USAGE


def test_what_is_chosen_has_every_kind(original):
    """The record of all kinds has them all, so that none is left out above."""
    run = original("whole")
    with RunReader.open(run) as reader:
        worlds = [world.world_id for world in reader.worlds]
        kinds = {KIND_OF[type(one.payload)] for name in worlds for one in reader.events(name)}
    # A run that was restored after thinning, and one that ended, are in the others; the office has
    # the lines of drives (`test_show_tools`).
    elsewhere = {"restored", "completed", *DRIVE_KIND_OF.values()}
    assert set(KINDS) - kinds <= elsewhere


def found(part: object, names: tuple[str, ...]) -> Iterator[object]:
    """Go through the single values of these names, wherever they are in a document."""
    if isinstance(part, list):
        for one in part:
            yield from found(one, names)
    elif isinstance(part, dict):
        yield from (
            value
            for name, value in part.items()
            if name in names and not isinstance(value, dict | list)
        )
        for one in part.values():
            yield from found(one, names)


def test_a_report_without_the_real_values_says_so_and_is_otherwise_the_same(copy_of, tmp_path, ask):
    """No figure of a default export is over held-out values, and the gap is named."""
    pair = both(copy_of("vote"), tmp_path, "--json")
    live, exported = ask(pair, "report", "--json")
    one, other = live.document, exported.document
    assert other["outcome"] == {**one["outcome"], "known": 0, "withheld": True}
    why = "the real values were left out of this export"
    assert [gap["why"] for gap in other["gaps"]] == [why, *(gap["why"] for gap in one["gaps"])]
    judged = ("accuracy", "brier", "log_loss")
    assert set(found(one["predictions"], judged)) - {None}
    assert set(found(other["predictions"], judged)) == {None}
    over = {"outcome", "gaps", "predictions"}
    assert {name: part for name, part in one.items() if name not in over} == {
        name: part for name, part in other.items() if name not in over
    }
    _, said = ask(pair, "report")
    assert "The real values were left out of this export; --with-held-out" in " ".join(
        said.out.split()
    )
    for command in ("ledger", "status", "verify"):
        live, exported = ask(pair, command)
        assert live == exported


@pytest.mark.parametrize("lost", ["journal", "fault"])
def test_a_journal_that_was_lost_or_cannot_be_used_is_told_alike(recorded, tmp_path, ask, lost):
    """What is unknown of a live run is as unknown in its export, for the same reason."""
    run = recorded(ticks=2, amount=100_000)
    if lost == "journal":
        lose(run, 1_600_000, None, why="The call journal is damaged.")
    else:
        (run / "calls.db").write_bytes(b"no database")
    pair = both(run, tmp_path)
    for view in VIEWS:
        live, exported = ask(pair, *view)
        assert live == exported, view


def test_two_exports_are_compared_as_two_runs_are(copy_of, tmp_path, perdure):
    """`--beside` takes an export on either side."""
    live, exported = both(copy_of("vote"), tmp_path)
    said = [
        perdure("report", one / "it", "--beside", other / "it", "--json").document
        for one, other in ((live, live), (live, exported), (exported, live), (exported, exported))
    ]
    assert said[0]["beside"]["rows"]
    assert said[0] == said[1] == said[2] == said[3]


@pytest.mark.parametrize(
    "command",
    [("resume",), ("export",), ("stop",), ("replay",), ("budget", "--calls", "9000")],
    ids=" ".join,
)
def test_what_works_on_a_run_needs_the_run(copy_of, tmp_path, perdure, command):
    """An export is refused in words that say what it is."""
    _, exported = both(copy_of("whole"), tmp_path)
    said = perdure(command[0], exported / "it", *command[1:])
    assert said.status == EXIT_USAGE
    assert "This folder is an export" in " ".join(said.err.split())


def test_a_folder_of_which_only_the_export_is_left_says_where_it_is(copy_of, perdure):
    """The record may be deleted: the export in its folder is named, and can be read."""
    run = copy_of("vote")
    assert perdure("export", run).status == EXIT_DONE
    for path in run.iterdir():
        if path.name == "worlds":
            shutil.rmtree(path)
        elif path.is_file():
            path.unlink()
    said = perdure("report", run)
    assert said.status == EXIT_USAGE
    assert f"`{run / 'export'}`" in "".join(said.err.split("\n"))
    assert perdure("report", run / "export").status == EXIT_DONE
    assert perdure("verify", run / "export").status == EXIT_DONE
