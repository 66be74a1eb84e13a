"""Follows a run over links that break: every record once, in order, until the stream ends behind `finished`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import grpc
import grpc.aio
from orinbench.v1.record_pb2 import RECORD_KIND_FINISHED, Record
from orinbench.v1.run_pb2 import WatchRunRequest, WatchRunResponse

from orinbench_client.errors import BoardUnreachable, RunFailed
from orinbench_client.sdk.backoff import Backoff
from orinbench_client.sdk.translate import is_link_loss, translate
from orinbench_client.sdk.within import within

OpenStream = Callable[[WatchRunRequest], "grpc.aio.UnaryStreamCall[WatchRunRequest, WatchRunResponse]"]
OnLost = Callable[[str], None]


@dataclass(frozen=True)
class Patience:
    """How long a watch bears silence, in seconds.

    The daemon sends a bookmark every 10 s, so `silence_s` without any message means a dead link or a stuck
    daemon, although the transport may still answer. After `give_up_s` without contact the watch gives up.
    """

    silence_s: float = 35.0
    give_up_s: float = 600.0


class _LinkLostError(Exception):
    """The stream broke; the text says how."""


class Watch:
    """One watch of one run. Keeps the last seq it handed on, so that a new stream goes on behind it."""

    def __init__(
        self,
        open_stream: OpenStream,
        target: str,
        name: str,
        after_seq: int,
        patience: Patience,
        on_lost: OnLost | None,
    ) -> None:
        self._open_stream = open_stream
        self._target = target
        self._name = name
        self._last_seq = after_seq
        # A run that failed and was resumed goes on behind a verdict, so that alone is not the end.
        self._finished = False
        self._patience = patience
        self._on_lost = on_lost
        self._backoff = Backoff()
        self._contact = time.monotonic()

    async def pages(self) -> AsyncGenerator[list[Record], None]:
        """Yield pages of new records and of bookmarks (seq 0), the last record being the run's last `finished`.

        Raises BoardRefused, BoardUnreachable after `give_up_s` without contact, RunFailed for a gap.
        """
        while True:
            try:
                async with aclosing(self._stream()) as stream:
                    async for page in stream:
                        yield page
                return
            except _LinkLostError as lost:
                await self._pause(str(lost))

    async def _stream(self) -> AsyncGenerator[list[Record], None]:
        call = self._open_stream(WatchRunRequest(name=self._name, after_seq=self._last_seq))
        try:
            while True:
                response = await within(self._patience.silence_s, call.read())
                # typeshed does not know that the end of a stream is an object of its own.
                if not isinstance(response, WatchRunResponse):
                    if self._finished:
                        return
                    raise _LinkLostError("the stream ended before the run did")
                self._contact = time.monotonic()
                yield self._new_records(response.records)
        except asyncio.TimeoutError:
            raise _LinkLostError(f"silence for {self._patience.silence_s:g} s") from None
        except grpc.aio.AioRpcError as error:
            if not is_link_loss(error):
                raise translate(error, self._target) from None
            raise _LinkLostError(str(translate(error, self._target))) from None
        finally:
            call.cancel()

    def _new_records(self, records: Sequence[Record]) -> list[Record]:
        new = []
        for record in records:
            if record.seq:
                if record.seq <= self._last_seq:
                    continue
                if record.seq != self._last_seq + 1:
                    raise RunFailed(
                        f"{self._name}: record {record.seq} came after {self._last_seq}: some were left out"
                    )
                self._last_seq = record.seq
                self._finished = record.kind == RECORD_KIND_FINISHED
                self._backoff.reset()
            new.append(record)
        return new

    async def _pause(self, reason: str) -> None:
        alone_s = time.monotonic() - self._contact
        left_s = self._patience.give_up_s - alone_s
        if left_s <= 0:
            raise BoardUnreachable(
                f"no contact with {self._target} for {alone_s:.0f} s ({reason}): "
                f"the run goes on there: orinbench watch {self._name.removeprefix('runs/')}"
            )
        if self._on_lost is not None:
            self._on_lost(reason)
        await asyncio.sleep(min(self._backoff.next(), left_s))
