"""`perdure anchors check` says whether anchors order graded answers, and leaves a receipt of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from tests.support.figure_runs import ANCHORS as WORDS
from tests.support.sample_study import Writer, people, sample, write

from perdure.base.errors import EXIT_DONE, EXIT_INVALID_STUDY, EXIT_STORAGE, EXIT_USAGE, UsageError
from perdure.elicitation.anchor_check import anchor_problems
from perdure.inference.local import check_vectors
from perdure.records.anchors import AnchorCheck
from perdure.study.anchor_receipts import receipt_of
from perdure.study.load import examine, load
from perdure.study.read_anchors import load_anchors
from perdure.testing import MisbehavingServer

__all__ = ["people", "sample", "write"]

TRAIN = Path(__file__).parents[2] / "examples" / "fares" / "anchors" / "intent-1.yaml"

try:
    check_vectors()
except UsageError as fault:
    WHY_NOT = str(fault)
else:
    WHY_NOT = ""
real = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """Write anchors that a baseline can tell apart."""
    path = tmp_path / "intent.yaml"
    path.write_text(WORDS)
    return path


def receipt(path: Path) -> AnchorCheck:
    """Read the receipt beside a file of anchors."""
    return msgspec.json.decode(receipt_of(path).read_bytes(), type=AnchorCheck)


@real
def test_the_shipped_anchors_pass_under_the_local_model(perdure, tmp_path):
    """The shipped anchors pass under the local model."""
    path = tmp_path / TRAIN.name
    shutil.copy(TRAIN, path)
    said = perdure("anchors", "check", path, "--model", "local")
    assert said.status == EXIT_DONE, said.out
    found = receipt(path)
    assert found.passed
    assert found.stable is not None
    assert found.stable > 0.8
    scores = [score or 0.0 for score in found.step_scores]
    assert scores == sorted(set(scores))
    assert (found.provider, found.model) == ("local", "all-minilm-l6-v2-int8")
    for shown in ("set 6", "all sets", "Every step scores above", "does not say that real people"):
        assert shown in " ".join(said.out.split())
    assert all(f"{score:.3f}" in said.out for score in scores)


@real
def test_twice_the_same_and_the_receipt_fits_a_study_of_that_model(perdure, write, sample):
    """Twice the same and the receipt fits a study of that model."""
    models = "models:\n  near: {provider: local, model: all-minilm-l6-v2-int8}\n"
    text = sample.replace("models:\n", f"roles: {{tier_a: baseline, embed: near}}\n{models}")
    study = write(text + f"anchors: {{intent: {TRAIN.name}}}\n")
    path = study.parent / TRAIN.name
    shutil.copy(TRAIN, path)
    assert perdure("anchors", "check", path, "--study", study).status == EXIT_DONE
    first = receipt_of(path).read_bytes()
    assert perdure("anchors", "check", path, "--model", "local").status == EXIT_DONE
    assert receipt_of(path).read_bytes() == first
    read = examine(study).anchors["intent"]
    pin = load(study).models["embed"].pin
    assert anchor_problems("intent", read.anchors, read.check, pin, "") == []


@real
def test_anchors_in_the_wrong_order_fail_and_say_why(perdure, tmp_path):
    """Anchors in the wrong order fail and say why."""
    anchors = load_anchors(TRAIN)
    wrong = {
        "construct": "intent",
        "version": "2",
        "points": anchors.points,
        "sets": [*anchors.sets[:3], *(points[::-1] for points in anchors.sets[3:])],
        "ladder": anchors.ladder,
    }
    path = tmp_path / "wrong.yaml"
    path.write_text(json.dumps(wrong))
    said = perdure("anchors", "check", path, "--model", "local", "--json")
    assert said.status == 1
    document = said.document
    assert document["passed"] is False
    assert any("do not order the answers alike" in one for one in document["check"]["failed"])
    assert receipt(path).failed == tuple(document["check"]["failed"])


def test_a_baseline_of_words_is_asked_by_a_study(perdure, words, write: Writer, sample: str):
    """A baseline of words is asked by a study."""
    models = "models:\n  words: {provider: baseline}\n"
    text = sample.replace("models:\n", f"roles: {{tier_a: baseline, embed: words}}\n{models}")
    said = perdure("anchors", "check", words, "--study", write(text))
    assert said.status == EXIT_DONE, said.out
    assert "passed under baseline" in said.out
    assert "There are 2 sets; 6 are advised" in " ".join(said.out.split())
    assert "1 call, 0.00 USD" in said.out
    assert receipt(words).provider == "baseline"


def test_an_endpoint_is_paid_and_a_receipt_names_its_model(perdure, words):
    """An endpoint is paid and a receipt names its model."""
    with MisbehavingServer() as server:
        asked = ("--base-url", server.base_url, "--model-name", "test-model", "--price", "1000,0")
        said = perdure("anchors", "check", words, *asked, "--json")
    document = said.document
    assert document["calls"] == 1
    assert document["amount"] > 0
    assert document["currency"] == "USD"
    assert document["check"]["model"] == "test-model"
    assert said.status == (EXIT_DONE if document["passed"] else 1)


def test_what_is_wrong_with_the_file_is_listed_and_no_receipt_is_left(perdure, words):
    """What is wrong with the file is listed and no receipt is left."""
    words.write_text(WORDS.replace("never no not", "yes surely gladly").replace('"yes"]', '"no"]'))
    said = perdure("anchors", "check", words, "--model", "baseline")
    assert said.status == EXIT_INVALID_STUDY
    assert "The point `no` is there twice" in said.err
    assert "already on line" in said.err or "ladder" in said.err
    assert not receipt_of(words).exists()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ((), "No model is given"),
        (("--model", "gpt"), "no model of vectors"),
        (("--base-url", "http://127.0.0.1:9/v1"), "no name"),
        (("--base-url", "http://127.0.0.1:9/v1", "--model-name", "m"), "no price"),
        (("--model", "baseline", "--model-name", "m"), "--model-name means nothing"),
    ],
)
def test_flags_that_give_no_model_are_refused(perdure, words, flags, says):
    """Flags that give no model are refused."""
    said = perdure("anchors", "check", words, *flags)
    assert said.status == EXIT_USAGE
    assert says in said.err


def test_a_study_without_a_model_of_vectors_or_with_flags_is_refused(perdure, words, write, sample):
    """A study without a model of vectors or with flags is refused."""
    study = write(sample)
    said = perdure("anchors", "check", words, "--study", study)
    assert (said.status, "names no model of vectors" in said.err) == (EXIT_USAGE, True)
    said = perdure("anchors", "check", words, "--study", study, "--model", "local")
    assert (said.status, "flags for another one" in said.err) == (EXIT_USAGE, True)


def test_an_endpoint_that_is_not_there_leaves_no_receipt(perdure, words):
    """An endpoint that is not there leaves no receipt."""
    asked = ("--base-url", "http://127.0.0.1:9/v1", "--model-name", "m", "--price", "0,0")
    said = perdure("anchors", "check", words, *asked)
    assert said.status == 69
    assert not receipt_of(words).exists()


def test_a_receipt_that_cannot_be_written_is_said(perdure, words):
    """A receipt that cannot be written is said."""
    receipt_of(words).mkdir()
    said = perdure("anchors", "check", words, "--model", "baseline")
    assert said.status == EXIT_STORAGE
    assert "cannot be written" in said.err
    assert len(list(words.parent.iterdir())) == 2


def test_the_help_has_an_example_and_its_exit_codes(perdure, monkeypatch):
    """The help has an example and its exit codes."""
    monkeypatch.setenv("COLUMNS", "80")
    said = perdure("anchors", "check", "--help")
    assert "  perdure anchors check " in said.out
    assert "Exit codes:" in said.out
    assert max(map(len, said.out.splitlines())) <= 80
    assert perdure("anchors").status == EXIT_USAGE
