"""A few readings serve however many worlds are recalled, and none outlives a failure."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perdure.runner.readings import Readings


class Counted:
    """Partitions that count how many readings of them are open, and what is let go of."""

    def __init__(self) -> None:
        self.made = self.open = self.at_once = 0
        self.let_go_of: list[str] = []

    def read(self) -> Any:
        """Open one."""
        self.made += 1
        self.open += 1
        self.at_once = max(self.at_once, self.open)
        return self

    def let_go(self, world_id: str) -> None:
        """Note it."""
        self.let_go_of.append(world_id)

    def close(self) -> None:
        """Close one."""
        self.open -= 1


def test_there_are_as_many_readings_as_may_be_at_once_and_no_more() -> None:
    """Thirty worlds at once share three; each is let go of; none is left open."""
    parts = Counted()

    async def check() -> None:
        readings = Readings(parts, at_once=3)  # type: ignore[arg-type]

        async def one(name: str) -> None:
            async with readings.lent(name):
                await asyncio.sleep(0)

        names = [str(number) for number in range(30)]
        await asyncio.gather(*map(one, names))
        assert (parts.made, parts.at_once) == (3, 3)
        assert sorted(parts.let_go_of) == sorted(names)
        readings.close()
        assert parts.open == 0

    asyncio.run(check())


def test_a_reading_that_failed_is_closed_and_not_lent_again() -> None:
    """What it holds is in doubt; the place it took is free."""
    parts = Counted()

    async def check() -> None:
        readings = Readings(parts, at_once=1)  # type: ignore[arg-type]
        for _ in range(2):
            with pytest.raises(OSError, match="gone"):
                async with readings.lent("a"):
                    raise OSError("The disk is gone.")
            assert parts.open == 0
        assert parts.made == 2

    asyncio.run(check())
