"""torch, on the CPU or on one CUDA device, with every switch that makes a result repeatable."""

from __future__ import annotations

import os
import random
from typing import Annotated

import numpy as np
import torch
from orinbench.v1.record_pb2 import MEMORY_METHOD_TORCH_RESERVED, MemoryReading, ModelFacts
from pydantic import Field

from orinbench_engines.contract import SEED, Engine, Model, Options
from orinbench_engines.failures import board_failure, model_failure, policy_failure
from orinbench_engines.memory import RssMeter
from orinbench_engines.pretrained import Checkpoint

# Fixed before any CUDA use, or cuBLAS may take its scratch space from wherever it likes.
_CUBLAS = ":4096:8"


class TorchOptions(Options):
    """`threads` compute one operator together on the CPU.

    One is the default: sums are then always taken in the same order, and a core is left for the daemon.
    """

    threads: Annotated[int, Field(ge=1, le=256)] = 1


class CudaMeter:
    """Peaks of torch's caching allocator on one device, with the process's resident set beside them."""

    def __init__(self, device: torch.device, rss: RssMeter) -> None:
        self._device = device
        self._rss = rss

    def start(self) -> None:
        """Forget the peaks so far."""
        self._rss.start()
        torch.cuda.init()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(self._device)

    def read(self) -> MemoryReading:
        """Return the peaks: bytes held from the driver, and of them in use, beside those of the host."""
        reading = self._rss.read()
        reading.method = MEMORY_METHOD_TORCH_RESERVED
        reading.peak_reserved_bytes = torch.cuda.max_memory_reserved(self._device)
        reading.peak_allocated_bytes = torch.cuda.max_memory_allocated(self._device)
        return reading


class TorchEngine(Engine[TorchOptions]):
    """Prepares torch and the device; the adapter opens the checkpoint through the session it is given."""

    options_schema = TorchOptions
    packages = ("torch", "transformers", "tokenizers", "safetensors", "numpy")

    def __init__(self, options: TorchOptions) -> None:
        super().__init__(options)
        self._rss = RssMeter()
        self._meter: RssMeter | CudaMeter = self._rss
        self._session: Checkpoint | None = None

    def load(self, model: Model) -> tuple[Checkpoint, ModelFacts]:
        """Prepare the device. Raises WorkerFailure: no or several devices, a dtype that torch does not know."""
        dtype = _dtype(model)
        _make_repeatable(self.options.threads)
        device = _device(model.device)
        if device.type == "cuda":
            self._meter = CudaMeter(device, self._rss)
        self._meter.start()
        self._session = Checkpoint(model, device, dtype)
        return self._session, self._session.facts

    def memory(self) -> MemoryReading:
        """Return the caching allocator's peaks; on the CPU the peak resident set."""
        return self._meter.read()

    def settings(self) -> dict[str, str]:
        """Return the deterministic settings as torch reports them, and what the memory peak counts from."""
        matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
        found = {
            "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
            "deterministic_fill": torch.utils.deterministic.fill_uninitialized_memory,
            "tf32_matmul": matmul.allow_tf32,
            "tf32_cudnn": cudnn.allow_tf32,
            "cudnn_benchmark": cudnn.benchmark,
            "cudnn_deterministic": cudnn.deterministic,
            "threads": torch.get_num_threads(),
            "torch_cuda": torch.version.cuda or "none",
            "torch_distributed": torch.distributed.is_available(),
            "memory_peak_since": self._rss.since,
        }
        if self._session is not None and self._session.attention:
            found["attention"] = self._session.attention
        return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in found.items()}

    def close(self) -> None:
        """Give the allocator's memory back to the driver."""
        self._session = None
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()


def _make_repeatable(threads: int) -> None:
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = _CUBLAS
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.set_num_threads(threads)


def _device(wanted: str) -> torch.device:
    count = torch.cuda.device_count() if wanted != "cpu" and torch.cuda.is_available() else 0
    if count > 1:
        raise policy_failure(
            "DEVICES",
            f"{count} CUDA devices are visible, one is the rule: start the daemon with CUDA_VISIBLE_DEVICES set to one",
        )
    if not count and wanted == "cuda":
        raise board_failure(
            "DEVICE_UNAVAILABLE",
            f"the run needs a CUDA device, but torch {torch.__version__} sees none; install a torch built for this "
            "board's CUDA in this runtime, or use a hardware profile without CUDA",
        )
    return torch.device("cuda", 0) if count else torch.device("cpu")


def _dtype(model: Model) -> torch.dtype:
    declared = model.declaration.dtype
    dtype = getattr(torch, declared, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise model_failure(
            "DTYPE",
            f"model {model.declaration.id}: dtype {declared!r} is none of torch's floating types "
            "(float32, float16, bfloat16 …); declare the one its weights are stored in",
        )
    return dtype
