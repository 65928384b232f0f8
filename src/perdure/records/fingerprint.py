"""The fingerprint of what decides a run: its code as text, its files, and what it stands on."""

from __future__ import annotations

from perdure.records.record import Record


class Code(Record):
    """The source of one module; `is_package` says that it is the `__init__` of a package."""

    text: str
    is_package: bool = False


class Fingerprint(Record):
    """What decides a run, at one moment.

    `engine` and `transport` hold every module of this package that a run could reach: `engine`
    decides what is written, `transport` only carries it. A run starts from `entries`; what they do
    not reach decides nothing, which is found out from the texts when some text moved. In `plugins`,
    docstrings count: they may be sent to a model. `files` holds the SHA-256 of each declared data
    file, and of each module that has no source. `distributions` are the installed packages that
    the code stands on, with their versions. `unknown` says, one sentence each, what of the
    plug-ins' imports could not be followed: code that is reached that way is not in here.
    """

    python: str
    entries: tuple[str, ...] = ()
    engine: dict[str, Code] = {}
    transport: dict[str, Code] = {}
    plugins: dict[str, Code] = {}
    files: dict[str, str] = {}
    distributions: dict[str, str] = {}
    unknown: tuple[str, ...] = ()
