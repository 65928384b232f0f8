"""A model of a run inside a budget: cells with skew, calls with reservations, kills and resumes.

Around the real decisions (ladder, outlook, estimates, figure) there is just enough of a governor,
an inference host and a store to let them decide about a whole run, in no time and without I/O. What
a kill forgets is kept apart from what is durable: run log, records and journal.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import msgspec
from tests.support.budget_figure import Bill, Figure, Reserved, bill_of, figure_of
from tests.support.learning import learn, learn_tick

from perdure.base.chance import Stream
from perdure.records.budget import Budget, Ladder, Rung
from perdure.records.events import (
    IS_CONTENT,
    KIND_OF,
    Completed,
    Cost,
    Degraded,
    Event,
    Payload,
    Restored,
    Started,
    TickClosed,
)
from perdure.records.presentation import Plan
from perdure.records.registry import (
    BudgetChanged,
    CallsLost,
    LogPayload,
    RunOpened,
    RunPaused,
    TickDiscarded,
)
from perdure.records.request import FailureCause
from perdure.records.usage import CostSource, Usage
from perdure.runner.estimates import Estimates, RoleAndPurpose
from perdure.runner.expected import Needs, calls_under
from perdure.runner.ladder import (
    Due,
    Outlook,
    Standing,
    after,
    decide,
    due,
    in_effect,
    is_paused,
    plan_at,
    stand,
)
from perdure.runner.outlook import LiveWorld, calls_ahead, outlook
from perdure.runner.pace import may_open
from perdure.study.schedule import REFLECTIONS as REFLECTION
from perdure.study.schedule import TURNS as TURN
from perdure.trace.rungs import Rungs, recorded_after

WORST = {TURN: 50, REFLECTION: 80}
ATTEMPTS_MAX = 3
STEPS_MAX = 20_000
USED = Usage(input_fresh=1, output=1)


class Setting(NamedTuple):
    """A run to be modelled.

    `amounts` are the budget of each sitting, in percent of what the run is expected to cost, and
    `ceiling_over` how much further the ceiling is, in percent of the amount. `typical` is what the
    plan says of a call, in percent of its worst case; `dear` is how much of that a call costs at
    most. `faults` and `kills` are chances in a thousand, at every attempt and at every step. With
    `loose`, ticks make fewer calls than is expected of them, or one more.
    """

    seed: int
    horizons: tuple[int, ...]
    people: int
    waves: frozenset[int]
    skew: int
    ladder: Ladder
    amounts: tuple[int, ...]
    ceiling_over: int
    typical: int
    width: int
    dear: int
    faults: int
    kills: int
    loose: bool


class Killed(Exception):  # noqa: N818 - it is no error here
    """The process is gone, and all that it only remembered."""


@dataclass
class Open:
    """A tick as the journal holds it: its plan, what it records of rungs, its calls' attempts."""

    plan: Plan
    due: Due
    calls: list[RoleAndPurpose]
    attempts: dict[int, list[Cost]] = field(default_factory=dict)
    in_flight: set[int] = field(default_factory=set)

    def is_final(self, call: int) -> bool:
        """Say whether a call has ended."""
        made = self.attempts.get(call, [])
        return bool(made) and (made[-1].failed is None or len(made) == ATTEMPTS_MAX)

    @property
    def begun(self) -> Counter[RoleAndPurpose]:
        """Count the calls that were begun."""
        begun = [call for call in range(len(self.calls)) if self.attempts.get(call)]
        return Counter(self.calls[call] for call in {*begun, *self.in_flight})

    @property
    def costs(self) -> list[Cost]:
        """List what every attempt cost, call by call."""
        return [cost for call in sorted(self.attempts) for cost in self.attempts[call]]


@dataclass
class Disk:
    """What survives a kill. `spent` is the running total of the records, as a registry keeps it."""

    records: list[list[tuple[int, Payload]]]
    ends: list[int]
    log: list[LogPayload] = field(default_factory=list)
    journal: dict[tuple[int, int], Open] = field(default_factory=dict)
    spent: Bill = field(default_factory=Bill)

    def closed(self, world: int) -> int:
        """Give the last closed tick of a world; -1 if none is."""
        return self.ends[world]

    def rungs(self, world: int) -> Rungs:
        """Give what a world's record says of rungs."""
        rungs: Rungs = ()
        for tick, payload in self.records[world]:
            rungs = recorded_after(rungs, tick, payload)
        return rungs

    @property
    def opened(self) -> int:
        """Give the highest tick that any world has opened; -1 if none has."""
        return max([*self.ends, *(tick for _, tick in self.journal)])

    def costs(self) -> Iterator[Cost]:
        """Go through every recorded cost."""
        for record in self.records:
            yield from (payload for _, payload in record if isinstance(payload, Cost))


class Provider:
    """Who is paid: what every attempt really cost, lost ones included."""

    def __init__(self) -> None:
        self.paid = 0
        self.finished: Counter[tuple[int, int, int]] = Counter()


class Sitting:
    """One process that works on the run, until it ends or is killed."""

    def __init__(self, model: Model) -> None:
        self.model, self.disk, self.chance = model, model.disk, model.chance
        self.standing: Standing = stand(model.study_budget, self.disk.log)
        self.estimates = model.estimates_of_record()
        self.waiting: deque[tuple[int, int, int]] = deque()
        self.left: set[int] = set()
        self.dropped: set[tuple[int, int]] = set()
        self.stopping = False
        self.live = [
            world
            for world, horizon in enumerate(model.setting.horizons)
            if self.disk.closed(world) < horizon - 1
        ]
        self.running: dict[int, int] = {}

    def log(self, row: LogPayload) -> None:
        """Append a row to the run log, durably; the process may die before or after."""
        self.model.maybe_die()
        self.disk.log.append(row)
        self.standing = after(self.standing, row)
        self.model.maybe_die()

    def run(self) -> None:
        """Work until every world has left."""
        self.log(RunOpened(epoch=self.model.epoch))
        self._reconcile()
        for _ in range(STEPS_MAX):
            if not self._live_now():
                break
            actions = list(self._actions())
            assert actions, "nothing can be done, and the run is not over: a deadlock"
            self.chance.choice(actions)()
            self.model.check_prefix(self)
            self.model.maybe_die()
        else:
            raise AssertionError("the run does not end")
        if any(self.disk.closed(w) < h - 1 for w, h in enumerate(self.model.setting.horizons)):
            self.log(RunPaused(cause="The budget is spent.", exit_status=76))

    def figure(self) -> Figure:
        """Add up what was spent and may have been."""
        return self.model.figure(self.estimates)

    def _live_now(self) -> list[int]:
        return [world for world in self.live if world not in self.left]

    def _reconcile(self) -> None:
        """Charge what a killed process left in flight; keep what it finished."""
        for (world, tick), found in sorted(self.disk.journal.items()):
            if not found.in_flight:
                continue
            kept = sum(found.is_final(call) for call in range(len(found.calls)))
            place = {"world_id": str(world), "tick": tick, "epoch": self.model.epoch - 1}
            self.log(TickDiscarded(kept=kept, **place))  # type: ignore[arg-type]
            cost = sum(WORST[found.calls[call]] for call in found.in_flight)
            charge = CallsLost(calls=len(found.in_flight), cost=cost, **place)  # type: ignore[arg-type]
            # A real store finds by the row that is there that the charge is made.
            self.disk.log.append(charge)
            found.in_flight.clear()

    def _actions(self) -> Iterator[Callable[[], None]]:
        """Go through all that may happen next."""
        in_flight = 0
        for world, tick in self.running.items():
            found = self.disk.journal[world, tick]
            in_flight += len(found.in_flight)
            for call in sorted(found.in_flight):
                yield partial(self._answer, world, tick, call)
            if (world, tick) not in self.dropped:
                yield from self._work(world, tick, found)
            elif not found.in_flight:
                yield partial(self._leave, world)
        if self.waiting and in_flight < self.model.setting.width:
            yield self._admit
        nexts = [self.running.get(w, self.disk.closed(w) + 1) for w in self._live_now()]
        for world in self._live_now():
            tick = self.disk.closed(world) + 1
            if world in self.running:
                continue
            if self.stopping or may_open(tick, min(nexts), self.model.setting.skew):
                yield partial(self._open, world, tick)

    def _work(self, world: int, tick: int, found: Open) -> Iterator[Callable[[], None]]:
        undone = [call for call in range(len(found.calls)) if not found.is_final(call)]
        if not undone:
            yield partial(self._close, world, tick)
        for call in undone:
            place = world, tick, call
            if call not in found.in_flight and place not in self.waiting:
                yield partial(self.waiting.append, place)

    def _open(self, world: int, tick: int) -> None:
        if tick >= self.model.setting.horizons[world] or self.stopping:
            self.left.add(world)
            return
        front = self.disk.opened + 1
        assert tick <= front, "a world cannot skip a tick"
        if tick == front:
            ahead = self.look(front)
            for row in decide(self.standing, ahead):
                self.log(row)
                self.model.met[type(row).__name__, row.rung] += 1
            assert decide(self.standing, ahead) == (), "a decision settles what it is about"
        found = due(self.standing, tick, self.disk.rungs(world))
        if is_paused(self.standing, tick):
            for rung in found.degraded:
                self.disk.records[world].append((tick, Degraded(rung=rung)))
            self.left.add(world)
            self.model.note_pause(self, front)
            return
        plan = plan_at(self.standing, tick)
        journaled = self.disk.journal.get((world, tick))
        if journaled is None:
            needs = self.model.needs_of(str(world), tick)
            calls = list(Counter(calls_under(needs, plan)).elements())
            if self.model.setting.loose:
                calls = calls[: self.chance.below(len(calls) + 1)] + calls[:1]
            self.disk.journal[world, tick] = Open(plan=plan, due=found, calls=calls)
        else:
            # What an earlier sitting decided about a tick that it opened holds for ever.
            assert (journaled.plan, journaled.due) == (plan, found)
        self.running[world] = tick

    def look(self, front: int) -> Outlook:
        """Look ahead of the next round."""
        worlds = []
        for world in self.live:
            closed, horizon = self.disk.closed(world), self.model.setting.horizons[world]
            if closed == horizon - 1:
                continue
            found = self.disk.journal.get((world, closed + 1))
            if found is None:
                worlds.append(_live(world, closed + 1, horizon))
            else:
                worlds.append(_live(world, closed + 2, horizon, found))
        ahead = calls_ahead(worlds, front, self.standing, self.model.needs_of)
        return outlook(
            ahead, front, spent=self.figure().expected, estimates=self.estimates, beyond=""
        )

    def _admit(self) -> None:
        """Let the first that waits go, if it fits; stop its tick if it can never fit."""
        world, tick, call = self.waiting[0]
        found = self.disk.journal[world, tick]
        if (world, tick) in self.dropped:
            self.waiting.popleft()
            return
        room = self.standing.budget.money_max
        worst = WORST[found.calls[call]]
        figure = self.figure()
        if room is None or figure.worst + worst <= room:
            self.waiting.popleft()
            found.in_flight.add(call)
            self.model.granted(self)
        elif not any(one.in_flight for one in self.disk.journal.values()):
            self.waiting.popleft()
            self.dropped.add((world, tick))
            self.stopping = True
            self.model.met["stopped", "mid-tick"] += 1
            assert figure.worst + worst > room

    def _answer(self, world: int, tick: int, call: int) -> None:
        """End an attempt: with a reply, released, or charged in full."""
        found, setting = self.disk.journal[world, tick], self.model.setting
        kind = found.calls[call]
        worst = WORST[kind]
        failed, usage, source = None, None, CostSource.PRICE_TABLE
        real = amount = 1 + self.chance.below(max(1, worst * setting.dear // 100))
        if self.chance.below(1_000) < setting.faults:
            failed = self.chance.choice([FailureCause.CONNECT, FailureCause.TIMEOUT])
            if failed is FailureCause.CONNECT:
                real = amount = 0
            else:
                amount, source = worst, CostSource.ESTIMATE
        else:
            usage = USED
        self.model.provider.paid += real
        made = found.attempts.setdefault(call, [])
        cost = Cost(
            job=-1,
            purpose=kind[1],
            ordinal=call,
            attempt=len(made),
            role=kind[0],
            model="m",
            source=source,
            amount=amount,
            usage=usage,
            failed=failed,
        )
        made.append(cost)
        found.in_flight.discard(call)
        if found.is_final(call):
            self.model.provider.finished[world, tick, call] += 1
            learn(self.estimates, kind[0], "m", kind[1], made)

    def _close(self, world: int, tick: int) -> None:
        """Write a tick, in one piece."""
        found = self.disk.journal[world, tick]
        events: list[Payload] = [Started()] if tick == 0 else []
        events += [Restored(rung=rung) for rung in found.due.restored]
        events += [Degraded(rung=rung) for rung in found.due.degraded]
        events += found.costs
        if tick == self.model.setting.horizons[world] - 1:
            events.append(Completed())
        events.append(TickClosed(plan=found.plan, jobs=0))
        self.disk.records[world] += [(tick, event) for event in events]
        self.disk.ends[world] = tick
        self.disk.spent += bill_of(found.costs)
        del self.disk.journal[world, tick]
        del self.running[world]

    def _leave(self, world: int) -> None:
        self.left.add(world)
        del self.running[world]


def _live(world: int, next_tick: int, horizon: int, found: Open | None = None) -> LiveWorld:
    if found is None:
        return LiveWorld(world_id=str(world), next_tick=next_tick, horizon=horizon)
    return LiveWorld(
        world_id=str(world),
        next_tick=next_tick,
        horizon=horizon,
        plan=found.plan,
        begun=found.begun,
    )


class Model:
    """A run through all its sittings, with what must hold at every step and at the end."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.chance = Stream(f"{setting.seed:016x}", 0, "budget model")
        worlds = len(setting.horizons)
        self.disk = Disk(records=[[] for _ in range(worlds)], ends=[-1] * worlds)
        self.provider = Provider()
        self.study_budget = self.budget(setting.amounts[0])
        self.highest_room = self.study_budget.money_max or 0
        self.epoch = 0
        self.kills_on = True
        self.met: Counter[tuple[str, str]] = Counter()

    def budget(self, part: int) -> Budget:
        """Make a budget: a part of what the run is expected to cost, in percent."""
        numbers = Counter[RoleAndPurpose]()
        for world, horizon in enumerate(self.setting.horizons):
            for tick in range(horizon):
                numbers.update(calls_under(self.needs_of(str(world), tick), Plan()))
        worst = sum(number * WORST[kind] for kind, number in numbers.items())
        amount = 1 + worst * self.setting.dear * part // 20_000
        over = self.setting.ceiling_over
        ceiling = amount + amount * over // 100 if over else None
        return Budget(amount=amount, ceiling=ceiling, ladder=self.setting.ladder)

    def needs_of(self, world_id: str, tick: int) -> Needs:
        """Say what a tick makes: everyone at a wave, else most of them, with some reflections."""
        if self.is_wave(tick):
            return Needs(whole={TURN: self.setting.people})
        reflecting = self.setting.people // 2 if (tick + int(world_id)) % 2 else 0
        return Needs(
            thinned={TURN: self.setting.people},
            optional={REFLECTION: reflecting} if reflecting else {},
        )

    def is_wave(self, tick: int) -> bool:
        """Say whether a tick has a survey wave."""
        return tick in self.setting.waves

    def maybe_die(self) -> None:
        """Kill the process, by chance."""
        if self.kills_on and self.chance.below(1_000) < self.setting.kills:
            raise Killed

    def run(self) -> None:
        """Run, be killed, be run again, be given more and less, and in the end be finished."""
        for sitting, amount in enumerate(self.setting.amounts):
            if sitting:
                self._change(self.budget(amount))
            self._sit_until_it_ends()
            self._sit_again_for_nothing()
        self.kills_on = False
        self._change(Budget())
        self._sit_until_it_ends()
        for world, horizon in enumerate(self.setting.horizons):
            assert self.disk.closed(world) == horizon - 1, "with room enough, a run ends"
        assert self.disk.journal == {}

    def _change(self, budget: Budget) -> None:
        self.disk.log.append(BudgetChanged(budget=budget))
        room = budget.money_max
        self.highest_room = 10**18 if room is None else max(self.highest_room, room)

    def _sit_until_it_ends(self) -> None:
        for _ in range(200):
            self.epoch += 1
            sitting = Sitting(self)
            try:
                sitting.run()
            except Killed:
                self.met["killed", ""] += 1
                self._bill_the_lost(sitting)
                self._check_memory(sitting)
                continue
            self._check_memory(sitting)
            return
        raise AssertionError("killed for ever")

    def _bill_the_lost(self, sitting: Sitting) -> None:
        """Pay for what was in flight, as it may have been billed: up to its worst case."""
        for place in sitting.running.items():
            found = self.disk.journal[place]
            for call in found.in_flight:
                self.provider.paid += self.chance.below(WORST[found.calls[call]] + 1)

    def _check_memory(self, sitting: Sitting) -> None:
        """Require that what a process knew by heart is what the next one reads."""
        assert stand(self.study_budget, self.disk.log) == sitting.standing
        again = self.estimates_of_record()
        for kind in WORST:
            assert again.call(*kind) == sitting.estimates.call(*kind)
        assert again.mean("m", TURN[0]) == sitting.estimates.mean("m", TURN[0])

    def _sit_again_for_nothing(self) -> None:
        """Run a paused run again under the same budget: it does nothing."""
        standing = stand(self.study_budget, self.disk.log)
        nexts = [
            self.disk.closed(world) + 1
            for world, horizon in enumerate(self.setting.horizons)
            if self.disk.closed(world) < horizon - 1
        ]
        if not nexts or not all(is_paused(standing, tick) for tick in nexts):
            return
        before = msgspec.json.encode([self.disk.records, self.provider.paid, standing.rungs])
        kills, self.kills_on = self.kills_on, False
        self.epoch += 1
        sitting = Sitting(self)
        sitting.run()
        self.kills_on = kills
        now = [self.disk.records, self.provider.paid, sitting.standing.rungs]
        assert msgspec.json.encode(now) == before
        self.met["run again", "paused"] += 1

    def estimates_of_record(self) -> Estimates:
        """Learn again from records and journal what calls cost."""
        part = self.setting.typical
        estimates = Estimates({kind: worst * part // 100 for kind, worst in WORST.items()})
        for record in self.disk.records:
            by_tick: dict[int, list[Cost]] = {}
            for tick, payload in record:
                if isinstance(payload, Cost):
                    by_tick.setdefault(tick, []).append(payload)
            for costs in by_tick.values():
                learn_tick(estimates, costs)
        for found in self.disk.journal.values():
            for call, made in found.attempts.items():
                if found.is_final(call):
                    learn(estimates, *_kind(found.calls[call]), made)
        return estimates

    def figure(self, estimates: Estimates) -> Figure:
        """Add up what was spent and may have been."""
        journal = self.disk.journal.values()
        return figure_of(
            closed=self.disk.spent,
            settled=sum((bill_of(found.costs) for found in journal), Bill()),
            reserved=(
                Reserved(
                    role=found.calls[call][0],
                    purpose=found.calls[call][1],
                    worst=WORST[found.calls[call]],
                )
                for found in journal
                for call in found.in_flight
            ),
            log=self.disk.log,
            estimates=estimates,
        )

    def granted(self, sitting: Sitting) -> None:
        """Check the ceiling that is in force, at the moment at which something is reserved."""
        room = sitting.standing.budget.money_max
        assert room is None or sitting.figure().worst <= room

    def check_prefix(self, sitting: Sitting) -> None:
        """P5: settled and reserved never exceed the highest ceiling there was, nor fall short."""
        figure = sitting.figure()
        assert figure.worst <= self.highest_room
        assert self.provider.paid <= figure.charged
        assert figure.unknown == figure.unpriced == 0

    def note_pause(self, sitting: Sitting, front: int) -> None:
        """Require that a paused run leaves less unspent than one round costs at worst."""
        standing, room = sitting.standing, sitting.standing.budget.money_max
        worlds = [w for w, h in enumerate(self.setting.horizons) if self.disk.closed(w) < h - 1]
        together = all(self.disk.closed(world) + 1 == front for world in worlds)
        if room is None or not together or standing.judged != standing.budget:
            return
        if self.setting.loose or self.setting.skew:
            return  # what was in hand beside the round may have come cheaper than expected
        numbers = Counter[RoleAndPurpose]()
        for world in worlds:
            numbers.update(calls_under(self.needs_of(str(world), front), Plan()))
        attempts = ATTEMPTS_MAX if self.setting.faults else 1
        worst = sum(number * WORST[kind] for kind, number in numbers.items()) * attempts
        assert room - sitting.figure().charged < worst
        self.met["paused", "unspent is less than a round"] += 1

    def events(self, world: int) -> Iterator[Event]:
        """Give the events of a world's record, numbered as a store does it."""
        content = 0
        for seq, (tick, payload) in enumerate(self.disk.records[world]):
            is_content = IS_CONTENT[KIND_OF[type(payload)]]
            yield Event(
                seq=seq, tick=tick, payload=payload, content=content if is_content else None
            )
            content += is_content

    def rungs_at(self, tick: int) -> frozenset[Rung]:
        """List the rungs of the run that have effect at a tick."""
        return in_effect(stand(self.study_budget, self.disk.log).rungs, tick)


def _kind(kind: RoleAndPurpose) -> tuple[str, str, str]:
    return kind[0], "m", kind[1]
