"""Who is at the other end of a Unix socket, and whether it may talk to us."""

from __future__ import annotations

import grp
import socket
import struct
from dataclasses import dataclass

#: `SO_PEERGROUPS` of Linux (4.13): Python has no name for it.
_SO_PEERGROUPS = 59


@dataclass(frozen=True)
class Peer:
    """A process as the kernel vouches for it at the moment it connected."""

    pid: int
    uid: int
    groups: frozenset[int]

    def __str__(self) -> str:
        return f"pid {self.pid}, uid {self.uid}"


def peer_of(connection: socket.socket) -> Peer:
    """Ask the kernel. Raises OSError."""
    pid, uid, gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return Peer(pid, uid, frozenset({gid, *_supplementary(connection)}))


def _supplementary(connection: socket.socket) -> tuple[int, ...]:
    # 1024 bytes is the most Python asks for: 256 groups. Who is in more gets an error, so no entry.
    data = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, 1024)
    return struct.unpack(f"{len(data) // 4}I", data)


def group_id(name: str) -> int:
    """Return the id of a group given by name or number. Raises KeyError if there is none of that name."""
    return int(name) if name.isdecimal() else grp.getgrnam(name).gr_gid


def may_talk(peer: Peer, group: int) -> bool:
    """Root may, and who is in the group."""
    return peer.uid == 0 or group in peer.groups
