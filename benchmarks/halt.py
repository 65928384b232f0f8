"""How long a halt takes: from the word to the last durable line, with everything below it gone.

    python -m benchmarks.halt [--rounds 20]

An agent that is driven alone hands work down, and the child runs a command of a shell with children
and grandchildren, some of which left its session. Then it is halted, as a second Ctrl-C does. What
is timed ends when nothing of the command is left, and both drives are closed in the ledger.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from tests.support.alone import alone, asked_of, called, left_behind, task_of, turn_of

from perdure.agent.drive.tools.warden import missing
from perdure.base.clock import SystemClock
from perdure.records.alone import Furnishing
from perdure.runner.alone import begin
from perdure.runner.attended import Attended
from perdure.testing import MisbehavingServer

CLOCK = SystemClock()
SLEEPS = "(sleep 1000 & setsid sleep 1000) & sleep 1000 & touch begun; wait"
TOOLS = Furnishing(commands=True, hands_down=True, unsandboxed=bool(missing()))


def said(body: dict[str, Any]) -> Any:
    """Hand work down; who gets it runs the command."""
    if "the rest" in task_of(body):
        return (called("run_command", command=SLEEPS),)
    return (called("hand_down", task="Do the rest."),) if turn_of(body) == 0 else "It is done."


def wait_for(path: Path) -> None:
    """Wait until a file is there, and a moment longer."""
    while not path.exists():
        asyncio.run(CLOCK.sleep(0.01))
    asyncio.run(CLOCK.sleep(0.2))


async def halted(folder: Path, server: MisbehavingServer) -> float:
    """Drive until the command runs, halt, and give the seconds until all is over."""
    person = Attended(folder)
    company = replace(alone(folder), interrupts=person)
    driving = asyncio.create_task(begin(folder, asked_of(server, tools=TOOLS), company))
    await asyncio.to_thread(wait_for, folder / "room" / "begun")
    at = CLOCK.now_s()
    person.halt()
    await driving
    return CLOCK.now_s() - at


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    took = []
    with tempfile.TemporaryDirectory() as place, MisbehavingServer(responder=said) as server:
        for number in range(rounds):
            folder = Path(place, str(number))
            took.append(asyncio.run(halted(folder, server)))
            if left_behind(folder):
                raise SystemExit("Something of the command is left.")
    print(f"from a halt to the end of all, {rounds} rounds, milliseconds:")
    print(f"  median {median(took) * 1000:.0f}, most {max(took) * 1000:.0f}")


if __name__ == "__main__":
    main()
