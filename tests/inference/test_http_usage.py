"""That every dialect of usage becomes four disjoint counts, and that nonsense becomes none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.inference.http.usage import COUNT_MAX, normalise_usage
from perdure.records.usage import Usage

DIALECTS: dict[str, tuple[dict[str, Any], Usage]] = {
    "openai": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 30,
            "total_tokens": 130,
            "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 20},
        },
        Usage(input_fresh=36, cache_read=64, output=30),
    ),
    "minimal": (
        {"prompt_tokens": 5, "completion_tokens": 0},
        Usage(input_fresh=5),
    ),
    "null details": (
        {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": None},
        Usage(input_fresh=5, output=1),
    ),
    "reasoning outside the output": (
        {
            "prompt_tokens": 32,
            "completion_tokens": 9,
            "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 94},
        },
        Usage(input_fresh=32, output=103),
    ),
    "anthropic": (
        {
            "input_tokens": 21,
            "cache_creation_input_tokens": 188,
            "cache_read_input_tokens": 400,
            "output_tokens": 39,
        },
        Usage(input_fresh=21, cache_write=188, cache_read=400, output=39),
    ),
    "a proxy in front of anthropic": (
        {
            "prompt_tokens": 609,
            "completion_tokens": 39,
            "total_tokens": 648,
            "prompt_tokens_details": {"cached_tokens": 400},
            "cache_creation_input_tokens": 188,
            "cache_read_input_tokens": 400,
        },
        Usage(input_fresh=21, cache_write=188, cache_read=400, output=39),
    ),
    "openai responses": (
        {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 64},
            "output_tokens": 30,
            "total_tokens": 130,
        },
        Usage(input_fresh=36, cache_read=64, output=30),
    ),
    "deepseek": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 3,
            "total_tokens": 103,
            "prompt_cache_hit_tokens": 90,
            "prompt_cache_miss_tokens": 10,
        },
        Usage(input_fresh=10, cache_read=90, output=3),
    ),
    "gemini": (
        {
            "promptTokenCount": 50,
            "cachedContentTokenCount": 20,
            "candidatesTokenCount": 7,
            "thoughtsTokenCount": 40,
            "totalTokenCount": 97,
        },
        Usage(input_fresh=30, cache_read=20, output=47),
    ),
    # What tools gave to the model is input, and a count of zero is left out.
    "gemini with tools": (
        {
            "promptTokenCount": 50,
            "toolUsePromptTokenCount": 11,
            "thoughtsTokenCount": 40,
            "totalTokenCount": 101,
        },
        Usage(input_fresh=61, output=40),
    ),
    "gemini without a total": (
        {"promptTokenCount": 50, "candidatesTokenCount": 7, "thoughtsTokenCount": 40},
        Usage(input_fresh=50, output=47),
    ),
    "deepseek without a total of the prompt": (
        {"completion_tokens": 3, "prompt_cache_hit_tokens": 90, "prompt_cache_miss_tokens": 10},
        Usage(input_fresh=10, cache_read=90, output=3),
    ),
    "reasoning outside the output, without a total": (
        {
            "prompt_tokens": 32,
            "completion_tokens": 9,
            "completion_tokens_details": {"reasoning_tokens": 94},
        },
        Usage(input_fresh=32, output=103),
    ),
    "mistral": (
        {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12, "num_cached_tokens": 8},
        Usage(input_fresh=2, cache_read=8, output=2),
    ),
    "moonshot": (
        {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12, "cached_tokens": 8},
        Usage(input_fresh=2, cache_read=8, output=2),
    ),
    "anthropic, writes by their age alone": (
        {
            "input_tokens": 5,
            "cache_creation": {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 2,
        },
        Usage(input_fresh=5, cache_write=7, output=2),
    ),
    "anthropic, with a total that leaves the cache out": (
        {
            "input_tokens": 5,
            "cache_read_input_tokens": 70,
            "output_tokens": 2,
            "total_tokens": 7,
        },
        Usage(input_fresh=5, cache_read=70, output=2),
    ),
    "openrouter, writing a cache": (
        {
            "prompt_tokens": 194,
            "completion_tokens": 2,
            "total_tokens": 196,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 100},
        },
        Usage(input_fresh=94, cache_write=100, output=2),
    ),
}

# What was used beside the tokens of text; the counts are the same without it.
BESIDE: dict[str, dict[str, Any]] = {
    "sound in": {"prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 3}},
    "sound out": {"completion_tokens_details": {"audio_tokens": 3}},
    "pictures": {"prompt_tokens_details": {"image_tokens": 3}},
    "seconds of sound": {"prompt_audio_seconds": 1.5},
    "searches": {"server_tool_use": {"web_search_requests": 1}},
    "queries": {"num_search_queries": 2},
    "sources": {"num_sources_used": 2},
    "tools": {"server_side_tool_usage_details": {"x_search_calls": 7, "mcp_calls": 0}},
    "citations": {"citation_tokens": 9},
    "a cache kept for long": {"cache_creation": {"ephemeral_1h_input_tokens": 3}},
    "a modality": {"promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 1}]},
}
# The same names, with nothing in them.
NOT_BESIDE: dict[str, dict[str, Any]] = {
    "no sound": {"prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0}},
    "no seconds": {"prompt_audio_seconds": None},
    "no searches": {"server_tool_use": {"web_search_requests": 0}},
    "no sources": {"num_sources_used": 0},
    "text": {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}]},
    "not counts": {"server_tool_use": "web", "promptTokensDetails": "AUDIO"},
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_is_understood(dialect: str) -> None:
    """Each way of counting gives the same four counts, which add up to its totals."""
    reported, usage = DIALECTS[dialect]
    assert normalise_usage(reported, has_output=True) == (usage, False)


@pytest.mark.parametrize("name", [*BESIDE, *NOT_BESIDE])
def test_what_tokens_do_not_pay_for_is_marked(name: str) -> None:
    """A usage that holds more than text says so, since its cost does not follow from its counts."""
    counts = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
    reported = {**counts, **BESIDE.get(name, {}), **NOT_BESIDE.get(name, {})}
    usage, impossible = normalise_usage(reported, has_output=True)
    assert not impossible
    assert usage is not None
    assert usage.beyond_tokens is (name in BESIDE)


def test_an_embedding_has_no_output() -> None:
    """Vectors use input alone, and an output that is reported for them cannot be true."""
    reported = {"prompt_tokens": 8, "total_tokens": 8}
    assert normalise_usage(reported, has_output=False) == (Usage(input_fresh=8), False)
    assert normalise_usage({"prompt_tokens": 8}, has_output=False) == (Usage(input_fresh=8), False)
    for more in ({"total_tokens": 9}, {"completion_tokens": 1}):
        assert normalise_usage({"prompt_tokens": 8, **more}, has_output=False) == (None, True)


@pytest.mark.parametrize("reported", [None, {}, {"prompt_tokens": 4}, {"completion_tokens": 4}])
def test_what_is_not_reported_is_unknown(reported: object) -> None:
    """A missing count is no count: not zero, and not impossible either."""
    assert normalise_usage(reported, has_output=True) == (None, False)


NO_COUNTS: tuple[Any, ...] = (
    *(-1, "4", True, 1.5, [], {}),
    *(float("nan"), float("inf"), COUNT_MAX + 1, 10**400),
)


@pytest.mark.parametrize(
    "broken",
    [
        *({"prompt_tokens": value} for value in NO_COUNTS),
        {"total_tokens": 3},
        {"prompt_tokens_details": 7},
        {"prompt_tokens_details": {"cached_tokens": 11}},
        {"cache_creation_input_tokens": 11},
        {"prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 6},
        {"total_tokens": 12, "completion_tokens_details": {"reasoning_tokens": 3}},
        {"completion_tokens_details": []},
        {"cache_creation": 4},
    ],
    ids=str,
)
def test_what_cannot_be_true_is_refused_and_marked(broken: dict[str, Any]) -> None:
    """Negative, fractional, infinite, absurd or contradictory usage is no usage."""
    honest = {"prompt_tokens": 10, "completion_tokens": 2}
    assert normalise_usage({**honest, **broken}, has_output=True) == (None, True)


NAMES = sorted({name for reported, _ in DIALECTS.values() for name in reported})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["cached_tokens", "cache_write_tokens"]), inner)
    ),
    max_leaves=4,
)


@given(reported=st.dictionaries(st.sampled_from(NAMES), VALUES) | VALUES, has_output=st.booleans())
def test_no_usage_is_ever_an_exception_or_negative(*, reported: object, has_output: bool) -> None:
    """Whatever is reported, the result is four bounded counts or none, and never both marks."""
    usage, impossible = normalise_usage(reported, has_output=has_output)
    assert usage is None or not impossible
    if usage is not None:
        counts = (usage.input_fresh, usage.cache_write, usage.cache_read, usage.output)
        assert all(type(count) is int and 0 <= count <= COUNT_MAX for count in counts)


COUNTS = st.integers(-1, 60) | st.booleans() | st.none() | st.floats(0, 60) | st.just(10**10)


@given(prompt=COUNTS, said=COUNTS, total=COUNTS, cached=COUNTS, thought=COUNTS, heard=COUNTS)
def test_the_short_way_and_the_long_way_agree(
    *, prompt: object, said: object, total: object, cached: object, thought: object, heard: object
) -> None:
    """The commonest shape is read by a short cut, which gives what the whole rules give."""
    reported = {
        "prompt_tokens": prompt,
        "completion_tokens": said,
        "total_tokens": total,
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": heard},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    long_way = {**reported, "a name that nobody reads": 1}
    shown = normalise_usage(reported, has_output=True)
    assert shown == normalise_usage(long_way, has_output=True)
