"""Looking into folders."""

from __future__ import annotations

from pathlib import Path


def names_in(folder: Path) -> list[str]:
    """Give the names in a folder, in order."""
    return sorted(path.name for path in folder.iterdir())
