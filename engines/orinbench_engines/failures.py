"""Why a run fails: one exception for what we find ourselves, one table for what others' libraries throw."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from typing import NamedTuple

from orinbench.v1.record_pb2 import (
    FAILURE_CLASS_BOARD,
    FAILURE_CLASS_INFRASTRUCTURE,
    FAILURE_CLASS_INPUT,
    FAILURE_CLASS_MODEL,
    FAILURE_CLASS_OOM,
    FAILURE_CLASS_POLICY,
    OOM_SCOPE_DEVICE,
    OOM_SCOPE_HOST,
    OOM_SCOPE_UNSPECIFIED,
    Failure,
    FailureClass,
    OomScope,
)

_MESSAGE_LIMIT = 2000


class WorkerFailure(Exception):
    """A failure with its class, its stable reason (UPPER_SNAKE) and a message for people."""

    def __init__(self, failure_class: FailureClass, reason: str, message: str) -> None:
        super().__init__(message)
        self.failure_class = failure_class
        self.reason = reason


def input_failure(reason: str, message: str) -> WorkerFailure:
    """Return a failure of what the run was given to compute: class input."""
    return WorkerFailure(FAILURE_CLASS_INPUT, reason, message)


def model_failure(reason: str, message: str) -> WorkerFailure:
    """Return a failure of the model or its declaration: class model."""
    return WorkerFailure(FAILURE_CLASS_MODEL, reason, message)


def policy_failure(reason: str, message: str) -> WorkerFailure:
    """Return a refusal by the execution contract: class policy."""
    return WorkerFailure(FAILURE_CLASS_POLICY, reason, message)


def board_failure(reason: str, message: str) -> WorkerFailure:
    """Return a failure of the machine: class board."""
    return WorkerFailure(FAILURE_CLASS_BOARD, reason, message)


def infrastructure_failure(reason: str, message: str) -> WorkerFailure:
    """Return a failure of our own programs: class infrastructure."""
    return WorkerFailure(FAILURE_CLASS_INFRASTRUCTURE, reason, message)


class Pattern(NamedTuple):
    """A text that a library's error holds, and what it means.

    A scope of None means the memory of whatever device the engine runs on: the library says the same for both.
    """

    text: re.Pattern[str]
    failure_class: FailureClass
    reason: str
    scope: OomScope | None


def _out_of_memory(text: str, scope: OomScope | None) -> Pattern:
    return Pattern(re.compile(text), FAILURE_CLASS_OOM, "", scope)


def _no_device(text: str) -> Pattern:
    return Pattern(re.compile(text), FAILURE_CLASS_BOARD, "DEVICE_UNAVAILABLE", OOM_SCOPE_UNSPECIFIED)


def _lost_device(text: str) -> Pattern:
    # The daemon knows this reason: it takes no further run until an operator has looked at the board.
    return Pattern(re.compile(text), FAILURE_CLASS_BOARD, "GPU_LOST", OOM_SCOPE_UNSPECIFIED)


# The first that matches decides.
PATTERNS = (
    # torch with NVML, and the CUDA runtime under it.
    _out_of_memory(r"CUDA out of memory", OOM_SCOPE_DEVICE),
    _out_of_memory(r"CUDA (driver )?error: out of memory", OOM_SCOPE_DEVICE),
    _out_of_memory(r"Allocation on device .*would exceed allowed memory", OOM_SCOPE_DEVICE),
    _out_of_memory(r"cudaErrorMemoryAllocation", OOM_SCOPE_DEVICE),
    # torch on Tegra: there is no NVML to ask, so the caching allocator trips over its own question.
    _out_of_memory(r"NVML_SUCCESS == r INTERNAL ASSERT FAILED at .*CUDACachingAllocator", OOM_SCOPE_DEVICE),
    # The Tegra driver; 12 is ENOMEM.
    _out_of_memory(r"NvMapMem\w+.*\berror 12\b", OOM_SCOPE_DEVICE),
    _out_of_memory(r"CU(BLAS|DNN)_STATUS_ALLOC_FAILED", OOM_SCOPE_DEVICE),
    # ONNX Runtime: the CUDA provider, an allocator of ours that gave it nothing, its arena (also for host memory).
    _out_of_memory(r"CUDA failure 2: out of memory", OOM_SCOPE_DEVICE),
    _out_of_memory(r"CUDAExternalAllocator::Alloc\b.*p != nullptr was false", OOM_SCOPE_DEVICE),
    _out_of_memory(r"Failed to allocate memory for requested buffer of size", None),
    _out_of_memory(r"Available memory of \d+ is smaller than requested bytes", None),
    # TensorRT: its default allocator by release, a user's allocator, its virtual memory.
    _out_of_memory(r"Cuda Runtime \(out of memory\)", OOM_SCOPE_DEVICE),
    _out_of_memory(r"Cuda Error in .*allocate: 2 \(out of memory\)", OOM_SCOPE_DEVICE),
    _out_of_memory(r"Error Code 2: OutOfMemory", OOM_SCOPE_DEVICE),
    _out_of_memory(r"Requested amount of GPU memory .* could not be allocated", OOM_SCOPE_DEVICE),
    _out_of_memory(r"User allocator error allocating \d+-byte buffer", OOM_SCOPE_DEVICE),
    # pycuda: the driver itself, and its pool when nothing is left to give back.
    _out_of_memory(r"cuMem\w+ failed: out of memory", OOM_SCOPE_DEVICE),
    _out_of_memory(r"memory_pool::allocate failed: out of memory", OOM_SCOPE_DEVICE),
    # Host memory: C++, torch on the CPU, the C library.
    _out_of_memory(r"std::bad_alloc|bad allocation", OOM_SCOPE_HOST),
    _out_of_memory(r"DefaultCPUAllocator: (can't allocate|not enough) memory", OOM_SCOPE_HOST),
    _out_of_memory(r"Cannot allocate memory", OOM_SCOPE_HOST),
    _no_device(r"no CUDA-capable device is detected"),
    _no_device(r"Found no NVIDIA driver on your system"),
    _no_device(r"Torch not compiled with CUDA enabled"),
    # cuInit 801, "operation not supported", on Tegra: a device node or a group is missing.
    _no_device(r"cuInit\b.*(\bfailed\b|\b801\b)"),
    # CUDA 719, as every library hands it on; and a device that the driver has given up.
    _lost_device(r"unspecified launch failure"),
    _lost_device(r"GPU is lost|GPU has fallen off the bus"),
)


def classify(error: BaseException, on_device: bool) -> Failure:
    """Say what an exception means for the run; `on_device` tells whether the engine runs on a CUDA device.

    Causes are looked at too, since libraries wrap each other and we wrap them: memory that ran out while a
    checkpoint was read is no unreadable checkpoint. What nothing fits is the model's failure.
    """
    for cause in _chain(error):
        if found := _known(cause, on_device):
            return found
    if isinstance(error, WorkerFailure):
        return Failure(failure_class=error.failure_class, reason=error.reason, message=_short(str(error)))
    return Failure(failure_class=FAILURE_CLASS_MODEL, reason="ADAPTER_ERROR", message=_text(error))


def _known(error: BaseException, on_device: bool) -> Failure | None:
    if isinstance(error, WorkerFailure):
        return None
    text = _text(error)
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return _oom(OOM_SCOPE_HOST, text)
    pattern = next((pattern for pattern in PATTERNS if pattern.text.search(text)), None)
    if pattern is None:
        return None
    if pattern.failure_class != FAILURE_CLASS_OOM:
        return Failure(failure_class=pattern.failure_class, reason=pattern.reason, message=text)
    if pattern.scope is not None:
        return _oom(pattern.scope, text)
    return _oom(OOM_SCOPE_DEVICE if on_device else OOM_SCOPE_HOST, text)


def _oom(scope: OomScope, text: str) -> Failure:
    reason = "DEVICE_OUT_OF_MEMORY" if scope == OOM_SCOPE_DEVICE else "HOST_OUT_OF_MEMORY"
    return Failure(failure_class=FAILURE_CLASS_OOM, oom_scope=scope, reason=reason, message=text)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _text(error: BaseException) -> str:
    return _short(f"{type(error).__name__}: {error}")


def _short(text: str) -> str:
    text = text.encode("utf-8", "replace").decode("utf-8").strip()
    return text if len(text) <= _MESSAGE_LIMIT else text[: _MESSAGE_LIMIT - 1] + "…"
