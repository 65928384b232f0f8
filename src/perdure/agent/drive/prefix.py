"""The part of every request that never changes within a drive: four segments, frozen and hashed.

The most widely shared comes first, so that an endpoint's cache can keep it. Time, usage and
anything that arrives under way has no way in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from perdure.base.errors import InternalError
from perdure.records.drive import Segment, Skipped, SkipReason, Source
from perdure.records.record import Record

# What every agent is told, what is told of the place, of the agent itself, and of this run.
SLOTS = ("house", "place", "agent", "run")
# Two thousand tokens, at four bytes each, for all four.
BYTES_MAX = 8000

_CUT = "\n[… cut]\n"


class Document(Record):
    """A text for the prefix, by name; `data` is None where it could not be read."""

    name: str
    data: bytes | None


class FrozenSegment(Record):
    """One segment: its text, and what is recorded of it."""

    text: str
    record: Segment


class Prefix(Record):
    """The four segments, in the order of `SLOTS`."""

    segments: tuple[FrozenSegment, ...] = ()

    @property
    def text(self) -> str:
        """The system message of every request; empty segments leave no trace in it."""
        return "\n\n".join(segment.text for segment in self.segments if segment.text)

    @property
    def hashes(self) -> tuple[str, ...]:
        """The recorded hashes, in order."""
        return tuple(segment.record.sha256 for segment in self.segments)

    @property
    def breakpoints(self) -> tuple[str, ...]:
        """The edges worth caching at: where a segment that others share ends."""
        return tuple(one.record.slot for one in self.segments[:-1] if one.text)

    def require_frozen(self) -> None:
        """Check every text against its hash.

        Raises:
            InternalError: one is not what it was.

        """
        for segment in self.segments:
            if _sha256(segment.text) != segment.record.sha256:
                raise InternalError(f"The prefix segment {segment.record.slot!r} was altered.")


def freeze(documents: Mapping[str, Sequence[Document]], bytes_max: int = BYTES_MAX) -> Prefix:
    """Make the prefix of documents by slot, within a size that is split evenly over the slots.

    A document is in it once, in the first slot that names it. What is too long is cut with a
    visible mark; what does not fit at all, or cannot be read, is skipped, and recorded as such.

    Raises:
        InternalError: there is no such slot.

    """
    if unknown := set(documents) - set(SLOTS):
        raise InternalError(f"A prefix has no slot {min(unknown)!r}.")
    told: set[str] = set()
    return Prefix(
        segments=tuple(
            _segment(slot, documents.get(slot, ()), bytes_max // len(SLOTS), told) for slot in SLOTS
        )
    )


def _segment(slot: str, documents: Sequence[Document], room: int, told: set[str]) -> FrozenSegment:
    texts: list[str] = []
    sources: list[Source] = []
    skipped: list[Skipped] = []
    for document in documents:
        text, reason = _readable(document, room, told)
        if reason is not None:
            skipped.append(Skipped(name=document.name, reason=reason))
            continue
        told.add(document.name)
        kept, dropped = _fitted(text, room)
        texts.append(kept)
        size = len(kept.encode())
        room -= size
        sources.append(Source(name=document.name, kept=size, dropped=dropped))
    text = "\n\n".join(texts)
    return FrozenSegment(
        text=text,
        record=Segment(
            slot=slot,
            sha256=_sha256(text),
            size=len(text.encode()),
            sources=tuple(sources),
            skipped=tuple(skipped),
        ),
    )


def _readable(document: Document, room: int, told: set[str]) -> tuple[str, SkipReason | None]:
    if document.name in told:
        return "", SkipReason.DUPLICATE
    if document.data is None:
        return "", SkipReason.UNREADABLE
    try:
        text = document.data.decode()
    except UnicodeDecodeError:
        return "", SkipReason.NOT_UTF8
    if room <= len(_CUT):
        return "", SkipReason.NO_BUDGET
    return text, None


def _fitted(text: str, room: int) -> tuple[str, int]:
    """Cut a text to so many bytes, the mark included; say how many bytes of it are gone."""
    data = text.encode()
    if len(data) <= room:
        return text, 0
    kept = data[: room - len(_CUT.encode())].decode(errors="ignore")
    return kept + _CUT, len(data) - len(kept.encode())


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
