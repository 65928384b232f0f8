"""How many are active on average follows from activation, rhythm and involvement, as drawn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.channels import header_of

from perdure.records.channels import Involvement
from perdure.study.activity import expected, factor
from perdure.world.activation import active

HALF = Involvement(attribute="view", levels={"1": 0.5}, otherwise=0.1)


@pytest.mark.parametrize(
    ("involvement", "attributes", "wanted"),
    [
        (None, {"view": 7}, 1.0),
        (HALF, {"view": 1}, 0.5),
        (HALF, {"view": 1.0}, 0.5),
        (HALF, {"view": "1"}, 0.5),
        (HALF, {"view": 2}, 0.1),
        (HALF, {}, 0.1),
        (Involvement(attribute="often"), {"often": 0.25}, 0.25),
        (Involvement(attribute="often"), {"often": 2}, None),
        (Involvement(attribute="often"), {"often": "much"}, None),
        (Involvement(attribute="often"), {}, 1.0),
    ],
)
def test_a_factor_is_that_of_the_code_or_the_number_itself(
    involvement: Involvement | None,
    attributes: dict[str, str | int | float],
    wanted: float | None,
) -> None:
    """A code is found however the file writes it; a number that is no factor is none."""
    assert factor(involvement, attributes) == wanted


def test_what_is_expected_is_what_is_drawn_on_average() -> None:
    """Over many ticks and people, as many are active as expected, whatever thins them."""
    header = header_of(60, activation=0.8, rhythm=(1.0, 0.5, 2.0), horizon=300)
    involved = {one: 0.5 if number % 3 else 1.0 for number, one in enumerate(header.persona_ids)}
    drawn = sum(
        len(
            active(
                header.scenario,
                header.world_seed,
                tick,
                personas=header.persona_ids,
                factor_of=involved,
                share=1.0,
            )
        )
        for tick in range(300)
    )
    wanted = expected(header.scenario, range(300), {0.5: 40, 1.0: 20})
    assert wanted == pytest.approx(100 * (40 * (0.4 + 0.2 + 0.8) + 20 * (0.8 + 0.4 + 1.0)))
    assert drawn == pytest.approx(wanted, rel=0.03)


@given(ticks=st.integers(0, 50), personas=st.integers(0, 500), activation=st.floats(0, 1))
def test_without_rhythm_and_involvement_it_is_the_plain_product(
    ticks: int, personas: int, activation: float
) -> None:
    """To the last digit what a report said before there was either."""
    scenario = header_of(activation=activation).scenario
    assert expected(scenario, range(ticks), {1.0: personas}) == ticks * personas * activation
