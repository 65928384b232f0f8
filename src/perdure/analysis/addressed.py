"""Every figure of a report by its address: where in the report it is, and what it rests on. Pure.

The addresses together cover every number of a report. What a figure rests on is told as parts, each
a pick of events; what does not come from events names the row or entry that it comes from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from perdure.analysis.address import address
from perdure.analysis.anomalies import (
    BACKLASH,
    DRIFT,
    FAILURES,
    HERDING,
    IDENTICAL,
    ONE_ANSWER,
    SATURATION,
    TRAIL,
    Anomaly,
)
from perdure.analysis.answers import Tally
from perdure.analysis.change import Change
from perdure.analysis.channels import ChannelFigures
from perdure.analysis.difference import Difference
from perdure.analysis.evidence import (
    Active,
    Clustered,
    Held,
    OfKinds,
    OnChannel,
    Paired,
    Part,
    Pick,
    Probes,
    Put,
    SameWords,
    Spent,
)
from perdure.analysis.figures import MEAN
from perdure.analysis.outside import ESTIMATED, LOST, ORPHANED
from perdure.analysis.over_personas import PersonaFigures
from perdure.analysis.polarization import BELIEF
from perdure.analysis.questions import ClaimShares, QuestionShares, TickShares
from perdure.analysis.report import Report, WorldLine
from perdure.analysis.unmeasured import Gap
from perdure.analysis.verbatims import REST, WORDLESS
from perdure.records.outcome import UnscorableCause

Path: TypeAlias = tuple[str | int, ...]

_STANDS = "the registry: where each world stands"
_HELD_OUT = "the registry: the held-out values of the personas"
_ENTRY = "the registry: the run as asked"
_LOG = "the run log"
_SIDES = ("believing", "doubting", "unsure")


class Figure(NamedTuple):
    """A figure of a report.

    `says` tells in words what it is, `how` how it comes out of what it rests on. `at` are its
    places in the report, the first being that of its row. `rows` names kinds of rows of the run log
    that it comes from, `beside` what else it comes from that is no event.
    """

    address: str
    says: str
    how: str
    at: tuple[Path, ...]
    parts: tuple[Part, ...] = ()
    rows: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


def figures(report: Report) -> Iterator[Figure]:
    """Give every figure of a report."""
    return iter(_Addressed(report))


class _Addressed:
    """A report whose figures get their addresses, section by section."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.worlds: dict[str, list[WorldLine]] = {}
        for world in report.worlds:
            self.worlds.setdefault(world.scenario, []).append(world)
        self.all = tuple(world.world_id for world in report.worlds)

    def __iter__(self) -> Iterator[Figure]:
        known: dict[str, Figure] = {}
        for one in self._sections():
            known[one.address] = one
            yield one
        yield from self._gaps(known)

    def _sections(self) -> Iterator[Figure]:
        yield from self._questions()
        yield from self._changes()
        yield from self._differences()
        yield from self._telling()
        yield from self._personas()
        yield from self._predictions()
        yield from self._beliefs()
        yield from self._polarization()
        for place, channel in enumerate(self.report.channels):
            yield from self._channel(("channels", place), channel)
        yield from self._verbatims()
        yield from self._anomalies()
        yield from self._worlds()
        yield from self._failures()
        yield from self._costs()
        yield from self._run()

    def ids(self, scenario: str) -> tuple[str, ...]:
        """Name the worlds of a scenario."""
        return tuple(one.world_id for one in self.worlds.get(scenario, ()))

    def ended(self, scenario: str) -> tuple[str, ...]:
        """Name the worlds of a scenario that closed its last tick."""
        mine = self.worlds.get(scenario, ())
        last = max((one.horizon for one in mine), default=0) - 1
        return tuple(one.world_id for one in mine if one.tick == last)

    def partners(self, scenario: str, reference: str) -> tuple[tuple[str, str], ...]:
        """Pair each world of a scenario with the reference's of the same seed."""
        theirs = {one.seed: one.world_id for one in self.worlds.get(reference, ())}
        return tuple(
            (one.world_id, theirs[one.seed])
            for one in self.worlds.get(scenario, ())
            if one.seed in theirs
        )

    def _questions(self) -> Iterator[Figure]:
        for place, question in enumerate(self.report.questions):
            base: Path = ("questions", place)
            yield self._answers(base, question, "", -1)
            for scenario in dict.fromkeys(row.scenario for row in question.ticks):
                yield self._answers(base, question, scenario, -1)
            for number, row in enumerate(question.ticks):
                yield self._answers(base, question, row.scenario, row.tick)
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

    def _answers(self, base: Path, question: QuestionShares, scenario: str, tick: int) -> Figure:
        rows = [
            (number, row)
            for number, row in enumerate(question.ticks)
            if scenario in {"", row.scenario} and tick in {-1, row.tick}
        ]
        ids = self.ids(scenario) if scenario else self.all
        put = Put(question.id, "scored", () if tick < 0 else (tick,))
        keys = [one for one in (scenario, tick) if one not in {"", -1}]
        where = f"scenario {scenario}" if scenario else "all scenarios"
        when = "all ticks" if tick < 0 else f"tick {tick}"
        tallies = [row.answers for _, row in rows]
        came = {name for name in _RARE if any(getattr(one, name) for one in tallies)}
        at = tuple((*base, "ticks", number) for number, _ in rows)
        return Figure(
            address("answers", question.id, *keys),
            f"Answers to {question.id}: {where}, {when}.",
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
        names = self._labels(moved.question)
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

    def _labels(self, question: str) -> Mapping[str, str]:
        return next((one.choices for one in self.report.questions if one.id == question), {})

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
            labels = self._labels(one.question)
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
        beside = (f"{_ENTRY}, with the survey weight of each persona",) if weighed else ()
        for place, one in enumerate(self.report.over_personas):
            at: Path = ("over_personas", place)
            labels = self._labels(one.question)
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
            beside=(_HELD_OUT,),
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
                beside=(_HELD_OUT,),
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
                    beside=(_HELD_OUT,),
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
                    _HELD_OUT,
                    f"the other run: {address('answers', question, fit.scenario, fit.tick)}",
                ),
            )

    def _beliefs(self) -> Iterator[Figure]:
        for place, path in enumerate(self.report.opinions):
            for number, one in enumerate(path.at):
                at: Path = ("opinions", place, "at", number)
                ids = tuple(seed.world_id for seed in one.by_seed)
                keys = ("beliefs", path.claim, path.scenario, one.tick)
                words = f"scenario {path.scenario}, end of tick {one.tick}"
                met = Part("met", "what each holds it from", Held(path.claim, one.tick), ids)
                sides = [
                    Part(
                        side,
                        f"of these, of who is {side}",
                        Held(path.claim, one.tick, side),
                        ids,
                    )
                    for side in _SIDES
                ]
                yield Figure(
                    address(*keys),
                    f"Belief in claim {path.claim}: {words}.",
                    self.report.notes["opinions"],
                    (at, ("opinions", place, "personas")),
                    (met, *sides),
                )
                for side in sides:
                    names = (side.name, f"{side.name}_of_all")
                    yield Figure(
                        address(*keys, side.name),
                        f"Share of who is {side.name} about claim {path.claim}: {words}.",
                        self.report.notes["opinions"],
                        tuple(
                            (*at, "shares", "spreads", name)
                            for name in names
                            if name in one.shares.spreads
                        ),
                        (Part("counted", side.says, side.pick, ids), met._replace(name="of")),
                    )

    def _polarization(self) -> Iterator[Figure]:
        for place, found in enumerate(self.report.polarization):
            for number, one in enumerate(found.at):
                ids = tuple(seed.world_id for seed in one.by_seed)
                pick: Pick
                if found.about == BELIEF:
                    pick, what = Held(found.name, one.tick), "what each holds it from"
                else:
                    pick, what = Put(found.name, "scored", (one.tick,)), "scores"
                yield Figure(
                    address("polarization", found.about, found.name, found.scenario, one.tick),
                    f"How far communities part over {found.name} ({found.about}): scenario "
                    f"{found.scenario}, tick {one.tick}.",
                    self.report.notes["polarization"],
                    (("polarization", place, "at", number),),
                    (Part("of", what, pick, ids),),
                    beside=("the registry: the communities of the graph",),
                )

    def _channel(self, at: Path, found: ChannelFigures) -> Iterator[Figure]:
        name = found.channel
        keys = ("channels", name, found.scenario)
        words = f"channel {name}, scenario {found.scenario}"
        ids, ended = self.ids(found.scenario), self.ended(found.scenario)
        how = self.report.notes["channels"]
        shown = Part("shown", "turns in which something was shown", OnChannel(name, "shown"), ids)
        places = [("worlds", n) for n in range(len(found.worlds))]

        def seen(*key: str) -> tuple[Path, ...]:
            return tuple(
                (*at, *place, "seen", *key)
                for place in places
                if _has(self.report, (*at, *place, "seen", *key))
            )

        yield Figure(
            address(*keys),
            f"What was shown and done: {words}.",
            how,
            (at,),
            (
                Part("turns", "turns on it", OnChannel(name, "turns"), ids),
                shown,
                Part("failed", "turns that failed", OnChannel(name, "failed"), ids),
                Part("dropped", "what was not shown", OnChannel(name, "dropped"), ids),
            ),
        )
        whats = {"turns": "turns", "told": "told", "first_hand": "first_hand"}
        for figure in found.figures:
            own = seen(figure) if figure != "exposures" else seen("by_tick")
            pick = OnChannel(name, whats.get(figure, "shown"))
            yield Figure(
                address(*keys, figure),
                f"{figure.replace('_', ' ').capitalize()}: {words}.",
                how,
                ((*at, "figures", figure), *own),
                (Part("of", "turns that it is counted in", pick, ended),),
            )
        for number, tick in enumerate(found.by_tick):
            closed = tuple(
                one.world_id for one in self.worlds.get(found.scenario, ()) if one.tick >= tick.tick
            )
            yield Figure(
                address(*keys, f"tick-{tick.tick}"),
                f"Exposures at tick {tick.tick}: {words}.",
                how,
                ((*at, "by_tick", number), *seen("by_tick", str(tick.tick))),
                (
                    Part(
                        "of",
                        "turns in which something was shown",
                        OnChannel(name, "shown", tick=tick.tick),
                        closed,
                    ),
                ),
            )
        for claim in found.claims:
            yield Figure(
                address(*keys, f"reach-{claim}"),
                f"Share of all personas whom claim {claim} reached: {words}.",
                how,
                ((*at, "claims", claim), *seen("claims", claim)),
                (
                    Part(
                        "of",
                        "turns in which it was shown",
                        OnChannel(name, "shown", claim=claim),
                        ended,
                    ),
                ),
            )
        for field, what in (("actions", "did"), ("rejected", "rejected"), ("dropped", "dropped")):
            for key in getattr(found, field):
                inside = tuple(key.split(": ")) if field == "rejected" else (key,)
                yield Figure(
                    address(*keys, f"{what}-{key.replace(': ', ':')}"),
                    f"How often {what}: {key.replace('_', ' ')}, {words}.",
                    how,
                    ((*at, field, key), *seen(field, *inside)),
                    (Part("of", "each one", OnChannel(name, what, key), ended),),
                )
        for n, world in enumerate(found.worlds):
            for number, message in enumerate(world.seen.most_shown):
                one = (world.world_id,)
                yield Figure(
                    address(*keys, f"message-{world.world_id}:{message.event}"),
                    f"How far message {message.stimulus} of world {world.world_id} came: {words}.",
                    how,
                    ((*at, "worlds", n, "seen", "most_shown", number),),
                    (
                        Part(
                            "published",
                            "its publication",
                            OnChannel(name, "published", stimulus=message.stimulus),
                            one,
                        ),
                        Part(
                            "of",
                            "turns in which it was shown",
                            OnChannel(name, "shown", stimulus=message.stimulus),
                            one,
                        ),
                    ),
                )

    def _verbatims(self) -> Iterator[Figure]:
        how = self.report.notes["verbatims"]
        for place, one in enumerate(self.report.verbatims):
            at: Path = ("verbatims", place)
            ids = self.ids(one.scenario)
            answers = Part("of", "all answers", Put(one.question, "taken"), ids)
            yield Figure(
                address("verbatims", one.question, one.scenario),
                f"What was said to {one.question} in scenario {one.scenario}.",
                how,
                (at,),
                (
                    answers,
                    Part("rest", "sampled, in no cluster", Clustered(one.question, REST), ids),
                    Part(
                        "wordless",
                        "sampled, without a word",
                        Clustered(one.question, WORDLESS),
                        ids,
                    ),
                ),
            )
            for number in range(len(one.clusters)):
                yield Figure(
                    address("verbatims", one.question, one.scenario, number),
                    f"Cluster {number} of what was said to {one.question} in scenario "
                    f"{one.scenario}: {', '.join(one.clusters[number].words)}.",
                    how,
                    ((*at, "clusters", number),),
                    (
                        Part("counted", "its answers", Clustered(one.question, number), ids),
                        answers,
                    ),
                )

    def _anomalies(self) -> Iterator[Figure]:
        found = self.report.anomalies
        for place, rule in enumerate(found.rules):
            mine = [(n, one) for n, one in enumerate(found.found) if one.rule == rule.name]
            parts = tuple(part for _, one in mine for part in self._anomaly(one))
            yield Figure(
                address("anomalies", rule.name),
                f"The rule {rule.name.replace('_', ' ')}: how often it was asked, and held.",
                f"{rule.asks} ({rule.threshold:g})",
                (("anomalies", "rules", place),),
                tuple(dict.fromkeys(parts)),
            )
            for number, (n, one) in enumerate(mine):
                about = f", {one.about}" if one.about else ""
                when = f", tick {one.tick}" if one.tick >= 0 else ""
                yield Figure(
                    address("anomalies", rule.name, number),
                    f"{rule.name.replace('_', ' ').capitalize()} in scenario {one.scenario}"
                    f"{about}{when}.",
                    f"{rule.asks} ({rule.threshold:g})",
                    (("anomalies", "found", n),),
                    tuple(self._anomaly(one)),
                )

    def _anomaly(self, one: Anomaly) -> Iterator[Part]:
        ids = one.world_ids
        if one.rule in {HERDING, BACKLASH, SATURATION}:
            yield Part("at", "what each holds it from", Held(one.about, one.tick), ids)
            if one.rule == HERDING:
                before = Held(one.about, one.tick - TRAIL)
                yield Part("before", f"the same {TRAIL} ticks before", before, ids)
        elif one.rule == ONE_ANSWER:
            like = int(one.events[0].rpartition(":")[2])
            same = SameWords(one.about, one.tick, like)
            yield Part("counted", "turns with the same words", same, ids)
            yield Part("of", "all turns", Put(one.about, "taken", (one.tick,)), ids)
        elif one.rule == IDENTICAL:
            yield Part("of", "all events", OfKinds(), ids)
        elif one.rule == DRIFT:
            mine = self.ids(one.scenario)
            last = max(world.horizon for world in self.worlds[one.scenario])
            for name, first, end in (("early", 0, one.tick - 1), ("late", one.tick, last)):
                wrong, words = Probes(first, end, wrong=True), f"{name} scored probes"
                yield Part(f"{name} wrong", f"{words} that are not what is known", wrong, mine)
                yield Part(name, words, Probes(first, end), mine)
        elif one.rule == FAILURES:
            turns = ("turn", "turn_failed")
            failed = OfKinds(("turn_failed",), (one.tick,))
            yield Part("counted", "failed turns of the tick", failed, ids)
            yield Part("of", "all turns of the tick", OfKinds(turns, (one.tick,)), ids)
            yield Part("run failed", "failed turns of the run", OfKinds(turns[1:]), self.all)
            yield Part("run", "all turns of the run", OfKinds(turns), self.all)

    def _worlds(self) -> Iterator[Figure]:
        lines = self.report.worlds
        yield Figure(
            "worlds",
            "Every world: turns taken and failed, reflections, events.",
            _COUNTED,
            tuple(("worlds", n) for n in range(len(lines))),
            tuple(self._of_world(self.all)),
            beside=(_STANDS,),
        )
        for place, one in enumerate(lines):
            ids = (one.world_id,)
            yield Figure(
                address("worlds", one.world_id),
                f"World {one.world_id}: scenario {one.scenario}, seed {one.seed}.",
                _COUNTED,
                (("worlds", place),),
                tuple(self._of_world(ids)),
                beside=(_STANDS,),
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
                beside=(f"{_ENTRY}: the scenario's activity", "the registry: the personas"),
            )
        for place, seeds in enumerate(self.report.seeds):
            yield Figure(
                address("seeds", seeds.scenario),
                f"The worlds of scenario {seeds.scenario}: where they stand, how many differ.",
                "Worlds that closed a tick differ if their ticks or their digests do.",
                (("seeds", place),),
                (Part("of", "all events", OfKinds(), self.ids(seeds.scenario)),),
                beside=(_STANDS,),
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
        rows = {LOST: "lost", ORPHANED: "orphaned", ESTIMATED: "discarded"}
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
        rungs = Part("rungs", "where they took effect", OfKinds(("degraded", "restored")), self.all)
        yield Figure(
            "budget",
            "The budget in force, and the rungs of its ladder that were taken.",
            "As the study asks, or as it was changed since; rungs as the run log has them.",
            (("budget",), ("rungs",)),
            (rungs,),
            rows=("budget_changed", "rung_taken", "rung_lifted"),
            beside=(_ENTRY,),
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
            beside=(_STANDS,),
        )
        if report.population is not None:
            yield Figure(
                "population",
                "How the people were drawn.",
                "Noted when the run was made, before its first event.",
                (("population",),),
                beside=(f"{_ENTRY}: the population",),
            )
        yield Figure(
            "weighting",
            "How survey weights are used.",
            "Kish's effective size: the squared sum of the weights over the sum of their squares.",
            (("weighting",),),
            beside=(f"{_ENTRY}: the survey weights",),
        )

    def _gaps(self, known: Mapping[str, Figure]) -> Iterator[Figure]:
        for place, gap in enumerate(self.report.gaps):
            found = known.get(gap.figure)
            parts = found.parts if found else ()
            yield Figure(
                address("gaps", place),
                f"Not measured: {gap.what}, {gap.why}.",
                f"Counted where it is missing, which is {gap.figure}."
                if found
                else "There is nothing to count.",
                (("gaps", place),),
                tuple(_missing(parts, gap)) if gap.cause else parts,
                found.rows if found else (),
                found.beside if found else (_ENTRY,),
            )


NO_NAME = "(none)"
_COUNTED = "Counted from the events of the record."
_SHARES = "Shares and means are over the scored answers; each answer that is not is counted."
_SHARE = (
    "What the counted scores add up to, divided by how many scores it is of. An answer adds 1, or "
    "its probability where answers are scored by likeness."
)
_MEAN = "The sum of what each score gives (a point of the scale, or the number), by their number."
_COST = "Summed over cost events, one for each attempt. An unknown amount is counted, never zero."


def _word(name: str, choices: Collection[str]) -> str:
    """Name a figure in an address: a choice by its id, the mean by its word."""
    return "mean" if name == MEAN and "mean" not in choices else name


def _words(name: str, choices: Collection[str]) -> Sequence[str]:
    return [_word(name, choices)] if name else []


def _outcomes(put: Put, answers: Tally, ids: tuple[str, ...]) -> Iterator[Part]:
    """Give the answers to a question by what became of them; what is rare only where it is."""
    came = {name for name in _RARE if getattr(answers, name)}
    return _parts(put, came, ids)


_RARE = ("unjudged", "unscorable", "failed")
_WORDS = {
    "unjudged": "turns whose answer has no score on record",
    "unscorable": "scores that say why there is none",
    "failed": "turns that failed",
}


def _parts(put: Put, came: Collection[str], ids: tuple[str, ...]) -> Iterator[Part]:
    yield Part("asked", "turns, taken or failed", put._replace(came="asked"), ids)
    yield Part("scored", "scores", put, ids)
    for name in _RARE:
        if name in came:
            yield Part(name, _WORDS[name], put._replace(came=name), ids)


def _missing(parts: Iterable[Part], gap: Gap) -> Iterator[Part]:
    """Keep what is missing of what a figure rests on, and all that it is missing of."""
    named = "unscorable" if gap.cause in set(UnscorableCause) else "failed"
    for part in parts:
        pick = part.pick
        if isinstance(pick, Put) and gap.figure.count("/") == 1:
            pick = pick._replace(waves=False)
        if part.name in {"asked", "of", "attempts"}:
            yield part._replace(pick=pick)
        elif part.name == gap.cause or (part.name == "counted" and "failures/" in gap.figure):
            yield part
        elif isinstance(pick, Put) and part.name == named:
            yield part._replace(pick=pick._replace(cause=gap.cause))


def _costs(keys: tuple[tuple[str, str], ...], ids: tuple[str, ...]) -> Iterator[Part]:
    yield Part("attempts", "every attempt", Spent(keys), ids)
    for only, says in (
        ("failed", "attempts that got no reply"),
        ("unknown", "attempts whose amount is unknown"),
        ("no_usage", "attempts that report no tokens"),
    ):
        yield Part(only, says, Spent(keys, only), ids)


def value_at(report: Report, path: Path) -> object:
    """Give what stands at a place in a report.

    Raises:
        LookupError: there is no such place.

    """
    found: object = report
    for key in path:
        if isinstance(found, Mapping):
            found = found[str(key)]
        elif isinstance(key, int) and isinstance(found, Sequence):
            found = found[key]
        else:
            try:
                found = getattr(found, str(key))
            except AttributeError as error:
                raise LookupError(path) from error
    return found


def _has(report: Report, path: Path) -> bool:
    try:
        value_at(report, path)
    except LookupError:
        return False
    return True
