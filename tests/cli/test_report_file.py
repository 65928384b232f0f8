"""A report that is kept: which form it takes, that it is whole, and what it never replaces."""

from __future__ import annotations

import hashlib
import json
import os
import resource
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from perdure.base.errors import EXIT_DONE, EXIT_STORAGE, EXIT_USAGE, OutputError
from perdure.cli.report_file import write_report


def begins(path: Path) -> str:
    """Give the start of a file."""
    return path.read_text(encoding="utf-8")[:40]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("r.html", "<!doctype html>"),
        ("r.HTM", "<!doctype html>"),
        ("r.md", "<!-- perdure report -->"),
        ("r.markdown", "<!-- perdure report -->"),
        ("r.json", '{\n  "run_id": "'),
    ],
)
def test_the_name_says_what_it_becomes(perdure, recorded, tmp_path, name, start):
    """And a line says where it is, with its digest."""
    said = perdure("report", recorded(), "--to", tmp_path / name)
    assert said.status == EXIT_DONE
    content = (tmp_path / name).read_bytes()
    assert begins(tmp_path / name).startswith(start)
    digest = hashlib.sha256(content).hexdigest()
    assert said.out == f"Written to {tmp_path / name}: {len(content):,} bytes, sha256 {digest}\n"
    assert not list(tmp_path.glob(".*"))


def test_a_format_goes_to_stdout_without_a_file(perdure, recorded, tmp_path):
    """The same bytes as in the file; text is what a report is by itself."""
    for form, name in (("html", "a.html"), ("markdown", "a.md"), ("json", "a.json")):
        perdure("report", recorded(), "--to", tmp_path / name)
        said = perdure("report", recorded(), "--format", form)
        assert said.out.encode() == (tmp_path / name).read_bytes()
    assert perdure("report", recorded(), "--format", "json").out == (
        perdure("report", recorded(), "--json").out
    )
    assert perdure("report", recorded(), "--format", "text").out == (
        perdure("report", recorded()).out
    )


def test_the_same_record_gives_the_same_bytes_wherever_it_is(perdure, recorded, tmp_path):
    """Neither the folder nor the moment is in it."""
    folder = recorded()
    perdure("report", folder, "--to", tmp_path / "a.html")
    perdure("report", folder, "--to", tmp_path / "a.md")
    moved = folder.rename(tmp_path / "elsewhere")
    perdure("report", moved, "--to", tmp_path / "b.html")
    perdure("report", moved, "--to", tmp_path / "b.md")
    for ending in ("html", "md"):
        first = (tmp_path / f"a.{ending}").read_bytes()
        assert first == (tmp_path / f"b.{ending}").read_bytes()
        assert str(tmp_path).encode() not in first


def test_every_number_of_the_report_is_in_each_form(perdure, recorded, tmp_path, monkeypatch):
    """What the terminal says, the page and the text say too."""
    monkeypatch.setenv("COLUMNS", "400")
    said = perdure("report", recorded(), "--format", "markdown").out
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(said)
    told = " ".join(
        "".join(child.content for child in token.children or ()) for token in tokens
    ).split()
    shown = perdure("report", recorded()).out.replace(str(recorded()), "").split()
    numbers = {one for one in shown if any(letter.isdigit() for letter in one)}
    assert len(numbers) > 30
    assert numbers - {word.rstrip(",") for word in told} - set(told) == set()


@pytest.mark.parametrize("name", ["notes.md", "page.html", "data.json"])
def test_what_is_no_report_is_never_replaced(perdure, recorded, tmp_path, name):
    """It is told by its contents: the name says nothing."""
    mine = tmp_path / name
    mine.write_text("<!doctype html><p>mine", encoding="utf-8")
    said = perdure("report", recorded(), "--to", mine)
    assert said.status == EXIT_USAGE
    assert "no report" in said.err
    assert mine.read_text(encoding="utf-8") == "<!doctype html><p>mine"


def test_an_empty_file_a_link_a_pipe_and_a_folder_are_no_reports(perdure, recorded, tmp_path):
    """None of them is touched, nor what a link points to."""
    (tmp_path / "empty.html").touch()
    perdure("report", recorded(), "--to", tmp_path / "real.html")
    (tmp_path / "link.html").symlink_to("real.html")
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "folder.html").mkdir()
    for name in ("empty", "link", "pipe", "folder"):
        said = perdure("report", recorded(), "--to", tmp_path / f"{name}.html")
        assert said.status == EXIT_USAGE, name
    assert (tmp_path / "empty.html").read_bytes() == b""
    assert (tmp_path / "link.html").is_symlink()


def test_an_earlier_report_is_replaced_whatever_its_form(perdure, recorded, tmp_path):
    """A run that went on is reported again under the same name."""
    path = tmp_path / "r.out"
    for form in ("html", "markdown", "json", "html"):
        assert perdure("report", recorded(), "--to", path, "--format", form).status == EXIT_DONE
    assert begins(path).startswith("<!doctype html>")


def test_a_full_disk_leaves_the_earlier_report(perdure, recorded, tmp_path):
    """It is whole or not there at all, and nothing half-written stays."""
    path = tmp_path / "r.html"
    perdure("report", recorded(), "--to", path)
    before = path.read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limit[1]))
    try:
        with pytest.raises(OutputError, match="cannot be written"):
            write_report(path, before.decode() * 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert path.read_bytes() == before
    assert not list(tmp_path.glob(".*"))


def test_a_folder_that_cannot_be_written_is_an_error_that_says_so(perdure, recorded, tmp_path):
    """Also for one that is not there, before anything is read."""
    said = perdure("report", recorded(), "--to", tmp_path / "none" / "r.html")
    assert said.status == EXIT_USAGE
    assert "no folder" in said.err
    said = perdure("report", recorded(), "--to", "/proc/r.html")
    assert said.status == EXIT_STORAGE
    assert "cannot be written" in said.err


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (("--to", "r.pdf"), "Nothing says"),
        (("--to", "r"), "Nothing says"),
        (("--to", "r.html", "--format", "text"), "Text is for a terminal"),
        (("--json", "--format", "html"), "contradict"),
        (("--json", "--to", "r.html"), "contradict"),
    ],
)
def test_options_that_say_nothing_or_two_things_are_refused(
    perdure, recorded, tmp_path, options, wrong
):
    """And nothing is written."""
    given = [tmp_path / one if one.startswith("r") else one for one in options]
    said = perdure("report", recorded(), *given)
    assert said.status == EXIT_USAGE
    assert wrong in (said.err + said.out)
    assert not list(tmp_path.glob("r*.*"))


def test_json_into_a_file_says_nothing(perdure, recorded, tmp_path):
    """Stdout is for the one document, which is in the file."""
    said = perdure("report", recorded(), "--json", "--to", tmp_path / "r.json")
    assert said.out == ""
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["run_id"]


@pytest.mark.parametrize("ticks", [0, 1, 2])
def test_a_run_that_is_not_at_its_end_has_a_report_too(perdure, recorded, tmp_path, ticks):
    """It says so first, and draws what there is."""
    path = tmp_path / "r.html"
    assert perdure("report", recorded(ticks=ticks), "--to", path).status == EXIT_DONE
    page = path.read_text(encoding="utf-8")
    assert '<p class="must">This run is partial' in page
    assert page.index("This run is partial") < page.index("In short")
    assert perdure("report", recorded(ticks=ticks), "--format", "markdown").status == EXIT_DONE
