"""Everything in this folder is the crash programme, which has a command of its own."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is collected from here."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.crash)
