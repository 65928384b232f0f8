"""Student's t is the one of the printed tables, for whole degrees of freedom."""

import math
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.analysis.student import t_quantile

# Two-sided, from the tables that statistics books print.
PRINTED = {
    (0.95, 1): 12.706,
    (0.95, 2): 4.303,
    (0.95, 3): 3.182,
    (0.95, 4): 2.776,
    (0.95, 5): 2.571,
    (0.95, 9): 2.262,
    (0.95, 10): 2.228,
    (0.95, 30): 2.042,
    (0.95, 120): 1.980,
    (0.90, 2): 2.920,
    (0.99, 5): 4.032,
    (0.99, 1): 63.657,
}


@pytest.mark.parametrize(("asked", "printed"), PRINTED.items(), ids=str)
def test_it_is_the_printed_one(asked, printed):
    """Even and odd degrees of freedom, near and far in the tails."""
    assert t_quantile(*asked) == pytest.approx(printed, abs=5e-4)


@settings(deadline=None)
@given(st.floats(0.01, 0.999))
def test_one_degree_of_freedom_is_cauchy(confidence):
    """With one degree of freedom it has a closed form of its own: a tangent."""
    assert t_quantile(confidence, 1) == pytest.approx(math.tan(math.pi * confidence / 2))


@settings(deadline=None)
@given(st.floats(0.5, 0.999), st.integers(1, 60))
def test_more_freedom_comes_nearer_to_the_normal(confidence, freedom):
    """It falls with every degree of freedom, and stays above the normal's."""
    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    assert t_quantile(confidence, freedom) > t_quantile(confidence, freedom + 1) > normal
