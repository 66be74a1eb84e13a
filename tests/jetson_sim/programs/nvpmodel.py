"""Simulated nvpmodel: `-q` says the mode, `-m ID` changes it or asks for a reboot."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim"))
import simlib  # type: ignore[import-not-found] # noqa: E402 - it lies in the board's folder


def settings() -> dict[int, dict[str, str]]:
    """Read the core set and TPC mask of each mode, by id, from the configuration."""
    found: dict[int, dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in (ROOT / "etc/nvpmodel.conf").read_text().splitlines():
        header = re.search(r"POWER_MODEL.*\bID=(\d+)", line)
        if header:
            current = found.setdefault(int(header[1]), {})
        elif line.startswith(("CPU_ONLINE", "TPC_POWER_GATING")):
            key, value = line.rsplit(" ", 1)
            current[key] = value
    return found


def current_id() -> int:
    """Return the id of the mode in force."""
    return int((ROOT / "var/lib/nvpmodel/status").read_text().split(":")[1].split()[0])


def query(modes: dict[str, Any], options: dict[str, Any]) -> int:
    """Print the mode in force."""
    if options["fan_warning"]:
        print("NVPM WARN: fan mode is not set!")
    print("NV Power Mode: " + next(name for name, values in modes.items() if values["id"] == current_id()))
    print(current_id())
    return 0


def change(number: int, modes: dict[str, Any], options: dict[str, Any]) -> int:
    """Change the mode, or ask and take silence for no."""
    wanted = next((values for values in modes.values() if values["id"] == number), None)
    if wanted is None:
        print(f"NVPM ERROR: Invalid power mode ID {number}")
        return 255
    differ = settings()[number] != settings()[current_id()]
    question = options["reboot_question"]
    if question == "always" or (question == "by-settings" and differ):
        print(f"NVPM WARN: Reboot required for changing to this power mode: {number}")
        print("NVPM WARN: DO YOU WANT TO REBOOT NOW? enter YES/yes to confirm: ", end="", flush=True)
        if sys.stdin.readline().strip() not in ("YES", "yes"):
            print("\nNVPM ERROR: optMask is 1, no request for power mode")
            return 234
        (ROOT / "sim/rebooted").write_text("somebody answered the question\n")
    simlib.apply_mode(ROOT, wanted)
    return 0


def main(arguments: list[str]) -> int:
    """Run as the real one; return its exit code."""
    simlib.log_call(ROOT, "nvpmodel", arguments)
    modes = json.loads((ROOT / "sim/modes.json").read_text())
    if arguments == ["-q"]:
        return query(modes, simlib.options(ROOT))
    if len(arguments) == 2 and arguments[0] == "-m":
        return change(int(arguments[1]), modes, simlib.options(ROOT))
    print("NVPM ERROR: Invalid arguments")
    return 255


sys.exit(main(sys.argv[1:]))
