"""Frames between daemon and worker: 4 bytes of length, big-endian, then one serialised message.

Importable on its own, so that a script can play either end.
"""

from __future__ import annotations

import socket
import struct
from typing import Generic, TypeVar

from google.protobuf.message import DecodeError, Message
from orinbench.internal.v1.worker_pb2 import FromWorker, ToWorker

PROTOCOL_VERSION = 1
MAX_FRAME = 8 << 20

_LENGTH = struct.Struct(">I")

M = TypeVar("M", bound=Message)


class ProtocolError(Exception):
    """The other end sent something that is not a frame of this protocol."""


class Channel(Generic[M]):
    """One end of the socket pair. One thread may send while another receives.

    `receives` is the message type that the other end sends: ToWorker in a worker, FromWorker in a daemon.
    """

    def __init__(self, sock: socket.socket, receives: type[M]) -> None:
        self._socket = sock
        self._receives = receives
        self._file = sock.makefile("rb")

    def send(self, *messages: Message) -> None:
        """Send the messages in order with one system call. Raises ProtocolError (too big), OSError (peer gone)."""
        self._socket.sendall(b"".join(map(_frame, messages)))

    def receive(self) -> M | None:
        """Wait for the next message; None when the other end is gone. Raises ProtocolError."""
        try:
            return self._read()
        except OSError:
            return None

    def finish(self) -> None:
        """Say that nothing more will be sent: the other end reads an end of file."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close this end."""
        self._file.close()
        self._socket.close()

    def _read(self) -> M | None:
        header = self._file.read(_LENGTH.size)
        if not header:
            return None
        if len(header) < _LENGTH.size:
            raise ProtocolError("the stream ended inside a frame's length")
        (length,) = _LENGTH.unpack(header)
        if not 0 < length <= MAX_FRAME:
            raise ProtocolError(f"a frame of {length} bytes: it must have 1 to {MAX_FRAME}")
        body = self._file.read(length)
        if len(body) < length:
            raise ProtocolError(f"the stream ended inside a frame: {len(body)} of {length} bytes")
        return self._parse(body)

    def _parse(self, body: bytes) -> M:
        try:
            message = self._receives.FromString(body)
        except DecodeError:
            raise ProtocolError(f"a frame of {len(body)} bytes is not a {self._receives.__name__}") from None
        if message.WhichOneof("message") is None:
            raise ProtocolError(f"a {self._receives.__name__} without a message that is known here")
        return message


def worker_channel(sock: socket.socket) -> Channel[ToWorker]:
    """Return the worker's end."""
    return Channel(sock, ToWorker)


def daemon_channel(sock: socket.socket) -> Channel[FromWorker]:
    """Return the daemon's end."""
    return Channel(sock, FromWorker)


def _frame(message: Message) -> bytes:
    body = message.SerializeToString()
    if not 0 < len(body) <= MAX_FRAME:
        raise ProtocolError(f"a message of {len(body)} bytes does not fit a frame of 1 to {MAX_FRAME}")
    return _LENGTH.pack(len(body)) + body
