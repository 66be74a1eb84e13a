"""Who uses the GPU: by the nvmap client table, by open device nodes, by NVML."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from orinbench.v1.board_pb2 import GpuClient

from orinbenchd.board.rootfs import Absent, Fact, Root

NVMAP_CLIENTS = "/sys/kernel/debug/nvmap/iovmm/clients"

#: Nodes of GPU work. /dev/nvmap alone also means video decoding, which competes for memory bandwidth.
_NODES = ("/dev/nvgpu/igpu0/", "/dev/nvhost-gpu", "/dev/nvmap")

# The name is cut to 15 characters and may hold spaces: read from the right.
_ROW = re.compile(r"^(\S+)\s+(.*?)\s+(\d+)\s+(\d+)K$")
_KIB = 1024


def describe(client: GpuClient) -> str:
    """Name a client for people."""
    size = f", {client.memory_bytes / 2**20:.0f} MiB" if client.HasField("memory_bytes") else ""
    return f"{client.name} (pid {client.pid}{size}, seen by {client.source})"


def parse_nvmap(text: str) -> list[GpuClient]:
    """Read the nvmap client table; the header, the total and strange lines are passed over."""
    rows = (_ROW.match(line.strip()) for line in text.splitlines())
    return [
        GpuClient(pid=int(row[3]), name=row[2], source="nvmap", memory_bytes=int(row[4]) * _KIB) for row in rows if row
    ]


def scan_nodes(root: Root) -> list[GpuClient]:
    """Return the processes that hold a GPU node open, of those whose `/proc/PID/fd` may be read."""
    found = []
    for process in root.path("/proc").glob("[0-9]*"):
        if _holds_node(process):
            name = root.read(process / "comm")
            found.append(GpuClient(pid=int(process.name), name="?" if isinstance(name, Absent) else name, source="fd"))
    return found


def _holds_node(process: Path) -> bool:
    try:
        with os.scandir(process / "fd") as entries:
            for entry in entries:
                if os.readlink(entry.path).startswith(_NODES):  # noqa: PTH115 - thousands a second
                    return True
    except OSError:
        return False  # another user's, or it ended while we looked
    return False


def merge(*lists: Iterable[GpuClient]) -> list[GpuClient]:
    """Return one entry a process, the first one named; sorted by pid."""
    by_pid: dict[int, GpuClient] = {}
    for client in (client for clients in lists for client in clients):
        by_pid.setdefault(client.pid, client)
    return [by_pid[pid] for pid in sorted(by_pid)]


def tegra_clients(root: Root) -> Fact[list[GpuClient]]:
    """Return the GPU's clients as this process may see them without the helper.

    Absent unless the nvmap table can be read or this process is root: an ordinary user sees only its own.
    """
    table = root.text(NVMAP_CLIENTS)
    holders = scan_nodes(root)
    if not isinstance(table, Absent):
        return merge(parse_nvmap(table), holders)
    if os.geteuid() == 0:
        return merge(holders)
    return Absent(f"{table.reason}, and other users' processes are hidden: the power helper is needed")


def without_own(root: Root, clients: Iterable[GpuClient], own_pid: int) -> list[GpuClient]:
    """Drop `own_pid` and everything that descends from it."""
    return [client for client in clients if not _descends(root, client.pid, own_pid)]


def _descends(root: Root, pid: int, ancestor: int) -> bool:
    for _ in range(64):  # deeper than any real tree; a loop can only come from a table that changes under us
        if pid == ancestor:
            return True
        parent = _parent(root, pid)
        if parent is None or parent <= 1:
            return False
        pid = parent
    return False


def _parent(root: Root, pid: int) -> int | None:
    stat = root.text(f"/proc/{pid}/stat")
    if isinstance(stat, Absent):
        return None
    fields = stat.rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else None
