"""Client and daemon of different ages: they work together, or one line says which of them to update."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from orinbench.v1.board_pb2 import Board

from tests.contract.client.peer import Peer, serving
from tests.integration.cli.program import Orinbench
from tests.integration.harness import Daemon

# A daemon of the future: all of ours, but it has given up the clients of today.
FUTURE = (
    "import sys\nfrom orinbenchd.services import interceptor\n"
    "interceptor.API_REVISION = interceptor.OLDEST_CLIENT = 9\n"
    "from orinbenchd.cli import main\nmain(sys.argv[1:])"
)
RUN = ("run", "--suite", "fa-demo-v1", "--model", "fa-demo-tiny")


def with_peer(folder: Path, peer: Peer, code: int, *arguments: str) -> str:
    """Call the program against a peer and return what it said."""

    async def main() -> str:
        async with serving(peer, folder / "s"):
            program = Orinbench(folder, str(folder / "s"))
            if code == 0:
                return await asyncio.to_thread(program.good, *arguments)
            return await asyncio.to_thread(program.fails, code, *arguments)

    return asyncio.run(main())


def test_a_daemon_that_has_given_up_this_client(folder: Path, tmp_path: Path) -> None:
    """Whatever is asked, the line says that the client is to be updated, with both revisions, and nothing is queued."""
    daemon = Daemon(folder)
    command = [sys.executable, "-c", FUTURE, "--config", str(daemon.config)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        try:
            program = Orinbench(tmp_path, daemon)
            for arguments in (RUN, ("cancel", "a")):
                line = program.fails(4, *arguments)
                assert "this client speaks API revision 2; the daemon needs 9 or newer: update orinbench" in line
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()


def test_a_daemon_that_is_too_old(tmp_path: Path) -> None:
    """A run is refused before anything is sent, with both revisions and what to update."""
    line = with_peer(tmp_path, Peer(board=Board(daemon_version="0.0.9")), 4, *RUN)

    assert "the daemon (version 0.0.9) speaks API revision 0, this client needs 1: update orinbenchd" in line


def test_a_daemon_without_a_call(tmp_path: Path) -> None:
    """A call that the daemon does not have is named, not a stack of gRPC's."""
    line = with_peer(tmp_path, Peer(), 4, "cancel", "a")

    assert "does not have this call: update orinbenchd" in line


def test_a_daemon_of_the_future_that_still_knows_us(tmp_path: Path) -> None:
    """A higher revision, a state and a field nobody here knows yet: the client shows what it knows."""
    data = Board(name="boards/next", api_revision=7, daemon_version="9.0").SerializeToString()
    # Field 2 is the state, field 99 is not known here.
    board = Board.FromString(data + b"\x10\x63" + b"\x9a\x06\x01x")
    shown = with_peer(tmp_path, Peer(board=board), 0, "board")

    assert "number 99" in shown
    assert "9.0, API revision 7" in shown


def test_a_daemon_without_a_key_cannot_be_trusted(tmp_path: Path) -> None:
    """A daemon from before signatures is named as one that signs nothing."""
    line = with_peer(tmp_path, Peer(board=Board(name="boards/old", daemon_version="0.0.9")), 2, "trust", "add", "old")

    assert "boards/old has no key: its daemon (version 0.0.9) signs nothing: update it" in line
