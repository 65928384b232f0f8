"""A closure written down, so that the code can be compared with it later."""

from __future__ import annotations

from pathlib import Path

import msgspec

from perdure.base.errors import UsageError
from perdure.closure.compare import Differences, compare
from perdure.closure.files import declared_files
from perdure.closure.fingerprint import python_version
from perdure.closure.graph import Closure
from perdure.closure.installed import Installed
from perdure.closure.places import Kind
from perdure.closure.program import Program, Walked, closure_of
from perdure.closure.source import hash_file
from perdure.closure.unsure import moved, unsure
from perdure.records.fingerprint import Code, Fingerprint
from perdure.records.record import Record

FORMAT = 2
_BYTES_MAX = 256 * 1024 * 1024


class Listing(Record):
    """A program, what it reaches, and the code of that. Every module counts as a plug-in does.

    `unsure` is the code of what it may reach as well, in its own folders, and nobody can say.
    """

    format: int
    program: Program
    closure: Closure
    fingerprint: Fingerprint
    unsure: dict[str, Code] = {}  # noqa: RUF012 - a record copies its defaults


def listing_of(walked: Walked) -> Listing:
    """Write down a closure, with the code as it is now.

    Raises:
        UsageError: a pattern of data files matches none.
        SourceError: a file cannot be read.

    """
    files = {name: hash_file(path) for name, path in declared_files(walked.program).items()}
    for name, module in walked.closure.modules.items():
        if name not in walked.library.code and module.kind is not Kind.NAMESPACE:
            files[f"module {name}"] = hash_file(Path(module.path))
    reached = walked.closure.modules.keys()
    program = msgspec.structs.replace(
        walked.program, folder=str(Path(walked.program.folder).resolve())
    )
    return Listing(
        format=FORMAT,
        program=program,
        closure=walked.closure,
        fingerprint=Fingerprint(
            python=python_version(),
            # The library also read what the doubtful imports might reach.
            plugins={n: c for n, c in walked.library.code.items() if n in reached},
            files=dict(sorted(files.items())),
            distributions=walked.closure.distributions,
            unknown=tuple(
                f"{found.module}, line {found.line}: {found.what}"
                for found in walked.closure.unknown
            ),
        ),
        unsure=unsure(walked),
    )


def read_listing(path: Path) -> Listing:
    """Read a listing from the JSON document that it was printed as.

    Raises:
        UsageError: the file cannot be read, or is no listing of this version.

    """
    remedy = "Name a file that `perdure closure list ... --json` was written to."
    try:
        if not path.is_file():
            raise UsageError("There is no such file.", where=str(path), remedy=remedy)
        with path.open("rb") as file:
            data = file.read(_BYTES_MAX + 1)
        if len(data) > _BYTES_MAX:
            raise UsageError("This file is too large.", where=str(path), remedy=remedy)
        found = msgspec.json.decode(data, type=Listing)
    except OSError as error:
        wrong = f"This file cannot be read: {error.strerror}."
        raise UsageError(wrong, where=str(path), remedy=remedy) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError("This is no saved closure.", where=str(path), remedy=remedy) from error
    if found.format != FORMAT:
        wrong = f"This closure was saved in format {found.format}; {FORMAT} is known here."
        again = "Save it again with `perdure closure list ... --json`."
        raise UsageError(wrong, where=str(path), remedy=again)
    return found


def verify(saved: Listing, *, installed: Installed | None = None) -> Differences:
    """Compare the program's code as it is now with a listing.

    Raises:
        UsageError: the program's entry or a folder is no longer there.
        SourceError: its entry, or a data file, cannot be read.

    """
    walked = closure_of(saved.program, installed=installed)
    now = listing_of(walked)
    found = compare(saved.fingerprint, now.fingerprint)
    named = {one.name for one in found.refusing}
    unknown = [one for one in moved(saved.unsure, walked, now.unsure) if one.name not in named]
    return msgspec.structs.replace(found, unknown=tuple(unknown))
