"""That a price is looked up by who answers, is what the table says, and stays a run's own."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import genai_prices
import msgspec
import pytest
from genai_prices import types
from genai_prices.data import providers as bundled
from tests.support.town import town

from perdure.base.money import NANO
from perdure.inference.price_table import Entry, PriceTable
from perdure.inference.prices import priced
from perdure.records.budget import Budget
from perdure.records.scenario import ModelPin
from perdure.records.study import Endpoint, ModelSpec, Study
from perdure.records.usage import Price, PriceSource, PriceTier, Usage
from perdure.study.pricing import amount_of, most_for

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
TABLE = PriceTable(NOW.timestamp())
OPENAI = "https://api.openai.com/v1"
MINI = "gpt-4o-mini-2024-07-18"


def entry_of(found: Entry | str) -> Entry:
    """Expect that a price was found."""
    assert isinstance(found, Entry), found
    return found


def money(amount: str) -> int:
    """Turn a price per million tokens into nano-units."""
    return int(Decimal(amount) * NANO)


@pytest.mark.parametrize(
    ("base_url", "model", "entry"),
    [
        (OPENAI, MINI, "openai/gpt-4o-mini"),
        ("https://api.openai.com", MINI, "openai/gpt-4o-mini"),
        ("https://api.openai.com:443/v1", MINI, "openai/gpt-4o-mini"),
        ("https://API.OpenAI.com/v1", MINI, "openai/gpt-4o-mini"),
        ("https://openrouter.ai/api/v1", "openai/gpt-4o-mini", "openrouter/openai/gpt-4o-mini"),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "gemini-2.5-pro",
            "google/gemini-2.5-pro",
        ),
        ("https://ours.openai.azure.com/openai/v1", "gpt-4o", "azure/gpt-4o"),
    ],
)
def test_a_price_is_found_by_who_answers_at_the_address(
    base_url: str, model: str, entry: str
) -> None:
    """The provider's own pattern names it, and its own list has the model."""
    found = entry_of(TABLE.by_address(base_url, model))
    version = genai_prices.__version__
    assert found.source == PriceSource(table="genai-prices", version=version, entry=entry)


@pytest.mark.parametrize(
    "base_url",
    [
        "http://127.0.0.1:8000/v1",
        "http://localhost/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com.example.org/v1",
        "https://api.openai.community/v1",
        "https://example.org/https://api.openai.com/v1",
        "https://example.org/api.openai.com/v1",
        "https://example.org/x.googleapis.com/v1",
        "https://gateway.example.org/openai/v1",
    ],
)
def test_a_models_name_alone_is_worth_nothing_elsewhere(base_url: str) -> None:
    """A server of one's own, or a look-alike, does not bill like the model's maker."""
    for model in (MINI, "gpt-4o", "gemini-2.5-pro"):
        found = TABLE.by_address(base_url, model)
        assert isinstance(found, str)
        assert base_url in found


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("no-such-model", "has no openai/no-such-model"),
        ("whisper-1", "without a price for text"),
        ("text-embedding-3-small", "without a price for text"),
        ("gpt-4o-mini-search-preview", "searches the web"),
        ("x" * 500, "xxx"),
    ],
)
def test_what_cannot_be_priced_by_its_tokens_is_said_to_be_so(model: str, says: str) -> None:
    """Sound, searches and unknown models have no price here, and a sentence says why."""
    found = TABLE.by_address(OPENAI, model)
    assert isinstance(found, str)
    assert says in found
    assert len(found) < 300


@pytest.mark.parametrize(
    ("model", "fresh"), [("text-embedding-3-small", 20_000_000), ("gpt-4o-mini", 150_000_000)]
)
def test_a_model_for_vectors_needs_no_price_for_what_it_says(model: str, fresh: int) -> None:
    """Where it only gives vectors, a price for text in is enough, by address and by name."""
    found = entry_of(TABLE.by_address(OPENAI, model, speaks=False))
    assert found == entry_of(TABLE.by_entry(f"openai/{model}", speaks=False))
    assert found.price.input_fresh == fresh
    assert isinstance(TABLE.by_address(OPENAI, "whisper-1", speaks=False), str)


def test_each_role_has_the_price_that_it_needs() -> None:
    """One model in two roles: priced where it gives vectors, refused where it is to speak."""
    spec = ModelSpec(
        pin=ModelPin(provider="http", model="text-embedding-3-small"),
        endpoint=Endpoint(base_url=OPENAI),
    )
    study = msgspec.structs.replace(town(1).study, models={"tier_a": spec, "embed": spec})
    found = priced(study, now_s=NOW.timestamp())
    assert found.unpriced.keys() == {"tier_a"}
    price = found.study.models["embed"].price
    assert price is not None
    assert amount_of(Usage(input_fresh=1_000), price) == 20_000
    assert most_for(Usage(input_fresh=1_000), price) == 20_000


def test_a_named_price_is_looked_up_by_its_exact_provider() -> None:
    """`price_as` is a provider's id and a model; a near miss is named."""
    found = entry_of(TABLE.by_entry("openai/gpt-4o-mini"))
    assert found == entry_of(TABLE.by_address(OPENAI, MINI))
    assert entry_of(TABLE.by_entry("openrouter/openai/gpt-4o-mini")).source.entry == (
        "openrouter/openai/gpt-4o-mini"
    )
    for wrong, says in (
        ("opnai/gpt-4o", "It has `openai`"),
        ("openai/nothing", "has no openai/nothing"),
        ("my-openai-proxy/gpt-4o", "does not have"),
    ):
        assert says in str(TABLE.by_entry(wrong))


USAGES = (
    Usage(input_fresh=1_000, output=10),
    Usage(input_fresh=3, cache_read=997, output=1_000),
    Usage(input_fresh=1, cache_write=50_000, cache_read=10, output=7),
    Usage(input_fresh=150_000, cache_read=60_000, output=500),
    Usage(input_fresh=600_000, output=1),
)


def by_the_package(provider: str, model: str, usage: Usage, at: datetime) -> Decimal:
    """Price a usage with the package's own calculation, in nano-units."""
    total = usage.input_fresh + usage.cache_write + usage.cache_read
    counts = genai_prices.Usage(
        input_tokens=total,
        cache_write_tokens=usage.cache_write,
        cache_read_tokens=usage.cache_read,
        output_tokens=usage.output,
        output_reasoning_tokens=0,
        output_citation_tokens=0,
    )
    found = genai_prices.calc_price(
        counts, model_ref=model, provider_id=provider, genai_request_timestamp=at
    )
    return found.total_price * NANO


def test_every_price_of_the_table_is_what_the_package_makes_of_it() -> None:
    """All models that are priced by tokens, against the package's own arithmetic."""
    exact = bounds = 0
    for provider in bundled:
        for model in provider.models:
            found = TABLE.by_entry(f"{provider.id}/{model.id}")
            if isinstance(found, str) or found.source.entry != f"{provider.id}/{model.id}":
                continue
            for usage in USAGES:
                amount = amount_of(usage, found.price)
                theirs = by_the_package(provider.id, model.id, usage, NOW)
                assert amount is not None
                if found.price.is_bound:
                    bounds += 1
                    assert amount >= theirs, found.source
                else:
                    exact += 1
                    assert theirs <= amount < theirs + 1, found.source
    # Nearly all of them: a table that has lost its shape would leave most of them out.
    assert exact > 5_000
    assert bounds > 0


PEAK = types.ModelPrice(
    input_mtok=Decimal(2), output_mtok=Decimal(4), cache_read_mtok=Decimal("0.5")
)
QUIET = types.ModelPrice(
    input_mtok=Decimal(1), output_mtok=Decimal(3), cache_read_mtok=Decimal("0.6")
)


def table_of(prices: Any, now: datetime = NOW) -> Price:
    """Look a model up that is the only one of its provider, and has these prices."""
    model = types.ModelInfo(id="m", match=types.ClauseEquals(equals="m"), prices=prices)
    provider = types.Provider(id="p", name="P", api_pattern=r"https://p\.example", models=[model])
    found = PriceTable(now.timestamp(), [provider]).by_address("https://p.example/v1", "m")
    return entry_of(found).price


def conditional(constraint: Any, prices: types.ModelPrice) -> types.ConditionalPrice:
    """Make a price that holds under a condition."""
    return types.ConditionalPrice(constraint=constraint, prices=prices)


@pytest.mark.parametrize("hour", range(0, 24, 5))
def test_a_price_by_time_of_day_is_the_dearest_and_a_bound(hour: int) -> None:
    """A run lasts, so whenever it is looked up the price covers every hour."""
    day = types.TimeOfDateConstraint(start_time=time(8, tzinfo=UTC), end_time=time(20, tzinfo=UTC))
    prices = [conditional(None, QUIET), conditional(day, PEAK)]
    assert table_of(prices, NOW.replace(hour=hour)) == Price(
        input_fresh=money("2"), output=money("4"), cache_read=money("0.6"), is_bound=True
    )


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (-3, Price(input_fresh=money("2"), output=money("4"), cache_read=money("0.5"))),
        (0, Price(input_fresh=money("2"), output=money("4"), cache_read=money("0.5"))),
        (
            9,
            Price(
                input_fresh=money("2"), output=money("4"), cache_read=money("0.6"), is_bound=True
            ),
        ),
        (90, Price(input_fresh=money("1"), output=money("3"), cache_read=money("0.6"))),
    ],
)
def test_a_price_that_changes_soon_is_the_dearer_of_both(days: int, expected: Price) -> None:
    """What begins within a month counts; what has begun replaces what was; the rest is far off."""
    start = types.StartDateConstraint(start_date=(NOW + timedelta(days=days)).date())
    assert table_of([conditional(None, QUIET), conditional(start, PEAK)]) == expected


def test_tiers_are_gathered_by_the_size_of_the_input() -> None:
    """A kind without tiers of its own keeps its rate in each of them."""
    stepped = types.TieredPrices(
        base=Decimal(1),
        tiers=[types.Tier(start=32_000, price=Decimal(2)), types.Tier(128_000, Decimal(3))],
    )
    price = types.ModelPrice(
        input_mtok=stepped, output_mtok=Decimal(9), cache_write_mtok=Decimal("1.25")
    )
    assert table_of(price) == Price(
        input_fresh=money("1"),
        output=money("9"),
        cache_write=money("1.25"),
        tiers=(
            PriceTier(
                over=32_000,
                input_fresh=money("2"),
                output=money("9"),
                cache_write=money("1.25"),
            ),
            PriceTier(
                over=128_000,
                input_fresh=money("3"),
                output=money("9"),
                cache_write=money("1.25"),
            ),
        ),
    )


def test_a_kind_of_output_with_its_own_rate_makes_a_bound() -> None:
    """Reasoning can be dearer than the rest, and how much of it there was is not counted apart."""
    price = types.ModelPrice(
        input_mtok=Decimal(2), output_mtok=Decimal(8), output_reasoning_mtok=Decimal(9)
    )
    assert table_of(price) == Price(input_fresh=money("2"), output=money("9"), is_bound=True)


def test_a_price_by_the_request_is_not_one_by_tokens() -> None:
    """It is not left out silently: the model has no price here."""
    price = types.ModelPrice(
        input_mtok=Decimal(1), output_mtok=Decimal(1), requests_kcount=Decimal(5)
    )
    model = types.ModelInfo(id="m", match=types.ClauseEquals(equals="m"), prices=price)
    provider = types.Provider(id="p", name="P", api_pattern=r"https://p\.example", models=[model])
    found = PriceTable(NOW.timestamp(), [provider]).by_entry("p/m")
    assert "by the request too" in str(found)


def asked(*, currency: str = "USD", budget: Budget | None = None, **spec: Any) -> Study:
    """Make a study whose one model is somewhere."""
    given = {"endpoint": Endpoint(base_url=OPENAI), **spec}
    model = ModelSpec(pin=ModelPin(provider="http", model=MINI), **given)
    return msgspec.structs.replace(
        town(1).study,
        models=dict.fromkeys(("tier_a", "tier_b"), model),
        currency=currency,
        budget=budget or Budget(),
    )


def test_a_price_that_is_found_is_part_of_the_study_with_where_it_was() -> None:
    """The run's record has the rates themselves and the table's name, version and entry."""
    study = asked()
    found = priced(study, now_s=NOW.timestamp())
    spec = found.study.models["tier_b"]
    assert spec.price is not None
    assert spec.price_source is not None
    assert (spec.price_source.table, spec.price_source.entry) == (
        "genai-prices",
        "openai/gpt-4o-mini",
    )
    assert (found.unpriced, found.problems("s.yaml")) == ({}, [])


def test_what_a_study_says_itself_is_not_looked_up() -> None:
    """Its own price, its own bound, and what is free here: the table is not even loaded."""
    mine = Price(input_fresh=1, output=2)
    for study in (asked(price=mine), asked(price_bound=mine), town(1).study):
        assert priced(study, now_s=0).study is study
    program = (
        "import sys\n"
        "from perdure.inference.prices import priced\n"
        "from tests.support.town import town\n"
        "priced(town(1).study, now_s=0)\n"
        "assert 'genai_prices' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_no_price_is_converted() -> None:
    """A table in dollars says nothing of a study in euros."""
    found = priced(asked(currency="EUR"), now_s=NOW.timestamp())
    assert found.study.models["tier_a"].price is None
    (problem,) = found.problems("s.yaml")
    assert "in USD, the study counts in EUR, and nothing is converted" in problem.wrong


def test_a_model_without_a_price_is_one_problem_with_every_way_out() -> None:
    """Both of its roles are named, with the reason and what can be written."""
    study = asked(endpoint=Endpoint(base_url="http://127.0.0.1:1/v1"))
    (problem,) = priced(study, now_s=NOW.timestamp()).problems("s.yaml")
    assert problem.file == "s.yaml"
    assert f"`{MINI}` (tier_a and tier_b) has no price" in problem.wrong
    for way in ("price:", "price_as:", "price_bound:", "unpriced: accepted", "--price"):
        assert way in problem.remedy


def test_accepted_spend_is_no_problem_but_a_mistaken_name_is() -> None:
    """Who accepts unknown costs has not thereby accepted a price that is not there."""
    budget = Budget(unpriced_accepted=True, calls=9)
    here = Endpoint(base_url="http://127.0.0.1:1/v1")
    accepted = priced(asked(endpoint=here, budget=budget), now_s=NOW.timestamp())
    assert set(accepted.unpriced) == {"tier_a", "tier_b"}
    assert accepted.problems("s.yaml") == []
    mistaken = asked(endpoint=here, budget=budget, price_as="openai/nothing")
    (problem,) = priced(mistaken, now_s=NOW.timestamp()).problems("s.yaml")
    assert "has no openai/nothing" in problem.wrong


OLD = PriceSource(table="genai-prices", version="0.0.1", entry="openai/gpt-4o-mini")
THEN = Price(input_fresh=7, output=9)


def begun(**spec: Any) -> Study:
    """Make a study as a run of it began, with prices of an older table."""
    return asked(**{"price": THEN, "price_source": OLD, **spec})


def test_a_run_keeps_the_price_that_it_began_with() -> None:
    """Whatever the table says by now: a run has one price from its first call to its last."""
    kept = priced(asked(), now_s=NOW.timestamp(), begun=begun()).study.models["tier_a"]
    assert (kept.price, kept.price_source) == (THEN, OLD)


def test_a_run_that_began_without_a_price_goes_on_without_one() -> None:
    """A table that has learnt a price since does not change what a run's calls count as."""
    without = begun(price=None, price_source=None)
    found = priced(asked(), now_s=NOW.timestamp(), begun=without)
    assert found.study.models["tier_a"].price is None
    assert found.unpriced["tier_a"] == "The run began without one."


@pytest.mark.parametrize(
    "now",
    [
        asked(price_as="openai/gpt-4o"),
        asked(endpoint=Endpoint(base_url="https://openrouter.ai/api/v1"), price_as="openai/gpt-4o"),
    ],
)
def test_another_model_address_or_name_of_a_price_is_looked_up_afresh(now: Study) -> None:
    """A price is kept for what it was the price of, and for nothing else."""
    spec = priced(now, now_s=NOW.timestamp(), begun=begun()).study.models["tier_a"]
    assert spec.price_source is not None
    assert spec.price_source.version == genai_prices.__version__


def test_a_price_of_the_studys_own_is_never_taken_for_a_looked_up_one() -> None:
    """Who removes a price from a study has removed it."""
    own = begun(price_source=None)
    spec = priced(asked(), now_s=NOW.timestamp(), begun=own).study.models["tier_a"]
    assert spec.price != THEN
