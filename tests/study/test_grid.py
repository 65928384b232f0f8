"""A grid is the scenarios that it stands for: their values, their ids, and what is refused."""

from __future__ import annotations

import itertools
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.sample_study import SAMPLE, Writer

from perdure.base.errors import InvalidStudyError
from perdure.base.text import is_plain_identifier
from perdure.population import load_study
from perdure.records.scenario import Scenario
from perdure.study import schema
from perdure.study.findings import Findings
from perdure.study.grid import cell_id, label, varied_in
from perdure.study.identity import expand
from perdure.study.parse import parse
from perdure.study.varying import varying

OLD = "  s2:\n    exposures: {1: [c2], 2: [c1]}\n"


def with_grid(grid: str, *, text: str = SAMPLE, more: str = "") -> str:
    """Write the sample study with a grid, in flow style, in its second scenario."""
    assert OLD in text
    return text.replace(OLD, f"{OLD}{more}    grid: {grid}\n")


def problems_of(text: str) -> list[tuple[int, str, str]]:
    """List what is wrong."""
    found = Findings("study.yaml")
    parsed = parse(text.encode(), found)
    assert (parsed.study is None) == bool(found)
    return [(problem.line, problem.wrong, problem.remedy) for problem in found.listed()]


def scenarios_of(text: str) -> dict[str, Scenario]:
    """Give the scenarios of a study in which nothing is wrong, by id and in order."""
    found = Findings("study.yaml")
    study = parse(text.encode(), found).study
    assert study is not None, [str(problem) for problem in found.listed()]
    return {scenario.id: scenario for scenario in study.scenarios}


def test_a_grid_is_every_combination_of_its_values() -> None:
    """Values replace the named field; all else of the scenario and the timeline stays."""
    found = scenarios_of(with_grid("{activation: [0.25, 1.0], horizon: [4, 5]}"))
    assert list(found) == [
        "s1",
        "s2--activation-0.25--horizon-4",
        "s2--activation-0.25--horizon-5",
        "s2--activation-1--horizon-4",
        "s2--activation-1--horizon-5",
    ]
    base = scenarios_of(SAMPLE)["s2"]
    for (activation, horizon), (name, scenario) in zip(
        itertools.product([0.25, 1.0], [4, 5]), list(found.items())[1:], strict=True
    ):
        expected = {"id": name, "activation": activation, "horizon": horizon}
        assert scenario == msgspec.structs.replace(base, **expected)


def test_a_key_may_lead_into_settings_and_exposures() -> None:
    """A dotted key changes one place in a section, and leaves the rest of it."""
    more = "    settings: {feed: {rate: 1, size: 9}, other: x}\n"
    grid = "{settings.feed.rate: [1, fast], exposures.2: [[c1], [c1, c2]], settings.new: [y]}"
    found = scenarios_of(with_grid(grid, more=more))
    cells = list(found.values())[1:]
    assert [cell.exposures for cell in cells] == [
        *[{"1": ("c2",), "2": ("c1",)}] * 2,
        *[{"1": ("c2",), "2": ("c1", "c2")}] * 2,
    ]
    assert [cell.settings for cell in cells] == [
        {"feed": {"rate": rate, "size": "9"}, "other": "x", "new": "y"}
        for rate in ["1", "fast"] * 2
    ]


def test_a_list_of_one_word_is_named_by_it() -> None:
    """What is shown alone is named as the claim is; two claims are no plain word."""
    names = list(scenarios_of(with_grid("{exposures.2: [[c1], [c1, c2]]}")))[1:]
    assert names[0] == "s2--exposures.2-c1"
    assert re.fullmatch(r"s2--exposures\.2-c1-c2-[0-9a-f]{6}", names[1])


def test_a_key_may_lead_into_what_the_timeline_has() -> None:
    """What the scenario does not have itself, a dotted key changes as the timeline has it."""
    text = SAMPLE.replace(
        "  activation: 0.5\n", "  activation: 0.5\n  settings: {a: {b: 1, c: 2}}\n"
    )
    found = scenarios_of(with_grid("{settings.a.b: [7, 8]}", text=text))
    assert [cell.settings for cell in found.values()] == [
        {"a": {"b": b, "c": "2"}} for b in ("1", "7", "8")
    ]


def test_whole_sections_can_vary() -> None:
    """Lists and mappings are values like any other."""
    grid = "{waves: [[0], [3, 0]], exposures: [{1: [c1]}, {2: [c2]}], settings: [{a: 1}, {}]}"
    found = scenarios_of(with_grid(grid))
    cells = list(found.values())[1:]
    assert len(cells) == 8
    assert {cell.waves for cell in cells} == {(0,), (0, 3)}
    assert {str(cell.exposures) for cell in cells} == {"{'1': ('c1',)}", "{'2': ('c2',)}"}
    assert all(is_plain_identifier(name) for name in found)


def test_a_grid_over_the_variant_or_the_horizon_needs_none_beside_it() -> None:
    """What varies need not be written a second time."""
    text = SAMPLE.replace("  horizon: 4\n", "").replace("waves: [0, 3]", "waves: [0]")
    text = text.replace("  s1:\n", "  s1:\n    horizon: 3\n    variant: v2\n")
    text = text.replace("v1: The first.", "v1: The first.\n  v2: The second.")
    found = scenarios_of(with_grid("{variant: [v1, v2], horizon: [4]}", text=text))
    assert [(cell.variant, cell.horizon) for cell in found.values()] == [
        ("v2", 3),
        ("v1", 4),
        ("v2", 4),
    ]


PINNED = [
    ("8c22ff75792b", "s2--activation-0.25--waves-0-3", 1),
    ("6e3e03a3aec2", "s2--activation-0.25--waves-0-3", 2),
    ("936cc9fbf037", "s2--activation-0.25--waves-0", 1),
    ("3c2bb2163375", "s2--activation-0.25--waves-0", 2),
    ("ea971fd7f140", "s2--activation-1--waves-0-3", 1),
    ("8fa6d5cfb6e3", "s2--activation-1--waves-0-3", 2),
    ("35ab057c15cd", "s2--activation-1--waves-0", 1),
    ("041c4643f352", "s2--activation-1--waves-0", 2),
]


def test_world_ids_of_a_grid_are_pinned(write: Writer) -> None:
    """The same grid gives the same world ids, in every release."""
    asked = load_study(write(with_grid("{activation: [0.25, 1.0], waves: [[0, 3], [0]]}")))
    found = [
        (cell.entry.world_id, cell.entry.scenario, cell.entry.replicate_seed)
        for cell in expand(asked.study, asked.population)
        if cell.entry.scenario != "s1"
    ]
    assert found == PINNED


@given(st.permutations(["activation: [0.5, 1]", "horizon: [4, 5]", "settings.a: [x, y]"]))
def test_the_order_of_the_keys_of_a_grid_moves_nothing(keys: list[str]) -> None:
    """Scenarios, their ids and their order are those of the same grid written otherwise."""
    plain = with_grid("{activation: [0.5, 1.0], horizon: [4, 5], settings.a: ['x', \"y\"]}")
    assert scenarios_of(with_grid(f"{{{', '.join(keys)}}}")) == scenarios_of(plain)


def test_the_order_of_the_values_moves_no_id(write: Writer) -> None:
    """A value that is added or moved leaves the world of every other cell what it was."""
    worlds = []
    for values in ("[0.25, 1.0]", "[1.0, 0.75, 0.25]"):
        asked = load_study(write(with_grid(f"{{activation: {values}}}")))
        cells = expand(asked.study, asked.population)
        worlds.append({(one.entry.scenario, one.entry.world_id) for one in cells})
    assert worlds[0] < worlds[1]
    assert len(worlds[1] - worlds[0]) == 2


def test_a_scenario_written_out_by_hand_is_the_cell_if_it_is_the_same_value(write: Writer) -> None:
    """World ids agree where every field does, the id included, and differ where one does not."""

    def worlds(text: str) -> dict[str, set[str]]:
        asked = load_study(write(text))
        found: dict[str, set[str]] = {}
        for cell in expand(asked.study, asked.population):
            found.setdefault(cell.entry.scenario, set()).add(cell.entry.world_id)
        return found

    grid = worlds(with_grid("{activation: [0.25, 1.0]}"))
    by_hand = "  s2--activation-0.25:\n    exposures: {2: [c1], 1: [c2]}\n    activation: 0.250\n"
    again = worlds(SAMPLE.replace(OLD, by_hand))
    assert again["s2--activation-0.25"] == grid["s2--activation-0.25"]
    other = worlds(SAMPLE.replace(OLD, by_hand.replace("0.250", "0.26")))
    assert not other["s2--activation-0.25"] & grid["s2--activation-0.25"]
    renamed = worlds(SAMPLE.replace(OLD, by_hand.replace("s2--activation-0.25", "calm")))
    assert not renamed["calm"] & grid["s2--activation-0.25"]


# (the grid, what the problem says, what its remedy says)
MISTAKES = [
    ("[0.5]", "`scenarios.s2.grid` is not a mapping", "activation: [0.5, 1]"),
    ("{}", "`scenarios.s2.grid` is empty", "activation: [0.5, 1]"),
    ("{activatoin: [0.5, 1]}", "`activatoin` in `scenarios.s2.grid`", "mean `activation`?"),
    ("{Activation: [0.5, 1]}", "`Activation` in `scenarios.s2.grid`", "mean `activation`?"),
    ("{grid: [{}]}", "`grid` in `scenarios.s2.grid`", "Write one of"),
    ("{id: [a, b]}", "`id` in `scenarios.s2.grid` is not one that can vary", "Leave it out"),
    ("{seed: [1, 2]}", "`seed` in `scenarios.s2.grid`", "`seeds:` at the top"),
    ("{seeds: [[1], [2]]}", "`seeds` in `scenarios.s2.grid`", "`seeds:` at the top"),
    ("{activation: 0.5}", "`scenarios.s2.grid.activation` is not a list", "a list of values"),
    ("{activation: []}", "`scenarios.s2.grid.activation` has no values", "a list of values"),
    ("{activation: [0.5, high]}", "`scenarios.s2.grid.activation[1]` is `high`", "a number from"),
    ("{activation: [0.5, [1]]}", "grid.activation[1]` is a list", "a number from 0 to 1"),
    ("{activation: [0.5, 1, 0.50]}", "has the value `0.5` twice", "Keep one"),
    ("{waves: [[0], [0]]}", "has the value `0` twice", "Keep one"),
    ("{waves: [0]}", "`scenarios.s2.grid.waves[0]` is not a list", "a list, each item"),
    ("{horizon: [4, 4.5]}", "`scenarios.s2.grid.horizon[1]` is `4.5`", "a whole number"),
    ("{activation.x: [1]}", "`scenarios.s2.grid.activation.x` names nothing", "`activation:` and"),
    ("{settings.: [1]}", "`scenarios.s2.grid.settings.` names nothing", "`settings:` and"),
    ("{exposures.x: [[c1]]}", "`scenarios.s2.grid.exposures.x` is `x`", "a whole number"),
    ("{exposures.1.c1: [x]}", "`scenarios.s2.grid.exposures.1.c1` names nothing", "`exposures:`"),
    ("{settings.a: [x], settings.a.b: [y]}", "lies inside `settings.a`", "Vary one"),
    ("{exposures: [{1: [c1]}], exposures.2: [[c2]]}", "lies inside `exposures`", "Vary one"),
    # what is wrong with a cell only
    ("{variant: [v1, v2]}", "The variant `v2` is not among the variants", "`v1`"),
    ("{horizon: [4, 3]}", "The wave at tick 3 is beyond the last tick, 2", "from 0 to 2"),
    ("{exposures.2: [[c1], [c9]]}", "The claim `c9` is not among the brief's claims", "`c1`"),
    ("{tick: [day, week]}", "have ticks of two lengths", "one `tick`"),
    ("{exposures: [{1: [c1], 2: [c2]}]}", "-782e01` is the same as `s1`", "Change it"),
    ("{activation: [0.5, 1], waves: [[0, 3], [3, 0]]}", "is the same as `s2--", "Change it"),
]


@pytest.mark.parametrize(("grid", "says", "advises"), MISTAKES)
def test_one_mistake_in_a_grid_is_one_problem(
    write: Writer, grid: str, says: str, advises: str
) -> None:
    """It has the line of the grid or of its scenario, what is wrong, and what to write."""
    text = with_grid(grid)
    ((line, wrong, remedy),) = problems_of(text)
    assert text.split("\n")[line - 1].strip() in {f"grid: {grid}", "s2:", "waves: [0, 3]"}
    assert says in wrong
    assert advises in remedy
    with pytest.raises(InvalidStudyError) as caught:
        load_study(write(text))
    assert [problem.wrong for problem in caught.value.problems] == [wrong]


def test_all_that_is_wrong_with_a_grid_is_said_at_once_each_on_its_line() -> None:
    """A mistake in one key hides no other one, nor what is wrong with the cells."""
    grid = """
      activatoin: [0.5]
      activation:
        - 0.5
        - most
        - 0.5
      variant: [v1, v9]
      horizon: []
      exposures.2:
        - [c1]
        - [c7]
"""
    text = with_grid(grid)
    first = text.split("\n").index("      activatoin: [0.5]") + 1
    assert [(line - first, wrong) for line, wrong, _ in problems_of(text)] == [
        (0, "The key `activatoin` in `scenarios.s2.grid` is not one that can vary."),
        (3, "`scenarios.s2.grid.activation[1]` is `most`."),
        (4, "`scenarios.s2.grid.activation` has the value `0.5` twice."),
        (5, "The variant `v9` is not among the variants."),
        (6, "`scenarios.s2.grid.horizon` has no values."),
        (9, "The claim `c7` is not among the brief's claims."),
    ]


def test_a_key_cannot_lead_through_a_text() -> None:
    """A dotted key that leads through what is no mapping is refused, with that place."""
    text = with_grid("{settings.a.b: [1, 2]}", more="    settings: {a: plain}\n")
    ((_, wrong, remedy),) = problems_of(text)
    assert wrong == "`settings.a` is not a mapping, so `settings.a.b` cannot vary."
    assert "make it a mapping" in remedy


def test_two_grids_with_the_same_cell_are_refused_once() -> None:
    """Cells that are the same world twice are told of once for each scenario, not for each cell."""
    text = with_grid("{activation: [0.25, 0.75, 1]}").replace(
        "seeds: [1, 2]",
        "  s3:\n    exposures: {1: [c2], 2: [c1]}\n    grid: {activation: [1, 0.75]}\n"
        "seeds: [1, 2]",
    )
    ((_, wrong, _),) = problems_of(text)
    assert wrong == "The scenario `s3--activation-1` is the same as `s2--activation-1`."


def test_a_scenario_that_has_the_id_of_a_cell_is_refused() -> None:
    """An id is that of one scenario, whoever made it."""
    text = with_grid("{activation: [0.25, 1]}").replace(
        "seeds: [1, 2]", "  s2--activation-1:\n    exposures: {1: [c1]}\nseeds: [1, 2]"
    )
    ((line, wrong, remedy),) = problems_of(text)
    assert "s2--activation-1:" in text.split("\n")[line - 1]
    assert wrong == "There are two scenarios with the id `s2--activation-1`."
    assert "Rename" in remedy


def test_one_variant_id_cannot_have_two_contents() -> None:
    """A second description under a variant's id is refused where it is written."""
    text = SAMPLE.replace("v1: The first.", "v1: The first.\n  v1: Another one.")
    ((line, wrong, _),) = problems_of(text)
    assert "Another one" in text.split("\n")[line - 1]
    assert "`v1` is already on line" in wrong


def values(number: int) -> str:
    """Write a list of so many chances."""
    return f"[{', '.join(f'0.{place + 10_000}' for place in range(number))}]"


@pytest.mark.parametrize(
    ("grid", "says"),
    [
        (f"{{activation: {values(5_001)}}}", "The study has 10,004 worlds"),
        (f"{{activation: {values(200)}, settings.a: {values(51)}}}", "has 10,200 scenarios"),
        (
            "{" + ", ".join(f"settings.k{key}: {values(90)}" for key in range(80)) + "}",
            "scenarios",
        ),
    ],
)
def test_too_many_cells_are_refused_at_once_with_the_reason(grid: str, says: str) -> None:
    """However many there would be, they are counted and not made."""
    ((_, wrong, remedy),) = problems_of(with_grid(grid))
    assert says in wrong
    assert "at most 10,000 worlds" in remedy
    assert "governed together" in remedy


def test_grids_together_keep_to_the_bound() -> None:
    """The bound is on the study, not on each of its grids."""
    grids = "".join(
        f"  g{place}:\n    exposures: {{1: [c1]}}\n    settings: {{of: {place}}}\n"
        f"    grid: {{activation: {values(4_000)}}}\n"
        for place in range(2)
    )
    text = SAMPLE.replace("seeds: [1, 2]", f"{grids}seeds: [1, 2]")
    ((_, wrong, _),) = problems_of(text)
    assert wrong == "The study has 16,004 worlds (scenarios times seeds)."


def test_a_grid_has_the_room_that_others_leave() -> None:
    """Where two grids are too many together, the second one is told of, and not made."""
    grids = "".join(
        f"  g{place}:\n    exposures: {{1: [c1]}}\n    settings: {{of: {place}}}\n"
        f"    grid: {{activation: {values(80)}, settings.a: {values(80)}}}\n"
        for place in range(2)
    )
    ((line, wrong, _),) = problems_of(SAMPLE.replace("seeds: [1, 2]", f"{grids}seeds: [1]"))
    assert wrong == "The grid of `g1` has 6,400 scenarios."
    assert line > SAMPLE.split("\n").index("scenarios:") + 5


def test_a_small_file_cannot_become_a_huge_study() -> None:
    """Scenarios that are too much, written out, are refused before they fill the memory."""
    more = f"    settings: {{text: {'x' * 100_000}}}\n"
    text = with_grid(f"{{activation: {values(4_000)}}}", more=more)
    ((_, wrong, remedy),) = problems_of(text)
    assert (
        wrong == f"The scenarios are more than {schema.SCENARIOS_BYTES_MAX >> 20} MiB, written out."
    )
    assert "vary less" in remedy


def test_ten_thousand_cells_are_read() -> None:
    """The bound itself is reached."""
    text = with_grid(f"{{activation: {values(4_999)}}}")
    assert len(scenarios_of(text)) == 5_000


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1.0, "1"),
        (0.5, "0.5"),
        (12, "12"),
        ("campaign-v1", "campaign-v1"),
        ([0, 5], "0-5"),
        (True, "true"),
        ([False, True], "false-true"),
        ("week", "week"),
    ],
)
def test_a_plain_value_names_itself(value: Any, name: str) -> None:
    """Words, numbers and whole numbers in a list are named as they are written."""
    assert label(value) == name


ANYTHING = st.recursive(
    st.text(max_size=40) | st.floats(0, 1) | st.integers(0, 99),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.lists(ANYTHING, min_size=1, max_size=4), st.text(min_size=1, max_size=20))
def test_the_id_of_a_cell_is_an_id_whatever_varies(found: list[Any], key: str) -> None:
    """It is safe as a file name, a word on a terminal and a key, and as long as any id may be."""
    name = cell_id("s" * 20, {f"settings.{key}.{place}": one for place, one in enumerate(found)})
    assert is_plain_identifier(name)


@given(st.text(max_size=80), st.text(max_size=80))
def test_two_texts_have_two_names(one: str, other: str) -> None:
    """Whatever is left of a text that is no plain word, its name differs from another one's."""
    assert (label(one) == label(other)) == (one == other)


def test_the_id_of_a_cell_can_be_taken_apart() -> None:
    """A table can show what varies; an id that is cut or that nobody made by a grid stays whole."""
    name = cell_id("shown", {"activation": 0.5, "settings.feed.rate": "fast"})
    assert varied_in(name) == ("shown", {"activation": "0.5", "settings.feed.rate": "fast"})
    long = cell_id("shown", {f"settings.a-long-name-{place}": "x" for place in range(4)})
    assert len(long) == 64
    for whole in ("calm", "pre--post", "a-b", long):
        assert varied_in(whole) == (whole, {})


def test_what_varies_is_told_by_the_keys_of_the_file() -> None:
    """It is the same whether a grid made the scenarios or somebody wrote them out."""
    text = with_grid("{activation: [0.25, 1], settings.a.b: [x, y]}")
    found = varying(tuple(scenarios_of(text).values()))
    assert found[0] == {"exposures.1": ("c1",), "exposures.2": ("c2",), "activation": 0.5}
    assert found[2] == {
        "exposures.1": ("c2",),
        "exposures.2": ("c1",),
        "activation": 0.25,
        "settings.a.b": "y",
    }
