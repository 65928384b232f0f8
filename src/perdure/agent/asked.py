"""One turn in progress: what it has to go by, how its prompts are written and its calls made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from perdure.agent.facts import facts_of
from perdure.agent.fitting import Fitted, Recall, fitted, tokens_max
from perdure.agent.port import JobModels
from perdure.agent.prompt import belief_text, conversation, memory_lines
from perdure.records.persona import AttributeValue, Memory
from perdure.records.presentation import Plan, Stimulus, TurnJob
from perdure.records.record import Record
from perdure.records.request import Message
from perdure.records.scenario import Header, Question

TURN = "turn"
REFLECTION = "reflection"
PROBE = "probe"
_ROLES = {TURN: "tier_a", REFLECTION: "tier_b", PROBE: "tier_a"}


class Known(Record):
    """What is told of one persona: its block of text, and the same attributes as data."""

    block: str
    attributes: dict[str, AttributeValue]


class Asked(NamedTuple):
    """A job, its persona, what that notices, its world, and the models as it may call them.

    `shared` is what every persona of the world is told.
    """

    job: TurnJob
    known: Known
    shown: tuple[Stimulus, ...]
    header: Header
    shared: str
    plan: Plan
    models: JobModels

    @property
    def acts(self) -> bool:
        """Whether the persona can do something, beside answering."""
        return bool(self.job.presentation.actions)

    def prompt(
        self, purpose: str, recall: Recall, beliefs: Mapping[str, int], *parts: str
    ) -> Fitted | None:
        """Write the prompt of a call: what all share, who it is, its mind, and then the parts.

        None if even without memories and beliefs it is longer than it may be.
        """
        header = self.header

        def write(memories: tuple[Memory, ...], held: Mapping[str, int]) -> tuple[Message, ...]:
            return conversation(
                self.shared,
                self.known.block,
                memory_lines(memories, header.scenario.tick_unit),
                belief_text(held, header.brief),
                *parts,
            )

        return fitted(
            write,
            recall,
            beliefs,
            memories_max=header.agent.memories_max,
            limit=tokens_max(header.agent, self._role(purpose), acts=self.acts),
        )

    async def say(
        self,
        purpose: str,
        prompt: Fitted,
        beliefs: Mapping[str, int],
        question: Question | None = None,
        *,
        shows: bool = False,
    ) -> str:
        """Ask the model for an answer to a prompt, which `shows` what is shown now or does not.

        Raises:
            CallFailedError: there is no reply.

        """
        settings, presentation = self.header.agent, self.job.presentation
        reply = await self.models.chat(
            purpose,
            prompt.messages,
            role=self._role(purpose),
            tokens_max=settings.answer_tokens_max,
            temperature=settings.temperature,
            facts=facts_of(
                self.job.persona.id,
                self.known.attributes,
                shown=self.shown if shows else (),
                view=presentation.view if shows else None,
                memories=prompt.memories,
                question=question,
                actions=presentation.actions if shows else (),
                beliefs=beliefs,
            ),
        )
        return reply.text

    def _role(self, purpose: str) -> str:
        return self.plan.routing.get(purpose, _ROLES[purpose])


def noticed(job: TurnJob) -> tuple[Stimulus, ...]:
    """List the stimuli of a job that get any attention, in the order of the impression."""
    exposures = job.presentation.impression.exposures
    return tuple(
        stimulus
        for stimulus, exposure in zip(job.shown, exposures, strict=True)
        if exposure.attention > 0
    )
