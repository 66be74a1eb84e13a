"""A thin blocking face of the client, for scripts and notebooks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

from orinbench.v1.board_pb2 import Board, CheckBoardResponse
from orinbench.v1.record_pb2 import Record, RunState
from orinbench.v1.run_pb2 import Run, RunPlan
from orinbench.v1.telemetry_pb2 import Telemetry

from orinbench_client.sdk.address import Address
from orinbench_client.sdk.client import Client
from orinbench_client.sdk.submission import Submission, submit
from orinbench_client.sdk.watch import Patience

R = TypeVar("R")


class BlockingClient:
    """The calls of Client without `await`. Owns one thread with one event loop, ended by `close`.

    gRPC's asyncio side bears one event loop a process: do not mix it with a Client on another loop.
    """

    def __init__(self, address: Address, deadline_s: float = 10.0) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="orinbench-client", daemon=True)
        self._thread.start()
        self._client = self._wait(self._open(address, deadline_s))

    def __enter__(self) -> BlockingClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the channel and end the thread."""
        self._wait(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def get_board(self) -> Board:
        """See Client.get_board."""
        return self._wait(self._client.get_board())

    def check_board(self) -> CheckBoardResponse:
        """See Client.check_board."""
        return self._wait(self._client.check_board())

    def create_run(self, plan: RunPlan, request_id: str) -> Run:
        """See Client.create_run."""
        return self._wait(self._client.create_run(plan, request_id))

    def get_run(self, name: str) -> Run:
        """See Client.get_run."""
        return self._wait(self._client.get_run(name))

    def list_runs(self, states: Sequence[RunState] = ()) -> Iterator[Run]:
        """See Client.list_runs."""
        return self._iterate(self._client.list_runs(states))

    def cancel_run(self, name: str, reason: str = "") -> Run:
        """See Client.cancel_run."""
        return self._wait(self._client.cancel_run(name, reason))

    def resume_run(self, name: str) -> Run:
        """See Client.resume_run."""
        return self._wait(self._client.resume_run(name))

    def watch(self, name: str, after_seq: int = 0, patience: Patience | None = None) -> Iterator[Record]:
        """See Client.watch."""
        for page in self._iterate(self._client.watch_pages(name, after_seq, patience)):
            yield from page

    def watch_telemetry(self, interval_s: float) -> Iterator[Telemetry]:
        """See Client.watch_telemetry."""
        return self._iterate(self._client.watch_telemetry(interval_s))

    def submit(self, submission: Submission, request_id: str) -> Run:
        """See orinbench_client.sdk.submit."""
        return self._wait(submit(self._client, submission, request_id, lambda _sent, _total: None))

    @staticmethod
    async def _open(address: Address, deadline_s: float) -> Client:
        # A channel belongs to the loop it was made on.
        return Client(address, deadline_s)

    def _wait(self, coroutine: Coroutine[Any, Any, R]) -> R:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _iterate(self, items: AsyncGenerator[R, None]) -> Iterator[R]:
        async def step() -> R | None:
            return await anext(items, None)

        async def end() -> None:
            await items.aclose()

        try:
            while (item := self._wait(step())) is not None:
                yield item
        finally:
            # Leaving early must end the call at once, not when the garbage collector comes by.
            self._wait(end())
