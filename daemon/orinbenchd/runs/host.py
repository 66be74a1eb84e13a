"""Holds one worker through one segment: its runtime, folders and sandbox, and what is said of its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog
from orinbench.internal.v1 import worker_pb2
from orinbench.v1 import record_pb2 as pb

from orinbenchd.failpoints import failpoint
from orinbenchd.runs.failures import Ended, failure, with_last_words
from orinbenchd.runs.live import LiveRun
from orinbenchd.runs.plan import read_manifest
from orinbenchd.runs.session import WINDOW, Session
from orinbenchd.runs.surroundings import Surroundings
from orinbenchd.sandbox import View
from orinbenchd.uninterrupted import uninterrupted
from orinbenchd.worker import leftover
from orinbenchd.worker.deadlines import DeadlineKeeper
from orinbenchd.worker.folders import Folders, folders
from orinbenchd.worker.process import WorkerProcess
from orinbenchd.worker.runtimes import RuntimeBroken, Surveyed

log = structlog.get_logger("worker")
_GIB = 1 << 30
_SPAWNING = failpoint("worker.spawn")
_SPAWNED = failpoint("worker.spawned")
_STOPPED = failpoint("worker.stopped")


class WorkerHost:
    """Gives a run its worker. `on_sample` is called with each accepted sample."""

    def __init__(self, live: LiveRun, around: Surroundings, on_sample: Callable[[pb.SampleRecord], None]) -> None:
        self._live = live
        self._around = around
        self._on_sample = on_sample
        self._worker: WorkerProcess | None = None
        self._session: Session | None = None
        # Why the worker was killed, if it wrote too much.
        self._overfull: pb.Failure | None = None

    @property
    def worker_pid(self) -> int | None:
        """Id of the worker's process, None while there is none."""
        return self._worker.worker_pid if self._worker is not None else None

    async def runtime(self, name: str) -> Surveyed:
        """Return a runtime in which a worker can start. Raises Ended."""
        try:
            return await self._around.runtimes.get(name)
        except RuntimeBroken as broken:
            raise _runtime_broken(str(broken)) from None

    async def run(self, runtime: Surveyed) -> None:
        """Start a worker and talk to it until every sample is durable. Raises Ended, Wedged."""
        config = self._around.config
        limits = config.limits
        worker_bytes, cache_bytes = int(limits.worker_gib * _GIB), int(limits.cache_gib * _GIB)
        with folders(config.data_dir, self._live.run.plan.model_digest, worker_bytes, cache_bytes) as own:
            worker = self._worker = await self._start(runtime, own)
            try:
                leftover.note(config.data_dir, worker.pids)
                _SPAWNED()
                await self._talk(worker, own)
            except Ended as ended:
                raise Ended(await uninterrupted(self._last_words(worker, ended.failure))) from None
            finally:
                self._session = None
                await uninterrupted(worker.stop())
                self._worker = None
                leftover.forget(config.data_dir)
                _STOPPED()

    def ask_to_stop(self) -> None:
        """Have the worker end after the sample in work, if there is one that computes samples."""
        if self._session is not None:
            self._session.stop()

    async def _start(self, runtime: Surveyed, own: Folders) -> WorkerProcess:
        around = self._around
        view = View(
            scratch=own.scratch,
            readable=(*runtime.paths, around.store.folder),
            writable=(own.cache,),
            gpu=around.profile.device == "cuda",
        )
        _SPAWNING()
        try:
            worker = await WorkerProcess.start(
                runtime.python, around.sandbox, view, around.packages, around.config.deadlines
            )
        except OSError as error:
            text = f"the runtime's interpreter {runtime.python} cannot be started: {error.strerror}"
            raise _runtime_broken(text) from None
        log.info("worker started", pid=worker.pid, python=str(runtime.python))
        return worker

    async def _talk(self, worker: WorkerProcess, own: Folders) -> None:
        around, live = self._around, self._live
        plan = live.run.plan
        manifest = read_manifest(around.store.path(plan.inputs_digest), plan.inputs_digest)
        for _ in range(live.run.accepted_samples):
            next(manifest)
        keeper = DeadlineKeeper(around.config.deadlines)
        session = self._session = Session(live, worker, manifest, keeper, self._on_sample)
        limit = asyncio.create_task(self._limit(worker, own), name=f"run-{live.run_id}-folders")
        try:
            await session.run(worker_pb2.ToWorker(prepare=self._prepare(own)))
        finally:
            limit.cancel()

    def _prepare(self, own: Folders) -> worker_pb2.Prepare:
        around, live = self._around, self._live
        plan = live.run.plan
        return worker_pb2.Prepare(
            artifacts_path=str(around.store.folder),
            model_digest=plan.model_digest,
            inputs_digest=plan.inputs_digest,
            first_index=live.run.accepted_samples,
            planned_samples=live.run.planned_samples,
            segment=len(live.run.segments),
            warmup=plan.options.warmup if plan.options.HasField("warmup") else None,
            window=WINDOW,
            scratch_path=str(own.scratch),
            cache_path=str(own.cache),
            device=around.profile.device,
            isolation=around.sandbox.isolation.level,
        )

    async def _limit(self, worker: WorkerProcess, own: Folders) -> None:
        """Kill a worker that writes more than it may."""
        used = await own.overfull(worker.pid)
        text = (
            f"the worker wrote {used / _GIB:.3g} GiB to its scratch folder and its model's cache: "
            f"limits.worker_gib allows {own.max_bytes / _GIB:.3g}"
        )
        self._overfull = failure(pb.FAILURE_CLASS_MODEL, "SCRATCH_FULL", text)
        await worker.kill()

    async def _last_words(self, worker: WorkerProcess, found: pb.Failure) -> pb.Failure:
        """End a worker that failed; add to the failure how it ended and what it said last."""
        code = await worker.stop()
        tail = await worker.stderr_tail()
        if self._overfull is not None:
            found = self._overfull
        elif found.reason == "WORKER_EXITED" and tail.startswith("bwrap: "):
            text = f"no sandbox could be made for the worker: {tail.strip()}"
            found = failure(pb.FAILURE_CLASS_INFRASTRUCTURE, "SANDBOX_FAILED", text)
        found = with_last_words(found, tail)
        if code < 0:
            found.signal = -code
        else:
            found.exit_code = code
        return found


def _runtime_broken(text: str) -> Ended:
    return Ended(failure(pb.FAILURE_CLASS_INFRASTRUCTURE, "RUNTIME_BROKEN", text))
