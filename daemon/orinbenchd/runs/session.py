"""The conversation with one worker: results in, acknowledgements out, deadlines by progress."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator

from google.protobuf.message import DecodeError
from orinbench.internal.v1 import worker_pb2
from orinbench.v1 import record_pb2 as pb

from orinbenchd.board.violations import violation
from orinbenchd.failpoints import failpoint
from orinbenchd.runs import machine
from orinbenchd.runs.failures import Ended, failure, of_exit
from orinbenchd.runs.live import LiveRun
from orinbenchd.runs.peaks import keep_peaks
from orinbenchd.runs.plan import ManifestLine
from orinbenchd.worker.channel import Nonsense
from orinbenchd.worker.deadlines import DeadlineKeeper
from orinbenchd.worker.oom import OomCounter
from orinbenchd.worker.process import WorkerProcess

PROTOCOL = 1
WINDOW = 64
MAX_BODY = 1 << 20
MAX_LINES = 1000
_HELLO = failpoint("worker.hello")
_READY = failpoint("worker.ready")
_RESULT = failpoint("worker.result")
_DONE = failpoint("worker.done")
_DURABLE = failpoint("worker.ack.before")
_ACKNOWLEDGED = failpoint("worker.ack.after")


class Session:
    """Drives one worker through one segment. `on_sample` is called with each accepted sample."""

    def __init__(
        self,
        live: LiveRun,
        worker: WorkerProcess,
        manifest: Iterator[ManifestLine],
        deadlines: DeadlineKeeper,
        on_sample: Callable[[pb.SampleRecord], None],
    ) -> None:
        self._live = live
        self._worker = worker
        self._manifest = manifest
        self._deadlines = deadlines
        self._on_sample = on_sample
        self._loop = asyncio.get_running_loop()
        self._received = live.run.accepted_samples
        # When the next window may begin at the earliest.
        self._free_ns = time.monotonic_ns()
        self._ack_due = False
        self._expires = 0.0
        # Lines it has said.
        self._said = 0
        self._hung = False
        self._oom = OomCounter(worker.pid)

    async def run(self, prepare: worker_pb2.ToWorker) -> None:
        """Talk until every sample is durable. Raises Ended."""
        self._worker.channel.send(prepare)
        self._progress()
        watchdog = asyncio.create_task(self._watch(), name=f"worker-{self._worker.pid}-watchdog")
        try:
            while await self._step():
                pass
        finally:
            watchdog.cancel()
            self._tell_left_out()
        # All that was appended before this is durable, and counted, once it returns.
        await self._live.log.flush()
        if self._live.run.accepted_samples != self._live.run.planned_samples:
            raise Ended(
                failure(
                    pb.FAILURE_CLASS_CRASHED,
                    "WORKER_STOPPED_EARLY",
                    f"the worker says it is done after {self._live.run.accepted_samples} of "
                    f"{self._live.run.planned_samples} samples",
                )
            )

    def stop(self) -> None:
        """Ask the worker to end after the sample in work; `run` then raises Ended, unless it was the last one."""
        self._worker.channel.send(worker_pb2.ToWorker(stop=worker_pb2.Stop()))

    async def _step(self) -> bool:
        """Take one message; False when the worker is done."""
        try:
            message = await self._worker.channel.receive()
            if message is None:
                raise Ended(await self._why_gone())
            return self._take(message)
        except Nonsense as nonsense:
            await self._worker.kill()
            raise Ended(
                failure(pb.FAILURE_CLASS_CRASHED, "WORKER_NONSENSE", f"the worker sent nonsense: {nonsense}")
            ) from None

    def _take(self, message: worker_pb2.FromWorker) -> bool:
        kind = message.WhichOneof("message")
        # It goes into one record; a result has its own limit.
        if kind in ("ready", "failure") and message.ByteSize() > MAX_BODY:
            raise Nonsense(f"{kind} in {message.ByteSize()} bytes (at most {MAX_BODY})")
        if kind == "result":
            self._result(message.result)
        elif kind == "phase":
            self._phase(message.phase)
        elif kind == "hello":
            if message.hello.protocol != PROTOCOL:
                raise Ended(self._other_version(message.hello))
            # Whatever was between us and the worker has put it where it stays.
            self._oom = OomCounter(self._worker.pid)
            _HELLO()
        elif kind == "ready":
            self._ready(message.ready)
        elif kind == "log":
            self._say(message.log)
        elif kind == "failure":
            raise Ended(message.failure)
        elif kind == "done":
            self._keep_peaks(message.done.memory)
            _DONE()
            return False
        else:
            raise Nonsense("a message without content")
        if kind != "log":
            self._progress()
        return True

    def _progress(self) -> None:
        self._expires = self._loop.time() + self._deadlines.seconds()

    def _say(self, line: worker_pb2.Log) -> None:
        """Record a line of the worker's. What it says is no progress, and there is an end to what is kept of it."""
        self._said += 1
        if self._said <= MAX_LINES:
            self._live.say(line.level, "worker", line.message[:4096])

    def _tell_left_out(self) -> None:
        if self._said > MAX_LINES:
            text = f"{self._said - MAX_LINES} more lines of the worker's were left out: {MAX_LINES} a segment are kept"
            self._live.say(pb.LOG_LEVEL_WARNING, "daemon", text)

    def _phase(self, phase: worker_pb2.Phase) -> None:
        self._deadlines.enter(phase)
        self._live.phase = worker_pb2.PhaseKind.Name(phase.kind).removeprefix("PHASE_KIND_")
        self._live.log.changed.fire()

    def _ready(self, ready: worker_pb2.Ready) -> None:
        run = self._live.run
        if run.state != pb.RUN_STATE_PREPARING:
            raise Nonsense(f"ready while the run is {pb.RunState.Name(run.state).removeprefix('RUN_STATE_')}")
        run.model_facts.CopyFrom(ready.model_facts)
        noted = pb.Environment()
        noted.CopyFrom(run.environment)
        run.environment.CopyFrom(ready.environment)
        # What the daemon knows itself is not for a worker to say.
        run.environment.board.update(noted.board)
        run.environment.isolation, run.environment.isolation_reason = noted.isolation, noted.isolation_reason
        self._keep_peaks(ready.memory)
        self._live.apply(machine.WorkerReady())
        _READY()

    def _result(self, result: worker_pb2.Result) -> None:
        if self._live.run.state not in (pb.RUN_STATE_RUNNING, pb.RUN_STATE_PAUSED):
            raise Nonsense("a result before it was ready")
        sample = self._check(result)
        _RESULT()
        future = self._live.log.append(pb.RECORD_KIND_SAMPLE, result.body, result.index)
        future.add_done_callback(lambda done: self._durable(done, sample))
        self._deadlines.sample(sample.window_ns / 1e9)

    def _check(self, result: worker_pb2.Result) -> pb.SampleRecord:
        """See that a result is the next one and is about the right sample. Raises Nonsense."""
        if result.index != self._received or result.index >= self._live.run.planned_samples:
            raise Nonsense(f"result {result.index} where {self._received} is next")
        if len(result.body) > MAX_BODY:
            raise Nonsense(f"a result of {len(result.body)} bytes (at most {MAX_BODY})")
        try:
            sample = pb.RecordBody.FromString(result.body).sample
        except DecodeError as error:
            raise Nonsense(f"result {result.index} is no record ({error})") from None
        expected = next(self._manifest).sample_id
        segment = len(self._live.run.segments)
        if (sample.index, sample.sample_id, sample.segment) != (result.index, expected, segment):
            raise Nonsense(
                f"result {result.index} is about sample {sample.index} {sample.sample_id!r} of segment "
                f"{sample.segment}, not {expected!r} of {segment}"
            )
        self._check_figures(sample)
        self._received += 1
        return sample

    def _check_figures(self, sample: pb.SampleRecord) -> None:
        """See that the times could have been: windows of this segment, one after the other, by our own clock."""
        start, window, now = sample.start_monotonic_ns, sample.window_ns, time.monotonic_ns()
        if window < 0 or not self._free_ns <= start <= now - window:
            raise Nonsense(
                f"result {sample.index} has a window of {window} ns from {start} on; only between {self._free_ns} and "
                f"{now} could one be"
            )
        if min([0, sample.first_token_ns, *(stage.duration_ns for stage in sample.stages)]) < 0:
            raise Nonsense(f"result {sample.index} has a part that took less than no time")
        if not (math.isfinite(sample.audio_seconds) and sample.audio_seconds >= 0):
            raise Nonsense(f"result {sample.index} is about {sample.audio_seconds} s of audio")
        self._free_ns = start + window

    def _durable(self, done: asyncio.Future[None], sample: pb.SampleRecord) -> None:
        if done.cancelled() or done.exception() is not None:
            return
        self._live.accept(sample)
        self._keep_peaks(sample.memory)
        self._on_sample(sample)
        # One acknowledgement for all that one commit made durable.
        if not self._ack_due:
            self._ack_due = True
            self._loop.call_soon(self._acknowledge)

    def _acknowledge(self) -> None:
        self._ack_due = False
        _DURABLE()
        ack = worker_pb2.Ack(index=self._live.run.accepted_samples - 1)
        self._worker.channel.send(worker_pb2.ToWorker(ack=ack))
        _ACKNOWLEDGED()

    def _keep_peaks(self, memory: pb.MemoryReading) -> None:
        run = self._live.run
        earlier = run.memory.method
        if earlier and memory.method and memory.method != earlier:
            names = " and ".join(pb.MemoryMethod.Name(method) for method in (earlier, memory.method))
            self._live.violate(violation("MEMORY_METHOD", f"memory was measured by two methods in one run: {names}"))
        keep_peaks(run.memory, memory)

    async def _watch(self) -> None:
        """End a worker that makes no progress within its deadline. Waiting for our own disk is not its fault."""
        while True:
            left = self._expires - self._loop.time()
            if self._received - self._live.run.accepted_samples >= WINDOW:
                self._progress()
            elif left <= 0:
                self._hung = True
                await self._worker.kill()
                return
            # A later phase may have a shorter deadline: look again soon.
            await asyncio.sleep(min(max(left, 0.05), 1.0))

    async def _why_gone(self) -> pb.Failure:
        if self._hung:
            doing = self._live.phase or "STARTING"
            text = f"no progress within {self._deadlines.seconds():.0f} s while {doing}: the worker was killed"
            return failure(pb.FAILURE_CLASS_HUNG, "NO_PROGRESS", text)
        code = await self._worker.stop(1.0)
        return of_exit(code, self._oom.rose())

    def _other_version(self, hello: worker_pb2.Hello) -> pb.Failure:
        text = (
            f"the worker's runtime has orinbench {hello.orinbench_version or 'unknown'} (protocol {hello.protocol}, "
            f"not {PROTOCOL}): install this release in that runtime"
        )
        return failure(pb.FAILURE_CLASS_INFRASTRUCTURE, "RUNTIME_VERSION", text)
