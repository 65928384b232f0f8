"""An export that was damaged or edited is never read as if it were not: 74, and the place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.support.runs import WORLDS, make_run

from perdure.base.canonical import encode
from perdure.base.errors import EXIT_STORAGE, DamagedRecordError, PerdureError
from perdure.trace.export import export
from perdure.trace.export_store import describe, read_manifest
from perdure.trace.lookup import Lookup
from perdure.trace.open_record import open_record
from perdure.trace.verify import verify

FIRST = WORLDS[0]
EVENTS = f"events.parquet/{FIRST}.parquet"
BLOBS = f"blobs.parquet/{FIRST}.parquet"
TURNS = f"turns.parquet/{FIRST}.parquet"
# What a reader of everything but the turns reads.
READ = (
    "run.parquet",
    "log.parquet",
    "worlds.parquet",
    "people.parquet",
    "held_out.parquet",
    EVENTS,
    BLOBS,
)
FILES = (*READ, TURNS, "personas.parquet")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export a sound run."""
    folder = tmp_path_factory.mktemp("original")
    make_run(folder)
    export(folder, with_held_out=True)
    return folder / "export"


@pytest.fixture
def exported(original: Path, tmp_path: Path) -> Path:
    """Give an export that a test may damage."""
    return shutil.copytree(original, tmp_path / "it")


def read_all(folder: Path) -> None:
    """Read all of a record as the views do: everything of it, and looking here and there."""
    with open_record(folder) as record:
        record.check_registry()
        assert record.log
        for world in record.worlds:
            for _ in record.events(world.world_id):
                pass
            lookup = Lookup.of(record, world.world_id)
            assert lookup is not None
            lookup.event(3)
            for key, _ in record.partition(world.world_id).blobs():
                record.blob(world.world_id, key.hex())


def places(folder: Path) -> list[str]:
    """Verify an export, and give where something is wrong."""
    report = verify(folder)
    assert report.is_sound == (not report.every_finding)
    return [finding.where for finding in report.every_finding]


def rewrite(folder: Path, name: str, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Edit the rows of a file, and its entry in the manifest with it."""
    table = pq.read_table(folder / name)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), folder / name)
    sign(folder, name, len(rows))


def sign(folder: Path, name: str, rows: int) -> None:
    """Give a file in the manifest the size and hash that it has now."""
    manifest = read_manifest(folder)
    files = manifest.files | {name: describe(folder / name, rows)}
    said = json.loads(encode(manifest)) | {"files": json.loads(encode(files))}
    (folder / "manifest.json").write_text(json.dumps(said))


def test_a_sound_export_is_sound_wherever_it_is(exported: Path) -> None:
    """It is read and verified far from its run, and nothing is written."""
    before = {path: path.read_bytes() for path in exported.rglob("*") if path.is_file()}
    read_all(exported)
    assert places(exported) == []
    assert {path: path.read_bytes() for path in exported.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.97])
def test_a_flipped_byte_is_named(exported: Path, name: str, part: float) -> None:
    """Wherever in a file it is, no row of the file is read, and verify names the file."""
    data = bytearray((exported / name).read_bytes())
    data[int(part * len(data))] ^= 0x10
    (exported / name).write_bytes(data)
    assert any(name in place for place in places(exported))
    if name in READ:
        with pytest.raises(DamagedRecordError, match="not the one that was exported") as caught:
            read_all(exported)
        assert caught.value.exit_status == EXIT_STORAGE
        assert caught.value.where.endswith(name)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_or_empty_file_is_named(exported: Path, name: str) -> None:
    """What is gone is an error of ours with its place, never one of the library."""
    damages: tuple[Callable[[Path], object], ...] = (lambda one: one.write_bytes(b""), Path.unlink)
    for damage in damages:
        damage(exported / name)
        assert any(name in place for place in places(exported))
        if name in READ:
            with pytest.raises(PerdureError) as caught:
                read_all(exported)
            assert caught.value.exit_status == EXIT_STORAGE


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + bytes(64) + b"PAR1", b"{}" * 50])
def test_what_is_no_parquet_is_named_though_its_hash_is_right(exported: Path, data: bytes) -> None:
    """A file that the manifest vouches for still has to be what it is called."""
    (exported / EVENTS).write_bytes(data)
    sign(exported, EVENTS, 1)
    with pytest.raises(DamagedRecordError, match="cannot be read as Parquet"):
        read_all(exported)
    assert any(EVENTS in place for place in places(exported))


def test_another_table_in_a_files_place_is_named(exported: Path) -> None:
    """Columns are those of the export, or nothing is read."""
    shutil.copy(exported / TURNS, exported / EVENTS)
    sign(exported, EVENTS, 1)
    with pytest.raises(DamagedRecordError, match="columns"):
        read_all(exported)


def answer(rows: list[dict[str, Any]]) -> None:
    """Change what somebody said."""
    (row,) = [row for row in rows if row["kind"] == "turn"][:1]
    row["payload"] = row["payload"].replace("Yes", "No")


def column(name: str, value: object, place: int = 5) -> Callable[[list[dict[str, Any]]], None]:
    """Change one value."""

    def change(rows: list[dict[str, Any]]) -> None:
        assert rows[place][name] != value
        rows[place][name] = value

    return change


EDITS: dict[str, tuple[str, Callable[[list[dict[str, Any]]], object], str]] = {
    "an answer": (EVENTS, answer, f"{FIRST}:"),
    "a persona": (EVENTS, column("persona", "p9"), f"{FIRST}:5"),
    "a tick": (EVENTS, column("tick", 2), f"{FIRST}:5"),
    "no number": (EVENTS, column("seq", None), f"{FIRST}:5"),
    "no payload": (EVENTS, column("payload", None), f"{FIRST}:5"),
    "a hash": (EVENTS, column("hash", bytes(32)), f"{FIRST}:5"),
    "an event left out": (EVENTS, lambda rows: rows.pop(5), f"{FIRST}:5"),
    "the last tick left out": (EVENTS, lambda rows: rows.__delitem__(slice(-21, None)), FIRST),
    "events in another order": (EVENTS, lambda rows: rows.reverse(), FIRST),
    "a text": (BLOBS, column("bytes", b"other", 0), FIRST),
    "no text": (BLOBS, lambda rows: rows.pop(0), FIRST),
    "texts in another order": (BLOBS, lambda rows: rows.reverse(), FIRST),
    "what is no hash": (BLOBS, column("sha256", b"", 0), FIRST),
    "the run": ("run.parquet", lambda rows: rows.clear(), "run entry"),
    "the run as asked": (
        "run.parquet",
        lambda rows: rows[0].update(entry=rows[0]["entry"].replace("USD", "EUR")),
        "run entry",
    ),
    "the log": ("log.parquet", lambda rows: rows.pop(), ""),
    "a row of the log": ("log.parquet", column("kind", "paused", 1), "run log"),
    "a real value": ("held_out.parquet", column("value", "no", 0), "held_out"),
    "somebody": ("people.parquet", column("persona", "p9", 1), "persona 1"),
    "somebody's age": (
        "people.parquet",
        lambda rows: rows[0].update(payload=rows[0]["payload"].replace("41", "42")),
        "personas",
    ),
    "a witness": ("worlds.parquet", column("witness", None, 0), ""),
    "an outcome": ("worlds.parquet", column("outcome", None, 0), ""),
    "a header": ("worlds.parquet", column("header", "{}", 0), ""),
    "an end": ("worlds.parquet", column("seq", 3, 0), FIRST),
    "no end": ("worlds.parquet", column("seq", None, 0), ""),
    "a world left out": ("worlds.parquet", lambda rows: rows.pop(), ""),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_named_though_the_manifest_was_edited_with_it(exported: Path, edit: str) -> None:
    """The record proves itself: chains, witnesses and hashes find what the manifest hides."""
    name, change, where = EDITS[edit]
    rewrite(exported, name, change)
    found = places(exported)
    assert found
    assert any(where in place for place in found), found


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (TURNS, column("answer", "No.", 0)),
        (TURNS, lambda rows: rows.pop()),
        ("personas.parquet", column("age", 42, 0)),
    ],
)
def test_a_table_for_analysis_that_does_not_follow_from_the_record_is_named(
    exported: Path, name: str, change: Callable[[list[dict[str, Any]]], object]
) -> None:
    """Verify makes each table again, so what analysts read is what the record says."""
    rewrite(exported, name, change)
    (found,) = places(exported)
    assert found.startswith(f"{name}: row ")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("finished", False),
        ("run_id", "000000000000"),
        ("hashes", {}),
        ("worlds", []),
        ("forced", [{"moved": [], "ticks": {}}]),
    ],
)
def test_a_manifest_that_says_otherwise_than_the_record_is_named(
    exported: Path, field: str, value: object
) -> None:
    """What a reader of the manifest alone would believe is held against the record."""
    path = exported / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    report = verify(exported)
    assert [finding.where for finding in report.every_finding] == ["manifest.json"]
    assert f"`{field}`" in report.every_finding[0].wrong


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff", b'{"format": 2}'])
def test_a_manifest_that_is_none_is_named(exported: Path, data: bytes) -> None:
    """Whatever is in its place, it is an error of ours."""
    (exported / "manifest.json").write_bytes(data)
    with pytest.raises(DamagedRecordError) as caught:
        read_all(exported)
    assert caught.value.where.endswith("manifest.json")
    assert not verify(exported).is_sound


@pytest.mark.parametrize("found", [1, 3])
def test_an_export_of_another_format_is_not_read(exported: Path, found: int) -> None:
    """It says which format it has, and what to do."""
    path = exported / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": found}))
    with pytest.raises(DamagedRecordError, match=f"has the format {found}") as caught:
        read_all(exported)
    assert "perdure export" in caught.value.remedy


def test_a_file_that_the_manifest_does_not_name_is_named(exported: Path) -> None:
    """What a tool would read along with the others is noticed."""
    shutil.copy(exported / EVENTS, exported / "events.parquet" / "more.parquet")
    assert places(exported) == ["events.parquet/more.parquet"]


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "events.parquet/../../x"])
def test_a_manifest_leads_nowhere_else(exported: Path, name: str) -> None:
    """A name that is no file of the export is not followed."""
    path = exported / "manifest.json"
    said = json.loads(path.read_text())
    said["files"][name] = {"rows": 1, "bytes": 1, "sha256": "00"}
    path.write_text(json.dumps(said))
    (finding,) = verify(exported).every_finding
    assert (finding.where, "outside" in finding.wrong) == ("manifest.json", True)


def test_nothing_in_an_export_says_where_it_was_made(tmp_path: Path) -> None:
    """No file names the folder of the run, the machine or the day."""
    folder = tmp_path / "a-name-to-look-for"
    make_run(folder)
    export(folder, with_held_out=True)
    for path in (folder / "export").rglob("*"):
        if path.suffix == ".json":
            assert b"a-name-to-look-for" not in path.read_bytes()
        elif path.is_file():
            assert "a-name-to-look-for" not in str(pq.read_table(path).to_pylist())
            assert b"a-name-to-look-for" not in path.read_bytes()
