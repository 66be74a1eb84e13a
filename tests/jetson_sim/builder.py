"""Builds the root folder of a simulated board."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.jetson_sim.boards import BOARDS, Mode, SimBoard
from tests.jetson_sim.programs.simlib import apply_mode, write

_PROGRAMS = Path(__file__).with_name("programs")
_PLACES = {"nvpmodel": "usr/sbin", "jetson_clocks": "usr/bin", "tegrastats": "usr/bin"}

#: What a scenario may set, with what holds otherwise.
DEFAULTS: dict[str, Any] = {
    # What `nvpmodel -m` does: "by-settings" asks for a reboot when cores or TPC mask change, "always", "never".
    "reboot_question": "by-settings",
    # `nvpmodel -q` begins with the warning about the fan.
    "fan_warning": True,
    # tegrastats prints what root sees; "r36" leaves it out without root, "r35" prints placeholders.
    "tegrastats_root": True,
    "tegrastats_style": "r36",
    # Words a vendor's image adds to each line, and a line it prints first.
    "tegrastats_extra": "",
    "tegrastats_banner": "",
    # Lines after which it dies or falls silent; 0 for never. Seconds it takes to its first line.
    "tegrastats_dies_after": 0,
    "tegrastats_hangs_after": 0,
    "tegrastats_slow_start_s": 0.0,
    "swap": True,
    "nvmap": True,
    "l4t_line": "",
}


class SimulatedBoard:
    """A built board. Its files may be changed at any time; programs and daemon read them afresh."""

    def __init__(self, root: Path, board: SimBoard) -> None:
        self.root = root
        self.board = board

    def path(self, absolute: str) -> Path:
        """Return where a file of the board is."""
        return self.root / absolute.lstrip("/")

    def write(self, absolute: str, text: str) -> None:
        """Write a file at once: a reader sees the old text or the new one."""
        write(self.path(absolute), text)

    def mode(self) -> str:
        """Return the power mode in force, by name."""
        number = int(self.path("/var/lib/nvpmodel/status").read_text().split(":")[1].split()[0])
        return next(mode.name for mode in self.board.modes if mode.id == number)

    def calls(self) -> list[str]:
        """Return every call of the board's programs so far, as `program arguments`."""
        log = self.path("/sim/calls.log")
        return log.read_text().splitlines() if log.exists() else []


def build(
    folder: Path, name: str, *, mode: str | None = None, options: Mapping[str, Any] | None = None
) -> SimulatedBoard:
    """Build a board by name into an empty or new folder. Raises KeyError and ValueError on unknown words."""
    board = BOARDS[name]
    chosen = {**DEFAULTS, **(options or {})}
    unknown = sorted(chosen.keys() - DEFAULTS.keys())
    if unknown:
        raise ValueError(f"no such option: {', '.join(unknown)}; there are {', '.join(sorted(DEFAULTS))}")
    built = SimulatedBoard(folder, board)
    _write_identity(built, chosen)
    _write_memory(built, chosen)
    _write_modes(built)
    _write_gpu(built, chosen)
    _write_sensors(built)
    _write_programs(built, chosen)
    start = next(m for m in board.modes if m.name == (mode or board.default_mode))
    apply_mode(built.root, start_values(start, board))
    return built


def start_values(mode: Mode, board: SimBoard) -> dict[str, Any]:
    """Return what being in a mode means, as the fake nvpmodel applies it."""
    return {"id": mode.id, "cores": mode.cores, "gpu_mhz": mode.gpu_mhz, "cpu_mhz": mode.cpu_mhz, "of": board.cores}


def _write_identity(built: SimulatedBoard, options: Mapping[str, Any]) -> None:
    board = built.board
    major, revision = board.l4t.split(".", 1)
    line = options["l4t_line"] or (
        f"# R{major} (release), REVISION: {revision}, GCID: 42132812, BOARD: generic, EABI: aarch64, "
        "DATE: Thu Sep 18 22:54:44 UTC 2025"
    )
    built.write("/etc/nv_tegra_release", f"{line}\n# KERNEL_VARIANT: oot\nTARGET_USERSPACE_LIB_DIR=nvidia\n")
    built.write("/proc/device-tree/model", board.model + "\0")
    built.write("/proc/device-tree/compatible", "\0".join(board.compatible) + "\0")
    built.write("/sys/devices/system/cpu/possible", f"0-{board.cores - 1}\n")
    built.write("/sys/devices/system/cpu/present", f"0-{board.cores - 1}\n")
    built.write("/proc/sys/kernel/osrelease", "5.15.148-tegra\n")
    built.write("/proc/sys/kernel/random/boot_id", "6c1f2d0e-94a1-4a55-8f0e-0123456789ab\n")
    built.write("/proc/uptime", "4242.42 30000.00\n")
    built.write("/etc/os-release", 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nVERSION_ID="22.04"\n')
    versions = {"cuda": ("CUDA SDK", "12.6.11"), "cuda_nvcc": ("CUDA NVCC", "12.6.68")}
    built.write(
        "/usr/local/cuda/version.json",
        json.dumps({key: {"name": name, "version": version} for key, (name, version) in versions.items()}),
    )
    packages = {"libnvinfer10": "10.3.0.30-1+cuda12.5", "libcudnn9-cuda-12": "9.3.0.75-1"}
    stanzas = [
        f"Package: {name}\nStatus: install ok installed\nVersion: {version}\nArchitecture: arm64\n"
        for name, version in packages.items()
    ]
    built.write("/var/lib/dpkg/status", "\n".join(stanzas))


def _write_memory(built: SimulatedBoard, options: Mapping[str, Any]) -> None:
    total = built.board.memory_kb
    swap = built.board.swap_kb if options["swap"] else 0
    lines = {"MemTotal": total, "MemFree": total * 6 // 10, "MemAvailable": total * 9 // 10}
    lines |= {"SwapTotal": swap, "SwapFree": swap}
    built.write("/proc/meminfo", "".join(f"{name + ':':<15} {value:>8} kB\n" for name, value in lines.items()))


def _write_modes(built: SimulatedBoard) -> None:
    board = built.board
    lines = ["# Of the simulation.", "< PARAM TYPE=FILE NAME=CPU_ONLINE >"]
    lines += [f"CORE_{core} /sys/devices/system/cpu/cpu{core}/online" for core in range(board.cores)]
    for mode in board.modes:
        # The order of the attributes differs between real files.
        head = f"ID={mode.id} NAME={mode.name}" if mode.id % 2 == 0 else f"NAME={mode.name} ID={mode.id}"
        lines += ["", f"< POWER_MODEL {head} >"]
        lines += [f"CPU_ONLINE CORE_{core} {int(core < mode.cores)}" for core in range(board.cores)]
        lines += [f"TPC_POWER_GATING TPC_PG_MASK {mode.tpc_mask}", f"GPU MAX_FREQ {round(mode.gpu_mhz * 1e6)}"]
        lines += [f"CPU_A78_0 MAX_FREQ {round(mode.cpu_mhz * 1e3)}", "EMC MAX_FREQ 0"]
    default = next(mode.id for mode in board.modes if mode.name == board.default_mode)
    lines += ["", f"< PM_CONFIG DEFAULT={default} >", ""]
    built.write("/etc/nvpmodel/nvpmodel_simulated.conf", "\n".join(lines))
    built.path("/etc/nvpmodel.conf").symlink_to("nvpmodel/nvpmodel_simulated.conf")


def _write_gpu(built: SimulatedBoard, options: Mapping[str, Any]) -> None:
    built.write("/sys/devices/platform/bus@0/17000000.gpu/load", "0\n")
    built.write("/sys/class/devfreq/17000000.gpu/min_freq", "306000000\n")
    for first in range(0, built.board.cores, 4):
        built.write(f"/sys/devices/system/cpu/cpufreq/policy{first}/scaling_min_freq", "729600\n")
    for node in ("ctrl", "as", "prof", "power"):
        built.write(f"/dev/nvgpu/igpu0/{node}", "")
    for node in ("nvmap", "nvhost-ctrl", "nvhost-ctrl-gpu", "nvhost-gpu", "host1x-fence", "dri/renderD128"):
        built.write(f"/dev/{node}", "")
    if options["nvmap"]:
        built.write("/sys/kernel/debug/nvmap/iovmm/clients", NVMAP_HEADER + NVMAP_TOTAL.format(0))


NVMAP_HEADER = "CLIENT                        PROCESS      PID        SIZE\n"
NVMAP_TOTAL = "total                                           {}K\n"


def _write_sensors(built: SimulatedBoard) -> None:
    for number, (chip, rails) in enumerate(built.board.rails.items()):
        folder = f"/sys/bus/i2c/drivers/ina3221/{chip}/hwmon/hwmon{number + 3}"
        built.write(f"{folder}/name", "ina3221\n")
        built.write(f"{folder}/update_interval", "430\n")
        built.write(f"{folder}/samples", "512\n")
        for channel, (rail, milliwatt) in enumerate(rails.items(), start=1):
            built.write(f"{folder}/in{channel}_label", rail.strip() + "\n")
            # 1 V, so that the current in mA is the power in mW.
            built.write(f"{folder}/in{channel}_input", "1000\n")
            built.write(f"{folder}/curr{channel}_input", f"{milliwatt}\n")
        built.write(f"{folder}/in7_label", "sum of shunt voltages\n")
    for number, (zone, degrees) in enumerate(built.board.zones.items()):
        built.write(f"/sys/class/thermal/thermal_zone{number}/type", zone + "\n")
        built.write(f"/sys/class/thermal/thermal_zone{number}/temp", f"{round(degrees * 1000)}\n")
    # A sensor that is off answers with an error; a folder in the file's place does too.
    off = f"/sys/class/thermal/thermal_zone{len(built.board.zones)}"
    built.write(f"{off}/type", "cv0-thermal\n")
    built.path(f"{off}/temp").mkdir()
    for name in ("oc1", "oc2", "oc3"):
        built.write(f"/sys/class/hwmon/hwmon2/{name}_event_cnt", "0\n")
        built.write(f"/sys/class/hwmon/hwmon2/{name}_throt_en", "1\n")
    built.write("/sys/class/hwmon/hwmon2/name", "soctherm_oc\n")


def _write_programs(built: SimulatedBoard, options: Mapping[str, Any]) -> None:
    for name, place in _PLACES.items():
        target = built.root / place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        body = (_PROGRAMS / f"{name}.py").read_text()
        # The programs see only their own board's folder and the standard library.
        target.write_text(f"#!{sys.executable} -IS\n{body}")
        target.chmod(0o755)
    built.write("/sim/simlib.py", (_PROGRAMS / "simlib.py").read_text())
    modes = {mode.name: start_values(mode, built.board) for mode in built.board.modes}
    built.write("/sim/modes.json", json.dumps(modes))
    built.write("/sim/options.json", json.dumps(dict(options)))
    built.write("/sim/board.json", json.dumps({"name": built.board.name, "gpcs": built.board.gpcs}))
