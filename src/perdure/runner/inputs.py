"""What of a run's inputs moved, in words: each field with its old and its new value. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import msgspec

from perdure.records.graph import Node
from perdure.records.persona import Persona
from perdure.records.study import Study
from perdure.records.usage import Price, PriceTier
from perdure.runner.edits import differences
from perdure.study.identity import inputs_of


@dataclass(frozen=True)
class Asked:
    """A run's inputs at one time: its study, its people, what is held out of them, their graph.

    `study` is None where it cannot be read any more.
    """

    study: Study | None
    personas: Sequence[Persona]
    held_out: Mapping[str, str]
    graph: Sequence[Node] = ()

    @classmethod
    def of(
        cls,
        study: str,
        personas: Sequence[Persona],
        held_out: Mapping[str, str],
        graph: Sequence[Node] = (),
    ) -> Asked:
        """Read the inputs that a record holds. `study` is canonical JSON."""
        try:
            return cls(msgspec.json.decode(study, type=Study), personas, held_out, graph)
        except msgspec.MsgspecError:
            return cls(None, personas, held_out, graph)


def what_moved(then: Asked, now: Asked, name: str) -> Iterable[str]:
    """Say what moved of one input. No held-out value is ever told, only how many differ."""
    if name == "population":
        return _people(then.personas, now.personas)
    if name == "graph":
        return _ties(then, now)
    if name == "held_out":
        return _values(then.held_out, now.held_out)
    if then.study is None or now.study is None:
        return ()
    was, found = inputs_of(then.study).get(name), inputs_of(now.study).get(name)
    if name == "scenarios":
        was, found = _by_part(then.study), _by_part(now.study)
    if name == "anchors":
        was, found = was or {}, found or {}
    if name == "prices":
        was, found = _in_units(was), _in_units(found)
    return differences(was, found)


def _in_units(prices: object) -> object:
    """Give prices as a study file has them: in units of the currency, not in nano-units."""
    if isinstance(prices, dict):
        return {key: _in_units(value) for key, value in prices.items()}
    if isinstance(prices, list | tuple):
        return [_in_units(value) for value in prices]
    if isinstance(prices, PriceTier):
        return _in_units(msgspec.structs.asdict(prices) | {"over": f"{prices.over} tokens"})
    if isinstance(prices, Price):
        return _in_units(msgspec.structs.asdict(prices))
    if isinstance(prices, bool) or not isinstance(prices, int):
        return prices
    return Decimal(prices).scaleb(-9).normalize()


def holds_out_the_same(then: Asked, now: Asked) -> bool:
    """Say whether the same is held out of everybody who is in both populations."""
    both = {one.id for one in then.personas} & {one.id for one in now.personas}
    return all(then.held_out.get(one) == now.held_out.get(one) for one in both)


def _by_part(study: Study) -> dict[str, object]:
    return {"variants": study.variants, "scenarios": study.scenarios}


def _people(then: Sequence[Persona], now: Sequence[Persona]) -> Iterator[str]:
    if len(then) != len(now):
        yield f"{len(then)} people then and {len(now)} now"
    was, found = ({one.id: one.attributes for one in people} for people in (then, now))
    yield from differences(was, found)
    kept = [name for name in was if name in found]
    if kept != [name for name in found if name in was]:
        yield "their order"


def _ties(then: Asked, now: Asked) -> Iterator[str]:
    was, found = (_known(asked) for asked in (then, now))
    if len(was) != len(found):
        yield f"{len(was)} ties then and {len(found)} now"
    moved = sum(found.get(tie, strength) != strength for tie, strength in was.items())
    gone = sum(tie not in found for tie in was)
    if gone:
        yield f"{gone} of the {len(was)} ties are gone"
    if moved:
        yield f"{moved} ties have another strength"
    communities = [[node.community for node in asked.graph] for asked in (then, now)]
    if all(communities) and communities[0] != communities[1]:
        yield "their communities"


def _known(asked: Asked) -> dict[tuple[str, str], float]:
    pairs = zip(asked.personas, asked.graph, strict=bool(asked.graph))
    return {
        (persona.id, other): strength
        for persona, node in pairs
        for other, strength in node.ties.items()
    }


def _values(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    people = {*then, *now}
    moved = sum(then.get(one) != now.get(one) for one in people)
    yield f"{moved} of {len(people)} values"
