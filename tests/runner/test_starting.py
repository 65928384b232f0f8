"""How a world is started: its record is born once, and never a second time."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.town import OwnParts, town

from perdure.base.errors import DamagedRecordError
from perdure.records.events import Head
from perdure.runner.readings import Readings
from perdure.runner.starting import Workshop
from perdure.study.identity import expand
from perdure.trace.memory import MemoryPartitions

WITNESS = Head(seq=9, chain="c" * 64, content=3, digest="d" * 64, tick=1)


def test_a_record_that_was_acknowledged_is_not_born_again() -> None:
    """P1: where its file is gone by now, its world does not begin anew in the middle of a run."""
    config = town()
    header = expand(config.study, config.population)[0].header
    partitions = MemoryPartitions()
    shop = Workshop(
        parts=OwnParts(config),
        people=config.population.people,
        host=None,  # type: ignore[arg-type]  # nothing is asked
        partitions=partitions,
        readings=Readings(partitions),
        epoch=1,
    )

    async def start() -> None:
        with pytest.raises(DamagedRecordError, match="missing"):
            await shop.start(header, WITNESS, -1)
        assert not await partitions.has(header.world_id)
        await shop.start(header, None, -1)
        assert await partitions.has(header.world_id)

    asyncio.run(start())
