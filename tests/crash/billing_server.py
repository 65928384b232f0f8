"""An endpoint on loopback that bills by its own books, whatever comes of a call.

It bills every request that it has read to its end, unless it turns it away: those that it answers,
those that it answers too late or not at all, those that it breaks off or answers with an error.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from hashlib import sha256
from typing import Any, Self

INPUT, OUTPUT = 3, 15  # nano-units a token
_BYTES_PER_TOKEN = 4


class BillingServer:
    """Answers chat requests by content and how often that came; `unruly` is the share that fail."""

    def __init__(self, *, unruly: float = 0.0, latency_s: float = 0.004, late_s: float = 5.0):
        self.unruly = unruly
        self.latency_s = latency_s
        self.late_s = late_s
        self.billed = 0
        self.dearest = 0
        self.requests: list[dict[str, Any]] = []
        self._asked: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._exchanges: set[asyncio.Task[None]] = set()
        self.base_url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def _close(self) -> None:
        self._server.close()
        for exchange in self._exchanges:
            exchange.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._exchanges.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._exchanges.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (
                int(line.split(b":")[1])
                for line in head.lower().splitlines()
                if line.startswith(b"content-length:")
            ),
            0,
        )
        body = await reader.readexactly(length)
        if head.startswith(b"GET"):
            await self._reply(writer, 200, {"data": [{"id": "test-model"}]})
            return True
        return await self._answer(json.loads(body), writer)

    async def _answer(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        self.requests.append(request)
        said = "".join(message["content"] for message in request["messages"])
        self._asked[said] += 1
        # By what it is asked, and how often: not by the order in which calls happen to come.
        draw = sha256(f"{said}{self._asked[said]}".encode()).digest()
        usage = {
            "prompt_tokens": len(said.encode()) // _BYTES_PER_TOKEN + 8,
            "completion_tokens": 1 + draw[0] % request["max_tokens"],
        }
        usage["total_tokens"] = sum(usage.values())
        fault = draw[1] % 6 if draw[2] < 256 * self.unruly else -1
        await asyncio.sleep(self.latency_s * (0.5 + draw[3] / 256))
        if fault == 0:
            await self._reply(writer, 429, {"error": "later"})
            return True
        cost = usage["prompt_tokens"] * INPUT + usage["completion_tokens"] * OUTPUT
        self.billed += cost
        self.dearest = max(self.dearest, cost)
        if fault == 1:
            await self._reply(writer, 500, {"error": "broken", "usage": usage})
        elif fault == 2:
            await self._reply(writer, 502, {"error": "broken"})
        elif fault == 3:
            await self._reply(writer, 200, {"choices": "none"})
        elif fault == 4:
            return False
        elif fault == 5:
            await asyncio.sleep(self.late_s)
            return False
        else:
            text = ["Ada Hill. I agree.", "Ben Cole. I disagree."][draw[4] % 2]
            choice = {"message": {"content": text}, "finish_reason": "stop"}
            await self._reply(
                writer, 200, {"model": "test-model", "choices": [choice], "usage": usage}
            )
        return True

    async def _reply(self, writer: asyncio.StreamWriter, status: int, tree: object) -> None:
        body = json.dumps(tree).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
