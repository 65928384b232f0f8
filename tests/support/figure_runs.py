"""Five recorded runs in which, together, a report has every kind of figure; for tests."""

from __future__ import annotations

import contextlib
import io
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from tests.crash.watching_server import WatchingServer
from tests.support.office import asks, furnish, office
from tests.support.street_study import write_street

from perdure import runner
from perdure.cli.entry import execute
from perdure.records.scenario import ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.tools import ToolCall
from perdure.records.usage import Price
from perdure.testing import MisbehavingServer
from perdure.testing.exchange import SeenRequest

EXAMPLES = Path(__file__).parents[2] / "examples"
RUNS = ("vote", "rumour", "street", "likeness", "office")

# Ordered by the words that they share, which is all that a baseline sees.
ANCHORS = """\
construct: intent
version: words
points: ["no", perhaps, "yes"]
sets:
  - [never no refuse, perhaps maybe unsure, yes surely gladly]
  - [no refuse not, maybe unsure hesitate, surely gladly certainly]
ladder:
  - [never no not]
  - [perhaps maybe hesitate unsure]
  - [yes surely gladly certainly]
"""
LIKENESS = """\
perdure: 1
name: likeness
brief:
  title: A tram
  text: The town may build a tram.
  claims: {c1: The tram is fast., c2: The tram is dear.}
ontology:
  attributes:
    party: {column: party, label: Party, required: true, scale: {0: left, 1: right}}
population: {file: people.csv, id: id}
anchors: {intent: intent.yaml}
questions:
  take:
    text: Would you take it?
    type: likert
    scoring: similarity
    anchors: intent
    choices: {"no": {label: "no"}, perhaps: {label: perhaps}, "yes": {label: "yes"}}
  fare: {text: "What may it cost?", type: number, unit: dollars, least: 0, most: 100}
  ways:
    text: How do you go?
    type: several
    choices: {bus: {label: bus}, car: {label: car}, foot: {label: on foot}}
variants: {v: ""}
timeline:
  horizon: 4
  waves: [0, 3]
  wave_question: take
  activation: 0.8
scenarios:
  fares: {variant: v, exposures: {1: [c1], 2: [c2]}, exposure_question: fare}
  ways: {variant: v, exposures: {1: [c1], 2: [c2]}, exposure_question: ways}
seeds: [1, 2, 3, 4]
models:
  words: {provider: baseline}
  api:
    provider: http
    model: test-model
    base_url: BASE_URL
    price: {input: 0.15, output: 0.6}
roles: {tier_a: api, embed: words}
"""
SAID = (
    "Never, no, I refuse.",
    "Perhaps, maybe, I am unsure.",
    "Yes, surely, gladly.",
    "Yes, certainly. By bus or by car, for about 20 dollars.",
    "No. By car, for 5 dollars.",
    "On foot, maybe. I would not pay more than 3 dollars.",
)
# On the street: as in the forms, and not; some calls are refused each time that they are made.
STREET = (
    "I agree with that.\nMessage: 1\nAction: comment\nBelief: more convinced",
    "I agree.\nMessage: 1\nAction: like\nBelief: much more convinced",
    "I disagree.\nMessage: 1\nAction: reply\nBelief: less convinced",
    "Build it. I agree.\nMessage: 1\nAction: tell\nBelief: much less convinced",
    "Leave it.\nMessage: none\nAction: none",
    "I would buy it.\nMessage: 1\nAction: buy\nBelief: unchanged",
    "I do not know.",
)


class _Refusing(WatchingServer):
    """Refuses one request in so many, by what it asks, however often it is made."""

    def arrive(self, seen: SeenRequest) -> str | None:  # type: ignore[override]
        """Note a request, and refuse it or not."""
        super().arrive(seen)
        mark = sha256(str(sorted(seen.body.items())).encode()).digest()[2]
        chat = "messages" in seen.body
        return "error_text" if chat and mark % 7 == 0 else None


def _clerk(body: dict[str, object]) -> str | tuple[ToolCall, ...]:
    """Call one tool after the other, by chance: also wrongly, also one that is not there."""
    messages = body["messages"]
    assert isinstance(messages, list)
    done = sum(one["role"] == "tool" for one in messages)
    mark = sha256(repr((messages[1:], body.get("seed"))).encode()).digest()
    works = (
        asks("read_document", done, name="plan.md"),
        asks("read_document", done, name="nothing.md"),
        asks("send_note", done, to="p1", text=f"A note {mark[1]}."),
        asks("append_line", done, text=f"A line {mark[1]}."),
        asks("look_up", done, word=f"word {mark[1]}", more="x"),
        asks(f"no_tool_{mark[1]}", done),
    )
    return "I agree." if mark[0] % 4 == 0 else (works[mark[2] % len(works)],)


def _office(folder: Path, out: Path) -> None:
    """Run an office of three whose people have a tool outside it too, with two seeds."""
    with pytest.MonkeyPatch.context() as patched, MisbehavingServer(responder=_clerk) as server:
        patched.setenv("PERDURE_TEST_DESK", str(folder))
        spec = ModelSpec(
            pin=ModelPin(provider="http", model="test-model"),
            endpoint=Endpoint(base_url=server.base_url),
            price=Price(input_fresh=1, output=1),
        )
        config = office(
            furnish(folder / "study"),
            "append_line",
            "look_up",
            personas=3,
            seeds=(1, 2),
            out=str(out),
            turn_calls_max=5,
        )
        models = dict.fromkeys(("tier_a", "tier_b"), spec)
        asked = msgspec.structs.replace(config.study, models=models)
        assert runner.run(replace(config, study=asked)).exit_status == 0


def _run(*arguments: object) -> None:
    """Call the command line, and let nothing of what it says be seen."""
    with contextlib.redirect_stdout(io.StringIO()):
        assert execute([str(one) for one in arguments]) == 0


def record(name: str, folder: Path) -> Path:
    """Record one of the runs; give its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "run"
    quiet = ("--out", out, "--quiet")
    if name == "vote":
        study = EXAMPLES / "vote96" / "study.yaml"
        _run("run", study, "--n", "16", *quiet)
    elif name == "rumour":
        shutil.copytree(EXAMPLES / "rumour", folder, dirs_exist_ok=True)
        study = folder / "study.yaml"
        text = study.read_text().replace("horizon: 10", "horizon: 6")
        text = text.replace("seeds: [1, 2, 3]", "seeds: [1, 2]")
        study.write_text(text.replace("waves: [0, 9]", "waves: [0, 5]"))
        _run("run", study, "--n", "24", *quiet)
    elif name == "office":
        _office(folder, out)
    elif name == "street":
        with _Refusing(answers=STREET, latency_s=(0.0, 0.0)) as server:
            study = write_street(folder, server.base_url)
            study.write_text(study.read_text() + "quorum: 0.05\n")
            _run("run", study, *quiet)
    else:
        (folder / "intent.yaml").write_text(ANCHORS)
        people = "".join(f"q{place:02d},{place % 2}\n" for place in range(10))
        (folder / "people.csv").write_text("id,party\n" + people)

        def say(request: dict[str, object]) -> str:
            return SAID[sha256(repr(request["messages"]).encode()).digest()[0] % len(SAID)]

        with MisbehavingServer(responder=say) as endpoint:
            study = folder / "study.yaml"
            study.write_text(LIKENESS.replace("BASE_URL", endpoint.base_url))
            anchors = folder / "intent.yaml"
            _run("anchors", "check", anchors, "--study", study)
            _run("run", study, *quiet)
    return out
