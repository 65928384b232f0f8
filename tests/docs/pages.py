"""The pages of the documentation, cut into the blocks of code that they show.

A comment in front of a block says what it is, where its language does not:

- `<!-- file: NAME -->`: the block is a file of that name, for the blocks after it.
- `<!-- output: COMMAND -->`: the block's lines are in what the command prints, in that order. A
  line of `...` stands for any number of lines.

A shell line that ends in `# exit N` ends with that status; every other one ends with 0.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent

_BLOCK = re.compile(
    r"(?:^<!-- (?P<role>file|output): (?P<what>[^\n]+?) -->\n+)?"
    r"^```(?P<language>[a-z]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """One block of a page: its first line, its language, its role and of what, and its text."""

    line: int
    language: str
    role: str
    what: str
    text: str


def pages() -> list[Path]:
    """List every page, relative to the root."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
    found.extend(ROOT.glob("examples/**/*.md"))
    return sorted(page.relative_to(ROOT) for page in found)


def read(page: Path) -> str:
    """Read a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: Path) -> list[Block]:
    """Cut a page into its blocks."""
    text = read(page)
    return [
        Block(
            line=text.count("\n", 0, match.start()) + 1,
            language=match["language"],
            role=match["role"] or "",
            what=match["what"] or "",
            text=match["text"],
        )
        for match in _BLOCK.finditer(text)
    ]
