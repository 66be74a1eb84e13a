"""Checks that use the device themselves: `python -m gpu_check.alone torch` says what it found, or fails."""

from __future__ import annotations

import sys

_MIB = 1 << 20


def torch() -> str:
    """Compute something on the device."""
    import torch as library

    assert library.cuda.is_available(), f"torch {library.__version__} (CUDA {library.version.cuda}) sees no device"
    answer = library.arange(1000, device="cuda").sum().item()
    assert answer == 499_500, f"the sum of 0 to 999 is {answer}"
    return f"torch {library.__version__}, CUDA {library.version.cuda}, {library.cuda.get_device_name(0)}"


def pool() -> str:
    """See that the pool's peaks are what was taken, and that too much is told and not raised."""
    from orinbench_engines.cuda import CudaDevice, DevicePool

    device = CudaDevice()
    memory = DevicePool(device)
    address = memory.allocate(8 * _MIB)
    assert address, f"no 8 MiB: {memory.failure}"
    assert address % 256 == 0, f"8 MiB lie at {address}"
    assert memory.free(address), "a block was not taken back"
    assert not memory.free(address), "a block was taken back twice"
    memory.allocate(8 * _MIB)
    assert memory.peak_allocated_bytes == 8 * _MIB, f"allocated {memory.peak_allocated_bytes}"
    assert 8 * _MIB <= memory.peak_reserved_bytes <= 9 * _MIB, f"reserved {memory.peak_reserved_bytes}"
    assert memory.allocate(1 << 50) == 0, "a petabyte was allocated"
    refused = memory.failure
    memory.close()
    device.close()
    return f"{device.name}: 8 MiB hold {memory.peak_reserved_bytes} B; a petabyte: {refused}"


if __name__ == "__main__":
    print({"torch": torch, "pool": pool}[sys.argv[1]]())
