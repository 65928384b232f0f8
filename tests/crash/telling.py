"""How the crash suites tell their counts: on standard output, which `pytest -rP` shows."""

from __future__ import annotations

import sys


def tell(line: str) -> None:
    """Write one line of counts."""
    sys.stdout.write(f"{line}\n")
