"""ONNX Runtime's hooks for somebody else's allocator, over the pool whose peaks are known.

The hooks alone switch the runtime's own arena off, so that what they count would be allocated bytes. Behind them
stands a caching pool: what it holds is reserved, as torch means it.

The provider's options `gpu_external_alloc`, `gpu_external_free` and `gpu_external_empty_cache` are the addresses,
in decimal, of void *(size_t), void (void *) and void (void): onnxruntime/core/providers/cuda/cuda_allocator.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from orinbench_engines.cuda import CudaDevice, DevicePool

_ALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_EMPTY_CACHE = ctypes.CFUNCTYPE(None)


class ExternalAllocator:
    """The hooks' C functions. Must be kept for as long as the session lives."""

    def __init__(self) -> None:
        """Open the device. Raises WorkerFailure (policy), or what the driver says."""
        self._device = CudaDevice()
        self.pool = DevicePool(self._device)
        self._functions = {
            "gpu_external_alloc": _ALLOC(self.pool.allocate),
            "gpu_external_free": _FREE(self._free),
            "gpu_external_empty_cache": _EMPTY_CACHE(self.pool.free_held),
        }

    @property
    def options(self) -> dict[str, str]:
        """What to tell the provider."""
        return {name: _address(function) for name, function in self._functions.items()}

    def close(self) -> None:
        """Give the memory and the device back; the session must be gone."""
        self.pool.close()
        self._device.close()

    def _free(self, address: int | None) -> None:
        self.pool.free(address or 0)


def _address(function: Callable[..., Any]) -> str:
    return str(ctypes.cast(function, ctypes.c_void_p).value)  # type: ignore[arg-type]
