"""Two engines for workers of these checks: torch with a witness, and one that wants too much."""

from __future__ import annotations

import torch
from orinbench.v1.record_pb2 import MEMORY_METHOD_NONE, MemoryReading, ModelFacts
from orinbench_engines.contract import AnswerSession, Engine, Model, Options, Output, Sample
from orinbench_engines.engines.torch import TorchEngine
from orinbench_engines.failures import infrastructure_failure


class WitnessedTorch(TorchEngine):
    """The torch engine; each reading is held against the allocator's own statistics, read another way."""

    def memory(self) -> MemoryReading:
        """Return the engine's reading. Raises WorkerFailure if torch's statistics say otherwise."""
        reading = super().memory()
        statistics = torch.cuda.memory_stats()
        for field, key in (
            ("peak_reserved_bytes", "reserved_bytes.all.peak"),
            ("peak_allocated_bytes", "allocated_bytes.all.peak"),
        ):
            if getattr(reading, field) != statistics[key]:
                found = f"{field} is {getattr(reading, field)}, torch's {key} is {statistics[key]}"
                raise infrastructure_failure("WITNESS", found)
        return reading


class _TooMuch(AnswerSession):
    def answer(self, sample: Sample) -> Output:
        del sample
        total = torch.cuda.get_device_properties(0).total_memory
        return Output(str(torch.empty(2 * total, dtype=torch.uint8, device="cuda").sum().item()))


class TooMuch(Engine[Options]):
    """Asks the device for twice the memory it has."""

    def load(self, model: Model) -> tuple[AnswerSession, ModelFacts]:
        """Load nothing."""
        del model
        return _TooMuch(), ModelFacts(devices=["cuda:0"], batch_size=1)

    def memory(self) -> MemoryReading:
        """Measure nothing."""
        return MemoryReading(method=MEMORY_METHOD_NONE)
