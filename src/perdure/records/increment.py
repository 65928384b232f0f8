"""A reply while it is still being said, piece by piece. Shown, and never recorded."""

from __future__ import annotations

from perdure.records.record import Record
from perdure.records.tools import ToolCall


class Said(Record, tag="said"):
    """A piece of text, while the model is still saying it."""

    text: str


class Asked(Record, tag="asked"):
    """A call of a tool that is complete, in a reply that is not: the `index`-th, from 0."""

    index: int
    call: ToolCall


Increment = Said | Asked
