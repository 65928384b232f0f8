"""How closures, verdicts and differences are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perdure.analysis.document import Block
from perdure.cli.figures import count, plural
from perdure.cli.tables import heading, paragraph, table, verbatim
from perdure.closure.check import Standing, Verdict
from perdure.closure.compare import Difference, Differences, Part
from perdure.closure.facts import Unknown
from perdure.closure.graph import LOADED, STARTUP, Edge
from perdure.closure.listing import Listing

_DOUBTS_SHOWN = 5
_SAID = {
    Standing.FROZEN: "frozen: the program reaches it",
    Standing.SAFE: "safe: it can be edited while the program runs",
    Standing.UNKNOWN: "unknown: treat it as frozen",
}
_ALONE = {
    "entry": "it is an entry",
    STARTUP: "Python loads it by itself when it starts",
    LOADED: "a process of this program loaded it",
}


def listing_parts(found: Listing) -> Iterator[Block]:
    """Draw a closure: its modules with why they are in it, and what could not be followed."""
    closure = found.closure
    yield paragraph(
        f"{plural(len(closure.modules), 'module')} reached from {', '.join(closure.entries)}\n",
        style="bold",
    )
    yield table(
        ["module", "because of"],
        [[name, _because(closure.because[name])] for name in closure.modules],
        left=2,
    )
    yield paragraph(
        f"Python {found.fingerprint.python} and its standard library are part of it too.", indent=2
    )
    if closure.distributions:
        yield heading("Installed, and not followed")
        yield table(["distribution", "version"], [list(p) for p in closure.distributions.items()])
    if found.fingerprint.files:
        yield heading("Files that count")
        yield table(["file", "SHA-256"], [[n, h[:12]] for n, h in found.fingerprint.files.items()])
    if closure.absent:
        yield heading("Not there, which the program expects")
        for edge in closure.absent:
            yield verbatim(f"  {edge.imported}    {_place(edge)}")
    if closure.unknown:
        yield heading("Unknown: these imports could not be followed")
        for unknown in closure.unknown:
            yield paragraph(_doubt(unknown), indent=2)


def verdict_parts(verdicts: Iterable[Verdict], *, whole_way: bool) -> Iterator[Block]:
    """Draw what names stand for; the way to each, in full if it was asked for."""
    for verdict in verdicts:
        yield paragraph(f"{verdict.name}: {_SAID[verdict.standing]}", style="bold")
        if verdict.said:
            yield paragraph(verdict.said, indent=2)
        if len(verdict.frozen) > 1 and verdict.way:
            yield paragraph(
                f"{count(len(verdict.frozen))} of {count(verdict.modules)} modules are reached, "
                f"the first of them {verdict.way[-1].imported}",
                indent=2,
            )
        if whole_way:
            for edge in verdict.way:
                yield verbatim(f"  {edge.imported}    {_because(edge)}")
        elif verdict.way:
            yield paragraph(_because(verdict.way[-1]), indent=2)
        for unknown in verdict.doubts[:_DOUBTS_SHOWN]:
            yield paragraph(_doubt(unknown), indent=2)
        left = len(verdict.doubts) - _DOUBTS_SHOWN
        if left > 0:
            yield paragraph(
                f"and {plural(left, 'more import')} that could not be followed", indent=2
            )


def difference_parts(found: Differences) -> Iterator[Block]:
    """Draw what moved, each module with its diff."""
    if found.is_same:
        yield paragraph("Nothing moved.")
    for difference in found.refusing:
        yield from _difference(difference, "moved")
    for difference in found.warning:
        yield from _difference(difference, "moved, which is only a warning")
    for difference in found.unknown:
        yield from _difference(
            difference, "moved, and it is unknown whether the program reaches it"
        )


def _difference(found: Difference, what: str) -> Iterator[Block]:
    if found.part in {Part.PYTHON, Part.DISTRIBUTIONS}:
        yield paragraph(
            f"{found.name}: {what}, from {found.old or 'absent'} to {found.new or 'absent'}",
            style="bold",
        )
        return
    if not found.old:
        what = what.replace("moved", "is new")
    elif not found.new:
        what = what.replace("moved", "is gone")
    yield paragraph(f"{found.name}: {what}", style="bold")
    if found.diff:
        yield verbatim(found.diff)


def _because(edge: Edge) -> str:
    if not edge.importer:
        return _ALONE.get(edge.how, edge.how)
    said = {
        "import": "imported by",
        "package": "the package of what is imported by",
        "string": "imported by its name in",
        "command": "run as a command by",
        "entry point": "an entry point that is loaded by",
        "registry": "named by the registry",
        "declared": "declared to be imported by",
    }
    return f"{said.get(edge.how, edge.how)} {_place(edge)}"


def _place(edge: Edge) -> str:
    return f"{edge.importer}, line {edge.line}" if edge.line else edge.importer


def _doubt(unknown: Unknown) -> str:
    place = f"{unknown.module}, line {unknown.line}" if unknown.line else unknown.module
    return f"{place}: {unknown.what}"
