"""What can happen to a simulated board: done by changing its files and ending its programs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.jetson_sim.builder import NVMAP_HEADER, NVMAP_TOTAL, SimulatedBoard, start_values
from tests.jetson_sim.programs.simlib import apply_mode

_CLIENTS = "/sys/kernel/debug/nvmap/iovmm/clients"


def set_mode(board: SimulatedBoard, *, mode: str) -> None:
    """Somebody changes the mode by hand, past the daemon."""
    wanted = next(m for m in board.board.modes if m.name == mode)
    apply_mode(board.root, start_values(wanted, board.board))


def limit_gpu(board: SimulatedBoard, *, mhz: float) -> None:
    """Somebody lowers the GPU's limit without changing the mode."""
    board.write("/sys/class/devfreq/17000000.gpu/max_freq", f"{round(mhz * 1e6)}\n")


def move_gpu_clock(board: SimulatedBoard, *, mhz: float) -> None:
    """The governor moves the clock inside its limits: nothing to report."""
    board.write("/sys/class/devfreq/17000000.gpu/cur_freq", f"{round(mhz * 1e6)}\n")


def gpu_client(board: SimulatedBoard, *, name: str, pid: int, kb: int = 43_008, nvmap: bool = True) -> None:
    """A process takes the GPU: its row in the table (unless `nvmap` is false) and its open nodes."""
    process = board.path(f"/proc/{pid}")
    (process / "fd").mkdir(parents=True, exist_ok=True)
    board.write(f"/proc/{pid}/comm", name[:15] + "\n")
    process_stat(board, name=name[:15], pid=pid)
    with contextlib.suppress(FileExistsError):
        (process / "fd/7").symlink_to("/dev/nvgpu/igpu0/ctrl")
    if nvmap:
        rows = [row for row in board.path(_CLIENTS).read_text().splitlines()[1:-1] if f" {pid} " not in row]
        rows.append(f"user                    {name[:15]:>15} {pid:>8} {kb:>10}K")
        _write_clients(board, rows)


def process_stat(board: SimulatedBoard, *, name: str, pid: int, parent: int = 1, began: int = 0) -> None:
    """What the kernel tells of a process (proc_pid_stat(5)), up to when it began in clock ticks since boot."""
    zeros = " 0" * 14
    board.write(f"/proc/{pid}/stat", f"{pid} ({name}) S {parent} {pid} {pid} 0{zeros} {began}\n")


def gpu_client_gone(board: SimulatedBoard, *, pid: int) -> None:
    """The process ends."""
    shutil.rmtree(board.path(f"/proc/{pid}"))
    rows = board.path(_CLIENTS).read_text().splitlines()[1:-1]
    _write_clients(board, [row for row in rows if f" {pid} " not in row])


def _write_clients(board: SimulatedBoard, rows: list[str]) -> None:
    total = sum(int(row.split()[-1].removesuffix("K")) for row in rows)
    board.write(_CLIENTS, NVMAP_HEADER + "".join(row + "\n" for row in rows) + NVMAP_TOTAL.format(total))


def throttle(board: SimulatedBoard, *, counter: str = "oc3", by: int = 1) -> None:
    """An over-current counter rises."""
    name = f"/sys/class/hwmon/hwmon2/{counter}_event_cnt"
    board.write(name, f"{int(board.path(name).read_text()) + by}\n")


def temperature(board: SimulatedBoard, *, zone: str, degrees_c: float) -> None:
    """A sensor reads another temperature."""
    for path in board.path("/sys/class/thermal").glob("thermal_zone*/type"):
        if path.read_text().strip() == zone:
            board.write(f"/sys/class/thermal/{path.parent.name}/temp", f"{round(degrees_c * 1000)}\n")
            return
    raise ValueError(f"no thermal zone {zone}")


def gpu_load(board: SimulatedBoard, *, percent: float) -> None:
    """The GPU works."""
    board.write("/sys/devices/platform/bus@0/17000000.gpu/load", f"{round(percent * 10)}\n")


def kill_tegrastats(board: SimulatedBoard) -> None:
    """Every running tegrastats of this board dies at once."""
    for pid in _running(board):
        os.kill(pid, signal.SIGKILL)


def freeze_tegrastats(board: SimulatedBoard) -> None:
    """Every running tegrastats of this board stops without a word."""
    for pid in _running(board):
        os.kill(pid, signal.SIGSTOP)


def _running(board: SimulatedBoard) -> list[int]:
    pids = [int(path.name) for path in board.path("/sim/tegrastats").glob("*")]
    return [pid for pid in pids if _is_ours(board, pid)]


def _is_ours(board: SimulatedBoard, pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return str(board.path("/usr/bin/tegrastats")).encode() in command


def remove(board: SimulatedBoard, *, path: str) -> None:
    """A file or folder vanishes."""
    target = board.path(path)
    shutil.rmtree(target) if target.is_dir() else target.unlink()


def write_file(board: SimulatedBoard, *, path: str, text: str) -> None:
    """A file changes."""
    board.write(path, text)


def option(board: SimulatedBoard, **options: Any) -> None:
    """The programs behave otherwise from now on (names as in builder.DEFAULTS)."""
    path = board.path("/sim/options.json")
    board.write("/sim/options.json", json.dumps({**json.loads(path.read_text()), **options}))


#: By the name a scenario gives in `do`.
EVENTS: dict[str, Callable[..., None]] = {
    "set-mode": set_mode,
    "limit-gpu": limit_gpu,
    "move-gpu-clock": move_gpu_clock,
    "gpu-client": gpu_client,
    "gpu-client-gone": gpu_client_gone,
    "throttle": throttle,
    "temperature": temperature,
    "gpu-load": gpu_load,
    "kill-tegrastats": kill_tegrastats,
    "freeze-tegrastats": freeze_tegrastats,
    "remove": remove,
    "write": write_file,
    "option": option,
}
