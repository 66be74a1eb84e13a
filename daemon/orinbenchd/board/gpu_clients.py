"""Who uses the GPU: by the nvmap client table, by open device nodes, by NVML."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from orinbench.v1.board_pb2 import GpuClient

from orinbenchd.board.rootfs import Absent, Fact, Root
from orinbenchd.processes import read_stat

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


class Family:
    """A process and all that descends from it. What was seen to belong stays known when it has ended.

    A list of clients is older than the look at who they are: a worker that ended in between is still ours. A client
    that is gone and never was seen to be ours counts as a stranger: who it was cannot be told any more.
    """

    def __init__(self, root: Root, pid: int) -> None:
        self._proc = str(root.path("/proc"))
        self._pid = pid
        #: When each began; a pid is used again. Bounded, as pids are.
        self._began: dict[int, int] = {}

    def look(self) -> None:
        """Note who belongs now. To be called before the clients are listed, too: who is on the list was there then."""
        began: dict[int, int] = {}
        children: dict[int, list[int]] = {}
        for pid in self._pids():
            stat = read_stat(self._proc, pid)
            if stat is not None:
                children.setdefault(stat.parent, []).append(pid)
                began[pid] = stat.began
        found = [self._pid]
        for pid in found:
            found += [child for child in children.get(pid, ()) if child not in found]
        self._began.update((pid, began[pid]) for pid in found[1:])

    def strangers(self, clients: Iterable[GpuClient]) -> list[GpuClient]:
        """Return the clients that do not belong."""
        left = [client for client in clients if not self._belongs(client.pid)]
        if left:
            self.look()
        return [client for client in left if not self._belongs(client.pid)]

    def _belongs(self, pid: int) -> bool:
        if pid == self._pid:
            return True
        stat = read_stat(self._proc, pid)
        return pid in self._began and (stat is None or stat.began == self._began[pid])

    def _pids(self) -> list[int]:
        try:
            return [int(name) for name in os.listdir(self._proc) if name.isdecimal()]  # noqa: PTH208 - each second
        except OSError:
            return []
