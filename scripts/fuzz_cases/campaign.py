"""One campaign: the daemon, those who attack it, and the one who asks all the while whether it is well."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc
from orinbench.v1 import artifact_pb2, board_pb2, run_pb2
from orinbenchd.doors.roles import ROLES

from fuzz_cases.mutation import hostile
from fuzz_cases.raw import SlowPeople, attack, crowd
from tests.integration.harness import Daemon, connect, make_tokens, running

#: More than this and the daemon leaks.
MOST_GROWTH_MIB = 20.0
_AT_ONCE = 32
# Of the requests: connections below gRPC, and messages over the size a daemon takes.
_RAW, _OVERSIZE = 0.02, 0.0005
_DEADLINE_S = 10.0
# How long memory that a crowd took may stay.
_SETTLE_S = 90.0
_CROWD, _SLOW = 1000, 100
_MIB = 1 << 20
_MODULES = (run_pb2, board_pb2, artifact_pb2)


@dataclass
class Report:
    """What came of a campaign.

    `incidents` are answers that a defect made, each with an id and no word of its cause. `undecodable` are gRPC's own
    answers, before any code of ours, to method names that are not UTF-8: they name the offending byte. `rss_growth_mib`
    is what stays once the attack is over, `rss_peak_mib` the highest there was.
    """

    requests: int
    seed: int
    seconds: float = 0.0
    health_checks: int = 0
    health_failures: int = 0
    rss_growth_mib: float = 0.0
    rss_peak_mib: float = 0.0
    tracebacks: int = 0
    incidents: int = 0
    undecodable: int = 0
    first_failure: str = ""

    @property
    def held(self) -> bool:
        """Whether the daemon held."""
        return not (self.health_failures or self.tracebacks or self.incidents) and self.rss_growth_mib < MOST_GROWTH_MIB


class Campaign:
    """Sends `requests` hostile requests, drawn from `seed`, to a daemon of its own in `folder`."""

    def __init__(self, folder: Path, requests: int, seed: int) -> None:
        self._folder = folder
        self._rng = random.Random(seed)
        self._report = Report(requests, seed)
        self._channels: list[grpc.aio.Channel] = []
        self._metadata: list[list[tuple[str, str]]] = []
        self._examples: dict[str, Message] = {}

    async def run(self) -> Report:
        """Run it to its end."""
        tokens = make_tokens(self._folder)
        self._metadata = [
            [],
            [("authorization", "Bearer guess")],
            [("orinbench-api", "9" * 400)],
            [("orinbench-api", "~")],
        ]
        self._metadata += [[("authorization", f"Bearer {token}")] for token in tokens.values()]
        limits = {"queue_length": 4, "upload_silence_s": 1.0}
        with running(self._folder, tcp="127.0.0.1:0", limits=limits, telemetry_interval_s=1) as daemon:
            self._examples = await asyncio.to_thread(_examples, daemon)
            address = ("127.0.0.1", int(daemon.ready["tcp_port"]))
            doors = (f"unix:{daemon.socket}", f"127.0.0.1:{address[1]}")
            options = [("grpc.use_local_subchannel_pool", 1)]
            self._channels = [grpc.aio.insecure_channel(door, options=options) for door in doors]
            started = time.monotonic()
            well = asyncio.create_task(self._ask_health())
            await self._attack(daemon, address)
            well.cancel()
            await asyncio.gather(well, *(channel.close() for channel in self._channels), return_exceptions=True)
            self._report.seconds = round(time.monotonic() - started, 1)
            self._report.tracebacks += daemon.log.count('"exception"') - self._report.incidents
        return self._report

    async def _attack(self, daemon: Daemon, address: tuple[str, int]) -> None:
        total, before = self._report.requests, _rss_mib(daemon.pid)
        with SlowPeople(address, _SLOW):
            await self._send(total // 2, address)
            await asyncio.to_thread(crowd, address, _CROWD)
            await self._send(total - total // 2, address)
        self._report.rss_peak_mib = round(_peak_mib(daemon.pid), 1)
        self._report.rss_growth_mib = round(await _settled_mib(daemon.pid, before + MOST_GROWTH_MIB) - before, 1)

    async def _send(self, count: int, address: tuple[str, int]) -> None:
        left = iter(range(count))

        async def one_by_one() -> None:
            for _ in left:
                rng = random.Random(self._rng.random())
                if rng.random() < _RAW:
                    self._judge(None, (await asyncio.to_thread(attack, rng, address)).decode("latin-1"))
                else:
                    await self._call(rng)

        await asyncio.gather(*(one_by_one() for _ in range(_AT_ONCE)))

    async def _call(self, rng: random.Random) -> None:
        method = rng.choice(list(self._examples))
        data = [hostile(rng, self._examples[method]) for _ in range(rng.randint(1, 3))]
        if rng.random() < _OVERSIZE:
            data = [rng.randbytes(3 * _MIB)]
        # Bytes go out as they are, which the stubs do not know.
        channel: Any = rng.choice(self._channels)
        settings: dict[str, Any] = {"metadata": rng.choice(self._metadata), "timeout": _DEADLINE_S}
        try:
            if method.endswith("PutArtifact"):
                await channel.stream_unary(method)(_each(data), **settings)
            elif "/Watch" in method or method.endswith("PrepareModel"):
                call = channel.unary_stream(method)(data[0], **settings)
                await call.read()
                call.cancel()
            else:
                await channel.unary_unary(method)(data[0], **settings)
        except grpc.aio.AioRpcError as error:
            self._judge(error.code(), error.details() or "")

    def _judge(self, code: grpc.StatusCode | None, text: str) -> None:
        if "UnicodeDecodeError" in text:
            self._report.undecodable += 1
            return
        ours = code == grpc.StatusCode.INTERNAL and "under incident" in text
        self._report.incidents += ours
        shown = "Traceback" in text or "Exception" in text or "<class" in text or code == grpc.StatusCode.UNKNOWN
        self._report.tracebacks += shown

    async def _ask_health(self) -> None:
        stubs = [health_pb2_grpc.HealthStub(channel) for channel in self._channels]
        while True:
            for stub in stubs:
                self._report.health_checks += 1
                problem = await _unwell(stub)
                self._report.health_failures += bool(problem)
                self._report.first_failure = self._report.first_failure or problem
            await asyncio.sleep(0.1)


async def _unwell(stub: Any) -> str:
    """Ask once for health; return what was wrong."""
    try:
        answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=_DEADLINE_S)
    except grpc.aio.AioRpcError as error:
        return f"{error.code().name}: {error.details()}"
    return "" if answer.status == health_pb2.HealthCheckResponse.SERVING else str(answer)


async def _each(messages: list[bytes]) -> AsyncIterator[bytes]:
    for message in messages:
        yield message


def _examples(daemon: Daemon) -> dict[str, Message]:
    """Return a valid request of every method, of runs and artifacts that are there."""
    with connect(daemon) as wire:
        plan = wire.plan(1000, delay_ms=1000)
        run = wire.create(plan).name
    digest = plan.model_digest
    header = artifact_pb2.PutArtifactHeader(digest="sha256:" + "1" * 64, size_bytes=3)
    made: dict[str, Message] = {
        "CreateRun": run_pb2.CreateRunRequest(request_id="again", plan=plan),
        "HasArtifacts": artifact_pb2.HasArtifactsRequest(digests=[digest]),
        "PutArtifact": artifact_pb2.PutArtifactRequest(header=header),
        "DeleteArtifact": artifact_pb2.DeleteArtifactRequest(digest=digest),
        "WatchTelemetry": board_pb2.WatchTelemetryRequest(interval_s=1),
    }
    requests = {
        method.name: method.input_type._concrete_class
        for module in _MODULES
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    examples: dict[str, Message] = {}
    for path in ROLES:
        name = path.rpartition("/")[2]
        request: Any = made.get(name) or requests[name]()
        if "name" in request.DESCRIPTOR.fields_by_name:
            request.name = run
        examples[path] = request
    examples["/grpc.health.v1.Health/Check"] = health_pb2.HealthCheckRequest(service="x")
    examples["/grpc.health.v1.Health/Watch"] = health_pb2.HealthCheckRequest(service="x")
    examples["/orinbench.v1.RunService/NoSuchCall"] = health_pb2.HealthCheckRequest(service="x")
    return examples


async def _settled_mib(pid: int, wanted_mib: float) -> float:
    """Return the memory once it fell under `wanted_mib`: what a crowd took is given back within a minute."""
    until = time.monotonic() + _SETTLE_S
    while (now := _rss_mib(pid)) >= wanted_mib and time.monotonic() < until:  # noqa: ASYNC110  another process frees it
        await asyncio.sleep(0.5)
    return now


def _peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _rss_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / _MIB
