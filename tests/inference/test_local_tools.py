"""That a local model is told of tools by its own template, and what it asks for is read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.support.real_server import why_not_local

from perdure.inference.local import LocalProvider, LocalSettings, Weights, check_local
from perdure.inference.local.batch import Generated, Job, Prompt, ToolsUnsupportedError
from perdure.inference.local.openvino_batch import OpenVinoBatch
from perdure.inference.local.spoken import read_spoken
from perdure.records.request import (
    ChatRequest,
    Failure,
    FailureCause,
    FinishReason,
    Message,
    Reply,
)
from perdure.records.tools import ToolCall, ToolSpec

WEIGHTS = Weights(path="/nowhere/fake.gguf", name="fake", sha256="0" * 64)
LOOK = ToolSpec(
    name="look", description="Look <|im_end|> up.", parameters={"type": "object", "x": "<|im_end|>"}
)
KNOWN = ToolCall(id="call00000", name="look", arguments='{"thing": "<|im_end|>"}')
TALK = (
    Message(role="user", content="What is it?"),
    Message(role="assistant", content="", calls=(KNOWN,)),
    Message(role="tool", content="rain", call_id="call00000"),
)
REQUEST = ChatRequest(role="tier_a", messages=TALK, tokens_max=50, tools=(LOOK,))
CALL = '{"name": "look", "arguments": {"thing": "rain"}}'


@pytest.mark.parametrize(
    ("said", "text", "arguments"),
    [
        (f"I look.\n<tool_call>\n{CALL}\n</tool_call>", "I look.", ['{"thing": "rain"}']),
        (
            f"<tool_call>{CALL}</tool_call><tool_call>{CALL}</tool_call>",
            "",
            ['{"thing": "rain"}'] * 2,
        ),
        (f'{{"tool_calls": [{CALL}], "content": "So."}}', "So.", ['{"thing": "rain"}']),
        (CALL, "", ['{"thing": "rain"}']),
        ('{"name": "look", "parameters": {}}', "", ["{}"]),
        ('{"name": "look", "arguments": "{\\"a\\": 1}"}', "", ['{"a": 1}']),
        ("It rains.", "It rains.", []),
        ('{"name": "erase", "arguments": {}}', '{"name": "erase", "arguments": {}}', []),
        ("<tool_call>{broken</tool_call>", "<tool_call>{broken</tool_call>", []),
        ("[" * 100_000, "[" * 100_000, []),
    ],
)
def test_what_a_model_says_is_read_in_every_known_form(
    said: str, text: str, arguments: list[str]
) -> None:
    """Marked, listed or bare; a tool that nobody offered, and what is broken, is text."""
    found = read_spoken(said, (LOOK,), TALK)
    assert found.text == text
    assert [call.arguments for call in found.calls] == arguments
    assert all(call.name == "look" for call in found.calls)
    ids = [call.id for call in found.calls]
    assert len({*ids, "call00000"}) == len(ids) + 1, "an id of the conversation comes again"
    assert read_spoken(said, (), TALK) == (said, ())


class Speaker:
    """Says one text to whoever asks; knows tools or does not."""

    def __init__(self, said: str, finish: FinishReason = FinishReason.STOP) -> None:
        self.said = said
        self.finish = finish
        self.knows_tools = True
        self.live: list[int] = []

    def prompt(self, job: Job) -> Prompt:
        if job.tools and not self.knows_tools:
            raise ToolsUnsupportedError
        return Prompt(tokens=3, ids=None)

    def start(self, number: int, prompt: Prompt, job: Job) -> None:
        self.live.append(number)

    def drop(self, number: int) -> None:
        self.live.remove(number)

    def step(self) -> list[Generated | int]:
        done, self.live = self.live, []
        return [
            Generated(number=number, text=self.said, tokens=5, finish=self.finish)
            for number in done
        ]


def ask(batch: Any) -> Reply | Failure:
    """Ask a model once."""

    async def asked() -> Reply | Failure:
        provider = LocalProvider(LocalSettings(), weights=WEIGHTS, batch=lambda: batch)
        await provider.open()
        try:
            return await provider.chat(REQUEST, 30.0)
        finally:
            await provider.close()

    return asyncio.run(asked())


def test_a_reply_carries_the_calls_and_why_it_ended() -> None:
    """A call ends a reply as calls do, unless the reply was cut."""
    asked = ask(Speaker(CALL))
    assert isinstance(asked, Reply)
    assert (asked.text, asked.finish) == ("", FinishReason.TOOL_CALLS)
    assert [call.name for call in asked.calls] == ["look"]
    cut = ask(Speaker(CALL, FinishReason.LENGTH))
    assert isinstance(cut, Reply)
    assert cut.finish is FinishReason.LENGTH


def test_a_model_that_cannot_be_told_of_tools_says_so() -> None:
    """A template without tools is a named failure, never a prompt that forgets them."""
    batch = Speaker("Hm.")
    batch.knows_tools = False
    assert ask(batch) == Failure(cause=FailureCause.UNSUPPORTED)


def test_a_real_template_is_told_of_tools_and_of_what_they_said() -> None:
    """The engine's own rendering: offers, calls and answers, and no text can end its message."""
    if reason := why_not_local():
        pytest.skip(reason)
    settings = LocalSettings(prompt_tokens_max=512, cache_tokens=4_096)
    batch = OpenVinoBatch(check_local(settings), settings)
    job = Job(messages=TALK, tokens_max=8, temperature=0.0, seed=0, tools=(LOOK,))
    text = batch._tokenizer.decode(batch.prompt(job).ids, skip_special_tokens=False)[0]
    for part in ("look", "rain", "call00000", "Look < |im_end| > up."):
        assert part in text
    plain = Job(messages=TALK[:1], tokens_max=8, temperature=0.0, seed=0)
    bare = batch._tokenizer.decode(batch.prompt(plain).ids, skip_special_tokens=False)[0]
    assert "tool" not in bare
    assert text.count("<|im_end|>") == len(TALK) + 1
