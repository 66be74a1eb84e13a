"""One CUDA device by pycuda: its context, and a caching pool of its memory whose peaks are known.

For runtimes that let others allocate for them. torch has an allocator of its own and is not a user of this.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pycuda.driver as driver
from pycuda.tools import DeviceMemoryPool

from orinbench_engines.device import check_one_counted, check_one_visible

# Of an empty request: the pool has no bin for it, and 0 would mean that there is no memory.
_LEAST = 1


class CudaDevice:
    """The one visible device, with its primary context current on the thread that opened it.

    Runtimes that use CUDA's runtime API are in the same context.
    """

    def __init__(self) -> None:
        """Open it. Raises WorkerFailure (policy) unless there is exactly one; what the driver says otherwise."""
        check_one_visible()
        driver.init()
        check_one_counted(driver.Device.count())
        device = driver.Device(0)
        self.name: str = device.name()
        self._context = device.retain_primary_context()
        self._context.push()
        self._thread = threading.get_ident()

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the context current, on a thread of somebody else's too."""
        if threading.get_ident() == self._thread:
            yield
            return
        self._context.push()
        try:
            yield
        finally:
            driver.Context.pop()

    def close(self) -> None:
        """Let go of the context. On the thread that opened it."""
        driver.Context.pop()
        self._context.detach()


class DevicePool:
    """A caching pool of device memory: what is freed stays held from the driver until memory runs out.

    Reserved bytes are pycuda's `managed_bytes`, allocated ones its `active_bytes`; pycuda keeps no peak, so both
    are looked at after each allocation. Called from C by other libraries, it never raises: `failure` keeps why
    an allocation came to nothing.
    """

    def __init__(self, device: CudaDevice) -> None:
        self.peak_reserved_bytes = 0
        self.peak_allocated_bytes = 0
        self.failure: Exception | None = None
        self._device = device
        self._pool = DeviceMemoryPool()
        self._blocks: dict[int, object] = {}
        # Taken again by one thread: pycuda collects garbage when memory runs out, and what is collected frees blocks.
        self._lock = threading.RLock()

    def allocate(self, size: int) -> int:
        """Return the address of `size` bytes, aligned to at least 256; 0 if there are none."""
        try:
            with self._lock, self._device.current():
                block = self._pool.allocate(max(size, _LEAST))
                self.peak_reserved_bytes = max(self.peak_reserved_bytes, self._pool.managed_bytes)
                self.peak_allocated_bytes = max(self.peak_allocated_bytes, self._pool.active_bytes)
                address = int(block)
                self._blocks[address] = block
                return address
        except Exception as error:  # noqa: BLE001  there is no Python frame above to take it
            self.failure = error
            print(f"orinbench worker: {size} bytes of device memory: {error}", file=sys.stderr)  # noqa: T201
            return 0

    def free(self, address: int) -> bool:
        """Give a block back to the pool; say whether it was one. Nothing is done for address 0."""
        with self._lock, self._device.current():
            return self._blocks.pop(address, None) is not None or not address

    def free_held(self) -> None:
        """Return to the driver what is held and not in use."""
        with self._lock, self._device.current():
            self._pool.free_held()

    def close(self) -> None:
        """Return everything to the driver; whoever still uses a block has lost it."""
        with self._lock:
            self._blocks.clear()
            self._pool.stop_holding()

    def raise_failure(self) -> None:
        """Raise what an allocation failed with since the last call, if any did."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
