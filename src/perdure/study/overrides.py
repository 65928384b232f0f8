"""What the command line changes in a study before it is run."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from perdure.base.errors import UsageError
from perdure.records.record import Record
from perdure.records.scenario import ModelPin
from perdure.records.study import ModelSpec, PopulationSpec
from perdure.study import files, schema
from perdure.study.findings import quoted, suggestion
from perdure.study.money_flags import price_as_given, price_given
from perdure.study.read_models import (
    BASELINE,
    EMBED,
    HTTP,
    LOCAL,
    LOCAL_ENDPOINT,
    LOCAL_MODEL,
    LOCAL_SHA256,
    LOCAL_VECTORS,
    LOCAL_VECTORS_SHA256,
    floating,
    gives_only_vectors,
    serves_only_vectors,
)

_WEIGHTS_BYTES_MAX = 1 << 40


class Overrides(Record):
    """The flags that change a study. Only they may name files outside the study's folder."""

    n: int | None = None
    model: str = ""
    base_url: str = ""
    model_name: str = ""
    key_env: str = ""
    key_file: str = ""
    weights: str = ""
    price: str = ""
    price_as: str = ""
    budget: str = ""

    def flags(self) -> dict[str, str]:
        """Name the flags that were given, as on the command line, with their values."""
        given = msgspec.to_builtins(self)
        return {"--" + key.replace("_", "-"): str(value) for key, value in given.items()}

    @classmethod
    def of_flags(cls, flags: dict[str, str]) -> Overrides:
        """Read back what `flags` named, as a record of a run holds it. Others are passed over.

        Raises:
            UsageError: a value is not what its flag takes.

        """
        given = {key[2:].replace("-", "_"): value for key, value in flags.items()}
        known = {key: value for key, value in given.items() if key in cls.__struct_fields__}
        try:
            return msgspec.convert(known, cls, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"The flags of the run cannot be read: {error}.") from error


def drawn(population: PopulationSpec, overrides: Overrides) -> PopulationSpec:
    """Apply `--n`.

    Raises:
        UsageError: it is not a possible number of people.

    """
    if overrides.n is None:
        return population
    if not 1 <= overrides.n <= schema.DRAW_MAX:
        raise UsageError(
            f"--n {overrides.n} is not a possible number of people.",
            remedy=f"Give a number from 1 to {schema.DRAW_MAX}.",
        )
    return msgspec.structs.replace(population, draw=overrides.n)


def chosen(
    models: dict[str, ModelSpec], roles: dict[str, str], overrides: Overrides
) -> dict[str, ModelSpec]:
    """Choose the model of each role, with the flags applied to those that speak.

    The model that gives vectors, if there is one, stays the study's own: another one would put
    other texts near each other, whoever speaks.

    Raises:
        UsageError: a flag names no model, does not fit the chosen one, or one is missing.

    """
    speaking = {role: name for role, name in roles.items() if role != EMBED}
    if overrides.model:
        spec = _named(models, roles, overrides.model)
        picked = dict.fromkeys(speaking, spec)
    else:
        picked = {role: models[name] for role, name in speaking.items()}
    changed = {role: _applied(spec, overrides) for role, spec in picked.items()}
    _check_used(changed, overrides)
    for spec in changed.values():
        _check_complete(spec)
    return {**changed, EMBED: models[roles[EMBED]]} if EMBED in roles else changed


def for_speech(overrides: Overrides) -> ModelSpec:
    """Make the model that flags alone describe, without a study, which speaks.

    Raises:
        UsageError: they describe none, or one of them means nothing for it.

    """
    name = overrides.model or (HTTP if overrides.base_url else "")
    if name not in (HTTP, LOCAL):
        given = f"--model {quoted(name)} is none to speak." if name else "No model is given."
        raise UsageError(given, remedy="Give --model http with --base-url, or --model local.")
    spec = _applied(_named({}, {}, name), overrides)
    _check_used({"tier_a": spec}, overrides)
    _check_complete(spec)
    return spec


def for_vectors(overrides: Overrides) -> ModelSpec:
    """Make the model of vectors that flags alone describe, without a study.

    Raises:
        UsageError: they describe none, or one of them means nothing for it.

    """
    name = overrides.model or (HTTP if overrides.base_url else "")
    known = {
        BASELINE: ModelSpec(pin=ModelPin(provider=BASELINE, model=BASELINE)),
        HTTP: ModelSpec(pin=ModelPin(provider=HTTP, model="")),
        LOCAL: ModelSpec(
            pin=ModelPin(provider=LOCAL, model=LOCAL_VECTORS, file_sha256=LOCAL_VECTORS_SHA256),
            endpoint=LOCAL_ENDPOINT,
        ),
    }
    if name not in known:
        given = f"--model {quoted(name)} is no model of vectors." if name else "No model is given."
        raise UsageError(given, remedy=f"Give --study, or --model with {', '.join(known)}.")
    spec = _applied(known[name], overrides)
    _check_used({EMBED: spec}, overrides)
    _check_complete(spec)
    return spec


def _named(models: dict[str, ModelSpec], roles: dict[str, str], name: str) -> ModelSpec:
    if name in models:
        if models[name].pin.provider == BASELINE and models[name].pin.rule is None:
            raise UsageError(
                f"--model {quoted(name)} is a baseline without a rule.",
                remedy="Write `rule:` in the study, or choose a model that speaks.",
            )
        if gives_only_vectors(models[name].pin):
            raise UsageError(
                f"--model {quoted(name)} gives vectors and does not speak.",
                remedy="Choose a model that speaks.",
            )
        return models[name]
    # A model for vectors is none that could have been meant to speak.
    of_provider = [
        spec
        for key, spec in models.items()
        if spec.pin.provider == name
        and not serves_only_vectors(key, roles)
        and not gives_only_vectors(spec.pin)
    ]
    if len(of_provider) == 1:
        return of_provider[0]
    if name == HTTP:
        return ModelSpec(pin=ModelPin(provider=HTTP, model=""))
    if name == LOCAL:
        pin = ModelPin(provider=LOCAL, model=LOCAL_MODEL, file_sha256=LOCAL_SHA256)
        return ModelSpec(pin=pin, endpoint=LOCAL_ENDPOINT)
    if name == BASELINE:
        raise UsageError(
            "--model baseline needs a declared rule, and the study has none.",
            remedy="Add a model with `provider: baseline` and a `rule` to the study.",
        )
    known = dict.fromkeys((*models, BASELINE, HTTP, LOCAL))
    raise UsageError(
        f"--model {quoted(name)} is not a model of the study.", remedy=suggestion(name, known)
    )


def _applied(spec: ModelSpec, overrides: Overrides) -> ModelSpec:
    if spec.pin.provider == HTTP:
        return _http(spec, overrides)
    if spec.pin.provider == LOCAL and overrides.weights:
        return _local(spec, overrides.weights)
    return spec


def _http(spec: ModelSpec, overrides: Overrides) -> ModelSpec:
    pin = spec.pin
    price, price_as, bound = spec.price, spec.price_as, spec.price_bound
    if overrides.model_name and overrides.model_name != pin.model:
        if floating(overrides.model_name):
            raise UsageError(
                f"--model-name {quoted(overrides.model_name)} can mean another model tomorrow.",
                remedy="Give the exact name of one version.",
            )
        # Another model's served names and price say nothing about this one.
        pin = ModelPin(provider=HTTP, model=overrides.model_name)
        price, price_as, bound = None, "", None
    if overrides.price:
        price, price_as, bound = price_given(overrides.price), "", None
    if overrides.price_as:
        price, price_as, bound = None, price_as_given(overrides.price_as), None
    endpoint = msgspec.structs.replace(
        spec.endpoint,
        base_url=overrides.base_url or spec.endpoint.base_url,
        key_env=overrides.key_env or ("" if overrides.key_file else spec.endpoint.key_env),
        key_file=overrides.key_file,
    )
    return ModelSpec(pin=pin, endpoint=endpoint, price=price, price_as=price_as, price_bound=bound)


def _local(spec: ModelSpec, weights: str) -> ModelSpec:
    path = Path(weights)
    try:
        with files.open_named(path, _WEIGHTS_BYTES_MAX) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (files.RefusedFileError, OSError) as error:
        reason = error if isinstance(error, files.RefusedFileError) else "cannot be read"
        raise UsageError(f"--weights {quoted(weights)} {reason}.") from error
    return ModelSpec(
        pin=ModelPin(provider=LOCAL, model=path.name, file_sha256=digest),
        endpoint=msgspec.structs.replace(spec.endpoint, weights_file=str(path.absolute())),
        price=spec.price,
        price_bound=spec.price_bound,
    )


def _check_used(specs: dict[str, ModelSpec], overrides: Overrides) -> None:
    providers = {spec.pin.provider for spec in specs.values()}
    rows = (
        ("--base-url", overrides.base_url, HTTP),
        ("--model-name", overrides.model_name, HTTP),
        ("--key-env", overrides.key_env, HTTP),
        ("--key-file", overrides.key_file, HTTP),
        ("--weights", overrides.weights, LOCAL),
        ("--price", overrides.price, HTTP),
        ("--price-as", overrides.price_as, HTTP),
    )
    for flag, value, provider in rows:
        if value and provider not in providers:
            raise UsageError(
                f"{flag} means nothing for the chosen model.",
                remedy=f"Add --model {provider}, or leave {flag} out.",
            )
    if overrides.key_env and overrides.key_file:
        raise UsageError("--key-env and --key-file are both given.", remedy="Give one of them.")
    if overrides.price and overrides.price_as:
        raise UsageError("--price and --price-as are both given.", remedy="Give one of them.")


def _check_complete(spec: ModelSpec) -> None:
    if spec.pin.provider != HTTP:
        return
    if not spec.endpoint.base_url:
        raise UsageError(
            "The chosen model has no address.",
            remedy="Give --base-url, or write `base_url` in the study.",
        )
    if not schema.ADDRESS.fits(spec.endpoint.base_url):
        raise UsageError("--base-url is not an address.", remedy=f"Give {schema.ADDRESS.shown}.")
    if not spec.pin.model:
        raise UsageError(
            "The chosen model has no name.",
            remedy="Give --model-name, or write `model` in the study.",
        )
