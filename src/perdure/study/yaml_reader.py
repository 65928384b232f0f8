"""Reads YAML from its event stream, as text that may be hostile.

No library code builds a value here. Aliases, anchors, tags, directives and duplicate keys are
refused; depth, nodes and bytes are bounded; and no scalar is guessed to be a number, a date or a
truth value: all of them stay text until the schema says what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.scanner import Scanner

from perdure.base import text
from perdure.study.findings import Findings, quoted
from perdure.study.nodes import Entry, Items, Node, Scalar, Table, Void

BYTES_MAX = 500_000
DEPTH_MAX = 20
NODES_MAX = 10_000
LINES_MAX = 20_000

# In the file itself: control characters, and line breaks that most editors do not count, with which
# a line number would mean two things.
_STRANGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]|\r(?!\n)")
# What an escape such as "\x00" or "\ud800" can bring in: control characters and half characters.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class _Stopped(Exception):  # noqa: N818 - it ends a walk and never leaves this file
    """Reading cannot go on; the reason is among the findings."""


class _Events(Reader, Scanner, Parser):
    """PyYAML's reader, scanner and parser, without the parts that build values."""

    def __init__(self, document: str) -> None:
        Reader.__init__(self, document)
        Scanner.__init__(self)
        Parser.__init__(self)


def read_yaml(data: bytes, found: Findings, *, start: str = "perdure: 1") -> Node | None:
    """Read one YAML document into a tree; problems go to `found`. None if there is no tree.

    `start` is what such a file starts with.
    """
    document = _decode(data, found)
    if document is None:
        return None
    try:
        return _Walk(document, found, start).document()
    except _Stopped:
        return None


def _decode(data: bytes, found: Findings) -> str | None:
    if len(data) > BYTES_MAX:
        found.add(0, f"The file has more than {BYTES_MAX:,} bytes.", "Keep data in a CSV file.")
        return None
    try:
        document = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found.add(line, "The file is not valid UTF-8.", "Save it with the encoding UTF-8.")
        return None
    if document.count("\n") > LINES_MAX:
        found.add(0, f"The file has more than {LINES_MAX:,} lines.", "Keep data in a CSV file.")
        return None
    match = _STRANGE.search(document)
    if match is not None:
        line = document.count("\n", 0, match.start()) + 1
        found.add(line, f"The file contains the character {match.group()!a}.", "Remove it.")
        return None
    return document


class _Walk:
    """One pass over the events of a document."""

    def __init__(self, document: str, found: Findings, start: str) -> None:
        self._found = found
        self._start = start
        self._nodes = 0
        self._events = self._stream(document)

    def _stream(self, document: str) -> Iterator[yaml.Event]:
        source: _Events | None = None
        try:
            source = _Events(document)
            while source.check_event():
                yield source.get_event()  # type: ignore[no-untyped-call]
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self._syntax(mark.line + 1 if mark else 0, error.problem or "unreadable")
        except ReaderError as error:
            line = document.count("\n", 0, error.position) + 1
            self._syntax(line, error.reason)
        except (ValueError, OverflowError) as error:
            # PyYAML passes an escape such as "\UFFFFFFFF" to chr() unchecked.
            self._syntax(source.line + 1 if source else 0, str(error))

    def _syntax(self, line: int, reason: str) -> None:
        wrong = f"The file is not YAML: {text.one_line(reason)}."
        remedy = "Check indentation, colons and quotes here; put text with `: ` or ` #` in quotes."
        if reason.endswith("but got '?'"):
            remedy = "Within braces or brackets put a text that has a `?` in quotes."
        self._found.add(line, wrong, remedy)
        raise _Stopped

    def _next(self) -> yaml.Event:
        event = next(self._events, None)
        if event is None:
            self._syntax(0, "it ends too early")
        assert event is not None
        return event

    def document(self) -> Node | None:
        self._next()
        start = self._next()
        if isinstance(start, yaml.StreamEndEvent):
            self._found.add(1, "The file is empty.", f"Start with `{self._start}`.")
            return None
        assert isinstance(start, yaml.DocumentStartEvent)
        if start.version or start.tags:
            self._found.add(_line(start), "The file has a `%` directive.", "Remove it.")
        root = self._node(self._next(), 1)
        self._next()
        end = self._next()
        if not isinstance(end, yaml.StreamEndEvent):
            self._found.add(
                _line(end), "The file has a second document.", "Keep one; remove `---`."
            )
        return root

    def _node(self, event: yaml.Event, depth: int) -> Node:
        self._nodes += 1
        line = _line(event)
        if self._nodes > NODES_MAX:
            self._found.add(
                line, f"The file has more than {NODES_MAX:,} values.", "Make it smaller."
            )
            raise _Stopped
        if depth > DEPTH_MAX:
            wrong = f"The file is nested more than {DEPTH_MAX} levels deep."
            self._found.add(line, wrong, "Flatten it; check brackets.")
            raise _Stopped
        if isinstance(event, yaml.AliasEvent):
            wrong = f"The alias {quoted('*' + str(event.anchor))} is not allowed."
            self._found.add(
                line, wrong, "Write the value out (text that starts with `*`: in quotes)."
            )
            return Void(line)
        return self._value(event, depth, refused=self._marked(event))

    def _marked(self, event: yaml.Event) -> bool:
        line = _line(event)
        anchor = getattr(event, "anchor", None)
        tag = getattr(event, "tag", None)
        if anchor is not None:
            wrong = f"The anchor {quoted('&' + str(anchor))} is not allowed."
            self._found.add(line, wrong, "Remove it (text that starts with `&`: in quotes).")
        if tag is not None:
            wrong = f"The tag {quoted(str(tag))} is not allowed."
            self._found.add(line, wrong, "Remove it (text that starts with `!`: in quotes).")
        return anchor is not None or tag is not None

    def _value(self, event: yaml.Event, depth: int, *, refused: bool) -> Node:
        node: Node
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._items(_line(event), depth)
        else:
            assert isinstance(event, yaml.MappingStartEvent)
            node = self._table(_line(event), depth)
        return Void(node.line) if refused else node

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        line, value = _line(event), str(event.value)
        match = _CONTROL.search(value)
        if match is not None:
            wrong = f"A text contains the character {match.group()!a}."
            self._found.add(line, wrong, "Remove the escape.")
            return Void(line)
        return Scalar(line, value)

    def _items(self, line: int, depth: int) -> Node:
        nodes: list[Node] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            nodes.append(self._node(event, depth + 1))
        return Items(line, tuple(nodes))

    def _table(self, line: int, depth: int) -> Node:
        entries: dict[str, Entry] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            plain = isinstance(event, yaml.ScalarEvent) and event.implicit[0]
            if plain and isinstance(key, Scalar) and key.text == "<<":
                self._found.add(key.line, "The merge key `<<` is not allowed.", "Write it out.")
                key = Void(key.line)
            value = self._node(self._next(), depth + 1)
            if isinstance(key, Items | Table):
                self._found.add(key.line, "A key is a list or a mapping.", "Write a plain word.")
            elif isinstance(key, Scalar):
                self._enter(entries, Entry(key.text, key.line, value))
        return Table(line, tuple(entries.values()))

    def _enter(self, entries: dict[str, Entry], entry: Entry) -> None:
        first = entries.setdefault(entry.key, entry)
        if first is not entry:
            wrong = f"The key {quoted(entry.key)} is already on line {first.line}."
            self._found.add(entry.line, wrong, "Keep one of the two.")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 0
