"""P6: what decides a run is compared when it is continued, each thing by its name, and all at once.

Through the real commands, in processes of their own: a run is killed, something is edited, and the
run is continued, refused, or forced.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.support.commands import Told, commands, kill_each
from tests.support.sample_study import PEOPLE, SAMPLE
from tests.support.sizes import some

import perdure
from perdure.base.errors import EXIT_DONE, EXIT_MOVED, EXIT_USAGE
from perdure.records.registry import TransportMoved
from perdure.runner.moved import FORCEABLE, NEVER
from perdure.trace.reader import RunReader

TOWN = '''\
"""A town."""

from pathlib import Path

from helper import SHIFT
from perdure.world import ChannelWorld


class Town(ChannelWorld):
    """Says hello."""

    def reset(self, header):
        super().reset(header)
        news = (Path(__file__).parent / "shocks.csv").read_text()
        assert news and SHIFT
'''
HELPER = "SHIFT = 1\n"
# What answers here is a rule, which has none; `tests/runner/test_process.py` moves one.
NO_PRICE = {"prices"}
STUDY = SAMPLE.replace("  s1:\n", "  s1:\n    world: town:Town\n") + "files: [shocks.csv]\n"
STUDY += "anchors: {intent: intent.yaml}\n"
ANCHORS = """\
construct: intent
version: 1
points: [no, yes]
sets: [[I would not go., I would go.], [I stay., I set out.]]
ladder: [[Never.], [Gladly.]]
"""
# What is compared is the same in whatever processes the worlds are then driven; the other tests
# here, and `test_loaded`, have them.
IN_PROCESS = ("--workers", "0")
# How many ticks of each world were closed when the run was killed.
CLOSED = {"s1@1": 3, "s1@2": 2, "s2@1": 1}


class Case(NamedTuple):
    """One thing that moves: the name it is compared by, the file and the edit, what is said.

    With `python`, nothing is edited and the version of Python is another one.
    """

    name: str
    file: str
    old: str
    new: str
    says: tuple[str, ...]
    python: str = ""


CASES = {
    "name": Case(
        "name", "study.yaml", "name: sample", "name: other", ("it was 'sample' and is 'other'",)
    ),
    "brief": Case(
        "brief",
        "study.yaml",
        "text: There is a vote.",
        "text: There was a vote.",
        ("text was 'There is a vote.' and is 'There was a vote.'",),
    ),
    "a claim": Case(
        "brief",
        "study.yaml",
        "c1: One thing.",
        "c1: Something.",
        ("claims[c1].text was 'One thing.' and is 'Something.'",),
    ),
    "ontology": Case(
        "ontology",
        "study.yaml",
        "label: Age",
        "label: Years lived",
        ("attributes[age].label was 'Age' and is 'Years lived'",),
    ),
    "what may determine": Case(
        "ontology",
        "study.yaml",
        "unit: years",
        "unit: years, allow_determining: true",
        ("attributes[age].determining was False and is True",),
    ),
    "questions": Case(
        "questions",
        "study.yaml",
        "text: Do you agree?",
        "text: Is it so?",
        ("[agree].text was 'Do you agree?' and is 'Is it so?'",),
    ),
    "a choice's alias": Case(
        "questions",
        "study.yaml",
        "aliases: [Annie]",
        "aliases: [Anna]",
        ("[vote].choices[a].aliases was Annie and is Anna",),
    ),
    "anchors": Case(
        "anchors",
        "intent.yaml",
        "I would go.",
        "I would come.",
        ("intent.sets[0] was I would not go., I would go.",),
    ),
    "no anchors": Case("anchors", "study.yaml", "anchors: {", "# {", ("intent is gone",)),
    "pins": Case(
        "pins",
        "study.yaml",
        "noise: 0.5",
        "noise: 0.25",
        ("tier_a.rule.noise was 0.5 and is 0.25", "tier_b.rule.noise was 0.5 and is 0.25"),
    ),
    "agent": Case(
        "agent",
        "study.yaml",
        "reflect_every: 2",
        "reflect_every: 3",
        ("reflect_every was 2 and is 3",),
    ),
    "settings": Case(
        "settings",
        "study.yaml",
        "\nmodels:\n",
        "\nquorum: 0.5\nmodels:\n",
        ("quorum was 0.9 and is 0.5",),
    ),
    "plugins": Case(
        "plugins", "town.py", "super().reset(header)", "super().reset(header)  or 1", ("town",)
    ),
    "a plug-in's docstring": Case("plugins", "town.py", "Says hello", "Says bye", ("town",)),
    "a plug-in's helper": Case("plugins", "helper.py", "SHIFT = 1", "SHIFT = 2", ("helper",)),
    "files": Case("files", "shocks.csv", "rain", "snow", ("shocks.csv was 97c662448899 and is",)),
    "more files": Case(
        "files",
        "study.yaml",
        "files: [shocks.csv]",
        "files: [shocks.csv, people.csv]",
        ("people.csv is new",),
    ),
    "engine": Case(
        "engine",
        "home/perdure/agent/leavings.py",
        "_REFLECTION_IMPORTANCE = 0.8",
        "_REFLECTION_IMPORTANCE = 0.7",
        ("perdure.agent.leavings",),
    ),
    "a template": Case(
        "engine",
        "home/perdure/agent/prompt.py",
        "What you remember:",
        "What you recall:",
        ("perdure.agent.prompt",),
    ),
    "python": Case("python", "", "", "", ("3.9 now",), python="3.9"),
    "population": Case(
        "population",
        "people.csv",
        "r00,0,0,2,20,",
        "r00,0,0,2,21,",
        ("r00.age was 20 and is 21",),
    ),
    "fewer people": Case(
        "population",
        "study.yaml",
        'missing: ["", NA]',
        'missing: ["", NA]\n  draw: {n: 11}',
        ("12 people then and 11 now", "r07 is gone"),
    ),
    "graph": Case(
        "graph",
        "study.yaml",
        'missing: ["", NA]',
        'missing: ["", NA]\n  graph: {degree: 4}',
        ("0 ties then and 24 now",),
    ),
    "held out": Case("held_out", "people.csv", "Town 0,0\n", "Town 0,1\n", ("1 of 12 values",)),
    "scenarios": Case(
        "scenarios",
        "study.yaml",
        "activation: 0.5",
        "activation: 0.75",
        (
            "scenarios[s1].activation was 0.5 and is 0.75",
            "scenarios[s2].activation was 0.5 and is 0.75",
        ),
    ),
    "a variant": Case(
        "scenarios",
        "study.yaml",
        "v1: The first.",
        "v1: The second.",
        ("variants[v1].description was 'The first.' and is 'The second.'",),
    ),
    "seeds": Case(
        "seeds", "study.yaml", "seeds: [1, 2]", "seeds: [1, 3]", ("it was 1, 2 and is 1, 3",)
    ),
    "budget": Case(
        "budget",
        "study.yaml",
        "\nmodels:\n",
        "\nbudget: {amount: 5}\nmodels:\n",
        ("amount was nothing and is '5.00 USD'",),
    ),
    "currency": Case(
        "currency",
        "study.yaml",
        "\nagent:\n",
        "\ncurrency: EUR\nagent:\n",
        ("it was 'USD' and is 'EUR'",),
    ),
}


@pytest.fixture(scope="session")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a study, its plug-in and its data, and a run of it that was killed."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "study.yaml").write_text(STUDY)
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "town.py").write_text(TOWN)
    (folder / "helper.py").write_text(HELPER)
    (folder / "intent.yaml").write_text(ANCHORS)
    (folder / "shocks.csv").write_text("tick,news\n1,rain\n")
    kill_each(folder / "study.yaml", folder / "run", CLOSED)
    return folder


@pytest.fixture
def folder(killed: Path, tmp_path: Path) -> Path:
    """Give a copy of that folder, with a copy of our own source beside it, to be edited."""
    copied = tmp_path / "study"
    shutil.copytree(killed, copied, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(perdure.__path__[0], copied / "home" / "perdure")  # and what is compiled of it
    return copied


def edit(folder: Path, case: Case) -> None:
    """Make the one edit of a case."""
    if case.file:
        path = folder / case.file
        text = path.read_text(encoding="utf-8")
        assert case.old in text, case
        path.write_text(text.replace(case.old, case.new, 1), encoding="utf-8")


def ask(folder: Path, *asked: tuple[object, ...], python: str = "", **environment: str) -> Any:
    """Run commands under the source beside the study."""
    return commands(*asked, home=folder / "home", python=python, **environment)


def refused(said: Told) -> dict[str, Any]:
    """Give what a refusal says, as data."""
    assert said.status == EXIT_MOVED, said
    error: dict[str, Any] = said.document["error"]
    return error


def contents(run: Path) -> dict[Path, bytes]:
    """Read every file of a run, but for the memory that its readers share."""
    files = [path for path in run.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in files if not path.name.endswith("-shm")}


def names(marks: Any) -> list[list[str]]:
    """Name what each force of a run was past."""
    return [[one["name"] for one in force["moved"]] for force in marks]


def test_every_compared_thing_has_a_case() -> None:
    """The table of what is compared has no name that no case moves."""
    assert {case.name for case in CASES.values()} == set(NEVER) - NO_PRICE


@pytest.mark.parametrize("what", some(CASES, 5))
def test_what_moved_alone_is_named_alone(folder: Path, what: str) -> None:
    """78 names the one thing that moved, old and new value; forced, it is marked everywhere."""
    case = CASES[what]
    edit(folder, case)
    run, target = folder / "run", folder / "run" / "export"
    resume = ("resume", run, "--quiet", "--json", *IN_PROCESS)
    if case.name not in FORCEABLE:
        before = contents(run)
        plain, forced = ask(folder, resume, (*resume, "--force", case.name), python=case.python)
        error = refused(plain)
        assert error["moved"] == [case.name]
        assert all(part in error["wrong"] for part in case.says), error["wrong"]
        assert error["wrong"].count(";") == len(case.says) - 1
        assert f"{case.name}, for {NEVER[case.name]}" in error["remedy"]
        assert forced.status == EXIT_USAGE
        assert f"--force {case.name} is not possible" in forced.document["error"]["wrong"]
        assert "another folder" in forced.document["error"]["remedy"]
        assert contents(run) == before
        return
    plain, forced, status, shown, report, said, exported, verified = ask(
        folder,
        resume,
        (*resume, "--force", case.name),
        ("status", run, "--json"),
        ("status", run),
        ("report", run),
        ("report", run, "--json"),
        ("export", run),
        ("verify", run),
        python=case.python,
    )
    error = refused(plain)
    assert error["moved"] == [case.name]
    assert all(part in error["wrong"] for part in case.says), error["wrong"]
    assert error["wrong"].count(";") == len(case.says) - 1
    assert bool(error["diffs"]) == (case.name in {"plugins", "engine"})
    assert f"go on with --force {case.name}, which is recorded" in error["remedy"]
    assert forced.status == EXIT_DONE, forced
    assert f"goes on past what moved: {case.name} (" in forced.err
    assert status.document["state"] == "completed"
    assert names(status.document["marks"]["forced"]) == [[case.name]]
    assert sum(t + 1 for t in status.document["marks"]["forced"][0]["ticks"].values()) == 6
    assert names(said.document["marks"]["forced"]) == [[case.name]]
    for text in (shown.out, report.out):
        assert f"Forced past {case.name} (" in text
    assert exported.status == verified.status == EXIT_DONE
    assert names(json.loads((target / "manifest.json").read_text())["forced"]) == [[case.name]]
    files = [path for path in target.rglob("*.parquet") if path.is_file()]
    assert len(files) == 17
    for file in files:
        about = json.loads(pq.read_schema(file).metadata[b"perdure"])
        assert names(about["forced"]) == [[case.name]]


def test_a_replay_names_only_what_moved(folder: Path) -> None:
    """A declared data file that is as it was is no reason why a record comes out otherwise."""
    step = (
        "        assert news and SHIFT\n\n    def step(self, tick, turns, plan, answers):\n"
        "        return super().step(tick, turns, type(plan)(activation=0.1), answers)\n"
    )
    edit(folder, Case("plugins", "town.py", "        assert news and SHIFT\n", step, ()))
    (said,) = ask(folder, ("replay", folder / "run", "--json"))
    assert said.status == EXIT_MOVED, said
    assert "plugins (town)" in said.document["causes"][0]
    assert "shocks.csv" not in said.document["causes"][0]
    (folder / "shocks.csv").write_text("tick,news\n1,snow\n")
    (said,) = ask(folder, ("replay", folder / "run", "--json"))
    assert "shocks.csv was " in said.document["causes"][0]


def test_all_that_moved_is_named_at_once(folder: Path) -> None:
    """Everything moves: all of it is in one refusal, and one force after the other covers it."""
    for case in CASES.values():
        if case.name not in {"held_out", "population"}:  # both in one file, below
            edit(folder, case)
    text = (folder / "people.csv").read_text()
    (folder / "people.csv").write_text(text.replace("20,Town 0,0\n", "21,Town 0,1\n"))
    resume = ("resume", folder / "run", "--quiet", "--json")
    every = [word for name in FORCEABLE for word in ("--force", name)]
    plain, all_but_one, never = ask(
        folder, resume, (*resume, *every[2:]), (*resume, *every), python="3.9"
    )
    assert set(refused(plain)["moved"]) == set(NEVER) - NO_PRICE
    assert set(refused(all_but_one)["moved"]) == set(NEVER) - set(FORCEABLE[1:]) - NO_PRICE
    assert set(refused(never)["moved"]) == set(NEVER) - set(FORCEABLE)
    # What makes other worlds is put back; the rest goes on by one command.
    (folder / "people.csv").write_text(PEOPLE)
    study = (folder / "study.yaml").read_text()
    for case in CASES.values():
        if case.name in {"graph", "scenarios", "seeds", "currency", "budget"}:
            study = study.replace(case.new, case.old)
    (folder / "study.yaml").write_text(study)
    forced, status, again = ask(
        folder, (*resume, *every), ("status", folder / "run", "--json"), resume, python="3.9"
    )
    assert forced.status == EXIT_DONE, forced
    forced_past = [set(found) for found in names(status.document["marks"]["forced"])]
    assert forced_past == [set(FORCEABLE) - NO_PRICE]
    assert again.status == EXIT_DONE


def test_a_forced_run_is_compared_with_what_it_was_forced_to(folder: Path) -> None:
    """After a force and a kill the run goes on by itself; moved again, it is refused again."""
    run = folder / "run"
    resume = ("resume", run, "--quiet", "--json")
    edit(folder, CASES["brief"])
    (died,) = ask(folder, (*resume, "--force", "brief"), PERDURE_CRASH_AT="tick.after-witness:3")
    assert died.status == -9
    (died,) = ask(folder, resume, PERDURE_CRASH_AT="tick.after-witness:3")
    assert died.status == -9, died
    first = CASES["brief"]
    edit(folder, Case("brief", "study.yaml", first.new, "text: There were two.", ()))
    edit(folder, CASES["a plug-in's helper"])
    plain, half, forced, status, replayed, report = ask(
        folder,
        resume,
        (*resume, "--force", "plugins"),
        (*resume, "--force", "plugins", "--force", "brief"),
        ("status", run, "--json"),
        ("replay", run, "--json"),
        ("report", run),
    )
    said = "brief (text was 'There was a vote.' and is 'There were two.')"
    assert refused(plain)["moved"] == ["brief", "plugins"]
    assert said in refused(plain)["wrong"]
    assert refused(half)["moved"] == ["brief"]
    assert refused(half)["diffs"] == []
    assert forced.status == EXIT_DONE, forced
    marks = status.document["marks"]["forced"]
    assert names(marks) == [["brief"], ["brief", "plugins"]]
    first_ticks, later_ticks = (force["ticks"] for force in marks)
    assert all(first_ticks.get(world, -1) <= tick for world, tick in later_ticks.items())
    assert sum(later_ticks.values()) > sum(first_ticks.values())
    assert "There was a vote." in report.out
    assert "There were two." in report.out
    # Every tick is driven under the brief that it was lived under.
    assert replayed.status == EXIT_DONE, replayed


def test_going_back_to_what_was_forced_away_is_a_move(folder: Path) -> None:
    """What was forced holds from then on: the study as it was at first is refused."""
    edit(folder, CASES["agent"])
    resume = ("resume", folder / "run", "--quiet", "--json")
    (died,) = ask(folder, (*resume, "--force", "agent"), PERDURE_CRASH_AT="tick.after-witness:2")
    assert died.status == -9
    (folder / "study.yaml").write_text(STUDY)
    (plain,) = ask(folder, resume)
    assert "agent (reflect_every was 3 and is 2)" in refused(plain)["wrong"]


def test_a_study_that_was_moved_away_is_named_by_its_path(folder: Path, tmp_path: Path) -> None:
    """Where a study is decides nothing: with --study it is found again, plug-in and data too."""
    run, there = tmp_path / "run", tmp_path / "there"
    kill_each(folder / "study.yaml", run, CLOSED, home=folder / "home")
    folder.rename(there)
    resume, replay = ("resume", run, "--quiet", "--json"), ("replay", run, "--json")
    study = ("--study", there / "study.yaml")
    lost, away, found, replayed = commands(
        resume, replay, (*resume, *study), (*replay, *study), home=there / "home"
    )
    assert lost.status == EXIT_USAGE
    assert "--study PATH" in lost.document["error"]["remedy"]
    assert found.status == EXIT_DONE, found
    assert found.err == ""
    # The plug-in is not where it was, so its worlds cannot be driven.
    assert away.document["error"]["code"] == "plugin"
    assert replayed.status == EXIT_DONE


def test_a_force_of_what_did_not_move_changes_nothing(folder: Path) -> None:
    """--force of something that did not move is harmless, said, and not on record."""
    run = folder / "run"
    begun, status, fresh = ask(
        folder,
        ("resume", run, "--quiet", "--force", "brief", "--force", "engine"),
        ("status", run, "--json"),
        ("run", folder / "study.yaml", "--out", folder / "new", "--quiet", "--force", "brief"),
    )
    assert begun.status == fresh.status == EXIT_DONE
    assert begun.err.splitlines() == [
        "perdure: --force brief changes nothing: brief did not move.",
        "perdure: --force engine changes nothing: engine did not move.",
    ]
    assert status.document["marks"] == {"forced": [], "diverged": [], "transport": []}
    assert "--force brief changes nothing" in fresh.err


def test_flags_are_part_of_what_is_forced(folder: Path) -> None:
    """`run` with other flags is refused as the inputs they change; once forced, they hold."""
    run = ("run", folder / "study.yaml", "--out", folder / "run", "--quiet", "--json")
    study = (folder / "study.yaml").read_text()
    baseline = study[study.index("  baseline:\n") : study.index("  api:\n")]
    other = baseline.replace("baseline:", "other:", 1).replace("noise: 0.5", "noise: 0.25")
    (folder / "study.yaml").write_text(study.replace("  api:\n", f"{other}  api:\n"))
    fewer, named = ask(folder, (*run, "--n", "5"), (*run, "--model", "other"))
    assert refused(fewer)["moved"] == ["population"]
    assert refused(named)["moved"] == ["pins"]
    forced = (*run, "--model", "other", "--force", "pins")
    (died,) = ask(folder, forced, PERDURE_CRASH_AT="tick.after-witness:2")
    assert died.status == -9
    plain, resumed, status = ask(
        folder,
        run,
        ("resume", folder / "run", "--quiet", "--json"),
        ("status", folder / "run", "--json"),
    )
    assert refused(plain)["moved"] == ["pins"]
    assert resumed.status == EXIT_DONE, resumed
    assert names(status.document["marks"]["forced"]) == [["pins"]]


def test_a_forced_engine_that_steps_otherwise_says_where(folder: Path) -> None:
    """Where a world of the new engine departs from its record is marked; the record holds."""
    moved = Case("engine", "home/perdure/world/campaign.py", '"campaign"', '"campaigns"', ())
    edit(folder, moved)
    run = folder / "run"
    forced, status, shown, report, exported, replayed, told, verified = ask(
        folder,
        ("resume", run, "--quiet", "--json", "--force", "engine"),
        ("status", run, "--json"),
        ("status", run),
        ("report", run, "--json"),
        ("export", run),
        ("replay", run, "--json"),
        ("replay", run),
        ("verify", run),
    )
    assert forced.status == exported.status == verified.status == EXIT_DONE, forced
    diverged = status.document["marks"]["diverged"]
    assert len(diverged) == sum(ticks > 1 for ticks in CLOSED.values())
    world = ""
    for one in diverged:
        assert one["tick"] == 1
        assert (
            one["wrong"] == "presentations[0].impression.channel was 'campaign' and is 'campaigns'"
        )
        assert one["event"] in forced.err
        world, _, seq = one["event"].partition(":")
        rows = pq.read_table(run / "export" / "events.parquet" / f"{world}.parquet").to_pylist()
        assert rows[int(seq)]["kind"] in {"turn", "turn_failed"}
        assert '"channel":"campaign"' in rows[int(seq)]["payload"]
    assert report.document["marks"]["diverged"] == diverged
    assert "diverged at tick 1" in shown.out
    manifest = json.loads((run / "export" / "manifest.json").read_text())
    assert manifest["diverged"] == diverged
    about = pq.read_schema(run / "export" / "turns.parquet" / f"{world}.parquet").metadata
    assert json.loads(about[b"perdure"])["diverged"] == [diverged[-1]]
    # To drive it again with the new engine tells of the old one's ticks, and why.
    assert replayed.status == told.status == EXIT_MOVED
    found = [one["divergence"] for one in replayed.document["worlds"]]
    assert [one["forced"] for one in found if one] == [["engine"]] * len(diverged)
    assert "It was made before the run was forced past engine." in told.out
    assert "not deterministic" not in told.out


COSMETIC = {
    "a comment": (
        "home/perdure/runner/quorum.py",
        "\nfrom perdure",
        "\n# A comment.\nfrom perdure",
    ),
    "layout": ("home/perdure/base/chance.py", "\n\n\n", "\n\n\n\n\n"),
    "a docstring": ("home/perdure/world/campaign.py", '"""', '"""Once more: '),
    "a plug-in's comment": ("town.py", "super().reset(header)", "super().reset(header)  # or so"),
    "what only reads": ("home/perdure/analysis/report.py", "state=", "state=state if 0 else "),
    "how it is reached": ("study.yaml", "https://example.org/v1", "https://example.net/v2"),
    "a limit": ("study.yaml", "requests_per_minute: 60", "requests_per_minute: 6, deadline_s: 9"),
    "a key": ("study.yaml", "EXAMPLE_API_KEY", "OTHER_API_KEY"),
}


@pytest.mark.parametrize("what", [*COSMETIC, "nothing at all"])
def test_what_decides_nothing_moves_nothing(folder: Path, what: str) -> None:
    """Comments, layout, docstrings of ours, endpoints, keys and limits: not one word is said."""
    if what in COSMETIC:
        edit(folder, Case("", *COSMETIC[what], ()))
    said, status = ask(
        folder,
        ("resume", folder / "run", "--quiet", "--json", *IN_PROCESS),
        ("status", folder / "run", "--json"),
    )
    assert said.status == EXIT_DONE, said
    assert said.err == ""
    assert status.document["marks"] == {"forced": [], "diverged": [], "transport": []}


def test_what_only_carries_bytes_is_warned_of_once(folder: Path) -> None:
    """A typo mended in a text about HTTP stops nothing; it is said once, and on record."""
    run = folder / "run"
    resume = ("resume", run, "--quiet", "--json")
    name = "perdure.inference.http.transport"
    path = folder / "home" / "perdure" / "inference" / "http" / "transport.py"
    text = path.read_text()
    path.write_text(text.replace("endpoint is open already", "endpoint is open, already"))
    assert path.read_text() != text
    (died,) = ask(folder, resume, PERDURE_CRASH_AT="tick.after-witness:1")
    assert died.status == -9
    assert f"What only carries bytes moved: transport ({name})" in died.err
    (died,) = ask(folder, resume, PERDURE_CRASH_AT="tick.after-witness:1")
    assert died.status == -9
    assert died.err == ""
    path.write_text(text)
    (died,) = ask(folder, resume, PERDURE_CRASH_AT="tick.after-witness:1")
    assert died.err == ""
    said, status, shown = ask(folder, resume, ("status", run, "--json"), ("status", run))
    assert said.status == EXIT_DONE
    assert said.err == ""
    assert status.document["marks"]["forced"] == []
    assert [one["parts"] for one in status.document["marks"]["transport"]] == [[name]]
    assert f"Moved, and only carries bytes: transport ({name})." in shown.out
    with RunReader.open(run) as reader:
        rows = [row for row in reader.log if isinstance(row, TransportMoved)]
    assert [len(row.moved) for row in rows] == [1, 0]
