"""One segment of one run, from preflight to verdict."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import structlog
from orinbench.internal.v1 import worker_pb2
from orinbench.v1 import record_pb2 as pb
from orinbench_profiles import HardwareProfile, HubSource, ModelDeclaration, PackagedSource, parse_model

from orinbenchd.artifacts.store import ArtifactStore
from orinbenchd.board.board import Board, BoardRefusedError
from orinbenchd.board.violations import violation
from orinbenchd.config import Config
from orinbenchd.errors import NotFound
from orinbenchd.failpoints import failpoint
from orinbenchd.runs import machine
from orinbenchd.runs.failures import Ended, failure
from orinbenchd.runs.live import LiveRun
from orinbenchd.runs.plan import read_manifest
from orinbenchd.runs.recorder import Recorder
from orinbenchd.runs.session import WINDOW, Session
from orinbenchd.telemetry.hub import TelemetryHub
from orinbenchd.worker import leftover
from orinbenchd.worker.deadlines import DeadlineKeeper
from orinbenchd.worker.process import Wedged, WorkerProcess

T = TypeVar("T")
log = structlog.get_logger("run")
_BEGUN = failpoint("run.begun")
_ACQUIRED = failpoint("run.preflight.passed")
_SPAWNING = failpoint("worker.spawn")
_SPAWNED = failpoint("worker.spawned")
_STOPPED = failpoint("worker.stopped")
_FINISHING = failpoint("run.finishing")
_SETTLED = failpoint("run.settled")
_CONCLUDED = failpoint("run.concluded")
# The worker's own word that the GPU does not answer any more: no later run could be trusted on it.
_GPU_LOST = "GPU_LOST"

_METHODS = {
    pb.MEMORY_METHOD_TORCH_RESERVED: "torch-reserved",
    pb.MEMORY_METHOD_TENSORRT_POOL: "tensorrt-pool",
    pb.MEMORY_METHOD_ONNXRUNTIME_POOL: "onnxruntime-pool",
    pb.MEMORY_METHOD_PROCESS_RSS: "process-rss",
}


@dataclass(frozen=True)
class Surroundings:
    """What every segment needs of the daemon."""

    config: Config
    profile: HardwareProfile
    board: Board
    hub: TelemetryHub
    store: ArtifactStore
    on_wedged: Callable[[str], None]


class Execution:
    """Runs one segment. `cancel` and `halt` may be called at any time; `run` then ends soon."""

    def __init__(self, live: LiveRun, around: Surroundings, recorder: Recorder) -> None:
        self.worker_pid: int | None = None
        self._live = live
        self._around = around
        self._recorder = recorder
        self._task: asyncio.Task[None] | None = None
        self._session: Session | None = None
        self._halted = False
        self.ended = asyncio.Event()

    async def run(self) -> None:
        """Take the run from QUEUED to an end. A halted run stays unfinished, for the next daemon."""
        live = self._live
        live.begin_segment(self._segment())
        live.apply(machine.BoardFree())
        _BEGUN()
        self._task = asyncio.create_task(self._attempt(), name=f"run-{live.run_id}-attempt")
        failed: pb.Failure | None = None
        done = False
        try:
            await self._task
            done = True
        except asyncio.CancelledError:
            if not self._halted and live.run.state != pb.RUN_STATE_CANCELLING:
                self._task.cancel()
                raise
        except (Ended, BoardRefusedError) as ended:
            failed = ended.failure
            if failed.failure_class == pb.FAILURE_CLASS_BOARD and failed.reason == _GPU_LOST:
                self._around.on_wedged(failed.message)
        except Wedged as wedged:
            self._around.on_wedged(str(wedged))
            failed = failure(pb.FAILURE_CLASS_BOARD, "BOARD_WEDGED", str(wedged))
        except Exception as error:
            log.exception("segment failed", run=live.run_id)
            text = f"the daemon failed: {type(error).__name__}: {error}"
            failed = failure(pb.FAILURE_CLASS_INFRASTRUCTURE, "DAEMON_ERROR", text)
        finally:
            self.ended.set()
        if done or not self._halted:
            self._conclude(failed)
            _CONCLUDED()

    def cancel(self) -> None:
        """End the worker; the run is CANCELLING already."""
        if self._task is not None:
            self._task.cancel()

    async def halt(self) -> None:
        """End the worker because the daemon stops, after the sample in work; the run goes on in the next daemon."""
        self._halted = True
        state = self._live.run.state
        if state == pb.RUN_STATE_RUNNING and self._session is not None:
            self._session.stop()
        if state in (pb.RUN_STATE_RUNNING, pb.RUN_STATE_FINISHING):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.ended.wait(), self._around.config.deadlines.drain_s)
        self.cancel()
        await self.ended.wait()

    def _conclude(self, failed: pb.Failure | None) -> None:
        live = self._live
        if live.run.state == pb.RUN_STATE_CANCELLING:
            live.apply(machine.WorkerGone())
        elif failed is not None:
            live.apply(machine.Failed(failed))
        else:
            live.apply(machine.Summarised())
        log.info(
            "run ended",
            run=live.run_id,
            state=pb.RunState.Name(live.run.state),
            reason=live.run.failure.reason,
        )

    async def _attempt(self) -> None:
        around, live = self._around, self._live
        try:
            model = parse_model(around.store.read(live.run.plan.model_digest))
        except NotFound as error:
            raise Ended(failure(pb.FAILURE_CLASS_INPUT, error.reason, str(error))) from None
        try:
            checks = await around.board.acquire()
            _ACQUIRED()
            self._note_start(model, around.board.start_violations(checks))
            async with self._recording():
                # An earlier daemon may have died when all that was left to do was the verdict.
                if live.run.accepted_samples < live.run.planned_samples:
                    await self._with_worker(model)
                live.apply(machine.AllAccepted())
                _FINISHING()
                await self._recorder.settle()
        finally:
            await _uninterrupted(around.board.release())
        self._note_end()
        _SETTLED()

    @contextlib.asynccontextmanager
    async def _recording(self) -> AsyncIterator[None]:
        self._recorder.open()
        watch = asyncio.create_task(self._watch_board(), name=f"run-{self._live.run_id}-board")
        try:
            yield
        finally:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch
            self._recorder.close()

    async def _with_worker(self, model: ModelDeclaration) -> None:
        around = self._around
        python = around.config.runtimes[model.runtime].python
        scratch = Path(tempfile.mkdtemp(prefix="worker-", dir=around.config.data_dir))
        try:
            worker = await self._start(python, scratch)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        try:
            leftover.note(around.config.data_dir, worker.pid)
            _SPAWNED()
            await self._talk(worker, scratch)
        except Ended as ended:
            code = await _uninterrupted(worker.stop())
            if code < 0:
                ended.failure.signal = -code
            else:
                ended.failure.exit_code = code
            ended.failure.stderr_tail = await worker.stderr_tail()
            raise
        finally:
            self._session = None
            await _uninterrupted(self._stop(worker))
            shutil.rmtree(scratch, ignore_errors=True)

    async def _start(self, python: Path, scratch: Path) -> WorkerProcess:
        _SPAWNING()
        try:
            worker = await WorkerProcess.start(python, scratch, self._around.config.deadlines)
        except OSError as error:
            text = f"the runtime's interpreter {python} cannot be started: {error.strerror}"
            raise Ended(failure(pb.FAILURE_CLASS_INFRASTRUCTURE, "RUNTIME_BROKEN", text)) from None
        self.worker_pid = worker.pid
        log.info("worker started", run=self._live.run_id, pid=worker.pid, python=str(python))
        return worker

    async def _talk(self, worker: WorkerProcess, scratch: Path) -> None:
        around, live = self._around, self._live
        plan = live.run.plan
        manifest = read_manifest(around.store.path(plan.inputs_digest), plan.inputs_digest)
        for _ in range(live.run.accepted_samples):
            next(manifest)
        keeper = DeadlineKeeper(around.config.deadlines)
        self._session = session = Session(live, worker, manifest, keeper, self._recorder.sample)
        prepare = worker_pb2.Prepare(
            artifacts_path=str(around.store.folder),
            model_digest=plan.model_digest,
            inputs_digest=plan.inputs_digest,
            first_index=live.run.accepted_samples,
            planned_samples=live.run.planned_samples,
            segment=len(live.run.segments),
            warmup=plan.options.warmup if plan.options.HasField("warmup") else None,
            window=WINDOW,
            scratch_path=str(scratch),
            device=around.profile.device,
            isolation="none",
        )
        await session.run(worker_pb2.ToWorker(prepare=prepare))

    async def _stop(self, worker: WorkerProcess) -> None:
        await worker.stop()
        self.worker_pid = None
        leftover.forget(self._around.config.data_dir)
        _STOPPED()

    async def _watch_board(self) -> None:
        async for found in self._around.board.watch(self._around.hub.latest):
            if self._live.run.accepted_samples < self._live.run.planned_samples:
                found.sample_index = self._live.run.accepted_samples
            self._live.violate(found)

    def _segment(self) -> pb.Segment:
        board = self._around.board
        identity = board.identity()
        begun = "submitted" if not self._live.run.segments else "continued after an interruption"
        segment = pb.Segment(reason=begun, boot_id=identity.boot_id)
        if identity.HasField("uptime_s"):
            segment.uptime_s = identity.uptime_s
        available = board.memory_available_bytes()
        if available is not None:
            segment.memory_available_bytes = available
        return segment

    def _note_start(self, model: ModelDeclaration, found: list[pb.Violation]) -> None:
        live, run = self._live, self._live.run
        run.environment.board.update(self._around.board.facts())
        for made in found:
            live.violate(made)
        if len(run.segments) > 1:
            live.violate(violation("RESUMED", f"segment {len(run.segments)} of an interrupted run"))
        if self._around.profile.isolation_floor != "none":
            wanted = self._around.profile.isolation_floor
            live.violate(violation("ISOLATION_LOW", f"workers run without isolation; the profile wants {wanted}"))
        if model.files and not isinstance(model.source, HubSource | PackagedSource):
            live.violate(violation("SOURCE_REVISION_UNKNOWN", "the declaration names no repository and revision"))

    def _note_end(self) -> None:
        live, run = self._live, self._live.run
        self._recorder.check_coverage()
        method = _METHODS.get(run.memory.method)
        if method is not None and method not in self._around.profile.memory_methods:
            allowed = ", ".join(self._around.profile.memory_methods)
            live.violate(violation("MEMORY_METHOD", f"memory was measured by {method}; the profile counts {allowed}"))
        limit = run.plan.options.limit
        if run.plan.options.HasField("limit"):
            live.violate(violation("INCOMPLETE", f"the submitter asked for the first {limit} samples only"))


async def _uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Finish `work` although we are cancelled meanwhile, then be cancelled: what was begun is put away whole."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
        except BaseException:  # noqa: BLE001  # raised below, by result()
            break
    if cancelled:
        task.exception()
        raise asyncio.CancelledError
    return task.result()
