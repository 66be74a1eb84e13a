"""A network between daemon and client that goes away and comes back."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from orinbench.v1 import run_pb2
from orinbench_client.bundles.native import read_native

from tests.integration.harness import check_history, connect, running

pytestmark = [pytest.mark.root, pytest.mark.tool("ip")]
# The way to a daemon on another host, as `ssh -L` is: from a socket at the client over TCP to the socket of the daemon.
_RELAY = """
import asyncio, sys

async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()

def listen(address, relay):
    if address.startswith("/"):
        return asyncio.start_unix_server(relay, address)
    return asyncio.start_server(relay, *address.split(":"))

def connect(address):
    if address.startswith("/"):
        return asyncio.open_unix_connection(address)
    return asyncio.open_connection(*address.split(":"))

async def relay(reader, writer):
    try:
        inner = await connect(sys.argv[2])
    except OSError:
        writer.close()
        return
    await asyncio.gather(pump(reader, inner[1]), pump(inner[0], writer))

async def main():
    server = await listen(sys.argv[1], relay)
    print("open", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def ip(*arguments: str) -> None:
    """Run one command of iproute2."""
    subprocess.run(["ip", *arguments], check=True)


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network namespace joined to ours by a cable: 10.198.x.1 here, 10.198.x.2 there."""
    name = f"orinbench{os.getpid() % 65536:x}"
    ip("netns", "add", name)
    try:
        ip("link", "add", f"{name}a", "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("addr", "add", "10.198.77.1/30", "dev", f"{name}a")
        ip("link", "set", f"{name}a", "up")
        ip("-n", name, "addr", "add", "10.198.77.2/30", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        yield name
    finally:
        ip("netns", "del", name)


def test_ten_seconds_without_a_network_lose_and_repeat_nothing(folder: Path, namespace: str) -> None:
    """The client's cable is out for ten seconds of a run; it comes back by itself and ends with the whole bundle."""
    far, plan = folder / "far.sock", folder / "plan"
    there = ["ip", "netns", "exec", namespace]
    with running(folder) as daemon, connect(daemon) as wire:
        plan.write_bytes(wire.plan(300, delay_ms=50).SerializeToString())
        with relaying("10.198.77.1:7000", str(daemon.socket)), relaying(str(far), "10.198.77.1:7000", there):
            arguments = [str(far), str(folder / "results"), "far", str(plan)]
            with started([sys.executable, "-m", "tests.faults.follower", *arguments]) as client:
                run = wire.create(run_pb2.RunPlan.FromString(plan.read_bytes()), "far")
                wire.until_sample(run.name, 20)
                ip("link", "set", f"{namespace}a", "down")
                time.sleep(10)
                ip("link", "set", f"{namespace}a", "up")
                assert client.wait(60) == 0
        records = list(wire.watch(run.name))

    finished = check_history(records, 300)
    _, bundle = read_native(folder / "results" / run.plan.suite_id / run.name.removeprefix("runs/"))
    assert bundle.digest.value == finished.record_digest


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that is killed afterwards if it still runs."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def relaying(listen: str, connect: str, before: Sequence[str] = ()) -> Iterator[None]:
    """A relay from one address to another."""
    with started([*before, sys.executable, "-c", _RELAY, listen, connect]) as relay:
        assert relay.stdout is not None
        assert relay.stdout.readline() == "open\n"
        yield
