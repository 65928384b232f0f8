"""A study of ours under a supervisor: stopped from elsewhere, continued, accepted, and shown."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.supervise.tool import until
from tests.support.sample_study import PEOPLE, SAMPLE
from tests.support.sizes import only_at_full_size

from perdure.cli.entry import execute
from perdure.supervise import processes
from perdure.supervise.answers import Existence, Ran
from perdure.supervise.assembly import tag_of
from perdure.supervise.command import Command
from perdure.supervise.native import Native
from perdure.supervise.stored import Process
from perdure.testing import MisbehavingServer

QUICK = ("--poll", "50ms", "--pause", "10ms", "--patience-time", "0")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Write a study whose rule answers."""
    (tmp_path / "study.yaml").write_text(SAMPLE)
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path / "study.yaml"


@only_at_full_size
def test_a_study_is_stopped_continued_and_accepted(study: Path, tmp_path: Path, capsys: Any):
    """`perdure stop` pauses it (75); the same command goes on; the receipt has its digests."""
    out = tmp_path / "run"
    with MisbehavingServer(latency_s=0.2, models=("model-2025-01-01",)) as server:
        text = SAMPLE.replace("https://example.org/v1", server.base_url)
        study.write_text(text.replace("requests_per_minute: 60", "concurrency: 4"))
        words = ["supervise", str(study), "--out", str(out), *QUICK, "--", "--model", "api"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("EXAMPLE_API_KEY", "a-key-of-no-worth")
            supervisor = subprocess.Popen(
                [sys.executable, "-m", "perdure.cli", *words],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            until(lambda: server.calls > 3 or supervisor.poll() is not None)
            assert execute(["status", str(out), "--json"]) == 0
            live = json.loads(capsys.readouterr().out)
            assert (live["state"], live["supervisor"]["at_work"]) == ("running", True)
            assert execute(["stop", str(out)]) == 0
            _, errors = supervisor.communicate(timeout=60)
            assert supervisor.returncode == 75, errors
            capsys.readouterr()
            assert execute(["status", str(out)]) == 0
            assert "supervisor stopped, attempt 1" in capsys.readouterr().out
            server.latency_s = 0.0
            assert execute([*words[:4], *QUICK, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["state"] == "done"
    # Neither a key nor the provider is needed to say so again.
    assert execute([*words[:4], *QUICK]) == 0
    assert "already done" in capsys.readouterr().err
    assert execute([*words[:4], *QUICK, "--", "--n", "1"]) == 78
    assert "population" in capsys.readouterr().err
    history = (out / "supervise" / "history.jsonl").read_text().splitlines()
    verbs = [json.loads(line).get("verb") for line in history]
    assert [verb for verb in verbs if verb] == ["start", "resume"]
    receipt = json.loads((out / "supervise" / "receipt.json").read_text())
    assert receipt["units"] == receipt["target"] == 16
    assert execute(["verify", str(out), "--json"]) == 0
    worlds = json.loads(capsys.readouterr().out)["worlds"]
    assert {receipt["proof"][f"digest of {one['world_id']}"] for one in worlds} == {
        one["digest"] for one in worlds
    }
    assert "a-key-of-no-worth" not in "".join(
        path.read_text() for path in (out / "supervise").glob("**/*") if path.is_file()
    )


def test_a_second_supervisor_of_a_study_is_refused_wherever_its_own_files_are(
    study: Path, tmp_path: Path, capsys: Any
):
    """It is refused before it begins anything: no attempt is spent on a run that is held."""
    out, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    with MisbehavingServer(latency_s=0.5, models=("model-2025-01-01",)) as server:
        study.write_text(SAMPLE.replace("https://example.org/v1", server.base_url))
        words = ["supervise", str(study), "--out", str(out), *QUICK]
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "perdure.cli", *words, "--", "--model", "api"],
            env={**os.environ, "EXAMPLE_API_KEY": "a-key-of-no-worth"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until((out / "run.db").exists)
            assert execute([*words, "--dir", str(elsewhere)]) == 73
            assert f"process {supervisor.pid}" in capsys.readouterr().err
            assert not (elsewhere / "history.jsonl").exists()
        finally:
            supervisor.terminate()
            until(lambda: "operator" in (out / "supervise" / "history.jsonl").read_text())
            supervisor.terminate()
            assert supervisor.wait(60) == 75


def asked(home: Path, command: str) -> int:
    """Give the process that a supervisor asks with this command; 0 while there is none."""
    for pid in processes.tagged(f"{tag_of(home)}_ASKED"):
        with contextlib.suppress(OSError):
            if f"\0{command}\0".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
    return 0


@pytest.mark.parametrize("command", ["verify", "export", "run"])
def test_a_check_of_an_accepted_run_that_is_killed_is_made_again(
    study: Path, tmp_path: Path, command: str
):
    """Neither the run nor its receipt is to blame: the one holds, and the other is not begun."""
    out = tmp_path / "run"
    words = ["supervise", str(study), "--out", str(out), *QUICK, "--", "--model", "baseline"]
    assert execute(words) == 0
    receipt = (out / "supervise" / "receipt.json").read_bytes()
    supervisor = subprocess.Popen(
        [sys.executable, "-m", "perdure.cli", *words], stderr=subprocess.PIPE, text=True
    )
    os.kill(until(lambda: asked(out / "supervise", command)), signal.SIGKILL)
    _, errors = supervisor.communicate(timeout=60)
    assert supervisor.returncode == 0, errors
    assert "already done: the receipt holds" in errors
    assert (out / "supervise" / "receipt.json").read_bytes() == receipt
    history = (out / "supervise" / "history.jsonl").read_text()
    assert "ended by signal 9" in history
    assert history.count("attempt-began") == 1


def test_an_invalid_study_is_not_tried_again(tmp_path: Path, capsys: Any):
    """The run's own code, after one attempt, and what the run said."""
    (tmp_path / "study.yaml").write_text("perdure: 1\nname: x\n")
    words = ["supervise", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "run"), *QUICK]
    assert execute(words) == 65
    told = capsys.readouterr().err
    assert "problems in the study" in told
    # It says what ended it, and that what is in the folder is no run.
    assert "Failed: exit status 65; trying again would change nothing. There is no run" in told
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["supervise"]


@pytest.mark.parametrize("place", ["people.csv", "people.csv/run", "/dev/null/run", "full"])
def test_a_place_that_no_run_can_have_is_refused_before_anything(
    study: Path, tmp_path: Path, place: str, capsys: Any
):
    """A file, or a folder with something else in it: no attempt would change that (73)."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    before = sorted(tmp_path.rglob("*"))
    assert execute(["supervise", str(study), "--out", str(tmp_path / place), *QUICK]) == 73
    told = capsys.readouterr().err
    assert "Give" in told
    assert "--dir" not in told
    assert sorted(tmp_path.rglob("*")) == before


def test_words_that_a_run_would_not_take_are_refused_before_anything(
    study: Path, tmp_path: Path, capsys: Any
):
    """The sentence is that of `perdure run`, and nothing is made."""
    words = ["supervise", str(study), "--out", str(tmp_path / "run"), *QUICK, "--", "--bogus"]
    assert execute(words) == 2
    assert "--bogus" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("text", [b"", b"junkjunk"])
def test_a_registry_that_is_none_is_a_damaged_run(
    study: Path, tmp_path: Path, text: bytes, capsys: Any
):
    """It is neither started nor resumed, accepted before or not; what to do is said."""
    out = tmp_path / "run"
    words = ["supervise", str(study), "--out", str(out), *QUICK, "--", "--model", "baseline"]
    out.mkdir()
    (out / "run.db").write_bytes(text)
    assert execute(words) == 74
    told = capsys.readouterr().err
    assert "damaged: neither a start nor a resume applies" in told
    assert "move it away" in told
    (out / "run.db").unlink()
    assert execute(words) == 0
    for path in out.glob("run.db*"):
        path.unlink()
    (out / "run.db").write_bytes(text)
    assert execute(words) == 74
    assert "damaged: neither a start nor a resume applies" in capsys.readouterr().err
    history = (out / "supervise" / "history.jsonl").read_text()
    assert history.count("attempt-began") == 1
    assert (out / "supervise" / "receipt.json").exists()


def test_an_unfinished_run_is_not_gone_on_with_under_other_words(
    study: Path, tmp_path: Path, capsys: Any
):
    """Whatever only `perdure run` takes is compared, named, and never dropped; then it goes on."""
    out = tmp_path / "run"
    base = ["supervise", str(study), "--out", str(out), *QUICK]
    rule = ["--", "--model", "baseline"]
    first = ["run", str(study), "--out", str(out), "--quiet", *rule[1:]]
    assert execute([*first, "--only", "s1@1"]) == 0
    capsys.readouterr()
    for other, moved in ((["--n", "1"], "population"), (["--budget", "7"], "budget")):
        assert execute([*base, *rule, *other]) == 78
        assert moved in capsys.readouterr().err
    # A word that a resume takes as well says nothing of what the run is; neither does none.
    assert execute([*base, "--", "--workers", "0"]) == 0
    assert execute([*base, *rule]) == 0
    assert "already done" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["study.yaml"], "--out"),
        (["--out", "run"], "a study"),
        (["study.yaml", "--out", "run", "--start", "x"], "do not go together"),
        (["study.yaml", "--out", "run", "--", "--only", "calm@1"], "--only"),
        (["study.yaml", "--out", "run", "--", "--force=brief"], "--force"),
        (["study.yaml", "--out", "run", "--poll", "0"], "--poll"),
        (["study.yaml", "--out", "run", "--stall", "soon"], "--stall"),
        (["study.yaml", "--out", "run", "--end", "0=paused"], "Exit status 0"),
        (["study.yaml", "--out", "run", "--end", "x"], "--end"),
        (["study.yaml", "--out", "run", "--arm", "mail=3"], "mail"),
        (["study.yaml", "--out", "run", "--health", "mail"], "--health"),
        (["study.yaml", "--out", "run", "--dump-signal", "USR9"], "USR9"),
        (["study.yaml", "--out", "run", "--dump-signal", "KILL"], "asks it for nothing"),
        (["study.yaml", "--out", "run", "--dump-signal", "term"], "asks it for nothing"),
        (["study.yaml", "--out", "run", "--health", "a=x", "--health", "a=y"], "two health checks"),
        (["study.yaml", "--out", "run", "--pause", "10m", "--pause-max", "1s"], "longer than"),
        (["study.yaml", "--out", "run", "--patience", "1" + 23 * "0"], "too large"),
        (["study.yaml", "--out", "run", "--patience-first", "0"], "--patience-first"),
        (["study.yaml", "--out", "run", "--end", "75=paused", "--end", "75=transient"], "75"),
        (["study.yaml", "--out", "run", "--end", "300=paused"], "300"),
        (["study.yaml", "--out", "run", "--", "--bogus"], "--bogus"),
        (["--start", "x", "--resume", "x"], "--exists, --progress, --artifact, --target"),
        ([], "perdure supervise STUDY --out DIR"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything(words: list[str], told: str, capsys: Any):
    """Exit code 2, and a sentence that names it."""
    assert execute(["supervise", *words]) == 2
    assert told in capsys.readouterr().err


def test_everything_that_does_not_fit_is_told_at_once(tmp_path: Path, capsys: Any):
    """Numbers, times, sizes, commands, names, what is missing: a line each, and nothing made."""
    wrong = {
        "--patience": "x",
        "--patience-first": "1.5",
        "--predicate-errors": "0",
        "--pause": "3parsecs",
        "--stall": "-1",
        "--poll": "0s",
        "--log-size": "3XB",
        "--logs": "-1",
        "--health": "nope",
        "--arm": "zz=1",
        "--end": "5=maybe",
        "--on-done": "a 'b",
        "--dump-signal": "NOPE",
        "--target": "many",
        "--start": "a 'b",
    }
    words = [word for pair in wrong.items() for word in pair]
    home = tmp_path / "sup"
    given = ["--resume", "b", "--progress", "c", "--artifact", "d", "--dir", str(home)]
    assert execute(["supervise", *words, *given]) == 2
    told = capsys.readouterr().err
    for option in (*wrong, "--exists"):
        # An arming without a check is told by the name of the check.
        assert ("'zz'" if option == "--arm" else option) in told, told
    assert f"{len(wrong) + 1} things are wrong" in told
    assert not home.exists()
    words = ["x.yaml", "--out", str(tmp_path / "run"), "--stall", "soon", "--", "--bogus"]
    assert execute(["supervise", *words]) == 2
    told = capsys.readouterr().err
    assert "--bogus" in told
    assert "--stall" in told


class Answers:
    """The commands of `perdure`, answered from a table."""

    def __init__(self, **documents: Any) -> None:
        self.documents = documents
        self.asked: list[str] = []

    async def __call__(self, command: Command) -> Ran:
        name = command.words[4]
        self.asked.append(name)
        found = self.documents.get(name)
        if found is None:
            return Ran(status=70, err=b"perdure: a bug")
        return Ran(status=0, out=json.dumps(found).encode())


LIVING = Process(pid=4711)
WORLD = {"world_id": "w1", "tick": 3, "horizon": 4, "digest": "d1"}
VERIFIED = {"run_id": "r", "sound": True, "finished": True, "worlds": [WORLD], "findings": []}
MANIFEST = {"run_id": "r", "finished": True, "worlds": [WORLD]}


def native(folder: Path, **documents: Any) -> tuple[Native, Answers]:
    """Make a subject of a run that its commands tell of."""
    (folder / "run.db").touch()
    (folder / "manifest.json").write_text("{}")
    answers = Answers(**documents)
    return Native("study.yaml", folder, answers), answers


@pytest.mark.parametrize(
    ("verified", "manifest", "told"),
    [
        ({}, {}, ""),
        ({"sound": False}, {}, "damaged"),
        ({"finished": False}, {}, "horizon"),
        ({}, {"run_id": "other"}, "finished run"),
        ({}, {"finished": False}, "finished run"),
        ({}, {"worlds": [{**WORLD, "digest": "d2"}]}, "world w1"),
        ({}, {"worlds": [{**WORLD, "tick": 2}]}, "world w1"),
        ({}, {"worlds": []}, "world w1"),
    ],
)
def test_the_export_has_to_be_that_of_the_finished_record(
    tmp_path: Path, verified: dict[str, Any], manifest: dict[str, Any], told: str
):
    """Whatever differs between the record and its export is against accepting it."""
    subject, _ = native(
        tmp_path,
        verify={**VERIFIED, **verified},
        export={"folder": str(tmp_path), "manifest": {**MANIFEST, **manifest}},
    )
    found = asyncio.run(subject.artifact(is_clean=True))
    assert told in "; ".join(found.problems)
    assert bool(found.problems) == bool(told)
    assert found.is_damaged == ("sound" in verified)
    assert (found.units.value, subject.target) == (4, 4)


def test_without_a_clean_end_nothing_is_verified(tmp_path: Path):
    """It would cost as much as the record is long, and could not be accepted."""
    subject, answers = native(tmp_path)
    assert asyncio.run(subject.artifact(is_clean=False)).is_unlooked
    assert answers.asked == []
    assert asyncio.run(subject.existence())[0] is Existence.USABLE


def test_what_was_lost_is_no_progress(tmp_path: Path):
    """Replies that the journal keeps are; calls that a kill cost are not, however many."""

    def told(lost: int, kept: int) -> dict[str, Any]:
        parts = [{"kind": "lost", "count": lost}, {"kind": "kept", "count": kept}]
        return {"ticks": 16, "ticks_closed": 2, "calls": 20, "outside": {"parts": parts}}

    steps = []
    for lost, kept in ((0, 3), (9, 3), (9, 4)):
        subject, _ = native(tmp_path, status=told(lost, kept))
        steps.append(asyncio.run(subject.standing()).steps.value)
    assert steps == [25, 25, 26]


@pytest.mark.parametrize(
    ("words", "for_run", "resume"),
    [
        ((), False, "perdure resume {} --study study.yaml"),
        (("--workers", "2"), False, "perdure resume {} --study study.yaml --workers 2"),
        (("--n", "60"), True, "perdure run study.yaml --out {} --n 60"),
    ],
)
def test_a_run_is_compared_with_what_is_asked_now(
    tmp_path: Path, words: tuple[str, ...], *, for_run: bool, resume: str
):
    """Words that a resume would not take go to `perdure run`, which compares them with the run's.

    So is an accepted run: both leave it alone.
    """
    asked = Native("study.yaml", tmp_path, Answers(), words=words, for_run=for_run)
    assert asked.command(resume=True).text == resume.format(tmp_path)
    assert asked.asked_again().text == resume.format(tmp_path)
    assert asked.command(resume=False).text == " ".join(
        ("perdure run study.yaml --out", str(tmp_path), *words)
    )


def test_a_command_that_says_nothing_is_a_broken_predicate(tmp_path: Path):
    """Never 0."""
    subject, _ = native(tmp_path)
    assert "exit status 70" in asyncio.run(subject.standing()).progress.fault
    assert "exit status 70" in asyncio.run(subject.artifact(is_clean=True)).units.fault


def test_a_call_in_flight_counts_while_the_run_lives(tmp_path: Path):
    """A status file that is renewed says that the run lives; one that says nothing, nothing."""
    subject, _ = native(tmp_path)
    assert asyncio.run(subject.look(LIVING)).progress.value is None
    moment = {"ticks": 16, "ticks_closed": 1, "calls": 7, "in_flight": 2, "elapsed_s": 3.5}
    moment["pid"] = LIVING.pid
    (tmp_path / "status.json").write_text(json.dumps(moment))
    seen = asyncio.run(subject.look(LIVING))
    assert (seen.progress.value, seen.pulse, seen.busy) == (1, 8, True)
    (tmp_path / "status.json").write_text(json.dumps({**moment, "elapsed_s": 4.5}))
    assert asyncio.run(subject.look(LIVING)).beat != seen.beat


def test_what_an_earlier_attempt_said_of_itself_says_nothing_of_this_one(tmp_path: Path):
    """A status file that a kill left: no progress, no heartbeat, and nothing in flight."""
    subject, _ = native(tmp_path)
    moment = {"ticks": 16, "ticks_closed": 1, "calls": 7, "in_flight": 2, "pid": LIVING.pid + 1}
    (tmp_path / "status.json").write_text(json.dumps(moment))
    for run in (LIVING, None):
        seen = asyncio.run(subject.look(run))
        assert (seen.progress.value, seen.pulse, seen.busy, seen.beat) == (None, None, False, "")


@pytest.mark.parametrize("left", [0, 3])
def test_a_healthy_resume_is_not_told_as_a_rewind(study: Path, tmp_path: Path, left: int):
    """What a killed attempt said last lags behind its record; neither lies, and nobody is told."""
    out = tmp_path / "run"
    run = ["run", str(study), "--out", str(out), "--quiet", "--model", "baseline"]
    assert execute([*run, "--only", "s1@1"]) == 0
    said = json.loads((out / "status.json").read_text())
    assert said["ticks_closed"] == 4
    (out / "status.json").write_text(json.dumps({**said, "ticks_closed": left, "pid": 1}))
    base = ["supervise", str(study), "--out", str(out), *QUICK, "--poll", "10ms"]
    assert execute([*base, "--", "--model", "baseline"]) == 0
    events = [
        json.loads(line) for line in (out / "supervise" / "history.jsonl").read_text().splitlines()
    ]
    assert [event for event in events if event["event"] == "rewound"] == []
    assert [event["units"] for event in events if event["event"] == "accepted"] == [16]
