"""Peers that freeze: clients, the worker, the daemon. Nobody else waits for them, and nothing is lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import psutil
from orinbench.v1 import record_pb2, run_pb2
from orinbench_client.sdk import Client, Patience, find_address

from tests.faults.chaos import size_of, wait_until_idle
from tests.faults.validators import bounded, finished_of, samples_of, whole
from tests.integration.harness import Wire, check_history, connect, running

SAMPLES = 300
LIVE, FROZEN = 90, 10
# Opens ten streams, each over a connection of its own, reads one message of each, says so, and reads on when told.
_WATCHER = """
import sys, grpc
from orinbench.v1 import run_pb2, run_pb2_grpc
target, name = sys.argv[1:]
streams = []
for number in range(10):
    channel = grpc.insecure_channel(target, options=[("grpc.use_local_subchannel_pool", 1)])
    streams.append(run_pb2_grpc.RunServiceStub(channel).WatchRun(run_pb2.WatchRunRequest(name=name)))
firsts = [next(stream) for stream in streams]
print("open", flush=True)
sys.stdin.readline()
for first, stream in zip(firsts, streams):
    seqs = [record.seq for page in (first, *stream) for record in page.records if record.seq]
    print(len(seqs) if seqs == list(range(1, len(seqs) + 1)) else "gap", flush=True)
"""


def test_a_hundred_watchers_of_whom_ten_are_frozen(folder: Path) -> None:
    """Ninety see the whole run while ten are frozen; thawed, the ten miss nothing."""
    with running(folder) as daemon, ExitStack() as clients:
        wires = [clients.enter_context(connect(daemon)) for _ in range(LIVE)]
        with connect(daemon) as wire:
            # Ten times what HTTP/2 lets a peer send into a window nobody empties.
            run = wire.create(wire.plan(SAMPLES, delay_ms=5, text="x" * 5000))
            command = [sys.executable, "-c", _WATCHER, f"unix:{daemon.socket}", run.name]
            frozen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            try:
                assert frozen.stdout is not None and frozen.stdin is not None
                assert frozen.stdout.readline() == "open\n"
                psutil.Process(frozen.pid).suspend()
                histories = follow_all(wires, run.name)
                psutil.Process(frozen.pid).resume()
                output, _ = frozen.communicate("go\n", timeout=60)
            finally:
                frozen.kill()
                frozen.wait()
            wait_until_idle(wire)
            assert len(histories) == LIVE
            for history in histories:
                check_history(history, SAMPLES)
            assert output.split() == [str(len(histories[0]))] * FROZEN


def follow_all(wires: list[Wire], name: str) -> list[list[record_pb2.Record]]:
    """Follow a run with every client at once."""
    histories: list[list[record_pb2.Record]] = []

    def follow(wire: Wire) -> None:
        histories.append(list(wire.watch(name)))

    threads = [threading.Thread(target=follow, args=[wire]) for wire in wires]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    return histories


def test_runs_and_clients_that_came_and_went_leave_nothing(folder: Path) -> None:
    """After twenty more runs, watched and cut off, the idle daemon has no more files, threads, processes or memory."""
    with running(folder) as daemon, connect(daemon) as wire:
        plan = wire.plan(30, text="x" * 1000)

        def some_runs(number: int) -> None:
            for _ in range(number):
                run = wire.create(plan)
                with connect(daemon) as leaving:
                    leaving.until_sample(run.name, 3)
                list(wire.watch(run.name))
            wait_until_idle(wire)

        some_runs(3)
        before = size_of(daemon)
        some_runs(12)
        bounded(before, size_of(daemon), rss_growth=16 << 20)


def test_a_frozen_daemon_is_taken_up_again(folder: Path) -> None:
    """A client that hears nothing asks again and again; when the daemon wakes up, it goes on without a gap."""
    with running(folder) as daemon:
        with connect(daemon) as wire:
            run = wire.create(wire.plan(60, delay_ms=40))
        process = psutil.Process(daemon.pid)

        async def follow() -> list[record_pb2.Record]:
            records: list[record_pb2.Record] = []
            lost: list[str] = []

            def on_lost(reason: str) -> None:
                lost.append(reason)
                process.resume()

            async with Client(find_address(str(daemon.socket))) as client:
                async for page in client.watch_pages(run.name, 0, Patience(silence_s=2.0), on_lost):
                    records += [record for record in page if record.seq]
                    if len(samples_of(records)) >= 10 and not lost:
                        process.suspend()
            assert lost and "silence" in lost[0]
            return records

        check_history(asyncio.run(follow()), 60)


def test_a_frozen_worker_is_hung_and_its_run_can_go_on(folder: Path) -> None:
    """It is killed at its deadline, the run fails as hung, and by request goes on where it stopped."""
    with running(folder, deadlines={"sample_floor_s": 1.0}) as daemon, connect(daemon) as wire:
        run = wire.create(wire.plan(60, delay_ms=40))
        wire.until_sample(run.name, 5)
        daemon.worker.suspend()
        failed = finished_of(list(wire.watch(run.name)))
        wire.runs.ResumeRun(run_pb2.ResumeRunRequest(name=run.name))
        finished = whole(list(wire.watch(run.name)), 60)

    assert failed.failure.failure_class == record_pb2.FAILURE_CLASS_HUNG
    assert finished.state == record_pb2.RUN_STATE_SUCCEEDED
