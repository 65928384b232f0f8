"""Every way in which the test server can misbehave, by name.

`FAULTS` holds the faults of an exchange, on an endpoint that can be reached, `STREAM_FAULTS` those
of a reply that comes in pieces; `ENDPOINT_FAULTS` names the ways in which an endpoint cannot be
reached (`MisbehavingServer.endpoint` gives an address for each).
"""

from __future__ import annotations

from perdure.testing.fault import Fault
from perdure.testing.faults_content import CONTENT_FAULTS
from perdure.testing.faults_status import STATUS_FAULTS
from perdure.testing.faults_stream import STREAM_FAULTS
from perdure.testing.faults_transport import TRANSPORT_FAULTS
from perdure.testing.faults_usage import USAGE_FAULTS

__all__ = ["ENDPOINT_FAULTS", "FAULTS", "STREAM_FAULTS"]

FAULTS: dict[str, Fault] = {
    fault.name: fault
    for table in (STATUS_FAULTS, TRANSPORT_FAULTS, CONTENT_FAULTS, USAGE_FAULTS)
    for fault in table
}

ENDPOINT_FAULTS: dict[str, str] = {
    "refused": "nothing listens on the port",
    "unknown_host": "the host name does not resolve",
    "no_tls": "an https address whose server does not speak TLS",
    "connect_stall": "the connection is never accepted",
}
