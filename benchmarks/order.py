"""What order costs and gains: rare 60-second stragglers among twelve cells.

    python -m benchmarks.order [--cells 12] [--ticks 30] [--people 40] [--one-in 3000]

The real runner over an in-memory store, on an event loop with a virtual clock: whenever nothing is
left to do, its time moves on to what is due next, and work takes none of it. So the seconds below
are virtual: those that the run would take if only its calls took time. Every call takes 0.2 to 0.6
of them; one in some thousands takes 60. The calls are the same in every row, stragglers included.

- `no order` is the floor: cells may run as far apart as they like, so the slowest cell is all;
- `skew 4` is what a study has unless it says otherwise, and `skew 1` the strictest it can ask for;
- `barrier` lets no cell open a tick before every cell has closed the one before;
- `depth, 1` and `depth, 4` run one cell, or four side by side, to their end before later ones.

`apart` is how many ticks the fastest cell was ahead of the slowest at most: over so many ticks a
rung of the budget comes later than it would without a bound. Nothing bounds it without an order.
"""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures
import selectors
import time
from collections.abc import Callable
from typing import Any

from tests.support.town import run_in_memory, town

from perdure.base.chance import Stream
from perdure.records.request import ChatRequest, EmbedRequest, Failure, FailureCause, Reply, Vectors
from perdure.records.scenario import AgentSettings
from perdure.records.study import Order
from perdure.records.usage import Usage

STRAGGLE_S = 60.0
FAST_S, SLOW_S = 0.2, 0.6


class _Ahead(selectors.DefaultSelector):
    """Waits for nothing: where the loop would wait, its time moves on."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        found: list[Any] = super().select(0)
        if not found and timeout is None:
            raise RuntimeError("Everything waits, and nothing is due: a deadlock.")
        if not found and timeout is not None:
            self.now_s += max(0.0, timeout)
        return found


class _Here(concurrent.futures.ThreadPoolExecutor):
    """Does at once, in the loop's own thread, what would be done in another."""

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Any:
        done: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            done.set_result(work(*given, **named))
        except BaseException as error:  # noqa: BLE001 - as an executor does
            done.set_exception(error)
        return done


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on which time passes only by waiting."""

    def __init__(self) -> None:
        self._ahead = _Ahead()
        super().__init__(self._ahead)
        self.set_default_executor(_Here())

    def time(self) -> float:
        """Give the virtual time."""
        return self._ahead.now_s


class VirtualClock:
    """The time of the loop that runs."""

    def now_s(self) -> float:
        """Give the virtual time."""
        return asyncio.get_running_loop().time()

    def wall_s(self) -> float:
        """Give the virtual time."""
        return self.now_s()

    async def sleep(self, seconds: float) -> None:
        """Wait on the loop."""
        await asyncio.sleep(max(seconds, 0.0))


class Slow:
    """A model whose calls take as long as their sampling seed says."""

    name = "slow"

    def __init__(self, one_in: int) -> None:
        self._one_in = one_in
        self.stragglers = 0
        self.ended_s = 0.0

    async def open(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
        """Answer after a while."""
        del timeout_s
        drawn = Stream(str(request.seed), 0, "latency")
        straggles = drawn.below(self._one_in) == 0
        self.stragglers += straggles
        took_s = STRAGGLE_S if straggles else FAST_S + (SLOW_S - FAST_S) * drawn.uniform()
        await asyncio.sleep(took_s)
        self.ended_s = asyncio.get_running_loop().time()
        return Reply(text="Ada Hill.", served="m", usage=Usage(input_fresh=1, output=1))

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:
        """Refuse."""
        del request, timeout_s
        return Failure(cause=FailureCause.UNSUPPORTED)


class _Policy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return VirtualLoop()


def makespan(asked: argparse.Namespace, **way: Any) -> tuple[float, int, int]:
    """Run the study in an order; give its virtual seconds, the ticks apart, its stragglers."""
    scenario = {
        "horizon": asked.ticks,
        "waves": tuple(range(asked.ticks)),
        "exposures": {},
        "activation": 1.0,
    }
    config = town(
        asked.people,
        scenarios=(scenario,),
        seeds=tuple(range(asked.cells)),
        agent=AgentSettings(reflect_every=0),
        **way,
    )
    model, opened, apart = Slow(asked.one_in), dict[str, int](), [0]

    async def watch(session: Any) -> None:
        opened.update(dict.fromkeys((cell.entry.world_id for cell in session.cells), -1))
        open_tick = session.host.open_tick

        async def opening(tick: Any) -> Any:
            opened[tick.world] = tick.tick
            apart[0] = max(apart[0], tick.tick - min(opened.values()))
            return await open_tick(tick)

        session.host.open_tick = opening

    asyncio.set_event_loop_policy(_Policy())
    ran = run_in_memory(config, model, clock=VirtualClock(), before=watch)
    assert ran.result.exit_status == 0, ran.result.cause
    assert not any(world.turns_failed for world in ran.result.worlds)
    return model.ended_s, apart[0], model.stragglers


WAYS: dict[str, dict[str, Any]] = {
    "no order": {"skew": 1_000_000},
    "skew 4": {"skew": 4},
    "skew 1": {"skew": 1},
    "barrier": {"skew": 0},
    "depth, 4": {"order": Order.DEPTH, "live": 4},
    "depth, 1": {"order": Order.DEPTH, "live": 1},
}


def main() -> None:
    """Run the study in every order, and print how long each takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=12)
    parser.add_argument("--ticks", type=int, default=30)
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--one-in", type=int, default=3_000)
    asked = parser.parse_args()
    floor = 0.0
    for name, way in WAYS.items():
        began = time.perf_counter()
        took_s, apart, stragglers = makespan(asked, **way)
        floor = floor or took_s
        print(
            f"  {name:<9} {took_s:>8.1f} virtual s  {took_s / floor:>6.2f} x no order  "
            f"{apart:>3} ticks apart  {stragglers} stragglers"
            f"  ({time.perf_counter() - began:.1f} s real)"
        )


if __name__ == "__main__":
    main()
