"""What the kernel says of a process: /proc/PID/stat, see proc_pid_stat(5)."""

from __future__ import annotations

from typing import NamedTuple


class Stat(NamedTuple):
    """Of one process: the letter of its state, its parent's id, and when it began, in clock ticks since boot."""

    state: str
    parent: int
    began: int


def read_stat(proc: str, pid: int) -> Stat | None:
    """Return what the table of processes at `proc` says of one; None if it is not there."""
    try:
        # As bytes: a name may be cut inside a character. Unbuffered: it is done for every process of a board.
        with open(f"{proc}/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - hundreds a second
            fields = file.read().rpartition(b")")[2].split()
        return Stat(fields[0].decode(), int(fields[1]), int(fields[19]))
    except (OSError, IndexError, ValueError):
        return None
