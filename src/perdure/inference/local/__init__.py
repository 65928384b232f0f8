"""Models on this machine: one that speaks, one of vectors. Importing this loads nothing heavy."""

from __future__ import annotations

from perdure.inference.local.provider import LocalProvider
from perdure.inference.local.settings import LocalSettings
from perdure.inference.local.vector_files import VectorFiles, check_vectors, vectors_fetch_line
from perdure.inference.local.vector_provider import LocalVectorProvider
from perdure.inference.local.weights import Weights, check_local, fetch_line

__all__ = [
    "LocalProvider",
    "LocalSettings",
    "LocalVectorProvider",
    "VectorFiles",
    "Weights",
    "check_local",
    "check_vectors",
    "fetch_line",
    "vectors_fetch_line",
]
