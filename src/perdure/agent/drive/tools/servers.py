"""Tool servers that speak the Model Context Protocol, over a pipe or over HTTP, and their tools.

    server = ToolServer(StdioServer(name="git", command=("mcp-server-git",)), workspace)
    bench = Bench([*file_tools(workspace), *await server.open()])

What a tool may do is for the configuration to say. Without it, a tool is taken to write anything
and to reach outside; what a server says of its own tools counts only if it is trusted.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.agent.drive.tools.permit import May
from perdure.agent.drive.tools.port import ANYTHING, Prepared, Traits
from perdure.agent.drive.tools.server_line import (
    HttpServer,
    ServerError,
    ServerLine,
    StdioServer,
)
from perdure.agent.drive.tools.signature import ArgumentsError, json_object
from perdure.agent.drive.tools.workspace import Workspace
from perdure.base.errors import UsageError
from perdure.base.text import one_line, storable
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, ToolCall, ToolSpec

if TYPE_CHECKING:
    from mcp_types import CallToolResult
    from mcp_types import Tool as ListedTool

DEADLINE_S = 120.0

_LEAVES_WITHIN_S = 2.0
_GRACE_S = 5.0
_RESTARTS_MAX = 3
_DESCRIPTION_MAX = 4000
_NAME_MAX = 64
# What the client itself says of a stream that broke off. A server may use the same number.
_CLOSED, _CUT_OFF = -32000, "SSE stream"
# How the client says that an answer is not what the protocol, or the tool's own schema, has.
_UNREADABLE = (ValueError, RuntimeError)

# What a tool may do that nobody has said anything of.
THE_WORST = May(effect=Effect.EGRESS, writes=ANYTHING, deletes=True)


class ServerTool:
    """One tool of a server."""

    def __init__(
        self, server: ToolServer, listed: ListedTool, *, name: str, traits: Traits
    ) -> None:
        self._server = server
        self._listed_name = listed.name
        self._traits = traits
        self._spec = ToolSpec(
            name=name,
            description=storable(listed.description or "")[:_DESCRIPTION_MAX],
            parameters=listed.input_schema,
        )

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model is shown it: its server's own words."""
        return self._spec

    @property
    def traits(self) -> Traits:
        """What holds of every call of it."""
        return self._traits

    def prepare(self, call: ToolCall) -> Prepared:
        """Read a call: an object, with every name that is required. The rest is the server's.

        Raises:
            ArgumentsError: what is wrong with its arguments.

        """
        read = json_object(call.arguments)
        schema = self._spec.parameters
        known = schema.get("properties", {})
        problems = [
            f"{name}: it is missing." for name in schema.get("required", ()) if name not in read
        ]
        if schema.get("additionalProperties") is False:
            there = ", ".join(known) or "none"
            problems += [
                f"{name}: there is no such name. There are: {there}."
                for name in read
                if name not in known
            ]
        if problems:
            raise ArgumentsError(problems)
        texts = [value for value in read.values() if isinstance(value, str)]
        return Prepared(read, self._traits.may, one_line(texts[0]) if texts else "")

    async def run(self, call: ToolCall, prepared: Prepared) -> ToolAnswer:  # noqa: ARG002 - the port
        """Call the server. If it dies under the call, nobody knows what the call did."""
        try:
            result = await self._server.call(self._listed_name, dict(prepared.arguments))
        except ServerLostError as lost:
            text = f"{self._spec.name}: the tool server was lost under the call ({lost.wrong})."
            if self._traits.may.effect is Effect.READ:
                return ToolAnswer(status=AnswerStatus.ERROR, text=text)
            text += " What it was to do may have happened: look before you go on."
            return ToolAnswer(status=AnswerStatus.UNKNOWN, text=text)
        except asyncio.CancelledError:
            # Nobody waits for it any more, so it is not to act any more either.
            if self._traits.may.effect is not Effect.READ:
                await self._server.kill()
            raise
        return _answer(result)

    async def close(self) -> tuple[str, ...]:
        """End the server, if that was not done yet. It is no command: it is not named."""
        await self._server.close()
        return ()


class ToolServer:
    """A server and the line to it. One that dies is started anew for the next call, a few times.

    `declared` says by a tool's own name what it may do. With `trusts_annotations`, a server's word
    that a tool only reads, and reaches nothing outside, is taken where nothing is declared.
    `only` leaves out all other tools. Names get `prefix`, by default the server's name.
    """

    def __init__(
        self,
        at: StdioServer | HttpServer,
        workspace: Workspace,
        *,
        declared: Mapping[str, May] | None = None,
        trusts_annotations: bool = False,
        only: tuple[str, ...] | None = None,
        prefix: str | None = None,
        deadline_s: float = DEADLINE_S,
        output_max: int | None = None,
        restarts_max: int = _RESTARTS_MAX,
    ) -> None:
        self._at = at
        self._workspace = workspace
        self._declared = dict(declared or {})
        self._trusts = trusts_annotations
        self._only = only
        self._prefix = f"{at.name}_" if prefix is None else prefix
        self._deadline_s = deadline_s
        self._output_max = output_max
        self._restarts_left = restarts_max
        self._shown: dict[str, dict[str, Any]] = {}
        self._line: ServerLine | None = None
        self._opening = asyncio.Lock()
        self._is_closed = False

    async def open(self) -> tuple[ServerTool, ...]:
        """Reach the server, and give its tools in the order in which it lists them.

        Raises:
            ServerError: it cannot be reached, or its list is not one.
            UsageError: a tool that is declared, or asked for, is not there.

        """
        line = await self._connected()
        listed = [tool for tool in line.listed if self._only is None or tool.name in self._only]
        names = {tool.name for tool in listed}
        missing = sorted({*self._declared, *(self._only or ())} - names)
        if missing:
            await self.close()
            raise UsageError(
                f"The tool server {self._at.name!r} has no tool {', '.join(missing)}.",
                remedy=f"There are: {', '.join(tool.name for tool in line.listed)}.",
            )
        self._shown = {tool.name: tool.input_schema for tool in listed}
        return tuple(
            ServerTool(self, tool, name=self._name_of(tool), traits=self._traits_of(tool))
            for tool in listed
        )

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool by the server's own name for it.

        Raises:
            ServerError: the server is not there, or answers with an error.
            ServerLostError: it went away under the call.

        """
        from mcp import MCPError  # noqa: PLC0415 - heavy

        line = await self._connected()
        if self._shown and self._shown[name] != line.schema_of(name):
            raise ServerError(
                f"The tool server {self._at.name!r} has another tool {name!r} by now."
            )
        line.trim()
        try:
            return await line.client.call_tool(name, arguments)
        except MCPError as error:
            if line.is_over or (error.code == _CLOSED and error.message.startswith(_CUT_OFF)):
                await self.kill()
                raise ServerLostError(one_line(error.message)) from error
            raise ServerError(
                f"The tool server answers with an error: {one_line(error.message, 500)}"
            ) from error
        except Exception as error:
            if isinstance(error, _UNREADABLE) and not line.is_over:
                raise ServerError(
                    "The tool server answered, and what it was to do may be done; but its answer"
                    f" is not one that can be read: {one_line(str(error), 500)}"
                ) from error
            await self.kill()
            raise ServerLostError(one_line(f"{type(error).__name__}: {error}")) from error

    async def kill(self) -> None:
        """End the line and the process behind it at once. The next call makes new ones."""
        line, self._line = self._line, None
        if line is not None:
            await line.end(within_s=0)

    async def close(self) -> None:
        """End the line in order, then the process with everything that it started."""
        self._is_closed = True
        line, self._line = self._line, None
        if line is not None:
            await line.end(within_s=_LEAVES_WITHIN_S)

    async def _connected(self) -> ServerLine:
        async with self._opening:
            if self._is_closed:
                raise ServerError(f"The tool server {self._at.name!r} is closed.")
            if self._line is not None and self._line.is_over:
                await self.kill()
            if self._line is None:
                if self._shown:
                    if self._restarts_left == 0:
                        raise ServerError(
                            f"The tool server {self._at.name!r} was lost too often: it stays away."
                        )
                    self._restarts_left -= 1
                self._line = await ServerLine.to(self._at, self._workspace)
            return self._line

    def _name_of(self, tool: ListedTool) -> str:
        return re.sub(r"[^A-Za-z0-9_-]", "_", f"{self._prefix}{tool.name}")[:_NAME_MAX]

    def _traits_of(self, tool: ListedTool) -> Traits:
        may = self._declared.get(tool.name)
        if may is None:
            may = _as_annotated(tool) if self._trusts else THE_WORST
        return Traits(
            may=may, deadline_s=self._deadline_s, grace_s=_GRACE_S, output_max=self._output_max
        )


class ServerLostError(ServerError):
    """The server went away under a call: nobody knows what the call did."""

    code = "tool-server-lost"


def _as_annotated(tool: ListedTool) -> May:
    said = tool.annotations
    if said is None or not said.read_only_hint:
        return THE_WORST
    # The protocol has it that a tool reaches outside unless that is denied.
    reaches_out = said.open_world_hint is not False
    return May(effect=Effect.EGRESS if reaches_out else Effect.READ)


def _answer(result: CallToolResult) -> ToolAnswer:
    parts = [_part(block.model_dump(mode="json", by_alias=True)) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [msgspec.json.encode(result.structured_content).decode()]
    status = AnswerStatus.ERROR if result.is_error else AnswerStatus.OK
    return ToolAnswer(status=status, text=storable("\n".join(parts)) or "[no output]")


def _part(block: Mapping[str, Any]) -> str:
    """Give a part of an answer as text; of what is none, what it is and how much."""
    kind = block.get("type", "part")
    if kind == "text":
        return str(block["text"])
    inner = block.get("resource", block)
    if isinstance(inner, dict) and "text" in inner:
        return str(inner["text"])
    told = inner.get("mimeType") or inner.get("uri") or ""
    size = len(str(inner.get("data") or inner.get("blob") or ""))
    return f"[{kind} {one_line(str(told))}, {size} characters of data that are not shown]"
