"""The dates of a calendar are wherever somebody looks for them, and a moved calendar is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.support.commands import Told, commands
from tests.support.sample_study import PEOPLE, SAMPLE

from perdure.base.errors import EXIT_DONE, EXIT_MOVED
from perdure.trace.reader import RunReader

DATES = ("Thu 2026-01-08", "Fri 2026-01-09", "Mon 2026-01-12", "Tue 2026-01-13")
LINE = "  calendar: {start: 2026-01-08, days: 6, skip_weekdays: [saturday, sunday]}\n"
SMALL = SAMPLE.replace("seeds: [1, 2]", "seeds: [1]").replace(
    "  reflect_every: 2", "  temperature: 0"
)
STUDY = SMALL.replace("  horizon: 4\n", LINE)


def laid(folder: Path, study: str) -> Path:
    """Write a study and its people into a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / "study.yaml").write_text(study, encoding="utf-8")
    return folder / "study.yaml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a study with a calendar, and of its run."""
    return tmp_path_factory.mktemp("dated")


@pytest.fixture(scope="module")
def told(folder: Path) -> list[Told]:
    """Plan, run, look at and export the study, in one process."""
    study, run = laid(folder, STUDY), folder / "run"
    model = ("--model", "baseline")
    return commands(
        ("plan", study, *model),
        ("plan", study, *model, "--json"),
        ("run", study, "--out", run, *model, "--quiet"),
        ("status", run),
        ("status", run, "--json"),
        ("report", run),
        ("report", run, "--json"),
        ("export", run, "--with-held-out"),
        ("verify", run / "export"),
        ("report", run / "export"),
    )


def flat(text: str) -> str:
    """Give a text without its line breaks."""
    return " ".join(text.split())


def test_a_plan_says_the_dates(told: list[Told]) -> None:
    """First and last day, what is left out, and the date of every wave."""
    assert [one.status for one in told] == [EXIT_DONE] * len(told), [one.err for one in told]
    due = (
        f"Calendar: 4 ticks of a day each, from {DATES[0]} to {DATES[3]}, without Saturdays and "
        f"Sundays. Waves: tick 0 is {DATES[0]}, tick 3 is {DATES[3]}."
    )
    assert due in flat(told[0].out)
    (found,) = told[1].document["calendars"]
    assert (found["first"], found["last"], found["ticks"]) == ("2026-01-08", "2026-01-13", 4)
    assert found["waves"] == {"0": "2026-01-08", "3": "2026-01-13"}
    assert [cell["ticks"] for cell in told[1].document["cells"]] == [4, 4]


def test_a_status_says_how_far_it_is(told: list[Told]) -> None:
    """Each world has the date of its last closed tick."""
    assert told[3].out.count(DATES[3]) >= 2 + 2
    assert {world["date"] for world in told[4].document["worlds"]} == {"2026-01-13"}


def test_a_report_names_dates_beside_ticks(told: list[Told]) -> None:
    """At its head, in what was answered by tick, and at each world; live and exported alike."""
    for part in (f"wave at tick 0 ({DATES[0]})", f"1 ({DATES[1]})", f"2 ({DATES[2]})"):
        assert part in told[5].out
    assert f"Calendar: 4 ticks of a day each, from {DATES[0]}" in flat(told[5].out)
    rows = [row for question in told[6].document["questions"] for row in question["ticks"]]
    assert {(row["tick"], row["date"]) for row in rows} == {
        *((0, "2026-01-08"), (1, "2026-01-09"), (2, "2026-01-12"), (3, "2026-01-13")),
    }
    live, exported = (one.out.splitlines() for one in (told[5], told[9]))
    assert [line for line in live if "/run" not in line] == [
        line for line in exported if "/run" not in line
    ]


def test_an_export_has_a_column_of_dates(told: list[Told], folder: Path) -> None:
    """The date of a turn stands beside its tick, and `verify` holds it against the record."""
    rows = pq.read_table(folder / "run" / "export" / "turns.parquet").to_pylist()
    assert told
    assert {(row["tick"], row["date"]) for row in rows} == {
        *((0, "2026-01-08"), (1, "2026-01-09"), (2, "2026-01-12"), (3, "2026-01-13")),
    }


def turn_at(run: Path, tick: int, *, remembers: bool = False) -> str:
    """Give the id of a turn at a tick; of one whose prompt tells of a memory, if asked."""
    with RunReader.open(run) as reader:
        world = reader.worlds[0].world_id
        told = {event.persona for event in reader.events(world, ("memory",)) if event.tick == 1}
        for event in reader.events(world, ("turn",)):
            if event.tick == tick and (event.persona in told or not remembers):
                return f"{world}:{event.seq}"
    raise AssertionError


def test_an_event_is_shown_with_its_date(told: list[Told], folder: Path) -> None:
    """That of its tick, and those of what is remembered; people are not told of any."""
    run = folder / "run"
    event = turn_at(run, 3, remembers=True)
    text, document = commands(("show", run, event), ("show", run, event, "--json"))
    assert told
    assert f"at tick 3, {DATES[3]}" in text.out
    assert "tick 1, Fri 2026-01-09, importance" in text.out
    assert document.document["date"] == "2026-01-13"
    assert "- day 1: " in text.out
    assert "January" not in text.out


def test_people_are_told_the_date_where_the_study_asks(tmp_path: Path) -> None:
    """Of the day it is, and of the days that they remember; and the prompt follows from that."""
    study = laid(tmp_path, STUDY.replace("sunday]}", "sunday], in_prompt: true}"))
    run = tmp_path / "run"
    (ran,) = commands(("run", study, "--out", run, "--model", "baseline", "--quiet"))
    assert ran.status == EXIT_DONE, ran.err
    (shown,) = commands(("show", run, turn_at(run, 3, remembers=True)))
    assert "Today is Tuesday, 13 January 2026." in shown.out
    assert "- Friday, 9 January 2026: " in shown.out
    assert "day 1" not in shown.out
    assert "it is the same, byte for byte" in flat(shown.out)


MOVED = [
    (
        "2026-01-08",
        "2026-01-15",
        "scenarios[s1].calendar.start was '2026-01-08' and is '2026-01-15'",
    ),
    (
        "saturday, sunday",
        "friday, saturday",
        "scenarios[s1].calendar.skip_weekdays was saturday, sunday and is friday, saturday",
    ),
    (
        "sunday]}",
        "sunday], in_prompt: true}",
        "scenarios[s1].calendar.in_prompt was False and is True",
    ),
    (LINE, "  horizon: 4\n", "scenarios[s1].calendar was"),
]


def test_a_moved_calendar_is_refused(told: list[Told], folder: Path, tmp_path: Path) -> None:
    """A run does not go on with other dates, and says which moved."""
    assert told
    assert all(old in STUDY for old, _, _ in MOVED)
    studies = [
        laid(tmp_path / str(place), STUDY.replace(old, new))
        for place, (old, new, _) in enumerate(MOVED)
    ]
    run = folder / "run"
    refused = commands(*(("run", one, "--out", run, "--model", "baseline") for one in studies))
    for one, (_, _, says) in zip(refused, MOVED, strict=True):
        assert one.status == EXIT_MOVED
        assert says in flat(one.err)
        assert "This cannot be forced" in flat(one.err)
