"""The tools of an agent that is driven alone, made ready in the order in which it is shown them."""

from __future__ import annotations

import shlex
import shutil
from contextlib import AsyncExitStack
from typing import Annotated

from msgspec import Meta

from perdure.agent.drive.harness import Program
from perdure.agent.drive.tools.bench import Bench
from perdure.agent.drive.tools.command import CommandTool, NoSandboxError
from perdure.agent.drive.tools.files import file_tools
from perdure.agent.drive.tools.function import tool
from perdure.agent.drive.tools.port import Tool
from perdure.agent.drive.tools.process import Confinement
from perdure.agent.drive.tools.programs import AcpProgram, LineProgram, ProgramProcess
from perdure.agent.drive.tools.server_line import HttpServer, ServerError, StdioServer
from perdure.agent.drive.tools.servers import ToolServer
from perdure.agent.drive.tools.warden import missing
from perdure.agent.drive.tools.workspace import Workspace
from perdure.base.errors import (
    InternalError,
    KeyOrModelRefusedError,
    PerdureError,
    UsageError,
)
from perdure.records.alone import Asked
from perdure.records.tools import Effect
from perdure.study.findings import quoted

_ADDRESSES = ("http://", "https://")
_KEY_MARK = "#key-env="


@tool(effect=Effect.SPAWN, subject="task")
def hand_down(
    task: Annotated[str, Meta(description="What is to be done, in full.", min_length=1)],
) -> str:
    """Hand a piece of the work to an agent of its own, which works in the same place.

    It knows nothing of what was said here. Its report comes when it has ended.
    """
    raise InternalError(f"A drive starts who works on this, and no tool does: {task}")


async def furnished(asked: Asked, room: Workspace, opened: AsyncExitStack) -> Bench:
    """Lay out the tools that are asked for; what has to be closed is closed with `opened`.

    Raises:
        UsageError: a server's line cannot be read, or two tools have one name.
        ServerError: a server is not there.
        NoSandboxError: commands cannot be confined, and nobody said that they need not be.

    """
    wanted = asked.tools
    files = file_tools(room)
    reads = [one for one in files if one.traits.may.effect is Effect.READ]
    tools: list[Tool] = [*(files if asked.policy.writes else reads)]
    if wanted.commands and asked.policy.writes:
        tools.append(CommandTool(room, egress=asked.policy.egress, unsandboxed=wanted.unsandboxed))
    tools += await _of_servers(asked, room, opened)
    if wanted.hands_down:
        tools.append(hand_down)
    return Bench(tools, place=asked.place)


async def _of_servers(asked: Asked, room: Workspace, opened: AsyncExitStack) -> list[Tool]:
    """Open all servers, and give their tools; those that are not there are named together."""
    tools: list[Tool] = []
    failed: list[PerdureError] = []
    for name, line in asked.tools.servers.items():
        trusted = name in asked.tools.trusted
        server = ToolServer(require_server(name, line), room, trusts_annotations=trusted)
        opened.push_async_callback(server.close)
        try:
            tools += [_Lent(one) for one in await server.open()]
        except (ServerError, KeyOrModelRefusedError, UsageError) as error:
            failed.append(error)
    if len(failed) == 1:
        raise failed[0]
    if failed:
        listed = "".join(f"\n- {error}" for error in failed)
        raise ServerError(f"{len(failed)} tool servers cannot be used:{listed}")
    return tools


class _Lent:
    """A server's tool for a drive and for those within it: none of their ends closes the server."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self.spec = tool.spec
        self.traits = tool.traits
        self.prepare = tool.prepare
        self.run = tool.run

    async def close(self) -> tuple[str, ...]:
        """Leave the server to whoever opened it."""
        return ()


def program_for(asked: Asked, room: Workspace) -> Program:
    """Make the program ready that drives itself. It is started with its first turn.

    Raises:
        UsageError: its command line cannot be read.
        NoSandboxError: it cannot be confined, and nobody said that it need not be.

    """
    command = require_command("The command of the program", asked.program)
    confinement = None
    if not asked.tools.unsandboxed:
        if why := missing():
            raise NoSandboxError.because(why)
        writable = (str(room.root),) if asked.policy.writes else ()
        confinement = Confinement(writable=writable, egress=asked.policy.egress)
    process = ProgramProcess(command, folder=room.root, confinement=confinement)
    if asked.speaks == "lines":
        return LineProgram(process)
    policy = asked.policy
    return AcpProgram(process, room.root, writes=policy.writes, egress=policy.egress)


def require_command(what: str, line: str) -> tuple[str, ...]:
    """Split a command line into its words. A path that is relative is one of the room.

    Raises:
        UsageError: it cannot be read, or there is no such program.

    """
    try:
        command = tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"{what} cannot be read: {error}.") from error
    if not command:
        raise UsageError(f"{what} is empty.")
    program = command[0]
    is_of_room = "/" in program and not program.startswith("/")
    if not is_of_room and shutil.which(program) is None:
        raise UsageError(f"{what} names a program that is not there: {quoted(program)}.")
    return command


def require_server(name: str, line: str) -> StdioServer | HttpServer:
    """Read where a tool server is: at an address, or behind a command.

    Raises:
        UsageError: it cannot be read, or there is no such program.

    """
    if line.startswith(_ADDRESSES):
        url, _, key_env = line.partition(_KEY_MARK)
        return HttpServer(name=name, url=url, key_env=key_env)
    what = f"The command of the tool server {quoted(name)}"
    return StdioServer(name=name, command=require_command(what, line))
