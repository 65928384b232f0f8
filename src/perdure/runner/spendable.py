"""Whether a run may begin to spend: who is drawn passes the gates, and prices are known.

Or the study accepts what is not so, in so many words. No call is dear unasked either. Pure. Nothing
has been created or sent when it is refused.
"""

from __future__ import annotations

import dataclasses
from importlib.metadata import version

from perdure.base.errors import InvalidStudyError, UsageError
from perdure.base.money import show
from perdure.inference.prices import Priced
from perdure.population.communities import LIBRARY
from perdure.population.gates import refusals
from perdure.records.population import Population
from perdure.records.study import Study
from perdure.runner.config import RunConfig
from perdure.study.forecast import DEAR, call_costs, kinds_called


def require_spendable(config: RunConfig, priced: Priced, *, begun: bool) -> RunConfig:
    """Give the run as asked, with its prices.

    A run that has begun was allowed its people and its calls, and is not asked again.

    Raises:
        InvalidStudyError: a model has no price, and the study does not accept unknown spend; or a
            gate of the draw fails, and the study does not accept that.
        UsageError: a typical call is dear, and that was not allowed.

    """
    problems = priced.problems(config.study_path)
    if not begun:
        problems += refusals(config.population.manifest, config.study_path)
    if problems:
        raise InvalidStudyError(problems)
    if not begun and not config.allow_dear_calls:
        _require_cheap_calls(priced.study)
    return dataclasses.replace(config, study=priced.study)


def tables_used(study: Study) -> dict[str, str]:
    """List the tables in which a study's prices were looked up, with their versions."""
    sources = [spec.price_source for spec in study.models.values()]
    return {source.table: source.version for source in sources if source is not None}


def graph_library(population: Population) -> dict[str, str]:
    """Name the library that found the communities of a graph, with its version."""
    graph = population.manifest.graph
    return {LIBRARY: version(LIBRARY)} if graph is not None and graph.communities else {}


def _require_cheap_calls(study: Study) -> None:
    called = kinds_called(study)
    for (role, purpose), (typical, _) in call_costs(study).items():
        if (role, purpose) in called and typical is not None and typical > DEAR:
            raise UsageError(
                f"A typical call of {study.models[role].pin.model} ({role}, {purpose}) costs "
                f"{show(typical, study.currency)}.",
                remedy="Is the price per million tokens? If it is right, give --allow-dear-calls.",
            )
