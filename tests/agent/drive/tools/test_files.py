"""The file tools change what they say, whole or not at all, and stay in the workspace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.tool_calls import a_call, admitted, answered, run

from perdure.agent.drive.ports import Ticket
from perdure.agent.drive.tools.bench import Bench
from perdure.agent.drive.tools.files import file_tools
from perdure.agent.drive.tools.workspace import Workspace
from perdure.records.drive import RunPolicy
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, Writes

OK, ERROR, REFUSED = AnswerStatus.OK, AnswerStatus.ERROR, AnswerStatus.REFUSED


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a workspace with some files, and a file outside."""
    root = tmp_path / "work"
    (root / "notes").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("needle")
    (root / "notes" / "a.md").write_text("one\ntwo needle\nthree\n")
    (root / "b.bin").write_bytes(b"\0needle")
    (root / "c.md").write_text("Needle é\r\n")
    (tmp_path / "outside.md").write_text("needle outside")
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    os.mkfifo(root / "pipe")
    return root


def tell(root: Path, name: str, /, **arguments: Any) -> ToolAnswer:
    """Call one tool of the workspace."""
    return run(answered(Bench(file_tools(Workspace(root))), a_call(name, **arguments)))


def test_the_tools_and_their_effects(root: Path) -> None:
    """Three read, three write; each says which path it writes before it does."""
    bench = Bench(file_tools(Workspace(root)))
    effects = {spec.name: bench.effect(a_call(spec.name)) for spec in bench.specs}
    reads = ["read_file", "list_files", "search_text"]
    writes = ["write_file", "replace_text", "delete_file"]
    assert list(effects) == reads + writes
    assert {name for name, effect in effects.items() if effect is Effect.READ} == set(reads)
    call = a_call("write_file", path="./notes//new.md", text="")
    assert bench.writes(call) == Writes(paths=("notes/new.md",))
    assert bench.writes(a_call("write_file", "{")) == Writes(anywhere=True)
    assert bench.writes(a_call("read_file", path="c.md")).is_nothing
    assert admitted(bench, call) == Ticket(subject="./notes//new.md")


def test_a_file_is_read_by_lines(root: Path) -> None:
    """Whole, or a part of it."""
    assert tell(root, "read_file", path="notes/a.md").text == "one\ntwo needle\nthree\n"
    assert tell(root, "read_file", path="notes/a.md", first_line=2, lines=1).text == "two needle\n"
    assert tell(root, "read_file", path="c.md").text == "Needle é\r\n"
    assert tell(root, "read_file", path="notes/a.md", first_line=9).text == "[nothing there]"


@pytest.mark.parametrize("path", ["pipe", "notes", "missing.md"])
def test_what_is_no_file_with_a_text_is_an_error(root: Path, path: str) -> None:
    """A pipe, which would never end, included."""
    assert tell(root, "read_file", path=path).status is ERROR


@pytest.mark.parametrize("path", ["link.md", "../outside.md", "/etc/passwd"])
@pytest.mark.parametrize("name", ["read_file", "write_file"])
def test_nothing_outside_is_read_or_written(root: Path, name: str, path: str) -> None:
    """By no path, and by no link."""
    more = {"text": "x"} if name == "write_file" else {}
    assert tell(root, name, path=path, **more).status is REFUSED
    assert (root.parent / "outside.md").read_text() == "needle outside"


def test_files_are_listed_and_searched_without_the_history(root: Path) -> None:
    """Links are named and not followed; what is no text is left out of a search."""
    listed = tell(root, "list_files").text.splitlines()
    assert [row.partition("\t")[0] for row in listed] == [
        "b.bin",
        "c.md",
        "link.md",
        "pipe",
        "notes/a.md",
    ]
    assert tell(root, "list_files", pattern="*.txt").text == "[no file]"
    assert tell(root, "search_text", text="needle").text == "notes/a.md:2: two needle"
    found = tell(root, "search_text", text="needle", any_case=True).text.splitlines()
    assert found == ["c.md:1: Needle é", "notes/a.md:2: two needle"]
    assert tell(root, "search_text", text=".*").text == "[not found]"


def test_a_file_is_written_whole_and_keeps_its_mode(root: Path) -> None:
    """Folders are made on the way, and nothing is left beside it."""
    made = tell(root, "write_file", path="new/deep/x.md", text="é")
    assert made.text == "2 bytes are in new/deep/x.md."
    assert made.wrote == Writes(paths=("new/deep/x.md",))
    (root / "c.md").chmod(0o640)
    tell(root, "write_file", path="c.md", text="changed")
    assert (root / "c.md").read_text() == "changed"
    assert (root / "c.md").stat().st_mode & 0o777 == 0o640
    assert not list(root.rglob(".writing-*"))
    assert tell(root, "write_file", path="pipe", text="x").status is ERROR


def test_a_text_is_replaced_where_it_is_once(root: Path) -> None:
    """Line ends stay; a text that is there twice is not guessed at."""
    assert tell(root, "replace_text", path="c.md", old="Needle", new="Pin").status is OK
    assert (root / "c.md").read_bytes() == "Pin é\r\n".encode()
    assert "not in" in tell(root, "replace_text", path="c.md", old="Needle", new="").text
    (root / "c.md").write_text("x x")
    assert "2 times" in tell(root, "replace_text", path="c.md", old="x", new="y").text
    assert tell(root, "replace_text", path="c.md", old="x", new="y", everywhere=True).status is OK
    assert (root / "c.md").read_text() == "y y"
    (root / "c.md").write_bytes(b"\xff x")
    assert tell(root, "replace_text", path="c.md", old="x", new="y").status is ERROR


def test_a_file_a_link_and_an_empty_folder_are_deleted(root: Path) -> None:
    """A link goes, and not what it leads to; the workspace and its history stay."""
    for path in ("c.md", "link.md", "notes/a.md", "notes"):
        assert tell(root, "delete_file", path=path).status is OK
        assert not os.path.lexists(root / path)
    assert (root.parent / "outside.md").exists()
    assert tell(root, "delete_file", path=".").status is ERROR
    assert tell(root, "delete_file", path=".git/config").status is REFUSED
    assert (root / ".git" / "config").exists()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": "none.md"}),
        ("replace_text", {"path": "notes/none.md", "old": "a", "new": "b"}),
        ("delete_file", {"path": "notes"}),
        ("write_file", {"path": "c.md/under.md", "text": "x"}),
        ("write_file", {"path": f"notes/{'n' * 300}.md", "text": "x"}),
    ],
)
def test_an_error_calls_a_file_by_its_name_in_the_workspace(
    root: Path, name: str, arguments: dict[str, str]
) -> None:
    """Neither where the workspace lies nor a drawn name is in what a model is told."""
    first, second = tell(root, name, **arguments), tell(root, name, **arguments)
    assert first.status is not OK
    assert str(root) not in first.text
    assert first == second


def test_without_a_checkpoint_only_what_is_new_is_written(root: Path) -> None:
    """What would be gone cannot be brought back, so it is not touched."""
    bench = Bench(file_tools(Workspace(root)))

    def let(call_name: str, /, **arguments: Any) -> bool:
        call = a_call(call_name, **arguments)
        return isinstance(bench.admit(call, RunPolicy(), checkpointed=False), Ticket)

    assert let("write_file", path="new.md", text="x")
    assert let("read_file", path="c.md")
    assert not let("write_file", path="c.md", text="x")
    assert not let("replace_text", path="c.md", old="a", new="b")
    assert not let("delete_file", path="c.md")


def test_a_policy_over_paths_sees_through_links(root: Path) -> None:
    """A link below an allowed folder gives no leave for what it leads to."""
    (root / "notes" / "up.md").symlink_to("../c.md")
    bench = Bench(file_tools(Workspace(root)))
    only_notes = RunPolicy(paths=("notes",))
    inside = a_call("write_file", path="notes/a.md", text="x")
    outside = a_call("write_file", path="notes/up.md", text="x")
    assert isinstance(admitted(bench, inside, only_notes), Ticket)
    answer = admitted(bench, outside, only_notes)
    assert isinstance(answer, ToolAnswer)
    assert answer.status is REFUSED
