"""Engines with faults, for tests: found by their entry points as any third party's engine is."""

from __future__ import annotations

from collections.abc import Callable

from orinbench.v1.record_pb2 import MEMORY_METHOD_NONE, MemoryReading, ModelFacts
from orinbench_engines.contract import AnswerSession, Engine, Model, Options, Output, Sample


class TrialOptions(Options):
    """`fault` is a key of FAULTS; `samples` of them go well first."""

    fault: str
    samples: int = 0


class TrialSession(AnswerSession):
    """Answers well, then badly."""

    def __init__(self, options: TrialOptions) -> None:
        self._options = options
        self.calls = 0

    def answer(self, sample: Sample) -> Output:
        """Answer with the sample's own text, or commit the fault."""
        self.calls += 1
        self.sample = sample
        if sample.index < self._options.samples:
            return Output(sample.data.decode())
        return FAULTS[self._options.fault](self)


class TrialEngine(Engine[TrialOptions]):
    """An engine that commits the fault its options name."""

    options_schema = TrialOptions

    def load(self, model: Model) -> tuple[TrialSession, ModelFacts]:
        """Load nothing."""
        return TrialSession(self.options), ModelFacts(devices=["none"], batch_size=1)

    def memory(self) -> MemoryReading:
        """Nothing is measured."""
        return MemoryReading(method=MEMORY_METHOD_NONE)

    def close(self) -> None:
        """Fail: what comes after the verdict must not change it."""
        raise RuntimeError("the device would not let go")


def _throw(error: Exception) -> Output:
    raise error


def _print(session: TrialSession) -> Output:
    print("a library that prints")
    return Output("printed")


FAULTS: dict[str, Callable[[TrialSession], Output]] = {
    "counter": lambda session: Output(f"answer {session.calls}"),
    "structured-counter": lambda session: Output("same", structured={"calls": session.calls}),
    "bytes": lambda _: Output(b"no text"),  # type: ignore[arg-type]
    "surrogate": lambda _: Output("\ud800"),
    "nan": lambda _: Output("", structured=float("nan")),
    "object": lambda _: Output("", structured={1, 2}),
    "huge": lambda _: Output("x" * (1 << 20)),
    "memory": lambda _: _throw(MemoryError()),
    "tegra": lambda _: _throw(
        RuntimeError('NVML_SUCCESS == r INTERNAL ASSERT FAILED at "/pytorch/c10/cuda/CUDACachingAllocator.cpp":995')
    ),
    "bug": lambda _: _throw(KeyError("logits")),
    "print": _print,
    # No fault: says what it was given.
    "attachments": lambda session: Output(
        " ".join(f"{attached.media_type}={attached.data.decode()}" for attached in session.sample.attachments)
    ),
}
