"""Scoring again may be killed anywhere: no finished call is paid for twice, none is forgotten."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import commands
from tests.support.rated_study import write_rated

from perdure.testing import MisbehavingServer

pytestmark = pytest.mark.crash

ASKED = ("--question", "why", "--anchors", "intent-1.yaml", "--json")
POINTS = [
    *("call.intended:1", "call.answered:2", "call.settled:3", "scores.sealed:1"),
]
# What was sent and not known to have come to anything when it was killed.
LOST = {"call.intended": 1, "call.answered": 1}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a run whose open answers differ, and have no vectors on record."""
    folder = tmp_path_factory.mktemp("scored")
    study = write_rated(folder, personas=70)
    with MisbehavingServer(responder=answer) as server:
        model = ("--model", "http", "--base-url", server.base_url, "--model-name", "test-model")
        (ran,) = commands(
            ("run", study, "--out", folder / "run", "--quiet", *model, "--price", "0,0")
        )
    assert ran.status == 0, ran.err
    return folder


_told = itertools.count()


def answer(_request: Any) -> str:
    """Say something else every time."""
    return f"I would take the train on {next(_told)} days of my life."


def scored(folder: Path, crash: str = "") -> Any:
    """Score, perhaps until killed; give the document, None if it was killed."""
    asked = ("score", folder / "run", *ASKED[:3], folder / ASKED[3], ASKED[4])
    (told,) = commands(asked, PERDURE_CRASH_AT=crash)
    if crash:
        assert told.status == -9, told
        return None
    assert told.status == 0, told.err
    return told.document


def answers(folder: Path, score_id: str) -> list[str]:
    """List the lines with answers of a file of scores."""
    path = folder / "run" / "scores" / f"{score_id}.jsonl"
    return path.read_text("utf-8").splitlines()[1:-2]


@pytest.fixture(scope="module")
def undisturbed(first: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[str]]:
    """Score once without a kill: the document and the answers."""
    folder = Path(shutil.copytree(first, tmp_path_factory.mktemp("calm") / "copy"))
    document = scored(folder)
    return document, answers(folder, document["scores"]["rescoring"]["id"])


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_scoring_goes_on(
    first: Path, undisturbed: tuple[Any, list[str]], tmp_path: Path, point: str
) -> None:
    """P3: the scores are those of one that was not killed, and every attempt is charged once."""
    folder = Path(shutil.copytree(first, tmp_path / "copy"))
    scored(folder, point)
    document = scored(folder)
    calm, lines = undisturbed
    assert document["scores"]["rescoring"] == calm["scores"]["rescoring"]
    assert answers(folder, calm["scores"]["rescoring"]["id"]) == lines
    lost = LOST.get(point.partition(":")[0], 0)
    end = document["scores"]["end"]
    assert end["lost"] == lost
    assert end["calls"] == calm["scores"]["end"]["calls"] + lost
    assert calm["scores"]["end"]["calls"] >= 8
    log, verified = commands(
        ("ledger", folder / "run", "--json"), ("verify", folder / "run", "--json")
    )
    parts = {part["kind"]: part["count"] for part in log.document["outside"]["parts"]}
    assert parts == {"rescored": end["calls"]}
    assert verified.document["sound"]
