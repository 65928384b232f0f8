"""The address of a figure: a path of natural keys, and filters.

Such as `answers/vote/calm/0/yes?seed=1`. It says where a figure is by the names that a study gives,
so that it stays what it is whatever else a report has. Pure.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from perdure.base.errors import UsageError
from perdure.records.record import Record
from perdure.study.findings import quoted

# What an address can begin with, and how it goes on; what is in brackets may be left out.
KINDS: dict[str, str] = {
    "answers": "answers/QUESTION[/SCENARIO[/TICK[/CHOICE]]]",
    "claims": "claims/QUESTION/SCENARIO/CLAIM[/CHOICE]",
    "changes": "changes/QUESTION/SCENARIO[/CHOICE]",
    "differences": "differences/QUESTION/SCENARIO/TICK[/CHOICE]",
    "telling": "telling[/QUESTION/SCENARIO/REFERENCE[/CHOICE]]",
    "personas": "personas/QUESTION/SCENARIO/TICK[/CHOICE][?against=SCENARIO]",
    "predictions": "predictions/SCENARIO/TICK[/CHOICE]",
    "outcome": "outcome",
    "beside": "beside/SCENARIO/TICK",
    "beliefs": "beliefs/CLAIM/SCENARIO/TICK[/SIDE]",
    "polarization": "polarization/OVER/NAME/SCENARIO/TICK",
    "channels": "channels/CHANNEL/SCENARIO[/FIGURE]",
    "tools": "tools/SCENARIO[/TOOL[/FIGURE]]",
    "effects": "effects/SCENARIO[/OUTCOME]",
    "endings": "endings/SCENARIO[/CAUSE]",
    "verbatims": "verbatims/QUESTION/SCENARIO[/CLUSTER]",
    "anomalies": "anomalies/RULE[/NUMBER]",
    "seeds": "seeds/SCENARIO",
    "worlds": "worlds[/WORLD]",
    "activations": "activations/WORLD",
    "comparability": "comparability",
    "failures": "failures/WHAT[/CAUSE]",
    "gaps": "gaps/NUMBER",
    "models": "models/ROLE",
    "costs": "costs[?model=MODEL] or role, purpose, source",
    "outside": "outside[/KIND]",
    "scored": "scored/QUESTION",
    "budget": "budget",
    "population": "population",
    "weighting": "weighting",
    "marks": "marks",
}
FILTERS = ("seed", "world", "persona", "by", "group")
_COSTS = ("model", "role", "purpose", "source")
_PLAIN = "@,+:"  # besides letters, digits and `_.-~`: nothing that a shell takes for its own


class Address(Record):
    """An address taken apart: the keys of its path, the kind being the first, and its filters."""

    path: tuple[str, ...]
    filters: dict[str, str]

    @property
    def kind(self) -> str:
        """What it is an address of."""
        return self.path[0]

    @property
    def text(self) -> str:
        """The address as it is written."""
        return address(*self.path, **self.filters)


def address(*path: object, **filters: str) -> str:
    """Write an address of keys and filters."""
    keys = "/".join(quote(str(one), safe=_PLAIN) for one in path)
    said = "&".join(f"{name}={quote(value, safe=_PLAIN)}" for name, value in filters.items())
    return f"{keys}?{said}" if said else keys


def is_address(text: str) -> bool:
    """Say whether a text begins as an address does."""
    return text.partition("?")[0].partition("/")[0] in KINDS


def read_address(text: str) -> Address:
    """Take an address apart; it is one.

    Raises:
        UsageError: it has a filter that is none; says which there are.

    """
    path, _, query = text.partition("?")
    keys = tuple(unquote(one) for one in path.split("/"))
    filters: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        known = (*FILTERS, *(_COSTS if keys[0] == "costs" else ()))
        known = (*known, "against") if keys[0] == "personas" else known
        if name not in known or not value:
            raise UsageError(
                f"{quoted(part)} is no filter of {keys[0]}.",
                where="ID",
                remedy=f"Write one of {', '.join(known)}, such as `{keys[0]}/...?{known[0]}=1`.",
            )
        filters[name] = unquote(value)
    return Address(path=keys, filters=filters)
