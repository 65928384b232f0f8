"""Scores of answers that were given again after a run: files of their own, beside its record.

A file of scores is lines of canonical JSON: what is scored and by which anchors; a line per answer,
in the order of the record; what it came to; and last the SHA-256 of all the lines before. It is
born under a temporary name and gets its own when it is whole, and is never changed again.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from perdure.base.canonical import encode
from perdure.base.errors import DamagedRecordError
from perdure.records.outcome import UnscorableCause
from perdure.records.record import Record
from perdure.records.rescore import RescoredAnswer, Rescoring, RescoringEnd
from perdure.trace.failures import translate_os
from perdure.trace.files import make_folder, remove, rename, sync_folder

SCORES_NAME = "scores"
RESCORE_FORMAT = 1

_SUFFIX = ".jsonl"
_BORN = ".new"


class Sealed(Record):
    """The last line of a file of scores: the hash of all lines before it."""

    sha256: str


class Scores(Record):
    """One file of scores, without its answers: what was scored, and what it came to."""

    rescoring: Rescoring
    end: RescoringEnd


def scores_folder(folder: Path) -> Path:
    """Give the place of the scores of a run."""
    return folder / SCORES_NAME


def path_of(folder: Path, score_id: str) -> Path:
    """Give the place of one file of scores."""
    return scores_folder(folder) / f"{score_id}{_SUFFIX}"


class ScoresWriter:
    """Writes one file of scores: what is scored first, then answers, then how it ended."""

    def __init__(self, folder: Path, rescoring: Rescoring) -> None:
        """Begin.

        Raises:
            StorageError: storage failed.

        """
        self._path = path_of(folder, rescoring.id)
        make_folder(self._path.parent)
        self._born = self._path.with_name(self._path.name + _BORN)
        self._hash = hashlib.sha256()
        try:
            self._file: BinaryIO = self._born.open("wb")
        except OSError as error:
            raise translate_os(error, self._born) from error
        self._line(rescoring)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing half-written behind."""
        self._file.close()
        remove(self._born)

    def add(self, answer: RescoredAnswer) -> None:
        """Add the score of the next answer.

        Raises:
            StorageError: storage failed.

        """
        self._line(answer)

    def seal(self, end: RescoringEnd) -> None:
        """Write the end, make all of it durable, and give the file its name.

        Raises:
            StorageError: storage failed.

        """
        self._line(end)
        self._line(Sealed(sha256=self._hash.hexdigest()))
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise translate_os(error, self._born) from error
        rename(self._born, self._path)
        sync_folder(self._path.parent)

    def _line(self, record: Record) -> None:
        line = encode(record) + b"\n"
        self._hash.update(line)
        try:
            self._file.write(line)
        except OSError as error:
            raise translate_os(error, self._born) from error


def all_scores(folder: Path) -> tuple[Scores, ...]:
    """List the scores of a run, in the order of their ids.

    Raises:
        DamagedRecordError: one of them does not hold what was written.
        StorageError: storage failed.

    """
    return tuple(read_scores(folder, score_id) for score_id in score_ids(folder))


def score_ids(folder: Path) -> tuple[str, ...]:
    """List the ids of the scores of a run, in their order."""
    places = scores_folder(folder).glob(f"*{_SUFFIX}")
    return tuple(sorted(place.name.removesuffix(_SUFFIX) for place in places))


def has_scores(folder: Path, score_id: str) -> bool:
    """Say whether a run has a file of scores with this id."""
    return path_of(folder, score_id).is_file()


def lacks_vectors(scores: Scores) -> bool:
    """Say whether some answer has no score for want of vectors: they can be asked for again."""
    return UnscorableCause.NOT_EMBEDDED in scores.end.unscorable


def read_scores(folder: Path, score_id: str) -> Scores:
    """Read what a file of scores is, and check every byte of it.

    Raises:
        DamagedRecordError: it does not hold what was written.
        StorageError: storage failed.

    """
    path = path_of(folder, score_id)
    digest, lines, before, last = hashlib.sha256(), 0, b"", b""
    try:
        with path.open("rb") as file:
            first = file.readline()
            digest.update(first)
            for line in file:
                if last:
                    digest.update(last)
                before, last, lines = last, line, lines + 1
    except OSError as error:
        raise translate_os(error, path) from error
    try:
        rescoring = msgspec.json.decode(first, type=Rescoring)
        end = msgspec.json.decode(before, type=RescoringEnd)
        sealed = msgspec.json.decode(last, type=Sealed)
    except msgspec.MsgspecError as error:
        raise _damaged(path, f"it cannot be read ({error})") from error
    if sealed.sha256 != digest.hexdigest() or not last.endswith(b"\n"):
        raise _damaged(path, "its bytes are not those that were sealed")
    if rescoring.id != score_id or end.answers != lines - 2:
        raise _damaged(path, "its lines are not those of this id, or not as many as it says")
    return Scores(rescoring=rescoring, end=end)


def answers_of(folder: Path, score_id: str, start: int | None = None) -> Iterator[RescoredAnswer]:
    """Go through the answers of a file of scores that was checked, in the order of the record.

    From the byte `start` on, if that is given.

    Raises:
        DamagedRecordError: a line is no score.
        StorageError: storage failed.

    """
    return (answer for _, answer in _placed(folder, score_id, start))


def begins_of(folder: Path, score_id: str) -> dict[str, int]:
    """Give the byte at which the answers of each world begin, in a file that was checked.

    Raises:
        DamagedRecordError: a line is no score.
        StorageError: storage failed.

    """
    begins: dict[str, int] = {}
    for place, answer in _placed(folder, score_id, None):
        begins.setdefault(answer.world, place)
    return begins


def _placed(folder: Path, score_id: str, start: int | None) -> Iterator[tuple[int, RescoredAnswer]]:
    path = path_of(folder, score_id)
    decoder = msgspec.json.Decoder(RescoredAnswer)
    held: deque[tuple[int, bytes]] = deque()
    try:
        with path.open("rb") as file:
            place = len(file.readline())
            if start is not None:
                place = file.seek(start)
            for line in file:
                held.append((place, line))
                place += len(line)
                # The last two lines are none of the answers.
                if len(held) > 2:  # noqa: PLR2004
                    at, answer = held.popleft()
                    yield at, decoder.decode(answer)
    except OSError as error:
        raise translate_os(error, path) from error
    except msgspec.MsgspecError as error:
        raise _damaged(path, f"a line is no score ({error})") from error


def _damaged(path: Path, why: str) -> DamagedRecordError:
    return DamagedRecordError(
        f"A file of scores is not what was written: {why}.",
        where=f"{SCORES_NAME}/{path.name}",
        remedy="The run's record is not touched by it. Remove the file, and score again.",
    )
