"""Where the questions of workers are answered, by the governor and the host of this process."""

from __future__ import annotations

from typing import Any

from perdure.inference.reservations import Limit
from perdure.records.journal import TickOpening
from perdure.records.request import CallKey
from perdure.runner.port import GovernorPort, ModelHost
from perdure.runner.told import tell
from perdure.runner.wire import GOVERNOR, HOST, METHODS, Answer, Ask, pack

# Leave, which may be long in coming.
LEAVES = frozenset((f"{GOVERNOR}.admit", f"{GOVERNOR}.open_tick"))
# What ends when nobody waits for it any more. All else is done to its end.
CALL = f"{HOST}.call"
WORLD_ENDED = f"{GOVERNOR}.world_ended"


class Desk:
    """Does what is asked, and tells the result or the error."""

    def __init__(self, governor: GovernorPort, host: ModelHost) -> None:
        self._governor = governor
        self._host = host

    async def answer(self, ask: Ask) -> Answer:
        """Answer a question.

        Raises:
            Exception: how a world ended could not be noted: its worker could do nothing about it.

        """
        arguments: tuple[Any, ...] = ()
        try:
            arguments = METHODS[ask.method].arguments(ask.arguments)
            port, _, name = ask.method.partition(".")
            asked = self._governor if port == GOVERNOR else self._host
            value = pack(await getattr(asked, name)(*arguments))
        except Exception as error:
            if ask.method == WORLD_ENDED:
                raise
            return Answer(
                id=ask.id,
                error=tell(error),
                stop_cause=self._host.stop_cause,
                refused=self._refused(arguments),
            )
        return Answer(
            id=ask.id,
            value=value,
            stop_cause=self._host.stop_cause,
            refused=self._refused(arguments),
        )

    def _refused(self, arguments: tuple[Any, ...]) -> Limit | None:
        match arguments:
            case (CallKey() | TickOpening() as place, *_):
                return self._host.refusal(place.world, place.tick)
        return None
