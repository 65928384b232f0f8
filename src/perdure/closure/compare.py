"""What moved between two fingerprints: all of it at once, named, and shown as a diff. Pure.

Both sides are parsed by the running interpreter, so a hash that another one made is never trusted.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterator
from enum import StrEnum

from perdure.closure.normal import normal_hash, normal_text
from perdure.closure.source import SourceError, parse
from perdure.records.fingerprint import Code, Fingerprint
from perdure.records.record import Record

_DIFF_LINES_MAX = 400
# The original is shown while what is beside the point takes no more than this much room.
_NOISE_MAX = 3


class Part(StrEnum):
    """Which part of a fingerprint moved. The first three can each be forced by that name."""

    ENGINE = "engine"
    PLUGINS = "plugins"
    PYTHON = "python"
    FILES = "files"
    TRANSPORT = "transport"
    DISTRIBUTIONS = "distributions"


class Difference(Record):
    """One thing that moved.

    `name` is a module, a file or a distribution. `old` and `new` are hashes or versions, empty
    where there is none. `diff` is a unified diff of the module, empty for what is no source; it
    shows the normal form where the original differs in much that does not count.
    """

    part: Part
    name: str
    old: str = ""
    new: str = ""
    diff: str = ""


class Differences(Record):
    """All that moved: what refuses a resume, what is only warned of, and what nobody can tell of.

    `unknown` are modules of which nobody can say whether the program reaches them.
    """

    refusing: tuple[Difference, ...] = ()
    warning: tuple[Difference, ...] = ()
    unknown: tuple[Difference, ...] = ()

    @property
    def is_same(self) -> bool:
        """Say whether nothing moved at all."""
        return not (self.refusing or self.warning or self.unknown)


def compare(then: Fingerprint, now: Fingerprint) -> Differences:
    """Compare the fingerprint that was recorded with the one of now.

    A module of ours counts if a run reaches it on either side. One that carried bytes on one side
    and decides on the other decides.
    """
    moved = _moved(then, now)
    decides = moved & (then.engine.keys() | now.engine.keys())
    refusing = list(_engine(then, now, decides, Part.ENGINE))
    refusing += _codes(then.plugins, now.plugins, Part.PLUGINS, docstrings=True)
    refusing += _values(then.files, now.files, Part.FILES)
    if then.python != now.python:
        refusing.append(
            Difference(part=Part.PYTHON, name="python", old=then.python, new=now.python)
        )
    warning = list(_engine(then, now, moved - decides, Part.TRANSPORT))
    warning += _values(then.distributions, now.distributions, Part.DISTRIBUTIONS)
    return Differences(refusing=tuple(refusing), warning=tuple(warning))


def _moved(then: Fingerprint, now: Fingerprint) -> frozenset[str]:
    """Name the modules of ours whose text moved and that a run reaches, then or now.

    What a run reaches takes half a second to find, and is asked only if some text moved; what it
    reached then, only of a text that it does not reach now.
    """
    old, new = then.engine | then.transport, now.engine | now.transport
    moved = frozenset(name for name in old | new if old.get(name) != new.get(name))
    if not moved:
        return moved
    # Heavy, and a worker, which only tells whether one text is as another, compares no runs.
    from perdure.closure.reached import reached  # noqa: PLC0415

    here = moved & reached(now)
    return here if here == moved else here | (moved & reached(then))


def _engine(
    then: Fingerprint, now: Fingerprint, names: frozenset[str], part: Part
) -> Iterator[Difference]:
    old, new = then.engine | then.transport, now.engine | now.transport
    yield from _codes(
        {name: old[name] for name in names if name in old},
        {name: new[name] for name in names if name in new},
        part,
        docstrings=False,
    )


def _codes(
    then: dict[str, Code], now: dict[str, Code], part: Part, *, docstrings: bool
) -> Iterator[Difference]:
    for name in sorted(then.keys() | now.keys()):
        old, new = then.get(name), now.get(name)
        if old is not None and new is not None and is_same(old, new, docstrings=docstrings):
            continue
        old_hash = code_hash(old, docstrings=docstrings) if old else ""
        new_hash = code_hash(new, docstrings=docstrings) if new else ""
        yield Difference(
            part=part,
            name=name,
            old=old_hash,
            new=new_hash,
            diff=diff_of(
                name, old.text if old else "", new.text if new else "", docstrings=docstrings
            ),
        )


def is_same(old: Code, new: Code, *, docstrings: bool) -> bool:
    """Say whether two sources of a module do the same, as the running Python parses them."""
    return old.text == new.text or (
        code_hash(old, docstrings=docstrings) == code_hash(new, docstrings=docstrings)
    )


def code_hash(code: Code, *, docstrings: bool) -> str:
    """Hash a module's normal form as the running Python parses it: 64 hex digits.

    A text that was written for another Python has no normal form, and is hashed as it is.
    """
    try:
        return normal_hash(parse(code.text, ""), docstrings=docstrings)
    except SourceError:
        return hashlib.sha256(code.text.encode()).hexdigest()


def _values(then: dict[str, str], now: dict[str, str], part: Part) -> Iterator[Difference]:
    for name in sorted(then.keys() | now.keys()):
        old, new = then.get(name, ""), now.get(name, "")
        if old != new:
            yield Difference(part=part, name=name, old=old, new=new)


def diff_of(name: str, old: str, new: str, *, docstrings: bool) -> str:
    """Show how a module's text changed: as it was written, unless that hides what counts.

    Long diffs are cut, and say so.
    """
    plain = _diff(name, old, new)
    try:
        bare = _diff(
            f"{name} (without comments and layout)",
            normal_text(parse(old, ""), docstrings=docstrings),
            normal_text(parse(new, ""), docstrings=docstrings),
        )
    except (SourceError, RecursionError):
        bare = []
    shown = bare if bare and _changed(plain) > _NOISE_MAX * _changed(bare) else plain
    if len(shown) > _DIFF_LINES_MAX:
        left = len(shown) - _DIFF_LINES_MAX
        shown = [*shown[:_DIFF_LINES_MAX], f"... {left} more lines of this diff"]
    return "\n".join(shown)


def _diff(name: str, old: str, new: str) -> list[str]:
    return list(
        difflib.unified_diff(
            old.splitlines(), new.splitlines(), f"recorded/{name}", f"now/{name}", lineterm=""
        )
    )


def _changed(diff: list[str]) -> int:
    return sum(line[:1] in {"+", "-"} for line in diff[2:])
