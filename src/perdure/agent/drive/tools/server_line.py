"""One connection to a tool server, over the pipes of a process or over HTTP."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.agent.drive.tools.environment import scrubbed
from perdure.agent.drive.tools.pipe_transport import pipe_transport
from perdure.agent.drive.tools.process import Confinement, NotStartedError, Process
from perdure.agent.drive.tools.workspace import Workspace
from perdure.base.errors import EXIT_UNREACHABLE, KeyOrModelRefusedError, PerdureError
from perdure.base.text import one_line
from perdure.records.record import Record

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool as ListedTool

_STARTS_WITHIN_S = 60.0
_GRACE_S = 5.0
_PAGES_MAX = 20
_TOOLS_MAX = 256
_SCHEMA_BYTES_MAX = 64 * 1024
_LAST_WORDS_MAX = 400
_LAST_WORDS_KEPT = 1024 * 1024


class ServerError(PerdureError):
    """A tool server cannot be reached, or is not one."""

    exit_status = EXIT_UNREACHABLE
    code = "tool-server"


class StdioServer(Record):
    """A server that is started as a process, in the workspace, and spoken to over pipes.

    `environment` comes on top of what is passed on of ours, which holds no secret. `confinement`
    keeps it, like a command, to some folders; without, it may do what any program may.
    """

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = {}  # noqa: RUF012 - a record copies its defaults
    confinement: Confinement | None = None


class HttpServer(Record):
    """A server at an address. `key_env` names an environment variable with its bearer token."""

    name: str
    url: str
    key_env: str = ""


class ServerLine:
    """One connection, held open by a task of its own: what is opened in a task ends in it."""

    def __init__(self, at: StdioServer | HttpServer, workspace: Workspace) -> None:
        self._at = at
        self._workspace = workspace
        self._process: Process | None = None
        self._words = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - closed at the end
        self._over = asyncio.Event()
        self._keeper: asyncio.Task[None]
        self.client: Client
        self.listed: list[ListedTool] = []

    @classmethod
    async def to(cls, at: StdioServer | HttpServer, workspace: Workspace) -> ServerLine:
        """Make a connection, and list the tools.

        Raises:
            ServerError: there is none to be had.

        """
        line = cls(at, workspace)
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line._keeper = asyncio.create_task(line._keep(ready), name=f"tool server {at.name}")
        try:
            async with asyncio.timeout(_STARTS_WITHIN_S):
                await asyncio.shield(ready)
        except BaseException as error:
            said = line._last_words()
            await line.end(within_s=0)
            if isinstance(error, asyncio.CancelledError) or not isinstance(error, Exception):
                raise
            ready.cancel()
            why = str(error) or "it does not answer"
            raise ServerError(f"The tool server {at.name!r} is not there: {why}.{said}") from error
        return line

    @property
    def is_over(self) -> bool:
        """Whether it is known to be broken."""
        return self._over.is_set() or self._keeper.done()

    def schema_of(self, name: str) -> dict[str, Any] | None:
        """Give the arguments' schema of a tool as this connection lists it."""
        return next((tool.input_schema for tool in self.listed if tool.name == name), None)

    def trim(self) -> None:
        """Forget what the server said beside the protocol, if it is much."""
        if os.fstat(self._words.fileno()).st_size > _LAST_WORDS_KEPT:
            self._words.truncate(0)

    async def end(self, *, within_s: float) -> None:
        """Let it end by itself for so long, then end it. A cancellation is put off until then."""
        self._over.set()
        ending = asyncio.create_task(self._ended(within_s))
        cut: asyncio.CancelledError | None = None
        while not ending.done():
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError as error:
                cut = error
        ending.result()
        if cut is not None:
            raise cut

    async def _ended(self, within_s: float) -> None:
        if within_s:
            await asyncio.wait({self._keeper}, timeout=within_s)
        if self._process is not None:
            await self._process.kill()
        self._keeper.cancel()
        await asyncio.wait({self._keeper}, timeout=_GRACE_S)
        self._words.close()

    async def _keep(self, ready: asyncio.Future[None]) -> None:
        from mcp import Client  # noqa: PLC0415 - heavy

        try:
            async with Client(self._transport(), cache=None) as client:
                self.client = client
                self.listed = await _listed(client)
                if not ready.done():
                    ready.set_result(None)
                await self._over.wait()
        except Exception as error:  # noqa: BLE001 - told to whoever waits, whatever it is
            if not ready.done():
                ready.set_exception(_innermost(error))
        finally:
            self._over.set()
            if not ready.done():
                ready.cancel()
            elif not ready.cancelled():
                ready.exception()

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        if isinstance(self._at, HttpServer):
            async with _http_transport(self._at) as streams:
                yield streams
            return
        self._process = Process(
            self._at.command,
            folder=self._workspace.root,
            environment={**scrubbed(os.environ), **self._at.environment},
            confinement=self._at.confinement,
            output=self._words.fileno(),
            pipes=True,
        )
        try:
            async with pipe_transport(self._process, on_end=self._over.set) as streams:
                yield streams
        finally:
            await self._process.kill()

    def _last_words(self) -> str:
        with suppress(OSError, ValueError, NotStartedError):
            size = os.fstat(self._words.fileno()).st_size
            self._words.seek(max(size - _LAST_WORDS_MAX, 0))
            said = self._words.read(_LAST_WORDS_MAX).decode("utf-8", "replace").strip()
            return f" It said: {one_line(said, _LAST_WORDS_MAX)}" if said else ""
        return ""


@asynccontextmanager
async def _http_transport(at: HttpServer) -> AsyncIterator[Any]:
    import httpx2  # noqa: PLC0415 - heavy
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - heavy

    headers = {}
    if at.key_env:
        key = os.environ.get(at.key_env, "").strip()
        if not key:
            raise KeyOrModelRefusedError(
                "There is no key for a tool server.",
                where=f"environment variable {at.key_env}",
                remedy="Put the key there.",
            )
        headers["Authorization"] = f"Bearer {key}"
    timeout = httpx2.Timeout(30.0, read=300.0)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout) as http,
        streamable_http_client(at.url, http_client=http) as streams,
    ):
        yield streams


async def _listed(client: Client) -> list[ListedTool]:
    tools: list[ListedTool] = []
    cursor: str | None = None
    for _ in range(_PAGES_MAX):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    if cursor is not None or len(tools) > _TOOLS_MAX:
        raise ServerError(f"it lists more than {_TOOLS_MAX} tools")
    for tool in tools:
        if len(msgspec.json.encode(tool.input_schema)) > _SCHEMA_BYTES_MAX:
            raise ServerError(f"the schema of {one_line(tool.name)} is too large")
    return tools


def _innermost(error: BaseException) -> Exception:
    """Give the first error out of groups of them, which task groups make."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else ServerError(repr(error))
