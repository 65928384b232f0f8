"""The foreign runner and its supervisor, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.supervise.tool import Tool


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    """Give a run that nobody has begun."""
    return Tool(tmp_path)
