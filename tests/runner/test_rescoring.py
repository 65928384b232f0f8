"""Scoring again over a real HTTP server: what fails leaves nothing behind, what is paid is kept."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.support.commands import commands
from tests.support.rated_study import ANCHORS_FILE, write_rated

from perdure.base.errors import BudgetReachedError, EndpointUnreachableError, UsageError
from perdure.records.budget import Budget
from perdure.records.outcome import UnscorableCause
from perdure.records.registry import AnswersRescored
from perdure.records.scenario import ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.usage import Price
from perdure.runner.rebudget import change_budget
from perdure.runner.rescoring import Rescored, Wanted, rescore
from perdure.study.read_anchors import load_anchors
from perdure.testing import FAULTS, Exchange, Fault, MisbehavingServer
from perdure.testing.replies import to_bytes
from perdure.trace.reader import RunReader
from perdure.trace.scores import ScoresWriter, answers_of

PER_TOKEN = 1_000
# Two calls for the answers of each tick of each world that has open ones, and one for the anchors.
CALLS = 2 * 2 * 2 + 1


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a run whose open answers all differ, and have no vectors on record."""
    folder = tmp_path_factory.mktemp("rescored")
    study = write_rated(folder, personas=70)
    told = itertools.count()
    with MisbehavingServer(responder=lambda _request: f"Perhaps, {next(told)} times.") as server:
        model = ("--model", "http", "--base-url", server.base_url, "--model-name", "test-model")
        (ran,) = commands(
            ("run", study, "--out", folder / "run", "--quiet", *model, "--price", "0,0")
        )
    assert ran.status == 0, ran.err
    return folder / "run"


@pytest.fixture
def run(first: Path, tmp_path: Path) -> Path:
    """Give a copy of the run that a test may change."""
    return Path(shutil.copytree(first, tmp_path / "run"))


def again(
    run: Path,
    server: MisbehavingServer,
    question: str = "why",
    *,
    temperature: float | None = None,
    own: bool = False,
) -> Rescored:
    """Score the open answers by the server's vectors, at a price per token."""
    spec = ModelSpec(
        pin=ModelPin(provider="http", model="test-model"),
        endpoint=Endpoint(base_url=server.base_url, retries_max=0),
        price=Price(input_fresh=PER_TOKEN * 1_000_000, output=0),
    )
    anchors = None if own else load_anchors(ANCHORS_FILE)
    return rescore(
        run, Wanted(question=question, anchors=anchors, temperature=temperature, spec=spec)
    )


def rows(run: Path) -> list[AnswersRescored]:
    """List what the run log says of scores."""
    with RunReader.open(run) as reader:
        return [row for row in reader.log if isinstance(row, AnswersRescored)]


def test_a_failing_endpoint_costs_what_was_answered_and_no_more(run: Path) -> None:
    """After every failure the next try goes on; each finished call reached the server once."""
    with MisbehavingServer() as server:
        for answered in range(3):
            server.play({server.calls + answered: "status_500"})
            with pytest.raises(EndpointUnreachableError, match="server_error"):
                again(run, server)
            assert not list((run / "scores").glob("*.jsonl"))
            assert rows(run) == []
        failed = server.calls
        server.play({})
        done = again(run, server)
        asked = [seen.body["input"] for seen in server.requests if seen.method == "POST"]
    assert failed == 1 + 2 + 3
    texts = [tuple(body) for body in asked]
    kept = [text for text in texts if texts.count(text) == 1]
    assert len(texts) == CALLS + 3
    assert len(kept) == CALLS - 3, "only what failed was sent twice"
    end = done.scores.end
    assert (end.answers, end.scored, end.calls) == (4 * 70, 4 * 70, CALLS + 3)
    assert rows(run)[0].cost == end.cost > 0


def test_the_budget_of_the_run_holds(run: Path) -> None:
    """Where a call has no room scoring stops; with a raised budget it goes on with what it has."""
    with MisbehavingServer() as server:
        change_budget(run, Budget(amount=3_000_000))
        with pytest.raises(BudgetReachedError):
            again(run, server)
        some = server.calls
        assert 0 < some < CALLS
        change_budget(run, Budget(amount=4_000_000_000_000))
        done = again(run, server)
        assert server.calls == CALLS
    assert done.scores.end.calls == CALLS
    # What was spent on scores counts for whatever comes after.
    (told,) = commands(("ledger", run, "--json"))
    parts = {one["kind"]: one["amount"] for one in told.document["outside"]["parts"]}
    assert parts == {"rescored": done.scores.end.cost}


def test_another_formula_asks_for_no_vector(run: Path) -> None:
    """The likeness that was found and paid for serves any temperature; only the shares differ."""
    with MisbehavingServer() as server:
        first = again(run, server)
        sharper = again(run, server, temperature=0.5)
        assert server.calls == CALLS
    assert (sharper.scores.end.calls, sharper.scores.end.cost) == (0, 0)
    assert sharper.scores.end.scored == first.scores.end.scored
    one, other = (next(answers_of(run, done.scores.rescoring.id)) for done in (first, sharper))
    assert one.similarities == other.similarities
    assert max(one.masses) < max(other.masses)


def without_some(run: Path, done: Rescored) -> int:
    """Take the vectors of some answers away, as an endpoint would that had none; say of how many.

    Such scores were given while vectors of zeros passed for vectors.
    """
    rescoring, end = done.scores.rescoring, done.scores.end
    answers = list(answers_of(run, rescoring.id))
    lost = [place for place in range(len(answers)) if place % 7 == 0]
    cause = UnscorableCause.NOT_EMBEDDED
    with ScoresWriter(run, rescoring) as writer:
        for place, one in enumerate(answers):
            without = replace(one, masses=(), similarities=(), unscorable=cause)
            writer.add(without if place in lost else one)
        scored = end.scored - len(lost)
        writer.seal(replace(end, scored=scored, unscorable={cause: len(lost)}))
    return len(lost)


def test_what_had_no_vector_is_scored_again(run: Path) -> None:
    """The same command asks for what is missing, and for no more; then there is nothing to do."""
    with MisbehavingServer() as server:
        whole = again(run, server)
        scores = list(answers_of(run, whole.scores.rescoring.id))
        lost = without_some(run, whole)
        sent = len(server.requests)
        done = again(run, server)
        asked = [
            text
            for seen in server.requests[sent:]
            if seen.method == "POST"
            for text in seen.body["input"]
        ]
        calls = server.calls
        known = again(run, server)
        sharper = again(run, server, temperature=0.5)
        assert server.calls == calls
    anchors = [text for points in load_anchors(ANCHORS_FILE).sets for text in points]
    assert len(asked) == len(anchors) + lost
    assert not done.known
    assert done.scores.rescoring.again == whole.scores.rescoring.id
    end = done.scores.end
    assert (end.answers, end.scored, end.unscorable) == (280, 280, {})
    assert list(answers_of(run, done.scores.rescoring.id)) == scores
    assert (known.known, known.scores) == (True, done.scores)
    assert sharper.scores.end.scored == 280
    assert [row.cost for row in rows(run)] == [whole.scores.end.cost, end.cost, 0]
    (verified,) = commands(("verify", run))
    assert verified.status == 0, verified.out


def test_zeros_are_no_vectors(run: Path) -> None:
    """An endpoint that gives zeros gave nothing: no scores, and a healthy one is asked again."""
    with MisbehavingServer() as server, pytest.MonkeyPatch.context() as patched:
        patched.setitem(FAULTS, "zeros", Fault("zeros", "content", "zeros", _zeros))
        server.play({server.calls: "zeros"})
        with pytest.raises(EndpointUnreachableError, match="bad_reply"):
            again(run, server)
        assert not list((run / "scores").glob("*.jsonl"))
        server.play({})
        assert again(run, server).scores.end.scored == 280


async def _zeros(exchange: Exchange) -> None:
    """Reply with as many numbers, all of them 0."""
    tree = msgspec.json.decode(exchange.good_body)
    for one in tree["data"]:
        one["embedding"] = [0.0] * len(one["embedding"])
    await exchange.reply(to_bytes(tree))


def test_what_unfinished_scores_cost_counts(run: Path) -> None:
    """Scores that stopped at the budget leave no more of it to scores by another formula."""
    with MisbehavingServer() as server:
        change_budget(run, Budget(amount=3_000_000))
        with pytest.raises(BudgetReachedError):
            again(run, server)
        some = server.calls
        with pytest.raises(BudgetReachedError):
            again(run, server, temperature=0.5)
        # A smaller call may still have had room, and not the whole of it once more.
        assert 0 < some <= server.calls < 2 * some


def test_the_anchors_of_a_run_are_not_used_under_another_model(run: Path) -> None:
    """They were checked under the run's own: nothing is sent."""
    with MisbehavingServer() as server:
        with pytest.raises(UsageError, match="were not checked under test-model"):
            again(run, server, "likely", own=True)
        assert server.calls == 0


def test_what_has_no_scale_cannot_be_scored(run: Path) -> None:
    """A question that is not there is named before anything is sent."""
    with MisbehavingServer() as server, pytest.raises(UsageError, match="nobody"):
        again(run, server, "nobody")


def test_scores_do_not_touch_the_record_of_anything_else(run: Path) -> None:
    """Every file of the run but its registry is what it was, to the last byte."""

    def kept() -> dict[str, Any]:
        return {
            str(path.relative_to(run)): path.read_bytes()
            for path in run.rglob("*")
            if path.is_file() and "scores" not in path.parts and not path.name.startswith("run.db")
        }

    before = kept()
    with MisbehavingServer() as server:
        again(run, server)
    after = kept()
    assert {name for name in after if after[name] != before.get(name)} <= {"governor.lock"}
