"""That server-sent events come out of bytes the same, wherever the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.inference.http.events import EventReader, ServerEvent

STREAM = (
    b"\xef\xbb\xbf: hello\n\ndata: one\n\nevent: error\ndata:two\ndata:  three\nid: 4\n\n"
    b"retry: 1\n\n:\n\ndata\n\ndata: \xe2\x98\x83 \xf0\x9f\x98\x80\n\nnothing\n\ndata: cut"
)
EVENTS = [
    ServerEvent(b"", b"one"),
    ServerEvent(b"error", b"two\n three"),
    ServerEvent(b"", b""),
    ServerEvent(b"", "\u2603 \U0001f600".encode()),
]


def read(pieces: list[bytes]) -> list[ServerEvent]:
    """Feed pieces, and give all events."""
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
@given(cuts=st.lists(st.integers(0, len(STREAM) * 2), max_size=40))
def test_where_bytes_are_cut_decides_nothing(ending: bytes, cuts: list[int]) -> None:
    """Inside characters, line endings, names and marks: the events are the same."""
    data = STREAM.replace(b"\n", ending)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    assert read([data[start:end] for start, end in pairwise(places)]) == EVENTS
    assert read([data[at : at + 1] for at in range(len(data))]) == EVENTS


def test_what_the_end_cuts_off_is_no_event() -> None:
    """An event ends with an empty line; only the mark of the very end may go without."""
    reader = EventReader()
    assert reader.feed(b"data: x\n\ndata: [DONE]") == [ServerEvent(b"", b"x")]
    assert reader.ended_with(b"[DONE]")
    reader.feed(b"\n")
    assert reader.ended_with(b"[DONE]")
    reader.feed(b"data: more")
    assert not reader.ended_with(b"[DONE]")
    assert not EventReader().ended_with(b"[DONE]")


@pytest.mark.parametrize(
    ("data", "is_foreign"),
    [
        (b"not json at all", True),
        (b"}{ nonsense\n", True),
        (b"<html>\n<body>\n", True),
        (b'{"choices": []}', True),
        (b"", False),
        (b"\n\r\n", False),
        (b": kept alive\n\n", False),
        (b"da", False),
        (b'data: {"choi', False),
        (b"data: x\n\nnonsense\n", False),
        (b"retry: 10\n", False),
    ],
)
def test_what_is_no_stream_is_told_from_one_that_was_cut(data: bytes, *, is_foreign: bool) -> None:
    """Wherever it is cut, a stream is one; what has no event and is none never was."""
    whole, bytewise = EventReader(), EventReader()
    whole.feed(data)
    for at in range(len(data)):
        bytewise.feed(data[at : at + 1])
    assert whole.is_foreign is bytewise.is_foreign is is_foreign


def test_what_is_held_is_counted() -> None:
    """Whoever reads knows how much an event without an end has come to."""
    reader = EventReader()
    reader.feed(b"data: " + b"x" * 1000)
    reader.feed(b"x" * 1000)
    assert reader.pending == 2006
    reader.feed(b"\n\ndata: y")
    assert reader.pending == 7


def test_a_long_event_is_gone_through_once() -> None:
    """Bytes without a line ending are put by: what they cost does not grow with their square."""
    reader = EventReader()
    for _ in range(20_000):
        reader.feed(b"x" * 100)
    assert reader.pending == 2_000_000
    assert len(reader._left) == 20_000
