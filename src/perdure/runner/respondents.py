"""The models of a study, made ready: one provider per model, whatever roles it answers.

Only the providers that a study uses are imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from perdure.base.canonical import hash_hex
from perdure.base.errors import InternalError
from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.limits import Limits
from perdure.inference.provider import Provider
from perdure.inference.retry import RetryPolicy
from perdure.records.study import Endpoint, ModelSpec
from perdure.study.pricing import price_of
from perdure.study.read_models import gives_only_vectors, leading


def host_for(models: Mapping[str, ModelSpec], currency: str) -> InferenceHost:
    """Make the inference host of a run. `models` maps each role to the model that answers it.

    Each model has a patience of its own; what may be in flight, and sent in a minute, is one limit
    for the whole run, that of the leading model. `currency` is the study's: what a provider states
    in another one is not read.

    Raises:
        UsageError: a model cannot be made ready, with the line that mends it.
        KeyOrModelRefusedError: there is no key where the study says it is.

    """
    providers: dict[str, Provider] = {}
    respondents = {}
    for role, spec in models.items():
        identity = hash_hex(spec)
        if identity not in providers:
            providers[identity] = provider_for(spec, currency)
        respondents[role] = Respondent(
            providers[identity], price_of(spec), retry=_patience(spec.endpoint)
        )
    return InferenceHost(respondents, limits=_limits(leading(models).endpoint))


def provider_for(spec: ModelSpec, currency: str) -> Provider:
    """Make the provider of a model. Nothing is sent or loaded yet.

    Raises:
        UsageError: the model cannot be made ready, with the line that mends it.
        KeyOrModelRefusedError: there is no key where the study says it is.

    """
    match spec.pin.provider:
        case "baseline":
            from perdure.inference.baseline import BaselineProvider  # noqa: PLC0415 - only if used

            return BaselineProvider(spec.pin.rule)
        case "http":
            from perdure.inference.http import HttpProvider, HttpSettings  # noqa: PLC0415
            from perdure.inference.http.billing import Billing, states_cost  # noqa: PLC0415

            settings = HttpSettings(
                base_url=spec.endpoint.base_url,
                key_env=spec.endpoint.key_env,
                key_file=spec.endpoint.key_file,
            )
            billing = Billing(
                states_cost=states_cost(spec.endpoint.base_url, spec.price_as, currency),
                is_by_table=spec.price_source is not None,
            )
            return HttpProvider(settings, spec.pin, environment=os.environ, billing=billing)
        case "local" if gives_only_vectors(spec.pin):
            from perdure.inference.local import LocalVectorProvider  # noqa: PLC0415 - only if used

            return LocalVectorProvider(spec.pin.file_sha256)
        case "local":
            from perdure.inference.local import LocalProvider, LocalSettings  # noqa: PLC0415

            return LocalProvider(
                LocalSettings(weights_file=spec.endpoint.weights_file, sha256=spec.pin.file_sha256)
            )
        case other:
            raise InternalError(f"There is no provider {other!r}.")


def _patience(endpoint: Endpoint) -> RetryPolicy:
    return RetryPolicy(
        attempts_max=endpoint.retries_max + 1,
        attempt_s=endpoint.attempt_timeout_s,
        total_s=endpoint.deadline_s,
    )


def _limits(endpoint: Endpoint) -> Limits:
    return Limits(
        in_flight_max=endpoint.concurrency_max,
        requests_per_minute=endpoint.requests_per_minute or None,
        tokens_per_minute=endpoint.tokens_per_minute or None,
    )
