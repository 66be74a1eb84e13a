"""Talks to `orinbench-power`, the root helper, over its Unix socket.

One JSON line asks, one JSON line answers. A connection that changed something is a lease: when it ends, in
whatever way, the helper puts back what was changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

#: Longest answer taken: the list of GPU clients of a busy board is far shorter.
_ANSWER_LIMIT = 4 * 1024 * 1024

#: nvpmodel and jetson_clocks take seconds; the helper gives up on them before this.
_DEADLINE_S = 90.0


class HelperError(Exception):
    """The helper refused or is not there. `code` is for programs: `reboot-needed`, `busy`, `unreachable` …"""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class HelperConnection:
    """One connection to the helper; closing it ends the lease it may hold."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, socket: Path) -> HelperConnection:
        """Connect. Raises HelperError (`unreachable`)."""
        try:
            reader, writer = await asyncio.open_unix_connection(str(socket), limit=_ANSWER_LIMIT)
        except OSError as error:
            reason = error.strerror or str(error)
            raise HelperError("unreachable", f"the power helper at {socket} does not answer: {reason}") from None
        return cls(reader, writer)

    async def call(self, verb: str) -> dict[str, Any]:
        """Ask one verb; return the answer. Raises HelperError."""
        async with self._turn:
            try:
                self._writer.write(json.dumps({"verb": verb}).encode() + b"\n")
                await self._writer.drain()
                line = await asyncio.wait_for(self._reader.readline(), _DEADLINE_S)
                answer = json.loads(line) if line else {"code": "unreachable", "message": "it hung up"}
            except (OSError, ValueError, asyncio.TimeoutError) as error:
                raise HelperError("unreachable", f"the power helper broke off at {verb}: {error}") from None
        if not isinstance(answer, dict) or not answer.get("ok"):
            raise HelperError(str(answer.get("code", "error")), str(answer.get("message", answer)))
        return answer

    async def lines(self, verb: str) -> asyncio.StreamReader:
        """Ask a streaming verb; return the stream of its lines."""
        self._writer.write(json.dumps({"verb": verb}).encode() + b"\n")
        await self._writer.drain()
        return self._reader

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


async def ask(socket: Path, verb: str) -> dict[str, Any]:
    """Ask one verb that changes nothing, on a connection of its own. Raises HelperError."""
    connection = await HelperConnection.open(socket)
    try:
        return await connection.call(verb)
    finally:
        await connection.close()
