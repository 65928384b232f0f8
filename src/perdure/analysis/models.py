"""Which model answered, and what that means for reading the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from perdure.analysis.costs import CostLine
from perdure.records.record import Record
from perdure.records.scenario import ModelPin
from perdure.records.study import ModelSpec
from perdure.study.read_models import BASELINE, EMBED

STATEMENTS = {
    "baseline": "answers by a declared rule, not a language model",
    "scripted": "answers from a script, not a language model",
}
# What a baseline gives where it gives vectors.
WORDS = "overlap of words, not meaning"
# docs/decisions/003: what is stated wherever the answers of the bundled weights are shown.
TINY = "a very small model; its answers are a test of the machinery, not a finding"
TINY_MODELS = {("local", "smollm2-135m-instruct")}


class ModelUse(Record):
    """One model role: its pin, who answered (by served name, in attempts), and what to know."""

    role: str
    provider: str
    model: str
    served: dict[str, int]
    failed: int
    statement: str


def models_used(specs: Mapping[str, ModelSpec], lines: Iterable[CostLine]) -> tuple[ModelUse, ...]:
    """Say for every role of a study which model answered, by its recorded calls."""
    served: dict[str, Counter[str]] = {role: Counter() for role in specs}
    failed: Counter[str] = Counter()
    for line in lines:
        answered = line.sum.attempts - line.sum.failed
        failed[line.key.role] += line.sum.failed
        if answered:
            names = served.setdefault(line.key.role, Counter())
            names[line.key.served or line.key.model] += answered
    return tuple(
        ModelUse(
            role=role,
            provider=spec.pin.provider,
            model=spec.pin.model,
            served=dict(sorted(served[role].items())),
            failed=failed[role],
            statement=statement(spec.pin.provider, spec.pin.model, role=role),
        )
        for role, spec in specs.items()
    )


def statement(provider: str, model: str, *, role: str = "") -> str:
    """Say what to know of a model's answers, or vectors; empty where there is nothing."""
    if role == EMBED:
        return WORDS if provider == BASELINE else ""
    return TINY if (provider, model) in TINY_MODELS else STATEMENTS.get(provider, "")


def answered_by(specs: Mapping[str, ModelSpec]) -> str:
    """Name the models of a study in one line, and say of each that is none that it is none."""
    spoken = dict.fromkeys(_called(spec.pin, role) for role, spec in specs.items() if role != EMBED)
    vectors = [f"vectors by {_called(specs[EMBED].pin, EMBED)}"] if EMBED in specs else []
    return "; ".join([*spoken, *vectors])


def _called(pin: ModelPin, role: str) -> str:
    called = pin.provider if pin.provider == pin.model else f"{pin.provider} {pin.model}"
    known = statement(pin.provider, pin.model, role=role)
    return f"{called} ({known})" if known else called
