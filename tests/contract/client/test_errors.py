"""The client's calls against a real server that refuses, fails, or is not there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import grpc
import pytest
from orinbench.v1.board_pb2 import Board
from orinbench_client.errors import BoardRefused, BoardUnreachable, OrinbenchError
from orinbench_client.sdk import API_REVISION, Address, BlockingClient, Client, require_api

from tests.contract.client.peer import Context, Peer, finished, log, page, refuse, serving

R = TypeVar("R")


def with_peer(peer: Peer, path: Path, work: Callable[[Client], Awaitable[R]]) -> R:
    """Do `work` with a client of `peer`."""

    async def main() -> R:
        async with serving(peer, path) as target, Client(Address(target)) as client:
            return await work(client)

    return asyncio.run(main())


def abort(code: grpc.StatusCode, text: str = "no") -> Callable[[Context], Awaitable[None]]:
    """Abort without an ErrorInfo, as gRPC itself does."""

    async def run(context: Context) -> None:
        await context.abort(code, text)

    return run


def test_refusal_keeps_reason_and_metadata(tmp_path: Path) -> None:
    """A refusal with an ErrorInfo becomes BoardRefused with the daemon's text, reason and moving parts."""
    peer = Peer()

    async def full(context: Context) -> None:
        await refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "queue full", "QUEUE_FULL", limit="3")

    peer.before = [full]

    with pytest.raises(BoardRefused, match="queue full") as caught:
        with_peer(peer, tmp_path / "s", Client.get_board)

    assert (
        caught.value.reason,
        caught.value.metadata,
        caught.value.exit_code,
    ) == ("QUEUE_FULL", {"limit": "3"}, 4)


@pytest.mark.parametrize(
    ("code", "kind", "calls"),
    [
        (grpc.StatusCode.UNAVAILABLE, BoardUnreachable, 4),
        (grpc.StatusCode.DEADLINE_EXCEEDED, BoardUnreachable, 1),
        (grpc.StatusCode.UNIMPLEMENTED, BoardRefused, 1),
        (grpc.StatusCode.UNKNOWN, BoardRefused, 1),
    ],
)
def test_foreign_error(tmp_path: Path, code: grpc.StatusCode, kind: type[OrinbenchError], calls: int) -> None:
    """An error without ErrorInfo is told apart by its code, and only UNAVAILABLE is tried again."""
    peer = Peer()
    peer.before = [abort(code)] * 9

    with pytest.raises(kind):
        with_peer(peer, tmp_path / "s", Client.get_board)

    assert calls == peer.calls


def test_retry_ends_in_answer(tmp_path: Path) -> None:
    """A repeatable call that finds nobody twice gives the answer of the third try."""
    peer = Peer()
    peer.before = [abort(grpc.StatusCode.UNAVAILABLE)] * 2

    assert with_peer(peer, tmp_path / "s", Client.get_board).name == "boards/peer"
    assert peer.calls == 3


def test_resume_is_not_repeated(tmp_path: Path) -> None:
    """ResumeRun changes the run's state, so a lost answer is reported, never tried again."""
    peer = Peer()
    peer.before = [abort(grpc.StatusCode.UNAVAILABLE)]

    with pytest.raises(BoardUnreachable):
        with_peer(peer, tmp_path / "s", lambda client: client.resume_run("runs/a"))

    assert peer.calls == 1


def test_nobody_there(tmp_path: Path) -> None:
    """A socket that is not there is BoardUnreachable, names the address and says what to look at."""

    async def main() -> None:
        async with Client(Address(f"unix:{tmp_path}/none")) as client:
            await client.get_board()

    with pytest.raises(BoardUnreachable, match=rf"unix:{tmp_path}/none.*is orinbenchd running") as caught:
        asyncio.run(main())

    assert caught.value.exit_code == 5


def test_metadata_on_tcp() -> None:
    """Each call says the client's API revision and, on a TCP door, bears the token."""
    peer = Peer()

    async def main() -> None:
        async with serving(peer, "127.0.0.1:0") as target, Client(Address(target, "secret")) as client:
            await client.get_board()

    asyncio.run(main())

    assert (str(API_REVISION), "Bearer secret") == (
        peer.metadata["orinbench-api"],
        peer.metadata["authorization"],
    )


def test_paging(tmp_path: Path) -> None:
    """A list goes on to the last page."""

    async def names(client: Client) -> list[str]:
        return [run.name async for run in client.list_runs()]

    assert with_peer(Peer(), tmp_path / "s", names) == ["runs/b", "runs/a"]


def test_older_daemon_is_named() -> None:
    """A daemon without the needed revision is refused with both revisions in the text."""
    with pytest.raises(BoardRefused, match=r"speaks API revision 0, this client needs 1: update orinbenchd"):
        require_api(Board(daemon_version="0.0.1", api_revision=0))


def test_blocking_face(tmp_path: Path) -> None:
    """The blocking client answers, iterates, ends a stream that is left early, and leaves no thread."""

    async def forever(request: object, context: Context):  # type: ignore[no-untyped-def]  # noqa: ANN202
        yield page(log(1), log(2), finished(3))

    async def main() -> tuple[str, list[int], list[int]]:
        async with serving(Peer([forever, forever]), tmp_path / "s") as target:
            return await asyncio.to_thread(use, target)

    def use(target: str) -> tuple[str, list[int], list[int]]:
        with BlockingClient(Address(target)) as client:
            whole = [record.seq for record in client.watch("runs/a")]
            left = []
            for record in client.watch("runs/a"):
                left.append(record.seq)
                break
            return client.get_board().name, whole, left

    assert asyncio.run(main()) == ("boards/peer", [1, 2, 3], [1])
