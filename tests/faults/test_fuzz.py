"""Hostile requests and slow people against a real daemon. `scripts/fuzz` throws many more."""

from __future__ import annotations

import socket
from pathlib import Path

import grpc
import pytest
from fuzz_cases import MOST_GROWTH_MIB, run
from fuzz_cases.raw import OPENING, headers_frame
from orinbench.v1 import run_pb2, run_pb2_grpc

from tests.integration.harness import Daemon, connect, make_tokens, running

_MIB = 1 << 20
NO_UTF8 = OPENING + headers_frame("/\xb7")


@pytest.mark.timeout(300)
def test_two_thousand_hostile_requests_change_nothing(folder: Path) -> None:
    """Hostile messages, frames and crowds: health answers throughout, no cause leaves the daemon, memory stays."""
    report = run(folder, 2000, 20260101)

    assert report.health_checks > 10
    assert (report.health_failures, report.tracebacks, report.incidents) == (0, 0, 0)
    assert report.rss_growth_mib < MOST_GROWTH_MIB, report


def test_threads_share_two_arenas_of_memory(daemon: Daemon) -> None:
    """However many threads a daemon has, what they free lies in two places, the heap and one arena."""
    with connect(daemon) as wire:
        list(wire.watch(wire.create(wire.plan(20)).name))

    lines = Path(f"/proc/{daemon.pid}/maps").read_text().splitlines()
    # An arena of glibc begins at a multiple of 64 MiB, and nothing else without a name does.
    starts = {int(line.partition("-")[0], 16) for line in lines if len(line.split()) == 5}
    assert len(list(Path(f"/proc/{daemon.pid}/task").iterdir())) > 5
    assert len([start for start in starts if start % (64 * _MIB) == 0]) <= 1


def test_silent_watchers_cost_bounded_memory(daemon: Daemon) -> None:
    """Twenty watchers that never read: the daemon holds a page or two of each, not the 24 MB of the run."""
    with connect(daemon) as wire:
        run = wire.create(wire.plan(60, text="x" * 400_000))
        list(wire.watch(run.name))
        before = _rss(daemon)
        # A connection of its own for each.
        options = [("grpc.use_local_subchannel_pool", 1)]
        silent = [grpc.insecure_channel(f"unix:{daemon.socket}", options=options) for _ in range(20)]
        request = run_pb2.WatchRunRequest(name=run.name)
        streams = [run_pb2_grpc.RunServiceStub(channel).WatchRun(request) for channel in silent]
        for stream in streams:
            next(stream)
        # Whoever reads gets all of it meanwhile.
        for _ in range(3):
            assert sum(len(record.body) for record in wire.watch(run.name)) > 24_000_000
        grown = _rss(daemon) - before
        for channel in silent:
            channel.close()

    assert grown < 20 * 4 * _MIB


def _rss(daemon: Daemon) -> int:
    return int(Path(f"/proc/{daemon.pid}/statm").read_text().split()[1]) * 4096


def test_a_method_name_that_is_no_text_fells_nothing(folder: Path) -> None:
    """A stranger's call of a method that is not UTF-8 leaves the server standing, and its streams."""
    make_tokens(folder)
    with running(folder, tcp="127.0.0.1:0") as daemon, connect(daemon) as wire:
        run = wire.create(wire.plan(10_000, delay_ms=20))
        stream = wire.runs.WatchRun(run_pb2.WatchRunRequest(name=run.name))
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", int(daemon.ready["tcp_port"])), 5) as connection:
                connection.sendall(NO_UTF8)
                assert connection.recv(65536)
            next(stream)
            assert wire.get(run.name).name == run.name
        stream.cancel()
