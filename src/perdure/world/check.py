"""What a delta must be before anything of it is recorded. Pure; names every fault at once."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import islice

import msgspec

from perdure.records.presentation import Presentation, Stimulus, WorldDelta

PROBLEMS_MAX = 50

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(WorldDelta)


# Stands for what shows something, or lets something be done.
_SHOWS = ""


def check_delta(
    delta: object,
    tick: int,
    known_stimuli: Container[str],
    persona_ids: Container[str],
    questions: Container[str],
) -> list[str]:
    """List what is wrong with a world's delta for `tick`, as sentences; empty if nothing is.

    `known_stimuli` are the ids published at earlier ticks, `questions` the ids of the study's
    questions. At most `PROBLEMS_MAX` problems are listed, then a last sentence says there are more.
    """
    if not isinstance(delta, WorldDelta):
        return [f"A step must return a WorldDelta, not {type(delta).__name__!r}."]
    malformed = _malformed(delta)
    if malformed:
        return [malformed]
    problems = _problems(delta, tick, known_stimuli, persona_ids, questions)
    listed = list(islice(problems, PROBLEMS_MAX))
    if next(problems, None) is not None:
        listed.append(f"There are more problems; the first {PROBLEMS_MAX} are listed.")
    return listed


def _malformed(delta: WorldDelta) -> str:
    """Check types by a round trip, since building a record checks none of them."""
    try:
        _decoder.decode(_encoder.encode(delta))
    except (msgspec.ValidationError, TypeError, UnicodeEncodeError, OverflowError) as error:
        return f"The delta cannot be recorded: {error}."
    return ""


def _problems(
    delta: WorldDelta,
    tick: int,
    known_stimuli: Container[str],
    persona_ids: Container[str],
    questions: Container[str],
) -> Iterator[str]:
    if delta.tick != tick:
        yield f"The delta is dated tick {delta.tick}, but tick {tick} is being opened."
    published: set[str] = set()
    yield from _published(delta.stimuli, known_stimuli, published)
    shown: set[tuple[str, str, str]] = set()
    channels: dict[tuple[str, str], set[str]] = {}
    for presentation in delta.presentations:
        yield from _who_and_what(presentation, persona_ids, questions, channels)
        yield from _exposures(presentation, known_stimuli, published, shown)
    for dropped in delta.dropped:
        who = f"The exposure dropped for persona {dropped.persona!r}"
        if dropped.persona not in persona_ids:
            yield f"{who} is of somebody who is not in the population."
        if dropped.stimulus not in published and dropped.stimulus not in known_stimuli:
            yield f"{who} is of stimulus {dropped.stimulus!r}, which was never published."
        if (dropped.persona, dropped.channel, dropped.stimulus) in shown:
            yield (
                f"Stimulus {dropped.stimulus!r} is both shown to persona {dropped.persona!r} and "
                f"dropped, on channel {dropped.channel!r}."
            )


def _published(
    stimuli: tuple[Stimulus, ...], known: Container[str], published: set[str]
) -> Iterator[str]:
    for stimulus in stimuli:
        if not stimulus.id:
            yield "A stimulus has an empty id."
        elif stimulus.id in published or stimulus.id in known:
            yield f"Stimulus {stimulus.id!r} is published twice."
        published.add(stimulus.id)
        # What it answers was there before it, or stands before it in this delta.
        answered = stimulus.reply_to
        is_there = answered in published or answered in known
        if answered and (answered == stimulus.id or not is_there):
            yield f"Stimulus {stimulus.id!r} answers {answered!r}, which was never published."


def _who_and_what(
    presentation: Presentation,
    persona_ids: Container[str],
    questions: Container[str],
    channels: dict[tuple[str, str], set[str]],
) -> Iterator[str]:
    persona, channel = presentation.persona, presentation.impression.channel
    if persona not in persona_ids:
        yield f"Persona {persona!r} is shown something and is not in the population."
    if presentation.question not in questions:
        yield (
            f"Persona {persona!r} is asked question {presentation.question!r}, which the study "
            "does not have."
        )
    if not channel:
        yield f"A presentation to persona {persona!r} has an empty channel."
    # What only asks may ask several things, one after another: each of them once.
    only_asks = not presentation.impression.exposures and not presentation.actions
    asked = channels.setdefault((persona, channel), set())
    if asked and not (only_asks and asked.isdisjoint({_SHOWS, presentation.question})):
        yield f"Persona {persona!r} has more than one presentation on channel {channel!r}."
    asked.add(presentation.question if only_asks else _SHOWS)
    names = [action.name for action in presentation.actions]
    if not all(names) or len(set(names)) < len(names):
        yield f"The actions of persona {persona!r} on channel {channel!r} need names of their own."


def _exposures(
    presentation: Presentation,
    known: Container[str],
    published: set[str],
    shown: set[tuple[str, str, str]],
) -> Iterator[str]:
    persona, impression = presentation.persona, presentation.impression
    here: set[str] = set()
    for exposure in impression.exposures:
        stimulus = exposure.stimulus
        if stimulus not in published and stimulus not in known:
            yield f"Persona {persona!r} is shown stimulus {stimulus!r}, which was never published."
        if stimulus in here:
            yield f"Persona {persona!r} is shown stimulus {stimulus!r} twice in one impression."
        if not 0.0 <= exposure.attention <= 1.0:
            yield (
                f"The attention of persona {persona!r} to stimulus {stimulus!r} is "
                f"{exposure.attention}, which is not within 0 and 1."
            )
        here.add(stimulus)
        shown.add((persona, impression.channel, stimulus))
    yield from _view(presentation, here, known, published)


def _view(
    presentation: Presentation, here: set[str], known: Container[str], published: set[str]
) -> Iterator[str]:
    view, of = presentation.view, f"The view of persona {presentation.persona!r}"
    for stimulus in sorted(view.counts.keys() - here):
        yield f"{of} counts stimulus {stimulus!r}, not shown to it."
    for stimulus in sorted({*view.ties, *view.told_by, *view.near, *view.threads} - here):
        yield f"{of} tells of stimulus {stimulus!r}, not shown to it."
    for stimulus, counts in view.counts.items():
        if any(count < 0 for count in counts.values()):
            yield f"{of} has a negative count for {stimulus!r}."
    for stimulus, tie in view.ties.items():
        if not 0.0 <= tie <= 1.0:
            yield f"{of} has a tie of {tie} for {stimulus!r}, which is not within 0 and 1."
    for stimulus, thread in view.threads.items():
        for answered in thread:
            if answered not in published and answered not in known:
                yield f"{of} has {answered!r} in the thread of {stimulus!r}, never published."
