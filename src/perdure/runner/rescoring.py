"""Scores the answers of a closed run again, by other anchors: beside its record, which stays.

Vectors that the record has are used as they are; what it has not is embedded, through a call
journal of its own: a command that is killed and given again pays for no finished call twice. The
run's budget holds, and what it cost is a row of the run log.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import msgspec

from perdure.base.canonical import encode, hash_hex, sha256
from perdure.base.clock import Clock, SystemClock
from perdure.base.crashpoints import crashpoint
from perdure.base.errors import (
    BudgetReachedError,
    EndpointUnreachableError,
    PerdureError,
    UsageError,
)
from perdure.base.vectors import Vector, has_direction, pack, rounded, unpack
from perdure.elicitation.rating import rated
from perdure.inference import charges
from perdure.inference.host import InferenceHost
from perdure.inference.journaled import JournaledHost
from perdure.inference.reservations import NOTHING, Amounts, Reservations
from perdure.records.anchors import Anchors
from perdure.records.events import AnswerGiven, Event, TickClosed, Turn
from perdure.records.journal import OpenTick, TickOpening
from perdure.records.outcome import Scored
from perdure.records.presentation import Plan
from perdure.records.reaction import own_words
from perdure.records.record import Record
from perdure.records.registry import AnswersRescored, RunEntry, RunForced
from perdure.records.request import SCORER_JOB, CallKey, EmbedRequest, FailureCause, Vectors
from perdure.records.rescore import RescoredAnswer, Rescoring, RescoringEnd
from perdure.records.scenario import Question, QuestionType, Scoring, Similarity
from perdure.records.study import ModelSpec, Study
from perdure.runner.endings import refusal
from perdure.runner.ledger import spent_in, spent_outside
from perdure.runner.rating import Due, anchors_to_embed, parts, rate_by, to_embed
from perdure.runner.respondents import host_for
from perdure.runner.spending import ceilings_of
from perdure.study.read_models import EMBED
from perdure.study.schedule import ANCHORS, SCORES
from perdure.trace.files import make_folder
from perdure.trace.forced import study_in_force
from perdure.trace.journal import Journal
from perdure.trace.lock import GovernorLock
from perdure.trace.off_loop import off_loop
from perdure.trace.reader import RunReader
from perdure.trace.registry import Registry
from perdure.trace.rungs import budget_in_force
from perdure.trace.scores import (
    RESCORE_FORMAT,
    Scores,
    ScoresWriter,
    all_scores,
    answers_of,
    has_scores,
    lacks_vectors,
    read_scores,
    scores_folder,
)

_ID_DIGITS = 12
_EPOCH = 1  # of the journal: nobody works on it but who holds the run
_REMEMBERED = 10_000  # texts whose vectors are kept in memory

_KINDS = ("turn", "answer", "tick_closed")
_STOPS = {FailureCause.OUT_OF_MONEY, FailureCause.KEY_REFUSED, FailureCause.MODEL_UNKNOWN}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be scored again. Without `anchors` those of the run, without `spec` its model.

    `question` may be empty where only one is scored by likeness.
    """

    question: str = ""
    anchors: Anchors | None = None
    epsilon: float | None = None
    temperature: float | None = None
    spec: ModelSpec | None = None


class Rescored(Record):
    """Scores that are there now. `known` says that they were there already."""

    scores: Scores
    known: bool


def rescore(folder: Path, wanted: Wanted, *, clock: Clock | None = None) -> Rescored:
    """Score the answers to a question of a run again.

    Raises:
        UsageError: what is wanted does not fit the run.
        HeldError: a process works on the run.
        DamagedRecordError: the record does not hold what was written.
        EndpointUnreachableError: a call got no vectors; what was answered is kept for next time.
        BudgetReachedError: the run's budget has no room for a call.
        KeyOrModelRefusedError: the endpoint refused the key, or does not know the model.
        ProviderPausedError: the provider's account is empty.
        StorageError: storage failed.

    """
    return asyncio.run(_rescore(folder, wanted, clock or SystemClock()))


async def _rescore(folder: Path, wanted: Wanted, clock: Clock) -> Rescored:
    lock = await GovernorLock.acquire(folder, clock)
    try:
        with RunReader.open(folder) as reader:
            reader.check_registry()
            job = await _lacking(folder, _planned(reader, wanted))
            known = has_scores(folder, job.rescoring.id)
            if not known:
                await _Work(folder, reader, job, clock).do()
        scores = read_scores(folder, job.rescoring.id)
        crashpoint("scores.sealed")
        await _note(folder, scores)
        return Rescored(scores=scores, known=known)
    finally:
        lock.release()


@dataclass(frozen=True, kw_only=True)
class _Job:
    """What is done: the question as it is scored now, the model, and the study's own questions."""

    rescoring: Rescoring
    question: Question
    spec: ModelSpec
    study: Study


async def _lacking(folder: Path, job: _Job) -> _Job:
    """Go on from scores that are there and lack vectors: they stay, and the next ones name them."""
    while has_scores(folder, job.rescoring.id):
        there = read_scores(folder, job.rescoring.id)
        if not lacks_vectors(there):
            break
        await _note(folder, there)
        again = msgspec.structs.replace(job.rescoring, id="", again=there.rescoring.id)
        job = replace(job, rescoring=_named(again))
    return job


def _named(rescoring: Rescoring) -> Rescoring:
    """Give it the id that follows from all the rest of it."""
    name = sha256(encode(rescoring)).hex()[:_ID_DIGITS]
    return msgspec.structs.replace(rescoring, id=name)


def _planned(reader: RunReader, wanted: Wanted) -> _Job:
    study = msgspec.json.decode(study_in_force(reader.entry, reader.log), type=Study)
    question = _question(study, wanted.question)
    anchors = wanted.anchors or _own_anchors(study, question)
    if question.choices and tuple(one.id for one in question.choices) != anchors.points:
        raise UsageError(
            f"The anchors are for the points {', '.join(anchors.points)}, and the choices of "
            f"{question.id!r} are {', '.join(one.id for one in question.choices)}.",
            remedy="Give anchors whose `points` are these choices, in their order.",
        )
    spec = _model(study, question, wanted)
    own = question.similarity or Similarity(anchors=anchors.construct)
    how = Similarity(
        anchors=anchors.construct,
        epsilon=own.epsilon if wanted.epsilon is None else wanted.epsilon,
        temperature=own.temperature if wanted.temperature is None else wanted.temperature,
    )
    asked = msgspec.structs.replace(
        question, scoring=Scoring.SIMILARITY, similarity=how, type=QuestionType.LIKERT
    )
    heads = {world.world_id: reader.head(world.world_id) for world in reader.worlds}
    rescoring = Rescoring(
        id="",
        format=RESCORE_FORMAT,
        run_id=reader.entry.run_id,
        question=question.id,
        anchors=anchors,
        anchors_hash=hash_hex(anchors),
        how=how,
        pin=spec.pin,
        points={one.id: one.label for one in question.choices}
        or {point: point for point in anchors.points},
        ends={name: head.seq for name, head in heads.items() if head is not None},
    )
    return _Job(
        rescoring=_named(rescoring),
        question=asked,
        spec=spec,
        study=study,
    )


def _question(study: Study, name: str) -> Question:
    if name:
        found = next((one for one in study.questions if one.id == name), None)
        if found is None:
            names = ", ".join(one.id for one in study.questions)
            raise UsageError(f"The study has no question {name!r}.", remedy=f"It has: {names}.")
        if found.asks_for not in (QuestionType.LIKERT, QuestionType.ONE, QuestionType.OPEN):
            raise UsageError(
                f"The question {name!r} asks for something else than a point of a scale.",
                remedy="Name a scale, a choice of one, or an open question.",
            )
        return found
    rated_ones = [one for one in study.questions if one.scoring is Scoring.SIMILARITY]
    if len(rated_ones) != 1:
        raise UsageError(
            f"{len(rated_ones)} questions of the run are scored by likeness.",
            remedy="Name one with --question.",
        )
    return rated_ones[0]


def _model(study: Study, question: Question, wanted: Wanted) -> ModelSpec:
    """Give the model to score by. Anchors of the run were checked under its own, and no other."""
    own = study.models.get(EMBED)
    if wanted.spec is None and own is None:
        raise UsageError(
            "The run has no model that gives vectors.",
            remedy="Give --model, such as `--model local`.",
        )
    if wanted.anchors is None and wanted.spec and (own is None or own.pin != wanted.spec.pin):
        raise UsageError(
            f"The anchors of {question.id!r} were not checked under {wanted.spec.pin.model}.",
            remedy="Check their file under it with `perdure anchors check`, and give --anchors.",
        )
    spec = wanted.spec or own
    assert spec is not None, "one of them is there"
    return spec


def _own_anchors(study: Study, question: Question) -> Anchors:
    if question.similarity is None:
        raise UsageError(
            f"The question {question.id!r} has no anchors of its own.",
            remedy="Give a file with --anchors.",
        )
    return study.anchors[question.similarity.anchors]


class _Work:
    """Scores every answer of one question, tick by tick, in the order of the record."""

    def __init__(self, folder: Path, reader: RunReader, job: _Job, clock: Clock) -> None:
        self._folder = folder
        self._place = scores_folder(folder) / job.rescoring.id
        self._reader = reader
        self._job = job
        self._clock = clock
        self._vectors: OrderedDict[str, bytes] = OrderedDict()
        self._ordinals: Counter[str] = Counter()
        self._inner: InferenceHost | None = None
        self._host: JournaledHost | None = None
        self._journal: Journal | None = None
        self._unscorable: Counter[str] = Counter()
        self._answers = self._scored = self._kept = 0
        again = job.rescoring.again
        self._earlier = answers_of(folder, again) if again else None

    async def do(self) -> None:
        """Write the file of scores."""
        try:
            with ScoresWriter(self._folder, self._job.rescoring) as writer:
                if (before := self._compared_before()) is not None:
                    for answer in answers_of(self._folder, before):
                        writer.add(self._again(answer))
                else:
                    for world in self._job.rescoring.ends:
                        for tick in self._ticks(world):
                            for answer in await self._tick(world, tick):
                                writer.add(answer)
                if not self._answers:
                    raise UsageError(
                        f"Nobody answered {self._job.question.id!r}, so there is nothing to score.",
                        remedy="Score another question, or this one when it was answered.",
                    )
                writer.seal(await self._end())
        finally:
            if self._inner is not None:
                await self._inner.close()
            if self._journal is not None:
                await self._journal.finish()
                await self._journal.close()

    def _compared_before(self) -> str | None:
        """Find scores of the same answers by the same likeness, if only the formula differs."""
        rescoring = self._job.rescoring
        for scores in all_scores(self._folder):
            of = scores.rescoring
            same = msgspec.structs.replace(rescoring, id=of.id, how=of.how, again=of.again)
            if same == of and of.how.anchors == rescoring.how.anchors and not lacks_vectors(scores):
                return of.id
        return None

    def _again(self, answer: RescoredAnswer) -> RescoredAnswer:
        """Give a score by another formula, by the likeness that was found before."""
        if not answer.similarities:
            return self._counted(answer)
        self._kept += 1
        scored = rated(answer.similarities, self._job.rescoring.how)
        return self._counted(
            msgspec.structs.replace(answer, masses=scored.masses, unscorable=scored.unscorable)
        )

    async def _hold_to_budget(self, host: JournaledHost) -> None:
        if self._reader.journal_fault:
            raise UsageError(
                f"What the run has open cannot be told: {self._reader.journal_fault}.",
                remedy="Take the run to its end with `perdure resume`, then score.",
            )
        budget = budget_in_force(self._job.study.budget, self._reader.log)
        outcomes = self._reader.outcomes.values()
        spent = sum(map(spent_in, outcomes), spent_outside(self._reader.log))
        spent += await host.take_stock()
        spent += sum(map(_taken, self._reader.journal or ()), NOTHING)
        spent += await self._on_other_scores()
        ceilings = msgspec.structs.replace(ceilings_of(budget, 0.0), wall_s=None)
        host.reservations = Reservations(ceilings, spent, self._clock)

    async def _on_other_scores(self) -> Amounts:
        """Sum up what was paid for scores that are not in the run log: they are not finished."""
        noted = {row.id for row in self._reader.log if isinstance(row, AnswersRescored)}
        spent = NOTHING
        for place in sorted(scores_folder(self._folder).iterdir()):
            unfinished = place.is_dir() and place != self._place and place.name not in noted
            if unfinished and await Journal.has(place):
                journal = await Journal.open(place, _EPOCH, run=self._reader.entry.run_id)
                for opening in journal.open_ticks:
                    stored = await journal.calls(opening.world, opening.tick)
                    spent += NOTHING if stored is None else _taken(stored)
                await journal.close()
        return spent

    def _ticks(self, world: str) -> Iterator[list[Event]]:
        """Go through the ticks of a world up to where it stood, as far as answers are concerned."""
        end, tick = self._job.rescoring.ends[world], list[Event]()
        for event in self._reader.events(world, _KINDS):
            if event.seq > end:
                return
            tick.append(event)
            if isinstance(event.payload, TickClosed):
                yield tick
                tick = []

    async def _tick(self, world: str, events: Sequence[Event]) -> list[RescoredAnswer]:
        turns = [event for event in events if _asks(event, self._job.question.id)]
        if not turns:
            return []
        before = [] if self._earlier is None else list(islice(self._earlier, len(turns)))
        kept = {place: one for place, one in enumerate(before) if one.similarities}
        due = [
            Due(job=place, words=_said_in(event), question=self._job.question)
            for place, event in enumerate(turns)
            if place not in kept
        ]
        # Where vectors were missing, those on record may be of another model than those to come.
        known = {} if before else self._recorded(world, events)
        self._kept += sum(one.words in known for one in due)
        anchors = {self._job.rescoring.anchors.construct: self._job.rescoring.anchors}
        for purpose, calls in _calls(due, anchors):
            texts = [text for part in calls for text in part]
            known |= await self._embedded(purpose, [text for text in texts if text not in known])
        found = rate_by(due, anchors, known)
        return [
            self._again(kept[place])
            if place in kept
            else self._counted(_answer(world, event, found[place]))
            for place, event in enumerate(turns)
        ]

    def _counted(self, answer: RescoredAnswer) -> RescoredAnswer:
        self._answers += 1
        self._scored += answer.unscorable is None
        if answer.unscorable is not None:
            self._unscorable[answer.unscorable] += 1
        return answer

    def _recorded(self, world: str, events: Sequence[Event]) -> dict[str, Vector]:
        """Find what the record itself has of a tick's vectors, if they are of this model."""
        header = self._reader.header(world)
        if any(isinstance(row, RunForced) for row in self._reader.log):
            # Questions and anchors may be others than those that the world began with.
            return {}
        if header.pins.get(EMBED) != self._job.rescoring.pin:
            return {}
        asked = {one.id: one for one in header.questions if one.scoring is Scoring.SIMILARITY}
        due = [
            Due(job=0, words=_said_in(event), question=asked[name])
            for event in events
            if (name := _question_of(event)) in asked
        ]
        given = {
            (one.payload.purpose, one.payload.ordinal): one.payload
            for one in events
            if isinstance(one.payload, AnswerGiven) and one.payload.job == SCORER_JOB
        }
        found: dict[str, Vector] = {}
        for purpose, calls in _calls(due, header.anchors):
            for ordinal, texts in enumerate(calls):
                answer = given.get((purpose, ordinal))
                if answer is not None and answer.count == len(texts):
                    blob = self._reader.blob(world, answer.vectors)
                    vectors = zip(texts, unpack(blob, answer.count), strict=True)
                    found.update((text, one) for text, one in vectors if has_direction(one))
        return found

    async def _embedded(self, purpose: str, texts: Sequence[str]) -> dict[str, Vector]:
        """Give the vectors of texts: those that were lately asked for, and of the rest by calls."""
        found = {}
        for text in texts:
            if text in self._vectors:
                self._vectors.move_to_end(text)
                found[text] = unpack(self._vectors[text], 1)[0]
        for part in parts(text for text in texts if text not in found):
            vectors = await self._called(purpose, part)
            found.update(zip(part, vectors, strict=True))
            self._vectors.update(
                (text, pack([vector])) for text, vector in zip(part, vectors, strict=True)
            )
        while len(self._vectors) > _REMEMBERED:
            self._vectors.popitem(last=False)
        return found

    async def _called(self, purpose: str, texts: tuple[str, ...]) -> tuple[Vector, ...]:
        host = await self._ready()
        key = CallKey(
            world=self._job.rescoring.id,
            tick=0,
            job=SCORER_JOB,
            purpose=purpose,
            ordinal=self._ordinals[purpose],
        )
        self._ordinals[purpose] += 1
        result = await host.call(key, EmbedRequest(role=EMBED, texts=texts))
        answer = result.answer
        if isinstance(answer, Vectors):
            return rounded(answer.vectors)
        limit = host.refusal(key.world, key.tick)
        if limit is not None:
            raise BudgetReachedError(
                f"The budget has no room for a call ({limit}).",
                limit=limit,
                remedy="Raise it with `perdure budget`, then score again: what is paid is kept.",
            )
        raise _error(result.failed)

    async def _ready(self) -> JournaledHost:
        """Make the model ready, when it is first needed."""
        if self._host is None:
            rescoring = self._job.rescoring
            self._inner = host_for({EMBED: self._job.spec}, self._job.study.currency)
            self._journal = await _journal(self._place, self._reader.entry)
            host = JournaledHost(self._inner, self._journal)
            await self._hold_to_budget(host)
            await self._inner.open()
            await self._inner.check()
            opening = TickOpening(
                world=rescoring.id, tick=0, plan=Plan(), input_hash=hash_hex(rescoring)
            )
            await host.open_tick(opening)
            self._host = host
        return self._host

    async def _end(self) -> RescoringEnd:
        """Sum up: answers by what became of them, and everything that was sent for them."""
        stored = await self._journal.calls(self._job.rescoring.id, 0) if self._journal else None
        taken = NOTHING if stored is None else _taken(stored)
        lost = 0 if stored is None else sum(row.calls for row in charges.lost(stored))
        return RescoringEnd(
            answers=self._answers,
            scored=self._scored,
            unscorable=dict(sorted(self._unscorable.items())),
            kept=self._kept,
            calls=taken.calls,
            lost=lost,
            cost=taken.money,
            unknown_costs=taken.unknown,
            tokens=taken.tokens,
        )


def _answer(world: str, event: Event, scored: Scored) -> RescoredAnswer:
    return RescoredAnswer(
        world=world,
        seq=event.seq,
        tick=event.tick,
        persona=event.persona,
        masses=scored.masses,
        unscorable=scored.unscorable,
        similarities=scored.similarities,
    )


def _taken(tick: OpenTick) -> Amounts:
    """Sum up what the calls of an open tick took of the budget, those that are lost as well."""
    done = [charges.spent(call.settled) for call in tick.model_calls if call.settled is not None]
    lost = [
        Amounts(money=row.cost, calls=row.calls, tokens=row.tokens, unknown=row.unknown_costs)
        for row in charges.lost(tick)
    ]
    return sum((*done, *lost), NOTHING)


def _calls(
    due: Sequence[Due], anchors: Mapping[str, Anchors]
) -> tuple[tuple[str, Iterator[tuple[str, ...]]], ...]:
    """Give the calls for vectors that scores take, by purpose, as a run makes them."""
    return (ANCHORS[1], anchors_to_embed(due, anchors)), (SCORES[1], to_embed(due))


def _asks(event: Event, question: str) -> bool:
    return _question_of(event) == question


def _question_of(event: Event) -> str:
    payload = event.payload
    return payload.presentation.question if isinstance(payload, Turn) else ""


def _said_in(event: Event) -> str:
    turn = event.payload
    assert isinstance(turn, Turn), "only a turn that was taken says something"
    return own_words(turn.answer, turn.reaction)


async def _journal(place: Path, entry: RunEntry) -> Journal:
    """Open the call journal of one scoring, or begin it."""
    if await Journal.has(place):
        return await Journal.open(place, _EPOCH, run=entry.run_id)
    await off_loop(lambda: make_folder(place))
    return await Journal.create(place, _EPOCH, run=entry.run_id)


async def _note(folder: Path, scores: Scores) -> None:
    """Note in the run log what was scored and what it cost, unless it is noted already."""
    asked, end = scores.rescoring, scores.end
    with RunReader.open(folder) as reader:
        noted = {row.id for row in reader.log if isinstance(row, AnswersRescored)}
    if asked.id in noted:
        return
    row = AnswersRescored(
        id=asked.id,
        question=asked.question,
        construct=asked.anchors.construct,
        version=asked.anchors.version,
        anchors_hash=asked.anchors_hash,
        model=asked.pin.model,
        answers=end.answers,
        scored=end.scored,
        calls=end.calls,
        cost=end.cost,
        unknown_costs=end.unknown_costs,
        tokens=end.tokens,
    )
    registry = await Registry.open(folder)
    try:
        await registry.log(row)
        await registry.finish()
    finally:
        await registry.close()


def _error(cause: FailureCause | None) -> PerdureError:
    if cause in _STOPS:
        assert cause is not None, "it is one of those"
        return refusal(cause, "the scores")
    return EndpointUnreachableError(
        f"A call for vectors had no answer ({cause}).",
        remedy="What was answered is kept. Check the endpoint, then score again.",
    )
