"""A question scored by chances, over a real HTTP server: asked for, recorded, scored, replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import commands

from perdure.records.events import ScoreGiven, Turn
from perdure.records.outcome import UnscorableCause
from perdure.testing import MisbehavingServer
from perdure.trace.reader import RunReader

STUDY = """\
perdure: 1
name: chances
brief: {title: A vote, text: There is a vote., claims: {c1: One thing.}}
ontology:
  attributes:
    age: {column: age, label: Age, unit: years, required: true}
population: {file: people.csv, id: id}
questions:
  vote:
    text: How do you vote?
    scoring: logprobs
    shuffle: true
    choices: {yes: for it, no: against it, home: not at all}
variants: {v1: The first.}
scenarios:
  s1: {horizon: 1, waves: [0], wave_question: vote, variant: v1}
seeds: [1]
models:
  talker: {provider: http, model: test-model, base_url: "URL", price: {input: 0, output: 0}}
roles: {tier_a: talker, tier_b: talker}
"""
RULE = "{provider: baseline, rule: {noise: 1, claims: {c1: {yes: 1, no: 1, home: 1}}}}"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Write the study's people."""
    rows = [f"p{number},{20 + number}" for number in range(12)]
    (tmp_path / "people.csv").write_text("\n".join(["id,age", *rows]) + "\n", "utf-8")
    return tmp_path / "study.yaml"


def run(study: Path, server: MisbehavingServer, **changes: str) -> Path:
    """Run the study against a server; give its folder."""
    text = STUDY.replace("URL", server.base_url)
    for old, new in changes.items():
        text = text.replace(old, new)
    study.write_text(text, "utf-8")
    out = study.parent / "run"
    (told,) = commands(("run", study, "--out", out, "--quiet"))
    assert told.status == 0, told.err
    return out


def events(out: Path, kind: type) -> list[Any]:
    """List the payloads of a kind."""
    with RunReader.open(out) as reader:
        (world,) = reader.worlds
        found = [event.payload for event in reader.events(world.world_id)]
    return [one for one in found if isinstance(one, kind)]


def test_chances_are_asked_for_and_scored(study: Path) -> None:
    """Every request asks for them, the record has the tokens, and masses follow the drawn order."""
    with MisbehavingServer(responder=lambda _request: "B") as server:
        out = run(study, server)
        bodies = [seen.body for seen in server.requests if seen.method == "POST"]
    assert {body["logprobs"] for body in bodies} == {True}
    assert all("A. " in body["messages"][-1]["content"] for body in bodies)
    turns, scores = events(out, Turn), events(out, ScoreGiven)
    assert len(turns) == len(scores) == 12
    assert len({turn.order for turn in turns}) > 1
    for turn, score in zip(turns, scores, strict=True):
        assert turn.first_tokens[0].token == "B"
        likeliest = ("yes", "no", "home")[score.masses.index(max(score.masses))]
        assert likeliest == turn.order[1]
        assert max(score.masses) == pytest.approx(0.75)
    report, replayed, verified, shown = commands(
        ("report", out, "--json"), ("replay", out), ("verify", out), ("report", out)
    )
    assert (replayed.status, verified.status, shown.status) == (0, 0, 0), replayed.out
    (question,) = report.document["questions"]
    assert sum(one["share"] for one in question["ticks"][0]["shares"]) == pytest.approx(1.0)


def test_an_endpoint_that_tells_none_leaves_answers_unscored(study: Path) -> None:
    """The reply is kept, the cause is counted, and nothing is made up."""

    def without(tree: dict[str, Any]) -> dict[str, Any]:
        tree["choices"][0]["logprobs"] = None
        return tree

    from perdure.testing import replies  # noqa: PLC0415 - to take one thing away

    real = replies.chat_tree
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replies, "chat_tree", lambda *given: without(real(*given)))
        with MisbehavingServer(responder=lambda _request: "A") as server:
            out = run(study, server)
    scores = events(out, ScoreGiven)
    assert {score.unscorable for score in scores} == {UnscorableCause.NO_LOGPROBS}
    (report,) = commands(("report", out, "--json"))
    gaps = [gap["why"] for gap in json.loads(report.out)["gaps"]]
    assert "unscorable: no logprobs" in gaps


@pytest.mark.parametrize("model", ["baseline", "local"])
def test_a_model_that_tells_none_is_refused(study: Path, model: str) -> None:
    """Plan says it before anything is spent."""
    study.write_text(STUDY.replace("URL", "http://127.0.0.1:9/v1"), "utf-8")
    flags = ("--model", model) if model == "local" else ()
    if model == "baseline":
        text = study.read_text("utf-8")
        before, after = text.partition("  talker:")[0], text.partition("roles:")[2]
        study.write_text(f"{before}  talker: {RULE}\nroles:{after}", "utf-8")
    (told,) = commands(("plan", study, *flags))
    assert told.status == 65
    assert "logprobs" in told.err
