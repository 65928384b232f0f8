"""Every command that shows a run's worlds says which of them can be compared, and why not."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

from rich.console import Console

from perdure.cli.alike_view import alike_parts
from perdure.cli.budget_view import standing_parts
from perdure.cli.terminal import drawn
from perdure.records.budget import Budget, Rung
from perdure.records.comparability import Alike, Comparability, Unlike
from perdure.records.registry import RungAt, WorldOutcome


def text_drawn(parts: Iterable[Any]) -> str:
    """Give what is shown as plain text."""
    into = io.StringIO()
    console = Console(file=into, width=200)
    for part in drawn(parts):
        console.print(part)
    return into.getvalue()


def text_of(found: Comparability, worlds: int) -> str:
    """Say which worlds can be compared."""
    return text_drawn(alike_parts(found, worlds))


def without_address(document: dict[str, Any]) -> dict[str, Any]:
    """Give the comparability that a document has, without the address that a report gives it."""
    return {key: one for key, one in document["comparability"].items() if key != "address"}


def test_every_document_says_it(perdure, study_file):
    """The result, status, report and the manifest of an export, in the same words."""
    out = study_file.parent / "out"
    ran = perdure("run", study_file, "--out", out, "--quiet", "--json")
    assert ran.status == 0
    said = json.loads(ran.out)
    found = said["result"]["comparability"]
    (group,) = found["groups"]
    assert group["worlds"] == [world["world_id"] for world in said["result"]["worlds"]]
    assert found["unlike"] == []
    assert without_address(said["report"]) == found
    for command in ("status", "report"):
        assert without_address(json.loads(perdure(command, out, "--json").out)) == found
    assert json.loads(perdure("export", out, "--json").out)["manifest"]["comparability"] == found
    stored = json.loads((out / "export" / "manifest.json").read_text(encoding="utf-8"))
    assert stored.get("comparability", {}).get("groups", [{}])[0].get("worlds") == group["worlds"]


def test_a_run_in_which_all_ran_alike_says_so_in_a_line(perdure, study_file):
    """With the rungs and the share of failed turns that they have in common."""
    out = study_file.parent / "out"
    perdure("run", study_file, "--out", out, "--quiet")
    for command in ("status", "report"):
        said = " ".join(perdure(command, out).out.split())
        assert "worlds can be compared: no restraining rung, 0.0 % of turns failed" in said


def test_cells_that_differ_are_named_with_the_reason():
    """The groups, the largest first, and every cell outside of that; many are cut, and counted."""
    early = (RungAt(rung=Rung.FREEZE, tick=3),)
    names = tuple(f"{number:012x}" for number in range(20))
    found = Comparability(
        groups=(Alike(worlds=("a", "b")), Alike(worlds=names, rungs=early, failed_max=0.025)),
        unlike=tuple(Unlike(world_id=name, why="It had freeze from tick 3.") for name in names),
    )
    said = text_of(found, 23)
    assert "2 worlds of 23 can be compared with each other: no restraining rung" in said
    assert "20 worlds of 23 with each other alone: freeze from tick 3" in said
    assert f"{names[0]}: It had freeze from tick 3." in said
    assert names[12] not in said
    assert "8 more worlds" in said


def test_a_cell_that_is_like_no_other_is_not_said_to_be_compared_with_itself():
    """One at its end and one that is not: no two can be compared, and the reason is named."""
    found = Comparability(
        groups=(Alike(worlds=("a",)),),
        unlike=(Unlike(world_id="b", why="It is not at its end."),),
    )
    said = text_of(found, 2)
    assert "No two of 2 worlds can be compared with each other." in said
    assert "1 world" not in said
    assert "Not to be compared with a:" in said
    assert "b: It is not at its end." in said


def test_a_run_in_which_nothing_is_at_its_end_compares_nothing():
    """And one of a single world has nothing to say."""
    assert "none is at its end" in text_of(Comparability(), 3)
    assert text_of(Comparability(), 1) == ""


def test_a_rung_that_is_not_at_one_tick_everywhere_says_so():
    """In depth order and in later groups each world has it at its own, which is listed."""
    run = (RungAt(rung=Rung.WARN, tick=0), RungAt(rung=Rung.FREEZE, tick=0))
    worlds = [
        WorldOutcome(world_id="a", rungs=(RungAt(rung=Rung.WARN, tick=4), run[1])),
        WorldOutcome(world_id="b", rungs=run),
    ]
    said = text_drawn(standing_parts(Budget(amount=5), run, worlds, "USD", 0))
    assert "warn at each world's own tick, freeze from tick 0." in said
    assert "a: warn from tick 4, freeze from tick 0" in said
