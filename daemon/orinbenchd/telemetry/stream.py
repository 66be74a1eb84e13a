"""A source that is a program printing a line for each reading: started, watched, started again when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from orinbench.v1.telemetry_pb2 import Telemetry

from orinbenchd.telemetry.source import STALE_INTERVALS, LatestSource, Snapshot, SourceAbsentError

#: Wait before a program that ended is started again; doubled up to the last value while it dies young.
_FIRST_WAIT_S, _LAST_WAIT_S = 0.2, 10.0

#: A program that has closed its output may take this long to end.
_ENDING_S = 2.0

#: A program may take this long to its first line.
_FIRST_LINE_S = 10.0


class EndedError(Exception):
    """The program ended or fell silent; the text says how."""


class LineSource(LatestSource, ABC):
    """Base of the sources that are programs. A gap shows as a stale source; `restarts` counts them."""

    def __init__(self, interval_s: float) -> None:
        super().__init__(interval_s)
        self._task: asyncio.Task[None] | None = None
        # Told beside the cancellation: up to Python 3.11 wait_for loses one that meets a line.
        self._over = False

    @abstractmethod
    def lines(self) -> AsyncIterator[bytes]:
        """Start the program and yield its lines; end it when closed. Raise SourceAbsentError if there is none."""

    @abstractmethod
    def parse(self, line: bytes) -> Telemetry:
        """Read one line. Raise EndedError if the line says that no more will come."""

    async def start(self) -> None:
        """Start the program."""
        self._task = asyncio.create_task(self._run(), name=f"telemetry-{self.name}")

    async def close(self) -> None:
        """End the program and wait for it."""
        self._over = True
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        wait_s = _FIRST_WAIT_S
        while not self._over:
            started = time.monotonic()
            try:
                await self._follow()
                return
            except SourceAbsentError as error:
                self.problem, self.absent = str(error), True
                return
            except (EndedError, OSError, ValueError) as error:
                self.problem = str(error)
            # One that dies young again and again is started less and less often.
            if time.monotonic() - started > _LAST_WAIT_S:
                wait_s = _FIRST_WAIT_S
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LAST_WAIT_S)
            self.restarts += 1

    async def _follow(self) -> None:
        """Take lines until closed. Raises when there are no more."""
        silence_s = max(_FIRST_LINE_S, STALE_INTERVALS * self.interval_s)
        stream = self.lines()
        try:
            while not self._over:
                try:
                    line = await asyncio.wait_for(stream.__anext__(), silence_s)
                except asyncio.TimeoutError:
                    raise EndedError(f"{self.name} fell silent for {silence_s:g} s") from None
                except StopAsyncIteration:
                    raise EndedError(f"{self.name} ended") from None
                self._latest = Snapshot(self.name, time.monotonic_ns(), self.parse(line))
                self.problem = ""
                silence_s = max(2.0, 2 * STALE_INTERVALS * self.interval_s)
        finally:
            await stream.aclose()  # type: ignore[attr-defined]


async def child_lines(child: asyncio.subprocess.Process) -> AsyncIterator[bytes]:
    """Yield the lines of a child; end it by signal when the reader stops, and reap it."""
    stdout = child.stdout
    try:
        while stdout is not None and (line := await stdout.readline()):
            yield line
        # It is ending by itself. To signal it now would reap it behind asyncio's back and lose its exit code.
        await asyncio.wait_for(child.wait(), _ENDING_S)
    except asyncio.TimeoutError:
        pass
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
