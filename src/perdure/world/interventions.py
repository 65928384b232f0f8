"""What the interventions of a scenario change on a channel at a tick. Pure.

Nothing of it is state: what holds at a tick follows from the schedule alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perdure.base.errors import PluginError
from perdure.records.channels import InterventionKind, PlannedIntervention, Ranking
from perdure.records.presentation import Intervention
from perdure.world.channel import Setting

WORD_OF_MOUTH = "word_of_mouth"

_OF_A_CLAIM = {InterventionKind.PUBLISH, InterventionKind.PROMOTE, InterventionKind.REMOVE}
_BY_MOUTH = {InterventionKind.PUBLISH, InterventionKind.REMOVE}


@dataclass(frozen=True)
class Rules:
    """What holds on a channel at a tick. `published` are claims that are posted at this tick."""

    ranking: Ranking
    counts: bool
    removed: frozenset[str]
    promoted: frozenset[str]
    published: tuple[str, ...]


def rules_at(
    planned: Sequence[PlannedIntervention],
    tick: int,
    channel: str,
    *,
    ranking: Ranking = Ranking.RANDOM,
    counts: bool = False,
) -> Rules:
    """Say what holds on a channel at a tick, given what holds without interventions.

    Of several that are about the same, the one that began last holds; of those that began at one
    tick, the one that is listed last.
    """
    removed, promoted, published = set[str](), set[str](), list[str]()
    for one in sorted(planned, key=lambda one: one.tick):
        if one.channel != channel or not _is_in_force(one, tick):
            continue
        match one.kind:
            case InterventionKind.PUBLISH if one.tick == tick:
                published.append(one.claim)
            case InterventionKind.PROMOTE:
                promoted.add(one.claim)
            case InterventionKind.REMOVE:
                removed.add(one.claim)
            case InterventionKind.HIDE_COUNTS | InterventionKind.SHOW_COUNTS:
                counts = one.kind is InterventionKind.SHOW_COUNTS
            case InterventionKind.RANK if one.ranking is not None:
                ranking = one.ranking
            case _:
                pass
    return Rules(
        ranking=ranking,
        counts=counts,
        removed=frozenset(removed),
        promoted=frozenset(promoted),
        published=tuple(published),
    )


def _is_in_force(one: PlannedIntervention, tick: int) -> bool:
    return one.tick <= tick and (one.ticks == 0 or tick < one.tick + one.ticks)


def told_at(planned: Sequence[PlannedIntervention], tick: int) -> Iterator[Intervention]:
    """Give the interventions that take effect at a tick, and those that end, in words."""
    for one in planned:
        if one.ticks and one.tick + one.ticks == tick:
            yield Intervention(kind=one.kind.value, detail=f"{one.channel}: {_ended(one)}")
    for one in planned:
        if one.tick == tick:
            lasting = f", for {one.ticks} {'tick' if one.ticks == 1 else 'ticks'}"
            detail = f"{one.channel}: {_begun(one)}{lasting if one.ticks else ''}"
            yield Intervention(kind=one.kind.value, detail=detail)


def _begun(one: PlannedIntervention) -> str:
    claim = f"claim {one.claim}"
    return {
        InterventionKind.PUBLISH: f"{claim} is published",
        InterventionKind.PROMOTE: f"{claim} is put first for everybody",
        InterventionKind.REMOVE: f"{claim} and what answers it are out of sight",
        InterventionKind.HIDE_COUNTS: "what others did is hidden",
        InterventionKind.SHOW_COUNTS: "what others did is shown",
        InterventionKind.RANK: f"messages are ranked by {_ranking(one)}",
    }[one.kind]


def _ended(one: PlannedIntervention) -> str:
    claim = f"claim {one.claim}"
    return {
        InterventionKind.PUBLISH: "",
        InterventionKind.PROMOTE: f"{claim} is no longer put first",
        InterventionKind.REMOVE: f"{claim} and what answers it are back in sight",
        InterventionKind.HIDE_COUNTS: "what others did is no longer hidden by this",
        InterventionKind.SHOW_COUNTS: "what others did is no longer shown by this",
        InterventionKind.RANK: f"messages are no longer ranked by {_ranking(one)} because of this",
    }[one.kind]


def _ranking(one: PlannedIntervention) -> str:
    return one.ranking.value if one.ranking is not None else ""


def require_sound(setting: Setting, channels: Sequence[str]) -> None:
    """Refuse interventions that cannot be carried out.

    Raises:
        PluginError: there is one; it says what is wrong.

    """
    for one in setting.scenario.interventions:
        wrong = _wrong(one, channels)
        if wrong:
            raise PluginError(
                f"Scenario {setting.scenario.id!r} has an intervention `{one.kind.value}` at tick "
                f"{one.tick} that cannot be carried out: {wrong}"
            )
        if one.kind in _OF_A_CLAIM:
            setting.require_claims([one.claim])


def _wrong(one: PlannedIntervention, channels: Sequence[str]) -> str:
    if one.channel not in channels:
        return f"there is no channel {one.channel!r}."
    if one.channel == WORD_OF_MOUTH and one.kind not in _BY_MOUTH:
        return "word of mouth has neither ranking nor counts."
    if one.kind is InterventionKind.RANK and one.ranking is None:
        return "it does not say which ranking."
    if one.kind is InterventionKind.PUBLISH and one.ticks:
        return "what is published stays; remove it to take it away."
    return ""
