"""The figures that come from answers: shares, changes, differences, predictions. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from perdure.analysis.address import address
from perdure.analysis.addressing import (
    ENTRY,
    HELD_OUT,
    Figure,
    Path,
    Section,
)
from perdure.analysis.answers import Tally
from perdure.analysis.change import Change
from perdure.analysis.difference import Difference
from perdure.analysis.evidence import (
    Paired,
    Part,
    Put,
)
from perdure.analysis.figures import MEAN
from perdure.analysis.over_personas import PersonaFigures
from perdure.analysis.questions import ClaimShares, QuestionShares, TickShares

_SHARES = "Shares and means are over the scored answers; each answer that is not is counted."

_SHARE = (
    "What the counted scores add up to, divided by how many scores it is of. An answer adds 1, or "
    "its probability where answers are scored by likeness. Over seeds each world counts once."
)

_MEAN = "The sum of what each score gives (a point of the scale, or the number), by their number."

_RARE = ("unjudged", "unscorable", "failed")

_WORDS = {
    "unjudged": "turns whose answer has no score on record",
    "unscorable": "scores that say why there is none",
    "failed": "turns that failed",
}


class AnswerFigures(Section):
    """Figures of answers, by question."""

    def __iter__(self) -> Iterator[Figure]:
        yield from self._questions()
        yield from self._changes()
        yield from self._differences()
        yield from self._telling()
        yield from self._personas()
        yield from self._predictions()

    def _questions(self) -> Iterator[Figure]:
        for place, question in enumerate(self.report.questions):
            base: Path = ("questions", place)
            rows = list(enumerate(question.ticks))
            by_scenario: dict[str, list[tuple[int, TickShares]]] = {}
            for number, row in rows:
                by_scenario.setdefault(row.scenario, []).append((number, row))
            yield self._answers(base, question.id, rows)
            for scenario, mine in by_scenario.items():
                yield self._answers(base, question.id, mine, scenario)
            for number, row in rows:
                one = [(number, row)]
                yield self._answers(base, question.id, one, row.scenario, row.tick)
                at = (*base, "ticks", number)
                where = (question.id, row.scenario, row.tick)
                put = Put(question.id, "scored", (row.tick,))
                yield from self._choices(("answers", *where), at, question, row, put)
            for number, claim in enumerate(question.by_claim):
                at = (*base, "by_claim", number)
                put = Put(question.id, "scored", claim=claim.claim, waves=False)
                ids = self.ids(claim.scenario)
                yield Figure(
                    address("claims", question.id, claim.scenario, claim.claim),
                    f"Answers to {question.id} that were put with claim {claim.claim}: scenario "
                    f"{claim.scenario}, all ticks but those of waves.",
                    _SHARES,
                    (at,),
                    tuple(_outcomes(put, claim.answers, ids)),
                )
                where3 = ("claims", question.id, claim.scenario, claim.claim)
                yield from self._choices(where3, at, question, claim, put)

    def _answers(
        self,
        base: Path,
        question: str,
        rows: Sequence[tuple[int, TickShares]],
        scenario: str = "",
        tick: int = -1,
    ) -> Figure:
        """Give the answers of some rows: of all, of a scenario, or of one of its ticks."""
        keys = [one for one in (scenario, tick) if one not in {"", -1}]
        where = f"scenario {scenario}" if scenario else "all scenarios"
        when = "all ticks" if tick < 0 else f"tick {tick}"
        ids = self.ids(scenario) if scenario else self.all
        put = Put(question, "scored", () if tick < 0 else (tick,))
        came = {name for name in _RARE if any(getattr(row.answers, name) for _, row in rows)}
        at: tuple[Path, ...] = tuple((*base, "ticks", number) for number, _ in rows)
        return Figure(
            address("answers", question, *keys),
            f"Answers to {question}: {where}, {when}.",
            _SHARES,
            at if keys else (base, *at),
            tuple(_parts(put, came, ids)),
        )

    def _choices(
        self,
        where: tuple[object, ...],
        at: Path,
        question: QuestionShares,
        row: TickShares | ClaimShares,
        put: Put,
    ) -> Iterator[Figure]:
        """Give each choice of a row of answers, and its mean if it has one."""
        shares = {one.choice: n for n, one in enumerate(row.shares)}
        seeds = range(len(row.by_seed))
        ids = self.ids(row.scenario)
        for name in row.between.spreads:
            value: Path = (*at, "mean") if name == MEAN else (*at, "shares", shares[name])
            places = (
                value,
                (*at, "between", "spreads", name),
                *((*at, "by_seed", seed, "shares", name) for seed in seeds),
            )
            label = question.choices.get(name, name)
            yield Figure(
                address(*where, _word(name, question.choices)),
                f"{'Mean' if name == MEAN else f'Share of {label}'} among the scored answers: "
                f"{address(*where)}.",
                _MEAN if name == MEAN else _SHARE,
                places,
                (
                    Part(
                        "counted",
                        "scores that add to it",
                        put._replace(value=name),
                        ids,
                    ),
                    Part("of", "all scores that it is of", put, ids),
                ),
            )

    def _changes(self) -> Iterator[Figure]:
        for place, one in enumerate(self.report.changes):
            at: Path = ("changes", place)
            ids = self.ids(one.scenario)
            same = tuple((name, name) for name in ids)
            first = Paired(one.question, one.first, one.last, same)
            last = Paired(one.question, one.last, one.first, same)
            words = f"tick {one.first} to {one.last}, scenario {one.scenario}"
            yield from self._moves(
                ("changes", one.question, one.scenario),
                at,
                f"Change of the answers to {one.question}, {words}.",
                one,
                (first, f"at tick {one.first}", ids),
                (last, f"at tick {one.last}", ids),
            )

    def _differences(self) -> Iterator[Figure]:
        for place, one in enumerate(self.report.differences):
            at: Path = ("differences", place)
            pairs = self.partners(one.scenario, one.reference)
            back = tuple((other, mine) for mine, other in pairs)
            yield from self._moves(
                ("differences", one.question, one.scenario, one.tick),
                at,
                f"Difference of the answers to {one.question} at tick {one.tick}: under "
                f"{one.scenario} and under {one.reference}.",
                one,
                (
                    Paired(one.question, one.tick, one.tick, back),
                    f"under {one.reference}",
                    tuple(other for _, other in pairs),
                ),
                (
                    Paired(one.question, one.tick, one.tick, pairs),
                    f"under {one.scenario}",
                    tuple(mine for mine, _ in pairs),
                ),
            )

    def _moves(
        self,
        keys: tuple[object, ...],
        at: Path,
        says: str,
        moved: Change | Difference,
        *sides: tuple[Paired, str, tuple[str, ...]],
    ) -> Iterator[Figure]:
        """Give what moved between two sides: as a whole, and by choice."""
        note = self.report.notes["change" if keys[0] == "changes" else "difference"]
        (first, where, ids), (last, there, others) = sides
        yield Figure(
            address(*keys),
            says,
            note,
            (at,),
            (
                Part("first", f"scores {where}, of who was scored at both", first, ids),
                Part("last", f"scores {there}, of who was scored at both", last, others),
                Part(
                    "moved",
                    f"scores {there}, of those who answered otherwise",
                    last._replace(which="moved"),
                    others,
                ),
                *(
                    Part(
                        f"left out {side}",
                        f"turns or scores {words}, of who was not scored at both",
                        pick._replace(which="left_out"),
                        worlds,
                    )
                    for (pick, words, worlds), side in zip(sides, ("first", "last"), strict=True)
                ),
            ),
        )
        names = self.labels(moved.question)
        choices = moved.choices if isinstance(moved, Change) else ()
        for name in moved.between.spreads:
            extra = [n for n, one in enumerate(choices) if one.choice == name]
            yield Figure(
                address(*keys, _word(name, names)),
                f"{says[:-1]}: {names.get(name, name)}.",
                note,
                (
                    (*at, "between", "spreads", name),
                    *((*at, "choices", n) for n in extra),
                    *(
                        (*at, "seeds", n, "change", name)
                        for n, one in enumerate(moved.seeds)
                        if name in one.change
                    ),
                ),
                (
                    Part(
                        "first", f"scores that add to it {where}", first._replace(value=name), ids
                    ),
                    Part(
                        "last", f"scores that add to it {there}", last._replace(value=name), others
                    ),
                    Part("of first", f"all scores {where} that it is of", first, ids),
                    Part("of last", f"all scores {there} that it is of", last, others),
                ),
            )

    def _telling(self) -> Iterator[Figure]:
        found = self.report.telling
        parts: list[Part] = []
        for number, one in enumerate(found.compared):
            mine: tuple[Part, ...] = ()
            if one.paired:
                pairs = self.partners(one.scenario, one.reference)
                back = tuple((other, mine) for mine, other in pairs)
                mine = (
                    Part(
                        "first",
                        f"scores under {one.reference}",
                        Paired(one.question, one.tick, one.tick, back),
                        tuple(other for _, other in pairs),
                    ),
                    Part(
                        "last",
                        f"scores under {one.scenario}",
                        Paired(one.question, one.tick, one.tick, pairs),
                        tuple(own for own, _ in pairs),
                    ),
                )
            else:
                mine = tuple(
                    Part(
                        name,
                        f"scores under {scenario}",
                        Put(one.question, "scored", (tick,)),
                        self.ids(scenario),
                    )
                    for name, scenario, tick in (
                        ("first", one.reference, self._last_wave(one.question, one.reference)),
                        ("last", one.scenario, one.tick),
                    )
                )
            parts.extend(mine)
            labels = self.labels(one.question)
            key = _word(one.choice, labels)
            yield Figure(
                address("telling", one.question, one.scenario, one.reference, key),
                f"Whether {one.scenario} and {one.reference} can be told apart at tick {one.tick} "
                f"by {one.question}, {labels.get(one.choice, one.choice)}.",
                self.report.notes["telling"],
                (("telling", "compared", number),),
                mine,
            )
        yield Figure(
            "telling",
            "Whether the study can tell its scenarios apart.",
            self.report.notes["telling"],
            (("telling",),),
            tuple(dict.fromkeys(parts)),
        )

    def _last_wave(self, question: str, scenario: str) -> int:
        return max(
            row.tick
            for one in self.report.questions
            for row in one.ticks
            if one.id == question and row.wave and row.scenario == scenario
        )

    def _personas(self) -> Iterator[Figure]:
        weighed = self.report.weighting.applied
        beside = (f"{ENTRY}, with the survey weight of each persona",) if weighed else ()
        for place, one in enumerate(self.report.over_personas):
            at: Path = ("over_personas", place)
            labels = self.labels(one.question)
            against = {"against": one.reference} if one.reference else {}
            than = f" less that under {one.reference}" if one.reference else ""
            sides = tuple(self._over(one))
            for name in ("", *one.figures):
                places: tuple[Path, ...] = (at,)
                parts = [Part(part, says, pick, ids) for part, says, pick, ids in sides]
                if name:
                    heavy = [(*at, "weighted", "figures", name)] if one.weighted else []
                    places = ((*at, "figures", name), *heavy)
                    parts[:0] = [
                        Part(
                            part.replace("of", "counted"),
                            f"{says}, that add to it",
                            pick._replace(value=name),
                            ids,
                        )
                        for part, says, pick, ids in sides
                    ]
                keys = (one.question, one.scenario, one.tick)
                yield Figure(
                    address("personas", *keys, *_words(name, labels), **against),
                    f"{labels.get(name, name) or 'Every figure'} of {one.question} over personas: "
                    f"scenario {one.scenario}, tick {one.tick}{than}.",
                    self.report.notes["over_personas"],
                    places,
                    tuple(parts),
                    beside=beside,
                )

    def _over(
        self, one: PersonaFigures
    ) -> Iterator[tuple[str, str, Put | Paired, tuple[str, ...]]]:
        """Give the sides of a figure over personas: one, or two where it is a difference."""
        ids = tuple(name for name in one.world_ids if name in self.ids(one.scenario))
        if not one.reference:
            pick = Put(one.question, "scored", (one.tick,))
            yield "of", f"scores under {one.scenario}", pick, ids
            return
        pairs = self.partners(one.scenario, one.reference)
        back = tuple((other, mine) for mine, other in pairs)
        others = tuple(other for mine, other in pairs if mine in ids)
        for name, scenario, pairing, worlds in (
            ("of", one.scenario, pairs, ids),
            ("of other", one.reference, back, others),
        ):
            says = f"scores under {scenario}, of who was scored under both"
            yield name, says, Paired(one.question, one.tick, one.tick, pairing), worlds

    def _predictions(self) -> Iterator[Figure]:
        outcome = self.report.outcome
        if outcome is None:
            return
        yield Figure(
            "outcome",
            f"For how many personas the outcome {outcome.name} is known.",
            "Personas, and those of them with a held-out value.",
            (("outcome",),),
            beside=(HELD_OUT,),
        )
        question = outcome.question_id
        how = " ".join(self.report.notes[name] for name in ("brier", "log_loss", "yardstick"))
        for place, one in enumerate(self.report.predictions):
            at: Path = ("predictions", place)
            keys = ("predictions", one.scenario, one.tick)
            scored = Put(question, "scored", (one.tick,))
            known = Part(
                "compared",
                "scores of personas with a known real value",
                scored._replace(known=True),
                one.world_ids,
            )
            right = Part(
                "right",
                "of these, scores that are what is real (of a likeness: add to it)",
                Put(question, "right", (one.tick,), known=True),
                one.world_ids,
            )
            yield Figure(
                address(*keys),
                f"Predicted {outcome.name} beside the real one: scenario {one.scenario}, tick "
                f"{one.tick}.",
                how,
                (at,),
                (right, known, *_outcomes(scored, one.overall.answers, one.world_ids)),
                beside=(HELD_OUT,),
            )
            for number, share in enumerate(one.overall.predicted):
                label = outcome.choices.get(share.choice, share.choice)
                yield Figure(
                    address(*keys, share.choice),
                    f"Share of {label}, predicted and real: scenario {one.scenario}, tick "
                    f"{one.tick}.",
                    _SHARE,
                    (
                        (*at, "overall", "predicted", number),
                        (*at, "overall", "real", number),
                        *(
                            (*at, "groups", group, side, number)
                            for group in range(len(one.groups))
                            for side in ("predicted", "real")
                        ),
                    ),
                    (
                        Part(
                            "counted",
                            "scores that add to it",
                            scored._replace(value=share.choice),
                            one.world_ids,
                        ),
                        Part("of", "all scores that it is of", scored, one.world_ids),
                    ),
                    beside=(HELD_OUT,),
                )
        found = self.report.beside
        for number, fit in enumerate(found.rows if found else ()):
            yield Figure(
                address("beside", fit.scenario, fit.tick),
                f"This run beside another: scenario {fit.scenario}, tick {fit.tick}.",
                how,
                (("beside", "rows", number),),
                (
                    Part(
                        "compared",
                        "scores of personas with a known real value, here",
                        Put(question, "scored", (fit.tick,), known=True),
                        fit.world_ids,
                    ),
                ),
                beside=(
                    HELD_OUT,
                    f"the other run: {address('answers', question, fit.scenario, fit.tick)}",
                ),
            )


def _word(name: str, choices: Collection[str]) -> str:
    """Name a figure in an address: a choice by its id, the mean by its word."""
    return "mean" if name == MEAN and "mean" not in choices else name


def _words(name: str, choices: Collection[str]) -> Sequence[str]:
    return [_word(name, choices)] if name else []


def _outcomes(put: Put, answers: Tally, ids: tuple[str, ...]) -> Iterator[Part]:
    """Give the answers to a question by what became of them; what is rare only where it is."""
    came = {name for name in _RARE if getattr(answers, name)}
    return _parts(put, came, ids)


def _parts(put: Put, came: Collection[str], ids: tuple[str, ...]) -> Iterator[Part]:
    yield Part("asked", "turns, taken or failed", put._replace(came="asked"), ids)
    yield Part("scored", "scores", put, ids)
    for name in _RARE:
        if name in came:
            yield Part(name, _WORDS[name], put._replace(came=name), ids)
