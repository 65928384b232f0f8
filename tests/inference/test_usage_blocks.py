"""That a reply's usage block becomes the right money, on blocks from public documentation.

Each row names where its block is published, and has its cost worked out by hand, in nano-units. The
rates are those published for such a model at the time; what is proved is the arithmetic.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from perdure.base.money import nano
from perdure.inference.http.billing import Billing
from perdure.inference.http.key import load_key
from perdure.inference.http.reply import read_chat
from perdure.inference.settlement import settle
from perdure.records.request import Reply
from perdure.records.scenario import ModelPin
from perdure.records.usage import CostSource, Price, Usage
from perdure.study.pricing import most_for

NO_KEY = load_key({}, key_env="", key_file="")


def per_million(fresh: str, output: str, read: str = "", write: str = "") -> Price:
    """Make a price from amounts in currency units per million tokens, as prices are published."""
    return Price(
        input_fresh=nano(Decimal(fresh)),
        output=nano(Decimal(output)),
        cache_read=nano(Decimal(read)) if read else None,
        cache_write=nano(Decimal(write)) if write else None,
    )


class Block(NamedTuple):
    """A published usage block, its price per million tokens, its counts, and its cost by hand."""

    usage: dict[str, Any]
    price: Price
    counts: Usage
    nano: int | None
    source: CostSource = CostSource.PRICE_TABLE
    states_cost: bool = False


BLOCKS: dict[str, Block] = {
    # https://platform.openai.com/docs/guides/prompt-caching
    "openai chat, cached": Block(
        {
            "prompt_tokens": 2006,
            "completion_tokens": 300,
            "total_tokens": 2306,
            "prompt_tokens_details": {"cached_tokens": 1920},
            "completion_tokens_details": {
                "reasoning_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
        per_million("2.50", "10", read="1.25"),
        Usage(input_fresh=86, cache_read=1920, output=300),
        86 * 2_500 + 1920 * 1_250 + 300 * 10_000,  # 215,000 + 2,400,000 + 3,000,000
    ),
    # https://discuss.ai.google.dev/t/question-with-usage-in-openai-compatibility/98760
    "openai chat, reasoning within the output": Block(
        {
            "prompt_tokens": 1486,
            "completion_tokens": 651,
            "total_tokens": 2137,
            "prompt_tokens_details": {"cached_tokens": 1408, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 512,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
        per_million("1.25", "10", read="0.125"),
        Usage(input_fresh=78, cache_read=1408, output=651),
        78 * 1_250 + 1408 * 125 + 651 * 10_000,  # 97,500 + 176,000 + 6,510,000
    ),
    # https://docs.x.ai/developers/advanced-api-usage/prompt-caching/usage-and-pricing
    "openai responses": Block(
        {
            "input_tokens": 125,
            "output_tokens": 48,
            "total_tokens": 173,
            "input_tokens_details": {"cached_tokens": 98},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
        per_million("3", "15", read="0.75"),
        Usage(input_fresh=27, cache_read=98, output=48),
        27 * 3_000 + 98 * 750 + 48 * 15_000,  # 81,000 + 73,500 + 720,000
    ),
    # https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/grok/capabilities/reasoning
    "grok, reasoning beside the output": Block(
        {
            "completion_tokens": 50,
            "completion_tokens_details": {
                "accepted_prediction_tokens": 0,
                "audio_tokens": 0,
                "reasoning_tokens": 124,
                "rejected_prediction_tokens": 0,
            },
            "cost_in_usd_ticks": 0,
            "num_sources_used": 0,
            "prompt_tokens": 663,
            "prompt_tokens_details": {
                "audio_tokens": 0,
                "cached_tokens": 654,
                "image_tokens": 0,
                "text_tokens": 663,
            },
            "total_tokens": 837,
        },
        per_million("0.20", "0.50", read="0.05"),
        Usage(input_fresh=9, cache_read=654, output=174),
        9 * 200 + 654 * 50 + 174 * 500,  # 1,800 + 32,700 + 87,000
    ),
    # https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    "anthropic, writing a cache": Block(
        {
            "input_tokens": 21,
            "cache_creation_input_tokens": 188086,
            "cache_read_input_tokens": 0,
            "output_tokens": 393,
        },
        per_million("3", "15", read="0.30", write="3.75"),
        Usage(input_fresh=21, cache_write=188086, output=393),
        21 * 3_000 + 188086 * 3_750 + 393 * 15_000,  # 63,000 + 705,322,500 + 5,895,000
    ),
    # the same page
    "anthropic, reading a cache": Block(
        {
            "input_tokens": 21,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 188086,
            "output_tokens": 393,
        },
        per_million("3", "15", read="0.30", write="3.75"),
        Usage(input_fresh=21, cache_read=188086, output=393),
        21 * 3_000 + 188086 * 300 + 393 * 15_000,  # 63,000 + 56,425,800 + 5,895,000
    ),
    # the same page: writes that are kept for an hour have a rate of their own
    "anthropic, a cache kept for long": Block(
        {
            "input_tokens": 2048,
            "cache_read_input_tokens": 1800,
            "cache_creation_input_tokens": 248,
            "output_tokens": 503,
            "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
        },
        per_million("3", "15", read="0.30", write="3.75"),
        Usage(input_fresh=2048, cache_write=248, cache_read=1800, output=503, beyond_tokens=True),
        None,
        CostSource.UNKNOWN,
    ),
    # https://firebase.google.com/docs/ai-logic/server-prompt-templates/get-started
    "gemini, thoughts beside the candidates": Block(
        {
            "promptTokenCount": 34,
            "candidatesTokenCount": 418,
            "totalTokenCount": 890,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 34}],
            "thoughtsTokenCount": 438,
        },
        per_million("0.30", "2.50"),
        Usage(input_fresh=34, output=856),
        34 * 300 + (418 + 438) * 2_500,  # 10,200 + 2,140,000
    ),
    # https://discuss.ai.google.dev/t/question-with-usage-in-openai-compatibility/98760
    "gemini through its openai endpoint": Block(
        {"completion_tokens": 102, "prompt_tokens": 758, "total_tokens": 1725},
        per_million("1.25", "10"),
        Usage(input_fresh=758, output=967),
        758 * 1_250 + (1725 - 758) * 10_000,  # 947,500 + 9,670,000
    ),
    # https://api-docs.deepseek.com/api/create-chat-completion, as the Vercel AI SDK recorded one
    "deepseek": Block(
        {
            "prompt_tokens": 13,
            "completion_tokens": 300,
            "total_tokens": 313,
            "prompt_tokens_details": {"cached_tokens": 0},
            "prompt_cache_hit_tokens": 0,
            "prompt_cache_miss_tokens": 13,
        },
        per_million("0.28", "0.42", read="0.028"),
        Usage(input_fresh=13, output=300),
        13 * 280 + 300 * 420,  # 3,640 + 126,000
    ),
    # https://openrouter.ai/docs/use-cases/usage-accounting: with a key of one's own, OpenRouter's
    # fee is `cost` and the provider's charge comes beside it
    "openrouter, a key of one's own": Block(
        {
            "completion_tokens": 2,
            "completion_tokens_details": {"reasoning_tokens": 0},
            "cost": 0.95,
            "cost_details": {"upstream_inference_cost": 19},
            "prompt_tokens": 194,
            "prompt_tokens_details": {
                "cached_tokens": 0,
                "cache_write_tokens": 100,
                "audio_tokens": 0,
            },
            "total_tokens": 196,
        },
        per_million("1", "1"),
        Usage(input_fresh=94, cache_write=100, output=2),
        950_000_000 + 19_000_000_000,
        CostSource.PROVIDER,
        states_cost=True,
    ),
    # the README of the alpha3-bench repository, from a recorded answer of OpenRouter
    "openrouter": Block(
        {
            "prompt_tokens": 1059,
            "completion_tokens": 3573,
            "total_tokens": 4632,
            "cost": 0.0030245,
            "is_byok": False,
            "prompt_tokens_details": {"cached_tokens": 608, "audio_tokens": 0, "video_tokens": 0},
            "cost_details": {
                "upstream_inference_cost": None,
                "upstream_inference_prompt_cost": 0.0001661,
                "upstream_inference_completions_cost": 0.0028584,
            },
            "completion_tokens_details": {"reasoning_tokens": 0, "image_tokens": 0},
        },
        per_million("99", "99"),
        Usage(input_fresh=451, cache_read=608, output=3573),
        3_024_500,  # 0.0030245, whatever the price would make of it
        CostSource.PROVIDER,
        states_cost=True,
    ),
    # https://docs.mistral.ai/api/endpoint/chat
    "mistral": Block(
        {"prompt_tokens": 16, "completion_tokens": 34, "total_tokens": 50},
        per_million("0.10", "0.30"),
        Usage(input_fresh=16, output=34),
        16 * 100 + 34 * 300,  # 1,600 + 10,200
    ),
    # https://console.groq.com/docs/prompt-caching
    "groq": Block(
        {
            "queue_time": 0.026959759,
            "prompt_tokens": 4641,
            "prompt_time": 0.009995497,
            "completion_tokens": 1817,
            "completion_time": 5.57691751,
            "total_tokens": 6458,
            "total_time": 5.586913007,
            "prompt_tokens_details": {"cached_tokens": 4608},
        },
        per_million("1", "3", read="0.50"),
        Usage(input_fresh=33, cache_read=4608, output=1817),
        33 * 1_000 + 4608 * 500 + 1817 * 3_000,  # 33,000 + 2,304,000 + 5,451,000
    ),
    # the vLLM Ascend documentation, tutorials/multi_npu_pangu
    "vllm": Block(
        {
            "prompt_tokens": 15,
            "total_tokens": 79,
            "completion_tokens": 64,
            "prompt_tokens_details": None,
        },
        per_million("0.075", "0.3"),
        Usage(input_fresh=15, output=64),
        15 * 75 + 64 * 300,  # 1,125 + 19,200
    ),
    # https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
    "llama.cpp": Block(
        {
            "completion_tokens": 48,
            "prompt_tokens": 44,
            "total_tokens": 92,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
        per_million("0", "0"),
        Usage(input_fresh=44, output=48),
        0,  # its own machine
    ),
    # llama-stack, tests/integration/recordings/responses/cca0267555a6.json
    "ollama": Block(
        {
            "completion_tokens": 27,
            "prompt_tokens": 172,
            "total_tokens": 199,
            "completion_tokens_details": None,
            "prompt_tokens_details": None,
        },
        per_million("0.1", "0.1"),
        Usage(input_fresh=172, output=27),
        (172 + 27) * 100,  # 19,900
    ),
    # https://doc.302.ai/api-263332597: a gateway that also fills in the names of another dialect
    "a gateway with two dialects": Block(
        {
            "prompt_tokens": 686,
            "completion_tokens": 123,
            "total_tokens": 809,
            "prompt_tokens_details": {
                "cached_tokens": 679,
                "text_tokens": 686,
                "audio_tokens": 0,
                "image_tokens": 0,
            },
            "completion_tokens_details": {
                "text_tokens": 11,
                "audio_tokens": 0,
                "reasoning_tokens": 112,
            },
            "input_tokens": 0,
            "output_tokens": 0,
            "input_tokens_details": None,
            "claude_cache_creation_5_m_tokens": 0,
            "claude_cache_creation_1_h_tokens": 0,
        },
        per_million("3", "15", read="0.75"),
        Usage(input_fresh=7, cache_read=679, output=123),
        7 * 3_000 + 679 * 750 + 123 * 15_000,  # 21,000 + 509,250 + 1,845,000
    ),
}

WORST = Usage(input_fresh=100_000, output=10_000)


def reply_of(usage: dict[str, Any], *, billing: Billing, **fields: Any) -> Reply:
    """Read a chat completion that reports this usage."""
    body = {
        "choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}],
        "model": "m-1",
        "usage": usage,
        **fields,
    }
    pin = ModelPin(provider="http", model="m-1")
    reply = read_chat(json.dumps(body).encode(), pin, NO_KEY, billing)
    assert isinstance(reply, Reply)
    return reply


@pytest.mark.parametrize("name", BLOCKS)
def test_a_published_block_costs_what_it_costs_by_hand(name: str) -> None:
    """From the bytes of a reply to the nano-units of its attempt."""
    block = BLOCKS[name]
    reply = reply_of(block.usage, billing=Billing(states_cost=block.states_cost))
    assert (reply.usage, reply.usage_impossible) == (block.counts, False)
    attempt = settle(reply, WORST, block.price)
    if block.nano is None:  # what nobody can tell is charged in full
        assert block.source is CostSource.UNKNOWN
        most = most_for(WORST, block.price)
        assert (attempt.amount, attempt.source) == (most, CostSource.ESTIMATE)
    else:
        assert (attempt.amount, attempt.source) == (block.nano, block.source)


def test_a_stated_cost_is_only_read_from_those_who_state_it() -> None:
    """Elsewhere a field of that name can mean anything, in any currency."""
    block = BLOCKS["openrouter"]
    attempt = settle(reply_of(block.usage, billing=Billing()), WORST, per_million("1", "1"))
    assert attempt.amount == (451 + 608 + 3573) * 1_000
    assert attempt.source is CostSource.PRICE_TABLE


@pytest.mark.parametrize("cost", [-0.1, "0.2", True, [], 1e9])
def test_a_stated_cost_that_cannot_be_true_is_marked(cost: object) -> None:
    """Nothing is paid by it: the usage is impossible, and the price decides."""
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": cost}
    attempt = settle(
        reply_of(usage, billing=Billing(states_cost=True)), WORST, per_million("1", "1")
    )
    assert attempt.outcome.usage_impossible
    assert (attempt.amount, attempt.source) == (2_000, CostSource.PRICE_TABLE)


def test_a_free_call_at_openrouter_is_known_to_be_free() -> None:
    """A stated zero is a zero, not an unknown amount."""
    usage = {"prompt_tokens": 17, "completion_tokens": 256, "total_tokens": 273, "cost": 0}
    attempt = settle(reply_of(usage, billing=Billing(states_cost=True)), WORST, None)
    assert (attempt.amount, attempt.source) == (0, CostSource.PROVIDER)


@pytest.mark.parametrize(
    ("fields", "usage", "known"),
    [
        ({"service_tier": "default"}, {}, True),
        ({"service_tier": None}, {"service_tier": "standard"}, True),
        ({"service_tier": "priority"}, {}, False),
        ({}, {"service_tier": "batch"}, False),
        ({}, {"serviceTier": "flex"}, False),
        ({"service_tier": 3}, {}, False),
    ],
)
def test_a_tables_price_holds_for_the_standard_tier_alone(
    fields: dict[str, Any], usage: dict[str, Any], *, known: bool
) -> None:
    """Another tier costs something else; a study's own price is for whatever tier it uses."""
    counts = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4, **usage}
    price = per_million("1", "1")
    by_table = settle(reply_of(counts, billing=Billing(is_by_table=True), **fields), WORST, price)
    assert by_table.amount == (4_000 if known else most_for(WORST, price))
    assert (by_table.source is CostSource.PRICE_TABLE) is known
    assert settle(reply_of(counts, billing=Billing(), **fields), WORST, price).amount == 4_000
