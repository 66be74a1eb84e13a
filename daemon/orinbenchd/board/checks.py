"""The named conditions of a run. Each is decided by itself and all are reported."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from orinbench.v1.board_pb2 import GpuClient
from orinbench.v1.record_pb2 import Check, CheckResult, FailureClass

from orinbenchd.board import nvpmodel
from orinbenchd.board.gpu_clients import describe
from orinbenchd.board.identity import memory_bytes
from orinbenchd.board.rootfs import Absent, Fact, Root
from orinbenchd.sandbox import Isolation, Level

PASSED = CheckResult.CHECK_RESULT_PASSED
FAILED = CheckResult.CHECK_RESULT_FAILED
UNKNOWN = CheckResult.CHECK_RESULT_UNKNOWN

BOARD = FailureClass.FAILURE_CLASS_BOARD
POLICY = FailureClass.FAILURE_CLASS_POLICY

#: The check that is only there when the GPU is lost.
GPU_LOST = "gpu_lost"

_GIB = 2**30
T = TypeVar("T")


def decide(
    name: str,
    expected: str,
    found: Fact[T],
    holds: Callable[[T], bool],
    *,
    hint: str,
    show: Callable[[T], str] = str,
) -> Check:
    """Make a check of a fact: unknown when the fact is absent; the hint only when it did not pass."""
    check = Check(name=name, expected=expected, failure_class=BOARD)
    if isinstance(found, Absent):
        check.result, check.found, check.hint = UNKNOWN, found.reason, hint
        return check
    check.result, check.found = (PASSED if holds(found) else FAILED), show(found)
    if check.result == FAILED:
        check.hint = hint
    return check


def gib(count: float) -> str:
    """Show bytes as GiB."""
    return f"{count / _GIB:.1f} GiB"


def power_mode_check(
    wanted: str, modes: Fact[list[nvpmodel.PowerMode]], current: Fact[nvpmodel.PowerMode], helper: Fact[str]
) -> Check:
    """Decide whether the board is in the wanted mode or can be put into it without a reboot."""
    check = decide(
        "power_mode",
        wanted,
        current,
        lambda mode: mode.name == wanted,
        hint="without a known mode nothing can be compared: is nvpmodel installed?",
        show=lambda mode: mode.name,
    )
    if check.result == UNKNOWN:
        check.result = FAILED
    elif check.result == FAILED and not isinstance(modes, Absent) and not isinstance(current, Absent):
        _explain_switch(check, modes, current, helper)
    return check


def _explain_switch(
    check: Check, modes: Sequence[nvpmodel.PowerMode], current: nvpmodel.PowerMode, helper: Fact[str]
) -> None:
    target = next((mode for mode in modes if mode.name == check.expected), None)
    if target is None:
        check.hint = f"this board has only {', '.join(mode.name for mode in modes)}"
        return
    over_reboot = nvpmodel.reboot_settings(current, target)
    if over_reboot:
        check.hint = (
            f"reboot needed: the core set or the GPU's TPC mask changes ({', '.join(over_reboot)}); "
            f"sudo nvpmodel -m {target.id}, and let it reboot"
        )
    elif isinstance(helper, Absent):
        check.hint = f"the daemon may not change it ({helper.reason}): sudo nvpmodel -m {target.id}"
    else:
        check.result = PASSED
        check.hint = "the helper puts it into this mode for the run, and back afterwards"


def gpu_clients_check(clients: Fact[list[GpuClient]], strict: bool) -> Check:
    """Decide whether somebody else is on the GPU; under a strict profile not to know is a failure."""
    check = decide(
        "gpu_clients",
        "none but ours",
        clients,
        lambda found: not found,
        hint="end these processes (a desktop counts: sudo systemctl isolate multi-user.target)",
        show=lambda found: ", ".join(map(describe, found)) or "none",
    )
    check.failure_class = POLICY
    if check.result == UNKNOWN:
        check.hint = "install the power helper (scripts/install-jetson): it may see every process"
        if strict:
            check.result = FAILED
    return check


def gpu_lost_check(reason: str) -> Check:
    """Say that the GPU is lost: whatever else holds, no run can be trusted on it."""
    return Check(
        name=GPU_LOST,
        result=FAILED,
        failure_class=BOARD,
        expected="a GPU that answers",
        found=reason,
        hint="restart the board",
    )


def disk_check(folder: Path, floor_gib: float) -> Check:
    """Compare free space where the daemon keeps its data with the floor."""
    free: Fact[int]
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        free = Absent(f"{folder}: {error.strerror}")
    return _at_least("disk_free", free, floor_gib, f"free space on the file system of {folder}")


def memory_check(root: Root, floor_gib: float) -> Check:
    """Compare available memory with the floor."""
    hint = "end what holds memory, or reboot: fragments of GPU memory stay until then"
    return _at_least("memory_free", memory_bytes(root, "MemAvailable"), floor_gib, hint)


def _at_least(name: str, free: Fact[int], floor_gib: float, hint: str) -> Check:
    expected = f"at least {floor_gib:g} GiB"
    return decide(name, expected, free, lambda count: count >= floor_gib * _GIB, hint=hint, show=gib)


def temperature_check(temperatures: Mapping[str, float], limit_c: float) -> Check:
    """Compare the hottest sensor with the bound."""
    hottest: Fact[tuple[str, float]] = Absent("no temperature can be read")
    if temperatures:
        hottest = max(temperatures.items(), key=lambda item: item[1])
    return decide(
        "temperature",
        f"at most {limit_c:g} °C",
        hottest,
        lambda item: item[1] <= limit_c,
        hint="let the board cool down; look at its fan",
        show=lambda item: f"{item[0]} {item[1]:.1f} °C",
    )


def rails_check(wanted: Sequence[str], found: Sequence[str]) -> Check:
    """Say whether module power can be measured. It is no reason to refuse: it costs the energy axis."""
    missing = [name for name in wanted if name not in found]
    readable = Absent(f"not readable: {', '.join(missing)}") if missing else " + ".join(wanted)
    hint = "the run has no energy; it is not refused for that"
    return decide("module_power", " + ".join(wanted), readable, lambda _: True, hint=hint)


def isolation_check(floor: Level, isolation: Isolation, official: bool) -> Check:
    """Compare the isolation of workers with the floor. It is a reason to refuse under an official profile alone."""
    check = Check(name="isolation", expected=f"at least {floor}", found=isolation.level, failure_class=BOARD)
    check.result = PASSED if isolation.reaches(floor) else FAILED if official else UNKNOWN
    if check.result != PASSED:
        check.hint = isolation.reason
    return check


def gpu_node_check(root: Root) -> Check:
    """Say whether the integrated GPU can be opened; after some boots only its `power` node is there."""
    nodes = ("/dev/nvgpu/igpu0/ctrl", "/dev/nvhost-ctrl-gpu")
    there = [node for node in nodes if root.path(node).exists()]
    found: Fact[str] = there[0] if there else Absent(f"neither {nodes[0]} nor {nodes[1]} exists")
    check = decide(
        "gpu_node",
        "readable and writable",
        found,
        lambda node: os.access(root.path(node), os.R_OK | os.W_OK),
        hint="join the groups video and render; if there is no node, switch the board off and on",
    )
    if check.result == UNKNOWN:
        check.result = FAILED
    return check
