"""A run's record with the answers to one question as they were scored again. Nothing is written.

Whoever reads it sees the new scores in the places of the old ones, and the question as it was
scored: an open one as a scale, as no others have points. Everything else is what the record says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path

import msgspec

from perdure.analysis.source import RecordSource
from perdure.base.canonical import encode
from perdure.base.errors import DamagedRecordError, UsageError
from perdure.records.events import KIND_OF, Event, ScoreGiven, Turn
from perdure.records.graph import Node
from perdure.records.journal import OpenTick
from perdure.records.persona import Choice, Persona
from perdure.records.registry import LogPayload, RunEntry, WorldEntry, WorldOutcome
from perdure.records.rescore import RescoredAnswer
from perdure.records.scenario import QuestionType, Scoring
from perdure.records.study import Study
from perdure.trace.scores import Scores, answers_of, begins_of

_SCORE = KIND_OF[ScoreGiven]
_TURN = KIND_OF[Turn]


class RescoredSource:
    """A record source that gives the new scores of one question."""

    def __init__(self, source: RecordSource, folder: Path, scores: Scores) -> None:
        """Take the record and the scores, which are those of this run.

        Raises:
            DamagedRecordError: they are another run's.

        """
        if scores.rescoring.run_id != source.entry.run_id:
            raise DamagedRecordError(
                f"The scores {scores.rescoring.id} are those of the run {scores.rescoring.run_id}.",
                remedy="Score the answers of this run.",
            )
        self._source = source
        self._folder = folder
        self._scores = scores

    @property
    def entry(self) -> RunEntry:
        """The run as asked, but for the question, which is asked as it was scored."""
        entry = self._source.entry
        study = msgspec.json.decode(entry.study, type=Study)
        asked = self._scores.rescoring
        questions = tuple(
            msgspec.structs.replace(
                one,
                # Choices that are no scale have shares, and no mean.
                type=QuestionType.LIKERT if one.asks_for is QuestionType.OPEN else one.type,
                scoring=Scoring.SIMILARITY,
                similarity=asked.how,
                choices=tuple(
                    Choice(id=point, label=asked.points[point]) for point in asked.anchors.points
                ),
            )
            if one.id == asked.question
            else one
            for one in study.questions
        )
        changed = msgspec.structs.replace(study, questions=questions)
        return msgspec.structs.replace(entry, study=encode(changed).decode())

    @property
    def worlds(self) -> Sequence[WorldEntry]:
        """Every world of the run."""
        return self._source.worlds

    @property
    def outcomes(self) -> Mapping[str, WorldOutcome]:
        """Where each world stands."""
        return self._source.outcomes

    @property
    def log(self) -> Sequence[LogPayload]:
        """What the run log says."""
        return self._source.log

    @property
    def journal(self) -> Sequence[OpenTick] | None:
        """The open ticks that are in no record yet."""
        return self._source.journal

    @property
    def journal_fault(self) -> str:
        """Why there is no journal though a file has its name."""
        return self._source.journal_fault

    @property
    def personas(self) -> Sequence[Persona]:
        """The population in its order."""
        return self._source.personas

    @property
    def graph(self) -> Sequence[Node]:
        """Who knows whom."""
        return self._source.graph

    @property
    def held_out(self) -> Mapping[str, str]:
        """The known held-out choice of each persona."""
        return self._source.held_out

    @property
    def withheld(self) -> bool:
        """Whether there are held-out values that were left out of this copy of the record."""
        return self._source.withheld

    def events(self, world_id: str, kinds: Collection[str] | None = None) -> Iterator[Event]:
        """Stream a world's events; a turn of the question is followed by its new score.

        Raises:
            DamagedRecordError: the scores do not fit the record.
            UsageError: the record has answers to the question that came after the scores.

        """
        question = self._scores.rescoring.question
        end = self._scores.rescoring.ends.get(world_id, -1)
        wanted = None if kinds is None else {*kinds, _TURN}
        answers = self._answers(world_id)
        for event in self._source.events(world_id, wanted):
            payload = event.payload
            if (
                isinstance(payload, ScoreGiven)
                and payload.question == question
                and event.seq <= end
            ):
                continue
            if kinds is None or KIND_OF[type(payload)] in kinds:
                yield event
            due = isinstance(payload, Turn) and payload.presentation.question == question
            if due and event.seq > end:
                raise UsageError(
                    f"The run went on after the scores {self._scores.rescoring.id} were given.",
                    where=f"seq {event.seq}",
                    remedy="Score its answers again with `perdure score`.",
                )
            if due and (kinds is None or _SCORE in kinds):
                yield self._given(event, next(answers, None))

    def _answers(self, world_id: str) -> Iterator[RescoredAnswer]:
        begin = self._begins.get(world_id)
        if begin is None:
            return iter(())
        found = answers_of(self._folder, self._scores.rescoring.id, begin)
        return takewhile(lambda answer: answer.world == world_id, found)

    @cached_property
    def _begins(self) -> Mapping[str, int]:
        return begins_of(self._folder, self._scores.rescoring.id)

    def _given(self, turn: Event, answer: RescoredAnswer | None) -> Event:
        """Give the new score in the turn's own place."""
        if answer is None or answer.seq != turn.seq or turn.content is None:
            raise DamagedRecordError(
                "The scores do not fit the record.",
                where=f"scores {self._scores.rescoring.id}, seq {turn.seq}",
                remedy="Remove the file of scores, and score again.",
            )
        given = ScoreGiven(
            turn=turn.content,
            question=self._scores.rescoring.question,
            unscorable=answer.unscorable,
            masses=answer.masses,
            similarities=answer.similarities,
        )
        return msgspec.structs.replace(turn, payload=given, content=None)
