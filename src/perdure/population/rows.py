"""Reads a CSV file row by row, strictly: what is not a row is reported with its line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from perdure.base.text import printable
from perdure.records.study import CsvForm
from perdure.study.findings import Findings, quoted

ROWS_MAX = 1_000_000
FIELD_MAX = 10_000
LINE_MAX = 1_000_000
PROBLEMS_MAX = 100
PLAIN = CsvForm()

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_IN_QUOTES = re.compile('"[^"]*"')
_SEPARATORS = {";": "semicolon", "\t": "tab", "|": "bar", ",": "comma"}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the line it starts on, and its fields without the white space around them.

    In a Parquet file the line is the number of the row, and that of the header is 0.
    """

    line: int
    fields: list[str]


class EnoughError(Exception):
    """So much is wrong with a file that the rest of it would not help anybody."""


class Report:
    """Notes what is wrong with rows, and gives up on a file that is wrong throughout."""

    def __init__(self, found: Findings) -> None:
        self._found = found

    def add(self, line: int, wrong: str, remedy: str) -> None:
        """Note a problem.

        Raises:
            EnoughError: there are too many.

        """
        if len(self._found) >= PROBLEMS_MAX:
            wrong = f"There are more than {PROBLEMS_MAX} problems; the rest is not listed."
            self._found.add(line, wrong, "Repair these first.")
            raise EnoughError
        self._found.add(line, wrong, remedy)


def read_rows(file: BinaryIO, report: Report, form: CsvForm = PLAIN) -> Iterator[Row]:
    """Read the header and then the rows of a CSV file. Blank lines are passed over.

    Raises:
        EnoughError: the file cannot be read on; the reason is in the report.

    """
    lines = _lines(file, report, form)
    reader = csv.reader(lines, strict=True, delimiter=form.separator)
    line, width, count = 1, 0, 0
    while (fields := _next(reader, line, report)) is not None:
        row = Row(line, [field.strip() for field in fields])
        line = reader.line_num + 1
        if not fields:
            continue
        check_fields(row.line, fields, report)
        if not width:
            width = len(fields)
        elif len(fields) != width:
            wrong = f"The row has {len(fields)} fields, and the header {width}."
            report.add(row.line, wrong, "Give every row one field for each column.")
            continue
        yield row
        count += 1
        if count > ROWS_MAX + 1:
            report.add(row.line, f"There are more than {ROWS_MAX:,} rows.", "Give fewer.")
            raise EnoughError


def _lines(file: BinaryIO, report: Report, form: CsvForm) -> Iterator[str]:
    count = 0
    is_utf_8 = form.encoding == PLAIN.encoding
    while data := _line(file, count + 1, report):
        count += 1
        if len(data) > LINE_MAX:
            report.add(count, f"The line has more than {LINE_MAX:,} bytes.", "Shorten it.")
            raise EnoughError
        try:
            text = data.decode("utf-8-sig" if is_utf_8 and count == 1 else form.encoding)
        except UnicodeDecodeError:
            is_utf_16 = count == 1 and data.startswith(_UTF_16)
            what = "in UTF-16" if is_utf_16 else f"not valid {form.encoding.upper()}"
            remedy = "Save the file as UTF-8, or write its `encoding:` under `population.csv`."
            report.add(count, f"The line is {what}.", remedy)
            raise EnoughError from None
        if count == 1:
            _require_separator(text, report, form.separator)
        yield text


def _require_separator(header: str, report: Report, separator: str) -> None:
    """Refuse a header whose columns something else is between, and say what that is."""
    if "\x00" in header:
        report.add(1, "The header has the character NUL.", "Save the file as UTF-8.")
        raise EnoughError
    bare = _IN_QUOTES.sub("", header)
    if "\r" in bare.rstrip("\r\n"):
        wrong = "The lines end with a carriage return alone."
        report.add(1, wrong, "Save the file with the line ends of Unix (LF) or Windows (CRLF).")
        raise EnoughError
    if separator in bare:
        return
    for other, name in _SEPARATORS.items():
        if other in bare.strip(" \r\n"):
            wrong = f"The columns are separated by {name}s, not by {_SEPARATORS[separator]}s."
            remedy = f"Write `csv: {{separator: {name}}}` under `population`, or save it otherwise."
            report.add(1, wrong, remedy)
            raise EnoughError


def _line(file: BinaryIO, number: int, report: Report) -> bytes:
    try:
        return file.readline(LINE_MAX + 1)
    except OSError:
        report.add(number, "The file cannot be read from here on.", "Check the disk.")
        raise EnoughError from None


def _next(reader: Iterator[list[str]], line: int, report: Report) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        report.add(line, f"The row is not CSV: {printable(str(error))}.", "Check its quotes.")
        raise EnoughError from None


def check_fields(line: int, fields: Iterable[str], report: Report) -> None:
    """Note fields that are too long, or that a terminal would take for commands."""
    for field in fields:
        if len(field) > FIELD_MAX:
            report.add(line, f"A field has {len(field):,} characters.", "Shorten it.")
        elif _CONTROL.search(field):
            report.add(line, f"{quoted(field)} has a control character.", "Remove it.")
