"""That a key is sent and never shown: not in a text, an error, a repr or a pickle."""

from __future__ import annotations

import asyncio
import copy
import traceback
from pathlib import Path
from typing import Any

import pytest

from perdure.base.errors import KeyOrModelRefusedError, PerdureError, UsageError
from perdure.inference.http import HttpProvider, HttpSettings
from perdure.inference.http.key import Key, load_key
from perdure.inference.http.settings import require_usable
from perdure.records.request import ChatRequest, Message, Reply
from perdure.records.scenario import ModelPin
from perdure.testing import MisbehavingServer

SECRET = "sk-canary-4f9a+/77aa=="
PIN = ModelPin(provider="http", model="test-model")


def test_a_key_has_no_readable_form() -> None:
    """Neither printing nor copying nor storing a key gives its secret away."""
    key = Key(SECRET)
    assert SECRET not in repr(key) + str(key) + f"{key}"
    with pytest.raises(TypeError):
        copy.copy(key)


def test_a_key_comes_from_the_environment_or_a_file(tmp_path: Path) -> None:
    """White space around a key does not belong to it, and the environment comes first."""
    file = tmp_path / "key"
    file.write_text(f"\n {SECRET}\r\n", encoding="utf-8")
    assert load_key({}, key_env="", key_file=str(file)).header() == f"Bearer {SECRET}"
    loaded = load_key({"K": "other-key-123"}, key_env="K", key_file=str(file))
    assert loaded.header() == "Bearer other-key-123"
    assert not load_key({}, key_env="", key_file="").is_given


@pytest.mark.parametrize(
    "content", ["", "  ", "a b", "a\nb", "schlüssel-123", "a\x00b", "k" * 5000]
)
def test_a_key_that_cannot_be_one_is_refused_unseen(tmp_path: Path, content: str) -> None:
    """An unusable key is one sentence that names the place and never the content."""
    file = tmp_path / "key"
    file.write_text(content, encoding="utf-8")
    for environment, key_env in (({}, ""), ({"K": content}, "K")):
        with pytest.raises(KeyOrModelRefusedError) as refused:
            load_key(environment, key_env=key_env, key_file=str(file))
        assert len(content.strip()) < 2 or content.strip() not in str(refused.value)


def test_a_key_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    """A missing file, or a folder in its place, is said in words."""
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(KeyOrModelRefusedError, match="cannot be read"):
            load_key({}, key_env="", key_file=str(path))


def test_a_key_file_without_an_end_is_read_no_further(tmp_path: Path) -> None:
    """A device that gives bytes for ever holds no key, which is said at once."""
    with pytest.raises(KeyOrModelRefusedError, match="no usable key"):
        load_key({}, key_env="", key_file="/dev/zero")


@pytest.mark.parametrize(
    "base_url",
    [
        *("", "example.com/v1", "ftp://example.com", "http://", "http://[::1", "http://x:99999"),
        *("http://x:0", "https://user:hunter2@example.com/v1", "https://x/v1?key=hunter2"),
        *("https://x/v1#hunter2", "https://x/ v1", "https://x/\x1b[2J"),
    ],
)
def test_a_base_url_that_is_none_or_holds_a_secret_is_refused_unseen(base_url: str) -> None:
    """Only a plain http or https address is taken, and a refused one is not repeated."""
    with pytest.raises(UsageError) as refused:
        require_usable(base_url)
    assert "hunter2" not in "".join(traceback.format_exception(refused.value))


def test_a_key_that_comes_back_is_blanked() -> None:
    """A server that repeats the key in its text or as its name does not get it recorded."""
    server = MisbehavingServer(responder=lambda _request: f"Your key is {SECRET}!")
    with server:
        reply = asyncio.run(ask(server.base_url))
    assert isinstance(reply, Reply)
    assert reply.text == "Your key is [key]!"
    assert server.keys == {SECRET}


def test_a_placeholder_is_not_blanked() -> None:
    """A key too short to be a secret does not blank innocent words."""
    assert Key("none").scrub("none of them") == "none of them"


def test_no_error_of_a_provider_holds_the_key() -> None:
    """Whatever the check before a run meets, its sentence and its traceback hold no key."""
    with MisbehavingServer(key="another") as server:
        for base_url in (server.base_url, server.endpoint("refused"), server.endpoint("no_tls")):
            with pytest.raises(PerdureError) as met:
                asyncio.run(check(base_url))
            shown = "".join(traceback.format_exception(met.value)) + repr(met.value.__dict__)
            assert SECRET not in shown
            assert met.value.__cause__ is None


def provider(base_url: str) -> HttpProvider:
    """Make a provider that holds the canary."""
    settings = HttpSettings(base_url=base_url, key_env="K")
    made = HttpProvider(settings, PIN, environment={"K": SECRET})
    assert SECRET not in shown(made)
    return made


async def ask(base_url: str) -> object:
    """Make one call."""
    asked = provider(base_url)
    await asked.open()
    request = ChatRequest(
        role="tier_a", messages=(Message(role="user", content="hello"),), tokens_max=5
    )
    reply = await asked.chat(request, 20.0)
    assert SECRET not in shown(asked)
    await asked.close()
    return reply


async def check(base_url: str) -> None:
    """Check an endpoint."""
    asked = provider(base_url)
    await asked.open()
    try:
        await asked.check()
    finally:
        await asked.close()


def shown(value: Any, depth: int = 4) -> str:
    """Show a value and all that it holds, as a debugger or a crash reporter would."""
    inside = getattr(value, "__dict__", {})
    held = [shown(item, depth - 1) for item in inside.values()] if depth else []
    return " ".join([repr(value), *held])
