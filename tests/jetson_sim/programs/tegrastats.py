"""Simulated tegrastats: a line from the board's files every interval, in the spelling the options choose."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim"))
import simlib  # type: ignore[import-not-found] # noqa: E402 - it lies in the board's folder

#: Sum and count of each rail's readings, for the running average.
Sums = dict[tuple[Path, int], list[int]]


def text(name: str) -> str:
    """Read a file of the board."""
    return (ROOT / name).read_text().strip()


def meminfo() -> dict[str, int]:
    """Read the memory, in MB."""
    pairs = (line.split(":") for line in text("proc/meminfo").splitlines())
    return {name: int(rest.split()[0]) // 1024 for name, rest in pairs}


def cpus() -> str:
    """Print the cores."""
    total = int(text("sys/devices/system/cpu/possible").split("-")[1]) + 1
    online = int(text("sys/devices/system/cpu/online").split("-")[1]) + 1
    shown = []
    for core in range(total):
        mhz = int(text(f"sys/devices/system/cpu/cpufreq/policy{core // 4 * 4}/scaling_cur_freq")) // 1000
        shown.append(f"{(core * 7) % 30}%@{mhz}" if core < online else "off")
    return ",".join(shown)


def temperatures(style: str) -> list[str]:
    """Print the sensors: one that is off reads -256 on R35 and is left out on R36."""
    shown = []
    for zone in sorted((ROOT / "sys/class/thermal").glob("thermal_zone*")):
        name = (zone / "type").read_text().strip().removesuffix("-thermal")
        try:
            degrees = int((zone / "temp").read_text()) / 1000
        except OSError:
            degrees = -256
        if style == "r35":
            shown.append(f"{name.upper()}@{degrees:g}C")
        elif degrees > -256:
            shown.append(f"{name}@{degrees:g}C")
    return shown


def rails(sums: Sums) -> list[str]:
    """Print the rails, now and on average."""
    shown = []
    for chip in sorted((ROOT / "sys/bus/i2c/drivers/ina3221").glob("*/hwmon/hwmon*")):
        for channel in (1, 2, 3):
            label = chip / f"in{channel}_label"
            if not label.exists():
                continue
            try:
                volt = int((chip / f"in{channel}_input").read_text())
                ampere = int((chip / f"curr{channel}_input").read_text())
            except (OSError, ValueError):
                continue
            power = volt * ampere // 1000
            total = sums.setdefault((chip, channel), [0, 0])
            total[0] += power
            total[1] += 1
            shown.append(f"{label.read_text().strip()} {power}mW/{total[0] // total[1]}mW")
    return shown


def gpu(options: dict[str, Any], gpcs: int) -> list[str]:
    """Print the GPU and the memory controller: with root, as R35 does without it, or not at all."""
    mhz = int(text("sys/class/devfreq/17000000.gpu/cur_freq")) // 1_000_000
    load = int(text("sys/devices/platform/bus@0/17000000.gpu/load")) // 10
    if options["tegrastats_root"]:
        return ["EMC_FREQ 3%@2133", f"GR3D_FREQ {load}%@[{','.join([str(mhz)] * gpcs)}]"]
    return ["EMC_FREQ 0%", "GR3D_FREQ 0%"] if options["tegrastats_style"] == "r35" else []


def line(options: dict[str, Any], gpcs: int, sums: Sums) -> str:
    """Print one line."""
    memory = meminfo()
    parts = [time.strftime("%m-%d-%Y %H:%M:%S")]
    parts.append(f"RAM {memory['MemTotal'] - memory['MemAvailable']}/{memory['MemTotal']}MB (lfb 466x4MB)")
    if memory["SwapTotal"]:
        parts.append(f"SWAP {memory['SwapTotal'] - memory['SwapFree']}/{memory['SwapTotal']}MB (cached 0MB)")
    parts.append(f"CPU [{cpus()}]")
    parts += gpu(options, gpcs)
    if options["tegrastats_root"]:
        parts += ["NVENC off", "NVDEC off", "VIC off", "OFA off", "APE 174"]
    parts += temperatures(options["tegrastats_style"])
    if options["tegrastats_root"] or options["tegrastats_style"] == "r36":
        parts += rails(sums)
    if options["tegrastats_extra"]:
        parts.append(options["tegrastats_extra"])
    return " ".join(parts)


def stop_all() -> None:
    """What the real `--stop` does: it ends every instance on the machine."""
    for pid in (ROOT / "sim/tegrastats").glob("*"):
        os.kill(int(pid.name), 15)


def main(arguments: list[str]) -> None:
    """Print lines until killed."""
    simlib.log_call(ROOT, "tegrastats", arguments)
    if "--stop" in arguments:
        stop_all()
        return
    interval_s = int(arguments[arguments.index("--interval") + 1]) / 1000 if "--interval" in arguments else 1.0
    gpcs = json.loads(text("sim/board.json"))["gpcs"]
    sums: Sums = {}
    printed = 0
    own = ROOT / "sim/tegrastats" / str(os.getpid())
    own.parent.mkdir(exist_ok=True)
    own.write_text("")
    options = simlib.options(ROOT)
    time.sleep(options["tegrastats_slow_start_s"])
    if options["tegrastats_banner"]:
        print(options["tegrastats_banner"], flush=True)
    while True:
        options = simlib.options(ROOT)
        if options["tegrastats_dies_after"] and printed >= options["tegrastats_dies_after"]:
            sys.exit(1)
        if options["tegrastats_hangs_after"] and printed >= options["tegrastats_hangs_after"]:
            time.sleep(3600)
        print(line(options, gpcs, sums), flush=True)
        printed += 1
        time.sleep(interval_s)


try:
    main(sys.argv[1:])
except (BrokenPipeError, KeyboardInterrupt):
    os._exit(1)
