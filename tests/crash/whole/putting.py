"""Putting something else in the place of what a module or a class has, in a process of its own."""

from __future__ import annotations

from typing import Any


def put(owner: Any, name: str, what: Any) -> None:
    """Put something there, for as long as this process lives."""
    assert hasattr(owner, name), f"{owner} has no {name}"
    setattr(owner, name, what)
