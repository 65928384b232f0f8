"""What moved between one request and the next, which is why an endpoint's cache missed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import compress

from perdure.agent.drive.prefix import Prefix
from perdure.base.canonical import encode
from perdure.records.drive import PromptShapeCompared, Region
from perdure.records.record import Record
from perdure.records.request import Message
from perdure.records.tools import ToolSpec


class Shape(Record):
    """One request, region by region."""

    segments: tuple[tuple[str, str], ...]
    tools: Region
    messages: tuple[Message, ...]
    conversation: Region
    upper_bound: int


def shape_of(prefix: Prefix, tools: Sequence[ToolSpec], messages: tuple[Message, ...]) -> Shape:
    """Measure a request."""
    told, said = _region(encode(tuple(tools))), _region(encode(messages))
    return Shape(
        segments=tuple((one.record.slot, one.record.sha256) for one in prefix.segments),
        tools=told,
        messages=messages,
        conversation=said,
        upper_bound=len(prefix.text.encode()) + told.size + said.size,
    )


def compared(
    shape: Shape, prior: Shape | None, *, run: str, t: int, turn: int
) -> PromptShapeCompared:
    """Say how a request differs from the one before it; what was added at its end moves nothing."""
    moved: tuple[str, ...] = ()
    if prior is not None:
        regions = [slot for slot, _ in shape.segments] + ["tools", "conversation"]
        segments = zip(shape.segments, prior.segments, strict=True)
        differs = [
            *(now != then for now, then in segments),
            shape.tools != prior.tools,
            shape.messages[: len(prior.messages)] != prior.messages,
        ]
        moved = tuple(compress(regions, differs))
    return PromptShapeCompared(
        run=run,
        t=t,
        turn=turn,
        tools=shape.tools,
        conversation=shape.conversation,
        upper_bound=shape.upper_bound,
        first=prior is None,
        moved=moved,
    )


def _region(data: bytes) -> Region:
    return Region(size=len(data), sha256=hashlib.sha256(data).hexdigest())
