"""Agent programs as processes: over the Agent Client Protocol, or in plain lines of JSON.

The plain form: it is sent `{"type": "prompt", "text": …}` on a line, says what it does in lines
such as `{"type": "said", "text": …}`, and ends its turn with
`{"type": "answer", "stop": "end_turn", "text": …}`; `{"type": "cancel"}` asks it to end.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from perdure.agent.drive.harness import Answer, ProgramLostError, Report
from perdure.agent.drive.tools.environment import scrubbed
from perdure.agent.drive.tools.process import Confinement, NotStartedError, Process
from perdure.base.text import one_line, storable

# A line that is longer is no message; it would be held in memory whole.
_LINE_MAX = 32 * 1024 * 1024
_TEXT_MAX = 1024 * 1024
_PROTOCOL = 1
_METHOD_NOT_FOUND = -32601
_ANSWERS_WITHIN_S = 120.0
# What a program asks leave for that changes nothing.
_READS = frozenset({"read", "search", "think", "fetch"})

_encoder = msgspec.json.Encoder()


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
        self._words = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - closed at the end
        self._reader: asyncio.StreamReader
        self._reading: asyncio.ReadTransport | None = None
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
        try:
            process = Process(
                self._command,
                folder=self._folder,
                environment=self._environment,
                confinement=self._confinement,
                output=self._words.fileno(),
                pipes=True,
            )
        except NotStartedError as error:
            raise ProgramLostError(str(error)) from error
        loop = asyncio.get_running_loop()
        self._process = process
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
        assert self._writer is not None, "it is open"
        try:
            self._writer.write(_encoder.encode(message) + b"\n")
            await self._writer.drain()
        except OSError as error:
            raise ProgramLostError(f"it does not listen any more.{self._last_words()}") from error

    async def receive(self) -> dict[str, Any]:
        """Wait for the next message.

        Raises:
            ProgramLostError: there is none, or it is not JSON.

        """
        try:
            line = await self._reader.readline()
        except (ValueError, OSError) as error:
            raise ProgramLostError(f"what it says cannot be read: {error}.") from error
        if not line:
            raise ProgramLostError(f"it went away.{self._last_words()}")
        try:
            message = msgspec.json.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ProgramLostError(f"it said what is no JSON: {error}.") from error
        if not isinstance(message, dict):
            raise ProgramLostError("it said something that is no message.")
        return message

    async def kill(self) -> None:
        """End it with everything that it started."""
        process, self._process = self._process, None
        if self._reading is not None:
            self._reading.close()
        if self._writer is not None:
            with suppress(OSError):
                self._writer.close()
        if process is not None:
            await process.kill()

    async def close(self) -> None:
        """End it, and forget what it said beside the line."""
        await self.kill()
        self._words.close()

    def _last_words(self) -> str:
        if self._words.closed:
            return ""
        self._words.flush()
        end = os.fstat(self._words.fileno()).st_size
        said = os.pread(self._words.fileno(), 400, max(0, end - 400))
        text = one_line(said.decode(errors="replace"), 200)
        return f" It said: {text}" if text else ""


class LineProgram:
    """A program that speaks in plain lines."""

    def __init__(self, process: ProgramProcess) -> None:
        self._process = process

    @property
    def name(self) -> str:
        """Its command."""
        return self._process.name

    async def prompt(self, text: str, report: Callable[[Report], None]) -> Answer:
        """Let it take a turn.

        Raises:
            ProgramLostError: there is no answer.

        """
        try:
            await self._process.open()
            await self._process.send({"type": "prompt", "text": text})
            while True:
                message = await self._process.receive()
                kind, said = _text(message.get("type")), _text(message.get("text"))
                if kind == "answer":
                    return Answer(stop=_text(message.get("stop")) or "end_turn", text=said)
                report(Report(kind=kind or "other", text=said, detail=_text(message.get("detail"))))
        except BaseException:
            await self._process.kill()
            raise

    async def interrupt(self) -> None:
        """Ask it to end its turn."""
        with suppress(ProgramLostError):
            await self._process.send({"type": "cancel"})

    async def close(self) -> None:
        """End it."""
        await self._process.close()


class AcpProgram:
    """A program that speaks the Agent Client Protocol, version 1. It gets no files from us.

    What it asks leave for is allowed if it only reads, or if it may `write`; it is asked about
    nothing else.
    """

    def __init__(self, process: ProgramProcess, folder: Path, *, writes: bool) -> None:
        self._process = process
        self._folder = folder
        self._writes = writes
        self._session = ""
        self._next = 0
        self._said: list[str] = []

    @property
    def name(self) -> str:
        """Its command."""
        return self._process.name

    async def prompt(self, text: str, report: Callable[[Report], None]) -> Answer:
        """Let it take a turn.

        Raises:
            ProgramLostError: there is no answer.

        """
        try:
            if not self._session:
                await self._begin(report)
            self._said = []
            asked = {
                "sessionId": self._session,
                "prompt": [{"type": "text", "text": text}],
            }
            result = await self._call("session/prompt", asked, report)
            stop = _text(result.get("stopReason"))
            return Answer(stop=stop, text=storable("".join(self._said))[:_TEXT_MAX])
        except BaseException:
            self._session = ""
            await self._process.kill()
            raise

    async def interrupt(self) -> None:
        """Ask it to end its turn."""
        if self._session:
            with suppress(ProgramLostError):
                await self._notify("session/cancel", {"sessionId": self._session})

    async def close(self) -> None:
        """End it."""
        await self._process.close()

    async def _begin(self, report: Callable[[Report], None]) -> None:
        await self._process.open()
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            hello = await self._call(
                "initialize",
                {"protocolVersion": _PROTOCOL, "clientCapabilities": capabilities},
                report,
            )
            if hello.get("protocolVersion") != _PROTOCOL:
                raise ProgramLostError(f"it does not speak version {_PROTOCOL} of the protocol.")
            session = await self._call(
                "session/new", {"cwd": str(self._folder), "mcpServers": []}, report
            )
        self._session = _text(session.get("sessionId"))
        if not self._session:
            raise ProgramLostError("it gave its session no id.")

    async def _call(
        self, method: str, params: dict[str, Any], report: Callable[[Report], None]
    ) -> dict[str, Any]:
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
                if "error" in message:
                    told = one_line(str(message["error"]), 300)
                    raise ProgramLostError(f"it refuses {method}: {told}")
                result = message.get("result")
                return result if isinstance(result, dict) else {}

    async def _serve(self, message: dict[str, Any], report: Callable[[Report], None]) -> None:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        method = message.get("method")
        if method == "session/update":
            self._update(params.get("update"), report)
        elif method == "session/request_permission":
            await self._reply(message, {"outcome": self._permit(params, report)})
        elif "id" in message:
            error = {"code": _METHOD_NOT_FOUND, "message": f"There is no {method} here."}
            await self._process.send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _update(self, update: object, report: Callable[[Report], None]) -> None:
        if not isinstance(update, dict):
            return
        kind = _text(update.get("sessionUpdate"))
        if kind == "agent_message_chunk":
            text = _text_of(update.get("content"))
            self._said.append(text)
            report(Report(kind="said", text=text))
        elif kind == "agent_thought_chunk":
            report(Report(kind="thought", text=_text_of(update.get("content"))))
        elif kind in ("tool_call", "tool_call_update"):
            detail = f"{_text(update.get('toolCallId'))} {_text(update.get('status'))}".strip()
            report(Report(kind=kind, text=_text(update.get("title")), detail=detail))
        else:
            report(Report(kind="other", text=kind))

    def _permit(self, params: dict[str, Any], report: Callable[[Report], None]) -> dict[str, Any]:
        call = params.get("toolCall")
        call = call if isinstance(call, dict) else {}
        title = _text(call.get("title"))
        report(Report(kind="permission_asked", text=title))
        allowed = self._writes or _text(call.get("kind")) in _READS
        wanted = "allow_once" if allowed else "reject_once"
        options = params.get("options")
        for option in options if isinstance(options, list) else []:
            if isinstance(option, dict) and option.get("kind") == wanted:
                report(Report(kind="permission_answered", text=title, detail=wanted))
                return {"outcome": "selected", "optionId": option.get("optionId")}
        report(Report(kind="permission_answered", text=title, detail="cancelled"))
        return {"outcome": "cancelled"}

    async def _reply(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        await self._process.send({"jsonrpc": "2.0", "id": message.get("id"), "result": result})

    async def _notify(self, method: str, params: dict[str, Any]) -> None:
        await self._process.send({"jsonrpc": "2.0", "method": method, "params": params})


def _text(value: object) -> str:
    return storable(value)[:_TEXT_MAX] if isinstance(value, str) else ""


def _text_of(content: object) -> str:
    return _text(content.get("text")) if isinstance(content, dict) else ""
