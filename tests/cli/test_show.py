"""`perdure show` shows one turn or event whole, as it was recorded, and makes its prompt again."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from tests.support.commands import commands
from tests.support.gate import gate
from tests.support.sample_study import PEOPLE as TWELVE
from tests.support.sample_study import SAMPLE
from tests.support.whole_record import OTHERS_MEMORY, OWN_MEMORY, record_whole

from perdure.agent.prompt import question_text
from perdure.base.errors import EXIT_DONE, EXIT_MOVED, EXIT_STORAGE, EXIT_USAGE
from perdure.records.events import KIND_OF
from perdure.records.registry import RunEntry
from perdure.testing import MisbehavingServer
from perdure.testing.exchange import SeenRequest
from perdure.trace import lookup as lookups
from perdure.trace.decoding import decode_event
from perdure.trace.reader import RunReader
from perdure.trace.registry_rows import read_entry

from .conftest import HOSTILE, write_study
from .test_damaged import DAMAGE as COLUMNS

REGISTRY_DAMAGE = {
    name: damage
    for name, damage in COLUMNS.items()
    if name not in {"worlds.outcome", "log.payload", "log.seq", "log.kind"}
}

DRIVING = "\x1b\x07\x9b\u202e\r\x00"
WIDTHS = (40, 80, 120)


@pytest.fixture
def whole(tmp_path: Path) -> Callable[..., tuple[Path, str]]:
    """Record a run with every kind of event; give its folder and its world."""

    def record(**changes: Any) -> tuple[Path, str]:
        folder = tmp_path / "run"
        return folder, record_whole(write_study(tmp_path), folder, **changes)

    return record


def ids_of(folder: Path, world: str, kind: str = "") -> list[str]:
    """List the ids of a world's events, or of those of one kind."""
    with RunReader.open(folder) as reader:
        return [
            f"{world}:{event.seq}"
            for event in reader.events(world)
            if kind in {"", KIND_OF[type(event.payload)]}
        ]


def sections(text: str) -> dict[str, str]:
    """Cut what is shown at its headings, each by its first word."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            name = line.split()[0].rstrip(":,")
        found[name] = found.get(name, "") + line + "\n"
    return found


def test_a_turn_is_shown_whole(perdure, whole):
    """What was seen, remembered, asked, answered, done, scored, believed, probed and paid."""
    folder, world = whole()
    (_, _, turn) = ids_of(folder, world, "turn")
    said = perdure("show", folder, turn)
    assert said.status == EXIT_DONE
    part = sections(said.out)
    assert "Leaning: left (0)" in part["Who"]
    assert "50 % of those" in part["Who"]
    seen = " ".join(part["Seen"].split())
    for words in (
        "2 messages on the channel feed",
        "kind reply, claim C1, by p4",
        "She is not.",
        "shown because: a tie; attention 0.75; its author answered bob; so far like 3; tie 0.4;",
        "told by p5; from its own community.",
        "It answers m1 by p3",
        "attention 0, so not noticed",
        "Not shown: m1, because: old",
        "Possible answers: Ann / Bob",
        "Can be done here: like, reply.",
    ):
        assert words in seen
    assert "1 memory" in part["Remembered"]
    assert "content 5" in part["Remembered"]
    assert "I saw the message." in part["Remembered"]
    assert "The prompt follows from the record" in part["Asked"]
    assert "Ann or Bob?" in part["Asked"]
    assert "refused: not shown" in part["Answer"]
    assert "m9!" in part["Answer"]
    assert "Answer again, exactly in this form" in part["Answer"]
    assert "No!\n    Action: shout" in part["Answered"]
    assert "shout, about m2" in part["Did"]
    assert "Rejected, so it had no effect: not accepted." in part["Did"]
    assert "much less" in part["Did"]
    assert "Bob (bob), of vote" in part["Scored"]
    assert "C1: nothing, then -2" in part["Believed"]
    assert "Quarrel." in part["Will"]
    assert "No reply: timeout." in part["Reflected"]
    assert "lean, which is left" in part["Probed"]
    assert "Scored as 1: wrong." in part["Probed"]


def test_what_is_unknown_is_never_zero(perdure, whole):
    """Every attempt is listed; an unknown amount stands beside the sum and not in it."""
    folder, world = whole()
    turn = ids_of(folder, world, "turn")[-1]
    paid = " ".join(sections(perdure("show", folder, turn).out)["Paid"].split())
    assert "Paid: 0.000002 USD + 1 unknown for 2 attempts" in paid
    assert "attempt 1: tier_a m; no reply: server error; unknown USD; tokens unknown" in paid
    assert "attempt 2: tier_a m; answered; 0.000002 USD (price table); 10 tokens in, 2 out" in paid
    spent = perdure("show", folder, turn, "--json").document["turn"]["spent"]
    assert spent == {"attempts": 2, "amount": 2_000, "unknown": 1, "currency": "USD"}


def test_every_event_of_a_turn_shows_that_turn(perdure, whole):
    """Whatever belongs to a turn leads to it, and says so; nothing is left out of it."""
    folder, world = whole()
    turn = ids_of(folder, world, "turn")[-1]
    parts = perdure("show", folder, turn, "--json").document["turn"]["events"]
    kinds = {part["kind"] for part in parts}
    assert kinds == {
        "guardrail_violation",
        "turn",
        "memory",
        "belief_snapshot",
        "reflection",
        "probe",
        "score",
        "cost",
    }
    assert len(parts) == 9
    for part in parts:
        document = perdure("show", folder, part["event"], "--json").document
        assert (document["event"], document["kind"]) == (part["event"], part["kind"])
        assert document["turn"]["event"] == turn
        if part["event"] != turn:
            assert f"the turn {turn}" in " ".join(
                perdure("show", folder, part["event"]).out.split()
            )


def test_a_failed_turn_is_shown_with_its_cause_and_the_prompt_that_it_would_have_had(
    perdure, whole
):
    """No prompt of it is on record; it is said that what is shown is made again."""
    folder, world = whole()
    (failed,) = ids_of(folder, world, "turn_failed")
    said = perdure("show", folder, failed)
    assert said.status == EXIT_DONE
    part = sections(said.out)
    assert "call failed: timeout" in part["Not"]
    assert "No prompt is on record" in part["Asked"]
    assert "Ann or Bob?" in part["Asked"]
    assert "0.00 USD + 1 unknown" in part["Paid"]
    document = perdure("show", folder, failed, "--json").document
    assert document["turn"]["prompt"] == []
    assert document["assembled"]["standing"] == "not_sent"


OTHERS = {
    "started": "Nothing more",
    "stimulus_published": "She is not.",
    "intervention": "promote",
    "exposure_dropped": "budget",
    "answer": "8 bytes, and have this hash",
    "cost": "rank",
    "degraded": "warn",
    "tick_closed": "activation: 0.5",
}


@pytest.mark.parametrize("kind", OTHERS)
def test_an_event_of_no_turn_is_shown_with_its_payload(perdure, whole, kind):
    """All that it says can be read, and its JSON has every field."""
    folder, world = whole()
    ids = ids_of(folder, world, kind)
    event = ids[0] if kind in {"cost", "exposure_dropped"} else ids[-1]
    said = perdure("show", folder, event)
    assert said.status == EXIT_DONE
    assert OTHERS[kind] in " ".join(said.out.split())
    document = perdure("show", folder, event, "--json").document
    assert document["turn"] is None
    assert document["kind"] == kind


def test_what_is_cited_and_what_cites_is_linked(perdure, whole):
    """A message leads to those who were shown it and to its answers, and these lead back."""
    folder, world = whole()
    first, reply = ids_of(folder, world, "stimulus_published")
    turns = ids_of(folder, world, "turn")
    links = perdure("show", folder, first, "--json").document["links"]
    assert [link["event"] for link in links["cited_by"]] == [
        *ids_of(folder, world, "exposure_dropped")[:1],
        *turns[:2],
        reply,
        *ids_of(folder, world, "exposure_dropped")[1:],
        turns[2],
    ]
    assert links["more"] is False
    back = perdure("show", folder, reply, "--json").document["links"]["cites"]
    assert [link["event"] for link in back] == [first]
    rung = ids_of(folder, world, "degraded")[0]
    assert perdure("show", folder, rung, "--json").document["links"]["cites"][0]["event"] == (
        "run log:1"
    )
    answer, cost = ids_of(folder, world, "answer")[0], ids_of(folder, world, "cost")[0]
    for one, way, other in ((answer, "cited_by", cost), (cost, "cites", answer)):
        found = perdure("show", folder, one, "--json").document["links"][way]
        assert [link["event"] for link in found] == [other]


def test_a_message_that_many_were_shown_lists_the_first_of_them(perdure, recorded, monkeypatch):
    """No list is endless; that there are more is said."""
    monkeypatch.setattr("perdure.analysis.links.CITING_MAX", 2)
    folder = record_whole_in(recorded)
    world = min(path.stem for path in (folder / "worlds").glob("*.db"))
    first = ids_of(folder, world, "stimulus_published")[0]
    said = perdure("show", folder, first)
    assert "and by later ones" in said.out
    assert len(perdure("show", folder, first, "--json").document["links"]["cited_by"]) == 2


def record_whole_in(recorded: Callable[..., Path]) -> Path:
    """Record the run beside the small study of another one."""
    folder = recorded().parent / "whole"
    record_whole(write_study(folder.parent), folder)
    return folder


@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_hostile_text_never_drives_a_terminal(perdure, whole, extra):
    """What models and people said comes out as visible text, whatever event is shown."""
    folder, world = whole(words=f" [red]{HOSTILE}[/red]")
    shown = 0
    for event in ids_of(folder, world):
        said = perdure("show", folder, event, *extra)
        assert said.status == EXIT_DONE
        text = said.out + said.err
        assert not [char for char in text if char in DRIVING], event
        shown += "owned" in text
        assert ("[red]" in text) is ("owned" in text)
    assert shown > 5


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_can_be_read_on_any_terminal(perdure, whole, monkeypatch, width):
    """No line runs past the edge, and no word of a prompt or answer is lost."""
    monkeypatch.setenv("COLUMNS", str(width))
    folder, world = whole(words=" " + "long" * 60)
    for event in ids_of(folder, world):
        text = perdure("show", folder, event).out
        lines = [line for line in text.splitlines() if str(folder) not in line]
        assert max(map(len, lines)) <= width, event
    turn = ids_of(folder, world, "turn")[-1]
    squeezed = "".join(perdure("show", folder, turn).out.split())
    assert "No!" + "long" * 60 in squeezed
    assert "…" not in squeezed


def test_no_color_and_a_pipe_are_plain(whole):
    """In a pipe, and with NO_COLOR, there is no escape at all."""
    folder, world = whole()
    turn = ids_of(folder, world, "turn")[-1]
    (piped,) = commands(("show", folder, turn))
    (plain,) = commands(("show", folder, turn), NO_COLOR="1", TERM="xterm-256color")
    assert piped.out == plain.out
    assert "\x1b" not in piped.out


def reword(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the persona agent word its questions otherwise than it did."""
    kind = lambda asked: question_text(asked) + " Be kind."  # noqa: E731 - one expression
    monkeypatch.setattr("perdure.agent.answering.question_text", kind)


def test_a_prompt_that_does_not_follow_is_a_finding(perdure, whole, monkeypatch):
    """Where the agent words it otherwise, the first difference is named, with 78 as in a replay."""
    folder, world = whole()
    turn = ids_of(folder, world, "turn")[0]
    reword(monkeypatch)
    said = perdure("show", folder, turn)
    assert said.status == EXIT_MOVED
    flowing = " ".join(said.out.split())
    assert "The prompt does not follow from the record: prompt[1] was" in flowing
    assert "Be kind." in flowing
    # The prompt as sent is shown all the same.
    assert "Do you agree?" in sections(said.out)["Asked"]
    difference = perdure("show", folder, turn, "--json").document["assembled"]["difference"]
    assert difference["field"] == "prompt[1]"


def test_another_version_of_the_agent_is_not_a_finding(perdure, whole, monkeypatch):
    """A later agent words prompts otherwise; then the version is named, and nothing is wrong."""
    folder, world = whole()
    turn = ids_of(folder, world, "turn")[0]
    reword(monkeypatch)
    monkeypatch.setattr("perdure.trace.reader.read_entry", of_version_0)
    said = perdure("show", folder, turn)
    assert said.status == EXIT_DONE
    assert "made under version 0 of the persona agent" in " ".join(said.out.split())


def of_version_0(registry: Any) -> tuple[bytes, RunEntry]:
    """Read a run's entry as if an earlier version of the persona agent had made it."""
    payload, entry = read_entry(registry)
    return payload, msgspec.structs.replace(entry, versions={"agent": "0"})


def test_a_memory_that_the_persona_does_not_have_is_a_finding(perdure, whole, tmp_path):
    """A turn that tells what is another's, or was forgotten, does not follow from the record."""
    folder, world = whole(recalls=OTHERS_MEMORY)
    study = write_study(tmp_path)
    study.write_text(f"{study.read_text()}agent:\n  memories: 0\n")
    forgetful = tmp_path / "forgetful"
    record_whole(study, forgetful)
    for run, number in ((folder, OTHERS_MEMORY), (forgetful, OWN_MEMORY)):
        turn = ids_of(run, world, "turn")[-1]
        said = perdure("show", run, turn)
        assert said.status == EXIT_MOVED
        assert f"memory with content number {number}" in " ".join(said.out.split())


def edit(folder: Path, world: str, statement: str) -> None:
    """Change a world's record behind the store's back."""
    connection = apsw.Connection(str(folder / "worlds" / f"{world}.db"))
    connection.execute(statement)
    assert connection.total_changes() > 0
    connection.close()


def test_a_damaged_text_is_never_shown(perdure, whole):
    """A text that does not have the hash that the turn cites ends with 74 and its name."""
    folder, world = whole()
    turn = ids_of(folder, world, "turn")[0]
    prompt = perdure("show", folder, turn, "--json").document["turn"]["prompt"]
    edit(
        folder,
        world,
        f"UPDATE blobs SET bytes = x'41' WHERE sha256 = x'{prompt[1]['sha256']}'",
    )
    said = perdure("show", folder, turn)
    assert said.status == EXIT_STORAGE
    assert said.out == ""
    assert f"{world}: blob {prompt[1]['sha256']}" in said.err
    edit(folder, world, f"DELETE FROM blobs WHERE sha256 = x'{prompt[1]['sha256']}'")
    assert "missing" in perdure("show", folder, turn).err


DAMAGE = {
    "payload": "UPDATE events SET payload = CAST(payload || ' ' AS BLOB) WHERE seq = {seq}",
    "persona": "UPDATE events SET persona = 'p1' WHERE seq = {seq}",
    "hash": "UPDATE events SET hash = zeroblob(32) WHERE seq = {seq}",
    "kind": "UPDATE events SET kind = 'started' WHERE seq = {seq}",
    "content": "UPDATE events SET content = 99 WHERE seq = {seq}",
    "gone": "DELETE FROM events WHERE seq = {seq}",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_event_is_never_shown(perdure, whole, what):
    """What is not what was written ends with 74 and the id of the event, shown or cited."""
    folder, world = whole()
    turn = ids_of(folder, world, "turn")[-1]
    seq = int(turn.rpartition(":")[2])
    edit(folder, world, DAMAGE[what].format(seq=seq))
    shown = [turn, f"{world}:{seq - 1}", f"{world}:{seq + 1}"]
    for event in shown[: 1 if what in {"persona", "kind", "content"} else 3]:
        said = perdure("show", folder, event)
        assert said.status == EXIT_STORAGE
        assert said.out == ""
        assert turn in said.err


@pytest.mark.parametrize("what", REGISTRY_DAMAGE)
def test_nothing_is_shown_beside_a_damaged_registry(perdure, whole, what):
    """Who a persona is and what was asked come from the registry, which is checked as ever."""
    folder, world = whole()
    turn = ids_of(folder, world, "turn")[0]
    connection = apsw.Connection(str(folder / "run.db"))
    connection.execute(REGISTRY_DAMAGE[what][0])
    connection.close()
    said = perdure("show", folder, turn)
    assert said.status == EXIT_STORAGE
    assert said.out == ""


def test_a_record_that_was_cut_is_never_shown(perdure, whole):
    """Where the end of a record is not what was acknowledged, no event of it is shown."""
    folder, world = whole()
    turn = ids_of(folder, world, "turn")[0]
    edit(folder, world, "DELETE FROM events WHERE tick = 1")
    said = perdure("show", folder, turn)
    assert said.status == EXIT_STORAGE
    edit(
        folder,
        world,
        "UPDATE head SET seq = (SELECT max(seq) FROM events), tick = 0,"
        " chain = (SELECT hash FROM events ORDER BY seq DESC LIMIT 1)",
    )
    said = perdure("show", folder, turn)
    assert said.status == EXIT_STORAGE
    assert "rolled back" in said.err


def test_an_event_that_does_not_exist_is_refused_with_the_nearest(perdure, whole):
    """The end is 2, what is wrong is a sentence, and what there is is named."""
    folder, world = whole()
    last = ids_of(folder, world)[-1]
    missing = {
        f"{world}:99999": f"The nearest is `{last}`, the tick_closed of tick 1.",
        f"{world[:-1]}x:3": f"Did you mean `{world}:3`?",
        "plane@1:3": "Did you mean `plain@1:3`?",
        "plain:3": "has 2 worlds",
        "3": "The run has 2 worlds",
        "plain@2:3": f"such as `{world}:0`",
        f"{world}:-1": "is not the id of an event",
        f"{world}:": "is not the id of an event",
        f"{HOSTILE}": "is not the id of an event",
        f"{world}:{'9' * 30}": "is not the id of an event",
    }
    for asked, told in missing.items():
        said = perdure("show", folder, asked)
        assert said.status == EXIT_USAGE, asked
        assert told in said.err, asked
        assert not [char for char in said.err if char in DRIVING]
        assert said.out == ""
    assert perdure("show", folder, "plain@1:3").status == EXIT_DONE
    assert perdure("show", folder.parent, f"{world}:3").status == EXIT_USAGE


def test_no_more_than_a_turn_is_read(perdure, whole, monkeypatch):
    """However long the record, only events of this persona and those cited are taken out of it."""
    monkeypatch.setattr(lookups, "_PAGE", 3)
    folder, world = whole()
    decoded: list[tuple[str, int]] = []

    def counted(kind: str, payload: object, name: str, seq: int) -> Any:
        decoded.append((kind, seq))
        return decode_event(kind, payload, name, seq)

    monkeypatch.setattr(lookups, "decode_event", counted)
    turn = ids_of(folder, world, "turn")[1]  # of p1
    said = perdure("show", folder, turn)
    assert "The prompt follows from the record" in " ".join(said.out.split())
    kinds = {kind for kind, _ in decoded}
    assert kinds == {"turn", "memory", "cost", "stimulus_published", "tick_closed"}
    assert len({seq for _, seq in decoded}) == 5


# Of real runs.

FAILING, RETRIED = "Town 3", "Town 5"


def answer(request: dict[str, Any]) -> str:
    """Answer by the prompt alone."""
    return "I would vote for Ann." if len(str(request["messages"])) % 2 else "I agree."


class Faults:
    """One person's calls fail for good; another's need a second attempt."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, seen: SeenRequest) -> str | None:
        text = str(seen.body["messages"])
        if f"{FAILING}\\n" in text or f"{FAILING}'" in text:
            return "status_400"
        if f"{RETRIED}\\n" in text and text not in self._seen:
            self._seen.add(text)
            return "status_500"
        return None


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Give a run over HTTP to its end, and one that was killed after its third tick."""
    place = tmp_path_factory.mktemp("lived")
    study = place / "study.yaml"
    unlimited = SAMPLE.replace("    limits: {requests_per_minute: 60}\n", "")
    study.write_text(f"{unlimited}quorum: 0.5\n")
    (place / "people.csv").write_text(TWELVE)
    with MisbehavingServer(responder=answer) as server:
        model = ("--model", "http", "--base-url", server.base_url, "--model-name", "test-model")
        run = ("run", study, *model, "--price", "1,2", "--quiet", "--out")
        for name, fatal in (("done", ""), ("killed", "tick.after-witness:6")):
            server.play(Faults())
            (said,) = commands((*run, place / name), PERDURE_CRASH_AT=fatal, EXAMPLE_API_KEY="k")
            assert said.status == (-9 if fatal else 0), said
    return place / "done", place / "killed"


@pytest.mark.parametrize("place", [0, 1])
def test_every_prompt_of_a_real_run_follows_from_its_record(perdure, lived, place):
    """Every turn of every world, through waves, messages, memories and reflections."""
    folder = lived[place]
    follow = remembered = retried = 0
    with RunReader.open(folder) as reader:
        worlds = [world.world_id for world in reader.worlds if reader.has(world.world_id)]
    for world in worlds:
        for turn in ids_of(folder, world, "turn")[::5]:
            said = perdure("show", folder, turn, "--json")
            assert said.status == EXIT_DONE
            assert said.document["assembled"]["standing"] == "follows"
            follow += 1
            remembered += bool(said.document["remembered"])
            retried += said.document["turn"]["spent"]["attempts"] > 1
    assert follow > 10
    if place == 0:
        assert remembered > 2
        assert retried


def test_a_failed_turn_and_a_retry_of_a_real_run(perdure, lived):
    """The attempts of a call stand side by side; a turn that failed says why."""
    folder = lived[0]
    with RunReader.open(folder) as reader:
        world = reader.worlds[0].world_id
    failed = ids_of(folder, world, "turn_failed")
    assert failed
    said = perdure("show", folder, failed[0])
    assert said.status == EXIT_DONE
    part = sections(said.out)
    assert "call failed: rejected" in part["Not"]
    assert FAILING in part["Who"]
    for turn in ids_of(folder, world, "turn"):
        paid = sections(perdure("show", folder, turn).out)["Paid"]
        if "attempt 2" in paid:
            assert "no reply: server error" in paid
            assert "(price table)" in paid or "(estimate)" in paid
            break
    else:
        pytest.fail("no turn took a second attempt")


def test_a_run_that_works_can_be_looked_at(perdure, tmp_path):
    """While a tick is open, what is closed is shown, and what is not there yet is not yet."""
    study = write_study(tmp_path)
    out = tmp_path / "run"
    with MisbehavingServer(responder=answer) as server:
        model = ("--model", "http", "--base-url", server.base_url, "--model-name", "test-model")
        run = ("run", study, *model, "--price", "1,2", "--quiet", "--out", out)
        # Both worlds ask all eight; then some of them are shown something.
        with gate(server, 16) as shut:
            process = subprocess.Popen([sys.executable, "-m", "perdure.cli", *map(str, run)])
            try:
                while shut.held == 0:
                    assert process.poll() is None
                    time.sleep(0.01)  # noqa: TID251 - another process is waited for
                while not (worlds := with_a_tick(out)):
                    time.sleep(0.01)  # noqa: TID251 - another process is waited for
                turn = ids_of(out, worlds[0], "turn")[0]
                said = perdure("show", out, turn, "--json")
                assert said.status == EXIT_DONE
                assert said.document["assembled"]["standing"] == "follows"
                said = perdure("show", out, f"{worlds[0]}:9999")
                assert said.status == EXIT_USAGE
                assert "so far its events are 0 to" in said.err
            finally:
                shut.open()
                status = process.wait(timeout=60)
    assert status == EXIT_DONE
    assert perdure("show", out, turn).status == EXIT_DONE


def with_a_tick(out: Path) -> list[str]:
    """List the worlds of a run that have closed a tick."""
    with RunReader.open(out) as reader:
        heads = {world.world_id: reader.head(world.world_id) for world in reader.worlds}
    return [name for name, head in heads.items() if head is not None and head.seq >= 0]
