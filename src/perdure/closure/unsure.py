"""What a program may reach and nobody can say: its code, and what of that moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perdure.closure.compare import Difference, Part, code_hash, diff_of, is_same
from perdure.closure.doubts import Doubts
from perdure.closure.places import Kind, Module, identity
from perdure.closure.program import Walked
from perdure.closure.source import SourceError, hash_file, read_text
from perdure.records.fingerprint import Code


def unsure(walked: Walked) -> dict[str, Code]:
    """Read every module in the program's own folders that is unknown: neither reached nor safe.

    A file that has several names is under the shortest of them.
    """
    seen = {identity(module) for module in walked.closure.modules.values() if module.path}
    doubts = Doubts(walked)
    found: dict[str, Code] = {}
    modules = sorted(walked.places.below(""), key=lambda one: (one.name.count("."), one.name))
    for module in modules:
        file = identity(module)
        if file not in seen and doubts.about([module]):
            found[_name(module, walked)] = code_of(module)
        seen.add(file)
    return dict(sorted(found.items()))


def _name(module: Module, walked: Walked) -> str:
    """Give the shortest end of a module's name that leads to it too, from another folder."""
    parts = module.name.split(".")
    ends = (".".join(parts[place:]) for place in range(len(parts) - 1, 0, -1))
    same = (end for end in ends if _leads(end, module, walked))
    return next(same, module.name)


def _leads(name: str, module: Module, walked: Walked) -> bool:
    found = walked.places.find(name)
    return found is not None and identity(found) == identity(module)


def code_of(module: Module) -> Code:
    """Read a module; one that is no text, or cannot be read, is told by its hash or its error."""
    path = Path(module.path)
    try:
        text = read_text(path) if module.kind is Kind.SOURCE else f"SHA-256 {hash_file(path)}\n"
    except SourceError:
        try:
            text = f"SHA-256 {hash_file(path)}\n"
        except SourceError:
            text = "it cannot be read\n"
    return Code(text=text, is_package=module.is_package)


def moved(then: dict[str, Code], walked: Walked, now: dict[str, Code]) -> Iterator[Difference]:
    """Name what was unknown and is not as it was, and what is unknown now and was not.

    What is reached now is left out: it is compared as part of the program.
    """
    reached = {identity(module) for module in walked.closure.modules.values() if module.path}
    for name in sorted(then.keys() | now.keys()):
        module = walked.places.find(name)
        is_there = module is not None and bool(module.path)
        if module is not None and is_there and identity(module) in reached:
            continue
        old = then.get(name)
        new = now.get(name) or (code_of(module) if module is not None and is_there else None)
        if old is not None and new is not None and is_same(old, new, docstrings=True):
            continue
        yield Difference(
            part=Part.PLUGINS,
            name=name,
            old=code_hash(old, docstrings=True) if old else "",
            new=code_hash(new, docstrings=True) if new else "",
            diff=diff_of(name, old.text if old else "", new.text if new else "", docstrings=True),
        )
