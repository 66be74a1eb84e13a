"""Simulated jetson_clocks: without arguments it locks clocks; `--store`, `--restore`, `--show` as the real one."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim"))
import simlib  # type: ignore[import-not-found] # noqa: E402 - it lies in the board's folder

GPU = ROOT / "sys/class/devfreq/17000000.gpu"
CPUS = ROOT / "sys/devices/system/cpu"


def clocks() -> list[tuple[Path, Path]]:
    """Return (file of the lowest clock, file of the highest) of the GPU and each CPU cluster."""
    policies = sorted((CPUS / "cpufreq").glob("policy*"))
    cpus = [(path / "scaling_min_freq", path / "scaling_max_freq") for path in policies]
    return [(GPU / "min_freq", GPU / "max_freq"), *cpus]


def lock() -> int:
    """Fix every clock at its maximum."""
    for low, high in clocks():
        simlib.write(low, high.read_text())
    return 0


def store(path: Path) -> int:
    """Write the lowest clocks down; ask before overwriting."""
    if path.exists():
        print(f"File {path} already exists. Can I overwrite it? Y/N: ", end="", flush=True)
        if sys.stdin.readline().strip() not in ("Y", "y"):
            return 1
    path.write_text("".join(f"{low.relative_to(ROOT)}:{low.read_text().strip()}\n" for low, _ in clocks()))
    return 0


def restore(path: Path) -> int:
    """Set the lowest clocks that were written down."""
    if not path.exists():
        print(f"Error: {path} does not exist")
        return 1
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        simlib.write(ROOT / name, value + "\n")
    return 0


def show() -> int:
    """Print the state."""
    print("SOC family:tegra234  Machine:" + (ROOT / "proc/device-tree/model").read_text().rstrip("\0"))
    print("Online CPUs: " + (CPUS / "online").read_text().strip())
    low, high = ((GPU / name).read_text().strip() for name in ("min_freq", "max_freq"))
    print(f"GPU MinFreq={low} MaxFreq={high} CurrentFreq={(GPU / 'cur_freq').read_text().strip()}")
    return 0


def main(arguments: list[str]) -> int:
    """Run as the real one; return its exit code."""
    simlib.log_call(ROOT, "jetson_clocks", arguments)
    if not arguments:
        return lock()
    if arguments == ["--show"]:
        return show()
    if len(arguments) == 2 and arguments[0] in ("--store", "--restore"):
        return {"--store": store, "--restore": restore}[arguments[0]](Path(arguments[1]))
    print("jetson_clocks: bad arguments")
    return 1


sys.exit(main(sys.argv[1:]))
