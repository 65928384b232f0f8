"""The events that a figure rests on: which they are, and how they are found again in a record.

A pick says which events of a world are meant, in terms of the record alone. Nothing here adds
anything up: whoever counts what is picked gets the figure. Events stream in the order of the
record; what is kept beside them is at most a value for each persona of a population.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, TypeAlias

import msgspec

from perdure.analysis.answers import Answer, answer_of, failure_name
from perdure.analysis.grouping import grouping_attribute, groups_of
from perdure.analysis.questions import figures_by_question, waved_questions
from perdure.analysis.source import RecordSource
from perdure.analysis.tool_use import LINES, OnTool, ToolLines
from perdure.analysis.verbatims import Samples, VerbatimPass, members, sample_size
from perdure.base.errors import UsageError
from perdure.records.events import (
    KIND_OF,
    AnswerGiven,
    BeliefsHeld,
    Cost,
    Event,
    ExposureDropped,
    Payload,
    Probed,
    Reflected,
    ScoreGiven,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.presentation import Presentation
from perdure.records.reaction import own_words
from perdure.records.registry import WorldEntry
from perdure.records.study import Study

_NOTHING = "nothing"


class Put(NamedTuple):
    """Turns in which a question was put, or how they came out: at some ticks, or at all.

    `came` is `asked` (the turns), `taken` (those that did not fail), `failed`, `unscorable`,
    `unjudged` (no score on record), `scored` or `right` (scored as what is real). `value` keeps the
    scored answers that add to this figure,
    `cause` those that came out so. `claim` keeps answers outside waves that this was shown with.
    `known` keeps personas with a known real value.
    """

    question: str
    came: str
    ticks: tuple[int, ...] = ()
    value: str = ""
    cause: str = ""
    claim: str = ""
    known: bool = False
    waves: bool | None = None


class Paired(NamedTuple):
    """Scores of personas who were scored at a tick, and in another world or at another tick too.

    `with_world` names for each world the one that it is compared with. `which` is `paired`, `moved`
    (paired, and answered otherwise) or `left_out` (asked, and not scored at both).
    """

    question: str
    tick: int
    with_tick: int
    with_world: tuple[tuple[str, str], ...]
    which: str = "paired"
    value: str = ""


class Held(NamedTuple):
    """What each persona holds of a claim at the end of a tick: the event that it has it from.

    That is its last belief snapshot of the claim, or else the turn that showed it first. `side` is
    believing, doubting, unsure, or empty for all who met it.
    """

    claim: str
    tick: int
    side: str = ""


class OnChannel(NamedTuple):
    """What went on on a channel.

    `what` is turns, shown, told, first_hand, failed, did, rejected, dropped or published.
    """

    channel: str
    what: str
    name: str = ""
    claim: str = ""
    stimulus: str = ""
    tick: int = -1


class Spent(NamedTuple):
    """Cost events, by any of their keys; `only` is failed, served, unknown or no_usage."""

    keys: tuple[tuple[str, str], ...] = ()
    only: str = ""


class OfKinds(NamedTuple):
    """All events of some kinds, or of all; at some ticks, or at all.

    `failed` keeps those that failed, or that did not, `cause` those that failed so. Of answers,
    only those to calls of the world itself are meant.
    """

    kinds: tuple[str, ...] = ()
    ticks: tuple[int, ...] = ()
    cause: str = ""
    failed: bool | None = None


class Active(NamedTuple):
    """Turns at exposure ticks that are not of a survey wave."""


class Clustered(NamedTuple):
    """The answers to a question in a scenario that are in a cluster, `REST` or `WORDLESS`."""

    question: str
    place: int


class SameWords(NamedTuple):
    """The turns at a tick in which a question was answered in the very words of an event."""

    question: str
    tick: int
    like: int


class Probes(NamedTuple):
    """Scored probes between two ticks; with `wrong`, those whose answer is not what is known."""

    first: int
    last: int
    wrong: bool = False


Pick: TypeAlias = (
    Put
    | Paired
    | Held
    | OnChannel
    | OnTool
    | Spent
    | OfKinds
    | Active
    | Clustered
    | SameWords
    | Probes
)


class Part(NamedTuple):
    """A part of what a figure rests on: its name, what its events are, and where they are."""

    name: str
    says: str
    pick: Pick
    worlds: tuple[str, ...]


class Narrow(NamedTuple):
    """What the events of a figure are narrowed to.

    A group is of the attribute `by`, or else of the one that a report is grouped by.
    """

    seed: str = ""
    world: str = ""
    persona: str = ""
    by: str = ""
    group: str = ""


class Evidence:
    """Finds the events of parts in a record."""

    def __init__(self, source: RecordSource, narrow: Narrow | None = None) -> None:
        """Take a record, and what its events are narrowed to.

        Raises:
            UsageError: there is no such seed, world, persona or group; says what there is.

        """
        self._source = source
        self._narrow = narrow or Narrow()
        self._study = msgspec.json.decode(source.entry.study, type=Study)
        self._scenarios = {one.id: one for one in self._study.scenarios}
        self._figures = figures_by_question(self._study)
        self._waved = frozenset(waved_questions(self._study))
        self._worlds = {one.world_id: one for one in source.worlds}
        self._drawn: dict[tuple[Clustered, tuple[str, ...]], frozenset[str]] = {}
        self._who = self._personas()
        self._require("seed", self._narrow.seed, [str(one.replicate_seed) for one in source.worlds])
        self._require("world", self._narrow.world, list(self._worlds))

    def events(self, part: Part) -> Iterator[tuple[str, Event]]:
        """Stream the events of a part, each with the id of its world."""
        for name in part.worlds:
            world = self._worlds[name]
            if self._narrow.seed not in {"", str(world.replicate_seed)}:
                continue
            if self._narrow.world not in {"", name}:
                continue
            for event in self._picked(part, world):
                if self._who is None or event.persona in self._who:
                    yield name, event

    def _require(self, what: str, given: str, known: Collection[str]) -> None:
        if given and given not in known:
            some = ", ".join(list(dict.fromkeys(known))[:_LISTED_MAX])
            raise UsageError(
                f"There is no {what} `{given}` in this run.",
                where="ID",
                remedy=f"Such as: {some}.",
            )

    def _personas(self) -> frozenset[str] | None:
        """Say whose events count; None for everybody's."""
        kept: frozenset[str] | None = None
        if self._narrow.persona:
            self._require(
                "persona", self._narrow.persona, [one.id for one in self._source.personas]
            )
            kept = frozenset({self._narrow.persona})
        if self._narrow.group:
            spec = grouping_attribute(self._study.ontology, self._narrow.by)
            found = groups_of(self._source.personas, spec)
            groups = {one.label: one.personas for one in found}
            groups |= {one.code: one.personas for one in found}
            self._require("group", self._narrow.group, list(groups))
            mine = groups[self._narrow.group]
            kept = mine if kept is None else kept & mine
        return kept

    @cached_property
    def _real(self) -> Mapping[str, str]:
        return self._source.held_out

    def _picked(self, part: Part, world: WorldEntry) -> Iterator[Event]:  # noqa: PLR0911, C901 - one case for each pick
        match part.pick:
            case Put() as put:
                return self._put(world, put)
            case Paired() as paired:
                return self._paired(world, paired)
            case Held() as held:
                return self._held(world, held)
            case OnChannel() as channel:
                return self._on_channel(world, channel)
            case OnTool() as tool:
                return self._on_tool(world, tool)
            case Spent() as spent:
                return self._spent(world, spent)
            case OfKinds() as kinds:
                return self._of_kinds(world, kinds)
            case Active():
                return self._active(world)
            case Clustered() as clustered:
                return self._clustered(world, clustered, part.worlds)
            case SameWords() as same:
                return self._same_words(world, same)
            case Probes() as probes:
                return self._probes(world, probes)

    def _events(self, world: WorldEntry, *kinds: type[Payload]) -> Iterator[Event]:
        names = tuple(KIND_OF[kind] for kind in kinds) if kinds else None
        return self._source.events(world.world_id, names)

    def is_wave(self, world: WorldEntry, tick: int, question: str) -> bool:
        """Say whether a question that is put at a tick is that of a survey wave."""
        waves = self._scenarios[world.scenario].waves
        return question in self._waved and (not waves or tick in waves)

    def _put(self, world: WorldEntry, put: Put) -> Iterator[Event]:
        for event, answer in self._asked(world, put):
            if self._came(put, event, answer):
                yield event

    def _came(self, put: Put, event: Event, answer: Answer | None) -> bool:
        """Say whether a turn or its score came out as is wanted."""
        match put.came:
            case "asked" | "taken":
                failed = answer is not None and answer.failed is not None
                return answer is None or (failed and put.came == "asked")
            case "unjudged":
                return answer == Answer()
            case "failed":
                failed = answer is not None and answer.failed is not None
                return failed and put.cause in {"", failure_name(answer or Answer())}
            case "unscorable":
                why = answer.unscorable if answer is not None else None
                return why is not None and put.cause in {"", str(why)}
            case _:
                if answer is None or not answer.is_scored:
                    return False
                real = self._real.get(event.persona, "") if put.came == "right" else ""
                return self._adds(put.question, put.value or real, answer)

    def _adds(self, question: str, value: str, answer: Answer) -> bool:
        return not value or bool(self._figures[question].values(answer).get(value, 0))

    def _asked(self, world: WorldEntry, put: Put) -> Iterator[tuple[Event, Answer | None]]:
        """Stream the turns with a question and their scores, each with how it came out.

        A turn comes with None when it is taken, and once more with an empty answer at the end of
        its tick if no score followed.
        """
        claims: dict[str, str] = {}
        waiting: dict[str, Event] = {}
        kinds = (StimulusPublished,) if put.claim else ()
        for event in self._events(world, Turn, TurnNotTaken, ScoreGiven, TickClosed, *kinds):
            match event.payload:
                case StimulusPublished(stimulus=one):
                    claims[one.id] = one.claim
                case Turn(presentation=shown) if self._meant(world, event, shown, put, claims):
                    waiting[event.persona] = event
                    yield event, None
                case TurnNotTaken(presentation=shown, cause=cause, call=call) if self._meant(
                    world, event, shown, put, claims
                ):
                    yield event, Answer(failed=cause, call=call)
                case ScoreGiven(question=put.question) as score if event.persona in waiting:
                    del waiting[event.persona]
                    yield event, answer_of(score)
                case TickClosed():
                    for turn in waiting.values():
                        yield turn, Answer()
                    waiting.clear()
                case _:
                    pass

    def _meant(
        self,
        world: WorldEntry,
        event: Event,
        shown: Presentation,
        put: Put,
        claims: Mapping[str, str],
    ) -> bool:
        return (
            shown.question == put.question
            and (not put.ticks or event.tick in put.ticks)
            and (not put.known or event.persona in self._real)
            and (put.waves is None or put.waves is self.is_wave(world, event.tick, put.question))
            and (
                not put.claim
                or any(claims.get(one.stimulus) == put.claim for one in shown.impression.exposures)
            )
        )

    def _wave(self, world: str, question: str, tick: int) -> dict[str, Answer]:
        """Give what each persona answered at one tick of a world."""
        found: dict[str, Answer] = {}
        put = Put(question, "asked", (tick,))
        for event, answer in self._asked(self._worlds[world], put):
            found[event.persona] = answer or Answer()
        return found

    def _paired(self, world: WorldEntry, paired: Paired) -> Iterator[Event]:
        partner = dict(paired.with_world).get(world.world_id)
        if partner is None:
            return
        other = self._wave(partner, paired.question, paired.with_tick)
        put = Put(paired.question, "asked", (paired.tick,))
        for event, answer in self._asked(world, put):
            theirs = other.get(event.persona, Answer())
            if answer is None:
                continue
            both = answer.is_scored and theirs.is_scored
            if paired.which == "left_out":
                kept = not both
            else:
                kept = both and (paired.which == "paired" or answer != theirs)
                kept = kept and self._adds(paired.question, paired.value, answer)
            if kept:
                yield event

    def _held(self, world: WorldEntry, held: Held) -> Iterator[Event]:
        claims: set[str] = set()
        has: dict[str, tuple[int, int]] = {}
        kinds = (StimulusPublished, Turn, BeliefsHeld)
        for event in self._events(world, *kinds):
            if event.tick > held.tick:
                break
            match event.payload:
                case StimulusPublished(stimulus=one) if one.claim == held.claim:
                    claims.add(one.id)
                case Turn(presentation=shown) if event.persona not in has:
                    if any(one.stimulus in claims for one in shown.impression.exposures):
                        has[event.persona] = event.seq, 0
                case BeliefsHeld(beliefs=beliefs) if held.claim in beliefs:
                    has[event.persona] = event.seq, beliefs[held.claim]
                case _:
                    pass
        side = {"believing": 1, "doubting": -1, "unsure": 0}.get(held.side)
        wanted = {
            seq for seq, step in has.values() if side is None or side == (step > 0) - (step < 0)
        }
        for event in self._events(world, Turn, BeliefsHeld):
            if event.tick > held.tick:
                break
            if event.seq in wanted:
                yield event

    def _on_channel(self, world: WorldEntry, wanted: OnChannel) -> Iterator[Event]:
        claims: dict[str, str] = {}
        kinds = (StimulusPublished, ExposureDropped, Turn, TurnNotTaken)
        for event in self._events(world, *kinds):
            if wanted.tick not in {-1, event.tick}:
                if isinstance(event.payload, StimulusPublished):
                    claims[event.payload.stimulus.id] = event.payload.stimulus.claim
                continue
            match event.payload:
                case StimulusPublished(stimulus=one):
                    claims[one.id] = one.claim
                    kept = wanted.what == "published" and one.id == wanted.stimulus
                case ExposureDropped(dropped=one):
                    kept = wanted.what == "dropped" and one.channel == wanted.channel
                    kept = kept and wanted.name in {"", one.reason}
                case TurnNotTaken(presentation=shown):
                    kept = wanted.what == "failed" and bool(shown.impression.exposures)
                    kept = kept and shown.impression.channel == wanted.channel
                case Turn() as turn:
                    kept = _is_on(turn, wanted, claims)
                case _:
                    kept = False
            if kept:
                yield event

    def _on_tool(self, world: WorldEntry, wanted: OnTool) -> Iterator[Event]:
        lines = ToolLines(len(self._study.agent.outside_tools))
        for event in self._events(world, *LINES):
            line = lines.line(event.payload)
            if line is not None and line.is_meant(wanted):
                yield event

    def _spent(self, world: WorldEntry, spent: Spent) -> Iterator[Event]:
        for event in self._events(world, Cost):
            match event.payload:
                case Cost() as cost:
                    if (
                        all(str(getattr(cost, name)) == value for name, value in spent.keys)
                        and {
                            "": True,
                            "failed": cost.failed is not None,
                            "served": cost.failed is None,
                            "unknown": cost.amount is None,
                            "no_usage": cost.usage is None,
                        }[spent.only]
                    ):
                        yield event
                case _:
                    pass

    def _of_kinds(self, world: WorldEntry, wanted: OfKinds) -> Iterator[Event]:
        for event in self._source.events(world.world_id, wanted.kinds or None):
            if wanted.ticks and event.tick not in wanted.ticks:
                continue
            cause = _failure(event.payload)
            of_a_job = isinstance(event.payload, AnswerGiven) and event.payload.job >= 0
            if wanted.kinds and of_a_job:
                continue
            if cause is None or (
                (wanted.failed is None or wanted.failed is bool(cause))
                and wanted.cause in {"", cause}
            ):
                yield event

    def _active(self, world: WorldEntry) -> Iterator[Event]:
        ticks = frozenset(map(int, self._scenarios[world.scenario].exposures))
        for event in self._events(world, Turn, TurnNotTaken):
            match event.payload:
                case Turn(presentation=shown) | TurnNotTaken(presentation=shown):
                    if event.tick in ticks and not self.is_wave(world, event.tick, shown.question):
                        yield event
                case _:
                    pass

    def _clustered(
        self, world: WorldEntry, clustered: Clustered, worlds: Collection[str]
    ) -> Iterator[Event]:
        key = clustered, tuple(worlds)
        if key not in self._drawn:
            self._drawn[key] = frozenset(self._members(clustered, worlds))
        drawn, name = self._drawn[key], world.world_id
        return (one for one in self._events(world, Turn) if f"{name}:{one.seq}" in drawn)

    def _members(self, clustered: Clustered, worlds: Collection[str]) -> Iterator[str]:
        """Draw the sample of a scenario's answers again, as the report does."""
        samples: Samples = {}
        most = sample_size(len(self._study.scenarios) * len(self._study.questions))
        for name in worlds:
            follows = VerbatimPass(name, samples, most=most)
            for event in self._events(self._worlds[name], Turn):
                follows.see(event)
        for quote in members(samples[clustered.question], clustered.place):
            yield quote.event

    def _same_words(self, world: WorldEntry, same: SameWords) -> Iterator[Event]:
        turns = [
            event.payload
            for event in self._events(world, Turn)
            if event.seq == same.like and isinstance(event.payload, Turn)
        ]
        words = [_words(turn) for turn in turns]
        for event in self._events(world, Turn):
            match event.payload:
                case Turn(presentation=shown) as turn:
                    asked = event.tick == same.tick and shown.question == same.question
                    if asked and _words(turn) in words:
                        yield event
                case _:
                    pass

    def _probes(self, world: WorldEntry, wanted: Probes) -> Iterator[Event]:
        for event in self._events(world, Probed):
            match event.payload:
                case Probed(failed=None, choice=choice, code=code) if choice:
                    within = wanted.first <= event.tick <= wanted.last
                    if within and (not wanted.wrong or choice != code):
                        yield event
                case _:
                    pass


_LISTED_MAX = 6


def _is_on(turn: Turn, wanted: OnChannel, claims: Mapping[str, str]) -> bool:
    """Say whether a turn is one that is wanted of its channel."""
    shown, reaction = turn.presentation, turn.reaction
    exposures = shown.impression.exposures
    if shown.impression.channel != wanted.channel or not (exposures or shown.actions):
        return False
    seen = [one.stimulus for one in exposures]
    if wanted.claim:
        seen = [one for one in seen if claims.get(one) == wanted.claim]
    if wanted.stimulus:
        seen = [one for one in seen if one == wanted.stimulus]
    rejected = reaction is not None and reaction.rejected is not None
    done = (reaction.done if reaction else "") or _NOTHING
    named = f"{reaction.action or 'no action'}: {reaction.rejected}" if reaction else ""
    told = [one in shown.view.told_by for one in seen]
    return {
        "turns": True,
        "shown": bool(seen),
        "told": any(told),
        "first_hand": not all(told),
        "did": bool(shown.actions) and not rejected and wanted.name in {"", done},
        "rejected": rejected and wanted.name in {"", named},
    }.get(wanted.what, False)


def _words(turn: Turn) -> str:
    return " ".join(own_words(turn.answer, turn.reaction).casefold().split())


def _failure(payload: Payload) -> str | None:
    """Give the cause of a failure, empty if there is none; None of what cannot fail."""
    match payload:
        case TurnNotTaken(cause=cause, call=call):
            return failure_name(Answer(failed=cause, call=call))
        case Reflected(failed=failed) | AnswerGiven(failed=failed):
            return "" if failed is None else str(failed)
        case Turn():
            return ""
        case _:
            return None
