"""What a report says of its seeds, from real runs: what differs, what does not, who is missing."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from perdure.analysis.replicates import Between, UnderRungs
from perdure.cli.output import show
from perdure.cli.spread_view import Place, note_parts
from perdure.records.budget import Rung
from perdure.records.registry import RungAt, RunPaused

BREAKS = '''\
"""A world that breaks with one seed."""

from perdure.world import ChannelWorld


class Breaks(ChannelWorld):
    def reset(self, header):
        self.odd = header.replicate_seed == 2
        super().reset(header)

    def step(self, tick, turns, plan, answers):
        if self.odd and tick == 2:
            raise ValueError("It broke.")
        return super().step(tick, turns, plan, answers)
'''


@pytest.fixture
def ran(perdure, study_file, monkeypatch):
    """Run the small study with some of its text replaced; give the folder of the run."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*replaced: tuple[str, str], status: int = 0) -> Path:
        text = study_file.read_text()
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        study_file.write_text(text)
        out: Path = study_file.parent / "out"
        assert perdure("run", study_file, "--out", out, "--quiet").status == status
        return out

    return run


def plain(text: str) -> str:
    """Undo the breaking of lines."""
    return " ".join(text.split())


SEEDS = ("seeds: [1, 2]", "seeds: [1, 2, 3, 4]")
NO_NOISE = ("noise: 0.1", "noise: 0")
NO_CLAIMS = ("    exposures:\n      1: [C1]\n", "    exposures: {}\n")


def test_a_rule_without_chance_has_no_spread_and_the_report_says_so(perdure, ran):
    """Four seeds that cannot differ are one replicate, in words; no interval of no width."""
    out = ran(SEEDS, NO_NOISE, NO_CLAIMS)
    said = plain(perdure("report", out).out)
    assert "plain: the worlds of all 4 seeds are the same, event by event" in said
    assert (
        "plain, ticks 0, 2: the seeds made no difference: seeds 1, 2, 3, 4 gave the same answers"
    ) in said
    assert "there is no spread to measure" in said
    assert "the same with 4 seeds, spread not measurable" in said
    assert "1 of 4" in said
    assert "95 % interval effective" not in said  # the column, which would hold nothing
    found = perdure("report", out, "--json").document
    assert found["seeds"][0]["effective"] == 1
    for row in found["questions"][0]["ticks"]:
        assert row["between"]["effective"] == 1
        for one in row["between"]["spreads"].values():
            assert (one["sd"], one["low"], one["high"]) == (0.0, None, None)
            assert one["no_interval"] == "the seeds made no difference"


def test_effective_replicates_are_those_of_the_export(perdure, ran):
    """Counted again from the exported rows, as many seeds differ as the report says."""
    out = ran(("seeds: [1, 2]", f"seeds: {list(range(1, 13))}"), ("noise: 0.1", "noise: 0.3"))
    assert perdure("export", out).status == 0
    rows = pq.read_table(out / "export" / "turns.parquet").to_pylist()
    said: dict[int, dict[int, set[Any]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        if row["question"] == "vote":
            answer = (row["persona"], row["choice"], row["unscorable"])
            said[row["tick"]][row["seed"]].add(answer)
    report = perdure("report", out, "--json").document
    effective = report["changes"][0]["between"]["effective"]
    assert 1 < effective < 12
    assert f"over 12 seeds, {effective} of them effective" in plain(perdure("report", out).out)
    (question,) = report["questions"]
    for row in question["ticks"]:
        by_seed = said[row["tick"]]
        differ = len({frozenset(answers) for answers in by_seed.values()})
        assert 1 < differ < 12  # otherwise this compares nothing
        assert row["between"]["effective"] == differ
        shares = [
            sum(choice == "ann" for _, choice, _ in answers)
            / sum(c is not None for _, c, _ in answers)
            for answers in by_seed.values()
        ]
        found = row["between"]["spreads"]["ann"]
        assert found["mean"] == pytest.approx(sum(shares) / 12)
        assert (found["least"], found["most"]) == (min(shares), max(shares))


def test_a_world_that_failed_is_named_where_it_is_missing(perdure, ran, study_file):
    """The others are averaged without it at the tick that it did not reach, and that is said."""
    (study_file.parent / "odd.py").write_text(BREAKS)
    out = ran(
        ("seeds: [1, 2]", "seeds: [1, 2, 3]"),
        ("  activation: 0.5", "  activation: 0.5\n  world: odd:Breaks"),
        status=1,
    )
    said = plain(perdure("report", out).out)
    stands = "seed 2, failed with 2 of 3 ticks closed."
    assert f"plain, tick 0: counted, though not at its end: {stands}" in said
    assert f"plain, tick 2: not counted: {stands}" in said
    assert f"plain, ticks 0 to 2: not counted: {stands}" in said
    assert "with 2 of 3 seeds, spread not measurable" in said
    (seeds,) = perdure("report", out, "--json").document["seeds"]
    assert seeds["states"] == {"not_started": 0, "partial": 0, "completed": 2, "failed": 1}


def test_worlds_under_unlike_rungs_are_marked_in_words(capsys):
    """An average over worlds that were degraded differently says which were under which rungs."""
    freeze = RungAt(rung=Rung.FREEZE, tick=1)
    between = Between(
        seeds=(1, 2, 3),
        effective=3,
        identical=(),
        missing=(),
        unfinished=(),
        unlike=(
            UnderRungs(rungs=(freeze,), world_ids=("aaa", "bbb")),
            UnderRungs(rungs=(), world_ids=("ccc",)),
        ),
        spreads={},
    )
    show(*note_parts([Place("plain", "2", between), Place("plain", "4", between)], "tick"))
    assert plain(capsys.readouterr().out) == (
        "plain, ticks 2, 4: averaged over worlds that ran under unlike rungs, so no interval: "
        "freeze from tick 1 in aaa, bbb; none in ccc."
    )


def test_a_paused_run_says_that_its_worlds_are_not_at_their_end(perdure, recorded):
    """What was measured so far is shown, with how far each world is."""
    folder = recorded(ticks=1, last=RunPaused(cause="It was asked to stop.", exit_status=75))
    said = plain(perdure("report", folder).out)
    assert "counted, though not at its end: seeds 1, 2, partial with 1 of 3 ticks closed" in said


def test_scenarios_of_one_variant_are_compared_seed_by_seed(perdure, ran):
    """Before anything is shown nobody answers otherwise, with any seed; afterwards some do."""
    out = ran(
        SEEDS,
        ("seeds:", "  silent:\n    variant: v1\n    exposures: {}\nseeds:"),
        ("      noise: 0.1", "      noise: 0.4\n      claims: {C1: {bob: 9}}"),
    )
    said = plain(perdure("report", out).out)
    assert "vote: difference from plain, in percentage points" in said
    assert (
        "silent, tick 0: everyone who was scored under both answered the same as under plain, with "
        "each of 4 seeds."
    ) in said
    assert "silent against plain, tick 2: Ann +" in said
    first, last = perdure("report", out, "--json").document["differences"]
    assert [seed["moved"] for seed in first["seeds"]] == [0, 0, 0, 0]
    (question,) = (
        one for one in perdure("report", out, "--json").document["questions"] if one["id"] == "vote"
    )
    ends = {
        row["scenario"]: {one["seed"]: one["shares"]["ann"] for one in row["by_seed"]}
        for row in question["ticks"]
        if row["tick"] == 2
    }
    for seed in last["seeds"]:
        apart = ends["silent"][seed["seed"]] - ends["plain"][seed["seed"]]
        assert seed["change"]["ann"] == pytest.approx(apart)
        assert seed["change"]["ann"] > 0


def test_one_seed_has_no_section_of_spreads(perdure, ran):
    """A study with one seed is not told about replicates, but that one seed has no spread."""
    out = ran(("seeds: [1, 2]", "seeds: [1]"))
    said = perdure("report", out).out
    assert "Seeds:" not in said
    assert "spread between seeds" not in said
    assert "the spread needs at least 2 seeds" in plain(said)


def test_every_spread_fits_on_80_columns(perdure, ran, study_file):
    """Long names fold or move above their table; no figure is broken."""
    out = ran(
        SEEDS,
        ("noise: 0.1", "noise: 1"),
        ("  plain:\n", "  a-scenario-with-a-rather-long-name:\n"),
        ("ann: {label: Ann}", "ann: {label: in favour of Ann and all that she stands for}"),
    )
    said = perdure("report", out).out
    part = said[said.index("spread between seeds") : said.index("Activations at")]
    assert "95 % interval" in part
    assert max(len(line) for line in part.splitlines()) <= 80
    assert re.search(r"\d+\.\d to \d+\.\d +[34] of 4", part)
