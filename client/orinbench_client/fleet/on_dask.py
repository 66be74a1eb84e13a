"""The work at the boards done by Dask workers elsewhere in the lab.

Which run goes to which board is decided here as ever. A worker that reaches a board has the resource ``board:NAME``;
every task holds one of it. A worker that dies has its task done again by another, which finds the run by its request
id. The bundle comes back by the network, and only this process writes into the results.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from dask.distributed import Client, get_worker
from distributed.client import FutureCancelledError
from distributed.scheduler import KilledWorker
from orinbench.v1.run_pb2 import Run

from orinbench_client.bundles.files import new_folder
from orinbench_client.bundles.native import discard_partial, make_way, read_run
from orinbench_client.errors import BadInput, BoardUnreachable
from orinbench_client.fleet import hands
from orinbench_client.fleet.hands import Job, Measured, Sight

R = TypeVar("R")
_CONNECT_S = 5.0
# How often it is looked whether there still is a worker for a board.
_LOOK_EVERY_S = 1.0


@dataclass(frozen=True)
class _Fetched:
    """A bundle on its way: what was measured, with the bundle where it was, its run, and its files' content by name."""

    measured: Measured
    run: Run
    files: dict[str, bytes]


async def _measure_there(board: str, job: Job, topic: str) -> _Fetched:
    worker = get_worker()

    def note(text: str) -> None:
        worker.log_event(topic, f"{board}: {text}")

    with TemporaryDirectory(prefix="orinbench-") as folder:
        measured = await hands.measure(
            board, job, Path(folder), lambda text: worker.log_event(topic, f"{board}: {text}")
        )
        return _Fetched(
            measured, read_run(measured.bundle), {path.name: path.read_bytes() for path in measured.bundle.iterdir()}
        )


class OnDask:
    """Hands of the workers of a scheduler. Use as an async context manager; raises BadInput if nobody is there."""

    def __init__(self, scheduler: str, results: Path, give_up_s: float, tell: Callable[[str], None]) -> None:
        self._scheduler = scheduler
        self._tell = tell
        # By which workers say what happens on the way.
        self._topic = f"orinbench-{uuid.uuid4().hex}"
        self._results = results
        self._give_up_s = give_up_s

    async def __aenter__(self) -> OnDask:
        try:
            # Dask has no types.
            self._client: Any = await Client(self._scheduler, asynchronous=True, timeout=_CONNECT_S)  # type: ignore[no-untyped-call]
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            raise BadInput(f"--scheduler {self._scheduler}: no Dask scheduler can be reached there: {error}") from None
        self._client.subscribe_topic(self._topic, lambda event: self._tell(event[1]))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def look(self, board: str, profile: str) -> Sight:
        """Return what a board is now."""
        return await self._do(board, hands.look, board, profile)

    async def measure(self, board: str, job: Job) -> Measured:
        """Have a board do a job, and put the bundle into the results."""
        fetched = await self._do(board, _measure_there, board, job, self._topic)
        there = fetched.measured.bundle
        destination = self._results / there.parent.name / there.name
        if make_way(destination, fetched.run):
            with new_folder(destination) as folder:
                for name, content in fetched.files.items():
                    (folder / name).write_bytes(content)
            discard_partial(self._results, there.parent.name, there.name)
        return replace(fetched.measured, bundle=destination)

    async def cancel(self, board: str, run: str, reason: str) -> None:
        """Stop a run."""
        await self._do(board, hands.cancel, board, run, reason)

    async def _do(self, board: str, work: Callable[..., Coroutine[Any, Any, R]], *arguments: Any) -> R:
        """Return what `work` returns at a worker. Raises BoardUnreachable where no worker is left for the board."""
        await self._require_worker(board)
        # Not pure: the same work later may find something else.
        future = self._client.submit(work, *arguments, resources={_token(board): 1}, pure=False)
        result = asyncio.ensure_future(future.result())
        seen = time.monotonic()
        try:
            while not result.done():
                await asyncio.wait({result}, timeout=_LOOK_EVERY_S)
                if await self._has_worker(board):
                    seen = time.monotonic()
                elif time.monotonic() - seen > self._give_up_s:
                    await self._require_worker(board)
            found: R = result.result()
        except KilledWorker as error:
            raise BoardUnreachable(f"the Dask workers of board {board} died one after the other: {error}") from None
        except FutureCancelledError as error:
            raise BoardUnreachable(f"the Dask scheduler {self._scheduler} dropped the work: {error.reason}") from None
        else:
            return found
        finally:
            result.cancel()
            future.release()

    async def _require_worker(self, board: str) -> None:
        has_worker = await self._has_worker(board)
        if self._client.scheduler is None:
            raise BoardUnreachable(f"the Dask scheduler {self._scheduler} is gone")
        if not has_worker:
            raise BoardUnreachable(
                f"no Dask worker has it: dask worker {self._scheduler} --resources '{_token(board)}=1'"
            )

    async def _has_worker(self, board: str) -> bool:
        # None once the link was lost and could not be made again.
        if self._client.scheduler is None:
            return False
        try:
            workers = (await self._client.scheduler.identity())["workers"]
        except OSError:
            return False
        return any(_token(board) in worker["resources"] for worker in workers.values())


def _token(board: str) -> str:
    return f"board:{board}"
