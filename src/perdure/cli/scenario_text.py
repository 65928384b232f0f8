"""The id of a scenario in a table: where it does not fit, it breaks between what varies.

Imports rich, which is heavy: import this where something is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.containers import Lines
from rich.text import Text

from perdure.study.grid import JOINT


class ScenarioText(Text):
    """A scenario's id. A part that is too long by itself folds."""

    def wrap(self, console: Console, width: int, **given: Any) -> Lines:
        """Break the id into lines of at most `width`."""
        lines = "\n".join(_lines(self.plain, width)) if len(self.plain) > width else self.plain
        return Text(lines, style=self.style).wrap(console, width, **given)


def _lines(name: str, width: int) -> Iterator[str]:
    first, *parts = name.split(JOINT)
    line = first
    for part in (f"{JOINT}{part}" for part in parts):
        if len(line) + len(part) <= width:
            line += part
        else:
            yield line
            line = part
    yield line
