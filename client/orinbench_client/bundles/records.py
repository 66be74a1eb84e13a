"""records.bin: a run's records verbatim, each as seq (8 bytes big-endian), length (4 bytes big-endian), body.

The framing is that of the run's digest: SHA-256 over the frames of every record before `finished`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from orinbench_client.errors import BadInput

_HEAD = struct.Struct(">QI")
#: No body is larger; a length above it is damage, not a record.
MAX_BODY = 64 << 20


class Frame(NamedTuple):
    """One record as received: its seq and the bytes of its body."""

    seq: int
    body: bytes


def pack(frame: Frame) -> bytes:
    """Return a frame as it is stored and hashed."""
    return _HEAD.pack(frame.seq, len(frame.body)) + frame.body


def read_frames(path: Path) -> Iterator[Frame]:
    """Yield the records of a whole file. Raises BadInput for a gap in seq, a cut or damaged file."""
    try:
        with path.open("rb") as file:
            expected = 1
            while (frame := _read_frame(file)) is not None:
                if frame.seq != expected:
                    raise BadInput(f"{path}: record {frame.seq} where {expected} should be: a damaged file")
                expected += 1
                yield frame
            if file.read(1):
                raise BadInput(f"{path}: cut short after record {expected - 1}: fetch the run again")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None


def _read_frame(file: BinaryIO) -> Frame | None:
    """Return the next whole record, or None with the file at the beginning of what is no whole record."""
    start = file.tell()
    head = file.read(_HEAD.size)
    if len(head) == _HEAD.size:
        seq, length = _HEAD.unpack(head)
        body = file.read(length) if length <= MAX_BODY else b""
        if len(body) == length:
            return Frame(seq, body)
    file.seek(start)
    return None


class RecordDigest:
    """The digest of a run, and how many records are in it."""

    def __init__(self) -> None:
        self._state = hashlib.sha256()
        self.count = 0

    def add(self, frame: Frame) -> None:
        """Take in the next record."""
        self._state.update(pack(frame))
        self.count += 1

    @property
    def value(self) -> str:
        """The digest so far."""
        return "sha256:" + self._state.hexdigest()


class RecordLog:
    """A file of records that grows: what follows a run keeps its place in it over a kill.

    Opening one that is there drops a torn last record and goes on behind the last whole one: ask for records after
    `last_seq`. Records that are there already are skipped, a gap raises BadInput, and so does a second writer.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self.path = path
        self.last_seq = 0
        self._file = path.open("r+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise BadInput(f"{path}: another process writes it: follow the run there, or into another folder") from None
        end = 0
        while (frame := _read_frame(self._file)) is not None and frame.seq == self.last_seq + 1:
            self.last_seq = frame.seq
            end = self._file.tell()
        self._file.truncate(end)
        self._file.seek(end)

    def append(self, frames: Iterable[Frame]) -> None:
        """Append records and flush them to the disk together: give a page at a time."""
        for frame in frames:
            if frame.seq <= self.last_seq:
                continue
            if frame.seq != self.last_seq + 1:
                raise BadInput(f"{self.path}: record {frame.seq} follows {self.last_seq}: records are missing")
            self._file.write(pack(frame))
            self.last_seq = frame.seq
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; what was appended is on the disk."""
        self._file.close()
