"""Agent programs as processes: over the Agent Client Protocol, or in plain lines of JSON.

The plain form: it is sent `{"type": "prompt", "text": …}` on a line, says what it does in lines
such as `{"type": "said", "text": …}`, and ends its turn with
`{"type": "answer", "stop": "end_turn", "text": …}`; `{"type": "cancel"}` asks it to end.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from perdure.agent.drive.harness import Answer, ProgramLostError, Report, Reporting
from perdure.agent.drive.tools.environment import scrubbed
from perdure.agent.drive.tools.process import Confinement, NotStartedError, Process
from perdure.base.text import one_line, storable

# A line that is longer is no message; it would be held in memory whole.
_LINE_MAX = 32 * 1024 * 1024
_TEXT_MAX = 1024 * 1024
_LAST_WORDS_MAX = 400
_PROTOCOL = 1
_METHOD_NOT_FOUND = -32601
_ANSWERS_WITHIN_S = 120.0
# One that went away is asked so often, and so long, how it ended.
_LOOKS, _LOOK_S = 50, 0.01
# What a program asks leave for that changes nothing, and what reaches outside.
_READS = frozenset({"read", "search", "think"})
_FETCHES = "fetch"
# Once is enough: what is allowed always is not asked again, and a call that reads may write then.
_ALLOW = ("allow_once",)
_REJECT = ("reject_once", "reject_always")

_encoder = msgspec.json.Encoder()


class _LastWords(asyncio.Protocol):
    """The end of what a program says beside the line."""

    def __init__(self) -> None:
        self.kept = b""

    def data_received(self, data: bytes) -> None:
        """Keep the end."""
        self.kept = (self.kept + data)[-_LAST_WORDS_MAX:]


class ProgramProcess:
    """A program's process, and the line to it: one JSON object a line, both ways."""

    def __init__(
        self,
        command: tuple[str, ...],
        *,
        folder: Path,
        confinement: Confinement | None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._command = command
        self._folder = folder
        self._confinement = confinement
        self._environment = {**scrubbed(os.environ), **(environment or {})}
        self._process: Process | None = None
        self._words = _LastWords()
        self._reader: asyncio.StreamReader
        self._reading: asyncio.ReadTransport | None = None
        self._beside: asyncio.ReadTransport | None = None
        self._writer: asyncio.StreamWriter | None = None

    @property
    def name(self) -> str:
        """Its command."""
        return one_line(" ".join(self._command))

    async def open(self) -> None:
        """Start it, unless it runs.

        Raises:
            ProgramLostError: it cannot be started.

        """
        if self._process is not None:
            return
        loop = asyncio.get_running_loop()
        heard, said = os.pipe()
        try:
            process = Process(
                self._command,
                folder=self._folder,
                environment=self._environment,
                confinement=self._confinement,
                output=said,
                pipes=True,
            )
        except NotStartedError as error:
            os.close(heard)
            raise ProgramLostError(str(error)) from error
        finally:
            os.close(said)
        self._process, self._words = process, _LastWords()
        # It is heard to its end, and only the end is kept: no disk is filled by a loop.
        file = os.fdopen(heard, "rb", 0)
        self._beside, _ = await loop.connect_read_pipe(lambda: self._words, file)
        self._reader = asyncio.StreamReader(limit=_LINE_MAX)
        protocol = asyncio.StreamReaderProtocol(self._reader)
        self._reading, _ = await loop.connect_read_pipe(lambda: protocol, process.output)
        writing, flow = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, process.input
        )
        self._writer = asyncio.StreamWriter(writing, flow, None, loop)

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            ProgramLostError: nobody reads it.

        """
        if self._writer is None:
            raise ProgramLostError("it does not run.")
        try:
            self._writer.write(_encoder.encode(message) + b"\n")
            await self._writer.drain()
        except OSError as error:
            raise ProgramLostError(await self._told("it does not listen any more")) from error

    async def receive(self) -> dict[str, Any]:
        """Wait for the next message.

        Raises:
            ProgramLostError: there is none, or it is not JSON.

        """
        # Lines that are there already are no reason to keep everybody else waiting.
        await asyncio.sleep(0)
        try:
            line = await self._reader.readline()
        except ValueError as error:
            raise ProgramLostError(f"it said a line of more than {_LINE_MAX} bytes.") from error
        except OSError as error:
            raise ProgramLostError(f"what it says cannot be read: {error}.") from error
        if not line:
            raise ProgramLostError(await self._told("it went away"))
        try:
            message = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            if not line.endswith(b"\n"):
                told = await self._told("it went away in the middle of a line")
                raise ProgramLostError(told) from error
            raise ProgramLostError(f"it said what is no JSON: {error}.") from error
        if not isinstance(message, dict):
            raise ProgramLostError("it said something that is no message.")
        return message

    async def kill(self) -> None:
        """End it with everything that it started."""
        process, self._process = self._process, None
        self._hang_up()
        if self._beside is not None:
            self._beside.close()
        if process is not None:
            await process.kill()

    def _hang_up(self) -> None:
        # At once: what nobody reads must not outlive its pipe on the loop.
        if self._writer is not None and not self._writer.transport.is_closing():
            self._writer.transport.abort()
        if self._reading is not None:
            self._reading.close()
        self._reading, self._writer = None, None

    async def _told(self, what: str) -> str:
        """Tell what happened, how it ended if it does in a moment, and its last words."""
        process, ended = self._process, None
        self._hang_up()
        try:
            for _ in range(_LOOKS):
                await asyncio.sleep(_LOOK_S)
                if process is None or (ended := process.ended()) is not None:
                    break
        except NotStartedError as error:
            return str(error)
        status = "" if ended is None or ended.code is None else f", with status {ended.code}"
        said = self._words.kept.decode(errors="replace")
        # The end is what counts, so the beginning is cut.
        text = one_line(said, _LAST_WORDS_MAX)[-200:]
        return f"{what}{status}." + (f" It said: {text}" if text else "")


class LineProgram:
    """A program that speaks in plain lines."""

    def __init__(self, process: ProgramProcess) -> None:
        self._process = process

    @property
    def name(self) -> str:
        """Its command."""
        return self._process.name

    async def prompt(self, text: str, report: Reporting) -> Answer:
        """Let it take a turn.

        Raises:
            ProgramLostError: there is no answer.

        """
        try:
            await self._process.open()
            await self._process.send({"type": "prompt", "text": text})
            while True:
                message = await self._process.receive()
                kind, said, detail = (_text(message, one) for one in ("type", "text", "detail"))
                if kind == "answer":
                    return Answer(stop=_text(message, "stop") or "end_turn", text=said)
                await report(Report(kind=kind or "other", text=said, detail=detail))
        except BaseException:
            await self._process.kill()
            raise

    async def interrupt(self) -> None:
        """Ask it to end its turn."""
        with suppress(ProgramLostError):
            await self._process.send({"type": "cancel"})

    async def close(self) -> None:
        """End it."""
        await self._process.kill()


class AcpProgram:
    """A program that speaks the Agent Client Protocol, version 1. It gets no files from us.

    What it asks leave for is allowed if it only reads, or if it `writes`; what fetches something
    from outside if it may have `egress`.
    """

    def __init__(
        self, process: ProgramProcess, folder: Path, *, writes: bool, egress: bool
    ) -> None:
        self._process = process
        self._folder = folder
        self._writes = writes
        self._egress = egress
        self._session = ""
        self._next = 0
        self._said: list[str] = []
        self._left = 0
        self._dropped = 0
        self._is_stopped = False

    @property
    def name(self) -> str:
        """Its command."""
        return self._process.name

    async def prompt(self, text: str, report: Reporting) -> Answer:
        """Let it take a turn.

        Raises:
            ProgramLostError: there is no answer.

        """
        try:
            if not self._session:
                await self._begin(report)
            return await self._turn(text, report)
        except BaseException:
            self._session = ""
            await self._process.kill()
            raise

    async def interrupt(self) -> None:
        """Ask it to end its turn."""
        self._is_stopped = True
        if self._session:
            with suppress(ProgramLostError):
                await self._notify("session/cancel", {"sessionId": self._session})

    async def close(self) -> None:
        """End it."""
        await self._process.kill()

    async def _turn(self, text: str, report: Reporting) -> Answer:
        self._said, self._left, self._dropped, self._is_stopped = [], _TEXT_MAX, 0, False
        asked = {"sessionId": self._session, "prompt": [{"type": "text", "text": text}]}
        result = await self._call("session/prompt", asked, report)
        stop = _text(result, "stopReason")
        if not stop:
            raise ProgramLostError("it ended its turn and did not say why.")
        return Answer(stop=stop, text=_cut("".join(self._said), self._dropped))

    async def _begin(self, report: Reporting) -> None:
        await self._process.open()
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        try:
            async with asyncio.timeout(_ANSWERS_WITHIN_S):
                hello = await self._call(
                    "initialize",
                    {"protocolVersion": _PROTOCOL, "clientCapabilities": capabilities},
                    report,
                )
                if hello.get("protocolVersion") != _PROTOCOL:
                    raise ProgramLostError(
                        f"it does not speak version {_PROTOCOL} of the protocol."
                    )
                session = await self._call(
                    "session/new", {"cwd": str(self._folder), "mcpServers": []}, report
                )
        except TimeoutError as error:
            raise ProgramLostError(
                f"it did not begin a session within {_ANSWERS_WITHIN_S:g} seconds."
            ) from error
        self._session = _text(session, "sessionId")
        if not self._session:
            raise ProgramLostError("it gave its session no id.")

    async def _call(self, method: str, params: dict[str, Any], report: Reporting) -> dict[str, Any]:
        """Call a method of its, and serve what it asks for until the answer is there."""
        number, self._next = self._next, self._next + 1
        await self._process.send(
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        )
        while True:
            message = await self._process.receive()
            if "method" in message:
                await self._serve(message, report)
            elif message.get("id") == number:
                if message.get("error") is not None:
                    told = one_line(str(message["error"]), 300)
                    raise ProgramLostError(f"it refuses {method}: {told}")
                result = message.get("result")
                return result if isinstance(result, dict) else {}

    async def _serve(self, message: dict[str, Any], report: Reporting) -> None:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        method = message.get("method")
        if method == "session/update":
            await self._update(params.get("update"), report)
        elif method == "session/request_permission":
            await self._reply(message, {"outcome": await self._permit(params, report)})
        elif "id" in message:
            error = {"code": _METHOD_NOT_FOUND, "message": f"There is no {method} here."}
            await self._process.send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    async def _update(self, update: object, report: Reporting) -> None:
        if not isinstance(update, dict):
            return
        kind = _text(update, "sessionUpdate")
        if kind == "agent_message_chunk":
            text = _whole_text_of(update.get("content"))
            self._said.append(text[: self._left])
            self._left -= len(self._said[-1])
            self._dropped += len(text) - len(self._said[-1])
            await report(Report(kind="said", text=_capped(text)))
        elif kind == "agent_thought_chunk":
            text = _whole_text_of(update.get("content"))
            await report(Report(kind="thought", text=_capped(text)))
        elif kind in ("tool_call", "tool_call_update"):
            detail = f"{_text(update, 'toolCallId')} {_text(update, 'status')}".strip()
            await report(Report(kind=kind, text=_text(update, "title"), detail=detail))
        else:
            await report(Report(kind="other", text=kind))

    async def _permit(self, params: dict[str, Any], report: Reporting) -> dict[str, Any]:
        call = params.get("toolCall")
        call = call if isinstance(call, dict) else {}
        title = _text(call, "title")
        await report(Report(kind="permission_asked", text=title))
        kind = _text(call, "kind")
        allowed = self._egress if kind == _FETCHES else self._writes or kind in _READS
        given = params.get("options")
        options = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
        # Whoever stops it is not asked any more, as the protocol has it.
        wanted = () if self._is_stopped else _ALLOW if allowed else _REJECT
        for word in wanted:
            for option in options:
                if option.get("kind") == word:
                    await report(Report(kind="permission_answered", text=title, detail=word))
                    return {"outcome": "selected", "optionId": option.get("optionId")}
        await report(Report(kind="permission_answered", text=title, detail="cancelled"))
        return {"outcome": "cancelled"}

    async def _reply(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        await self._process.send({"jsonrpc": "2.0", "id": message.get("id"), "result": result})

    async def _notify(self, method: str, params: dict[str, Any]) -> None:
        await self._process.send({"jsonrpc": "2.0", "method": method, "params": params})


def _text(message: dict[str, Any], name: str) -> str:
    """Give a text of a message, capped; nothing where it is not there.

    Raises:
        ProgramLostError: something else is in its place.

    """
    return _capped(_whole_text(message, name))


def _whole_text(message: dict[str, Any], name: str) -> str:
    value = message.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        told = one_line(repr(value), 80)
        raise ProgramLostError(f"what it said as {name!r} is no text: {told}.")
    return storable(value)


def _whole_text_of(content: object) -> str:
    return _whole_text(content, "text") if isinstance(content, dict) else ""


def _capped(text: str) -> str:
    return _cut(text[:_TEXT_MAX], max(len(text) - _TEXT_MAX, 0))


def _cut(text: str, dropped: int) -> str:
    return f"{text}\n[{dropped} more characters were cut]" if dropped else text
