"""The figures of a report about the run itself: worlds, failures, costs, budget, people. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.analysis.address import address
from perdure.analysis.addressing import (
    ENTRY,
    STANDS,
    Figure,
    Section,
)
from perdure.analysis.evidence import (
    Active,
    OfKinds,
    Part,
    Spent,
)
from perdure.analysis.outside import ESTIMATED, LOST, ORPHANED, RESCORED

NO_NAME = "(none)"

_COUNTED = "Counted from the events of the record."

_COST = "Summed over cost events, one for each attempt. An unknown amount is counted, never zero."


class RunFigures(Section):
    """Figures of worlds, failures and costs, and of what a run was asked for."""

    def __iter__(self) -> Iterator[Figure]:
        yield from self._worlds()
        yield from self._failures()
        yield from self._costs()
        yield from self._run()

    def _worlds(self) -> Iterator[Figure]:
        lines = self.report.worlds
        yield Figure(
            "worlds",
            "Every world: turns taken and failed, reflections, events.",
            _COUNTED,
            tuple(("worlds", n) for n in range(len(lines))),
            tuple(self._of_world(self.all)),
            beside=(STANDS,),
        )
        for place, one in enumerate(lines):
            ids = (one.world_id,)
            yield Figure(
                address("worlds", one.world_id),
                f"World {one.world_id}: scenario {one.scenario}, seed {one.seed}.",
                _COUNTED,
                (("worlds", place),),
                tuple(self._of_world(ids)),
                beside=(STANDS,),
            )
            dropped = OfKinds(("exposure_dropped",))
            yield Figure(
                address("activations", one.world_id),
                f"Who was to be active at exposure ticks of world {one.world_id}, and who was.",
                "Expected: the sum of everybody's chances over closed exposure ticks. Realised: "
                "personas with a turn there that was none of a survey, tick by tick.",
                (("worlds", place, "activation"),),
                (
                    Part("realised", "turns at exposure ticks", Active(), ids),
                    Part("dropped", "what was not shown", dropped, ids),
                    Part("ticks", "closed ticks", OfKinds(("tick_closed",)), ids),
                ),
                beside=(f"{ENTRY}: the scenario's activity", "the registry: the personas"),
            )
        for place, seeds in enumerate(self.report.seeds):
            yield Figure(
                address("seeds", seeds.scenario),
                f"The worlds of scenario {seeds.scenario}: where they stand, how many differ.",
                "Worlds that closed a tick differ if their ticks or their digests do.",
                (("seeds", place),),
                (Part("of", "all events", OfKinds(), self.ids(seeds.scenario)),),
                beside=(STANDS,),
            )

    def _of_world(self, ids: tuple[str, ...]) -> Iterator[Part]:
        yield Part("turns", "turns taken", OfKinds(("turn",)), ids)
        yield Part("failed", "turns that failed", OfKinds(("turn_failed",)), ids)
        reflections = OfKinds(("reflection",), failed=False)
        yield Part("reflections", "reflections", reflections, ids)
        yield Part("rungs", "rungs that took effect", OfKinds(("degraded", "restored")), ids)
        yield Part("ticks", "ticks closed", OfKinds(("tick_closed",)), ids)
        yield Part("events", "all events", OfKinds(), ids)

    def _failures(self) -> Iterator[Figure]:
        kinds = (
            ("turn", "turn, all ticks", ("turn_failed",), ("turn", "turn_failed")),
            ("reflection", "reflection", ("reflection",), ("reflection",)),
            ("call", "call of the world itself", ("answer",), ("answer",)),
        )
        for name, what, failed, every in kinds:
            gaps = [(n, gap) for n, gap in enumerate(self.report.gaps) if gap.what == what]
            of = Part("of", "all of them", OfKinds(every), self.all)
            yield Figure(
                address("failures", name),
                f"Failures: {what}.",
                "Failed ones of all, by cause.",
                tuple(("gaps", n) for n, _ in gaps),
                (Part("counted", "failed", OfKinds(failed, failed=True), self.all), of),
            )
            for cause in dict.fromkeys(gap.cause for _, gap in gaps):
                yield Figure(
                    address("failures", name, cause.replace(": ", ":")),
                    f"Failures: {what}, {cause.replace('_', ' ')}.",
                    "Failed ones of all, by cause.",
                    tuple(("gaps", n) for n, gap in gaps if gap.cause == cause),
                    (
                        Part(
                            "counted",
                            "failed so",
                            OfKinds(failed, failed=True, cause=cause),
                            self.all,
                        ),
                        of,
                    ),
                )

    def _costs(self) -> Iterator[Figure]:
        cost = self.report.cost
        yield Figure(
            "costs",
            "What the run cost in closed ticks.",
            _COST,
            (("cost", "total"),),
            tuple(_costs((), self.all)),
        )
        for key in ("model", "role", "purpose", "source"):
            for place, one in enumerate(getattr(cost, f"by_{key}")):
                yield Figure(
                    address("costs", **{key: one.name or NO_NAME}),
                    f"What the run cost in closed ticks, {key} {one.name or NO_NAME}.",
                    _COST,
                    (("cost", f"by_{key}", place),),
                    tuple(_costs(((key, one.name),), self.all)),
                )
        for place, use in enumerate(self.report.models):
            pick = Spent((("role", use.role),))
            yield Figure(
                address("models", use.role),
                f"Who answered as {use.role}.",
                "Attempts in closed ticks, by the name that answered.",
                (("models", place),),
                (
                    Part("served", "answered", pick._replace(only="served"), self.all),
                    Part("failed", "failed", pick._replace(only="failed"), self.all),
                ),
            )
        rows = {LOST: "lost", ORPHANED: "orphaned", ESTIMATED: "discarded", RESCORED: "rescored"}
        yield Figure(
            "outside",
            "What was called outside closed ticks.",
            "Summed over rows of the run log, and over calls in the call journal.",
            (("cost", "outside"),),
            rows=(*rows.values(), "journal_lost"),
            beside=("the call journal: ticks that are open",),
        )
        for place, part in enumerate(cost.outside.parts):
            row = rows.get(part.kind)
            yield Figure(
                address("outside", part.kind),
                f"What was called outside closed ticks: {part.kind}.",
                "Summed over rows of the run log." if row else "Summed over the call journal.",
                (("cost", "outside", "parts", place),),
                rows=(row,) if row else (),
                beside=() if row else ("the call journal: ticks that are open",),
            )

    def _run(self) -> Iterator[Figure]:
        report = self.report
        for place, scored in enumerate(report.scored_by):
            picked = OfKinds(("score",))
            given = f"the file of scores {scored.scores}" if scored.scores else ENTRY
            yield Figure(
                address("scored", scored.question),
                f"By which anchors answers to {scored.question} were scored: "
                f"{scored.construct}, version {scored.version}, under {scored.model}.",
                "Likeness to each anchor, less the least, as shares; averaged over the sets.",
                (("scored_by", place),),
                (Part("scores", "scores of the record", picked, self.all),),
                beside=(f"{given}: the anchors and the two numbers of the formula",),
            )
        rungs = Part("rungs", "where they took effect", OfKinds(("degraded", "restored")), self.all)
        yield Figure(
            "budget",
            "The budget in force, and the rungs of its ladder that were taken.",
            "As the study asks, or as it was changed since; rungs as the run log has them.",
            (("budget",), ("rungs",)),
            (rungs,),
            rows=("budget_changed", "rung_taken", "rung_lifted"),
            beside=(ENTRY,),
        )
        yield Figure(
            "marks",
            "What the run was forced past.",
            "As the run log has it.",
            (("marks",),),
            rows=("forced", "diverged", "transport_moved"),
        )
        turns = OfKinds(("turn", "turn_failed"))
        yield Figure(
            "comparability",
            "Which worlds can be compared.",
            "Worlds at their end under the same rungs, with like shares of failed turns.",
            (("comparability",),),
            (
                Part("failed", "failed turns", OfKinds(("turn_failed",)), self.all),
                Part("of", "all turns", turns, self.all),
            ),
            beside=(STANDS,),
        )
        if report.population is not None:
            yield Figure(
                "population",
                "How the people were drawn.",
                "Noted when the run was made, before its first event.",
                (("population",),),
                beside=(f"{ENTRY}: the population",),
            )
        yield Figure(
            "weighting",
            "How survey weights are used.",
            "Kish's effective size: the squared sum of the weights over the sum of their squares.",
            (("weighting",),),
            beside=(f"{ENTRY}: the survey weights",),
        )


def _costs(keys: tuple[tuple[str, str], ...], ids: tuple[str, ...]) -> Iterator[Part]:
    yield Part("attempts", "every attempt", Spent(keys), ids)
    for only, says in (
        ("failed", "attempts that got no reply"),
        ("unknown", "attempts whose amount is unknown"),
        ("no_usage", "attempts that report no tokens"),
    ):
        yield Part(only, says, Spent(keys, only), ids)
