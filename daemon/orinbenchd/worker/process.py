"""One worker process: started with exec, never forked; ended by a ladder; its last words kept."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections import deque
from pathlib import Path

import structlog

from orinbenchd.config import Deadlines
from orinbenchd.worker.channel import Channel

_TAIL_BYTES = 64 << 10
log = structlog.get_logger("worker")

# What a worker may inherit: it finds its libraries and its language, nothing of the daemon's own.
_PASSED = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "TZ", "CUDA_HOME", "OMP_NUM_THREADS")
_FORCED = {
    "PYTHONUNBUFFERED": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "TOKENIZERS_PARALLELISM": "false",
}


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
        self._wedged: Wedged | None = None

    @classmethod
    async def start(cls, python: Path, scratch: Path, limits: Deadlines) -> WorkerProcess:
        """Start a worker in a runtime. Raises OSError when the interpreter cannot be executed."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        read_end, write_end = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                str(python), "-m", "orinbench_engines.worker", "--fd", str(theirs.fileno()),
                stdin=asyncio.subprocess.DEVNULL, stdout=write_end, stderr=write_end,
                pass_fds=(theirs.fileno(),), start_new_session=True, cwd=scratch, env=_environment(scratch),
            )  # fmt: skip
        except BaseException:
            ours.close()
            os.close(read_end)
            raise
        finally:
            theirs.close()
            os.close(write_end)
        tail = asyncio.create_task(_keep_tail(read_end), name=f"worker-{process.pid}-stderr")
        return cls(process, await Channel.open(ours), tail, limits)

    @property
    def pid(self) -> int:
        """Process id, also the id of its group."""
        return self._process.pid

    async def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; return the exit code (negative: the signal), or None when the time is over."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._process.wait()), timeout_s)
        except asyncio.TimeoutError:
            return None

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
        if code is None:
            self._wedged = Wedged(f"the worker {self.pid} does not end on SIGKILL: it hangs in the kernel")
            raise self._wedged
        self._signal(signal.SIGKILL)  # what it may have started in its group
        return code

    async def kill(self) -> int:
        """End it at once: it hangs or speaks nonsense. Raises Wedged."""
        self._signal(signal.SIGKILL)
        return await self.stop(self._limits.reap_s)

    async def stderr_tail(self) -> str:
        """Return the last 64 KiB of its output; call after its end."""
        done, _ = await asyncio.wait({self._tail}, timeout=1.0)
        if not done:
            self._tail.cancel()  # a grandchild keeps the pipe open
            return ""
        return self._tail.result().decode(errors="replace")

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


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


def _environment(scratch: Path) -> dict[str, str]:
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    return passed | _FORCED | {"HOME": str(scratch), "TMPDIR": str(scratch)}
