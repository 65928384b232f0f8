"""The fingerprint of what decides a run: its code as text, its files, and what it stands on."""

from __future__ import annotations

from perdure.records.record import Record


class Code(Record):
    """The source of one module.

    `normal` is the SHA-256 of its normal form, as the Python version of the fingerprint parses it;
    `text` is what a difference is shown from.
    """

    normal: str
    text: str


class Fingerprint(Record):
    """What decides a run, at one moment.

    `engine` decides what is written; `transport` only carries it. In `plugins`, docstrings count:
    they may be sent to a model. `files` holds the SHA-256 of each declared data file, and of each
    module that has no source. `distributions` are the installed packages that the code imports,
    with their versions. `unknown` says, one sentence each, what of the plug-ins' imports could not
    be followed: code that is reached that way is not in here.
    """

    python: str
    engine: dict[str, Code] = {}
    transport: dict[str, Code] = {}
    plugins: dict[str, Code] = {}
    files: dict[str, str] = {}
    distributions: dict[str, str] = {}
    unknown: tuple[str, ...] = ()
