"""The line to a tool server over the pipes of its process: one JSON message a line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from perdure.agent.drive.tools.process import Process

# A line that is longer is no message; it would be held in memory whole.
_LINE_MAX = 32 * 1024 * 1024


@asynccontextmanager
async def pipe_transport(process: Process, on_end: Callable[[], None]) -> AsyncIterator[Any]:
    """Give the streams that a client reads messages from and writes them to.

    `on_end` is called when the server's output ends: it is gone, or as good as.
    """
    import anyio  # noqa: PLC0415 - heavy, like what follows
    from mcp.shared.message import SessionMessage  # noqa: PLC0415
    from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415

    to_client, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    from_client, sent = anyio.create_memory_object_stream[SessionMessage](0)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LINE_MAX)
    protocol = asyncio.StreamReaderProtocol(reader)
    reading, _ = await loop.connect_read_pipe(lambda: protocol, process.output)
    writing, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.input)
    writer = asyncio.StreamWriter(writing, flow, None, loop)

    async def read() -> None:
        try:
            async for line in reader:
                try:
                    message: Any = SessionMessage(
                        jsonrpc_message_adapter.validate_json(line, by_name=False)
                    )
                except ValueError as error:
                    message = error
                await to_client.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, ValueError, OSError):
            return
        finally:
            # Before those who wait are woken: they ask whether it is the end.
            on_end()
            to_client.close()

    async def write() -> None:
        async with sent:
            async for message in sent:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    writer.write(text.encode() + b"\n")
                    await writer.drain()
                except OSError:
                    on_end()
                    await to_client.aclose()
                    return

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        try:
            yield received, from_client
        finally:
            reading.close()
            with suppress(OSError):
                writer.close()
            group.cancel_scope.cancel()
            received.close()
            from_client.close()
