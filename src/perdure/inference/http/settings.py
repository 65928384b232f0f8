"""How an endpoint is reached. None of it decides what a model answers, so none of it is pinned."""

from __future__ import annotations

from urllib.parse import urlsplit

from perdure.base.errors import UsageError
from perdure.records.record import Record


class HttpSettings(Record):
    """An endpoint, where its key is found, and how its replies are read.

    `base_url` is the part before `/chat/completions`. The key is the value of the environment
    variable `key_env`, or the content of `key_file`; with neither, no key is sent. `omit` names
    request fields the endpoint does not accept, such as `seed` or `temperature`; `tokens_field` is
    its name for the token limit. With `reuse_connections` off, every call opens a connection of
    its own, so that no reply on it can belong to another call. A stream that says nothing for
    `idle_s` seconds, not even that it is alive, is given up.
    """

    base_url: str
    key_env: str = ""
    key_file: str = ""
    tokens_field: str = "max_tokens"
    omit: tuple[str, ...] = ()
    connect_s: float = 10.0
    check_s: float = 15.0
    reply_bytes_max: int = 8 * 1024 * 1024
    reuse_connections: bool = True
    idle_s: float = 60.0


def require_usable(base_url: str) -> str:
    """Check a base URL, and give it without a final slash.

    Raises:
        UsageError: it is not an http or https address, or it carries a password or a query.

    """
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        raise _unusable("is not an address") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise _unusable("is not an http or https address")
    if parts.username is not None or parts.password is not None:
        raise _unusable("carries a user name or a password")
    if parts.query or parts.fragment:
        raise _unusable("carries a query or a fragment")
    if any(character.isspace() or not character.isprintable() for character in base_url):
        raise _unusable("holds a blank or an unprintable character")
    return base_url.rstrip("/")


def _unusable(what: str) -> UsageError:
    # The address itself is not shown: it may hold a secret.
    return UsageError(
        f"The base URL of the model endpoint {what}.",
        remedy="Give an address such as https://api.example.com/v1; keys belong in key_env.",
    )
