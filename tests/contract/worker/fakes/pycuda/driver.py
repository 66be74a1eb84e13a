"""pycuda.driver over memory of the host. FAKE_CUDA_DEVICES and FAKE_CUDA_BYTES say what the machine has."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any


class Error(Exception):
    """What the driver answers."""


class MemoryError(Error):  # noqa: A001  pycuda's name
    """No device memory: no kin of Python's own."""


_local = threading.local()
_initialised = False
_used = 0


def init(flags: int = 0) -> None:
    """Initialise the driver."""
    global _initialised
    if not Device.count():
        raise Error("cuInit failed: no CUDA-capable device is detected")
    _initialised = True


def stack() -> list[Context]:
    """The calling thread's contexts."""
    if not hasattr(_local, "stack"):
        _local.stack = []
    found: list[Context] = _local.stack
    return found


class Context:
    """A context; current on a thread that pushed it."""

    def push(self) -> None:
        stack().append(self)

    @staticmethod
    def pop() -> None:
        if not stack():
            raise Error("context::pop failed: invalid device context - cannot pop non-current context")
        stack().pop()

    def detach(self) -> None:
        pass


class Device:
    """A device."""

    def __init__(self, ordinal: int) -> None:
        assert _initialised, "cuDeviceGet failed: initialization error"
        self._ordinal = ordinal

    @staticmethod
    def count() -> int:
        return int(os.environ.get("FAKE_CUDA_DEVICES", "1"))

    def name(self) -> str:
        return os.environ.get("FAKE_CUDA_NAME", "Fake GPU")

    def retain_primary_context(self) -> Context:
        return Context()


class Stream:
    """A stream; everything in it is done at once."""

    handle = 4711

    def __init__(self, flags: int = 0) -> None:
        assert stack(), "cuStreamCreate failed: invalid device context"

    def synchronize(self) -> None:
        pass


def memcpy_htod_async(dest: int, src: Any, stream: Stream | None = None) -> None:
    """Copy an array to the device."""
    assert src.flags.c_contiguous, "pycuda wants contiguous arrays"
    ctypes.memmove(dest, src.ctypes.data, src.nbytes)


def memcpy_dtoh_async(dest: Any, src: int, stream: Stream | None = None) -> None:
    """Copy from the device into an array."""
    ctypes.memmove(dest.ctypes.data, src, dest.nbytes)


def take(size: int) -> Any:
    """Play cuMemAlloc."""
    global _used
    if not stack():
        raise Error("explicit_context_dependent failed: invalid device context - no currently active context?")
    if _used + size > int(os.environ.get("FAKE_CUDA_BYTES", str(1 << 30))):
        raise MemoryError("memory_pool::allocate failed: out of memory - failed to free memory for allocation")
    _used += size
    return ctypes.create_string_buffer(size + 256)


def give(size: int) -> None:
    """Play cuMemFree."""
    global _used
    _used -= size
