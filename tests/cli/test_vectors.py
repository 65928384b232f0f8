"""That a study with a model for vectors is planned, run, paid for and driven again, by commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import write_study

from perdure.base.errors import (
    EXIT_DONE,
    EXIT_INVALID_STUDY,
    EXIT_MOVED,
    EXIT_USAGE,
    UsageError,
)
from perdure.base.vectors import rounded, unpack
from perdure.inference.baseline_vectors import DIMENSIONS, vector_of
from perdure.inference.local import check_vectors
from perdure.inference.local.onnx_vectors import OnnxVectors
from perdure.records.events import AnswerGiven, Cost
from perdure.testing import MisbehavingServer
from perdure.testing.replies import embedding_of
from perdure.trace.reader import RunReader

# A world that asks for vectors before every step, and shows a claim to nobody unless they are good.
WORLD = """\
from perdure.records.presentation import Need
from perdure.world import SurveyWorld


class Ranking(SurveyWorld):
    def needs(self, tick, turns, plan):
        return (Need(purpose="rank", texts=("Ann is honest.", f"tick {tick}"), role="embed"),)

    def step(self, tick, turns, plan, answers):
        (answer,) = answers
        assert len(answer.vectors) == 2, answer.failed
        return super().step(tick, turns, plan, answers)
"""
RULELESS = "  words: {provider: baseline}\n"
LOCAL = "  near: {provider: local, model: all-minilm-l6-v2-int8}\n"
TEXTS = [("Ann is honest.", f"tick {tick}") for tick in range(3)]


def ranking(folder: Path, models: str = RULELESS, embed: str = "words") -> Path:
    """Write the small study with that world, and a model for vectors."""
    path = write_study(folder)
    (folder / "ranks.py").write_text(WORLD)
    text = path.read_text().replace("timeline:\n", "timeline:\n  world: ranks:Ranking\n")
    roles = f"roles: {{tier_a: baseline, embed: {embed}}}\n" if embed else ""
    path.write_text(text.replace("models:\n", f"{roles}models:\n{models}"))
    return path


def recorded(folder: Path) -> tuple[list[tuple[tuple[float, ...], ...]], list[Cost]]:
    """Read the vectors that the first world asked for itself, and what was paid for them."""
    with RunReader.open(folder) as reader:
        world = reader.worlds[0].world_id
        events = list(reader.events(world))
        vectors = [
            unpack(reader.blob(world, event.payload.vectors), event.payload.count)
            for event in events
            if isinstance(event.payload, AnswerGiven) and event.payload.job < 0
        ]
        assert reader.header(world).pins["embed"].provider in {"baseline", "http", "local"}
    costs = [event.payload for event in events if isinstance(event.payload, Cost)]
    return vectors, [cost for cost in costs if cost.role == "embed" and cost.job < 0]


def test_vectors_of_words_are_recorded_and_cost_nothing(perdure, tmp_path):
    """Planned, run, verified and driven again, with a baseline that has no rule."""
    study, out = ranking(tmp_path), tmp_path / "run"
    planned = perdure("plan", study)
    assert planned.status == EXIT_DONE
    assert "vectors by baseline (overlap of words, not meaning)" in " ".join(planned.out.split())
    assert perdure("plan", study, "--try").status == EXIT_DONE
    ran = perdure("run", study, "--out", out, "--quiet")
    assert ran.status == EXIT_DONE
    vectors, costs = recorded(out)
    assert vectors == [rounded([vector_of(text) for text in texts]) for texts in TEXTS]
    assert len(vectors[0][0]) == DIMENSIONS
    assert [(cost.model, cost.served, cost.amount) for cost in costs] == [
        ("baseline", "baseline", 0)
    ] * 3
    for command in ("verify", "replay", "report", "ledger", "export"):
        assert perdure(command, out, "--json").status == EXIT_DONE


def test_the_local_model_of_vectors_answers_a_run(perdure, tmp_path):
    """Vectors of what texts mean are recorded, counted in tokens, free, and driven again."""
    try:
        model = OnnxVectors(check_vectors())
    except UsageError as fault:
        pytest.skip(str(fault))
    study, out = ranking(tmp_path, LOCAL, "near"), tmp_path / "run"
    ran = perdure("run", study, "--out", out, "--quiet")
    assert ran.status == EXIT_DONE, ran.err
    vectors, costs = recorded(out)
    assert vectors == [tuple(model.embed(text).vector for text in texts) for texts in TEXTS]
    assert [(cost.model, cost.served, cost.amount) for cost in costs] == [
        ("all-minilm-l6-v2-int8", "all-minilm-l6-v2-int8", 0)
    ] * 3
    assert all(cost.usage is not None and cost.usage.input_fresh > 0 for cost in costs)
    for command in ("verify", "replay"):
        assert perdure(command, out, "--json").status == EXIT_DONE
    # It cannot speak: neither by its role nor by a flag.
    assert perdure("plan", study, "--model", "near").status == EXIT_USAGE
    study.write_text(study.read_text().replace("tier_a: baseline", "tier_a: near"))
    said = perdure("plan", study)
    assert said.status == EXIT_INVALID_STUDY
    assert "gives vectors and does not speak" in said.err


def test_vectors_over_http_are_paid_once_and_kept(perdure, tmp_path):
    """What an endpoint was paid for is on record; to run again, or drive again, asks nothing."""
    with MisbehavingServer(models=("vectors-1",)) as server:
        priced = (
            f"  far: {{provider: http, model: vectors-1, base_url: {server.base_url}, "
            "price: {input: 2, output: 0}}\n"
        )
        study, out = ranking(tmp_path, priced, "far"), tmp_path / "run"
        assert perdure("plan", study).status == EXIT_DONE
        assert perdure("run", study, "--out", out, "--quiet").status == EXIT_DONE
        asked = [request.body["input"] for request in server.requests if request.index >= 0]
        # Beside them stand the memories of the personas, which have vectors then too.
        assert sorted(texts for texts in map(tuple, asked) if texts in TEXTS) == sorted(TEXTS * 2)
        calls = server.calls
        assert all(request.path.endswith("/embeddings") for request in server.requests[1:])
        assert perdure("run", study, "--out", out, "--quiet").status == EXIT_DONE
        assert perdure("replay", out).status == EXIT_DONE
        assert server.calls == calls
    vectors, costs = recorded(out)
    assert vectors == [rounded([embedding_of(text) for text in texts]) for texts in TEXTS]
    for cost in costs:
        assert cost.usage is not None
        assert cost.usage.output == 0
        assert cost.amount == cost.usage.input_fresh * 2_000
    shutil.copytree(out, tmp_path / "moved")
    study.write_text(study.read_text().replace("vectors-1", "vectors-2"))
    moved = perdure("resume", tmp_path / "moved", "--study", study)
    assert moved.status == EXIT_MOVED
    assert "pins" in moved.err


def test_vectors_without_a_price_are_refused_by_name(perdure, tmp_path):
    """A model for vectors is like any other: its price is known, or the study is refused."""
    models = "  far: {provider: http, model: v-1, base_url: 'http://h/v1'}\n"
    study = ranking(tmp_path, models, "far")
    refused = perdure("run", study, "--out", tmp_path / "run")
    assert refused.status == EXIT_INVALID_STUDY
    assert "The model `v-1` (embed) has no price." in " ".join(refused.err.split())
    assert not (tmp_path / "run").exists()
