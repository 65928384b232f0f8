"""Makes the calls of one tick through a journaled host, as a process that may be killed.

    python -m tests.crash.journal_client FOLDER BASE_URL EPOCH JOBS [PLANT]

Each job asks three times, each time with the answer before. What was lost to earlier epochs is
charged first, in a file beside the journal. Prints what the tick came to, as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from tests.crash.telling import tell
from tests.support.calls import WORLD, key, opening

from perdure.base.canonical import encode
from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.inference.journaled import JournaledHost
from perdure.inference.limits import Limits
from perdure.records.request import ChatRequest, Message, Reply
from perdure.records.scenario import ModelPin
from perdure.records.usage import Price
from perdure.trace.journal import Journal

TURNS = 3
IN_FLIGHT = 4
PRICE = Price(input_fresh=1_000_000, output=1_000_000)


async def job(host: JournaledHost, number: int) -> list[str]:
    """Ask, and ask on."""
    said: list[str] = []
    for ordinal in range(TURNS):
        text = f"I am {number}. " + " ".join(said)
        request = ChatRequest(
            role="tier_a", messages=(Message(role="user", content=text),), tokens_max=50
        )
        result = await host.call(key(number, ordinal=ordinal), request)
        assert isinstance(result.answer, Reply), result
        said.append(result.answer.text)
    return said


async def live(folder: Path, base_url: str, epoch: int, jobs: int) -> None:
    """Take the journal up, charge what was lost, and run the tick to its end."""
    if await Journal.has(folder):
        journal = await Journal.open(folder, epoch)
    else:
        journal = await Journal.create(folder, epoch)
    pin = ModelPin(provider="http", model="test-model")
    provider = HttpProvider(HttpSettings(base_url=base_url), pin, environment={})
    inner = InferenceHost(
        {"tier_a": Respondent(provider, PRICE)}, limits=Limits(in_flight_max=IN_FLIGHT)
    )
    host = JournaledHost(inner, journal)
    lost = await host.lost(WORLD, 0)
    (folder / "lost.json").write_bytes(encode(lost))
    await inner.open()
    await host.open_tick(opening())
    said = await asyncio.gather(*(job(host, number) for number in range(jobs)))
    used = {key(number, ordinal=ordinal) for number in range(jobs) for ordinal in range(TURNS)}
    orphans = await host.orphans(WORLD, 0, used)
    await host.close_tick(WORLD, 0)
    await inner.close()
    await journal.finish()
    await journal.close()
    tell(json.dumps({"said": said, "orphans": orphans is not None, "replayed": host.replayed}))


def _forget() -> None:
    """Keep no outcome: a planted bug."""

    async def settle(*_: object) -> None:
        await asyncio.sleep(0)

    Journal.settle = settle  # type: ignore[assignment]


def main() -> None:
    """Live once."""
    folder, base_url, epoch, jobs, *plant = sys.argv[1:]
    if plant:
        _forget()
    asyncio.run(live(Path(folder), base_url, int(epoch), int(jobs)))


if __name__ == "__main__":
    main()
