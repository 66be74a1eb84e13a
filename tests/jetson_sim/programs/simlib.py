"""What the fake programs share. Standard library only; a copy lies in the board's `sim` folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write(path: Path, text: str) -> None:
    """Write a file by rename, making its folders: a reader sees the old text or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text)
    temporary.replace(path)


def log_call(root: Path, program: str, arguments: list[str]) -> None:
    """Note a call, so that tests can see what was run."""
    with (root / "sim/calls.log").open("a") as log:
        log.write(" ".join([program, *arguments]) + "\n")


def options(root: Path) -> dict[str, Any]:
    """Return how the programs are to behave."""
    value: dict[str, Any] = json.loads((root / "sim/options.json").read_text())
    return value


def apply_mode(root: Path, values: Mapping[str, Any]) -> None:
    """Write the files that follow from a mode: status, limits, cores that are on."""
    gpu_hz, cpu_khz = round(values["gpu_mhz"] * 1e6), round(values["cpu_mhz"] * 1e3)
    write(root / "var/lib/nvpmodel/status", f"pmode:{values['id']:04d} fmode:fan_mode_quiet\n")
    gpu = root / "sys/class/devfreq/17000000.gpu"
    write(gpu / "max_freq", f"{gpu_hz}\n")
    write(gpu / "cur_freq", f"{gpu_hz}\n")
    cpus = root / "sys/devices/system/cpu"
    write(cpus / "online", f"0-{values['cores'] - 1}\n")
    for first in range(0, values["of"], 4):
        write(cpus / f"cpufreq/policy{first}/scaling_max_freq", f"{cpu_khz}\n")
        write(cpus / f"cpufreq/policy{first}/scaling_cur_freq", f"{min(cpu_khz, 1_190_400)}\n")
