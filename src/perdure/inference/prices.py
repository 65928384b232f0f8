"""What a model costs where the study does not say: looked up in `genai-prices`, never online.

A price is looked up by who answers at the address, not by a model's name alone: a server of one's
own that calls its model `gpt-4o` does not bill like OpenAI. Only `price_as` says that it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from perdure.base.errors import Problem
from perdure.records.study import ModelSpec, Study
from perdure.study.findings import quoted
from perdure.study.pricing import price_of
from perdure.study.read_models import EMBED

if TYPE_CHECKING:
    from perdure.inference.price_table import PriceTable

_TABLE_CURRENCY = "USD"
WAYS_OUT = (
    "Write `price:` (zeros if it costs nothing), `price_as:` with whose price it is, or "
    "`price_bound:` with the most that it may cost; on the command line, --price IN,OUT or "
    "--price-as. Or accept unknown spend: `budget: {unpriced: accepted, calls: 10000}`."
)


@dataclass(frozen=True)
class Priced:
    """A study with the prices that were found. `unpriced` says of each other role why not.

    `mistaken` are the roles whose `price_as` names nothing that can be used: a mistake, whatever
    else the study accepts.
    """

    study: Study
    unpriced: Mapping[str, str] = field(default_factory=dict)
    mistaken: frozenset[str] = frozenset()

    def problems(self, file: str) -> list[Problem]:
        """List what keeps the study from being run: models without a price that is accepted."""
        accepted = self.study.budget.unpriced_accepted
        reasons: dict[tuple[str, str], list[str]] = {}
        for role, reason in self.unpriced.items():
            if role in self.mistaken or not accepted:
                model = self.study.models[role].pin.model
                reasons.setdefault((model, reason), []).append(role)
        return [
            Problem(
                file=file,
                line=0,
                wrong=f"The model {quoted(model)} ({' and '.join(roles)}) has no price. {reason}",
                remedy=WAYS_OUT,
            )
            for (model, reason), roles in reasons.items()
        ]


def priced(study: Study, *, now_s: float, begun: Study | None = None) -> Priced:
    """Give every model of a study its price, where one is known. Opens no connection.

    `now_s` is the wall clock, in seconds since 1970: prices change on given days. `begun` is the
    study as a run of it began: a price that was looked up then is kept, whatever the table says by
    now.
    """
    models: dict[str, ModelSpec] = {}
    unpriced: dict[str, str] = {}
    table: PriceTable | None = None
    for role, spec in study.models.items():
        models[role] = spec
        if price_of(spec) is not None:
            continue
        kept = None if begun is None else _kept(begun.models.get(role), spec)
        if kept is not None:
            models[role] = kept
            if kept.price is None:
                unpriced[role] = "The run began without one."
            continue
        if table is None:
            from perdure.inference.price_table import PriceTable  # noqa: PLC0415 - a second

            table = PriceTable(now_s)
        found = _looked_up(table, spec, study.currency, speaks=role != EMBED)
        if isinstance(found, str):
            unpriced[role] = found
        else:
            models[role] = found
    return Priced(
        study=msgspec.structs.replace(study, models=models) if models != study.models else study,
        unpriced=unpriced,
        mistaken=frozenset(role for role in unpriced if study.models[role].price_as),
    )


def _kept(then: ModelSpec | None, now: ModelSpec) -> ModelSpec | None:
    """Keep the price that a run began with, if the same model is asked at the same address."""
    if then is None or then.price_bound is not None:
        return None
    was = (then.pin, then.endpoint.base_url, then.price_as)
    if was != (now.pin, now.endpoint.base_url, now.price_as):
        return None
    if then.price is not None and then.price_source is None:
        return None
    return msgspec.structs.replace(now, price=then.price, price_source=then.price_source)


def _looked_up(
    table: PriceTable, spec: ModelSpec, currency: str, *, speaks: bool
) -> ModelSpec | str:
    if spec.price_as:
        found = table.by_entry(spec.price_as, speaks=speaks)
    else:
        found = table.by_address(spec.endpoint.base_url, spec.pin.model, speaks=speaks)
    if isinstance(found, str):
        return found
    if currency != _TABLE_CURRENCY:
        return (
            f"{found.source.table} knows {found.source.entry} in {_TABLE_CURRENCY}, the study "
            f"counts in {currency}, and nothing is converted."
        )
    return msgspec.structs.replace(spec, price=found.price, price_source=found.source)
