"""Run by another interpreter, never imported by the daemon: prints a JSON line for each reading of jtop.

jetson-stats sets multiprocessing's start method for its whole process, so it gets a process of its own.
Standard library and jetson-stats only. Usage: jtop_child.py INTERVAL_S
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

#: Exit code when jetson-stats is not there: trying again is no use.
NOT_INSTALLED = 3


def reading(jetson: Any) -> dict[str, Any]:
    """Take what we use, as plain values: kB, mW, kHz, percent, degrees Celsius, as jtop gives them."""
    gpus = list(jetson.gpu.values())
    first = gpus[0] if gpus else {}
    return {
        "ram": _pick(jetson.memory.get("RAM", {}), "tot", "used"),
        "swap": _pick(jetson.memory.get("SWAP", {}), "tot", "used"),
        "emc": _pick(jetson.memory.get("EMC", {}), "val", "cur"),
        "rails": {name: _pick(rail, "power", "avg") for name, rail in jetson.power.get("rail", {}).items()},
        "temperatures": {name: _pick(t, "temp", "online") for name, t in jetson.temperature.items()},
        "gpu_load": first.get("status", {}).get("load"),
        "gpu_freq": _pick(first.get("freq", {}), "cur", "min", "max", "GPC"),
        "power_mode": str(jetson.nvpmodel) if jetson.nvpmodel is not None else None,
    }


def _pick(values: Any, *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def main(interval_s: float) -> int:
    """Print lines until jtop's service goes away; return the exit code."""
    try:
        library = importlib.import_module("jtop")
    except ImportError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return NOT_INSTALLED
    try:
        with library.jtop(interval_s) as jetson:
            while jetson.ok():
                print(json.dumps(reading(jetson)), flush=True)  # noqa: T201
    except Exception as error:  # noqa: BLE001 - whatever stops jtop is told to the daemon and ends this process
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
