"""The kernel's own count of processes it killed for memory, as near to one worker as it can be read."""

from __future__ import annotations

import re
from pathlib import Path

_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


class OomCounter:
    """Tells whether the kernel killed for memory since this was made.

    Asked is the worker's control group, which counts its own processes whatever ran out of memory; where it cannot
    be read, the whole machine. Make it while the worker lives.
    """

    def __init__(self, pid: int, root: Path = Path("/")) -> None:
        self._files = [path for path in _files(pid, root) if _kills(path) is not None][:1]
        self._before = self._count()

    def rose(self) -> bool:
        """Return whether there was a kill since the start. False where nothing can be read."""
        return self._count() > self._before

    def _count(self) -> int:
        return sum(_kills(path) or 0 for path in self._files)


def _files(pid: int, root: Path) -> list[Path]:
    """Return what may hold the count, the nearest to the process first."""
    return [*_group_files(pid, root), root / "proc/vmstat"]


def _group_files(pid: int, root: Path) -> list[Path]:
    try:
        lines = (root / f"proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            found.append(root / "sys/fs/cgroup" / path.lstrip("/") / "memory.events")
        elif "memory" in controllers.split(","):
            found.append(root / "sys/fs/cgroup/memory" / path.lstrip("/") / "memory.oom_control")
    return found


def _kills(path: Path) -> int | None:
    try:
        found = _KILLS.search(path.read_text())
    except OSError:
        return None
    return int(found[1]) if found else None
