"""A report as data: every field, and beside each row the address at which it is found again."""

from __future__ import annotations

from typing import Any

from perdure.analysis.addressed import figures
from perdure.analysis.report import Report
from perdure.cli.output import as_tree


def with_addresses(report: Report) -> dict[str, Any]:
    """Give a report's fields; each row that is a figure has its `address` beside them.

    Of several that a row stands first in, the last and closest is its own.
    """
    tree: dict[str, Any] = as_tree(report)
    for one in figures(report):
        for path in one.at[:1]:
            found: Any = tree
            for key in path:
                found = found[key]
            if isinstance(found, dict):
                found["address"] = one.address
    return tree
