"""What others' libraries throw, and the class we give it."""

from __future__ import annotations

import errno
import re

import pytest
from orinbench.v1.record_pb2 import (
    FAILURE_CLASS_BOARD,
    FAILURE_CLASS_INPUT,
    FAILURE_CLASS_MODEL,
    FAILURE_CLASS_OOM,
    OOM_SCOPE_DEVICE,
    OOM_SCOPE_HOST,
    OOM_SCOPE_UNSPECIFIED,
    OomScope,
)
from orinbench_engines.failures import PATTERNS, Pattern, classify, input_failure, model_failure

DEVICE, HOST = OOM_SCOPE_DEVICE, OOM_SCOPE_HOST

# One text for each line of the table, in its order, as the libraries word it.
TEXTS: list[tuple[str, OomScope]] = [
    ("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 7.44 GiB total capacity)", DEVICE),
    ("CUDA error: out of memory\nCUDA kernel errors might be reported later", DEVICE),
    ("Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated: 1 GiB", DEVICE),
    ("cudaMalloc returned error cudaErrorMemoryAllocation", DEVICE),
    ('NVML_SUCCESS == r INTERNAL ASSERT FAILED at "/opt/pytorch/c10/cuda/CUDACachingAllocator.cpp":841', DEVICE),
    ("NvMapMemAllocInternalTagged: 1075072515 error 12", DEVICE),
    ("cuBLAS error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", DEVICE),
    ("CUDA failure 2: out of memory ; GPU=0 ; hostname=board ; expr=cudaMalloc((void**)&p, size);", DEVICE),
    (
        "cuda_allocator.cc:70 void* onnxruntime::CUDAExternalAllocator::Alloc(size_t) p != nullptr was false.",
        DEVICE,
    ),
    ("bfc_arena.cc:376 AllocateRawInternal Failed to allocate memory for requested buffer of size 643840", DEVICE),
    ("Available memory of 1024 is smaller than requested bytes of 643840", DEVICE),
    ("[defaultAllocator.cpp::allocate::31] Error Code 1: Cuda Runtime (out of memory)", DEVICE),
    ("../rtSafe/safeRuntime.cpp (25) - Cuda Error in allocate: 2 (out of memory)", DEVICE),
    ("[virtualMemoryBuffer.cpp::resizePhysical::154] Error Code 2: OutOfMemory (Requested size was 16 bytes.)", DEVICE),
    ("Requested amount of GPU memory (34359738368 bytes) could not be allocated.", DEVICE),
    ("autotuning: User allocator error allocating 86114304000-byte buffer", DEVICE),
    ("cuMemAlloc failed: out of memory", DEVICE),
    ("memory_pool::allocate failed: out of memory - failed to free memory for allocation", DEVICE),
    ("std::bad_alloc", HOST),
    ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes. Error code 12", HOST),
    ("[Errno 12] Cannot allocate memory", HOST),
    ("CUDA error: no CUDA-capable device is detected", OOM_SCOPE_UNSPECIFIED),
    ("Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU", OOM_SCOPE_UNSPECIFIED),
    ("Torch not compiled with CUDA enabled", OOM_SCOPE_UNSPECIFIED),
    ("cuInit failed: operation not supported", OOM_SCOPE_UNSPECIFIED),
    ("CUDA error: unspecified launch failure", OOM_SCOPE_UNSPECIFIED),
    ("NVMLError_GpuIsLost: GPU is lost", OOM_SCOPE_UNSPECIFIED),
]


@pytest.mark.parametrize(
    ("pattern", "text", "scope"), [(p, *t) for p, t in zip(PATTERNS, TEXTS, strict=True)], ids=lambda v: str(v)[:40]
)
def test_each_line_of_the_table_knows_its_text(pattern: Pattern, text: str, scope: OomScope) -> None:
    """Each library's own words are recognised by the line made for them and by no line before it."""
    failure = classify(RuntimeError(text), on_device=True)

    assert next(line for line in PATTERNS if line.text.search(text)) is pattern
    assert (failure.failure_class, failure.oom_scope) == (pattern.failure_class, scope)
    assert failure.failure_class == (FAILURE_CLASS_OOM if scope else FAILURE_CLASS_BOARD)
    assert text.splitlines()[0] in failure.message


def test_an_arena_without_a_name_is_the_engines_own_memory() -> None:
    """ONNX Runtime words both alike: on the CPU it was the host's memory."""
    text = "Failed to allocate memory for requested buffer of size 1"

    assert classify(RuntimeError(text), on_device=False).oom_scope == HOST
    assert classify(RuntimeError(text), on_device=True).oom_scope == DEVICE


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "no")], ids=["MemoryError", "ENOMEM"])
def test_pythons_own_errors_are_host_memory(error: Exception) -> None:
    """Python's words for it have no text to look for."""
    failure = classify(error, on_device=True)

    assert (failure.failure_class, failure.oom_scope, failure.reason) == (FAILURE_CLASS_OOM, HOST, "HOST_OUT_OF_MEMORY")


def test_what_is_underneath_decides() -> None:
    """Memory that ran out while a checkpoint was read is no unreadable checkpoint."""
    error = model_failure("CHECKPOINT_UNREADABLE", "graph.onnx cannot be loaded")
    error.__cause__ = RuntimeError("std::bad_alloc")

    assert classify(error, on_device=False).reason == "HOST_OUT_OF_MEMORY"


def test_our_own_failure_is_taken_as_it_is() -> None:
    """A failure that names its class keeps it, whatever words its message has."""
    failure = classify(input_failure("AUDIO_EMPTY", "sample x: std::bad_alloc"), on_device=False)

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_INPUT, "AUDIO_EMPTY")
    assert failure.message == "sample x: std::bad_alloc"


def test_a_suppressed_error_does_not_decide() -> None:
    """What was raised `from None` was dealt with: it does not make a failure out of memory."""
    try:
        try:
            raise MemoryError
        except MemoryError:
            raise ValueError("too long") from None
    except ValueError as error:
        failure = classify(error, on_device=False)

    assert (failure.failure_class, failure.reason) == (FAILURE_CLASS_MODEL, "ADAPTER_ERROR")


def test_errors_that_cause_each_other_end() -> None:
    """A ring of causes is gone round once."""
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first

    assert classify(first, on_device=False).message == "ValueError: a"


def test_a_message_is_short_and_can_be_sent() -> None:
    """A novel of a message, and one that is not Unicode text, still make a record."""
    failure = classify(ValueError("\ud800" + "x" * 100_000), on_device=False)

    assert len(failure.message) == 2000
    assert failure.SerializeToString()


def test_reasons_are_for_programs() -> None:
    """Every reason of the table is UPPER_SNAKE."""
    reasons = {classify(RuntimeError(text), on_device=True).reason for text, _ in TEXTS}

    assert reasons == {"DEVICE_OUT_OF_MEMORY", "HOST_OUT_OF_MEMORY", "DEVICE_UNAVAILABLE", "GPU_LOST"}
    assert all(re.fullmatch("[A-Z_]+", reason) for reason in reasons)
