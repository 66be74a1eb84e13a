"""The daemon at rest, against a bare gRPC server that does nothing."""

from __future__ import annotations

import asyncio
import sys
import threading
import time

import psutil
from orinbench.v1.board_pb2 import WatchTelemetryRequest

from bench_cases import Result
from bench_cases.rig import cpu_s, daemon, in_own_process, rss_mib
from tests.integration.harness import Wire

SETTLE_S, WATCH_S = 3.0, 20.0
BUDGET_MIB, BUDGET_CORE = 80.0, 0.01


def measure() -> Result:
    """Compare the resident set of the idle daemon with that of the bare server; its processor time stands beside."""
    with daemon(telemetry_interval_s=0.5) as (started, wire):
        stop = threading.Event()
        watcher = threading.Thread(target=_watch, args=(wire, stop))
        watcher.start()
        process = psutil.Process(started.pid)
        time.sleep(SETTLE_S)
        before = cpu_s(process)
        time.sleep(WATCH_S)
        core = (cpu_s(process) - before) / WATCH_S
        ours = rss_mib(process)
        stop.set()
        watcher.join()
    bare = _bare_mib()
    ok = ours <= BUDGET_MIB and core <= BUDGET_CORE
    budget = f"at most {BUDGET_MIB:.0f} MiB and {BUDGET_CORE:.0%} of a core"
    return Result("daemon", ours, bare, ours / bare, "MiB", budget, ok, {"core_share": round(core, 4)})


def _watch(wire: Wire, stop: threading.Event) -> None:
    stream = wire.board.WatchTelemetry(WatchTelemetryRequest())
    for _ in stream:
        if stop.is_set():
            stream.cancel()
            return


def _bare_mib() -> float:
    program = in_own_process("daemon")
    assert program.stdout is not None
    program.stdout.readline()
    try:
        return rss_mib(psutil.Process(program.pid))
    finally:
        program.communicate("\n")


async def _serve_nothing() -> None:
    import grpc
    import pydantic

    server = grpc.aio.server()
    server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(pydantic.VERSION, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    await server.stop(None)


if __name__ == "__main__":
    asyncio.run(_serve_nothing())
