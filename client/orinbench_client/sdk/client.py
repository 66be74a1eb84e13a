"""The asynchronous client of one board."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from orinbench.v1 import artifact_pb2, artifact_pb2_grpc, board_pb2, board_pb2_grpc, run_pb2, run_pb2_grpc
from orinbench.v1.record_pb2 import Record, RunState
from orinbench.v1.telemetry_pb2 import Telemetry

from orinbench_client.errors import BadInput, BoardRefused, BoardUnreachable, OrinbenchError
from orinbench_client.sdk.address import Address
from orinbench_client.sdk.backoff import Backoff
from orinbench_client.sdk.diagnose import diagnose
from orinbench_client.sdk.translate import is_link_loss, translate
from orinbench_client.sdk.upload import OnPosition, Upload, requests
from orinbench_client.sdk.watch import OnLost, Patience, Watch

if TYPE_CHECKING:
    from orinbench.v1.artifact_pb2_grpc import ArtifactServiceAsyncStub
    from orinbench.v1.board_pb2_grpc import BoardServiceAsyncStub
    from orinbench.v1.run_pb2_grpc import RunServiceAsyncStub

# The minor revision of the API this client speaks, and the lowest it can work with.
API_REVISION = 2
API_NEEDED = 1

# The names matter: gRPC ignores an option it does not know without a word. Without ping_timeout a dead peer
# is noticed after more than 30 s. A proxy of the environment never leads to a board.
CHANNEL_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", 8 * 1024 * 1024),
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 2_000),
    ("grpc.max_reconnect_backoff_ms", 5_000),
)
_TRIES = 4
# A slow link may take this long for an upload before it is begun anew from where it stopped.
_UPLOAD_S = 60.0
_SLOWEST_BYTES_PER_S = 100_000
_HAS_LIMIT = 1000

R = TypeVar("R")
Call = Callable[..., Awaitable[R]]


def require_api(board: board_pb2.Board) -> None:
    """Raise BoardRefused if the daemon is too old for this client."""
    if board.api_revision < API_NEEDED:
        raise BoardRefused(
            f"the daemon (version {board.daemon_version or 'unknown'}) speaks API revision "
            f"{board.api_revision}, this client needs {API_NEEDED}: update orinbenchd on the board",
            "API_TOO_OLD",
            {"needed": str(API_NEEDED), "found": str(board.api_revision)},
        )


def open_channel(address: Address) -> grpc.aio.Channel:
    """Return a channel to a board. Raises BadInput for a file of TLS that cannot be read."""
    tls = address.tls
    if tls is None:
        return grpc.aio.insecure_channel(address.target, options=CHANNEL_OPTIONS)
    credentials = grpc.ssl_channel_credentials(_pem(tls.ca), _pem(tls.key), _pem(tls.certificate))
    return grpc.aio.secure_channel(address.target, credentials, options=CHANNEL_OPTIONS)


def _pem(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}: see ORINBENCH_CA, _CERT and _KEY") from None
    if b"-----BEGIN " not in data:
        raise BadInput(f"{path}: holds neither a certificate nor a key in PEM form")
    return data


class Client:
    """Calls to the daemon at one address. Use as an async context manager, on one event loop.

    Every unary call has a deadline. Calls that may be repeated safely are retried a few times while nobody
    answers. All failures are OrinbenchError: BoardRefused with the daemon's reason, or BoardUnreachable.
    """

    def __init__(self, address: Address, deadline_s: float = 10.0) -> None:
        self.target = str(address)
        self._address = address
        self._deadline_s = deadline_s
        metadata = [("orinbench-api", str(API_REVISION))]
        if address.token:
            metadata.append(("authorization", f"Bearer {address.token}"))
        self._metadata = grpc.aio.Metadata(*metadata)
        self._channel = open_channel(address)
        # The generated stubs serve both worlds; their types for asyncio have names of their own.
        self._runs = cast("RunServiceAsyncStub", run_pb2_grpc.RunServiceStub(self._channel))
        self._board = cast("BoardServiceAsyncStub", board_pb2_grpc.BoardServiceStub(self._channel))
        artifacts = artifact_pb2_grpc.ArtifactServiceStub(self._channel)
        self._artifacts = cast("ArtifactServiceAsyncStub", artifacts)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the channel; calls in flight are cancelled."""
        await self._channel.close()

    async def wait_ready(self, service: str, timeout_s: float) -> None:
        """Return once the health service says SERVING for `service`; BoardUnreachable after `timeout_s`."""
        health = health_pb2_grpc.HealthStub(self._channel)
        call = health.Watch(health_pb2.HealthCheckRequest(service=service), wait_for_ready=True, timeout=timeout_s)
        try:
            async for answer in call:
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    return
        except grpc.aio.AioRpcError as error:
            raise await self._explain(error) from None
        finally:
            call.cancel()
        raise BoardUnreachable(f"the daemon at {self.target} ended before it was ready")

    async def get_board(self) -> board_pb2.Board:
        """Return what the board says of itself."""
        return (await self._call(self._board.GetBoard, board_pb2.GetBoardRequest())).board

    async def check_board(self) -> board_pb2.CheckBoardResponse:
        """Run the preflight checks on the board."""
        return await self._call(self._board.CheckBoard, board_pb2.CheckBoardRequest())

    async def create_run(self, plan: run_pb2.RunPlan, request_id: str) -> run_pb2.Run:
        """Put a run into the queue; the same `request_id` with the same plan is the same run."""
        request = run_pb2.CreateRunRequest(request_id=request_id, plan=plan)
        return (await self._call(self._runs.CreateRun, request)).run

    async def get_run(self, name: str) -> run_pb2.Run:
        """Return the run ``runs/{run}``."""
        return (await self._call(self._runs.GetRun, run_pb2.GetRunRequest(name=name))).run

    async def list_runs(self, states: Sequence[RunState] = ()) -> AsyncGenerator[run_pb2.Run, None]:
        """Yield runs, newest first; only those in one of `states` if any is given."""
        token = ""
        while True:
            request = run_pb2.ListRunsRequest(page_token=token, states=states)
            response = await self._call(self._runs.ListRuns, request)
            for run in response.runs:
                yield run
            token = response.next_page_token
            if not token:
                return

    async def cancel_run(self, name: str, reason: str = "") -> run_pb2.Run:
        """Stop a queued or active run."""
        request = run_pb2.CancelRunRequest(name=name, reason=reason)
        return (await self._call(self._runs.CancelRun, request)).run

    async def resume_run(self, name: str) -> run_pb2.Run:
        """Continue a failed run in a new segment. Not retried: a second call would find another state."""
        request = run_pb2.ResumeRunRequest(name=name)
        return (await self._call(self._runs.ResumeRun, request, tries=1)).run

    async def watch_pages(
        self, name: str, after_seq: int = 0, patience: Patience | None = None, on_lost: OnLost | None = None
    ) -> AsyncGenerator[list[Record], None]:
        """Yield pages of records after `after_seq` until `finished`; a lost link is taken up again.

        `on_lost` hears each time why the link was lost. See Watch.pages for what is raised.
        """

        def open_stream(
            request: run_pb2.WatchRunRequest,
        ) -> grpc.aio.UnaryStreamCall[run_pb2.WatchRunRequest, run_pb2.WatchRunResponse]:
            return self._runs.WatchRun(request, metadata=self._metadata)

        watch = Watch(open_stream, self.target, name, after_seq, patience or Patience(), on_lost)
        async with aclosing(watch.pages()) as pages:
            async for page in pages:
                yield page

    async def watch(
        self, name: str, after_seq: int = 0, patience: Patience | None = None
    ) -> AsyncGenerator[Record, None]:
        """Yield records one by one; see watch_pages."""
        async with aclosing(self.watch_pages(name, after_seq, patience)) as pages:
            async for page in pages:
                for record in page:
                    yield record

    async def watch_telemetry(self, interval_s: float) -> AsyncGenerator[Telemetry, None]:
        """Yield live readings every `interval_s` seconds. Lossy, and not resumed."""
        request = board_pb2.WatchTelemetryRequest(interval_s=interval_s)
        call = self._board.WatchTelemetry(request, metadata=self._metadata)
        try:
            async for response in call:
                yield response.telemetry
        except grpc.aio.AioRpcError as error:
            raise await self._explain(error) from None
        finally:
            call.cancel()

    async def missing(self, digests: Sequence[str]) -> dict[str, int]:
        """Return which artifacts the board lacks, each with the bytes of a begun upload that it kept."""
        missing: dict[str, int] = {}
        for start in range(0, len(digests), _HAS_LIMIT):
            request = artifact_pb2.HasArtifactsRequest(digests=digests[start : start + _HAS_LIMIT])
            response = await self._call(self._artifacts.HasArtifacts, request)
            missing.update({artifact.digest: artifact.received_bytes for artifact in response.missing})
        return missing

    async def put(self, upload: Upload, offset: int = 0, on_position: OnPosition = lambda _: None) -> None:
        """Upload one artifact from `offset`. A lost link is taken up again from where the board stands."""
        backoff = Backoff()
        while True:
            try:
                await self._put_once(upload, offset, on_position)
                return
            except grpc.aio.AioRpcError as error:
                if not is_link_loss(error) or backoff.tries + 1 >= _TRIES:
                    raise await self._explain(error) from None
            await asyncio.sleep(backoff.next())
            kept = (await self.missing([upload.digest])).get(upload.digest, upload.size_bytes)
            if kept > offset:
                backoff.reset()
            offset = kept
            on_position(offset)

    async def prepare_model(
        self, declaration: bytes, hub_token: str = ""
    ) -> AsyncGenerator[artifact_pb2.PrepareModelResponse, None]:
        """Have the board fetch a model from its hub; the last response has `done` set. Ends when you leave."""
        request = artifact_pb2.PrepareModelRequest(declaration=declaration, hub_token=hub_token)
        call = self._artifacts.PrepareModel(request, metadata=self._metadata)
        try:
            async for response in call:
                yield response
        except grpc.aio.AioRpcError as error:
            raise translate(error, self.target) from None
        finally:
            call.cancel()

    async def _put_once(self, upload: Upload, offset: int, on_position: OnPosition) -> None:
        timeout = _UPLOAD_S + (upload.size_bytes - offset) / _SLOWEST_BYTES_PER_S
        call = self._artifacts.PutArtifact(metadata=self._metadata, timeout=timeout)
        try:
            for request in requests(upload, offset, on_position):
                await call.write(request)
            await call.done_writing()
        except (asyncio.InvalidStateError, grpc.aio.AioRpcError):
            # The daemon ended the call while chunks were on their way. A write only says "internal error" then;
            # what the daemon said comes from the call below.
            pass
        except BaseException:
            call.cancel()
            raise
        await call

    async def _explain(self, error: grpc.aio.AioRpcError) -> OrinbenchError:
        """Return our error; of a TCP door that cannot be passed, with the cause that gRPC tells badly or not at all."""
        found = translate(error, self.target)
        if isinstance(found, BoardUnreachable) and not self._address.target.startswith("unix:"):
            cause = await asyncio.to_thread(diagnose, self._address)
            if cause is not None:
                return BoardUnreachable(f"cannot reach a board at {self.target}: {cause}")
        return found

    async def _call(self, method: Call[R], request: Any, tries: int = _TRIES) -> R:
        backoff = Backoff()
        while True:
            try:
                return await method(request, timeout=self._deadline_s, metadata=self._metadata)
            except grpc.aio.AioRpcError as error:
                if not is_link_loss(error) or backoff.tries + 1 >= tries:
                    raise await self._explain(error) from None
            await asyncio.sleep(backoff.next())
