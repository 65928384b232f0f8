"""A study whose scale is scored by likeness, with vectors that can be worked out by hand."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import msgspec
from tests.support.town import town

from perdure.records.anchors import Anchors
from perdure.records.persona import Choice
from perdure.records.request import EmbedRequest, Failure, Vectors
from perdure.records.scenario import Question, QuestionType, Scoring, Similarity
from perdure.runner.config import RunConfig
from perdure.testing import ScriptedProvider

POINTS = ("no", "maybe", "yes")
ANCHORS = Anchors(
    construct="will",
    version="1",
    points=POINTS,
    sets=(("I never will.", "I may.", "I surely will."), ("No.", "Perhaps.", "Yes.")),
    ladder=(("Not at all.",), ("It depends.",), ("With joy.",)),
)
OTHERS = msgspec.structs.replace(
    ANCHORS, version="2", sets=(*ANCHORS.sets, ("Count me out.", "Who knows.", "Count me in."))
)
WILL = Question(
    id="will",
    text="Will you?",
    choices=tuple(Choice(id=point, label=point) for point in POINTS),
    type=QuestionType.LIKERT,
    scoring=Scoring.SIMILARITY,
    similarity=Similarity(anchors="will"),
)
SAID = ("I never would.", "Maybe so.", "Gladly, yes.", "4", "As an AI I cannot answer.", " ")


def vector_of(text: str) -> tuple[float, ...]:
    """Make a vector of a text: eight numbers from its hash, none of them zero."""
    return tuple((byte + 1) / 256 for byte in hashlib.sha256(text.encode()).digest()[:8])


def vectors(request: EmbedRequest) -> Vectors | Failure:
    """Answer a request for vectors."""
    return Vectors(vectors=tuple(map(vector_of, request.texts)), served="scripted")


def said_by(persona: str) -> str:
    """Say what a persona answers."""
    return SAID[int(hashlib.sha256(persona.encode()).hexdigest(), 16) % len(SAID)]


def rated_town(personas: int = 12, **changes: Any) -> RunConfig:
    """Make the run of a town that is asked at two waves whether it will."""
    scenario = {"waves": (0, 2), "wave_question": "will", "horizon": 3, "exposures": {}}
    config = town(personas, scenarios=(scenario,), embeds=True, **changes)
    study = msgspec.structs.replace(
        config.study,
        questions=(*config.study.questions, WILL),
        anchors={"will": ANCHORS},
    )
    return dataclasses.replace(config, study=study)


def provider(embed: Any = vectors) -> ScriptedProvider:
    """Make the model that speaks for everybody, and gives vectors."""

    def answer(request: Any) -> str:
        return said_by(request.facts.persona)

    return ScriptedProvider(answer, vectors=embed)
