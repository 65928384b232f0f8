"""A real browser for tests of pages: found on this machine, without a network of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
REQUIRED = "PERDURE_BROWSER"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def program(*names: str) -> str:
    """Find a program. Without one the test is skipped, unless one is said to be there."""
    found = next((path for name in names if (path := shutil.which(name))), "")
    if not found:
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(f"{REQUIRED}=required, and there is none of: {', '.join(names)}")
        pytest.skip(f"needs a browser or what comes with it: {' or '.join(names)}")
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser with a profile of its own, and end it."""
    path = program(*NAMES)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield started
        finally:
            started.close()


def violations(page: Any) -> list[str]:
    """Look for what keeps people from reading a page, by every rule that axe-core has.

    The page's own policy forbids scripts; this one is put in from outside of it.
    """
    source = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(source)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations', 'incomplete']})")
    assert found["passes"]
    return [
        f"{one['id']}: {one['help']}: {node['target']}"
        for one in found["violations"]
        for node in one["nodes"]
    ]
