"""The measured part of a run: determinism proof, warm-up, and one sample after the other."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from time import monotonic_ns

from orinbench.internal.v1.worker_pb2 import (
    PHASE_KIND_PROVING,
    PHASE_KIND_SAMPLING,
    PHASE_KIND_WARMING_UP,
    FromWorker,
    Phase,
    PhaseKind,
    Prepare,
    Result,
    ToWorker,
)

from orinbench_engines.contract import Output, Sample
from orinbench_engines.failures import model_failure
from orinbench_engines.inbox import Inbox
from orinbench_engines.manifest import Input, Manifest
from orinbench_engines.pipeline import Pipeline
from orinbench_engines.protocol import Channel
from orinbench_engines.records import checked_text, sample_body, structured_json

_SHOWN = 60


class Loop:
    """Runs the samples of one segment.

    `current` is the sample in work, for whoever reports a failure; `last_sent` the index of the last result sent.
    """

    def __init__(
        self,
        channel: Channel[ToWorker],
        inbox: Inbox,
        prepare: Prepare,
        manifest: Manifest,
        pipeline: Pipeline,
    ) -> None:
        self._channel = channel
        self._inbox = inbox
        self._prepare = prepare
        self._manifest = manifest
        self._inputs: Iterator[tuple[int, Input]] = manifest.inputs(prepare.first_index)
        self._pipeline = pipeline
        self._infer = pipeline.adapter.infer
        self.current = next(self._inputs)
        self.last_sent = prepare.first_index - 1

    def prove(self) -> None:
        """Compute the first sample twice. Raises WorkerFailure (model, NONDETERMINISTIC) if the outputs differ."""
        sample = self._sample()
        first, second = (self._proof(sample) for _ in range(2))
        if first != second:
            differing = next(pair for pair in zip(first, second, strict=True) if pair[0] != pair[1])
            raise model_failure(
                "NONDETERMINISTIC",
                f"sample {sample.sample_id}, computed twice, gave {_shown(differing[0])} and then "
                f"{_shown(differing[1])}: the model must give the same output every time",
            )

    def warm_up(self) -> int:
        """Compute the first sample as often as declared, for nothing; return how often."""
        prepare = self._prepare
        count = prepare.warmup if prepare.HasField("warmup") else self._pipeline.declaration.warmup
        sample = self._sample()
        for _ in range(count):
            self._channel.send(self._phase(PHASE_KIND_WARMING_UP))
            self._infer(sample)
        # What is loaded stays: a garbage collection inside a timed window need not look at it.
        gc.collect()
        gc.freeze()
        return count

    def measure(self) -> bool:
        """Compute all samples and send their results; return whether the daemon stopped it before the last."""
        self._channel.send(self._phase(PHASE_KIND_SAMPLING))
        while self._inbox.wait_for_room(self.current[0]):
            sample = self._sample()
            start = monotonic_ns()
            output = self._infer(sample)
            window = monotonic_ns() - start
            result = self._result(sample, start, window, output)
            if not self._send_result(result):
                return False
        return True

    def _send_result(self, result: FromWorker) -> bool:
        """Send the result and, with it, what comes next; return whether anything does."""
        self.last_sent = self.current[0]
        following = next(self._inputs, None)
        if following is None:
            self._channel.send(result)
            return False
        self.current = following
        self._channel.send(result, self._phase(PHASE_KIND_SAMPLING))
        return True

    def _proof(self, sample: Sample) -> tuple[str, str]:
        self._channel.send(self._phase(PHASE_KIND_PROVING))
        output = self._infer(sample)
        return checked_text(sample, output), structured_json(sample, output)

    def _sample(self) -> Sample:
        index, declared = self.current
        data, attachments = self._manifest.read(declared)
        return Sample(
            index,
            declared.sample_id,
            data,
            declared.input.media_type,
            declared.audio_seconds,
            self._max_tokens(),
            attachments,
        )

    def _max_tokens(self) -> int | None:
        return self.current[1].max_tokens or self._pipeline.declaration.max_tokens

    def _phase(self, kind: PhaseKind) -> FromWorker:
        declared = self.current[1]
        # Where nothing is declared the adapter still has a bound: without it a long reply would pass for a hang.
        tokens = self._max_tokens() or getattr(self._pipeline.adapter.options, "max_new_tokens", None)
        phase = Phase(kind=kind, audio_seconds=declared.audio_seconds, max_tokens=tokens)
        return FromWorker(phase=phase)

    def _result(self, sample: Sample, start: int, window: int, output: Output) -> FromWorker:
        memory = self._pipeline.engine.memory()
        body = sample_body(sample, self._prepare.segment, start, window, output, memory)
        return FromWorker(result=Result(index=sample.index, body=body))


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
