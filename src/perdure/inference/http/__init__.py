"""Any OpenAI-compatible endpoint, over a connection that is not trusted."""

from __future__ import annotations

from perdure.inference.http.provider import HttpProvider
from perdure.inference.http.settings import HttpSettings

__all__ = ["HttpProvider", "HttpSettings"]
