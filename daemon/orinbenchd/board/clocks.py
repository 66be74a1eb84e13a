"""Clocks and their limits. Moving clocks are normal; only a changed limit is news."""

from __future__ import annotations

from pathlib import Path

from orinbenchd.board.rootfs import Absent, Fact, Root

_GPU_DEVFREQ = ("/sys/class/devfreq/*.gpu", "/sys/class/devfreq/*.ga10b", "/sys/class/devfreq/*.gv11b")
_GPU_LOAD = (
    "/sys/devices/platform/bus@0/17000000.gpu/load",
    "/sys/devices/platform/gpu.0/load",
    "/sys/devices/gpu.0/load",
    "/sys/devices/17000000.ga10b/load",
)
_KHZ = 1000

#: (lowest, highest) clock in hertz that the governor may choose.
Limits = tuple[int, int]


def gpu_devfreq(root: Root) -> Path | None:
    """Return the folder of the integrated GPU's clock, or None."""
    return next((path for pattern in _GPU_DEVFREQ for path in root.glob(pattern)), None)


def gpu_load_file(root: Root) -> Path | None:
    """Return the file of the integrated GPU's load (0 to 1000), or None."""
    return next((root.path(name) for name in _GPU_LOAD if root.path(name).exists()), None)


def clock_limits(root: Root) -> dict[str, Limits]:
    """Return the limits of the GPU and of each CPU policy, in hertz; what cannot be read is left out."""
    found: dict[str, Fact[Limits]] = {}
    gpu = gpu_devfreq(root)
    if gpu is not None:
        found["gpu"] = _pair(root, gpu / "min_freq", gpu / "max_freq", 1)
    for policy in root.glob("/sys/devices/system/cpu/cpufreq/policy*"):
        low, high = policy / "scaling_min_freq", policy / "scaling_max_freq"
        found[policy.name] = _pair(root, low, high, _KHZ)
    return {name: fact for name, fact in found.items() if not isinstance(fact, Absent)}


def _pair(root: Root, low: Path, high: Path, unit: int) -> Fact[Limits]:
    first, second = root.read_number(low), root.read_number(high)
    if isinstance(first, Absent):
        return first
    return second if isinstance(second, Absent) else (first * unit, second * unit)
