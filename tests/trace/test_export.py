"""An export is typed, complete, the same every time, and opens in pandas, Polars and DuckDB."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import duckdb
import msgspec
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.support.folders import names_in
from tests.support.runs import (
    HELD_OUT,
    NO_LOG,
    PERSONAS,
    WORLDS,
    entry,
    full_batch,
    header,
    make_run,
    world_entry,
)

from perdure.base.errors import DamagedRecordError, StorageError, StorageFullError
from perdure.records.events import Cost, Turn
from perdure.records.graph import Node
from perdure.records.people import People
from perdure.records.persona import AttributeSpec, Persona
from perdure.records.reaction import Change, Reaction, Rejection
from perdure.records.usage import CostSource, Usage
from perdure.trace import export as export_module
from perdure.trace import parquet_table
from perdure.trace.export import export
from perdure.trace.export_rows import _paid, turn_rows
from perdure.trace.export_tables import (
    TURNS,
    persona_columns,
    persona_rows,
    tie_rows,
)
from perdure.trace.manifest import Manifest
from perdure.trace.parquet_table import write_table
from perdure.trace.partition_file import PartitionFile
from perdure.trace.sealing import first_head

FIRST, SECOND = WORLDS


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Path, Manifest]:
    """Export a sound run."""
    make_run(tmp_path)
    return tmp_path / "export", export(tmp_path)


def test_there_is_one_row_per_turn(exported: tuple[Path, Manifest]) -> None:
    """Taken and failed turns of all worlds are rows, with what was shown, said, scored, paid."""
    folder, manifest = exported
    rows = pq.read_table(folder / "turns.parquet").to_pylist()
    assert len(rows) == 2 * 3 * 3 == sum(world.turns for world in manifest.worlds)
    first, second, third = rows[:3]
    assert first == {
        "run": "abcdef012345",
        "world": FIRST,
        "scenario": "calm",
        "variant": "v",
        "seed": 7,
        "tick": 0,
        "wave": 0,
        "job": 0,
        "persona": "p1",
        "question": "vote",
        "channel": "feed",
        "claims": ["trams"],
        "answer": "Yes, at 0. é",
        **dict.fromkeys(("words", "action", "about", "rejected", "change")),
        "choice": "yes",
        **dict.fromkeys(("choices", "number", "masses", "order")),
        "unscorable": None,
        "failure": None,
        "call_failure": None,
        "attempts": 2,
        "cost_nano": None,
        "currency": "USD",
        "unknown_costs": 1,
        "tokens_input_fresh": 10,
        "tokens_cache_write": 0,
        "tokens_cache_read": 0,
        "tokens_output": 2,
        "reflection_attempts": 0,
        "reflection_cost_nano": 0,
        "reflection_unknown_costs": 0,
        "reflection_tokens_input_fresh": None,
        "reflection_tokens_cache_write": None,
        "reflection_tokens_cache_read": None,
        "reflection_tokens_output": None,
    }
    assert (second["choice"], second["unscorable"], second["cost_nano"]) == (
        None,
        "undecided",
        300,
    )
    assert (third["answer"], third["failure"], third["call_failure"]) == (
        None,
        "call_failed",
        "timeout",
    )
    assert [row["wave"] for row in rows[:9]] == [0, 0, 0, None, None, None, 1, 1, 1]


def test_pandas_polars_and_duckdb_agree(exported: tuple[Path, Manifest]) -> None:
    """The three tools read the same rows with typed columns."""
    folder, _ = exported
    turns = folder / "turns.parquet"
    panda = pd.read_parquet(turns)
    polar = pl.read_parquet(turns / "*.parquet")
    duck = duckdb.read_parquet(f"{turns}/*.parquet")
    assert len(panda) == len(polar) == len(duck.fetchall()) == 18
    assert pd.api.types.is_integer_dtype(panda["tick"])
    assert panda["choice"].dtype == "category"
    assert polar.schema["cost_nano"] == pl.Int64
    assert polar.schema["claims"] == pl.List(pl.String)
    types = dict(zip(duck.columns, map(str, duck.types), strict=True))
    assert types["tick"] == "BIGINT"
    assert types["answer"] == "VARCHAR"
    assert types["claims"] == "VARCHAR[]"
    assert len(duck.filter("choice = 'yes'").fetchall()) == 6
    people = folder / "personas.parquet"
    assert list(pd.read_parquet(people)["party"]) == ["left", "right", "none"]


def test_what_was_done_is_told(tmp_path: Path) -> None:
    """What a persona did, about what, with which words and to what effect is in columns."""
    horizon = 1
    batch = full_batch(first_head(b"{}"), horizon)
    reaction = Reaction(
        action="shout",
        stimulus="s0",
        words="No trams.",
        change=Change.MUCH_LESS,
        rejected=Rejection.NOT_ACCEPTED,
    )
    events = [
        msgspec.structs.replace(
            event, payload=msgspec.structs.replace(event.payload, reaction=reaction)
        )
        if isinstance(event.payload, Turn) and event.payload.job == 0
        else event
        for event in batch.events
    ]
    first, second, failed = turn_rows(
        entry(), world_entry(FIRST, horizon), header(FIRST, horizon).scenario, events
    )
    told = ("words", "action", "about", "rejected", "change")
    assert [first[name] for name in told] == [
        *("No trams.", "shout", "s0", "not_accepted", "much_less")
    ]
    assert [second[name] for name in told] == [failed[name] for name in told] == [None] * 5
    assert write_table(tmp_path / "turns.parquet", TURNS, [first, second, failed]) == 3
    assert pq.read_table(tmp_path / "turns.parquet").to_pylist()[0]["rejected"] == "not_accepted"


def test_all_events_are_there(exported: tuple[Path, Manifest]) -> None:
    """Every event is a row, its payload the canonical JSON that is stored."""
    folder, manifest = exported
    rows = pq.read_table(folder / "events.parquet").to_pylist()
    assert len(rows) == sum(world.events for world in manifest.worlds) == 130
    connection = apsw.Connection(str(folder.parent / "worlds" / f"{FIRST}.db"))
    stored = [bytes(one) for (one,) in connection.execute("SELECT payload FROM events")]
    connection.close()
    assert [row["payload"].encode() for row in rows if row["world"] == FIRST] == stored
    assert [row["seq"] for row in rows if row["world"] == FIRST] == list(range(65))


def test_personas_have_typed_attributes(exported: tuple[Path, Manifest]) -> None:
    """Numbers stay numbers, text stays text, and what a persona lacks is NULL."""
    rows = pq.read_table(exported[0] / "personas.parquet").to_pylist()
    assert rows[0] == {"persona": "p1", "age": 41, "party": "left", "score": 0.5}
    assert rows[2]["score"] is None


def test_attributes_of_mixed_types_become_text() -> None:
    """A column has one type; an attribute called as the id is keeps its own column."""
    personas = (
        Persona(id="a", attributes={"x": 1, "persona": "self"}),
        Persona(id="b", attributes={"x": "many"}),
    )
    columns = persona_columns(People(personas=personas))
    assert [column[:2] for column in columns] == [
        ("persona", "text"),
        ("attribute_persona", "text"),
        ("x", "text"),
    ]
    assert list(persona_rows(People(personas=personas), columns)) == [
        {"persona": "a", "x": "1", "attribute_persona": "self"},
        {"persona": "b", "x": "many", "attribute_persona": None},
    ]


def test_codes_have_their_words_beside_them() -> None:
    """A code of a scale is explained in a column of its own; a number needs none."""
    specs = {
        "lean": AttributeSpec(name="lean", label="Leaning", scale={"0": "left", "1": "right"}),
        "age": AttributeSpec(name="age", label="Age", unit="years"),
        "x": AttributeSpec(name="x", label="X", scale={"1": "one"}),
    }
    personas = (
        Persona(id="a", attributes={"lean": 1.0, "age": 40, "x": 1, "x_label": "mine"}),
        Persona(id="b", attributes={"lean": 7, "x": 1}),
    )
    columns = persona_columns(People(personas=personas), specs)
    assert [column.meaning for column in columns if column.name == "age"] == ["Age, in years"]
    assert list(persona_rows(People(personas=personas), columns, specs)) == [
        {
            "persona": "a",
            "age": 40,
            "lean": 1.0,
            "lean_label": "right",
            "x": 1,
            "x_label": "mine",
        },
        {"persona": "b", "age": None, "lean": 7, "lean_label": None, "x": 1, "x_label": None},
    ]


def test_audience_and_community_stand_beside_a_persona_and_ties_are_there_once() -> None:
    """What a population was drawn for and how it hangs together can be analysed with its turns."""
    people = People(
        personas=(
            Persona(id="a", attributes={"community": "old town"}, audience="young"),
            Persona(id="b", attributes={}),
        ),
        graph=(Node(ties={"b": 0.25}, community=1), Node()),
    )
    columns = persona_columns(people)
    assert list(persona_rows(people, columns)) == [
        {
            "persona": "a",
            "audience": "young",
            "community": 1,
            "attribute_community": "old town",
        },
        {"persona": "b", "audience": None, "community": None, "attribute_community": None},
    ]
    assert list(tie_rows(people)) == [{"persona": "a", "other": "b", "strength": 0.25}]


def test_a_reflection_is_paid_apart_from_its_turn() -> None:
    """The attempts, tokens and cost of a turn's answer do not hold those of its reflection."""

    def cost(purpose: str, amount: int | None) -> Cost:
        return Cost(
            job=0,
            purpose=purpose,
            ordinal=0,
            attempt=0,
            role="tier_a",
            model="m",
            source=CostSource.UNKNOWN if amount is None else CostSource.PRICE_TABLE,
            amount=amount,
            usage=Usage(input_fresh=3, output=1),
        )

    paid = _paid([cost("turn", 5), cost("turn", 6), cost("reflection", None)])
    assert (paid["attempts"], paid["cost_nano"], paid["tokens_input_fresh"]) == (2, 11, 6)
    assert (paid["reflection_attempts"], paid["reflection_cost_nano"]) == (1, None)
    assert (paid["reflection_unknown_costs"], paid["reflection_tokens_output"]) == (1, 1)


def test_real_values_leave_only_when_asked_for(tmp_path: Path) -> None:
    """Held-out values are in no file by default, and in one of their own on request."""
    make_run(tmp_path)
    assert "held_out.parquet" not in export(tmp_path).files
    assert not (tmp_path / "export" / "held_out.parquet").exists()
    manifest = export(tmp_path, with_held_out=True)
    assert manifest.files["held_out.parquet"].rows == 2
    rows = pq.read_table(tmp_path / "export" / "held_out.parquet").to_pylist()
    assert [(row["persona"], row["value"]) for row in rows] == sorted(HELD_OUT.items())


def test_the_manifest_names_every_file(exported: tuple[Path, Manifest]) -> None:
    """Digests, hashes and rows of what was exported are beside it."""
    folder, manifest = exported
    said = json.loads((folder / "manifest.json").read_bytes())
    assert said["run_id"] == "abcdef012345"
    assert said["worlds"][0]["digest"] == manifest.worlds[0].digest
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.parquet") if path.is_file()}
    assert files == set(manifest.files) == set(said["files"])
    rows: dict[str, int] = {}
    for path, file in manifest.files.items():
        table = path.partition("/")[0].removesuffix(".parquet")
        rows[table] = rows.get(table, 0) + file.rows
    people = len(PERSONAS)
    assert (rows["turns"], rows["events"], rows["blobs"]) == (18, 130, 20)
    assert (rows["personas"], rows["people"], rows["worlds"], rows["run"]) == (people, people, 2, 1)


def test_the_same_record_makes_the_same_bytes(tmp_path: Path) -> None:
    """An export can be compared by hash, and takes the place of the one before."""
    make_run(tmp_path)
    first = export(tmp_path)
    (tmp_path / "export" / "stale.txt").write_text("old", encoding="utf-8")
    assert export(tmp_path) == first
    assert not (tmp_path / "export" / "stale.txt").exists()
    assert not list(tmp_path.glob("export.*"))


def test_a_live_run_exports_its_closed_ticks(tmp_path: Path) -> None:
    """What is closed can be exported while a run works; worlds not started have no files."""
    make_run(tmp_path, ticks=1, finish=False)
    writer = PartitionFile.open(tmp_path / "worlds" / f"{FIRST}.db", 2)
    writer.append(full_batch(writer.head), epoch=2, log_head=NO_LOG)
    manifest = export(tmp_path)
    writer.close()
    assert [world.turns for world in manifest.worlds] == [6, 3]


def test_a_damaged_run_is_not_exported(tmp_path: Path) -> None:
    """P9: nothing damaged leaves the house, and an earlier export stays as it was."""
    make_run(tmp_path)
    export(tmp_path)
    connection = apsw.Connection(str(tmp_path / "worlds" / f"{SECOND}.db"))
    connection.execute("UPDATE events SET persona = 'p9' WHERE seq = 40")
    connection.close()
    before = (tmp_path / "export" / "manifest.json").read_bytes()
    with pytest.raises(DamagedRecordError, match="hash"):
        export(tmp_path)
    assert (tmp_path / "export" / "manifest.json").read_bytes() == before


@pytest.mark.parametrize(("code", "ours"), [(28, StorageFullError), (13, StorageError)])
def test_a_failed_write_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, ours: type
) -> None:
    """P9: a full or unwritable disk is said in one sentence, with an earlier export kept."""
    make_run(tmp_path)
    export(tmp_path)
    before = names_in(tmp_path / "export")

    def refuse(*_: object) -> int:
        raise OSError(code, "no")

    monkeypatch.setattr(export_module, "write_table", refuse)
    with pytest.raises(ours):
        export(tmp_path)
    assert names_in(tmp_path / "export") == before
    assert not list(tmp_path.glob("export.*")), "no half of the new one"


def test_rows_are_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P11: memory does not grow with the record: rows are written a group at a time."""
    monkeypatch.setattr(parquet_table, "_ROWS_PER_GROUP", 4)
    make_run(tmp_path)
    export(tmp_path)
    file = pq.ParquetFile(tmp_path / "export" / "events.parquet" / f"{FIRST}.parquet")
    assert file.num_row_groups == 17
