"""From stored bytes to records: one decoder per type, and every failure is a damaged record."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

import msgspec

from perdure.base.errors import DamagedRecordError
from perdure.records.drive import DRIVE_TYPE_OF, DriveLine
from perdure.records.events import TYPE_OF, Payload
from perdure.records.record import Record
from perdure.records.registry import LOG_TYPE_OF, LogPayload
from perdure.trace.failures import undecodable

R = TypeVar("R", bound=Record)

# The tables are closed, so each decoder gives a member of its union.
_EVENT_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(cls) for kind, cls in TYPE_OF.items()
}
_LINE_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(cls) for kind, cls in DRIVE_TYPE_OF.items()
}
_LOG_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(cls) for kind, cls in LOG_TYPE_OF.items()
}


def decode(data: object, cls: type[R], where: str) -> R:
    """Decode bytes as a record.

    Raises:
        DamagedRecordError: they are not one.

    """
    record: R = _decoded(_decoder(cls), data, where)
    return record


def decode_event(kind: str, data: object, world_id: str, seq: int) -> Payload:
    """Decode the payload of an event of a known kind.

    Raises:
        DamagedRecordError: the kind is unknown, or the bytes are not such a payload.

    """
    decoder = _by_kind(_EVENT_DECODERS, kind, world_id, seq)
    payload: Payload = _decoded(decoder, data, world_id, seq)
    return payload


def decode_log(kind: str, data: object, where: str) -> LogPayload:
    """Decode the payload of a row of the run log.

    Raises:
        DamagedRecordError: the kind is unknown, or the bytes are not such a payload.

    """
    payload: LogPayload = _decoded(_by_kind(_LOG_DECODERS, kind, where), data, where)
    return payload


def decode_line(kind: str, data: object, where: str) -> DriveLine:
    """Decode the payload of a line of a drive's ledger.

    Raises:
        DamagedRecordError: the kind is unknown, or the bytes are not such a payload.

    """
    payload: DriveLine = _decoded(_by_kind(_LINE_DECODERS, kind, where), data, where)
    return payload


@cache
def _decoder(cls: type[R]) -> msgspec.json.Decoder[R]:
    return msgspec.json.Decoder(cls)


def _by_kind(
    table: dict[str, msgspec.json.Decoder[Any]], kind: str, *place: str | int
) -> msgspec.json.Decoder[Any]:
    decoder = table.get(kind)
    if decoder is None:
        raise DamagedRecordError(f"No record is of the kind {kind!r}.", where=_where(place))
    return decoder


def _decoded(decoder: msgspec.json.Decoder[Any], data: object, *place: str | int) -> Any:
    if not isinstance(data, bytes):
        raise DamagedRecordError("What is stored is not bytes.", where=_where(place))
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise undecodable(error, _where(place)) from error


def _where(place: Iterable[str | int]) -> str:
    """Name a place in words. Only what is wrong has one: every event that is read comes by here."""
    return ":".join(map(str, place))
