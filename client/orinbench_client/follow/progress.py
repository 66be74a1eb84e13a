"""What is known of a run while it goes on: records in, facts for people out. No I/O."""

from __future__ import annotations

import time
from collections.abc import Callable

from orinbench.v1.record_pb2 import (
    LOG_LEVEL_WARNING,
    MEMORY_METHOD_NONE,
    MEMORY_METHOD_PROCESS_RSS,
    RUN_STATE_PREPARING,
    RUN_STATE_QUEUED,
    Axis,
    FinishedRecord,
    MemoryReading,
    ModelFacts,
    ProgressRecord,
    RecordBody,
    RunState,
    SampleRecord,
    StateRecord,
    Violation,
)
from orinbench.v1.telemetry_pb2 import Telemetry

from orinbench_client.bundles.native import answer_of
from orinbench_client.scoring.score import Running


class Progress:
    """The state of one followed run.

    `score` is None where the right answers are not known here. `clock` gives seconds that only rise.
    """

    def __init__(self, planned: int, score: Running | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.planned = planned
        self.score = score
        self.accepted = 0
        self.state: RunState = RUN_STATE_QUEUED
        self.phase = ""
        self.queue_position: int | None = None
        self.expected_wait_s: float | None = None
        self.segment = 1
        self.memory_bytes: int | None = None
        self.telemetry: Telemetry | None = None
        self.finished: FinishedRecord | None = None
        self._clock = clock
        self._window_ns = 0
        self._audio_seconds = 0.0
        # When the first sample of the present pace came, and how many there were with it.
        self._pace: tuple[float, int] | None = None

    def take(self, body: RecordBody) -> str | None:
        """Take one record in. Returns what people should see at once, such as a violation.

        Raises BadInput for a sample that the suite does not know.
        """
        kind = body.WhichOneof("body")
        if kind == "sample":
            self._sample(body.sample)
        elif kind == "state":
            return self._state(body.state)
        elif kind == "progress":
            self._bookmark(body.progress)
        elif kind == "telemetry":
            self.telemetry = body.telemetry.telemetry
        elif kind == "finished":
            self.finished, self.state = body.finished, body.finished.state
        elif kind == "violation":
            return _violation(body.violation.violation)
        elif kind == "log" and body.log.level >= LOG_LEVEL_WARNING:
            return f"{body.log.origin}: {body.log.message}"
        return None

    def restart_pace(self) -> None:
        """Measure the pace anew: what came so far did not come at the pace of the run."""
        self._pace = None

    @property
    def rtf(self) -> float | None:
        """Seconds of timed window a second of audio so far; None without audio."""
        return self._window_ns / 1e9 / self._audio_seconds if self._audio_seconds else None

    @property
    def eta_s(self) -> float | None:
        """Seconds until the last sample at the present pace; None while there is none."""
        if self._pace is None:
            return None
        began, before = self._pace
        done = self.accepted - before
        return (self._clock() - began) / done * (self.planned - self.accepted) if done else None

    def _sample(self, sample: SampleRecord) -> None:
        self.accepted += 1
        self._window_ns += sample.window_ns
        self._audio_seconds += sample.audio_seconds
        peak = headline_bytes(sample.memory)
        if peak is not None:
            self.memory_bytes = max(peak, self.memory_bytes or 0)
        if self._pace is None:
            self._pace = (self._clock(), self.accepted)
        if self.score is not None:
            answer = answer_of(sample)
            self.score.add(sample.sample_id, sample.text if answer is None else answer)

    def _state(self, record: StateRecord) -> str | None:
        self.state, self.phase = record.state, ""
        if record.state != RUN_STATE_QUEUED:
            self.queue_position = self.expected_wait_s = None
        self.segment = max(self.segment, record.segment.number)
        if record.state == RUN_STATE_PREPARING:
            self.restart_pace()
        return _loaded(record.model_facts) if record.HasField("model_facts") else None

    def _bookmark(self, record: ProgressRecord) -> None:
        self.state, self.phase = record.state, record.phase
        self.queue_position = record.queue_position if record.HasField("queue_position") else None
        self.expected_wait_s = record.expected_wait_s if record.HasField("expected_wait_s") else None


def _violation(violation: Violation) -> str:
    axes = [Axis.Name(axis).removeprefix("AXIS_").lower() for axis in violation.voids if axis in Axis.values()]
    voided = f" (voids {', '.join(axes)})" if axes else ""
    said = f": {violation.message}" if violation.message else ""
    return f"violation {violation.reason}{voided}{said}"


def _loaded(facts: ModelFacts) -> str:
    took = f" in {facts.load_s:.1f} s" if facts.HasField("load_s") else ""
    return f"model loaded{took}" + (f" on {', '.join(facts.devices)}" if facts.devices else "")


def headline_bytes(memory: MemoryReading) -> int | None:
    """Return the peak that counts by the reading's own method; None if it could not be read."""
    if memory.method == MEMORY_METHOD_NONE:
        return None
    rss = memory.method == MEMORY_METHOD_PROCESS_RSS
    field = "peak_rss_bytes" if rss else "peak_reserved_bytes"
    return int(getattr(memory, field)) if memory.HasField(field) else None
