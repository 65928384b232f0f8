"""The fares example on some of its people: demand falls, and what gives choices away is refused."""

from __future__ import annotations

import csv
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from perdure.analysis.figures import MEAN
from perdure.analysis.plot import Plot
from perdure.analysis.report import Report, build_report
from perdure.analysis.svg import svg
from perdure.base.errors import EXIT_DONE, EXIT_INVALID_STUDY, UsageError
from perdure.cli.entry import execute
from perdure.cli.record import opened
from perdure.cli.report_view import report_parts
from perdure.inference.local import check_vectors
from perdure.study.read_anchors import load_anchors

EXAMPLE = Path(__file__).parents[2] / "examples" / "fares"
FARES = ("halved", "as-now", "up-by-half", "doubled")

try:
    check_vectors()
except UsageError as fault:
    WHY_NOT = str(fault)
else:
    WHY_NOT = ""
real = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Run the study on 40 of its people, and build its report."""
    out = tmp_path_factory.mktemp("fares") / "run"
    study = str(EXAMPLE / "study.yaml")
    assert execute(["run", study, "--out", str(out), "--n", "40", "--quiet"]) == EXIT_DONE
    with opened(out) as record:
        return build_report(record)


@real
def test_demand_falls_with_the_fare(report: Report) -> None:
    """The share that would go by train, and the mean intention, from the lowest fare on."""
    by_id = {question.id: question for question in report.questions}
    shares, means = {}, {}
    for fare in FARES:
        scenario = f"fare--exposures.0-{fare}"
        (told,) = (row for row in by_id["choice"].ticks if row.scenario == scenario)
        shares[fare] = told.between.spreads["train"].mean or 0.0
        (asked,) = (row for row in by_id["intention"].ticks if row.scenario == scenario)
        assert asked.wave
        means[fare] = asked.between.spreads[MEAN].mean or 0.0
    for found in (shares, means):
        assert list(found.values()) == sorted(found.values(), reverse=True)
        assert len(set(found.values())) == len(FARES)
    assert shares["halved"] > 2 * shares["doubled"]


@real
def test_a_fare_that_nobody_minds_is_not_told_apart(report: Report, tmp_path: Path) -> None:
    """Where fares change nothing that is said first, and why; and also where people are few."""
    assert report.telling.sentence.startswith("This study cannot tell its scenarios apart")
    assert report.telling.least_mean is not None
    folder = tmp_path / "fares"
    shutil.copytree(EXAMPLE, folder)
    study = folder / "study.yaml"
    before, _, rest = study.read_text().partition("      factors:\n")
    study.write_text(before + "      scales:" + rest.partition("      scales:")[2])
    out = str(tmp_path / "run")
    assert execute(["run", str(study), "--out", out, "--n", "10", "--quiet"]) == EXIT_DONE
    with opened(Path(out)) as record:
        said = build_report(record).telling.sentence
    assert said.startswith("This study cannot tell its scenarios apart")
    assert "at the last wave is clear of chance; each is 0, with every seed" in said


@real
def test_the_picture_of_intention_has_the_means(report: Report) -> None:
    """First the means, in points: as the record has them, on a scale that is no percentage."""
    drawn = [one for one in report_parts(report) if isinstance(one, Plot)]
    titles = [plot.title for plot in drawn]
    from_now = "intention: difference from fare--exposures.0-as-now"
    place = titles.index(f"{from_now}, in points of the scale")
    assert titles[place + 1] == f"{from_now}, in percentage points"
    (panel,) = drawn[place].panels
    (series,) = panel.series
    differences = [one for one in report.differences if one.question == "intention"]
    assert len(series.marks) == len(differences) == 3
    for mark, one in zip(series.marks, differences, strict=True):
        assert mark.value == one.between.spreads[MEAN].mean
        assert mark.each == tuple(seed.change[MEAN] for seed in one.seeds)
        assert mark.text.startswith(f"{mark.value:+.2f} (")
    written = svg(drawn[place], panel, "means")
    assert ">+0.1<" in written or ">+0.2<" in written
    assert ">+10<" not in written


@real
def test_the_trip_as_it_was_is_held_against_what_people_chose(report: Report) -> None:
    """One scenario alone is compared with the real choices, and nothing is left unscored."""
    (prediction,) = report.predictions
    assert (prediction.scenario, prediction.tick) == ("trip-as-it-was", 0)
    assert prediction.overall.fit.compared == 3 * 40
    assert prediction.calibration.groups
    tallies = [row.answers for question in report.questions for row in question.ticks]
    assert len(tallies) == 9
    assert all(one.asked == one.scored == 3 * 40 for one in tallies)


@real
@pytest.mark.parametrize("column", ["air_ttme", "train_ttme", "bus_ttme", "car_invt"])
def test_columns_that_tell_the_choice_are_refused(
    column: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The waits, and the car's exact time, each tell the choice: the study says which."""
    folder = tmp_path / "fares"
    shutil.copytree(EXAMPLE, folder)
    study = folder / "study.yaml"
    text = study.read_text()
    more = f"  attributes:\n    extra: {{column: {column}, label: Extra}}\n"
    study.write_text(text.replace("  attributes:\n", more, 1))
    assert execute(["plan", str(study)]) == EXIT_INVALID_STUDY
    told = capsys.readouterr().err
    assert f"The column `{column}` (attribute `extra`) tells whether the held-out outcome" in told


@real
def test_without_its_receipt_the_study_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Anchors that were changed since they were checked score nothing."""
    folder = tmp_path / "fares"
    shutil.copytree(EXAMPLE, folder)
    anchors = folder / "anchors" / "intent-1.yaml"
    anchors.write_text(anchors.read_text().replace("I am opposed to", "I am against"))
    assert execute(["plan", str(folder / "study.yaml")]) == EXIT_INVALID_STUDY
    assert "perdure anchors check" in capsys.readouterr().err


def test_the_data_are_as_source_md_says() -> None:
    """210 travellers; the waits tell every choice; `_about` is the time to a quarter of an hour."""
    with (EXAMPLE / "travellers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len({row["traveller"] for row in rows}) == 210
    modes = {"1": "air", "2": "train", "3": "bus", "4": "car"}
    chosen: defaultdict[str, set[str]] = defaultdict(set)
    others: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        for code, mode in modes.items():
            (chosen if row["choice"] == code else others)[mode].add(row[f"{mode}_ttme"])
            off = int(row[f"{mode}_about"]) - int(row[f"{mode}_invt"])
            assert abs(off) <= 7
            assert int(row[f"{mode}_about"]) % 15 == 0
    assert (others["air"], others["train"], others["bus"]) == (
        {"64", "69"},
        {"34", "44"},
        {"35", "53"},
    )
    assert all(chosen[mode].isdisjoint(others[mode]) for mode in ("air", "train", "bus"))
    assert sum(row["choice"] == "2" for row in rows) == 63


def test_the_answers_held_out_are_of_the_same_anchors() -> None:
    """Word for word those that score, with a ladder that shares no answer with theirs."""
    own, held_out = (
        load_anchors(EXAMPLE / "anchors" / name) for name in ("intent-1.yaml", "held-out.yaml")
    )
    assert (own.sets, own.points) == (held_out.sets, held_out.points)
    mine = {answer for step in own.ladder for answer in step}
    assert mine.isdisjoint(answer for step in held_out.ladder for answer in step)
