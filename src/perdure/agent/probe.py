"""Probes: now and then a persona is asked what is known of it. They measure and correct nothing.

Pure. Whether a turn is followed by one, and of which attribute, is drawn from the world's seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.base.chance import Stream
from perdure.base.codes import code_of
from perdure.records.persona import AttributeSpec, AttributeValue, Choice
from perdure.records.presentation import Plan, TurnJob
from perdure.records.scenario import Header, Question

_PURPOSE = "probe"
_CODES_MIN = 2


def probed(
    job: TurnJob,
    plan: Plan,
    header: Header,
    specs: Sequence[AttributeSpec],
    attributes: Mapping[str, AttributeValue],
) -> AttributeSpec | None:
    """Draw the attribute that a turn is followed by a question about; None for no probe.

    Only an attribute with a scale can be asked for, and only one whose code is known.
    """
    every, share = header.agent.probe_every, header.agent.probe_share
    if not plan.optional_work or every <= 0 or share <= 0 or job.tick % every:
        return None
    channel = job.presentation.impression.channel
    draw = Stream(header.world_seed, job.tick, _PURPOSE, f"{job.persona.id}\x1f{channel}")
    if draw.uniform() >= share:
        return None
    known = [spec for spec in specs if _is_askable(spec, attributes)]
    return draw.choice(known) if known else None


def probe_question(spec: AttributeSpec) -> Question:
    """Ask for an attribute as a closed question: its choices are the codes of the scale."""
    return Question(
        id=f"{_PURPOSE}:{spec.name}",
        text=f"Which of these is true of you? {spec.label}:",
        choices=tuple(Choice(id=code, label=spec.scale[code]) for code in spec.codes),
    )


def _is_askable(spec: AttributeSpec, attributes: Mapping[str, AttributeValue]) -> bool:
    known = spec.name in attributes and len(spec.scale) >= _CODES_MIN
    return known and code_of(attributes[spec.name]) in spec.scale
