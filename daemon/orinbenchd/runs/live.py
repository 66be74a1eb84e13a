"""An unfinished run in memory: its status, its journal, and the Run that clients see."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from orinbench.v1 import record_pb2 as pb
from orinbench.v1 import run_pb2

from orinbenchd.journal.writer import Writer
from orinbenchd.runs import machine, records
from orinbenchd.runs.log import RunLog
from orinbenchd.runs.names import id_of
from orinbenchd.runs.peaks import keep_peaks

T = TypeVar("T")


class LiveRun:
    """One unfinished run. Events go in by `apply`, which journals what they mean and returns what is left to do."""

    def __init__(self, writer: Writer, number: int, run: run_pb2.Run, sign: Callable[[run_pb2.Run], None]) -> None:
        self.number = number
        self.run = run
        self.log = RunLog(writer, number)
        self.phase = ""
        # When its present segment began, by a clock that nobody sets.
        self.began_s = 0.0
        # Clients that follow it now.
        self.watchers = 0
        # Runs down while nobody does, if the submitter wants that.
        self.unwatched: asyncio.TimerHandle | None = None
        # Runs down until its first segment begins, if the submitter wants that.
        self.unbegun: asyncio.TimerHandle | None = None
        # Of all accepted samples: timed windows, and the audio where its length is known.
        self.window_ns = 0
        self.audio_seconds = 0.0
        self._writer = writer
        self._sign = sign
        self._failure = run.failure if run.HasField("failure") else None

    @property
    def run_id(self) -> str:
        """The last part of its name."""
        return id_of(self.run.name)

    @property
    def status(self) -> machine.Status:
        """Where it stands."""
        return machine.Status(self.run.state, len(self.run.segments), self._failure)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.run.state in machine.TERMINAL

    @property
    def settled(self) -> bool:
        """Whether it has ended and its verdict is durable: clients may know."""
        return self.ended and self.log.durable_seq == self.log.last_seq

    @property
    def disk_full(self) -> bool:
        """Whether what is recorded now waits for room on the disk."""
        return self._writer.full

    def enqueue(self, insert: Callable[[sqlite3.Connection], T | None]) -> asyncio.Future[T | None]:
        """Journal a new run and its first record together; `insert` adds it, or returns why it does not."""
        self._enter(machine.Enter(pb.RUN_STATE_QUEUED, "submitted"))
        self.run.last_seq = self.log.last_seq
        return self.log.flush(begin=insert)

    def replay(self, body: pb.RecordBody) -> None:
        """Take in a record of an earlier daemon: what came after the last state change is in the records alone."""
        kind = body.WhichOneof("body")
        if kind == "sample":
            self.accept(body.sample)
            keep_peaks(self.run.memory, body.sample.memory)
        elif kind == "violation" and body.violation.violation not in self.run.violations:
            self.run.violations.append(body.violation.violation)

    def accept(self, sample: pb.SampleRecord) -> None:
        """Count a sample whose result is durable."""
        self.run.accepted_samples = sample.index + 1
        self.window_ns += sample.window_ns
        self.audio_seconds += sample.audio_seconds

    @property
    def rtf(self) -> float | None:
        """Seconds of timed window a second of audio so far; None without audio."""
        return self.window_ns / 1e9 / self.audio_seconds if self.audio_seconds else None

    def begin_segment(self, segment: pb.Segment) -> None:
        """Add the segment that the next BoardFree begins."""
        if self.unbegun is not None:
            self.unbegun.cancel()
        segment.number = len(self.run.segments) + 1
        segment.first_index = self.run.accepted_samples
        segment.start_time.CopyFrom(records.now())
        self.began_s = time.monotonic()
        if segment.number == 1:
            self.run.start_time.CopyFrom(segment.start_time)
        self._next_segment = segment

    def apply(self, event: object) -> list[machine.Instruction]:
        """Change state and journal it, all records of one event in one transaction. Raises machine.Impossible."""
        status, instructions = machine.handle(self.status, event)
        if isinstance(event, machine.ResumeAsked):
            # The verdict it had is not its last one.
            for field in ("end_time", "record_count", "record_digest", "signed_verdict", "signature", "telemetry"):
                self.run.ClearField(field)
        if status.segments > len(self.run.segments):
            self.run.segments.append(self._next_segment)
        self._failure = status.failure
        left: list[machine.Instruction] = []
        for instruction in instructions:
            if isinstance(instruction, machine.Enter):
                self._enter(instruction)
            elif isinstance(instruction, machine.Finish):
                self._finish()
            else:
                left.append(instruction)
        if instructions:
            self.save()
        return left

    def save(self) -> asyncio.Future[None]:
        """Write what is staged and the run as it is now."""
        self.run.last_seq = self.log.last_seq
        return self.log.flush((self.run.state, self.run.SerializeToString()))

    def violate(self, violation: pb.Violation) -> None:
        """Record something that voids axes; the same cause once a segment."""
        segment = len(self.run.segments)
        if any(old.reason == violation.reason and old.segment == segment for old in self.run.violations):
            return
        violation.segment = segment
        if not violation.HasField("time"):
            violation.time.CopyFrom(records.now())
        self.run.violations.append(violation)
        self.log.append(pb.RECORD_KIND_VIOLATION, records.violation_body(violation))

    def say(self, level: pb.LogLevel, origin: str, message: str) -> None:
        """Record a line for people."""
        self.log.append(pb.RECORD_KIND_LOG, records.log_body(level, origin, message))

    def bookmark(self, queue_position: int | None, expected_wait_s: float | None) -> pb.Record:
        """Return a progress record for a quiet stream."""
        progress = pb.ProgressRecord(
            last_seq=self.log.durable_seq,
            state=self.run.state,
            phase=self.phase,
            accepted_samples=self.run.accepted_samples,
            queue_position=queue_position,
            expected_wait_s=expected_wait_s,
        )
        return pb.Record(kind=pb.RECORD_KIND_PROGRESS, body=records.progress_body(progress))

    def _enter(self, enter: machine.Enter) -> None:
        run = self.run
        run.state = enter.state
        record = pb.StateRecord(state=enter.state, reason=enter.reason, failure=enter.failure)
        if run.segments:
            record.segment.CopyFrom(run.segments[-1])
        if enter.state == pb.RUN_STATE_RUNNING and run.HasField("model_facts"):
            record.model_facts.CopyFrom(run.model_facts)
            record.environment.CopyFrom(run.environment)
        run.ClearField("failure")
        if enter.failure is not None:
            run.failure.CopyFrom(enter.failure)
        self.log.stage(pb.RECORD_KIND_STATE, records.state_body(record))

    def _finish(self) -> None:
        run = self.run
        run.end_time.CopyFrom(records.now())
        run.record_count, run.record_digest = self.log.last_seq, self.log.digest
        self._sign(run)
        finished = pb.FinishedRecord(
            state=run.state,
            planned_samples=run.planned_samples,
            accepted_samples=run.accepted_samples,
            record_count=run.record_count,
            record_digest=run.record_digest,
            signed_verdict=run.signed_verdict,
            signature=run.signature,
            violations=run.violations,
        )
        for field in ("failure", "memory", "telemetry"):
            if run.HasField(field):
                getattr(finished, field).CopyFrom(getattr(run, field))
        self.log.stage(pb.RECORD_KIND_FINISHED, records.finished_body(finished))
