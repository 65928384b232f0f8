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
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_is_understood(dialect: str) -> None:
    """Each way of counting gives the same four counts, which add up to its totals."""
    reported, usage = DIALECTS[dialect]
    assert normalise_usage(reported, has_output=True) == (usage, False)


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


@given(prompt=COUNTS, said=COUNTS, total=COUNTS, cached=COUNTS)
def test_the_short_way_and_the_long_way_agree(
    prompt: object, said: object, total: object, cached: object
) -> None:
    """The commonest shape is read by a short cut, which gives what the whole rules give."""
    reported = {
        "prompt_tokens": prompt,
        "completion_tokens": said,
        "total_tokens": total,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    long_way = {**reported, "a name that nobody reads": 1}
    shown = normalise_usage(reported, has_output=True)
    assert shown == normalise_usage(long_way, has_output=True)
