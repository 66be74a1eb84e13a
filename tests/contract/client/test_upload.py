"""Uploads against a real server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import pytest
from orinbench_client.errors import BadInput, BoardRefused
from orinbench_client.sdk import Address, Client, Upload

from tests.contract.client.peer import Context, Peer, refuse, serving

DATA = bytes(range(256)) * 4096


def put(peer: Peer, path: Path, upload: Upload, offset: int = 0) -> list[int]:
    """Upload and return the positions that were reported."""
    peer.wanted = DATA
    positions: list[int] = []

    async def main() -> None:
        async with serving(peer, path) as target, Client(Address(target)) as client:
            await client.put(upload, offset, positions.append)

    asyncio.run(main())
    return positions


def test_file_arrives_whole(tmp_path: Path) -> None:
    """A file is sent in chunks and arrives byte for byte."""
    file = tmp_path / "model"
    file.write_bytes(DATA)
    peer = Peer()

    assert put(peer, tmp_path / "s", Upload("sha256:0", len(DATA), file))[-1] == len(DATA)
    assert bytes(peer.stored) == DATA


def test_begins_at_offset(tmp_path: Path) -> None:
    """What the board kept of an earlier upload is not sent again."""
    peer = Peer()
    peer.stored += DATA[:1000]

    positions = put(peer, tmp_path / "s", Upload.of_bytes(DATA), 1000)
    assert 1000 < positions[0] < positions[-1] == len(DATA)
    assert bytes(peer.stored) == DATA


def test_broken_upload_goes_on(tmp_path: Path) -> None:
    """After a lost link the upload goes on from where the board stands, and the position ends at the end."""
    peer = Peer()
    broken: list[int] = []

    async def once(stored: bytearray, context: Context) -> None:
        if not broken:
            broken.append(len(stored))
            await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    peer.put = once

    assert put(peer, tmp_path / "s", Upload.of_bytes(DATA))[-1] == len(DATA)
    assert bytes(peer.stored) == DATA
    assert [0, broken[0]] == peer.offsets


def test_refused_in_the_middle(tmp_path: Path) -> None:
    """A board that refuses while chunks are still on their way is heard with its own words."""
    peer = Peer()

    async def full(stored: bytearray, context: Context) -> None:
        await refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "disk low", "DISK_LOW", free_bytes="0")

    peer.put = full

    with pytest.raises(BoardRefused, match="disk low"):
        put(peer, tmp_path / "s", Upload("sha256:0", 64 * len(DATA), DATA * 64))


def test_unreadable_file(tmp_path: Path) -> None:
    """A file that vanished is the user's to mend: BadInput with its path."""
    with pytest.raises(BadInput, match="model: cannot be read"):
        put(Peer(), tmp_path / "s", Upload("sha256:0", 1, tmp_path / "model"))
