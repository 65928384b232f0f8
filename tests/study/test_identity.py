"""Proves that identities are the pinned functions of what was asked, and of nothing else."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import pytest
from tests.support.sample_study import Writer

from perdure.base import canonical
from perdure.base.errors import InvalidStudyError
from perdure.population import Loaded, load_study
from perdure.records.budget import Budget
from perdure.records.scenario import Scenario, Variant
from perdure.records.study import Order
from perdure.records.usage import Price, PriceSource
from perdure.study.identity import expand, input_hashes, world_id, world_seed


@pytest.fixture
def loaded(write: Writer) -> Loaded:
    """Load the small study."""
    return load_study(write())


def test_a_world_seed_is_pinned() -> None:
    """A world seed is pinned."""
    assert int(world_seed(7, "clear-v1"), 16) == 4559272868482491478
    assert world_seed(7, "clear-v1") == "3f45ca848ff9a456"
    assert world_seed(1, "v") == hashlib.sha256(b"1:v").hexdigest()[:16]


def test_a_world_id_is_pinned() -> None:
    """A world id is pinned."""
    assert world_id("a" * 64, 7, "b" * 64) == "24520224c850"
    assert world_id("a" * 64, 8, "b" * 64) != world_id("a" * 64, 7, "b" * 64)


def test_a_scenario_hash_is_pinned() -> None:
    """A scenario hash is pinned."""
    scenario = Scenario(id="s", variant="v", horizon=3)
    plain = b'{"horizon":3,"id":"s","variant":"v"}'
    assert canonical.encode(scenario) == plain
    assert canonical.hash_hex(scenario) == hashlib.sha256(plain).hexdigest()


def test_cells_are_scenario_by_scenario_and_share_draws_by_variant(loaded: Loaded) -> None:
    """Cells are scenario by scenario and share draws by variant."""
    cells = expand(loaded.study, loaded.population)
    assert [(cell.entry.scenario, cell.entry.replicate_seed) for cell in cells] == [
        ("s1", 1),
        ("s1", 2),
        ("s2", 1),
        ("s2", 2),
    ]
    assert cells[0].entry.world_seed == cells[2].entry.world_seed != cells[1].entry.world_seed
    assert len({cell.entry.world_id for cell in cells}) == 4
    for cell in cells:
        assert cell.header.world_id == cell.entry.world_id
        assert cell.header.world_seed == cell.entry.world_seed
        assert cell.header.persona_ids == loaded.population.persona_ids
        assert set(cell.header.pins) == {"tier_a", "tier_b"}


def test_a_world_id_follows_the_scenario_the_seed_and_the_population(loaded: Loaded) -> None:
    """A world id follows the scenario the seed and the population."""
    study, population = loaded.study, loaded.population
    first = expand(study, population)[0].entry.world_id
    moved = msgspec.structs.replace(study.scenarios[0], horizon=9)
    other = msgspec.structs.replace(study, scenarios=(moved, study.scenarios[1]))
    fewer = msgspec.structs.replace(population, population_hash="0" * 64)
    reworded = msgspec.structs.replace(study, name="other", seeds=(1,))
    assert expand(other, population)[0].entry.world_id != first
    assert expand(study, fewer)[0].entry.world_id != first
    assert expand(reworded, population)[0].entry.world_id == first


def test_each_input_moves_its_own_hash_alone(loaded: Loaded) -> None:
    """Each input moves its own hash alone."""
    study = loaded.study
    before = input_hashes(study, loaded.population, loaded.held_out)
    first = msgspec.structs.replace(study.ontology.attributes[0], determining=True)
    determining = msgspec.structs.replace(study.ontology, attributes=(first,))
    changes = {
        "brief": msgspec.structs.replace(
            study, brief=msgspec.structs.replace(study.brief, title="x")
        ),
        "seeds": msgspec.structs.replace(study, seeds=(1,)),
        "questions": msgspec.structs.replace(study, questions=study.questions[:1]),
        "scenarios": msgspec.structs.replace(study, scenarios=study.scenarios[:1]),
        "agent": msgspec.structs.replace(
            study, agent=msgspec.structs.replace(study.agent, temperature=0.1)
        ),
        "settings": msgspec.structs.replace(study, quorum=0.5),
        "prices": msgspec.structs.replace(
            study,
            models={
                role: msgspec.structs.replace(spec, price=Price(input_fresh=1, output=1))
                for role, spec in study.models.items()
            },
        ),
        "currency": msgspec.structs.replace(study, currency="EUR"),
        "ontology": msgspec.structs.replace(study, ontology=determining),
    }
    ways: list[dict[str, Any]] = [{"skew": 5}, {"order": Order.DEPTH}, {"live": 3}, {"live": 1_000}]
    settings = [("settings", msgspec.structs.replace(study, **way)) for way in ways]
    for name, changed in [*changes.items(), *settings]:
        after = input_hashes(changed, loaded.population, loaded.held_out)
        assert [key for key in before if before[key] != after[key]] == [name]


def test_how_a_model_is_reached_moves_no_hash(loaded: Loaded) -> None:
    """How a model is reached moves no hash."""
    study = loaded.study
    before = input_hashes(study, loaded.population, loaded.held_out)
    spec = study.models["tier_a"]
    elsewhere = msgspec.structs.replace(
        spec, endpoint=msgspec.structs.replace(spec.endpoint, concurrency_max=1, key_env="X")
    )
    moved = msgspec.structs.replace(study, models={**study.models, "tier_a": elsewhere})
    assert input_hashes(moved, loaded.population, loaded.held_out) == before


def test_a_budget_moves_no_hash(loaded: Loaded) -> None:
    """What may be spent decides no answer: it is compared by itself."""
    study = loaded.study
    before = input_hashes(study, loaded.population, loaded.held_out)
    capped = msgspec.structs.replace(study, budget=Budget(amount=5, calls=1))
    assert input_hashes(capped, loaded.population, loaded.held_out) == before


def test_where_a_price_was_found_moves_no_hash(loaded: Loaded) -> None:
    """A price is compared by its rates, wherever they come from."""
    study = loaded.study
    spec = msgspec.structs.replace(study.models["tier_a"], price=Price(input_fresh=1, output=2))
    source = PriceSource(table="t", version="1", entry="a/b")
    found = msgspec.structs.replace(spec, price_source=source)
    asked, looked_up = (
        input_hashes(
            msgspec.structs.replace(study, models={"tier_a": one}),
            loaded.population,
            loaded.held_out,
        )
        for one in (spec, found)
    )
    assert asked == looked_up


def test_what_is_there_twice_is_refused(loaded: Loaded) -> None:
    """What is there twice is refused."""
    study = loaded.study
    one = study.scenarios[0]
    for changed in (
        msgspec.structs.replace(study, seeds=(1, 1)),
        msgspec.structs.replace(study, scenarios=(one, one)),
        msgspec.structs.replace(
            study, variants=(Variant(id="v1"), Variant(id="v1", description="other"))
        ),
        msgspec.structs.replace(study, variants=()),
    ):
        with pytest.raises(InvalidStudyError):
            expand(changed, loaded.population)
