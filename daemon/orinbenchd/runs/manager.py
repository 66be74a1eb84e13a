"""All runs of this daemon: the durable queue, the one active run, and what clients may do with them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import structlog
from orinbench.v1 import record_pb2 as pb
from orinbench.v1 import run_pb2
from orinbench.v1.telemetry_pb2 import Telemetry
from orinbench_profiles import DeclarationError, HardwareProfile, Loaded, execution_contract_digest

from orinbenchd.artifacts.store import free_bytes
from orinbenchd.doors.roles import LOCAL
from orinbenchd.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    Unavailable,
    disk_low,
)
from orinbenchd.failpoints import failpoint
from orinbenchd.journal.reader import Reader
from orinbenchd.journal.salvage import broken
from orinbenchd.journal.writer import Writer
from orinbenchd.runs import lifetimes, machine, queue, table
from orinbenchd.runs.execution import Execution
from orinbenchd.runs.live import LiveRun
from orinbenchd.runs.names import id_of, new_id
from orinbenchd.runs.plan import Checked, check_fields, check_plan, digests_of
from orinbenchd.runs.recorder import Recorder
from orinbenchd.runs.retention import Retention
from orinbenchd.runs.surroundings import Surroundings

T = TypeVar("T")
log = structlog.get_logger("runs")
_GIB = 1 << 30
_TIDY_S = 3600.0
WEDGED_HINT = "restart the board: the queue then goes on by itself"
_CHECKED = failpoint("run.create.checked")
_CREATED = failpoint("run.created")
_RECOVERED = failpoint("run.recovered")
_DEQUEUED = failpoint("run.dequeued")
_CANCELLING = failpoint("run.cancelling")
_RESUMED = failpoint("run.resumed")
_ENDED = failpoint("run.ended")


class RunManager:
    """Takes runs, works through them one by one, and answers for all of them."""

    def __init__(self, writer: Writer, reader: Reader, around: Surroundings, profile: Loaded[HardwareProfile]) -> None:
        self.reader = reader
        self.draining = False
        self.wedged = ""
        self._writer = writer
        self._around = around
        self._profile = profile
        self._live: dict[str, LiveRun] = {}
        self._recorders: dict[str, Recorder] = {}
        self._next_number = 1
        self._active: LiveRun | None = None
        self._execution: Execution | None = None
        self._work_due = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None
        self._pace = queue.Pace()
        self._queue = queue.Queue()
        # Runs that ended since the start, by state.
        self.ended: Counter[str] = Counter()
        # Nothing is deleted while a new run is looked through, and no run is taken up twice.
        self._gate = asyncio.Lock()
        self._retention = Retention(around.config, writer, reader, around.store, self._gate)
        self._unhurried: set[asyncio.Task[Any]] = set()

    # Life of the manager.

    async def recover(self) -> None:
        """Take up what an earlier daemon left unfinished."""
        self._next_number = await self.reader.ask(table.next_number)
        for number, run in await self.reader.ask(table.unfinished):
            live = await self._adopt(number, run)
            live.apply(machine.DaemonDied())
            self._limit_waiting(live)
            log.info(
                "recovered",
                run=live.run_id,
                state=pb.RunState.Name(live.run.state),
                samples=run.accepted_samples,
            )
            await live.log.flush()
            _RECOVERED()
            if live.ended:
                self._forget(live)

    def start(self) -> None:
        """Begin to work through the queue."""
        self._worker = asyncio.create_task(self._work(), name="runs-work")
        self._worker.add_done_callback(self._stopped_working)
        self._work_due.set()

    def drain(self) -> None:
        """Take no more runs and end all watches."""
        self.draining = True
        for live in self._live.values():
            live.log.changed.fire()

    async def halt(self) -> None:
        """End the worker, at a sample boundary if it comes soon; unfinished runs stay for the next daemon."""
        if self._execution is not None:
            await self._execution.halt()
        if self._worker is not None:
            self._worker.cancel()
            # What it died of, if it did, was told then.
            await asyncio.wait([self._worker])

    # What clients may do.

    async def create(self, request: run_pb2.CreateRunRequest, submitter: str) -> run_pb2.Run:
        """Queue a run, or return the one that the same request made before. Raises DaemonError."""
        check_fields(request)
        plan = request.plan.SerializeToString(deterministic=True)
        earlier = await self.reader.ask(lambda connection: table.taken(connection, request.request_id))
        if earlier is not None:
            return await self._repeated(request.request_id, plan, earlier)
        async with self._gate:
            self._check_open(request.plan, submitter)
            checked = await self._look_through(request.plan)
            _CHECKED()
            run = run_pb2.Run(
                name=f"runs/{new_id(request.plan.model_id)}",
                plan=request.plan,
                state=pb.RUN_STATE_QUEUED,
                planned_samples=checked.samples,
                hardware_profile_digest=self._profile.digest,
                execution_contract_digest=execution_contract_digest(),
                submitter=submitter,
                board=f"boards/{self._around.config.name}",
            )
            run.plan.hardware_profile = self._profile.declaration.id
            run.create_time.FromNanoseconds(time.time_ns())
            number, self._next_number = self._next_number, self._next_number + 1
            live = LiveRun(self._writer, number, run, self._around.key.sign)
            made = await self._whole(self._enqueue(live, request.request_id, plan))
        if made is not None:
            return await self._repeated(request.request_id, plan, made)
        _CREATED()
        log.info("queued", run=live.run_id, model=run.plan.model_id, samples=checked.samples, submitter=submitter)
        return self._shown(live)

    async def get(self, name: str) -> run_pb2.Run:
        """Return a run as it is now. Raises NotFound."""
        live = self._live.get(id_of(name))
        return self._shown(live) if live is not None else (await self._stored(name))[1]

    async def page(self, before: int | None, limit: int, states: list[pb.RunState]) -> list[tuple[int, run_pb2.Run]]:
        """Return (number, run) below a number, newest first."""
        found = await self.reader.runs(before, limit, states)
        return [(number, self._now(run)) for number, run in found]

    async def cancel(self, name: str, reason: str) -> run_pb2.Run:
        """Stop a run. Raises NotFound, FailedPrecondition."""
        live = self._live.get(id_of(name))
        if live is None:
            run = (await self._stored(name))[1]
            if run.state != pb.RUN_STATE_CANCELLED:
                raise _forbidden(run, "it has ended")
            return run
        try:
            left = live.apply(machine.CancelAsked(reason or "cancelled by request"))
        except machine.Impossible:
            raise _forbidden(live.run, "it cannot be cancelled any more") from None
        if any(isinstance(item, machine.StopWorker) for item in left) and self._execution is not None:
            self._execution.cancel()
        _CANCELLING()
        await self._whole(self._settle(live))
        return self._shown(live)

    async def resume(self, name: str) -> run_pb2.Run:
        """Let a failed run go on in a new segment. Raises NotFound, FailedPrecondition."""
        self._check_taking()
        async with self._gate:
            if (live := self._live.get(id_of(name))) is not None:
                if not live.settled:
                    raise _forbidden(live.run, "it has not failed")
                self._forget(live)
            number, run = await self._stored(name)
            if run.state != pb.RUN_STATE_FAILED or not machine.resumable(run.failure):
                raise _forbidden(run, "only a run that failed as hung, crashed, board or infrastructure can go on")
            self._check_queue(run.submitter)
            # What it needs may have been removed since; the failure it has can be mended, one for that could not.
            await self._look_through(run.plan)
            live = await self._adopt(number, run)
            live.apply(machine.ResumeAsked())
            self._limit_unwatched(live)
            self._work_due.set()
        await live.log.flush()
        _RESUMED()
        return self._shown(live)

    @contextlib.asynccontextmanager
    async def needed_artifacts(self) -> AsyncIterator[dict[str, str]]:
        """Give the digests that unfinished runs need, each with a run; while it is held no run is added.

        Raises FailedPrecondition if what one needs cannot be told.
        """
        async with self._gate:
            users: dict[str, str] = {}
            for live in [live for live in self._live.values() if not live.settled]:
                try:
                    needed = await asyncio.to_thread(digests_of, live.run.plan, self._around.store)
                except (InvalidArgument, DeclarationError) as error:
                    text = f"what {live.run.name} needs cannot be read any more: cancel it first ({error})"
                    raise FailedPrecondition("ARTIFACT_IN_USE", text, run=live.run.name) from None
                users.update(dict.fromkeys(needed, live.run.name))
            yield users

    async def records_of(self, name: str) -> tuple[int, LiveRun | None]:
        """Return the run's number in the journal and the run itself while it is unfinished. Raises NotFound."""
        live = self._live.get(id_of(name))
        return (live.number, live) if live is not None else ((await self._stored(name))[0], None)

    @contextlib.contextmanager
    def watching(self, live: LiveRun) -> Iterator[None]:
        """Count a watcher of an unfinished run."""
        live.watchers += 1
        self._limit_unwatched(live)
        try:
            yield
        finally:
            live.watchers -= 1
            self._limit_unwatched(live)

    # What the board page shows.

    @property
    def active(self) -> LiveRun | None:
        """The run that has the board."""
        return self._active

    @property
    def queued(self) -> list[LiveRun]:
        """The queue, next one first."""
        return self._queue.order(self._live.values())

    def expected_wait_s(self, live: LiveRun | None = None) -> float | None:
        """Return the seconds until `live` (None: a run submitted now) would start."""
        waiting = self.queued
        ahead = waiting[: waiting.index(live)] if live in waiting else waiting
        return self._pace.expected_wait_s(self._active, ahead)

    def position(self, live: LiveRun) -> int | None:
        """Return how many runs are ahead of a queued one."""
        waiting = self.queued
        return waiting.index(live) + (self._active is not None) if live in waiting else None

    def annotate(self, reading: Telemetry) -> None:
        """Fill in what only the daemon knows of a reading: the active run and its worker's memory."""
        if self._active is None or self._execution is None:
            return
        reading.run = self._active.run.name
        if self._execution.worker_pid is not None:
            with contextlib.suppress(OSError):
                pages = Path(f"/proc/{self._execution.worker_pid}/statm").read_text().split()[1]
                reading.worker_rss_bytes = int(pages) * 4096

    def disk_full(self, full: bool) -> None:
        """Pause or continue the active run with the disk."""
        log.error("the disk is full: the run waits") if full else log.info("there is room on the disk again")
        if self._active is not None and not self._active.ended:
            self._active.apply(machine.DiskFull() if full else machine.DiskRoom())

    # Inside.

    async def _work(self) -> None:
        # Not by its cancellation alone: up to Python 3.11 wait_for may lose one.
        while not self.draining:
            # Between runs, never beside one that is being measured.
            await self._tidy()
            waiting = self.queued
            if not waiting or self.wedged:
                self._work_due.clear()
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._work_due.wait(), _TIDY_S)
                continue
            await self._work_on(waiting[0])

    async def _tidy(self) -> None:
        if not self._retention.limited:
            return
        try:
            await self._retention.runs()
            async with self.needed_artifacts() as needed:
                await asyncio.to_thread(self._retention.artifacts, needed)
        except (OSError, FailedPrecondition) as error:
            log.error("not everything that is over its limits could be removed", reason=str(error))

    async def _work_on(self, live: LiveRun) -> None:
        _DEQUEUED()
        self._queue.begin(live, self._live.values())
        self._active = live
        self._queue_moved()
        self._execution = Execution(live, self._around, self._recorder(live))
        identity = self._around.board.identity()
        uptime_s = identity.uptime_s if identity.HasField("uptime_s") else None
        timer = lifetimes.limit_time(live, identity.boot_id, uptime_s, self._cancel_late)
        try:
            with structlog.contextvars.bound_contextvars(run=live.run_id):
                await self._execution.run()
                await live.log.flush()
        finally:
            if timer is not None:
                timer.cancel()
            self._active = self._execution = None
        _ENDED()
        if live.ended:
            self._pace.note(live)
            self._forget(live)

    def _stopped_working(self, task: asyncio.Task[None]) -> None:
        """A daemon that lives and never runs anything again would look healthy for ever."""
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            log.error("the queue is dead", exc_info=error)
            self._writer.fail(error)

    async def _look_through(self, plan: run_pb2.RunPlan) -> Checked:
        """See that the board has all that a plan names. Raises DaemonError."""
        config = self._around.config
        return await asyncio.to_thread(
            check_plan, plan, self._around.store, list(config.runtimes), config.limits.samples
        )

    async def _whole(self, work: Coroutine[Any, Any, T]) -> T:
        """Await what must not stop half-way because a caller has hung up."""
        return await asyncio.shield(self._kept(work))

    def _kept(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.ensure_future(work)
        self._unhurried.add(task)
        task.add_done_callback(self._unhurried.discard)
        return task

    async def _enqueue(self, live: LiveRun, request_id: str, plan: bytes) -> table.Taken | None:
        made = await live.enqueue(lambda journal: table.insert(journal, live.number, request_id, plan, live.run))
        if made is None:
            self._live[live.run_id] = live
            self._limit_waiting(live)
            self._work_due.set()
            self._queue_moved()
        return made

    async def _settle(self, live: LiveRun) -> None:
        await live.log.flush()
        if live.ended:
            self._forget(live)

    async def _adopt(self, number: int, run: run_pb2.Run) -> LiveRun:
        """Load an unfinished or resumed run from the journal, with its sums."""
        live = LiveRun(self._writer, number, run, self._around.key.sign)
        recorder = Recorder(live, self._around.hub, self._profile.declaration)

        def replay(body: pb.RecordBody) -> None:
            live.replay(body)
            recorder.replay(body)

        await self.reader.ask(lambda connection: live.log.load(connection, replay))
        self._live[live.run_id] = live
        self._recorders[live.run_id] = recorder
        return live

    def _recorder(self, live: LiveRun) -> Recorder:
        return self._recorders.get(live.run_id) or Recorder(live, self._around.hub, self._profile.declaration)

    def _forget(self, live: LiveRun) -> None:
        for timer in (live.unwatched, live.unbegun):
            if timer is not None:
                timer.cancel()
        # Resumed by who saw the verdict first, it is another one by now.
        if self._live.get(live.run_id) is not live:
            return
        del self._live[live.run_id]
        self.ended[pb.RunState.Name(live.run.state).removeprefix("RUN_STATE_").lower()] += 1
        self._recorders.pop(live.run_id, None)
        self._queue_moved()

    def _queue_moved(self) -> None:
        """Wake whoever watches a queued run: its place may be another."""
        for live in self.queued:
            live.log.changed.fire()

    def _shown(self, live: LiveRun) -> run_pb2.Run:
        shown = run_pb2.Run()
        shown.CopyFrom(live.run)
        shown.last_seq = live.log.durable_seq
        position = self.position(live)
        if position is not None:
            shown.queue_position = position
        return shown

    def _now(self, run: run_pb2.Run) -> run_pb2.Run:
        live = self._live.get(id_of(run.name))
        return run if live is None else self._shown(live)

    async def _stored(self, name: str) -> tuple[int, run_pb2.Run]:
        found = await self.reader.run(id_of(name))
        if found is not None:
            return found
        text = f"there is no run {name[:160]!r} on this board"
        removed = await self.reader.ask(lambda connection: table.removed(connection, id_of(name)))
        if removed is not None:
            when = datetime.fromtimestamp(removed[0] / 1e9, timezone.utc)
            text = f"run {id_of(name)} was removed on {when:%Y-%m-%d at %H:%M} UTC: {removed[1]}"
        elif kept := broken(self._around.config.journal):
            text += f"; its journal was once damaged, and what could not be saved is there in {kept[-1].name}"
        raise NotFound("RUN_NOT_FOUND", text, run=name[:160])

    async def _repeated(self, request_id: str, plan: bytes, earlier: table.Taken) -> run_pb2.Run:
        if earlier.plan == plan:
            return await self.get(f"runs/{earlier.run_id}")
        why = "with another plan" if earlier.plan is not None else "which was removed"
        raise AlreadyExists(
            "REQUEST_ID_REUSED",
            f"request id {request_id!r} belongs to run {earlier.run_id}, {why}: choose a new one",
            request_id=request_id,
            run=earlier.run_id,
        )

    def _check_taking(self) -> None:
        if self.draining:
            raise Unavailable("DRAINING", "the daemon is going down and takes no more runs")
        if self.wedged:
            raise Unavailable("BOARD_WEDGED", f"the board is wedged: {self.wedged}; {WEDGED_HINT}", hint=WEDGED_HINT)

    def _check_open(self, plan: run_pb2.RunPlan, submitter: str) -> None:
        self._check_taking()
        profile = self._profile.declaration
        if plan.hardware_profile not in ("", profile.id):
            raise FailedPrecondition(
                "PROFILE_MISMATCH",
                f"the plan wants hardware profile {plan.hardware_profile!r}; this board runs {profile.id!r}",
                wanted=plan.hardware_profile,
                board=profile.id,
            )
        self._check_queue(submitter)
        free, floor = free_bytes(self._around.config.data_dir), int(profile.free_disk_gib * _GIB)
        if free < floor:
            raise disk_low(free, floor)

    def _check_queue(self, submitter: str) -> None:
        limits = self._around.config.limits
        own = sum(live.run.submitter == submitter for live in self._live.values())
        for count, limit, whose in (
            (len(self._live), limits.queue_length, ""),
            (0 if submitter == LOCAL.name else own, limits.queue_per_submitter, f" of {submitter}"),
        ):
            if count >= limit:
                text = f"{limit} runs{whose} are waiting already: try again later"
                raise ResourceExhausted("QUEUE_FULL", text, limit=limit)

    def _limit_unwatched(self, live: LiveRun) -> None:
        lifetimes.limit_unwatched(live, self._cancel_late)

    def _limit_waiting(self, live: LiveRun) -> None:
        self._limit_unwatched(live)
        lifetimes.limit_queued(live, self._cancel_unbegun)

    def _cancel_late(self, live: LiveRun, reason: str) -> None:
        if not live.ended:
            task = asyncio.ensure_future(self.cancel(live.run.name, reason))
            task.add_done_callback(_log_refused)

    def _cancel_unbegun(self, live: LiveRun, reason: str) -> None:
        # At once, not by a task: it must not meet a run that begins meanwhile.
        if live.run.state == pb.RUN_STATE_QUEUED:
            live.apply(machine.CancelAsked(reason))
            self._kept(self._settle(live))


def _log_refused(task: asyncio.Task[run_pb2.Run]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.info("not cancelled", reason=str(task.exception()))


def _forbidden(run: run_pb2.Run, why: str) -> FailedPrecondition:
    state = pb.RunState.Name(run.state).removeprefix("RUN_STATE_")
    return FailedPrecondition("STATE_FORBIDS", f"{run.name} is {state}: {why}", run=run.name, state=state)
