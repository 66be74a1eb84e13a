"""Chooses the telemetry sources of a board and makes the hub."""

from __future__ import annotations

from pathlib import Path

from orinbench_profiles.schema import HardwareProfile

from orinbenchd.board.identity import is_tegra
from orinbenchd.board.rootfs import Root
from orinbenchd.telemetry.hub import DEFAULT_INTERVAL_S, Listener, TelemetryHub
from orinbenchd.telemetry.jtop_source import JtopSource
from orinbenchd.telemetry.nvml import NvmlSource
from orinbenchd.telemetry.psutil_source import PsutilSource
from orinbenchd.telemetry.source import Source
from orinbenchd.telemetry.sysfs import SysfsSource
from orinbenchd.telemetry.tegrastats_source import TegrastatsSource


def make_hub(
    root_path: Path,
    profile: HardwareProfile,
    *,
    helper_socket: Path | None,
    interval_s: float = DEFAULT_INTERVAL_S,
    jtop_python: Path | None = None,
    annotate: Listener | None = None,
) -> TelemetryHub:
    """Make the hub of a board; of two sources that read the same quantity the first named wins.

    `jtop_python` is an interpreter that has jetson-stats; without it jtop is not used.
    """
    root = Root(root_path)
    sources: list[Source] = []
    if is_tegra(root):
        sources += [SysfsSource(root, interval_s), TegrastatsSource(root, helper_socket, interval_s)]
    elif profile.gpu_clients == "nvml" and not root.simulated:
        sources.append(NvmlSource(interval_s))
    if jtop_python is not None:
        sources.append(JtopSource(jtop_python, interval_s))
    if not root.simulated:  # psutil knows only the machine we run on
        sources.append(PsutilSource(interval_s))
    return TelemetryHub(
        sources, interval_s=interval_s, module_power_rails=profile.module_power_rails, annotate=annotate
    )
