"""A full disk: the run waits and goes on when there is room, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from orinbench.v1 import artifact_pb2, record_pb2
from orinbench_profiles import digest_bytes
from orinbenchd.journal.writer import Writer

from tests.faults.validators import Stream, durable
from tests.integration.harness import Daemon, body, check_history, connect, reason_of, running

pytestmark = pytest.mark.root

# Long enough that the write-ahead log, which SQLite uses again and again, cannot take in the whole run.
TEXT = "x" * 20_000


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """A data directory on a disk of 300 MiB of its own."""
    data = folder / "data"
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", data], check=True)
    try:
        yield data
    finally:
        subprocess.run(["umount", data], check=True)


@contextmanager
def watched(folder: Path) -> Iterator[tuple[SimpleQueue[bytes], dict[str, str]]]:
    """What a daemon tells systemd as it comes, and the variables that tell the daemon to."""
    told: SimpleQueue[bytes] = SimpleQueue()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(folder / "notify"))

        def listen() -> None:
            while message := server.recv(4096):
                told.put(message)

        listener = threading.Thread(target=listen)
        listener.start()
        try:
            yield told, {"NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": "1500000"}
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
                end.sendto(b"", str(folder / "notify"))
            listener.join()


def fill(data: Path) -> Path:
    """Write a file until the disk is full."""
    filler = data / "filler"
    with filler.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                size //= 2
    return filler


def test_a_full_disk_pauses_the_run_until_there_is_room(small_disk: Path, folder: Path) -> None:
    """The run becomes PAUSED, goes on by itself when space is freed, and its history is whole, in one segment.

    Systemd is told all the time that the daemon lives. What the board read meanwhile is not kept in memory: it is
    left out, which the history says.
    """
    with watched(folder) as (pings, by), running(folder, environment=by) as daemon, connect(daemon) as wire:
        plan = wire.plan(1500, delay_ms=2, text=TEXT)
        run = wire.create(plan)
        wire.until_sample(run.name, 10)
        filler = fill(small_disk)
        while (state := wire.get(run.name).state) != record_pb2.RUN_STATE_PAUSED:
            assert state == record_pb2.RUN_STATE_RUNNING
        with pytest.raises(grpc.RpcError) as error:
            wire.create(plan)
        assert reason_of(error.value)[1] == "DISK_LOW"
        # What was on its way when the disk became full may be one; more come of a daemon that is well.
        assert [pings.get(timeout=30) for _ in range(pings.qsize() + 3)].count(b"WATCHDOG=1") >= 3
        filler.unlink()
        records = list(wire.watch(run.name))

    finished = check_history(records, 1500)
    assert finished.state == record_pb2.RUN_STATE_SUCCEEDED
    reached = [body(r).state.state for r in records if r.kind == record_pb2.RECORD_KIND_STATE]
    assert record_pb2.RUN_STATE_PAUSED in reached
    times = [body(r).telemetry.telemetry.monotonic_ns for r in records if r.kind == record_pb2.RECORD_KIND_TELEMETRY]
    assert max(after - before for before, after in pairwise(times)) > 1_000_000_000
    said = [body(r).log.message for r in records if r.kind == record_pb2.RECORD_KIND_LOG]
    assert re.search(r"\d+ readings of the board were left out: the disk was full", "\n".join(said))
    assert "RESUMED" not in [violation.reason for violation in finished.violations]


def test_an_upload_onto_a_full_disk_says_so_and_goes_on_later(small_disk: Path, folder: Path) -> None:
    """A disk that fills up in mid-upload is DISK_LOW, not an inner error; what came is kept, the rest follows."""
    data = os.urandom(8 << 20)
    digest = digest_bytes(data)
    header = artifact_pb2.PutArtifactHeader(digest=digest, size_bytes=len(data))
    fillers: list[Path] = []

    def messages() -> Iterator[artifact_pb2.PutArtifactRequest]:
        yield artifact_pb2.PutArtifactRequest(header=header)
        for start in range(0, len(data), 1 << 20):
            yield artifact_pb2.PutArtifactRequest(chunk=data[start : start + (1 << 20)])
            if not fillers and part.exists():
                fillers.append(fill(small_disk))

    part = small_disk / "uploads" / (digest.removeprefix("sha256:") + ".part")
    with running(folder) as daemon, connect(daemon) as wire:
        with pytest.raises(grpc.RpcError) as error:
            wire.artifacts.PutArtifact(messages())
        assert reason_of(error.value)[1] == "DISK_LOW"
        fillers[0].unlink()
        assert wire.put(data) == digest


def test_a_stop_on_a_full_disk_is_an_orderly_one(small_disk: Path, folder: Path) -> None:
    """Told to stop while it waits for room, the daemon ends with 0 and in time; the next one completes the run."""
    with running(folder, deadlines={"drain_s": 1.0, "stop_s": 1.0}) as daemon:
        with connect(daemon) as wire:
            run = wire.create(wire.plan(1500, delay_ms=2, text=TEXT))
            seen = wire.until_sample(run.name, 10)
            filler = fill(small_disk)
            while wire.get(run.name).state != record_pb2.RUN_STATE_PAUSED:
                time.sleep(0.01)
        assert daemon.stop() == 0
        assert "stopped on a full disk" in daemon.log
        filler.unlink()
        daemon.start()
        with connect(daemon) as wire:
            records = list(wire.watch(run.name))

    check_history(records, 1500)
    durable([Stream(0, seen)], records)


def test_a_full_disk_is_told_from_a_broken_one_wherever_it_is_met(small_disk: Path) -> None:
    """Also where SQLite calls it an I/O error: its shared memory, which grows with the log, finds no room."""

    async def fill_up(spare: int) -> tuple[list[bool], list[Exception]]:
        full: list[bool] = []
        fatal: list[Exception] = []
        waits = asyncio.Event()
        journal = small_disk / f"{spare}.sqlite"

        def note(kept: list[Any], what: object) -> None:
            kept.append(what)
            waits.set()

        writer = Writer(journal, partial(note, full), partial(note, fatal))
        await writer.submit(lambda connection: connection.execute("CREATE TABLE t (x BLOB)"))
        filler = fill(small_disk)
        os.truncate(filler, filler.stat().st_size - spare * 4096)
        done = writer.submit(lambda c: c.executemany("INSERT INTO t VALUES (?)", [(bytes(4000),)] * 5000).rowcount)
        await asyncio.wait_for(waits.wait(), 60)
        filler.unlink()
        assert fatal or await done == 5000
        await writer.close()
        return full, fatal

    # The second piece of the shared memory is due after some 4070 pages of the log.
    for spare in (4070, 4072, 4074):
        assert asyncio.run(fill_up(spare)) == ([True, False], []), f"{spare} pages are free"


def test_a_daemon_killed_on_a_full_disk_comes_back(small_disk: Path, folder: Path) -> None:
    """SIGKILL while paused loses no committed sample: with room again, the next daemon completes the run."""
    with running(folder) as daemon:
        with connect(daemon) as wire:
            run = wire.create(wire.plan(1500, delay_ms=2, text=TEXT))
            seen = wire.until_sample(run.name, 10)
            filler = fill(small_disk)
            while wire.get(run.name).state != record_pb2.RUN_STATE_PAUSED:
                pass
        daemon.kill()
        filler.unlink()
        daemon.start()
        with connect(daemon) as wire:
            records = list(wire.watch(run.name))

    check_history(records, 1500)
    assert records[: len(seen)] == seen


def test_a_start_on_a_full_disk_says_so_and_is_tried_again(small_disk: Path, folder: Path) -> None:
    """One line names the cause, and the exit code lets systemd try again; with room the daemon starts."""
    daemon = Daemon(folder)
    filler = fill(small_disk)

    assert not daemon.launch()
    assert daemon.ended() == 75
    (line,) = [line for line in daemon.log.splitlines() if line.startswith("orinbenchd: ")]
    assert line.startswith(f"orinbenchd: data_dir {small_disk}: the disk is full (")
    filler.unlink()
    daemon.start()
    assert daemon.stop() == 0
