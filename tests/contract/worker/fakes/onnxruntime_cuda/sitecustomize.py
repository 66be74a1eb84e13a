"""Lets ONNX Runtime's CPU build pass for one with CUDA: the CPU computes, memory is asked for by the hooks.

Read by every interpreter that finds it on its path. FAKE_ONNXRUNTIME says what goes wrong: `fallback` (the session
has only the CPU), `deaf` (it did not take the allocator's addresses).
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import onnxruntime

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
WEIGHTS, WORKSPACE = 4 << 20, 1 << 20
_REAL = onnxruntime.InferenceSession
_SAID = (
    "cuda_allocator.cc:70 virtual void* onnxruntime::CUDAExternalAllocator::Alloc(size_t) p != nullptr was false. \n"
)


class Binding:
    """An IOBinding whose device is the host."""

    def __init__(self, real: Any) -> None:
        self.real = real

    def bind_output(self, name: str, device_type: str, device_id: int) -> None:
        assert (device_type, device_id) == ("cuda" if name.startswith("present.") else "cpu", 0)
        self.real.bind_output(name, "cpu", 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class Session:
    """An InferenceSession with the CUDA provider in front."""

    def __init__(
        self, path: str, options: Any, providers: list[str], provider_options: list[Any], enable_fallback: bool
    ) -> None:
        assert (providers, enable_fallback) == ([CUDA], False)
        assert PRELOADED, "CUDA's libraries from pip are not loaded"
        self._session = _REAL(path, options, [CPU])
        self._options = provider_options[0]
        if "gpu_external_alloc" in self._options:
            address = {name: int(self._options[f"gpu_external_{name}"]) for name in ("alloc", "free", "empty_cache")}
            self._alloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(address["alloc"])
            self._free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address["free"])
            ctypes.CFUNCTYPE(None)(address["empty_cache"])()
            self._allocate(WEIGHTS)

    def _allocate(self, size: int) -> int:
        address: int | None = self._alloc(size)
        if not address:
            raise onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException(_SAID)
        return address

    def get_providers(self) -> list[str]:
        return [CPU] if os.environ.get("FAKE_ONNXRUNTIME") == "fallback" else [CUDA, CPU]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        deaf = os.environ.get("FAKE_ONNXRUNTIME") == "deaf"
        return {CUDA: {name: "0" if deaf and "external" in name else value for name, value in self._options.items()}}

    def run(self, names: list[str], inputs: dict[str, Any]) -> Any:
        if "gpu_external_alloc" in self._options:
            self._free(self._allocate(WORKSPACE))
        return self._session.run(names, inputs)

    def io_binding(self) -> Binding:
        return Binding(self._session.io_binding())

    def run_with_iobinding(self, binding: Binding) -> None:
        self._session.run_with_iobinding(binding.real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


PRELOADED: list[bool] = []
onnxruntime.preload_dlls = lambda: PRELOADED.append(True)
onnxruntime.get_available_providers = lambda: [CUDA, CPU]
onnxruntime.InferenceSession = Session
