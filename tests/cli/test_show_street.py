"""That what is shown of turns with all channels is what each persona was told and believed then."""

from __future__ import annotations

from typing import Any

from tests.crash.watching_server import WatchingServer
from tests.support.street_study import ANSWERS, write_street

from perdure.base.errors import EXIT_DONE
from perdure.cli.shown import look
from perdure.records.events import BeliefsHeld, Turn, TurnNotTaken
from perdure.trace.reader import RunReader


def test_every_turn_begins_with_the_beliefs_at_the_tick_s_opening(perdure, tmp_path):
    """Also where another turn of the tick moved one before; every prompt follows from the record.

    A run of channels alone has nothing to say of exposure ticks, and says nothing.
    """
    out = tmp_path / "run"
    with WatchingServer(answers=ANSWERS, latency_s=(0.0, 0.0)) as server:
        study = write_street(tmp_path / "study", server.base_url)
        ran = perdure("run", study, "--out", out, "--quiet")
    assert ran.status == EXIT_DONE
    assert "exposure tick" not in ran.out
    opened: dict[str, dict[str, int]] = {}
    moved: dict[str, dict[str, int]] = {}
    tick = twice = 0
    with RunReader.open(out) as reader:
        world = reader.worlds[0].world_id
        for event in list(reader.events(world)):
            if event.tick != tick:
                tick, opened, moved = event.tick, {**opened, **moved}, {}
            payload: Any = event.payload
            if isinstance(payload, BeliefsHeld):
                moved[event.persona] = payload.beliefs
            elif isinstance(payload, Turn | TurnNotTaken):
                shown = look(reader, f"{world}:{event.seq}")
                assert shown.turn is not None
                assert shown.turn.beliefs.before == opened.get(event.persona, {}), event.seq
                assert not shown.differs
                twice += event.persona in moved
    assert twice
