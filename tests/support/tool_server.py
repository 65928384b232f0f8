"""A real tool server for tests: `python -m tests.support.tool_server [PORT]`, else over pipes."""

from __future__ import annotations

import asyncio
import atexit
import os
import subprocess
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("support")
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


@server.tool(annotations=READS)
async def look(text: str) -> str:
    """Give a text back."""
    return text


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def fetch() -> str:
    """Read something that is outside."""
    return "fetched"


@server.tool()
def put(text: str) -> str:
    """Write a text into a file of the working folder."""
    with Path("put.txt").open("a", encoding="utf-8") as file:
        file.write(text)
    return "put"


@server.tool(annotations=READS)
async def fail() -> str:
    """Fail."""
    raise ValueError("it was asked to fail")


@server.tool(annotations=READS)
async def big(length: int) -> str:
    """Give a long text."""
    return "é" * length


@server.tool(annotations=READS)
async def hang() -> str:
    """Never come back."""
    await asyncio.Event().wait()
    return ""


@server.tool()
async def spoil(seconds: float) -> str:
    """Write a file a while later, unless it is ended before."""
    Path("spoil.begun").touch()  # noqa: ASYNC240 - it is the moment that counts
    await asyncio.sleep(seconds)
    Path("spoil.txt").touch()  # noqa: ASYNC240
    return "spoilt"


@server.tool(annotations=READS)
async def die(text: str = "") -> str:
    """End the server under the call."""
    sys.stderr.write(text)
    os._exit(9)


@server.tool()
def leave(seconds: str) -> str:
    """Start a process that outlives its parent, in a session of its own."""
    subprocess.Popen(["setsid", "sleep", seconds])
    return str(os.getpid())


@server.tool(annotations=READS)
async def environment() -> dict[str, str]:
    """Tell the environment."""
    return dict(os.environ)


@server.tool()
async def note_the_end() -> str:
    """Write a file when the server ends in order."""
    atexit.register(Path("ended").touch)
    return "noted"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
