"""What a turn leaves to remember, and how much that weighs. Pure.

A thing that was only seen leaves a faint memory. What a persona did about it, what it said, and how
far it moved what it believes make it weigh more.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.agent.prompt import quote
from perdure.agent.rejection import rejection_of
from perdure.records.persona import Memory
from perdure.records.presentation import Stimulus, TurnJob
from perdure.records.reaction import Reaction
from perdure.records.tools import ToolCall

_REFLECTION = "reflection"

_EXPOSURE_IMPORTANCE = 0.5
_REFLECTION_IMPORTANCE = 0.8

# On a channel, by what was done: nothing, something, something in words. To each step that a belief
# moved comes as much again.
_SEEN_IMPORTANCE = 0.1
_DONE_IMPORTANCE = 0.4
_SAID_IMPORTANCE = 0.6
_MOVE_IMPORTANCE = 0.2


def left_by_answer(job: TurnJob, shown: Sequence[Stimulus], answer: str) -> tuple[Memory, ...]:
    """Remember each thing shown, with the answer to all of them."""
    said = f" and said {quote(answer)}" if answer.strip() else " and said nothing"
    attention = _attention(job)
    return tuple(
        Memory(
            tick=job.tick,
            text=f"I saw the message {quote(stimulus.text)}{said}",
            importance=_EXPOSURE_IMPORTANCE * attention[stimulus.id],
            claim=stimulus.claim,
        )
        for stimulus in shown
    )


def left_by_deeds(job: TurnJob, did: Sequence[ToolCall], answer: str) -> tuple[Memory, ...]:
    """Remember what was done with tools of the world, and what was said at the end of it."""
    if not did:
        return ()
    deeds = ", then ".join(f"{call.name} {quote(call.arguments)}" for call in did)
    said = f", and said {quote(answer)}" if answer.strip() else ""
    return (Memory(tick=job.tick, text=f"I did {deeds}{said}", importance=_DONE_IMPORTANCE),)


def left_by_reaction(
    job: TurnJob, shown: Sequence[Stimulus], reaction: Reaction, moved: int
) -> tuple[Memory, ...]:
    """Remember each message shown, and what was done about one of them or beside them.

    `moved` is by how many steps a belief moved. An action that the channel does not accept was not
    done, and what it would have said was only an answer.
    """
    attention, view = _attention(job), job.presentation.view
    deed = _deed(job, reaction)
    weight = _weight(job, reaction) + _MOVE_IMPORTANCE * moved
    memories = [
        Memory(
            tick=job.tick,
            text=("I was told " if stimulus.id in view.told_by else "I saw the message ")
            + quote(stimulus.text)
            + (deed if stimulus.id == reaction.stimulus else ""),
            importance=min(
                1.0,
                weight
                if stimulus.id == reaction.stimulus
                else _SEEN_IMPORTANCE * attention[stimulus.id],
            ),
            claim=stimulus.claim,
        )
        for stimulus in shown
    ]
    if deed and not reaction.stimulus:
        text = f"I{deed.removeprefix(' and').removeprefix(',')}"
        memories.append(Memory(tick=job.tick, text=text, importance=min(1.0, weight)))
    return tuple(memories)


def left_by_reflection(tick: int, text: str) -> tuple[Memory, ...]:
    """Remember a reflection; one without words leaves nothing to remember."""
    if not text.strip():
        return ()
    memory = Memory(
        tick=tick,
        text=f"I thought it over: {quote(text)}",
        importance=_REFLECTION_IMPORTANCE,
        source=_REFLECTION,
    )
    return (memory,)


def _attention(job: TurnJob) -> dict[str, float]:
    exposures = job.presentation.impression.exposures
    return {exposure.stimulus: exposure.attention for exposure in exposures}


def _deed(job: TurnJob, reaction: Reaction) -> str:
    """Say what was done and said, as the end of a sentence that began with what was seen."""
    done = "" if rejection_of(job.presentation, reaction) else reaction.action
    said = f" and said {quote(reaction.words)}" if reaction.words.strip() else ""
    if not done:
        return said
    return f", chose {quote(done)}{said}" if said else f" and chose {quote(done)}"


def _weight(job: TurnJob, reaction: Reaction) -> float:
    if not reaction.action or rejection_of(job.presentation, reaction):
        return _SEEN_IMPORTANCE
    says = any(one.name == reaction.action and one.says for one in job.presentation.actions)
    return _SAID_IMPORTANCE if says else _DONE_IMPORTANCE
