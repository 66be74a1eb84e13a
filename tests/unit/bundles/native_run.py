"""Runs as a daemon would record them: messages, frames and a final Run, without a daemon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench_cases.synthetic import make_references, make_samples
from orinbench.v1.record_pb2 import (
    FAILURE_CLASS_HUNG,
    MEMORY_METHOD_TORCH_RESERVED,
    RUN_STATE_FAILED,
    RUN_STATE_RUNNING,
    RUN_STATE_SUCCEEDED,
    Axis,
    EnergyRecord,
    FinishedRecord,
    MemoryMethod,
    MemoryReading,
    ModelFacts,
    Record,
    RecordBody,
    SampleRecord,
    Segment,
    Stage,
    StateRecord,
    TelemetryRecord,
    Violation,
)
from orinbench.v1.run_pb2 import Run, RunPlan
from orinbench.v1.telemetry_pb2 import Telemetry
from orinbench_client.bundles.records import Frame, RecordDigest

SUITE_DIGEST = "sha256:" + "5" * 64
PEAK = 3 << 30
SAMPLES = 6


@dataclass
class NativeRun:
    """What makes a run; `records()` and `run()` are what a client would get of it."""

    run_id: str = "20260101-000000-ab12"
    suite_id: str = "native-suite"
    suite_digest: str = SUITE_DIGEST
    model_id: str = "model-n"
    error_rate: float = 0.3
    window_ms: int = 100
    audio: bool = True
    energy: bool = True
    joules: float = 2.0
    end_s: int = 1000
    method: MemoryMethod = MEMORY_METHOD_TORCH_RESERVED
    violations: Sequence[tuple[str, Sequence[Axis]]] = ()
    failed: bool = False
    hardware: str = "sha256:" + "7" * 64
    references: dict[str, str] = field(default_factory=lambda: make_references(SAMPLES))

    def bodies(self) -> list[RecordBody]:
        """The records before `finished`."""
        segment = Segment(number=1, reason="submitted")
        facts = ModelFacts(engine="null", parameter_count=25, native_dtype="float32", batch_size=1)
        bodies = [RecordBody(state=StateRecord(state=RUN_STATE_RUNNING, segment=segment, model_facts=facts))]
        for index, sample in enumerate(make_samples(self.references, self.error_rate)):
            bodies.append(RecordBody(sample=self._sample(index, sample.sample_id, sample.text)))
            bodies.append(
                RecordBody(telemetry=TelemetryRecord(telemetry=Telemetry(monotonic_ns=index, cpu_load_pct=5.0)))
            )
            if self.energy:
                energy = EnergyRecord(
                    index=index, sample_id=sample.sample_id, energy_j=self.joules + index, coverage=1.0
                )
                bodies.append(RecordBody(energy=energy))
        return bodies[: len(bodies) // 2] if self.failed else bodies

    def _sample(self, index: int, sample_id: str, text: str) -> SampleRecord:
        window_ns = (self.window_ms + index) * 1_000_000
        stages = [Stage(name="inference", duration_ns=window_ns // 2)]
        sample = SampleRecord(
            index=index, sample_id=sample_id, segment=1, text=text, window_ns=window_ns, stages=stages
        )
        if self.audio:
            sample.audio_seconds = 10.0 + index
        return sample

    def frames(self) -> list[Frame]:
        """All records as frames, `finished` last."""
        frames = [Frame(seq, body.SerializeToString()) for seq, body in enumerate(self.bodies(), start=1)]
        digest = self._digest(frames)
        finished = FinishedRecord(
            state=RUN_STATE_FAILED if self.failed else RUN_STATE_SUCCEEDED,
            planned_samples=len(self.references),
            accepted_samples=self._accepted(),
            record_count=digest.count,
            record_digest=digest.value,
        )
        return [*frames, Frame(len(frames) + 1, RecordBody(finished=finished).SerializeToString())]

    def records(self) -> list[Record]:
        """All records as they come over the wire."""
        return [Record(seq=frame.seq, body=frame.body) for frame in self.frames()]

    def _accepted(self) -> int:
        return sum(body.WhichOneof("body") == "sample" for body in self.bodies())

    @staticmethod
    def _digest(frames: Sequence[Frame]) -> RecordDigest:
        digest = RecordDigest()
        for frame in frames:
            digest.add(frame)
        return digest

    def run(self) -> Run:
        """The run as GetRun gives it after the end."""
        digest = self._digest(self.frames()[:-1])
        run = Run(
            name=f"runs/{self.run_id}",
            plan=RunPlan(
                suite_id=self.suite_id,
                suite_digest=self.suite_digest,
                model_id=self.model_id,
                model_digest="sha256:" + "6" * 64,
                hardware_profile="test-board",
            ),
            state=RUN_STATE_FAILED if self.failed else RUN_STATE_SUCCEEDED,
            planned_samples=len(self.references),
            accepted_samples=self._accepted(),
            record_count=digest.count,
            record_digest=digest.value,
            memory=MemoryReading(method=self.method, peak_reserved_bytes=PEAK, peak_rss_bytes=2 * PEAK),
            model_facts=ModelFacts(parameter_count=25, native_dtype="float32"),
            hardware_profile_digest=self.hardware,
            execution_contract_digest="sha256:" + "8" * 64,
            violations=[
                Violation(reason=reason, message=f"seen: {reason}", voids=axes) for reason, axes in self.violations
            ],
        )
        run.end_time.FromSeconds(self.end_s)
        if self.failed:
            run.failure.failure_class = FAILURE_CLASS_HUNG
            run.failure.message = "no progress for 60 s"
        return run
