"""Relative names made absolute. Pure."""

from __future__ import annotations


def absolute(target: str, level: int, package: str) -> str | None:
    """Make a name absolute that has `level` dots before it; None if they lead out of everything."""
    if level == 0:
        return target
    parts = package.split(".") if package else []
    if level > len(parts):
        return None
    base = parts[: len(parts) - level + 1]
    return ".".join([*base, target] if target else base)


def leading_dots(target: str) -> tuple[str, int]:
    """Take the dots off the beginning of a name, and count them."""
    bare = target.lstrip(".")
    return bare, len(target) - len(bare)
