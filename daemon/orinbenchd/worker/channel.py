"""The daemon's end of the socket pair: frames of 4 bytes length, big-endian, and one protobuf message."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct

from google.protobuf.message import DecodeError
from orinbench.internal.v1 import worker_pb2

_LENGTH = struct.Struct(">I")
MAX_FRAME = 8 << 20
# How long the worker may take to read what is on its way when the channel is closed.
_CLOSE_S = 0.5


class Nonsense(Exception):
    """The worker sent something that is not a message."""


class Channel:
    """Sends ToWorker, receives FromWorker."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, sock: socket.socket) -> Channel:
        """Take over one end of a socket pair."""
        return cls(*await asyncio.open_unix_connection(sock=sock, limit=MAX_FRAME))

    async def receive(self) -> worker_pb2.FromWorker | None:
        """Return the next message, or None when the worker has closed its end. Raises Nonsense."""
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(4))
            if length > MAX_FRAME:
                raise Nonsense(f"a frame of {length} bytes (at most {MAX_FRAME})")
            frame = await self._reader.readexactly(length)
            return worker_pb2.FromWorker.FromString(frame)
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise Nonsense(f"{len(error.partial)} bytes and then the end, in the middle of a frame") from None
            return None
        except ConnectionError:
            return None
        except DecodeError as error:
            raise Nonsense(f"a frame that is no message ({error})") from None

    def send(self, message: worker_pb2.ToWorker) -> None:
        """Queue a message; the worker may be gone already, which `receive` will tell."""
        data = message.SerializeToString()
        self._writer.write(_LENGTH.pack(len(data)) + data)

    async def close(self) -> None:
        """Close this end: the worker exits when it sees that. What one that does not read has not taken is dropped."""
        self._writer.close()
        closed = asyncio.ensure_future(self._writer.wait_closed())
        if not (await asyncio.wait({closed}, timeout=_CLOSE_S))[0]:
            self.abort()
        with contextlib.suppress(OSError):
            await closed

    def abort(self) -> None:
        """Close this end at once."""
        self._writer.transport.abort()
