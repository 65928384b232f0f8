"""Answers are scored again beside a record, which stays; scores say by which anchors they are."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from tests.support.commands import Told, commands
from tests.support.rated_study import other_anchors, write_rated

from perdure.analysis.figures import figures_of
from perdure.analysis.rescored import RescoredSource
from perdure.base.canonical import encode
from perdure.base.errors import UsageError
from perdure.records.events import ScoreGiven
from perdure.records.scenario import QuestionType
from perdure.records.study import Study
from perdure.trace.lock import GovernorLock
from perdure.trace.reader import RunReader
from perdure.trace.scores import read_scores

QUESTION = ("--question", "likely")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the study, a run of it in `run`, and a second version of its anchors."""
    folder = tmp_path_factory.mktemp("rated")
    study = write_rated(folder)
    anchors = other_anchors(folder)
    ran, checked = commands(
        ("run", study, "--out", folder / "run", "--quiet"),
        ("anchors", "check", anchors, "--study", study, "--json"),
    )
    assert (ran.status, checked.status) == (0, 0), ran.err + checked.err
    return folder


@pytest.fixture
def folder(first: Path, tmp_path: Path) -> Path:
    """Give a copy of it that a test may change."""
    return Path(shutil.copytree(first, tmp_path / "copy"))


def score(folder: Path, *asked: object, scored: str = "run") -> Told:
    """Score answers of the run in a folder again."""
    (told,) = commands(("score", folder / scored, *asked))
    return told


def hashes(run: Path) -> dict[str, str]:
    """Hash every file of a run's record."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((run / "worlds").iterdir())
    }


def recorded(run: Path) -> dict[tuple[str, int], ScoreGiven]:
    """Give the scores of the record by world and content number of the turn."""
    with RunReader.open(run) as reader:
        return {
            (world.world_id, event.payload.turn): event.payload
            for world in reader.worlds
            for event in reader.events(world.world_id, ("score",))
            if isinstance(event.payload, ScoreGiven)
        }


def lines(run: Path, score_id: str) -> list[dict[str, Any]]:
    """Read a file of scores, line by line."""
    text = (run / "scores" / f"{score_id}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_the_same_anchors_give_the_recorded_scores_without_a_call(folder: Path) -> None:
    """What the record has is used: no call is made, and every mass comes out as it was."""
    before = hashes(folder / "run")
    told = score(folder, "--json")
    assert told.status == 0, told.err
    scores = told.document["scores"]
    assert (scores["end"]["calls"], scores["end"]["kept"]) == (0, scores["end"]["answers"])
    known = recorded(folder / "run")
    found = [line for line in lines(folder / "run", scores["rescoring"]["id"]) if "world" in line]
    assert len(found) == scores["end"]["answers"] == len(known) == 2 * 2 * 70
    assert [line.get("masses") for line in found] == [
        list(one.masses) or None for one in known.values()
    ]
    assert hashes(folder / "run") == before


def test_other_anchors_change_no_byte_of_the_record_and_are_named(folder: Path) -> None:
    """The record stays; the scores, the log, the list and the report name the anchors' version."""
    run = folder / "run"
    before = hashes(run)
    told = score(folder, "--anchors", folder / "intent-2.yaml", "--json")
    assert told.status == 0, told.err
    asked, end = told.document["scores"]["rescoring"], told.document["scores"]["end"]
    assert hashes(run) == before
    assert (asked["anchors"]["version"], end["kept"], end["calls"]) == (
        "train-2",
        end["answers"],
        1,
    )
    listed, report, plain, verified = commands(
        ("score", run, "--list"),
        ("report", run, "--scores", asked["id"], "--json"),
        ("report", run, "--json"),
        ("verify", run),
    )
    assert asked["id"] in listed.out
    assert "train-2" in listed.out
    (by,) = report.document["scored_by"]
    assert (by["version"], by["scores"]) == ("train-2", asked["id"])
    (by,) = plain.document["scored_by"]
    assert (by["version"], by["scores"]) == ("train-1", "")
    means = [
        [row["mean"] for row in one.document["questions"][0]["ticks"]] for one in (report, plain)
    ]
    assert means[0] != means[1]
    assert verified.status == 0, verified.err
    # The address of a figure of those scores gives that figure, if it is asked for by them.
    row = report.document["questions"][0]["ticks"][0]
    by_new, by_old = commands(
        ("show", run, row["address"], "--scores", asked["id"], "--json"),
        ("show", run, row["address"], "--json"),
    )
    assert (by_new.status, by_old.status) == (0, 0)
    assert f'"mean": {json.dumps(row["mean"])}' in by_new.out
    assert f'"mean": {json.dumps(row["mean"])}' not in by_old.out


def test_scores_given_before_the_run_went_on_are_refused(folder: Path) -> None:
    """Where answers came after them, nothing is reported of new and old scores mixed."""
    run = folder / "run"
    scores = read_scores(run, score(folder, "--json").document["scores"]["rescoring"]["id"])
    earlier = dict.fromkeys(scores.rescoring.ends, 0)
    before = msgspec.structs.replace(
        scores, rescoring=msgspec.structs.replace(scores.rescoring, ends=earlier)
    )
    with RunReader.open(run) as reader:
        source = RescoredSource(reader, run, before)
        with pytest.raises(UsageError, match="went on after the scores"):
            list(source.events(reader.worlds[0].world_id))


def test_what_is_scored_already_is_not_scored_again(folder: Path) -> None:
    """Asked for twice, the same scores are there, with one row of the run log."""
    first = score(folder, "--temperature", "0.5", "--json").document
    second = score(folder, "--temperature", "0.5", "--json").document
    assert (first["known"], second["known"]) == (False, True)
    assert first["scores"] == second["scores"]
    with RunReader.open(folder / "run") as reader:
        rows = [row for row in reader.log if type(row).__name__ == "AnswersRescored"]
    assert len(rows) == 1


def test_an_open_question_gets_a_scale(folder: Path) -> None:
    """Answers to an open question are scored by anchors, and reported as the anchors' points."""
    run = folder / "run"
    told = score(folder, "--question", "why", "--anchors", folder / "intent-2.yaml", "--json")
    assert told.status == 0, told.err
    scores = told.document["scores"]
    assert scores["end"]["scored"] > 0
    assert scores["end"]["calls"] > 1
    (report,) = commands(("report", run, "--scores", scores["rescoring"]["id"], "--json"))
    asked = {one["id"]: one for one in report.document["questions"]}
    assert list(asked["why"]["choices"]) == scores["rescoring"]["anchors"]["points"]
    assert asked["why"]["ticks"][0]["mean"] is not None
    (ledger,) = commands(("ledger", run))
    assert "made to score answers again" in ledger.out


def test_an_export_has_the_scores_and_the_same_reports(folder: Path) -> None:
    """Scores go with an export, byte for byte; a report of them is the same from both."""
    run = folder / "run"
    score_id = score(folder, "--temperature", "0.5", "--json").document["scores"]["rescoring"]["id"]
    live, exported, there, listed, verified = commands(
        ("report", run, "--scores", score_id, "--format", "markdown"),
        ("export", run, "--with-held-out"),
        ("report", run / "export", "--scores", score_id, "--format", "markdown"),
        ("score", run / "export", "--list"),
        ("verify", run / "export"),
    )
    assert [one.status for one in (live, exported, there, listed, verified)] == [0] * 5, there.err
    assert live.out == there.out
    assert score_id in listed.out
    name = f"scores/{score_id}.jsonl"
    assert (run / name).read_bytes() == (run / "export" / name).read_bytes()
    answer = next(line for line in lines(run, score_id) if "world" in line)
    event = f"{answer['world']}:{answer['seq']}"
    shown, shown_there = commands(
        ("show", run, event, "--scores", score_id, "--json"),
        ("show", run / "export", event, "--scores", score_id, "--json"),
    )
    assert (shown.status, shown.out) == (0, shown_there.out)


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        (("--question", "nobody"), 2, "no question 'nobody'"),
        (("--question", "why"), 2, "no anchors of its own"),
        (("--anchors", "nowhere.yaml"), 65, "nowhere.yaml"),
        (("--temperature", "0"), 2, "temperature"),
    ],
)
def test_what_does_not_fit_is_refused(
    folder: Path, asked: tuple[str, ...], status: int, said: str
) -> None:
    """A mistake is named, with its exit code, and nothing is left behind."""
    told = score(folder, *asked)
    assert told.status == status, told.err
    assert said in told.err
    assert not list((folder / "run").glob("scores/*"))


def test_anchors_that_did_not_pass_are_refused(folder: Path) -> None:
    """Without the receipt of a check of exactly these anchors nothing is scored by them."""
    (folder / "intent-2.check.json").unlink()
    told = score(folder, "--anchors", folder / "intent-2.yaml")
    assert told.status == 65
    assert "perdure anchors check" in told.err


def test_a_run_that_somebody_works_on_is_left_alone(folder: Path) -> None:
    """While a process holds the run, nothing is scored."""
    import asyncio  # noqa: PLC0415 - only this test

    from perdure.base.clock import SystemClock  # noqa: PLC0415 - only this test

    async def held() -> Told:
        lock = await GovernorLock.acquire(folder / "run", SystemClock())
        try:
            return await asyncio.to_thread(score, folder)
        finally:
            lock.release()

    assert asyncio.run(held()).status == 73


def test_scores_that_were_edited_are_not_believed(folder: Path) -> None:
    """A file of scores of which a byte was changed is named as damaged; the record is sound."""
    run = folder / "run"
    score_id = score(folder, "--json").document["scores"]["rescoring"]["id"]
    path = run / "scores" / f"{score_id}.jsonl"
    text = path.read_text("utf-8")
    path.write_text(text.replace('"p3"', '"p4"', 1), "utf-8")
    report, listed, verified = commands(
        ("report", run, "--scores", score_id), ("score", run, "--list"), ("verify", run)
    )
    assert (report.status, listed.status, verified.status) == (74, 74, 74)
    assert "Remove the file" in report.err


def test_a_study_without_a_receipt_does_not_run(tmp_path: Path) -> None:
    """Plan and run refuse a scale whose anchors were not checked, and say the command that does."""
    study = write_rated(tmp_path, checked=False)
    planned, ran = commands(("plan", study), ("run", study, "--out", tmp_path / "run"))
    assert (planned.status, ran.status) == (65, 65)
    assert "perdure anchors check" in planned.err
    assert not (tmp_path / "run").exists()


def test_choices_that_are_no_scale_have_shares_and_no_mean(folder: Path) -> None:
    """Scored by likeness, a choice of one stays one: only an open question becomes a scale."""
    scores = read_scores(
        folder / "run", score(folder, "--json").document["scores"]["rescoring"]["id"]
    )
    with RunReader.open(folder / "run") as reader:
        for asked, told in (
            (QuestionType.ONE, QuestionType.ONE),
            (QuestionType.LIKERT, QuestionType.LIKERT),
            (QuestionType.OPEN, QuestionType.LIKERT),
        ):
            study = msgspec.json.decode(reader.entry.study, type=Study)
            questions = tuple(msgspec.structs.replace(one, type=asked) for one in study.questions)
            changed = encode(msgspec.structs.replace(study, questions=questions)).decode()
            source = Mock(entry=msgspec.structs.replace(reader.entry, study=changed))
            entry = RescoredSource(source, folder / "run", scores).entry
            (likely,) = (
                one
                for one in msgspec.json.decode(entry.study, type=Study).questions
                if one.id == scores.rescoring.question
            )
            assert likely.asks_for is told
            assert figures_of(likely).has_mean is (told is QuestionType.LIKERT)


def test_scores_can_be_told_apart_and_looked_at_one_by_one(folder: Path) -> None:
    """The list has the formula; an answer is shown with the score that it was given again."""
    run = folder / "run"
    ids = [
        score(folder, *how, "--json").document["scores"]["rescoring"]["id"]
        for how in ((), ("--temperature", "0.5"), ("--epsilon", "0.25"))
    ]
    (listed,) = commands(("score", run, "--list"))
    said = " ".join(listed.out.split())
    for score_id, how in zip(
        ids,
        ("epsilon 0, temperature 1", "epsilon 0, temperature 0.5", "epsilon 0.25, "),
        strict=True,
    ):
        (line,) = (part for part in said.split(" scored.") if score_id in part)
        assert how in line
    answer = next(line for line in lines(run, ids[1]) if line.get("masses"))
    event = f"{answer['world']}:{answer['seq']}"
    again, plain, other = commands(
        ("show", run, event, "--scores", ids[1], "--json"),
        ("show", run, event, "--json"),
        ("show", run, f"{answer['world']}:0", "--scores", ids[1]),
    )
    judged = again.document["turn"]["score"]
    assert [mass for _, mass in judged["masses"]] == answer["masses"]
    assert (judged["scores"], plain.document["turn"]["score"]["scores"]) == (ids[1], "")
    assert judged["masses"] != plain.document["turn"]["score"]["masses"]
    assert other.status == 2
    assert "they are of answers to likely" in other.err
    (drawn,) = commands(("show", run, event, "--scores", ids[1]))
    assert f"Scored, after the run: scores {ids[1]}" in drawn.out


def test_a_question_that_nobody_answered_gets_no_scores(tmp_path: Path) -> None:
    """Nothing to score is a mistake of who asks, and no file of none."""
    study = write_rated(tmp_path)
    text = study.read_text("utf-8")
    asked = "  rated: {horizon: 2, waves: [0, 1], wave_question: likely, variant: v1}\n"
    assert asked in text
    study.write_text(text.replace(asked, ""), "utf-8")
    (ran,) = commands(("run", study, "--out", tmp_path / "run", "--quiet"))
    assert ran.status == 0, ran.err
    told = score(tmp_path)
    assert told.status == 2
    assert "Nobody answered 'likely'" in told.err
    assert not list((tmp_path / "run").glob("scores/*.jsonl"))
