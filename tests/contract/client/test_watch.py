"""A watch over links that break, against a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from orinbench.v1.record_pb2 import Record
from orinbench_client.errors import BoardRefused, BoardUnreachable, RunFailed
from orinbench_client.sdk import Address, Client, Patience

from tests.contract.client.peer import Context, Peer, Turn, bookmark, finished, log, page, refuse, serving

Pages = AsyncIterator[Any]


def send(*pages: tuple[Record, ...]) -> Turn:
    """A turn that sends pages and ends well."""

    async def turn(request: object, context: Context) -> Pages:
        for records in pages:
            yield page(*records)

    return turn


def send_then_break(*records: Record) -> Turn:
    """A turn whose link breaks after some records."""

    async def turn(request: object, context: Context) -> Pages:
        yield page(*records)
        await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    return turn


async def collect(client: Client, after_seq: int = 0, patience: Patience | None = None) -> list[int]:
    """Watch to the end and return every seq that came."""
    return [record.seq async for record in client.watch("runs/a", after_seq, patience)]


def watch(peer: Peer, path: Path, after_seq: int = 0, patience: Patience | None = None) -> list[int]:
    """Watch `peer` to the end."""

    async def main() -> list[int]:
        async with serving(peer, path) as target, Client(Address(target)) as client:
            return await collect(client, after_seq, patience)

    return asyncio.run(main())


def test_lost_links_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """A watch asks again from its last seq, and what a server sends twice is handed on once."""
    peer = Peer([send_then_break(log(1), log(2)), send_then_break(log(1), log(2), log(3)), send((finished(4),))])

    assert watch(peer, tmp_path / "s") == [1, 2, 3, 4]
    assert peer.watched == [0, 2, 3]


def test_begins_behind_cursor(tmp_path: Path) -> None:
    """A watch that has records already asks for what comes behind them."""
    peer = Peer([send((log(8), finished(9)))])

    assert watch(peer, tmp_path / "s", after_seq=7) == [8, 9]
    assert peer.watched == [7]


def test_bookmarks_are_handed_on(tmp_path: Path) -> None:
    """Bookmarks have no seq, arrive in their place and move no cursor."""
    peer = Peer([send((log(1),), (bookmark(1),), (finished(2),))])

    assert watch(peer, tmp_path / "s") == [1, 0, 2]


def test_gap_is_an_error(tmp_path: Path) -> None:
    """A stream that leaves a record out is never taken for whole."""
    peer = Peer([send((log(1), log(3)))])

    with pytest.raises(RunFailed, match="record 3 came after 1"):
        watch(peer, tmp_path / "s")


def test_end_without_verdict_is_a_lost_link(tmp_path: Path) -> None:
    """A stream that ends well before `finished` is taken up again."""
    peer = Peer([send((log(1),)), send((finished(2),))])

    assert watch(peer, tmp_path / "s") == [1, 2]


def test_silence_is_a_lost_link(tmp_path: Path) -> None:
    """A daemon that keeps the link but says nothing, not even a bookmark, is asked again."""

    async def silent(request: object, context: Context) -> Pages:
        yield page(log(1))
        await asyncio.Event().wait()

    peer = Peer([silent, send((finished(2),))])

    assert watch(peer, tmp_path / "s", patience=Patience(silence_s=0.1)) == [1, 2]


def test_counter_resets_after_data(tmp_path: Path) -> None:
    """Fourteen losses with data between them wait little each: 20 s in all if nothing were reset."""
    peer = Peer([*(send_then_break(log(seq)) for seq in range(1, 15)), send((finished(15),))])

    async def main() -> list[int]:
        async with serving(peer, tmp_path / "s") as target, Client(Address(target)) as client:
            return await asyncio.wait_for(collect(client), 10)

    assert list(range(1, 16)) == asyncio.run(main())


def test_gives_up(tmp_path: Path) -> None:
    """After the stated time without contact the watch ends, and says how to take the run up again."""

    async def main() -> None:
        async with Client(Address(f"unix:{tmp_path}/none")) as client:
            await collect(client, patience=Patience(give_up_s=0.2))

    with pytest.raises(BoardUnreachable, match=r"no contact .* orinbench watch a"):
        asyncio.run(main())


def test_refusal_ends_the_watch(tmp_path: Path) -> None:
    """What the daemon refuses for a reason is not tried again."""

    async def turn(request: object, context: Context) -> Pages:
        await refuse(context, grpc.StatusCode.NOT_FOUND, "no run runs/a", "RUN_NOT_FOUND", run="runs/a")
        yield page()

    peer = Peer([turn])

    with pytest.raises(BoardRefused, match="no run runs/a"):
        watch(peer, tmp_path / "s")

    assert peer.watched == [0]


def test_server_restart(tmp_path: Path) -> None:
    """A server that is stopped and started again on its socket is found again, and each loss is told."""
    told: list[str] = []

    async def hold(request: object, context: Context) -> Pages:
        yield page(log(1))
        await asyncio.Event().wait()

    async def main() -> list[int]:
        seen: list[int] = []
        async with Client(Address(f"unix:{tmp_path}/s")) as client:
            pages = client.watch_pages("runs/a", on_lost=told.append)
            async with serving(Peer([hold]), tmp_path / "s"):
                seen += [record.seq for record in await anext(pages)]
            async with serving(Peer([send((log(2), finished(3)))]), tmp_path / "s"):
                async for records in pages:
                    seen += [record.seq for record in records]
        return seen

    assert asyncio.run(main()) == [1, 2, 3]
    assert told
