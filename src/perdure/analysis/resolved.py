"""A figure of a report found by its address: its values, why some are missing, what it rests on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from perdure.analysis.address import FILTERS, KINDS, Address, address
from perdure.analysis.addressed import figures
from perdure.analysis.addressing import Figure, Path, value_at
from perdure.analysis.evidence import Narrow, Part, Spent
from perdure.analysis.report import Report
from perdure.analysis.run_figures import NO_NAME
from perdure.analysis.unmeasured import Gap
from perdure.base.errors import UsageError
from perdure.records.study import Study
from perdure.study.findings import quoted

_LISTED_MAX = 8
_WHY = frozenset({"why", "unmeasured", "no_interval", "no_groups", "no_bins", "cause"})


class Resolved(NamedTuple):
    """A figure by its address, with what it is narrowed to.

    `values` are by place in the report. `reasons` say of places why something is not measured, or
    of the whole where the place is empty.
    """

    figure: Figure
    narrow: Narrow
    values: tuple[tuple[str, object], ...]
    reasons: tuple[tuple[str, str], ...]


def resolve(report: Report, study: Study, wanted: Address) -> Resolved:
    """Find a figure of a report.

    Raises:
        UsageError: it has no such figure; names the nearest that it has.

    """
    narrow = Narrow(**{k: v for k, v in wanted.filters.items() if k in FILTERS})
    own = {k: v for k, v in wanted.filters.items() if k not in FILTERS}
    name = address(*wanted.path, **own)
    known = {one.address: one for one in figures(report)}
    figure = known.get(name) or _summed(report, wanted, own) or _unreached(report, study, wanted)
    if figure is None:
        raise _unknown(wanted, name, known)
    places = [(path, value_at(report, path)) for path in figure.at]
    values = list(_narrowed(places, narrow))
    found = list(_reasons(values))
    if not figure.at:
        found.append(("", figure.how))
    elif not values:
        found.append(
            ("", f"The report has no value for {_said(narrow)} alone; its events are these.")
        )
    return Resolved(
        figure=figure,
        narrow=narrow,
        values=tuple((_pointer(path), value) for path, value in values),
        reasons=tuple(dict.fromkeys(found)),
    )


def _summed(report: Report, wanted: Address, own: Mapping[str, str]) -> Figure | None:
    """Give costs by several keys at once, of which a report has no sum."""
    if wanted.path != ("costs",) or not own:
        return None
    keys = tuple((name, "" if value == NO_NAME else value) for name, value in own.items())
    return Figure(
        address("costs", **own),
        "Cost events by several keys.",
        "The report has no sum by these keys; its events are these.",
        (),
        (
            Part(
                "attempts",
                "every attempt",
                Spent(keys),
                tuple(one.world_id for one in report.worlds),
            ),
        ),
    )


def _unreached(report: Report, study: Study, wanted: Address) -> Figure | None:
    """Say of what a study asks for and no world has reached that it is not measured."""
    scenarios = {one.id: one for one in study.scenarios}
    kind, *keys = wanted.path
    if kind not in {"answers", "beliefs"} or len(keys) not in {3, 4} or keys[1] not in scenarios:
        return None
    names = {one.id for one in (study.questions if kind == "answers" else study.brief.claims)}
    tick = keys[2]
    if keys[0] not in names or not tick.isdecimal():
        return None
    if int(tick) >= scenarios[keys[1]].horizon or len(keys) == 4:  # noqa: PLR2004 - with a choice
        return None
    mine = [one for one in report.worlds if one.scenario == keys[1]]
    behind = [one for one in mine if one.tick < int(tick)]
    stand = "; ".join(
        f"world {one.world_id} {one.state.replace('_', ' ')} with {one.tick + 1} of {one.horizon} "
        f"ticks closed"
        for one in mine[:_LISTED_MAX]
    )
    why = "no world has closed this tick" if len(behind) == len(mine) else "nobody was asked there"
    return Figure(
        wanted.text,
        f"Not measured, which is not zero: {why}.",
        f"There is: {stand}.",
        (),
    )


def _unknown(wanted: Address, name: str, known: Iterable[str]) -> UsageError:
    mine = [one for one in known if one.partition("?")[0].partition("/")[0] == wanted.kind]
    near = difflib.get_close_matches(name[:200], mine[:2000], n=1, cutoff=0.5)
    parts = [f"Did you mean `{near[0]}`?"] if near else []
    begun = [one for one in mine if one.startswith(f"{name}/")]
    listed = begun or ([] if near else mine)
    if listed:
        more = "" if len(listed) <= _LISTED_MAX else f", and {len(listed) - _LISTED_MAX:,} more"
        parts.append(f"There is {', '.join(listed[:_LISTED_MAX])}{more}.")
    if not mine:
        parts.append(f"This report has none of {wanted.kind}. There are also {', '.join(KINDS)}.")
    return UsageError(
        f"{quoted(name)} is no figure of this run. Its kind is written {KINDS[wanted.kind]}.",
        where="ID",
        remedy=" ".join(parts),
    )


_Placed = tuple[Path, object]


def _narrowed(places: Iterable[_Placed], narrow: Narrow) -> Iterator[_Placed]:
    """Keep of values the parts that are of one seed, world or group alone, if that is wanted."""
    if narrow.persona:
        return
    for path, value in places:
        kept: list[_Placed] = [(path, value)]
        for fields, wanted in (
            (("seed",), narrow.seed),
            (("world_id",), narrow.world),
            (("group", "label"), narrow.group),
        ):
            if wanted:
                kept = [one for place, inner in kept for one in _with(place, inner, fields, wanted)]
        yield from kept


def _with(path: Path, value: object, fields: Sequence[str], wanted: str) -> Iterator[_Placed]:
    if isinstance(value, msgspec.Struct):
        if any(str(getattr(value, field, "")) == wanted for field in fields):
            yield path, value
            return
        for name in value.__struct_fields__:
            yield from _with((*path, name), getattr(value, name), fields, wanted)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _with((*path, str(name)), inner, fields, wanted)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for place, inner in enumerate(value):
            yield from _with((*path, place), inner, fields, wanted)


def _reasons(places: Iterable[_Placed]) -> Iterator[tuple[str, str]]:
    """Find every reason that values give for what they have not."""
    for path, value in places:
        if isinstance(value, msgspec.Struct):
            for name in value.__struct_fields__:
                inner = getattr(value, name)
                if isinstance(value, Gap) and name == "cause":
                    continue
                if name in _WHY and isinstance(inner, str):
                    if inner:
                        yield _pointer((*path, name)), inner
                else:
                    yield from _reasons([((*path, name), inner)])
        elif isinstance(value, Mapping):
            yield from _reasons(((*path, str(name)), inner) for name, inner in value.items())
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield from _reasons(((*path, n), inner) for n, inner in enumerate(value))


def _pointer(path: Path) -> str:
    return "/".join(map(str, path))


def _said(narrow: Narrow) -> str:
    return ", ".join(f"{name} {value}" for name, value in narrow._asdict().items() if value)
