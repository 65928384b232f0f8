"""Live progress: drawn on a terminal, plain lines elsewhere, and never on stdout."""

import io
from typing import Any

import pytest

from perdure.cli.progress import LineProgress, line_due, progress_text, watching
from perdure.records.result import Progress


def at(**fields: Any) -> Progress:
    """Give a moment of a run of ten ticks."""
    stated: dict[str, Any] = {
        "worlds": 2,
        "worlds_done": 0,
        "ticks": 10,
        "ticks_closed": 0,
        "turns": 1200,
        "turns_per_s": 12.5,
        "calls": 1500,
        "in_flight": 3,
        "retries": 0,
        "cost": 0,
        "unknown_costs": 0,
        "currency": "USD",
        "elapsed_s": 0.0,
    }
    return Progress(**{**stated, **fields})


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_line_holds_every_figure():
    """Worlds, ticks, turns, rate, calls in flight, retries, spend with its unknowns, time left."""
    text = progress_text(at(ticks_closed=4, retries=2, unknown_costs=7, cost=10**9, left_s=90.0))
    for part in (
        "40 %",
        "tick 4/10",
        "world 0/2",
        "1,200 turns",
        "1,500 calls",
        "12.5/s",
        "3 in flight",
        "2 retries",
        "1.00 USD + 7 unknown",
        "1:30 left",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (at(elapsed_s=0.5), False),
        (at(elapsed_s=4.9), False),
        (at(elapsed_s=5.0), True),
        (at(elapsed_s=0.5, ticks_closed=3), False),
        (at(elapsed_s=1.0, ticks_closed=1), True),
        (at(elapsed_s=0.5, ticks_closed=10, worlds_done=1), False),
        (at(elapsed_s=0.5, ticks_closed=10, worlds_done=2), True),
    ],
)
def test_lines_are_few(now, due):
    """A line is due after five seconds, after a tenth of the ticks, and at the end."""
    assert line_due(at(), now) is due
    assert line_due(None, now)


def test_the_end_is_written_once():
    """However often the last moment is shown, its line is written once, with every world in it."""
    lines: list[str] = []
    observer = LineProgress(lines.append)
    for closed, worlds in ((0, 0), (10, 1), (10, 2), (10, 2)):
        observer(at(ticks_closed=closed, worlds_done=worlds))
    assert len(lines) == 2
    assert "world 2/2" in lines[-1]


def test_a_terminal_gets_a_drawing_and_a_last_line(monkeypatch, capsys):
    """On a terminal the progress is redrawn in place; nothing goes to stdout."""
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with watching(quiet=False, title="tiny", stream=terminal) as observer:
        observer(at(ticks_closed=5))
    assert "tiny: 50 %" in terminal.getvalue()
    assert "━" in terminal.getvalue()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("perdure: 50 %")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_gets_lines(monkeypatch, capsys, term):
    """TERM=dumb means no drawing and no control sequence at all."""
    monkeypatch.setenv("TERM", term)
    terminal = Terminal()
    with watching(quiet=False, title="tiny", stream=terminal) as observer:
        observer(at())
    assert terminal.getvalue() == ""
    assert "\x1b" not in capsys.readouterr().err


def test_no_color_draws_without_colour(monkeypatch):
    """NO_COLOR keeps the drawing and drops every colour from it."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    with watching(quiet=False, title="tiny", stream=terminal) as observer:
        observer(at())
    assert "\x1b[32m" not in terminal.getvalue()


def test_a_hostile_title_is_made_safe(monkeypatch):
    """A study's name cannot drive the terminal."""
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with watching(quiet=False, title="a\x1b]0;b\x07", stream=terminal) as observer:
        observer(at())
    assert "\x1b]0" not in terminal.getvalue()
    assert "\x07" not in terminal.getvalue()


def test_quiet_is_silent(capsys):
    """With --quiet nothing is written."""
    with watching(quiet=True, title="tiny") as observer:
        observer(at())
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
