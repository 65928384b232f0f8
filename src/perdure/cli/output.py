"""What commands write: text to stdout and stderr, made safe, and one JSON document for `--json`.

A reader that goes away (`perdure report ... | head`) is no error of ours: the rest is dropped and
the command keeps its exit status.
"""

from __future__ import annotations

import io
import os
import sys
from typing import IO, TYPE_CHECKING, Any

from perdure.base.errors import OutputError
from perdure.base.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from perdure.analysis.document import Block

PIPE_WIDTH = 100


def write_out(text: str) -> None:
    """Write text to stdout. The text must be safe already: see `perdure.base.text`."""
    _write(sys.stdout, text)


def write_error(text: str) -> None:
    """Write a message to stderr, made safe for a terminal. Without a stderr there is no message."""
    if sys.stderr is not None:
        _write(sys.stderr, printable(text).rstrip("\n") + "\n")


def write_json(value: object) -> None:
    """Write one JSON document to stdout, and nothing else. See `json_text`."""
    write_out(json_text(value))


def json_text(value: object) -> str:
    """Write a record as a JSON document, with all its fields.

    Control characters are escaped, so that a document that ends on a terminal drives nothing.
    """
    import json  # noqa: PLC0415 - only this output needs it

    document = json.dumps(as_tree(value), indent=2, ensure_ascii=True, allow_nan=False)
    return document.replace("\x7f", "\\u007f") + "\n"


def as_tree(value: object) -> Any:
    """Turn a record into a tree of builtins in which every field is present, absent ones as null.

    The canonical encoding omits what equals a default; a reader of a document would have to know
    the defaults. Bytes are written in hexadecimal.
    """
    fields = getattr(value, "__struct_fields__", None)
    if fields is not None:
        return {name: as_tree(getattr(value, name)) for name in fields}
    if isinstance(value, dict):
        return {str(key): as_tree(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_tree(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(as_tree(item) for item in value)
    if isinstance(value, (str, bytes)):
        return value.hex() if isinstance(value, bytes) else str(value)
    return value


def show(*blocks: Block) -> None:
    """Draw blocks on stdout, one under the other, as wide as the terminal or `PIPE_WIDTH`.

    Raises:
        OutputError: stdout is closed, or cannot be written.

    """
    if sys.stdout is None:
        raise OutputError("Standard output is closed, so nothing can be shown.")
    from perdure.cli.terminal import drawn  # noqa: PLC0415 - rich is heavy

    into = io.StringIO()
    console = console_for(sys.stdout, into=into)
    for part in drawn(blocks):
        console.print(part, crop=False)
    lines = into.getvalue().splitlines()
    write_out("\n".join(line.rstrip() for line in lines) + "\n")


def console_for(stream: IO[str], *, into: IO[str] | None = None) -> Console:
    """Make a console for a stream that takes no markup from the text it is given.

    It draws as suits `stream`, and into `into` if that is given.

    NO_COLOR, TERM and COLUMNS are honoured; without a terminal there is no colour at all.
    """
    from rich.console import Console  # noqa: PLC0415 - a quarter of a second to import

    wide = None if stream.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
    return Console(
        file=into or stream,
        force_terminal=None if into is None else stream.isatty() or None,
        markup=False,
        emoji=False,
        highlight=False,
        width=wide,
    )


def _write(stream: IO[str] | None, text: str) -> None:
    """Write to a stream, if it is there.

    Raises:
        OutputError: it is closed, or cannot be written.

    """
    if stream is None:
        raise OutputError("Standard output is closed, so nothing can be shown.")
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        # The interpreter flushes once more at exit; give it somewhere to write to.
        with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 - a descriptor
            os.dup2(nowhere.fileno(), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OutputError(
                f"Standard output cannot be written ({error.strerror}).",
                remedy="What a run recorded is kept.",
            ) from error
