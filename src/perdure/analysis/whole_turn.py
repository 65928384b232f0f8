"""A whole turn, gathered from the record around any event that belongs to it.

Only the tick's events of this persona are read, and those that they cite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from perdure.analysis.turn import (
    Believed,
    Broken,
    Formed,
    Judged,
    NotSeen,
    Paid,
    Part,
    Probe,
    Reflection,
    Remembered,
    Seen,
    Sent,
    Spent,
    Thread,
    Told,
    Used,
    WholeTurn,
)
from perdure.base.codes import code_of
from perdure.base.errors import DamagedRecordError
from perdure.records.drive import Line, RunFrozen, ToolCalled, ToolResult
from perdure.records.drive import job_of as drive_job
from perdure.records.events import (
    KIND_OF,
    AnswerGiven,
    BeliefsHeld,
    Cost,
    Event,
    ExposureDropped,
    GuardrailViolation,
    MemoryFormed,
    Probed,
    PromptPart,
    Reflected,
    ScoreGiven,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.persona import Ontology, Persona
from perdure.records.presentation import Plan, Presentation, Stimulus
from perdure.records.scenario import Header, Question
from perdure.study.telling import in_words
from perdure.trace.lookup import Lookup
from perdure.trace.wanted import Span, Wanted

_PUBLISHED = KIND_OF[StimulusPublished]
_BELIEFS = KIND_OF[BeliefsHeld]

Outcome = Turn | TurnNotTaken
_ByJob = Turn | TurnNotTaken | GuardrailViolation | AnswerGiven | Cost
_ByTurn = MemoryFormed | BeliefsHeld | Reflected | Probed | ScoreGiven


def job_of(event: Event, tick: Sequence[Event]) -> int | None:
    """Say which job of its tick an event belongs to; None if to none, as the world's own.

    `tick` holds the events of that tick which concern the same persona.

    Raises:
        DamagedRecordError: it is about a turn that its tick does not have.

    """
    payload = event.payload
    if isinstance(payload, Line):
        return drive_job(payload.run)
    if isinstance(payload, _ByJob):
        return payload.job if payload.job >= 0 else None
    if not isinstance(payload, _ByTurn):
        return None
    for one in tick:
        if isinstance(one.payload, Turn) and one.content == payload.turn:
            return one.payload.job
    raise DamagedRecordError(
        f"The event is about the turn {payload.turn}, which is not of its tick.",
        where=f"seq {event.seq}",
    )


def gather(lookup: Lookup, event: Event, header: Header, persona: Persona) -> WholeTurn | None:
    """Gather the turn that an event belongs to; None if it belongs to none.

    `header` is the one in force at the event's tick, `persona` the one that the event concerns.

    Raises:
        DamagedRecordError: an event or text that the turn is made of is not what was written.

    """
    span = lookup.span_of(event.tick)
    tick = list(lookup.events(span, Wanted(persona=event.persona))) if event.persona else []
    job = job_of(event, tick)
    if job is None:
        return None
    return _Gatherer(lookup, span, tick, job, header).whole(persona)


class _Gatherer:
    """Turns the events of one job into what is shown of it."""

    def __init__(
        self, lookup: Lookup, span: Span, tick: Sequence[Event], job: int, header: Header
    ) -> None:
        self._lookup = lookup
        self._span = span
        self._header = header
        self._tick = tick
        self._job = job
        self._own = [one for one in tick if job_of(one, tick) == job]
        self._outcome_event = self._outcome_of_job()
        outcome = self._outcome_event.payload
        assert isinstance(outcome, Turn | TurnNotTaken), "it was found as one"
        self._outcome: Outcome = outcome
        self._questions = {question.id: question for question in header.questions}

    def whole(self, persona: Persona) -> WholeTurn:
        """Put the turn together."""
        outcome, shown = self._outcome, self._outcome.presentation
        taken = outcome if isinstance(outcome, Turn) else None
        failed = outcome if isinstance(outcome, TurnNotTaken) else None
        paid = tuple(
            Paid(event=self._id(one), cost=one.payload)
            for one in self._own
            if isinstance(one.payload, Cost)
        )
        return WholeTurn(
            event=self._id(self._outcome_event),
            job=self._job,
            persona=persona.id,
            audience=persona.audience,
            attributes=tuple(_told(persona, self._header.ontology)),
            channel=shown.impression.channel,
            question=_as_listed(self._questions.get(shown.question), outcome.order),
            question_id=shown.question,
            actions=tuple(action.name for action in shown.actions),
            seen=tuple(self._seen(shown)),
            not_seen=tuple(self._not_seen(shown)),
            recalled=tuple(self._recalled(taken.recalled)) if taken is not None else (),
            prompt=self._sent(taken.prompt) if taken is not None else (),
            answer=taken.answer if taken is not None else "",
            failed=failed.cause if failed is not None else None,
            call=failed.call if failed is not None else None,
            violations=tuple(self._violations()),
            reaction=taken.reaction if taken is not None else None,
            score=self._score(),
            order=outcome.order,
            beliefs=self._beliefs(persona.id),
            memories=tuple(self._formed()),
            reflection=self._reflection(),
            probe=self._probe(),
            paid=paid,
            spent=Spent(
                attempts=len(paid),
                amount=sum(one.cost.amount or 0 for one in paid),
                unknown=sum(one.cost.amount is None for one in paid),
                currency=self._lookup.reader.entry.currency,
            ),
            plan=self._plan(),
            events=tuple(Part(event=self._id(one), kind=_kind(one)) for one in self._own),
            tools=tuple(self._used()),
            did=taken.did if taken is not None else (),
            ended=next(
                (one.payload.cause for one in self._own if isinstance(one.payload, RunFrozen)), None
            ),
        )

    def _outcome_of_job(self) -> Event:
        for one in self._own:
            if isinstance(one.payload, Turn | TurnNotTaken):
                return one
        raise DamagedRecordError(
            f"The job {self._job} of the tick {self._tick[0].tick} has no outcome.",
            where=self._id(self._own[0]),
        )

    def _seen(self, shown: Presentation) -> Iterator[Seen]:
        view = shown.view
        exposures = shown.impression.exposures
        threads = [view.threads.get(one.stimulus, ()) for one in exposures]
        ids = [one.stimulus for one in exposures]
        published = publications(
            self._lookup, self._span.last, {*ids, *(one for thread in threads for one in thread)}
        )
        for exposure, thread in zip(exposures, threads, strict=True):
            name = exposure.stimulus
            found = published.get(name)
            seen = Seen(
                stimulus=name,
                event="",
                reason=exposure.reason,
                attention=exposure.attention,
                counts=view.counts.get(name, {}),
                tie=view.ties.get(name),
                told_by=view.told_by.get(name, ""),
                near=name in view.near,
                thread=tuple(self._thread(one, published.get(one)) for one in thread),
            )
            yield seen if found is None else self._published(seen, found)

    def _published(self, seen: Seen, found: Event) -> Seen:
        stimulus = _stimulus(found)
        fields = {name: getattr(seen, name) for name in Seen.__struct_fields__}
        fields["event"] = self._id(found)
        for name in ("kind", "text", "claim", "author", "stance"):
            fields[name] = getattr(stimulus, name)
        return Seen(**fields)

    def _thread(self, name: str, found: Event | None) -> Thread:
        if found is None:
            return Thread(stimulus=name, event="", author="", text="")
        stimulus = _stimulus(found)
        return Thread(
            stimulus=name, event=self._id(found), author=stimulus.author, text=stimulus.text
        )

    def _not_seen(self, shown: Presentation) -> Iterator[NotSeen]:
        for one in self._tick:
            if isinstance(one.payload, ExposureDropped):
                dropped = one.payload.dropped
                if dropped.channel == shown.impression.channel:
                    yield NotSeen(
                        event=self._id(one), stimulus=dropped.stimulus, reason=dropped.reason
                    )

    def _recalled(self, numbers: Sequence[int]) -> Iterator[Remembered]:
        for number in numbers:
            yield remembered(self._lookup, number)

    def _violations(self) -> Iterator[Broken]:
        for one in self._own:
            if isinstance(one.payload, GuardrailViolation):
                yield Broken(
                    event=self._id(one),
                    rule=one.payload.rule,
                    prompt=self._sent(one.payload.prompt),
                    answer=one.payload.answer,
                )

    def _used(self) -> Iterator[Used]:
        answers = {
            (one.payload.turn, one.payload.call_id): (self._id(one), one.payload)
            for one in self._own
            if isinstance(one.payload, ToolResult)
        }
        for one in self._own:
            if isinstance(called := one.payload, ToolCalled):
                event, answer = answers.get((called.turn, called.call.id), ("", None))
                yield Used(
                    event=self._id(one),
                    answer_event=event,
                    call=called.call,
                    effect=called.effect,
                    subject=called.subject,
                    status=None if answer is None else answer.status,
                    text="" if answer is None else answer.text,
                    dropped=0 if answer is None else answer.dropped,
                )

    def _score(self) -> Judged | None:
        for one in self._own:
            if isinstance(one.payload, ScoreGiven):
                score, question = one.payload, self._questions.get(one.payload.question)
                listed = question.choices if question is not None else ()
                return Judged(
                    event=self._id(one),
                    question=score.question,
                    choice=score.choice,
                    label=_label(question, score.choice),
                    unscorable=score.unscorable,
                    choices=score.choices,
                    labels=tuple(_label(question, name) for name in score.choices or ()),
                    number=score.number,
                    unit=question.unit if question is not None else "",
                    masses=tuple(
                        (choice.label, mass)
                        for choice, mass in zip(listed, score.masses, strict=False)
                    ),
                    similarities=score.similarities,
                )
        return None

    def _beliefs(self, persona: str) -> Believed:
        # All turns of a tick begin with the beliefs at its opening.
        before = Span(0, self._span.first - 1)
        event, held = "", {}
        for one in self._lookup.backwards(before, Wanted(persona=persona, kinds=(_BELIEFS,))):
            if isinstance(one.payload, BeliefsHeld):
                event, held = self._id(one), one.payload.beliefs
                break
        now = next((one for one in self._own if isinstance(one.payload, BeliefsHeld)), None)
        after = now.payload.beliefs if now and isinstance(now.payload, BeliefsHeld) else None
        return Believed(
            event=event,
            before=held,
            after_event=self._id(now) if now is not None else "",
            after=after,
        )

    def _formed(self) -> Iterator[Formed]:
        for one in self._own:
            if isinstance(one.payload, MemoryFormed):
                assert one.content is not None, "a memory is content"
                yield Formed(
                    event=self._id(one),
                    number=one.content,
                    memory=one.payload.memory,
                    vector=one.payload.vector,
                )

    def _reflection(self) -> Reflection | None:
        for one in self._own:
            if isinstance(one.payload, Reflected):
                return Reflection(
                    event=self._id(one),
                    prompt=self._sent(one.payload.prompt),
                    text=one.payload.text,
                    failed=one.payload.failed,
                )
        return None

    def _probe(self) -> Probe | None:
        for one in self._own:
            if isinstance(one.payload, Probed):
                probe = one.payload
                specs = {spec.name: spec for spec in self._header.ontology.attributes}
                spec = specs.get(probe.attribute)
                return Probe(
                    event=self._id(one),
                    attribute=probe.attribute,
                    code=probe.code,
                    known=probe.code if spec is None else spec.scale.get(probe.code, probe.code),
                    prompt=self._sent(probe.prompt),
                    answer=probe.answer,
                    choice=probe.choice,
                    unscorable=probe.unscorable,
                    failed=probe.failed,
                    right=probe.choice == probe.code if probe.choice else None,
                )
        return None

    def _plan(self) -> Plan | None:
        closing = self._lookup.event(self._span.last).payload
        return closing.plan if isinstance(closing, TickClosed) else None

    def _sent(self, prompt: Sequence[PromptPart]) -> tuple[Sent, ...]:
        return tuple(
            Sent(
                role=part.role,
                sha256=part.sha256,
                text=text_of(self._lookup, part.sha256),
                calls=part.calls,
                call_id=part.call_id,
            )
            for part in prompt
        )

    def _id(self, event: Event) -> str:
        return event_id(self._lookup, event)


def event_id(lookup: Lookup, event: Event) -> str:
    """Write the id of an event."""
    return f"{lookup.world_id}:{event.seq}"


def text_of(lookup: Lookup, sha256: str) -> str:
    """Read a text that an event cites by its hash.

    Raises:
        DamagedRecordError: it is missing, does not have this hash, or is no text.

    """
    try:
        return lookup.reader.blob(lookup.world_id, sha256).decode()
    except UnicodeDecodeError as error:
        where = f"{lookup.world_id}: blob {sha256}"
        raise DamagedRecordError("The bytes are not a text.", where=where) from error


def publications(lookup: Lookup, last: int, names: set[str]) -> Mapping[str, Event]:
    """Find the events that published these stimuli, the latest first, up to a number.

    Raises:
        DamagedRecordError: one of them is not what was written.

    """
    found: dict[str, Event] = {}
    if not names:
        return found
    for event in lookup.backwards(Span(0, last), Wanted(kinds=(_PUBLISHED,))):
        name = _stimulus(event).id
        if name in names and name not in found:
            found[name] = event
            if len(found) == len(names):
                break
    return found


def remembered(lookup: Lookup, number: int) -> Remembered:
    """Find the memory with a content number.

    Raises:
        DamagedRecordError: there is none, or it is not what was written.

    """
    event = lookup.by_content(number)
    if event is None or not isinstance(event.payload, MemoryFormed):
        raise DamagedRecordError(
            f"A turn recalls the memory {number}, which is not on record.", where=lookup.world_id
        )
    return Remembered(event=event_id(lookup, event), number=number, memory=event.payload.memory)


def _stimulus(event: Event) -> Stimulus:
    assert isinstance(event.payload, StimulusPublished), "only these were looked for"
    return event.payload.stimulus


def _kind(event: Event) -> str:
    return KIND_OF[type(event.payload)]


def _as_listed(question: Question | None, order: Sequence[str]) -> Question | None:
    """Give a question with its choices in the order in which they were listed."""
    if question is None or not order:
        return question
    choices = {choice.id: choice for choice in question.choices}
    listed = tuple(choices[name] for name in order if name in choices)
    return msgspec.structs.replace(question, choices=listed)


def _label(question: Question | None, choice: str) -> str:
    choices = question.choices if question is not None else ()
    return next((one.label for one in choices if one.id == choice), choice)


def _told(persona: Persona, ontology: Ontology) -> Iterator[Told]:
    """Put what is known of a persona into words, in the order of the ontology."""
    for spec in ontology.attributes:
        if spec.name in persona.attributes:
            value = persona.attributes[spec.name]
            yield Told(
                name=spec.name, label=spec.label, code=code_of(value), words=in_words(spec, value)
            )
