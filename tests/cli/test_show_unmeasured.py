"""Figures that come from no event name what they come from; what is not measured says why."""

from __future__ import annotations

from perdure.base.errors import EXIT_DONE

from .test_report_text import recorded_with_lost


def test_what_is_outside_closed_ticks_names_rows_of_the_run_log(perdure, recorded):
    """By the number of the row, with all that it says; an unknown amount stays unknown."""
    folder = recorded()
    nothing = perdure("show", folder, "outside", "--json").document
    assert nothing["rows"] == nothing["parts"] == []
    lost = recorded_with_lost(folder)
    found = perdure("show", folder, "outside/lost", "--json").document
    ((row, payload),) = [(one["row"], one["payload"]) for one in found["rows"]]
    assert row == "run log:3"  # opened, closed, opened once more
    assert payload["calls"] == lost
    (value,) = [one["value"] for one in found["values"]]
    assert (value["count"], value["unknown"], value["amount"]) == (lost, lost, 0)
    said = perdure("show", folder, "outside/lost")
    assert said.status == EXIT_DONE
    assert "run log:3 (lost)" in said.out
    assert "It rests on no event." in said.out


def test_an_unknown_amount_is_counted_by_its_events(perdure, recorded):
    """The gap says how many attempts have none, and which they are."""
    folder = recorded(amount=None)
    report = perdure("report", folder, "--json").document
    (place,) = [n for n, gap in enumerate(report["gaps"]) if gap["cause"] == "unknown"]
    gap = report["gaps"][place]
    assert gap["figure"] == "costs"
    assert gap["address"] == f"gaps/{place}"
    found = perdure("show", folder, gap["address"], "--json").document
    parts = {one["name"]: one for one in found["parts"]}
    assert parts["unknown"]["events"] == gap["count"] > 0
    assert parts["unknown"]["kinds"] == {"cost": gap["count"]}


def test_a_wave_that_no_world_has_reached_is_not_zero(perdure, recorded):
    """It says so, and how far each world is; a tick past the horizon is a mistake."""
    folder = recorded(ticks=1)
    found = perdure("show", folder, "answers/vote/plain/2", "--json").document
    assert found["says"] == "Not measured, which is not zero: no world has closed this tick."
    assert found["values"] == []
    assert "1 of 3 ticks closed" in found["unmeasured"][0]["why"]
    change = perdure("show", folder, "changes/vote/plain", "--json").document
    whys = [one["why"] for one in change["unmeasured"]]
    assert any("has reached the last wave" in why for why in whys)


def test_a_name_that_drives_terminals_is_shown_as_text(perdure, recorded):
    """Neither what is recorded nor what is asked for reaches the terminal as it is."""
    folder = recorded()
    said = perdure("show", folder, "models/tier_a", "--all")
    refused = perdure("show", folder, "answers/\x1b[2J\x07")
    for text in (said.out, refused.err):
        assert "\x1b" not in text
        assert "\x07" not in text
