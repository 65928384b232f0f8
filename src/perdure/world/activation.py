"""Who is active at a tick: involvement times rhythm times the plan's rate. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.base.chance import Stream
from perdure.base.errors import PluginError
from perdure.records.channels import Involvement
from perdure.records.persona import Persona
from perdure.records.scenario import Scenario
from perdure.study.activity import chance, factor


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
    found = factor(involvement, persona.attributes)
    if found is None:
        value = persona.attributes[involvement.attribute]
        raise PluginError(
            f"The attribute {involvement.attribute!r} of persona {persona.id!r} is {value!r}. As "
            "involvement it has to be a number from 0 to 1; or give `levels` for its codes."
        )
    return found


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
    if not factor_of:
        same = chance(scenario, tick) * share
        if same >= 1.0:
            return tuple(personas)
        return tuple(one for one in personas if _draw(seed, tick, one) < same)
    chances = {one: chance(scenario, tick, one) * share for one in set(factor_of.values())}
    return tuple(one for one in personas if _draw(seed, tick, one) < chances[factor_of[one]])


def _draw(seed: str, tick: int, persona: str) -> float:
    return Stream(seed, tick, "activation", persona).uniform()
