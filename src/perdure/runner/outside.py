"""The tools outside the world that a study lets its personas use, as one job of a tick uses them.

They are functions of the study's own. What they do is done in earnest, and is no part of what a
run can do again: every call is journaled around its doing, and so is done at most once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from perdure.agent.drive.ports import Ticket
from perdure.agent.drive.tools.bench import Bench
from perdure.agent.drive.tools.function import FunctionTool
from perdure.base.redaction import redacted
from perdure.records.drive import EndCause, RunPolicy
from perdure.records.tools import Effect, ToolAnswer, ToolCall, ToolSpec, Writes

_BYTES_MAX = 20_000

# Makes one call at most once, over all sittings of a run, or tells how it was answered then.
Once = Callable[[ToolCall, Effect, Callable[[], Awaitable[ToolAnswer]]], Awaitable[ToolAnswer]]


class OutsideTools:
    """A drive's tool face: some tools, each call of which is made `once`."""

    def __init__(self, tools: Sequence[FunctionTool], once: Once) -> None:
        # Of its own: a bench that is closed ends what runs on it, and names it.
        self._bench = Bench([tool.anew() for tool in tools], output_max=_BYTES_MAX)
        self._once = once

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is shown them, in the order of the study."""
        return self._bench.specs

    def effect(self, call: ToolCall) -> Effect | None:
        """Give the declared effect; None for a tool that is not there."""
        return self._bench.effect(call)

    def writes(self, call: ToolCall) -> Writes:
        """Give what a call may write of a workspace: nothing."""
        return self._bench.writes(call)

    def admit(
        self, call: ToolCall, policy: RunPolicy, *, checkpointed: bool
    ) -> Ticket | ToolAnswer:
        """Let a call through, or answer it at once: refused, or an error in its arguments."""
        del checkpointed  # there is no workspace here; what may delete is refused with the study
        return self._bench.admit(call, policy, checkpointed=True)

    async def run(self, call: ToolCall) -> ToolAnswer:
        """Make a call that was let through, or give what it came to when it was made before.

        Raises:
            StorageError: it could not be journaled.

        """
        effect = self._bench.effect(call)
        assert effect is not None, "a call that was let through is one of a tool"

        async def make() -> ToolAnswer:
            answer = await self._bench.run(call)
            safe = msgspec.structs.replace(answer, text=redacted(answer.text), wrote=None)
            # As it is told, for that is what is kept of it.
            return self._bench.account(call, safe)

        return await self._once(call, effect, make)

    def account(self, call: ToolCall, answer: ToolAnswer) -> ToolAnswer:
        """Give an answer as the model is told it."""
        return self._bench.account(call, answer)

    async def close(self, cause: EndCause) -> tuple[str, ...]:
        """End what still runs. It is not named: whether anything does is no part of a record."""
        await self._bench.close(cause)
        return ()
