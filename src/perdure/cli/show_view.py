"""One event or turn drawn for a terminal, in the order in which it happened.

There are no tables: every line folds, so that all of it can be read at forty columns too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from perdure.analysis.document import Block
from perdure.analysis.turn import Judged, Paid, Probe, Reflection, Seen, Sent, WholeTurn
from perdure.base.money import show as money
from perdure.base.text import a, one_line
from perdure.cli.figures import count, percent, plural, spend
from perdure.cli.output import as_tree
from perdure.cli.shown import Shown
from perdure.cli.tables import folded, verbatim
from perdure.records.persona import Memory
from perdure.records.request import Message
from perdure.records.scenario import Scoring
from perdure.records.usage import Usage

Parts = Iterator["Block"]

_HEADING_MAX = 1_000


def shown_parts(shown: Shown, folder: str) -> Parts:
    """Draw an event with all that belongs to it."""
    kind = shown.kind.replace("_", " ")
    world = shown.world
    about = f" of {shown.persona}" if shown.persona else ""
    yield folded(f"{shown.event}: {kind}{about}, at {_tick(shown, shown.tick)}", style="bold")
    yield folded(
        f"World {world.world_id}: scenario {world.scenario}, seed {world.replicate_seed}, "
        f"{plural(world.horizon, 'tick')} of {a(shown.tick_unit)} each."
    )
    yield verbatim(f"{folder}, run {shown.run_id}")
    if shown.turn is None:
        yield from _payload(shown)
        yield from _links(shown)
        return
    if shown.turn.event != shown.event:
        yield folded(f"It belongs to the turn {shown.turn.event}, which is shown whole.")
    yield from _turn(shown, shown.turn)


def _turn(shown: Shown, turn: WholeTurn) -> Parts:
    yield from _who(turn)
    yield from _seen(turn)
    yield from _remembered(shown)
    yield from _asked(shown, turn)
    yield from _used(turn)
    yield from _answered(turn)
    yield from _did(turn)
    yield from _scored(turn)
    yield from _believed(turn)
    yield from _kept(shown, turn)
    if turn.reflection is not None:
        yield from _reflected(turn.reflection)
    if turn.probe is not None:
        yield from _probed(turn.probe)
    yield from _paid(turn)
    yield _heading("Events of this turn")
    for part in turn.events:
        yield folded(f"{part.event} {part.kind}", indent=2)


def _heading(text: str) -> Block:
    return folded(f"\n{one_line(text, _HEADING_MAX)}", style="bold")


def _who(turn: WholeTurn) -> Parts:
    yield _heading(f"Who: {turn.persona}")
    for told in turn.attributes:
        code = "" if told.words.startswith(told.code) else f" ({told.code})"
        yield folded(f"{told.label}: {told.words}{code}", indent=2)
    if turn.audience:
        yield folded(f"Drawn for the audience {turn.audience}.", indent=2)
    if turn.plan is not None and turn.plan.activation < 1:
        yield folded(
            f"The tick was thinned: {100 * turn.plan.activation:.0f} % of those who would be "
            "active were.",
            indent=2,
        )


def _seen(turn: WholeTurn) -> Parts:
    yield _heading(f"Seen: {plural(len(turn.seen), 'message')} on the channel {turn.channel}")
    for number, seen in enumerate(turn.seen, start=1):
        yield folded(f"{number}. {_message(seen)}", indent=2)
        if seen.event:
            yield folded(seen.text, indent=4)
        yield folded(f"{'; '.join(_circumstances(seen))}.", indent=4)
        for answered in seen.thread:
            who = f" by {answered.author}" if answered.author else ""
            yield folded(
                f"It answers {answered.stimulus}{who} ({answered.event or 'not on record'}):",
                indent=4,
            )
            if answered.event:
                yield folded(answered.text, indent=6)
    for dropped in turn.not_seen:
        yield folded(
            f"Not shown: {dropped.stimulus}, because: {dropped.reason} ({dropped.event}).", indent=2
        )
    if turn.question is None:
        yield folded(f"Question {turn.question_id}, which the study does not have.", indent=2)
        return
    yield folded(f"Question {turn.question.id}:", indent=2)
    yield folded(turn.question.text, indent=4)
    if turn.question.scoring is Scoring.SIMILARITY:
        yield folded("No answers were listed: what is said is scored by its likeness.", indent=4)
    elif turn.question.choices:
        labels = " / ".join(choice.label for choice in turn.question.choices)
        drawn = " (in an order that was drawn)" if turn.order else ""
        yield folded(f"Possible answers: {labels}{drawn}", indent=4)
    if turn.actions:
        yield folded(f"Can be done here: {', '.join(turn.actions)}.", indent=2)


def _message(seen: Seen) -> str:
    if not seen.event:
        return f"{seen.stimulus}, whose publication is not on record"
    claim = f", claim {seen.claim}" if seen.claim else ""
    who = f", by {seen.author}" if seen.author else ""
    return f"{seen.stimulus} ({seen.event}): kind {seen.kind}{claim}{who}"


def _circumstances(seen: Seen) -> Iterator[str]:
    yield f"shown because: {seen.reason}"
    yield f"attention {seen.attention:g}" + ("" if seen.attention > 0 else ", so not noticed")
    if seen.stance:
        yield f"its author answered {seen.stance}"
    if seen.counts:
        yield "so far " + ", ".join(
            f"{name} {count(number)}" for name, number in seen.counts.items()
        )
    if seen.tie is not None:
        yield f"tie {seen.tie:g}"
    if seen.told_by:
        yield f"told by {seen.told_by}"
    if seen.near:
        yield "from its own community"


def _remembered(shown: Shown) -> Parts:
    """Draw what the prompt tells of the past."""
    if shown.remembered is None:
        yield _heading("Remembered: not on record")
        return
    number = len(shown.remembered)
    yield _heading(f"Remembered: {'1 memory' if number == 1 else f'{number} memories'}")
    for one in shown.remembered:
        yield from _memory(shown, f"{one.event}, content {one.number}", one.memory)


def _tick(shown: Shown, tick: int) -> str:
    """Name a tick, with its date where it has one."""
    if shown.calendar is None:
        return f"tick {tick}"
    return f"tick {tick}, {shown.calendar.moment(tick, shown.tick_unit).short}"


def _memory(shown: Shown, place: str, memory: Memory) -> Parts:
    about = f", about {memory.claim}" if memory.claim else ""
    when = _tick(shown, memory.tick)
    yield folded(
        f"{when}, importance {memory.importance:g}, {memory.source}{about} ({place}):",
        indent=2,
    )
    yield folded(memory.text, indent=4)


def _asked(shown: Shown, turn: WholeTurn) -> Parts:
    found = shown.assembled
    messages: Sequence[Sent | Message] = turn.prompts[0] if turn.prompts else ()
    if messages:
        yield _heading(f"Asked: the prompt as sent, {plural(len(messages), 'message')}")
        yield folded("Each text has the hash that the record cites.", indent=2)
    else:
        yield _heading("Asked")
    if found is not None:
        yield folded(found.why, indent=2, style="bold" if shown.differs else "")
        messages = messages or found.messages
    yield from _prompt(messages)


def _prompt(messages: Iterable[Sent | Message]) -> Parts:
    for one in messages:
        cited = f" ({one.sha256[:12]})" if isinstance(one, Sent) else ""
        text = one.text if isinstance(one, Sent) else one.content
        yield folded(f"{one.role}{cited}, {plural(len(text), 'character')}:", indent=2)
        yield folded(text, indent=4)
        for call in one.calls:
            yield folded(f"calls {call.name} ({call.id}): {call.arguments}", indent=4)


def _used(turn: WholeTurn) -> Parts:
    if turn.ended is None:
        return
    yield _heading("Used tools" if turn.tools else "Used no tool")
    taken = list(turn.did)
    for used in turn.tools:
        call, status = used.call, used.status.value if used.status is not None else "no result"
        kind = used.effect.value if used.effect is not None else "no such tool"
        counts = ", which took effect in the world" if call in taken else ""
        if counts:
            taken.remove(call)
        yield folded(f"{call.name} ({kind}, {call.id}): {status}{counts} ({used.event})", indent=2)
        yield folded(f"with {call.arguments}", indent=4)
        yield folded(used.text or "(nothing)", indent=4)
        if used.dropped:
            yield folded(f"{plural(used.dropped, 'byte')} of it were cut away.", indent=4)
    yield folded(f"Its drive ended: {turn.ended.value.replace('_', ' ')}.", indent=2)


def _answered(turn: WholeTurn) -> Parts:
    for number, broken in enumerate(turn.violations, start=1):
        yield _heading(f"Answer {number}, refused: {broken.rule.value.replace('_', ' ')}")
        yield folded(broken.answer, indent=4)
        yield folded(f"({broken.event})", indent=2)
        later = turn.violations[number:]
        prompt = later[0].prompt if later else turn.prompt
        if prompt:
            yield folded("Asked once more, more strictly:", indent=2)
            yield from _prompt(prompt)
    if turn.failed is not None:
        call = f": {turn.call.value.replace('_', ' ')}" if turn.call is not None else ""
        yield _heading(f"Not taken: {turn.failed.value.replace('_', ' ')}{call}")
        return
    yield _heading("Answered")
    yield folded(turn.answer, indent=4) if turn.answer else folded("(nothing)", indent=2)


def _did(turn: WholeTurn) -> Parts:
    reaction = turn.reaction
    if reaction is None:
        return
    yield _heading("Did")
    about = f", about {reaction.stimulus}" if reaction.stimulus else ""
    yield folded(f"{reaction.action or 'nothing'}{about}", indent=2)
    if reaction.rejected is not None:
        why = reaction.rejected.value.replace("_", " ")
        yield folded(f"Rejected, so it had no effect: {why}.", indent=2)
    if reaction.words:
        yield folded("In its own words:", indent=2)
        yield folded(reaction.words, indent=4)
    if reaction.change is not None:
        yield folded(f"Its belief: {reaction.change.value.replace('_', ' ')}.", indent=2)


def _scored(turn: WholeTurn) -> Parts:
    score = turn.score
    again = f", after the run: scores {score.scores}" if score and score.scores else ""
    yield _heading(f"Scored{again}")
    if score is None:
        yield folded("There is no score.", indent=2)
    elif score.unscorable is not None:
        yield folded(
            f"No score: {score.unscorable.value.replace('_', ' ')} ({score.event}).", indent=2
        )
    else:
        yield folded(f"{_score_text(score)}, of {score.question} ({score.event})", indent=2)


def _score_text(score: Judged) -> str:
    if score.number is not None:
        return f"{score.number:.15g} {score.unit}".strip()
    if score.masses:
        return ", ".join(f"{label} {percent(mass)}" for label, mass in score.masses)
    if score.choices is not None:
        return ", ".join(score.labels) or "none of them"
    return score.label if score.label == score.choice else f"{score.label} ({score.choice})"


def _believed(turn: WholeTurn) -> Parts:
    held = turn.beliefs
    if not held.before and held.after is None:
        return
    yield _heading("Believed, from -3 to 3")
    after: Mapping[str, int] = held.before if held.after is None else held.after
    for claim in sorted(held.before.keys() | after.keys()):
        old, new = held.before.get(claim), after.get(claim)
        was = "nothing" if old is None else f"{old:+d}"
        now = "nothing" if new is None else f"{new:+d}"
        yield folded(f"{claim}: {was}" if was == now else f"{claim}: {was}, then {now}", indent=2)
    places = [f"before {held.event}"] if held.event else []
    places += [f"after {held.after_event}"] if held.after_event else ["the turn moved none"]
    yield folded(f"({'; '.join(places)})", indent=2)


def _kept(shown: Shown, turn: WholeTurn) -> Parts:
    if not turn.memories:
        return
    yield _heading("Will remember")
    for one in turn.memories:
        yield from _memory(shown, f"{one.event}, content {one.number}", one.memory)


def _reflected(reflection: Reflection) -> Parts:
    yield _heading(f"Reflected ({reflection.event})")
    yield from _prompt(reflection.prompt)
    if reflection.failed is not None:
        yield folded(f"No reply: {reflection.failed.value.replace('_', ' ')}.", indent=2)
    else:
        yield folded("Its reply:", indent=2)
        yield folded(reflection.text, indent=4)


def _probed(probe: Probe) -> Parts:
    yield _heading(f"Probed: {probe.attribute}, which is {probe.known} ({probe.event})")
    yield from _prompt(probe.prompt)
    if probe.failed is not None:
        yield folded(f"No reply: {probe.failed.value.replace('_', ' ')}.", indent=2)
        return
    yield folded("Its reply:", indent=2)
    yield folded(probe.answer, indent=4)
    if probe.right is not None:
        verdict = "right" if probe.right else "wrong"
        yield folded(f"Scored as {probe.choice}: {verdict}.", indent=2)
    elif probe.unscorable is not None:
        yield folded(f"No score: {probe.unscorable.value.replace('_', ' ')}.", indent=2)


def _paid(turn: WholeTurn) -> Parts:
    spent = turn.spent
    total = spend(spent.amount, spent.unknown, spent.currency)
    yield _heading(f"Paid: {total} for {plural(spent.attempts, 'attempt')}")
    for paid in turn.paid:
        yield folded(_attempt(paid, spent.currency), indent=2)


def _attempt(paid: Paid, currency: str) -> str:
    cost = paid.cost
    which = f"{cost.purpose}, call {cost.ordinal + 1}, attempt {cost.attempt + 1}"
    served = f" as {cost.served}" if cost.served not in {"", cost.model} else ""
    became = "no reply: " + cost.failed.value.replace("_", " ") if cost.failed else "answered"
    source = cost.source.value.replace("_", " ")
    amount = (
        money(cost.amount, currency)
        if cost.amount is None
        else (f"{money(cost.amount, currency)} ({source})")
    )
    parts = [f"{which}: {cost.role} {cost.model}{served}", became, amount]
    if cost.usage is not None:
        parts.append(_tokens(cost.usage))
    elif cost.charged is not None:
        parts.append(f"nobody knows what was used; at most {_tokens(cost.charged)}")
    else:
        parts.append("tokens unknown")
    if cost.above_reservation:
        parts.append("above what was reserved")
    if cost.usage_impossible:
        parts.append("the provider's count was impossible")
    return f"{'; '.join(parts)} ({paid.event})"


def _tokens(usage: Usage) -> str:
    fed = f"{count(usage.input_fresh)} tokens in"
    if usage.cache_read:
        fed += f", {count(usage.cache_read)} from cache"
    if usage.cache_write:
        fed += f", {count(usage.cache_write)} into cache"
    return f"{fed}, {count(usage.output)} out"


def _payload(shown: Shown) -> Parts:
    yield _heading("What it says")
    tree = as_tree(shown.payload)
    if not tree:
        yield folded("Nothing more than that.", indent=2)
    yield from _tree(tree, 2)
    for name, size in shown.blobs.items():
        yield folded(
            f"The bytes of {name} are there, {plural(size, 'byte')}, and have this hash.", indent=2
        )


def _tree(tree: Mapping[str, Any], indent: int) -> Parts:
    for name, value in tree.items():
        label = one_line(str(name)).replace("_", " ")
        if isinstance(value, dict) and value:
            yield folded(f"{label}:", indent=indent)
            yield from _tree(value, indent + 2)
        elif isinstance(value, list) and value:
            yield folded(f"{label}:", indent=indent)
            yield from _tree({str(place): item for place, item in enumerate(value)}, indent + 2)
        elif isinstance(value, str) and len(value.split()) > 1:
            yield folded(f"{label}:", indent=indent)
            yield folded(value, indent=indent + 2)
        else:
            yield folded(f"{label}: {_plain(value)}", indent=indent)


def _plain(value: object) -> str:
    if value is None or value in ("", {}, []):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _links(shown: Shown) -> Parts:
    links = shown.links
    if links is None:
        return
    if links.cites:
        yield _heading("Cites")
        for link in links.cites:
            yield folded(f"{link.event} {link.kind}: {link.how}", indent=2)
    if links.cited_by:
        yield _heading("Cited by")
        for link in links.cited_by:
            yield folded(f"{link.event} {link.kind}: {link.how}", indent=2)
        if links.more:
            yield folded("and by later ones", indent=2)
