"""Fakes for users' own tests: a scripted model, a clock that does not wait, a loopback endpoint.

`MisbehavingServer` is a real HTTP server that answers like an OpenAI-compatible endpoint, or plays
any fault of `FAULTS` or, where a stream is asked for, of `STREAM_FAULTS`, by name.
"""

from __future__ import annotations

from perdure.inference.scripted import HANG, Delay, ScriptedProvider, wrong_model
from perdure.testing.clock import SkippingClock
from perdure.testing.exchange import Exchange, SeenRequest
from perdure.testing.fault import Fault
from perdure.testing.faults import ENDPOINT_FAULTS, FAULTS, STREAM_FAULTS
from perdure.testing.server import MisbehavingServer, default_responder

__all__ = [
    "ENDPOINT_FAULTS",
    "FAULTS",
    "HANG",
    "STREAM_FAULTS",
    "Delay",
    "Exchange",
    "Fault",
    "MisbehavingServer",
    "ScriptedProvider",
    "SeenRequest",
    "SkippingClock",
    "default_responder",
    "wrong_model",
]
