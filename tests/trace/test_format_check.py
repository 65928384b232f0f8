"""The page on the format is enough: a script written from it recomputes every hash of a run."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from tests.support.runs import WORLDS, full_batch, make_run

from perdure.records.events import IS_CONTENT
from perdure.trace.chain import chain_step, digest_step, frame
from perdure.trace.schema import PARTITION, REGISTRY
from perdure.trace.sealing import first_head, seal

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCRIPT = DOCS / "format_check.py"


def run_script(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script on a run."""
    command = [sys.executable, "-I", str(SCRIPT), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_script_stands_alone() -> None:
    """It has at most 60 lines and imports nothing but the standard library."""
    source = SCRIPT.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 60
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            assert all(str(name).split(".")[0] in sys.stdlib_module_names for name in names)


def test_the_script_agrees_with_us(tmp_path: Path) -> None:
    """It prints the chain and the digest that we store, for every world."""
    heads = make_run(tmp_path / "run")
    ended = run_script(tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert lines == [
        [world, str(head.seq + 1), head.chain, head.digest] for world, head in heads.items()
    ]


WORLD = f"worlds/{WORLDS[0]}.db"


@pytest.mark.parametrize(
    ("file", "statement", "said"),
    [
        (WORLD, "UPDATE events SET persona = 'p9' WHERE seq = 6", f"{WORLDS[0]}:6: the chain"),
        (WORLD, "UPDATE events SET content = NULL WHERE seq = 7", f"{WORLDS[0]}:7: the chain"),
        (WORLD, "UPDATE header SET payload = CAST(payload || ' ' AS BLOB)", ":0: the chain"),
        (WORLD, "DELETE FROM events WHERE seq = 64", "the head"),
        (WORLD, "DELETE FROM events WHERE seq = 9", ":10: the chain"),
        (WORLD, "UPDATE head SET digest = zeroblob(32)", "the head"),
        (WORLD, "UPDATE head SET tick = 1", "the head"),
        (WORLD, "UPDATE head SET log_chain = zeroblob(32)", "the run log"),
        (WORLD, "UPDATE blobs SET bytes = x'00' WHERE rowid = 2", "the blob"),
        (WORLD, "DELETE FROM blobs WHERE rowid = 2", "the blob"),
        ("run.db", "UPDATE run SET entry = CAST(entry || ' ' AS BLOB)", "run log 0"),
        ("run.db", "UPDATE log SET kind = 'paused' WHERE seq = 1", "run log 1: the chain"),
        ("run.db", "DELETE FROM log WHERE seq = 0", "run log 1"),
        ("run.db", "DELETE FROM log WHERE seq = 5", "run log: its end is missing"),
        (
            "run.db",
            "UPDATE personas SET payload = CAST(replace(payload, '41', '42') AS BLOB)",
            "personas",
        ),
        ("run.db", "UPDATE held_out SET value = 'no' WHERE id = 'p1'", "held_out"),
        ("run.db", "DELETE FROM held_out WHERE id = 'p1'", "held_out"),
        ("run.db", "DELETE FROM worlds WHERE position = 1", "worlds: a row is missing"),
        (
            "run.db",
            "UPDATE worlds SET entry = CAST(replace(entry, ':7', ':8') AS BLOB)",
            "the header has another",
        ),
        ("run.db", "UPDATE worlds SET witness = NULL", "not witnessed"),
        *(
            (
                "run.db",
                f"UPDATE worlds SET witness = CAST(replace(witness, '{old}', '{new}') AS BLOB)",
                "not witnessed",
            )
            for old, new in ((":64", ":70"), ('"tick":2', '"tick":1'), ('"chain"', '"chains"'))
        ),
    ],
)
def test_the_script_names_what_is_damaged(
    tmp_path: Path, file: str, statement: str, said: str
) -> None:
    """It ends with an error that names the first mismatch, and with no traceback."""
    make_run(tmp_path / "run")
    connection = apsw.Connection(str(tmp_path / "run" / file))
    connection.execute(statement)
    assert connection.total_changes() > 0
    connection.close()
    ended = run_script(tmp_path / "run")
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_every_byte_of_an_event_is_in_the_chain_and_of_content_in_the_digest() -> None:
    """Any byte changed changes the chain; of a content event, the digest too; of others, not."""
    head = first_head(b"{}")
    sealed = seal(head, full_batch(head))
    chain, digest = bytes.fromhex(head.chain), bytes.fromhex(head.digest)
    contents: list[bytes] = []
    for seq, tick, kind, persona, content, payload, stored in sealed.rows:
        framed = frame(
            seq=seq,
            content=content,
            tick=tick,
            kind=kind.encode(),
            persona=persona.encode(),
            payload=payload,
        )
        for place in range(len(framed)):
            changed = bytearray(framed)
            changed[place] ^= 1
            assert chain_step(chain, bytes(changed)) != stored
            if IS_CONTENT[kind]:
                moved = digest_step(digest, [bytes(changed)]) != digest_step(digest, [framed])
                assert moved is (place >= 8), "the seq alone is not in the digest"
        chain = stored
        if IS_CONTENT[kind]:
            contents.append(framed)
    assert chain.hex() == sealed.head.chain
    assert digest_step(digest, contents).hex() == sealed.head.digest


def test_the_page_names_every_table_and_column() -> None:
    """The page cannot fall behind the schema unnoticed."""
    page = (DOCS / "format.md").read_text(encoding="utf-8")
    for layout in (PARTITION, REGISTRY):
        assert f"{layout.application_id:#010x}".upper().replace("0X", "0x") in page.upper().replace(
            "0X", "0x"
        )
        for table in filter(None, (*layout.tables, layout.besides)):
            name, _, columns = table.removeprefix("CREATE TABLE ").partition(" (")
            line = next(line for line in page.splitlines() if line.split("(")[0].strip() == name)
            for column in columns.split(", "):
                assert column.split()[0] in line
    for kind in IS_CONTENT:
        assert f"`{kind}`" in page
