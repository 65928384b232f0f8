"""Fakes for users' own tests: a loopback endpoint that answers well or misbehaves on request."""

from __future__ import annotations

from perdure.testing.exchange import Exchange, SeenRequest
from perdure.testing.fault import Fault
from perdure.testing.faults import ENDPOINT_FAULTS, FAULTS
from perdure.testing.server import MisbehavingServer, default_responder

__all__ = [
    "ENDPOINT_FAULTS",
    "FAULTS",
    "Exchange",
    "Fault",
    "MisbehavingServer",
    "SeenRequest",
    "default_responder",
]
