"""A figure of a report shown: its values, how they come about, and the events that they rest on.

Events stream: they are written as they are read, and never held, however many there are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from perdure.analysis.address import read_address
from perdure.analysis.document import Block
from perdure.analysis.evidence import Evidence, Part
from perdure.analysis.report import build_report
from perdure.analysis.rescored import RescoredSource
from perdure.analysis.resolved import Resolved, resolve
from perdure.base.text import one_line, printable
from perdure.cli.figures import UNKNOWN, count, plural
from perdure.cli.output import as_tree, show, write_out
from perdure.cli.record import opened
from perdure.cli.report import scores_of
from perdure.cli.tables import folded, verbatim
from perdure.records.events import KIND_OF, Event
from perdure.records.registry import LOG_KIND_OF
from perdure.records.study import Study
from perdure.trace.reader import RunReader

EVENTS_MAX = 20
_LINES_MAX = 40
_TEXT_MAX = 200
_PIECES_AT_ONCE = 500


def show_figure(
    folder: Path, name: str, *, beside: Path | None, every: bool, scores: str, as_json: bool
) -> None:
    """Show the figure at an address.

    Raises:
        UsageError: a folder holds no run, or there is no such figure; names the nearest.
        DamagedRecordError: a record does not hold what was written.

    """
    wanted = read_address(name)
    with ExitStack() as stack:
        record = stack.enter_context(opened(folder))
        other = stack.enter_context(opened(beside)) if beside is not None else None
        again = scores_of(folder, scores) if scores else None
        source = record if again is None else RescoredSource(record, folder, again)
        report = build_report(source, grouped_by=wanted.filters.get("by", ""), beside=other)
        study = msgspec.json.decode(source.entry.study, type=Study)
        found = resolve(report, study, wanted)
        evidence = Evidence(source, found.narrow)
        if as_json:
            _write(_document(record, found, evidence))
            return
        show(*_lead(record, found, str(folder)))
        _write(_lists(found, evidence, every=every))


def _write(pieces: Iterable[str]) -> None:
    """Write pieces of text, some at once."""
    held: list[str] = []
    for piece in pieces:
        held.append(piece)
        if len(held) == _PIECES_AT_ONCE:
            write_out("".join(held))
            held.clear()
    write_out("".join(held))


def _rows(record: RunReader, found: Resolved) -> Iterator[tuple[int, str, Any]]:
    for number, row in enumerate(record.log):
        if (kind := LOG_KIND_OF[type(row)]) in found.figure.rows:
            yield number, kind, row


def _document(record: RunReader, found: Resolved, evidence: Evidence) -> Iterator[str]:
    """Write a figure as one JSON document, a piece at a time."""
    head = {
        "run_id": record.entry.run_id,
        "address": found.figure.address,
        "filters": {name: value for name, value in found.narrow._asdict().items() if value},
        "says": found.figure.says,
        "how": found.figure.how,
        "values": [{"at": at, "value": as_tree(value)} for at, value in found.values],
        "unmeasured": [{"at": at, "why": why} for at, why in found.reasons],
        "beside": list(found.figure.beside),
        "rows": [
            {"row": f"run log:{number}", "kind": kind, "payload": as_tree(row)}
            for number, kind, row in _rows(record, found)
        ],
    }
    yield f'{_json(head)[:-1]}, "parts": ['
    for place, part in enumerate(found.figure.parts):
        yield f"{', ' if place else ''}{_json({'name': part.name, 'says': part.says})[:-1]}"
        yield ', "ids": ['
        kinds: Counter[str] = Counter()
        for world, event in evidence.events(part):
            yield f"{', ' if kinds else ''}{_json(f'{world}:{event.seq}')}"
            kinds[KIND_OF[type(event.payload)]] += 1
        yield f'], "events": {kinds.total()}, "kinds": {_json(dict(sorted(kinds.items())))}}}'
    yield "]}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False).replace("\x7f", "\\u007f")


def _lead(record: RunReader, found: Resolved, folder: str) -> Iterator[Block]:
    figure = found.figure
    yield folded(figure.address, style="bold")
    yield folded(figure.says)
    yield verbatim(f"{folder}, run {record.entry.run_id}")
    narrow = ", ".join(f"{name} {value}" for name, value in found.narrow._asdict().items() if value)
    if narrow:
        yield folded(f"Narrowed to {narrow}.")
    told = [line for at, value in found.values for line in _told(at, value)]
    yield from _listed("Values", told)
    why = [f"{at}: {why}" if at else why for at, why in found.reasons]
    yield from _listed("Not measured, and why", why)
    yield from _listed("How it is computed", [figure.how] if figure.at else [])
    rows = [
        f"run log:{number} ({kind}) {', '.join(_told('', row))}"
        for number, kind, row in _rows(record, found)
    ]
    yield from _listed("From what is no event", [*figure.beside, *rows])


def _listed(name: str, lines: Sequence[str]) -> Iterator[Block]:
    if not lines:
        return
    yield folded(f"\n{name}", style="bold")
    for line in lines[:_LINES_MAX]:
        yield folded(line, indent=2)
    if len(lines) > _LINES_MAX:
        yield folded(f"{count(len(lines) - _LINES_MAX)} more: --json.", indent=2)


def _told(at: str, value: object) -> Iterator[str]:
    """Tell a value in lines: what is plain in one, what is in it under it."""
    tree = as_tree(value)
    yield from _told_tree(at, tree)


def _told_tree(at: str, tree: Any) -> Iterator[str]:
    start = f"{at}: " if at else ""
    if isinstance(tree, list) and not any(isinstance(one, (dict, list)) for one in tree):
        yield f"{start}{', '.join(map(_plain, tree)) or 'none'}"
    elif isinstance(tree, (dict, list)):
        items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree))
        plain = [
            f"{name} {_plain(inner)}"
            for name, inner in items
            if not isinstance(inner, (dict, list)) and inner != ""
        ]
        if plain:
            yield f"{start}{', '.join(plain)}"
        for name, inner in items:
            if isinstance(inner, (dict, list)) and inner:
                yield from _told_tree(f"{at}/{name}" if at else str(name), inner)
    else:
        yield f"{start}{_plain(tree)}"


def _plain(value: object) -> str:
    if value is None:
        return UNKNOWN
    return one_line(value, _TEXT_MAX) if isinstance(value, str) else str(value)


def _lists(found: Resolved, evidence: Evidence, *, every: bool) -> Iterator[str]:
    """List the events of each part: the first ones and how many there are, or every one."""
    if not found.figure.parts:
        yield "\nIt rests on no event.\n"
    for part in found.figure.parts:
        yield from _list(part, evidence, every=every)


def _list(part: Part, evidence: Evidence, *, every: bool) -> Iterator[str]:
    first: list[str] = []
    kinds: Counter[str] = Counter()
    yield printable(f"\n{part.name.replace('_', ' ').capitalize()}: {part.says}\n")
    for world, event in evidence.events(part):
        kinds[KIND_OF[type(event.payload)]] += 1
        if every:
            yield _line(world, event)
        elif len(first) < EVENTS_MAX:
            first.append(_line(world, event))
    yield from first
    number = kinds.total()
    more = number - len(first)
    if more and not every:
        yield f"  and {count(more)} more: --all\n"
    by_kind = ", ".join(f"{name.replace('_', ' ')} {count(n)}" for name, n in sorted(kinds.items()))
    yield f"  {plural(number, 'event')}{f': {by_kind}' if by_kind else ''}\n"


def _line(world: str, event: Event) -> str:
    whose = f" of {event.persona}" if event.persona else ""
    kind = KIND_OF[type(event.payload)].replace("_", " ")
    return printable(f"  {world}:{event.seq}  {kind}{whose}, tick {event.tick}\n")
