"""What a governor and its workers say to each other: plain records, over a pair of sockets.

A frame is the length of its body, four bytes, then the body: one record in MessagePack. What is
asked of a port goes as its arguments, and comes back as its result or its error; `METHODS` has all
that can be asked, with the types.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import msgspec

from perdure.base.errors import InternalError
from perdure.inference.reservations import Limit
from perdure.records.events import Head
from perdure.records.fingerprint import Fingerprint
from perdure.records.journal import TickOpening
from perdure.records.people import People
from perdure.records.record import Record
from perdure.records.registry import CallsLost, CallsOrphaned, WorldOutcome
from perdure.records.request import CallKey, CallResult, ChatRequest, EmbedRequest, FailureCause
from perdure.records.scenario import AgentSettings, Header
from perdure.records.tools import Effect, ToolAnswer, ToolCall
from perdure.runner.port import TickOpened, TickPaused, TickReport
from perdure.runner.told import Told

FRAME_BYTES_MAX = 1 << 30
_LENGTH_BYTES = 4

# The exit status of a worker that ran out of the memory that it may have, and of one whose event
# loop or tasks were ended by somebody who has no business with them.
OUT_OF_MEMORY, CUT_OFF = 71, 72


class Setup(Record, tag="setup"):
    """What a worker is told before anything else: the run, and how this process is to be.

    `run_folder` is where the records are, `study_folder` where plug-ins and the data `files` are.
    `agent` is what the study says of it, `worlds` are classes, `plugins` is what of all that the
    study names is not ours.
    `path` is where modules are looked for, and `python_path` the variable as it is for everybody
    else. `memory_bytes` is the address space that the process may have, if that is limited. With
    `tells_stacks` it answers SIGUSR1.
    """

    path: tuple[str, ...]
    run_folder: str
    study_folder: str
    files: tuple[str, ...]
    agent: AgentSettings
    worlds: tuple[str, ...]
    plugins: tuple[str, ...]
    fingerprint: Fingerprint
    people: People
    epoch: int
    memory_bytes: int | None = None
    python_path: str | None = None
    tells_stacks: bool = False


class TakeWorld(Record, tag="take"):
    """A world to drive to its end. Where its record ended when it was last noted."""

    header: Header
    witness: Head | None
    forced_until: int


class Answer(Record, tag="answer"):
    """What came of a question: a value or an error. What else a worker must know goes with it.

    `refused` is the ceiling under which a call of the tick that was asked about did not fit.
    """

    id: int
    value: msgspec.Raw = msgspec.Raw(b"\xc0")  # None
    error: Told | None = None
    stop_cause: FailureCause | None = None
    refused: Limit | None = None


class Ready(Record, tag="ready"):
    """The worker runs the code of the run, holds its lock, and can take worlds."""


class Unable(Record, tag="unable"):
    """The worker cannot take any world, and why."""

    error: Told


class Ask(Record, tag="ask"):
    """A question of a world to a port: one of `METHODS`, with its arguments."""

    id: int
    world: str
    method: str
    arguments: msgspec.Raw


class Withdraw(Record, tag="withdraw"):
    """Whoever asked was cancelled. It is answered all the same, when it has ended.

    A model call is given up by that; all else is done to its end.
    """

    id: int


class Alive(Record, tag="alive"):
    """A world gets on with something long that asks nothing."""

    world: str


ToWorker = Setup | TakeWorld | Answer
ToGovernor = Ready | Unable | Ask | Withdraw | Alive


class Method:
    """How the arguments and the result of something that can be asked are written and read."""

    def __init__(self, arguments: Any, result: Any) -> None:
        self._arguments = msgspec.msgpack.Decoder(arguments)
        self._result = msgspec.msgpack.Decoder(result)

    def arguments(self, raw: msgspec.Raw) -> tuple[Any, ...]:
        """Read arguments.

        Raises:
            msgspec.MsgspecError: they are not what is to be given.

        """
        given: tuple[Any, ...] = self._arguments.decode(raw)
        return given

    def result(self, raw: msgspec.Raw) -> Any:
        """Read a result."""
        return self._result.decode(raw)


GOVERNOR, HOST = "governor", "host"
METHODS: dict[str, Method] = {
    f"{GOVERNOR}.admit": Method(tuple[str], bool),
    f"{GOVERNOR}.open_tick": Method(tuple[str, int], TickOpened | TickPaused | None),
    f"{GOVERNOR}.ceiling_reached": Method(tuple[str, str], TickPaused),
    f"{GOVERNOR}.pause_recorded": Method(tuple[str, Head], None),
    f"{GOVERNOR}.world_recalled": Method(tuple[TickReport], None),
    f"{GOVERNOR}.tick_closed": Method(tuple[TickReport], None),
    f"{GOVERNOR}.world_ended": Method(tuple[WorldOutcome], None),
    f"{HOST}.open_tick": Method(tuple[TickOpening], TickOpening),
    f"{HOST}.lost": Method(tuple[str, int], tuple[CallsLost, ...]),
    f"{HOST}.orphans": Method(tuple[str, int, tuple[CallKey, ...]], CallsOrphaned | None),
    f"{HOST}.close_tick": Method(tuple[str, int], None),
    f"{HOST}.begin_effect": Method(tuple[CallKey, ToolCall, Effect], ToolAnswer | None),
    f"{HOST}.end_effect": Method(tuple[CallKey, ToolAnswer], None),
    f"{HOST}.call": Method(tuple[CallKey, ChatRequest | EmbedRequest], CallResult),
}

_encoder = msgspec.msgpack.Encoder()


def pack(value: Any) -> msgspec.Raw:
    """Write arguments or a result.

    Raises:
        InternalError: something in it can be in no record.

    """
    try:
        return msgspec.Raw(_encoder.encode(value))
    except (UnicodeEncodeError, TypeError, OverflowError) as error:
        # In the words of whoever would record it.
        raise InternalError(f"A value cannot be recorded: {error}.") from error


def frame(message: ToWorker | ToGovernor) -> bytes:
    """Write a message.

    Raises:
        InternalError: it is too long.

    """
    body = _encoder.encode(message)
    if len(body) > FRAME_BYTES_MAX:
        raise InternalError(
            f"A message between governor and worker has {len(body):,} bytes; {FRAME_BYTES_MAX:,} is"
            " the most."
        )
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


def ends() -> tuple[socket.socket, socket.socket]:
    """Make a pair of ends; nothing else can reach either."""
    return socket.socketpair()


class Line:
    """One end of the pair of sockets: whole messages, in order."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, receives: Any
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = msgspec.msgpack.Decoder(receives)

    @classmethod
    async def on(cls, end: socket.socket | int, receives: Any) -> Line:
        """Take one end, or its descriptor, on which messages of a union of types arrive."""
        held = socket.socket(fileno=end) if isinstance(end, int) else end
        reader, writer = await asyncio.open_unix_connection(sock=held)
        return cls(reader, writer, receives)

    def send(self, framed: bytes) -> None:
        """Send a message. Where nobody is at the other end any more, nothing happens."""
        if not self._writer.is_closing():
            self._writer.write(framed)

    async def receive(self) -> Any:
        """Wait for a message; None if the other end is gone.

        Raises:
            InternalError: what arrives is no message.

        """
        try:
            length = int.from_bytes(await self._reader.readexactly(_LENGTH_BYTES), "big")
            if length > FRAME_BYTES_MAX:
                raise InternalError(f"A message of {length:,} bytes is announced.")
            return self._decoder.decode(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except msgspec.MsgspecError as error:
            raise InternalError(f"What arrived is no message: {error}.") from error

    def close(self) -> None:
        """Close this end; what was sent still arrives."""
        self._writer.close()

    def break_off(self) -> None:
        """Close this end at once, whatever is still on its way."""
        self._writer.transport.abort()
