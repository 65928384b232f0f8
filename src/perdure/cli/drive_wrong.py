"""Gathers what is wrong with a command line, so that all of it is said at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from perdure.agent.drive.tools.command import NoSandboxError
from perdure.agent.drive.tools.environment import secrets_in
from perdure.base.errors import KeyOrModelRefusedError, PerdureError, UsageError, refuse_all
from perdure.base.redaction import Redactor, holds_key
from perdure.base.text import storable
from perdure.inference.http.key import load_key
from perdure.records.study import Endpoint

T = TypeVar("T")

_FOUND = (UsageError, NoSandboxError, KeyOrModelRefusedError)


class Wrong:
    """Gathers what is wrong, in the order in which it is found."""

    def __init__(self) -> None:
        self._errors: list[PerdureError] = []

    def add(self, wrong: str, *, remedy: str = "", where: str = "") -> None:
        """Note a problem."""
        self._errors.append(UsageError(wrong, remedy=remedy, where=where))

    def tried(self, read: Callable[[], T]) -> T | None:
        """Do something, and note what is wrong with it; None if it could not be done."""
        try:
            return read()
        except _FOUND as error:
            self._errors.append(error)
            return None

    def told(self) -> None:
        """Raise what was noted, if anything was.

        Raises:
            UsageError: all of it; what is alone is raised as it is.

        """
        refuse_all(self._errors)


def look_at_stored(
    texts: Mapping[str, str], wrong: Wrong, names: Mapping[str, str] | None = None
) -> None:
    """Refuse what cannot be stored as it is given: bytes that are no text, and secrets.

    Secrets are the keys of this environment, and what looks like one. `texts` are named as the
    words for them begin a sentence. In `names`, such as paths, what looks like chance is none.
    """
    keys = secrets_in(os.environ)
    veil = Redactor(keys)
    looks = {name: veil.counted(text)[1] > 0 for name, text in texts.items()}
    looks |= {name: holds_key(text) for name, text in (names or {}).items()}
    for name, text in {**texts, **(names or {})}.items():
        if text != storable(text):
            wrong.add(f"{name} holds bytes that are no text in UTF-8.")
        elif any(key in text for key in keys):
            wrong.add(
                f"{name} holds a key of this environment, and would be stored with it.",
                remedy="Leave it out: what needs one is told the name of a variable.",
            )
        elif looks[name]:
            wrong.add(
                f"{name} holds what looks like a key or a password, and would be stored with it.",
                remedy="Leave it out: what needs one is told the name of a variable, or of a file.",
            )


def require_key(endpoint: Endpoint) -> None:
    """Look whether there is a key where an endpoint's is said to be.

    Raises:
        KeyOrModelRefusedError: there is none.

    """
    path = Path(endpoint.key_file)
    if endpoint.key_file and path.exists() and not path.is_file():
        return  # a pipe gives what it holds once
    load_key(os.environ, key_env=endpoint.key_env, key_file=endpoint.key_file)
