"""One worker process: started with exec, never forked; ended by a ladder; its last words kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections import deque
from pathlib import Path

import psutil
import structlog

from orinbenchd.config import Deadlines
from orinbenchd.sandbox import Sandbox, View
from orinbenchd.worker.channel import Channel
from orinbenchd.worker.environment import worker_environment

_TAIL_BYTES = 64 << 10
log = structlog.get_logger("worker")


class Wedged(Exception):
    """The worker cannot be ended: it is stuck in the kernel."""


class WorkerProcess:
    """A running worker: its channel, its standard error, and its end."""

    def __init__(
        self, process: asyncio.subprocess.Process, channel: Channel, tail: asyncio.Task[bytes], limits: Deadlines
    ) -> None:
        self.channel = channel
        self._limits = limits
        self._process = process
        self._tail = tail
        self._inside: _Inside | None = None
        self._wedged: Wedged | None = None

    @classmethod
    async def start(
        cls, python: Path, sandbox: Sandbox, view: View, packages: Path, limits: Deadlines
    ) -> WorkerProcess:
        """Start a worker in a runtime. Raises OSError when the program cannot be executed."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        # Before there is a process that nobody would end if this were cancelled.
        try:
            channel = await Channel.open(ours)
        except BaseException:
            ours.close()
            theirs.close()
            raise
        (read_end, write_end), (info, info_write) = os.pipe(), os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *sandbox.prefix(view, info_write),
                str(python), "-m", "orinbench_engines.worker", "--fd", str(theirs.fileno()),
                stdin=asyncio.subprocess.DEVNULL, stdout=write_end, stderr=write_end,
                pass_fds=(theirs.fileno(), *((info_write,) if sandbox.has_monitor else ())),
                start_new_session=True, cwd=view.scratch,
                env=worker_environment(view.scratch, packages, gpu=view.gpu),
            )  # fmt: skip
        except BaseException:
            channel.abort()
            os.close(read_end)
            os.close(info)
            raise
        finally:
            theirs.close()
            os.close(write_end)
            os.close(info_write)
        tail = asyncio.create_task(_keep_tail(read_end), name=f"worker-{process.pid}-stderr")
        worker = cls(process, channel, tail, limits)
        told = asyncio.create_task(_keep_tail(info), name=f"worker-{process.pid}-sandbox")
        try:
            # Nothing without a sandbox; and when none could be made, which standard error then tells. One that stands
            # still says nothing: the deadline for the worker's first word ends it. Not by wait_for, which up to
            # Python 3.11 may lose a cancellation.
            if (await asyncio.wait({told}, timeout=limits.start_s))[0] and (said := told.result()):
                worker._inside = _Inside(json.loads(said)["child-pid"])
        except BaseException:
            await worker.kill()
            raise
        finally:
            told.cancel()
        return worker

    @property
    def pid(self) -> int:
        """Id of the process that was started, also the id of its group."""
        return self._process.pid

    @property
    def pids(self) -> list[int]:
        """Ids of the processes that end last: the one that was started, and in a sandbox the first one there."""
        return [self.pid] if self._inside is None else [self.pid, self._inside.pid]

    @property
    def worker_pid(self) -> int | None:
        """Id of the worker itself; in a sandbox None as long as there is none."""
        return self.pid if self._inside is None else self._inside.worker_pid

    async def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; return the exit code (negative: the signal), or None when the time is over."""
        try:
            code = await asyncio.wait_for(asyncio.shield(self._process.wait()), timeout_s)
        except asyncio.TimeoutError:
            return None
        # As bubblewrap's monitor tells of a worker that a signal ended.
        return 128 - code if self._inside is not None and 128 < code <= 192 else code

    async def stop(self, grace_s: float | None = None) -> int:
        """End it: closed channel, SIGTERM, SIGKILL to the whole group. Raises Wedged when nothing helps.

        `grace_s` is what each step but the last may take; the configuration's if not given. Returns the exit code.
        Calling it again is harmless.
        """
        grace_s = self._limits.stop_s if grace_s is None else grace_s
        if self._wedged is not None:
            raise self._wedged
        await self.channel.close()
        code = await self.wait(grace_s)
        if code is None:
            self._signal(signal.SIGTERM)
            code = await self.wait(grace_s)
        if code is None:
            log.warning("worker does not end, killing it", pid=self.pid)
            self._signal(signal.SIGKILL)
            code = await self.wait(self._limits.reap_s)
        # The monitor ends at once on a signal, whatever hangs behind it.
        if code is None or (self._inside is not None and not await self._inside.gone(self._limits.reap_s)):
            self._wedged = Wedged(f"the worker {self.worker_pid} does not end on SIGKILL: it hangs in the kernel")
            raise self._wedged
        self._signal(signal.SIGKILL)  # what it may have started in its group
        return code

    async def kill(self) -> int:
        """End it at once: it hangs or speaks nonsense. Raises Wedged."""
        self._signal(signal.SIGKILL)
        return await self.stop(self._limits.reap_s)

    async def stderr_tail(self) -> str:
        """Return the last of its output, at most 64 KiB in UTF-8; call after its end."""
        done, _ = await asyncio.wait({self._tail}, timeout=1.0)
        if not done:
            self._tail.cancel()  # a grandchild keeps the pipe open
            return ""
        # What is no text takes three times the room as a replacement character.
        return self._tail.result().decode(errors="replace").encode()[-_TAIL_BYTES:].decode(errors="ignore")

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


class _Inside:
    """The first process in a sandbox. It ends after all others there, and it is not a child of ours."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._worker_pid: int | None = None
        self._gone = asyncio.Event()
        try:
            self._fd = os.pidfd_open(pid)
        except ProcessLookupError:
            self._gone.set()
        else:
            asyncio.get_running_loop().add_reader(self._fd, self._note_end)

    @property
    def worker_pid(self) -> int | None:
        """The id, for us outside, of the process it has started first."""
        if self._worker_pid is None:
            with contextlib.suppress(psutil.Error, IndexError):
                self._worker_pid = psutil.Process(self.pid).children()[0].pid
        return self._worker_pid

    async def gone(self, timeout_s: float) -> bool:
        """Wait until nothing is left in the sandbox; False when the time is over."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._gone.wait(), timeout_s)
        return self._gone.is_set()

    def _note_end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
        self._gone.set()


async def _keep_tail(fd: int) -> bytes:
    """Read a pipe to its end; return its last 64 KiB."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb"))
    kept: deque[bytes] = deque()
    size = 0
    try:
        while block := await reader.read(8192):
            kept.append(block)
            size += len(block)
            while size - len(kept[0]) >= _TAIL_BYTES:
                size -= len(kept.popleft())
    finally:
        transport.close()
    return b"".join(kept)[-_TAIL_BYTES:]
