"""What the board is. A field that cannot be read is left out and its reason written down."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orinbench.v1.board_pb2 import BoardIdentity

from orinbenchd.board import release
from orinbenchd.board.rootfs import Absent, Fact, Root

_KIB = 1024


def is_tegra(root: Root) -> bool:
    """Return whether this is a Jetson: it has an L4T release, or its device tree names a Tegra."""
    names = compatible(root)
    tree = not isinstance(names, Absent) and any(name.startswith("nvidia,tegra") for name in names)
    return tree or root.path("/etc/nv_tegra_release").exists()


def compatible(root: Root) -> Fact[list[str]]:
    """Return the device tree's `compatible` names, most specific first."""
    text = root.text("/proc/device-tree/compatible")
    return text if isinstance(text, Absent) else [name for name in text.split("\0") if name]


def memory_bytes(root: Root, key: str) -> Fact[int]:
    """Return one quantity of /proc/meminfo (`MemTotal`, `MemAvailable`) in bytes."""
    text = root.text("/proc/meminfo")
    if isinstance(text, Absent):
        return text
    found = re.search(rf"^{key}:\s+(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * _KIB if found else Absent(f"/proc/meminfo has no {key}")


def cpu_count(root: Root) -> Fact[int]:
    """Return how many CPU cores the machine has, offline ones included.

    A virtual machine's `possible` counts cores that may be plugged in one day: elsewhere `present` is read.
    """
    text = root.text(f"/sys/devices/system/cpu/{'possible' if is_tegra(root) else 'present'}")
    if isinstance(text, Absent):
        return text
    try:
        return sum(_span(part) for part in text.split(","))
    except ValueError:
        return Absent(f"the list of CPUs reads {text[:40]!r}")


def _span(part: str) -> int:
    first, _, last = part.partition("-")
    return int(last or first) - int(first) + 1


def _model(root: Root) -> Fact[str]:
    tree = root.text("/proc/device-tree/model")
    if not isinstance(tree, Absent):
        return tree
    cpuinfo = root.text("/proc/cpuinfo")
    found = None if isinstance(cpuinfo, Absent) else re.search(r"^model name\s*: (.+)$", cpuinfo, re.MULTILINE)
    return found[1] if found else tree


def _architecture(root: Root) -> Fact[str]:
    if not root.simulated:
        return os.uname().machine
    return release.l4t_facts(root).get("l4t_eabi") or Absent("a simulated board names it only in its L4T release")


def _os_release(root: Root) -> Fact[str]:
    text = root.text("/etc/os-release")
    if isinstance(text, Absent):
        return text
    found = re.search(r'^PRETTY_NAME="?(.*?)"?$', text, re.MULTILINE)
    return found[1] if found else Absent("/etc/os-release has no PRETTY_NAME")


def uptime_s(root: Root) -> Fact[float]:
    """Return seconds since boot."""
    text = root.text("/proc/uptime")
    if isinstance(text, Absent):
        return text
    try:
        return float(text.split()[0])
    except (ValueError, IndexError):
        return Absent(f"/proc/uptime reads {text[:40]!r}")


def read_identity(root: Root, gpus: Fact[list[str]]) -> BoardIdentity:
    """Read the identity. `gpus` are the GPUs' names as their own interface gives them."""
    installed = release.packages(root)
    l4t = release.l4t_release(root)
    fields: dict[str, Callable[[], Fact[Any]]] = {
        "model": lambda: _model(root),
        "compatible": lambda: compatible(root),
        "architecture": lambda: _architecture(root),
        "memory_total_bytes": lambda: memory_bytes(root, "MemTotal"),
        "cpu_count": lambda: cpu_count(root),
        "l4t_release": lambda: l4t,
        "jetpack_version": lambda: release.jetpack_version(l4t),
        "cuda_version": lambda: release.cuda_version(root),
        "tensorrt_version": lambda: release.package_version(installed, "libnvinfer"),
        "cudnn_version": lambda: release.package_version(installed, "libcudnn"),
        "kernel_release": lambda: root.text("/proc/sys/kernel/osrelease"),
        "os_release": lambda: _os_release(root),
        "boot_id": lambda: root.text("/proc/sys/kernel/random/boot_id"),
        "uptime_s": lambda: uptime_s(root),
        "gpus": lambda: gpus,
    }
    identity = BoardIdentity()
    for name, read in fields.items():
        _put(identity, name, read())
    return identity


def _put(identity: BoardIdentity, name: str, fact: Fact[Any]) -> None:
    if isinstance(fact, Absent):
        identity.absent_reasons[name] = fact.reason
    elif isinstance(fact, list):
        getattr(identity, name).extend(fact)
    else:
        setattr(identity, name, fact)


def environment_facts(root: Root) -> dict[str, str]:
    """Return what is worth keeping with each run beyond the identity, as words."""
    facts = release.l4t_facts(root)
    versions = release.cuda_versions(root)
    if not isinstance(versions, Absent):
        facts.update({name: versions[name] for name in ("nvcc", "cuda_nvcc") if name in versions})
    installed = release.packages(root)
    if not isinstance(installed, Absent):
        facts.update(installed)
    facts["root"] = "simulated" if root.simulated else str(Path("/"))
    return facts
