"""The door: one JSON line asks, one answers. A connection that changed something is a lease on the board."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from orinbench_power import programs
from orinbench_power.control import Control, ControlError
from orinbench_power.peers import Peer, may_talk, peer_of

#: The longest request is `{"verb": "set-top-mode"}`: anything much longer is not meant for us.
REQUEST_LIMIT = 128

#: One daemon needs three (lease, question, tegrastats); more is somebody playing.
CONNECTION_LIMIT = 16

TEGRASTATS_INTERVAL_MS = 500

_log = logging.getLogger("orinbench-power")

Answer = dict[str, Any]


class RefusedError(Exception):
    """A request that is refused; the connection ends. `code` is for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Server:
    """Serves the verbs of `control` to members of `group`; one connection at a time may change the board."""

    def __init__(self, control: Control, root: Path, group: int) -> None:
        self._control = control
        self._root = root
        self._group = group
        self._turn = asyncio.Lock()
        self._controller: Connection | None = None
        self._open: dict[Connection, asyncio.Task[None] | None] = {}
        self._server: asyncio.AbstractServer | None = None
        #: Event loop time since which nobody is connected.
        self.idle_since = 0.0

    async def start(self, listener: socket.socket) -> None:
        """Begin to serve on a listening Unix socket."""
        self.idle_since = asyncio.get_running_loop().time()
        start = asyncio.start_unix_server
        if sys.version_info >= (3, 13):
            # The file is systemd's, which goes on listening there when an idle helper ends.
            start = partial(start, cleanup_socket=False)
        self._server = await start(self._accept, sock=listener, limit=REQUEST_LIMIT)

    async def close(self) -> None:
        """Stop serving, end every connection, put back what was changed."""
        if self._server is not None:
            self._server.close()
        tasks = [task for task in self._open.values() if task is not None]
        async with self._turn:  # a mode change under way is first brought to its end
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.put_back()

    @property
    def idle(self) -> bool:
        """Whether nobody is connected and nothing is changed."""
        return not self._open and not self._control.changes.any

    async def put_back(self) -> None:
        """Restore what was changed; what fails is logged and stays noted for the next start."""
        async with self._turn:
            try:
                await self._control.restore()
            except ControlError as error:
                _log.error("not restored: %s", error)

    async def answer(self, connection: Connection, verb: str) -> Answer:
        """Do one verb. Raises RefusedError and ControlError."""
        if verb == "gpu-clients":
            return await asyncio.to_thread(self._control.gpu_clients)
        async with self._turn:
            if verb == "status":
                held = self._controller
                return {**await self._control.status(), "controller": held.peer.pid if held else None}
            return await self._changing(connection, verb)

    async def _changing(self, connection: Connection, verb: str) -> Answer:
        verbs: dict[str, Callable[[], Awaitable[Answer]]] = {
            "set-top-mode": self._control.set_top_mode,
            "lock-clocks": self._control.lock_clocks,
            "restore": self._control.restore,
        }
        if verb not in verbs:
            raise RefusedError("unknown-verb", "no such verb")
        if self._controller not in (None, connection):
            raise RefusedError("busy", f"another daemon (pid {self._controller.peer.pid}) controls the board")
        if verb != "restore":
            self._controller = connection
        return await verbs[verb]()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            peer = peer_of(writer.get_extra_info("socket"))
        except OSError as error:
            _log.error("a peer cannot be told: %s", error)
            writer.close()
            return
        connection = Connection(self, self._root, peer, reader, writer)
        self._open[connection] = asyncio.current_task()
        try:
            await connection.serve(self._group, len(self._open))
            if self._controller is connection:
                self._controller = None
                await self.put_back()
        except asyncio.CancelledError:
            pass  # only `close` cancels, and it puts back itself; asyncio would print a traceback
        finally:
            del self._open[connection]
            self.idle_since = asyncio.get_running_loop().time()


class Connection:
    """One client: asks, answers, and the stream of tegrastats."""

    def __init__(
        self,
        server: Server,
        root: Path,
        peer: Peer,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._server = server
        self._root = root
        self._reader = reader
        self._writer = writer
        self.peer = peer

    async def serve(self, group: int, connections: int) -> None:
        """Answer until the client hangs up or is refused."""
        try:
            if not may_talk(self.peer, group):
                raise RefusedError("forbidden", "you are not in the group that may use this helper")
            if connections > CONNECTION_LIMIT:
                raise RefusedError("busy", "too many connections")
            while (verb := await self._next_verb()) is not None:
                await self._do(verb)
        except RefusedError as error:
            _log.warning("refused (%s): %s: %s", self.peer, error.code, error)
            await self._send({"ok": False, "code": error.code, "message": str(error)})
        except ConnectionError:
            _log.info("%s broke off", self.peer)
        finally:
            self._writer.close()

    async def _do(self, verb: str) -> None:
        if verb == "tegrastats":
            await self._stream_tegrastats()
            return
        try:
            answer = await self._server.answer(self, verb)
        except ControlError as error:
            _log.error("%s for %s: %s: %s", verb, self.peer, error.code, error)
            await self._send({"ok": False, "code": error.code, "message": str(error)})
        else:
            await self._send({"ok": True, **answer})

    async def _next_verb(self) -> str | None:
        try:
            line = await self._reader.readline()
        except ValueError:
            raise RefusedError("bad-request", f"a request is one line of at most {REQUEST_LIMIT} bytes") from None
        if not line:
            return None
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if not line.endswith(b"\n") or not isinstance(value, dict) or list(value) != ["verb"]:
            raise RefusedError("bad-request", 'a request is {"verb": "…"} and nothing else, on one line')
        return str(value["verb"])

    async def _stream_tegrastats(self) -> None:
        """Copy lines until the client says anything or hangs up, or tegrastats ends."""
        try:
            child = await programs.start_tegrastats(self._root, TEGRASTATS_INTERVAL_MS)
        except OSError as error:
            raise RefusedError("failed", f"tegrastats cannot be started: {error.strerror}") from None
        tasks = {asyncio.create_task(self._copy(child)), asyncio.create_task(self._reader.read(1))}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    child.kill()
                await child.wait()
        raise RefusedError("ended", f"tegrastats ended with {child.returncode}")

    async def _copy(self, child: asyncio.subprocess.Process) -> None:
        stdout = child.stdout
        while stdout is not None and (line := await stdout.readline()):
            self._writer.write(line)
            await self._writer.drain()
        await child.wait()

    async def _send(self, answer: Answer) -> None:
        with contextlib.suppress(ConnectionError):
            self._writer.write(json.dumps(answer).encode() + b"\n")
            await self._writer.drain()
