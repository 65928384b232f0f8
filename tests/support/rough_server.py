"""A tool server without a library, which answers a call as its first argument says.

It reads and writes the lines of the protocol by hand, so that it can say what no library lets it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

TEXT = {"type": "text", "text": "poked"}
ANSWERS: dict[str, dict[str, Any]] = {
    "well": {"result": {"content": [TEXT]}},
    "error": {"error": {"code": -32000, "message": "no way"}},
    "without content": {"result": {}},
    "alien": {"result": {"content": [{"type": "alien", "x": 1}]}},
    "against its schema": {"result": {"content": [TEXT], "structuredContent": {"count": "two"}}},
}
POKE = {
    "name": "poke",
    "description": "Poke it.",
    "inputSchema": {"type": "object", "properties": {}},
}
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


def answer(message: dict[str, Any], mode: str) -> dict[str, Any]:
    """Give what is answered to a request."""
    if message["method"] == "initialize":
        return {
            "result": {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "rough", "version": "1"},
            }
        }
    if message["method"] == "tools/list":
        output = {"outputSchema": COUNT} if mode == "against its schema" else {}
        return {"result": {"tools": [{**POKE, **output}]}}
    if message["method"] == "tools/call":
        if mode == "gone":
            os._exit(9)
        return ANSWERS[mode]
    return {"error": {"code": -32601, "message": "there is no such method"}}


def serve(mode: str) -> None:
    """Answer until nobody asks any more."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and mode != "mute":
            said = {"jsonrpc": "2.0", "id": message["id"], **answer(message, mode)}
            sys.stdout.write(json.dumps(said) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
