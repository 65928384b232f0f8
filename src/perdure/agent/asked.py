"""One turn in progress: what it has to go by, how its prompts are written and its calls made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perdure.agent.facts import facts_of
from perdure.agent.fitting import Fitted, Recall, fitted, tokens_max
from perdure.agent.port import JobModels
from perdure.agent.prompt import (
    belief_text,
    conversation,
    memory_lines,
    persona_block,
    today_text,
)
from perdure.records.persona import AttributeSpec, AttributeValue, Memory
from perdure.records.presentation import Plan, Stimulus, TurnJob
from perdure.records.record import Record
from perdure.records.request import Message, Reply
from perdure.records.scenario import Header, Question, Scoring

TURN = "turn"
REFLECTION = "reflection"
PROBE = "probe"
_ROLES = {TURN: "tier_a", REFLECTION: "tier_b", PROBE: "tier_a"}


class Known(Record):
    """What is told of one persona: its block of text, and the same attributes as data."""

    block: str
    attributes: dict[str, AttributeValue]


@dataclass(frozen=True, slots=True)
class Situation:
    """A job, its persona, what that notices, and its world: what prompts are written from.

    `shared` is what every persona of the world is told.
    """

    job: TurnJob
    known: Known
    shown: tuple[Stimulus, ...]
    header: Header
    shared: str
    plan: Plan

    @property
    def acts(self) -> bool:
        """Whether the persona can do something, beside answering."""
        return bool(self.job.presentation.actions)

    def prompt(
        self,
        purpose: str,
        recall: Recall,
        beliefs: Mapping[str, int],
        *parts: str,
        rules: Sequence[str] = (),
    ) -> Fitted | None:
        """Write the prompt of a call: what all share, who it is, its mind, and then the parts.

        `rules` are the same for everybody in that place, and stand with what all share. None if
        even without memories and beliefs it is longer than it may be.
        """
        header = self.header
        shared = "\n\n".join([self.shared, *rules])

        def write(memories: tuple[Memory, ...], held: Mapping[str, int]) -> tuple[Message, ...]:
            return conversation(
                shared,
                self.known.block,
                memory_lines(memories, header.scenario, header.brief),
                belief_text(held, header.brief),
                today_text(header.scenario, self.job.tick),
                *parts,
            )

        return fitted(
            write,
            recall,
            beliefs,
            memories_max=header.agent.memories_max,
            limit=tokens_max(header.agent, self.role(purpose), acts=self.acts),
        )

    def role(self, purpose: str) -> str:
        """Name the model role that serves a purpose."""
        return self.plan.routing.get(purpose, _ROLES[purpose])


@dataclass(frozen=True, slots=True)
class Asked(Situation):
    """A situation, and the models as its job may call them."""

    models: JobModels

    async def say(
        self,
        purpose: str,
        prompt: Fitted,
        beliefs: Mapping[str, int],
        question: Question | None = None,
        *,
        shows: bool = False,
    ) -> Reply:
        """Ask the model for an answer to a prompt, which `shows` what is shown now or does not.

        Raises:
            CallFailedError: there is no reply.

        """
        settings, presentation = self.header.agent, self.job.presentation
        return await self.models.chat(
            purpose,
            prompt.messages,
            role=self.role(purpose),
            tokens_max=settings.answer_tokens_max,
            temperature=settings.temperature,
            facts=facts_of(
                self.job.persona.id,
                self.known.attributes,
                shown=self.shown if shows else (),
                view=presentation.view if shows else None,
                memories=prompt.memories,
                question=self._as_written(question),
                actions=presentation.actions if shows else (),
                beliefs=beliefs,
            ),
            logprobs=shows and self.job.question.scoring is Scoring.LOGPROBS,
        )

    def _as_written(self, question: Question | None) -> Question | None:
        """Give a question as the study has it: the order in which it was listed says nothing."""
        if question is None or not question.shuffle:
            return question
        return next(one for one in self.header.questions if one.id == question.id)


def describe(
    specs: Sequence[AttributeSpec], attributes: Mapping[str, AttributeValue]
) -> Known | None:
    """Describe a persona; None if something that must be known of it is not, or nothing is."""
    if any(spec.required and spec.name not in attributes for spec in specs):
        return None
    block = persona_block(specs, attributes)
    if not block:
        return None
    told = {spec.name: attributes[spec.name] for spec in specs if spec.name in attributes}
    return Known(block=block, attributes=told)


def noticed(job: TurnJob) -> tuple[Stimulus, ...]:
    """List the stimuli of a job that get any attention, in the order of the impression."""
    exposures = job.presentation.impression.exposures
    return tuple(
        stimulus
        for stimulus, exposure in zip(job.shown, exposures, strict=True)
        if exposure.attention > 0
    )
