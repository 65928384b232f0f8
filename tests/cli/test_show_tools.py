"""That what personas do with tools can be read: turn by turn, and as a table of an export."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.support.office import furnish, office, respond

from perdure import runner
from perdure.cli.show_view import shown_parts
from perdure.cli.shown import look
from perdure.records.drive import DRIVE_KIND_OF, RunFrozen
from perdure.records.events import Turn
from perdure.records.scenario import ModelPin
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.usage import Price
from perdure.runner.reassembly import Standing
from perdure.testing import MisbehavingServer
from perdure.trace.reader import RunReader

PEOPLE, DAYS = 2, 2


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run of an office whose people have a tool outside it."""
    folder = tmp_path_factory.mktemp("office")
    with pytest.MonkeyPatch.context() as patched, MisbehavingServer(responder=respond) as server:
        patched.setenv("PERDURE_TEST_DESK", str(folder))
        study = furnish(folder / "study")
        config = office(study, "append_line", personas=PEOPLE, horizon=DAYS)
        spec = ModelSpec(
            pin=ModelPin(provider="http", model="test-model"),
            endpoint=Endpoint(base_url=server.base_url),
            price=Price(input_fresh=1, output=1),
        )
        models = dict.fromkeys(("tier_a", "tier_b"), spec)
        asked = msgspec.structs.replace(config.study, models=models)
        result = runner.run(replace(config, study=asked, out=str(folder / "run")))
        assert result.exit_status == 0
    return folder / "run"


def test_every_line_of_a_drive_shows_its_whole_turn(run: Path) -> None:
    """Each kind: with the tools that were used, and the prompt made again, byte for byte."""
    kinds = set()
    with RunReader.open(run) as reader:
        world = reader.worlds[0].world_id
        for event in list(reader.events(world)):
            shown = look(reader, f"{world}:{event.seq}")
            assert list(shown_parts(shown, str(run)))
            if type(event.payload) not in DRIVE_KIND_OF and not isinstance(event.payload, Turn):
                continue
            kinds.add(shown.kind)
            assert shown.turn is not None
            assert shown.assembled is not None
            assert shown.assembled.standing is Standing.FOLLOWS, shown.assembled.why
            used = [one.call.name for one in shown.turn.tools]
            assert used == ["read_document", "write_document", "append_line", "send_note"]
            assert [one.status for one in shown.turn.tools] == ["ok"] * 4
            assert [one.name for one in shown.turn.did] == ["write_document", "send_note"]
    assert {"job_pinned", "tool_called", "tool_result", "run_frozen", "turn"} <= kinds


def test_show_lists_what_was_called_and_what_it_came_to(run: Path, perdure) -> None:
    """A person reads the name, the arguments and the answer of each call; JSON has them too."""
    with RunReader.open(run) as reader:
        world = reader.worlds[0].world_id
        frozen = next(e for e in reader.events(world) if isinstance(e.payload, RunFrozen))
    shown = perdure("show", run, f"{world}:{frozen.seq}")
    assert shown.status == 0, shown.err
    assert "Used tools" in shown.out
    assert "read_document (read, call-0): ok" in shown.out
    assert "write_document (write, call-1): ok, which took effect in the world" in shown.out
    assert "It is written." in shown.out
    assert "Its drive ended: concluded." in shown.out
    assert "append_line" in perdure("show", run, f"{world}:{frozen.seq}", "--json").out


def test_a_report_tells_what_was_done_with_tools_of_a_run_and_of_its_export(
    run: Path, perdure, tmp_path: Path
) -> None:
    """Turn for turn, what is outside apart; an export gives the same bytes in every form."""
    (use,) = perdure("report", run, "--json").document["tools"]
    turns = PEOPLE * DAYS
    asked = {one["tool"]: one["count"]["outcomes"]["ok"] for one in use["tools"]}
    used = ("read_document", "write_document", "send_note", "append_line")
    assert asked == {
        "list_documents": 0,
        "read_notes": 0,
        **dict.fromkeys(used, turns),
    }
    assert use["effects"]["ok"] == turns
    shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("export"))
    assert perdure("export", tmp_path / "run", "--with-held-out").status == 0
    export = tmp_path / "run" / "export"
    for form in ("json", "markdown", "html"):
        from_run, from_export = (perdure("report", of, "--format", form) for of in (run, export))
        assert from_run.status == from_export.status == 0
        assert from_run.out == from_export.out
        assert "append_line" in from_run.out.replace("\\", "")
    shown = perdure("show", export, "effects/s0/ok", "--json").document
    assert shown == perdure("show", run, "effects/s0/ok", "--json").document
    assert [part["events"] for part in shown["parts"]] == [turns, turns]


def test_an_export_has_a_row_for_each_call_and_is_checked(run: Path, perdure) -> None:
    """The table follows from the record, and one that does not is named."""
    assert perdure("verify", run).status == 0
    exported = perdure("export", run)
    assert exported.status == 0, exported.err
    (file,) = (run / "export" / "tools.parquet").iterdir()
    rows = pq.read_table(file).to_pylist()
    assert len(rows) == PEOPLE * DAYS * 4
    first = [row for row in rows if (row["tick"], row["job"]) == (0, 0)]
    assert [row["tool"] for row in first] == [
        "read_document",
        "write_document",
        "append_line",
        "send_note",
    ]
    assert [row["effect"] for row in first] == ["read", "write", "write", "write"]
    assert [row["took_effect"] for row in first] == [False, True, False, True]
    assert [row["place"] for row in first] == [row["reply"] for row in first] == [0, 1, 2, 3]
    assert first[0]["answer"] == "Day one: nothing yet."
    assert perdure("verify", run / "export").status == 0
