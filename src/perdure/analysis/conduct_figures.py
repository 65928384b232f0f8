"""The figures of what people did and believed: beliefs, channels, tools, words. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.analysis.address import address
from perdure.analysis.addressing import (
    Figure,
    Path,
    Section,
    has_value,
)
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
from perdure.analysis.channels import ChannelFigures
from perdure.analysis.evidence import (
    Clustered,
    Held,
    OfKinds,
    OnChannel,
    Part,
    Pick,
    Probes,
    Put,
    SameWords,
)
from perdure.analysis.polarization import BELIEF
from perdure.analysis.tool_use import (
    ANSWERED,
    ASKED,
    CALLS,
    EFFECT,
    ENDED,
    HAD,
    NAMELESS,
    TURNS_USED,
    USED,
    OnTool,
    Outcomes,
    ToolFigures,
    ToolUse,
)
from perdure.analysis.verbatims import REST, WORDLESS

_OVER_TURNS = {
    TURNS_USED: "The share of turns that used",
    CALLS: "Calls per turn of",
}
_SIDES = ("believing", "doubting", "unsure")


class ConductFigures(Section):
    """Figures of beliefs, channels, tools, words, and of the rules that look for anomalies."""

    def __iter__(self) -> Iterator[Figure]:
        yield from self._beliefs()
        yield from self._polarization()
        for place, channel in enumerate(self.report.channels):
            yield from self._channel(("channels", place), channel)
        for place, use in enumerate(self.report.tools):
            yield from self._tools(("tools", place), use)
        yield from self._verbatims()
        yield from self._anomalies()

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
                if has_value(self.report, (*at, *place, "seen", *key))
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

    def _tools(self, at: Path, use: ToolUse) -> Iterator[Figure]:
        how, ids = self.report.notes["tools"], self.ids(use.scenario)
        words = f"scenario {use.scenario}"
        turns = Part("of", "turns of an agent with tools", OnTool(HAD), ids)
        yield Figure(
            address("tools", use.scenario),
            f"What was asked of tools: {words}.",
            how,
            (at,),
            (
                turns._replace(name="turns"),
                Part("asked", "calls that were asked for", OnTool(ASKED), ids),
                Part("nameless", "those of no tool that there was", OnTool(NAMELESS), ids),
            ),
        )
        yield Figure(
            address("endings", use.scenario),
            f"How turns of an agent with tools ended: {words}.",
            how,
            ((*at, "endings"),),
            (turns, Part("counted", "their ends", OnTool(ENDED), ids)),
        )
        for cause in use.endings.causes:
            counted = Part("counted", "those that ended so", OnTool(ENDED, cause=cause), ids)
            yield Figure(
                address("endings", use.scenario, cause),
                f"How often a turn ended by {cause.replace('_', ' ')}: {words}.",
                how,
                ((*at, "endings", "causes", cause), (*at, "endings", "turns")),
                (counted, turns),
            )
        if use.effects is not None:
            what = f"calls of tools outside the world that may act: {words}"
            effects = Part("asked", "what they came to", OnTool(EFFECT), ids)
            yield Figure(
                address("effects", use.scenario),
                f"What came of {what}.",
                how,
                ((*at, "effects"),),
                (effects,),
            )
            yield from _outcomes(("effects", use.scenario), (*at, "effects"), what, how, effects)
        for place, tool in enumerate(use.tools):
            yield from self._tool((*at, "tools", place), use.scenario, tool)

    def _tool(self, at: Path, scenario: str, found: ToolFigures) -> Iterator[Figure]:
        name, how = found.tool, self.report.notes["tools"]
        keys, what = ("tools", scenario, name), f"calls of {name}: scenario {scenario}"
        ids, ended = self.ids(scenario), self.ended(scenario)
        asked = Part("asked", "calls that were asked for", OnTool(ASKED, name), ids)
        answered = Part("answered", "what they came to", OnTool(ANSWERED, name), ids)
        used = Part("used", "the first call of each turn", OnTool(USED, name), ids)
        had = Part("turns", "turns that had it", OnTool(HAD, name), ids)
        yield Figure(address(*keys), f"All {what}.", how, (at,), (asked, answered, used, had))
        yield from _outcomes(keys, (*at, "count", "outcomes"), what, how, answered)
        for figure, one in ((TURNS_USED, used), (CALLS, asked)):
            yield Figure(
                address(*keys, figure),
                f"{_OVER_TURNS[figure]} {name}, over seeds: scenario {scenario}.",
                "Of each world at its end, the one number over the other; then over these worlds.",
                ((*at, "between", "spreads", figure),),
                (
                    one._replace(name="counted", worlds=ended),
                    had._replace(name="of", worlds=ended),
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


def _outcomes(keys: tuple[str, ...], at: Path, what: str, how: str, of: Part) -> Iterator[Figure]:
    """Give a figure for each outcome of some calls."""
    for status in Outcomes.__struct_fields__:
        pick = of.pick
        assert isinstance(pick, OnTool)
        counted = of._replace(
            name="counted", says="those that came to this", pick=pick._replace(cause=status)
        )
        yield Figure(
            address(*keys, status),
            f"How many came to {status}, of {what}.",
            how,
            ((*at, status),),
            (counted, of._replace(name="of", says="all of them")),
        )
