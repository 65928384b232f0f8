"""Canonical bytes."""

import pytest

from perdure.base import canonical
from perdure.base.errors import InternalError
from perdure.records.events import TickClosed, Turn
from perdure.records.persona import Persona
from perdure.records.presentation import Exposure, Impression, Plan, Presentation
from perdure.records.scenario import Claim
from perdure.records.usage import Usage

PINNED = "e3cd56ca4126333984a96ec0109e528edf98a004c554da2769f102c14c2a6169"


def test_equal_values_have_equal_bytes_whatever_their_order():
    """The order in which keys were put does not show."""
    assert canonical.encode({"b": 1, "a": 2}) == canonical.encode({"a": 2, "b": 1})


def test_bytes_and_hash_are_pinned():
    """Old hashes stay valid: these bytes never change."""
    assert canonical.encode(Claim(id="c", text="é")) == '{"id":"c","text":"é"}'.encode()
    assert canonical.hash_hex(Claim(id="c", text="é")) == PINNED


def test_a_default_is_left_out():
    """A record that grows by a field with a default keeps its bytes."""
    assert canonical.encode(Usage(output=3)) == b'{"output":3}'


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [1, x], lambda x: {"a": {"b": x}}])
def test_a_number_that_is_not_finite_is_refused(number, wrap):
    """NaN and infinities never turn into null."""
    with pytest.raises(InternalError, match="not finite"):
        canonical.encode(wrap(number))


def test_a_lone_surrogate_is_refused():
    """Text that no encoding can hold is an error here, not a crash later."""
    with pytest.raises(InternalError, match="cannot be recorded"):
        canonical.encode({"text": "\ud800"})


def test_the_word_null_in_a_text_is_nothing_special():
    """A text that says null is recorded as it is."""
    assert canonical.encode(["null", None]) == b'["null",null]'


def test_a_float_is_found_however_deep_a_record_holds_it():
    """No record type with a float somewhere inside lets one pass that is not finite."""
    plan = Plan(activation=float("nan"))
    with pytest.raises(InternalError, match="not finite"):
        canonical.encode(TickClosed(plan=plan, jobs=1))
    exposure = Exposure(stimulus="s", reason="r", attention=float("inf"))
    shown = Impression(channel="c", exposures=(exposure,))
    presentation = Presentation(persona="p", impression=shown, question="q")
    with pytest.raises(InternalError, match="not finite"):
        canonical.encode(Turn(job=0, presentation=presentation, prompt=(), answer="null"))
    with pytest.raises(InternalError, match="not finite"):
        canonical.encode(Persona(id="p", attributes={"x": float("nan")}))
