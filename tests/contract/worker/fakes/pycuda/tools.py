"""pycuda.tools over memory of the host."""

from __future__ import annotations

import ctypes
from collections import defaultdict
from typing import Any

from pycuda import driver

_LEADING_BITS = 4


def _block_size(size: int) -> int:
    """Round up as pycuda's bins do: all bits below the four after the first are ones."""
    ones = (1 << max(size.bit_length() - 1 - _LEADING_BITS, 0)) - 1
    return size | ones


class PooledDeviceAllocation:
    """A block; goes back to its pool when nobody holds it any more."""

    def __init__(self, pool: DeviceMemoryPool, memory: Any, size: int) -> None:
        self._pool, self._memory, self._size = pool, memory, size

    def __int__(self) -> int:
        return (ctypes.addressof(self._memory) + 255) & ~255

    def __del__(self) -> None:
        self._pool._back(self._memory, self._size)


class DeviceMemoryPool:
    """Holds what is freed, by size, until memory runs out."""

    def __init__(self) -> None:
        self.managed_bytes = 0
        self.active_bytes = 0
        self._held: dict[int, list[Any]] = defaultdict(list)
        self._holding = True

    def allocate(self, size: int) -> PooledDeviceAllocation:
        block = _block_size(size)
        if not self._held[block]:
            self._held[block].append(self._new(block))
        self.active_bytes += size
        return PooledDeviceAllocation(self, self._held[block].pop(), size)

    def free_held(self) -> None:
        for block, memories in self._held.items():
            self.managed_bytes -= block * len(memories)
            for _ in memories:
                driver.give(block)
            memories.clear()

    def stop_holding(self) -> None:
        self._holding = False
        self.free_held()

    def _new(self, block: int) -> Any:
        try:
            memory = driver.take(block)
        except driver.MemoryError:
            self.free_held()
            memory = driver.take(block)
        self.managed_bytes += block
        return memory

    def _back(self, memory: Any, size: int) -> None:
        self.active_bytes -= size
        self._held[_block_size(size)].append(memory)
        if not self._holding:
            self.free_held()
