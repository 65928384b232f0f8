"""The key of an endpoint: read once, sent with every request, and never shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from perdure.base.errors import KeyOrModelRefusedError

_KEY_CHARACTERS_MAX = 4096
# More than a key and the white space around it; a device gives bytes without end.
_FILE_BYTES_MAX = 1 << 16
# Shorter than this, a key is a placeholder, and blanking it would spoil innocent text.
_SECRET_CHARACTERS_MIN = 8
_BLANK = "[key]"


class Key:
    """A secret. It has no readable form but the header it is sent in."""

    __slots__ = ("_forms", "_secret")

    def __init__(self, secret: str) -> None:
        self._secret = secret
        is_secret = len(secret) >= _SECRET_CHARACTERS_MIN
        self._forms = tuple({secret, quote(secret, safe="")}) if is_secret else ()

    def __repr__(self) -> str:
        return "Key(hidden)"

    def __reduce__(self) -> str:
        raise TypeError("A key is not stored.")

    @property
    def is_given(self) -> bool:
        """Whether there is a key at all."""
        return bool(self._secret)

    def header(self) -> str:
        """Give the value of the `Authorization` header."""
        return f"Bearer {self._secret}"

    def scrub(self, text: str) -> str:
        """Blank the key in a text that came from outside."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, _BLANK)
        return text

    def begun_in(self, text: str) -> int:
        """Say how many characters at the end of a text may be the beginning of the key."""
        return max(
            (
                size
                for form in self._forms
                for size in range(1, len(form))
                if text.endswith(form[:size])
            ),
            default=0,
        )


def load_key(environment: Mapping[str, str], *, key_env: str, key_file: str) -> Key:
    """Read the key from the named environment variable, else from the file, else have none.

    Raises:
        KeyOrModelRefusedError: the named place holds no usable key.

    """
    if key_env:
        where = f"environment variable {key_env}"
        return _usable(environment.get(key_env, ""), where)
    if not key_file:
        return Key("")
    try:
        with Path(key_file).open("rb") as file:
            content = file.read(_FILE_BYTES_MAX).decode("ascii")
    except UnicodeDecodeError:
        content = ""
    except OSError as error:
        raise KeyOrModelRefusedError(
            f"The key file cannot be read: {error.strerror}.",
            where=key_file,
            remedy="Name a file that holds the key and nothing else.",
        ) from None
    return _usable(content, key_file)


def _usable(content: str, where: str) -> Key:
    secret = content.strip()
    fits = 0 < len(secret) <= _KEY_CHARACTERS_MAX
    if not fits or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise KeyOrModelRefusedError(
            "There is no usable key for the model endpoint.",
            where=where,
            remedy="Put the key there, alone on one line.",
        )
    return Key(secret)
