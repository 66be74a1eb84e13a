"""One segment of one run, from preflight to verdict."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import structlog
from orinbench.v1 import record_pb2 as pb
from orinbench.v1.board_pb2 import GpuClient
from orinbench_profiles import ModelDeclaration, parse_model

from orinbenchd.artifacts.resolutions import Resolutions
from orinbenchd.board.board import GPU_LOST, BoardRefusedError
from orinbenchd.board.violations import violation
from orinbenchd.errors import NotFound
from orinbenchd.failpoints import failpoint
from orinbenchd.runs import machine
from orinbenchd.runs.failures import Ended, failure
from orinbenchd.runs.host import WorkerHost
from orinbenchd.runs.live import LiveRun
from orinbenchd.runs.peaks import keep_peaks
from orinbenchd.runs.recorder import Recorder
from orinbenchd.runs.surroundings import Surroundings
from orinbenchd.uninterrupted import uninterrupted
from orinbenchd.worker.process import Wedged

log = structlog.get_logger("run")
_BEGUN = failpoint("run.begun")
_ACQUIRED = failpoint("run.preflight.passed")
_FINISHING = failpoint("run.finishing")
_SETTLED = failpoint("run.settled")
_CONCLUDED = failpoint("run.concluded")

_METHODS = {
    pb.MEMORY_METHOD_TORCH_RESERVED: "torch-reserved",
    pb.MEMORY_METHOD_TENSORRT_POOL: "tensorrt-pool",
    pb.MEMORY_METHOD_ONNXRUNTIME_POOL: "onnxruntime-pool",
    pb.MEMORY_METHOD_PROCESS_RSS: "process-rss",
}


class Execution:
    """Runs one segment. `cancel` and `halt` may be called at any time; `run` then ends soon."""

    def __init__(self, live: LiveRun, around: Surroundings, recorder: Recorder) -> None:
        self._host = WorkerHost(live, around, recorder.sample)
        self._live = live
        self._around = around
        self._recorder = recorder
        self._task: asyncio.Task[None] | None = None
        self._halted = False
        self.ended = asyncio.Event()

    @property
    def worker_pid(self) -> int | None:
        """Id of the worker's process, None while there is none."""
        return self._host.worker_pid

    async def run(self) -> None:
        """Take the run from QUEUED to an end. A halted run stays unfinished, for the next daemon."""
        live = self._live
        live.begin_segment(self._segment())
        live.apply(machine.BoardFree())
        _BEGUN()
        self._task = asyncio.create_task(self._attempt(), name=f"run-{live.run_id}-attempt")
        try:
            done, failed = await self._outcome(self._task)
            if done or not self._halted:
                # Results that came before the end are under way to the disk: the verdict counts them too.
                await live.log.flush()
                self._conclude(failed)
                _CONCLUDED()
        finally:
            self.ended.set()

    async def _outcome(self, attempt: asyncio.Task[None]) -> tuple[bool, pb.Failure | None]:
        """Wait for the attempt; return whether it was done to the end, and why it failed if it did."""
        try:
            await attempt
        except asyncio.CancelledError:
            if not self._halted and self._live.run.state != pb.RUN_STATE_CANCELLING:
                attempt.cancel()
                raise
            return False, None
        except (Ended, BoardRefusedError) as ended:
            failed = ended.failure
            if failed.failure_class == pb.FAILURE_CLASS_BOARD and failed.reason == GPU_LOST:
                self._around.on_wedged(failed.message)
            return False, failed
        except Wedged as wedged:
            self._around.on_wedged(str(wedged))
            return False, failure(pb.FAILURE_CLASS_BOARD, "BOARD_WEDGED", str(wedged))
        except Exception as error:
            log.exception("segment failed")
            text = f"the daemon failed: {type(error).__name__}: {error}"
            return False, failure(pb.FAILURE_CLASS_INFRASTRUCTURE, "DAEMON_ERROR", text)
        return True, None

    def cancel(self) -> None:
        """End the worker; the run is CANCELLING already."""
        if self._task is not None:
            self._task.cancel()

    async def halt(self) -> None:
        """End the worker because the daemon stops, after the sample in work; the run goes on in the next daemon."""
        self._halted = True
        state = self._live.run.state
        if state == pb.RUN_STATE_RUNNING:
            self._host.ask_to_stop()
        if state in (pb.RUN_STATE_RUNNING, pb.RUN_STATE_FINISHING):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.ended.wait(), self._around.config.deadlines.drain_s)
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await self.ended.wait()

    def _conclude(self, failed: pb.Failure | None) -> None:
        live = self._live
        if live.run.state == pb.RUN_STATE_CANCELLING:
            live.apply(machine.WorkerGone())
        elif failed is not None:
            live.apply(machine.Failed(failed))
        else:
            live.apply(machine.Summarised())
        log.info("run ended", state=pb.RunState.Name(live.run.state), reason=live.run.failure.reason)

    async def _attempt(self) -> None:
        around, live = self._around, self._live
        try:
            model = parse_model(around.store.read(live.run.plan.model_digest))
        except NotFound as error:
            raise Ended(failure(pb.FAILURE_CLASS_INPUT, error.reason, str(error))) from None
        runtime = await self._host.runtime(model.runtime)
        try:
            checks = await around.board.acquire()
            _ACQUIRED()
            self._note_start(model, around.board.start_violations(checks))
            async with self._recording():
                # An earlier daemon may have died when all that was left to do was the verdict.
                if live.run.accepted_samples < live.run.planned_samples:
                    await self._host.run(runtime)
                live.apply(machine.AllAccepted())
                _FINISHING()
                await self._recorder.settle()
        finally:
            await uninterrupted(around.board.release())
        self._note_end()
        _SETTLED()

    @contextlib.asynccontextmanager
    async def _recording(self) -> AsyncIterator[None]:
        self._recorder.open()
        watch = asyncio.create_task(self._watch_board(), name=f"run-{self._live.run_id}-board")
        watch.add_done_callback(self._unwatched)
        try:
            yield
        finally:
            self._recorder.close()
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch

    def _unwatched(self, watch: asyncio.Task[None]) -> None:
        """End the attempt when the watch failed: nobody would see what happens to the board any more."""
        if not watch.cancelled() and watch.exception() is not None and self._task is not None:
            self._task.cancel()

    async def _watch_board(self) -> None:
        async for found in self._around.board.watch(self._around.hub.latest, self._note_clients):
            if self._live.run.accepted_samples < self._live.run.planned_samples:
                found.sample_index = self._live.run.accepted_samples
            self._live.violate(found)

    def _note_clients(self, clients: Sequence[GpuClient]) -> None:
        """Keep the greatest row of the worker in the nvmap table, of the whole tree below us: a sandbox forks."""
        own = [client.memory_bytes for client in clients if client.source == "nvmap"]
        if not own:
            return
        memory = self._live.run.memory
        before = memory.peak_nvmap_bytes
        keep_peaks(memory, pb.MemoryReading(peak_nvmap_bytes=sum(own)))
        if memory.peak_nvmap_bytes > before:
            # It is in no record: the next daemon, should this one die, has it from here.
            self._live.save()

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
        isolation = self._around.sandbox.isolation
        run.environment.isolation, run.environment.isolation_reason = isolation.level, isolation.reason
        for made in found:
            live.violate(made)
        if len(run.segments) > 1:
            live.violate(violation("RESUMED", f"segment {len(run.segments)} of an interrupted run"))
        doubt = Resolutions(self._around.config.data_dir).doubt(model, run.plan.model_digest)
        if doubt is not None:
            live.violate(violation("SOURCE_REVISION_UNKNOWN", doubt))

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
