"""Who is active at a tick: involvement times rhythm times the plan's rate. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.base.chance import Stream
from perdure.base.errors import PluginError
from perdure.records.channels import Involvement
from perdure.records.persona import AttributeValue, Persona
from perdure.records.scenario import Scenario


def factors(involvement: Involvement | None, personas: Sequence[Persona]) -> Mapping[str, float]:
    """Give the factor of each persona's chance to be active; nothing without involvement.

    Raises:
        PluginError: an attribute that is the factor itself is not within 0 and 1, or not a number;
            or nothing is known of the personas.

    """
    if involvement is None:
        return {}
    if not personas:
        raise PluginError(
            f"Involvement goes by the attribute {involvement.attribute!r}, and this world was not "
            "told who its people are: call `meet` before `reset`."
        )
    return {persona.id: _factor(involvement, persona) for persona in personas}


def _factor(involvement: Involvement, persona: Persona) -> float:
    value = persona.attributes.get(involvement.attribute)
    if value is None:
        return involvement.otherwise
    if involvement.levels:
        return involvement.levels.get(code_of(value), involvement.otherwise)
    if isinstance(value, str) or not 0 <= value <= 1:
        raise PluginError(
            f"The attribute {involvement.attribute!r} of persona {persona.id!r} is {value!r}. As "
            "involvement it has to be a number from 0 to 1; or give `levels` for its codes."
        )
    return float(value)


def code_of(value: AttributeValue) -> str:
    """Write the value of an attribute as its scale has it: 3.0 is the code `3`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def rhythm_at(scenario: Scenario, tick: int) -> float:
    """Give the factor of a tick: the rhythm begins anew when it is over."""
    return scenario.rhythm[tick % len(scenario.rhythm)] if scenario.rhythm else 1.0


def active(
    scenario: Scenario,
    seed: str,
    tick: int,
    *,
    personas: Sequence[str],
    factor_of: Mapping[str, float],
    share: float,
) -> tuple[str, ...]:
    """List who is active at a tick, in the order given; `share` is the plan's activation.

    There is one draw per persona and tick, whatever the channel, and it does not depend on the
    chance: a lower one gives a nested subset.
    """
    base = scenario.activation * rhythm_at(scenario, tick)

    def chance(persona: str) -> float:
        return min(1.0, base * factor_of.get(persona, 1.0)) * share

    if not factor_of:
        same = chance("")
        if same >= 1.0:
            return tuple(personas)
        return tuple(one for one in personas if _draw(seed, tick, one) < same)
    return tuple(one for one in personas if _draw(seed, tick, one) < chance(one))


def _draw(seed: str, tick: int, persona: str) -> float:
    return Stream(seed, tick, "activation", persona).uniform()
