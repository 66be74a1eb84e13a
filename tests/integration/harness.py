"""Real daemons for tests: a process, its folder, and a raw client over its real socket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import psutil
from google.rpc import error_details_pb2, status_pb2
from orinbench.v1 import artifact_pb2, artifact_pb2_grpc, board_pb2_grpc, record_pb2, run_pb2, run_pb2_grpc
from orinbench_profiles import canonical_json, digest_bytes
from orinbenchd.doors.roles import ORDER
from orinbenchd.doors.tokens import TokenFile

from tests.faults.validators import body, finished_of, samples_of, whole

__all__ = ["body", "finished_of", "samples_of"]


class Daemon:
    """A daemon process on a folder. Starting it again on the same folder is a restart."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.socket = folder / "d.sock"
        self.config = folder / "orinbenchd.toml"
        values = {"data_dir": "data", "socket": "d.sock", "telemetry_interval_s": 0.2, **settings}
        self.config.write_text(to_toml(values))
        self.ready: dict[str, Any] = {}
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it was started and not ended here."""
        return self._process is not None

    @property
    def log(self) -> str:
        """Everything it has logged, over all its lives."""
        return (self.folder / "log").read_text()

    @property
    def worker(self) -> psutil.Process:
        """The process that runs the model: the innermost one, for a sandbox has processes of its own."""
        (leaf,) = filter(_runs_model, psutil.Process(self.pid).children(recursive=True))
        return leaf

    def start(self, *around: str, **environment: str) -> None:
        """Start it and wait for its ready line. `around` is a command that gets its command as arguments."""
        assert self.launch(*around, **environment), f"the daemon did not start: {self.log}"

    def launch(self, *around: str, **environment: str) -> bool:
        """Start it and wait for its ready line; False if it ends without one."""
        with (self.folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                [*around, sys.executable, "-m", "orinbenchd", "--config", str(self.config)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | environment,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self.ready = json.loads(line) if line else {}
        return bool(line)

    def kill(self) -> None:
        """SIGKILL, and wait for its end."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM, and return its exit code."""
        return self._end(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def ended(self) -> int:
        """Wait for its end by itself, and return its exit code."""
        return self._reap()

    def close(self) -> None:
        """End it if it still runs."""
        if self._process is not None:
            self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        self.send(number)
        return self._reap()

    def _reap(self) -> int:
        assert self._process is not None
        code = self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None
        return code


def _runs_model(process: psutil.Process) -> bool:
    """Tell a worker from what is around it, and from the looks at runtimes that a daemon takes, which come and go."""
    try:
        return "orinbench_engines.worker" in process.cmdline() and not process.children()
    except psutil.NoSuchProcess:
        return False


def make_tokens(folder: Path) -> dict[str, str]:
    """Make a token for each role in the data folder of a daemon; return them by role, which is also the name."""
    tokens = TokenFile(folder / "data")
    return {role: tokens.create(role, role) for role in ORDER}


@contextmanager
def running(
    folder: Path, *around: str, environment: Mapping[str, str] | None = None, **settings: Any
) -> Iterator[Daemon]:
    """A started daemon, ended afterwards."""
    daemon = Daemon(folder, **settings)
    try:
        daemon.start(*around, **environment or {})
        yield daemon
    finally:
        daemon.close()


class _Call(NamedTuple):
    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: bool | None
    compression: Any


class _Bearer(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamUnaryClientInterceptor):
    """Puts a token on every call."""

    def __init__(self, token: str) -> None:
        self._metadata = ("authorization", f"Bearer {token}")

    def _bear(self, proceed: Any, details: Any, request: Any) -> Any:
        metadata = [*(details.metadata or ()), self._metadata]
        call = _Call(
            details.method, details.timeout, metadata, details.credentials, details.wait_for_ready, details.compression
        )
        return proceed(call, request)

    intercept_unary_unary: Any = _bear
    intercept_unary_stream: Any = _bear
    intercept_stream_unary: Any = _bear


class Wire:
    """The raw stubs over one channel."""

    def __init__(
        self, target: str, token: str | None = None, credentials: grpc.ChannelCredentials | None = None
    ) -> None:
        # A connection of its own, as a client in another process has it.
        own = [("grpc.use_local_subchannel_pool", 1)]
        channel = grpc.secure_channel(target, credentials, own) if credentials else grpc.insecure_channel(target, own)
        self._base = channel
        self.channel = grpc.intercept_channel(channel, _Bearer(token)) if token else channel
        self.runs = run_pb2_grpc.RunServiceStub(self.channel)
        self.board = board_pb2_grpc.BoardServiceStub(self.channel)
        self.artifacts = artifact_pb2_grpc.ArtifactServiceStub(self.channel)

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def put(self, data: bytes, digest: str | None = None) -> str:
        """Upload bytes; return their digest."""
        digest = digest or digest_bytes(data)
        header = artifact_pb2.PutArtifactHeader(digest=digest, size_bytes=len(data))

        def messages() -> Iterator[artifact_pb2.PutArtifactRequest]:
            yield artifact_pb2.PutArtifactRequest(header=header)
            for start in range(0, len(data), 1 << 20):
                yield artifact_pb2.PutArtifactRequest(chunk=data[start : start + (1 << 20)])

        self.artifacts.PutArtifact(messages())
        return digest

    def plan(self, samples: int, *, runtime: str = "default", engine: str = "null", **options: Any) -> run_pb2.RunPlan:
        """Push a null model and `samples` small inputs; return the plan. `options` go to the engine."""
        model = {
            "id": "null",
            "title": "Null",
            "license": "Apache-2.0",
            "engine": engine,
            "adapter": "none",
            "runtime": runtime,
            "dtype": "none",
            "warmup": 0,
            "options": options,
        }
        text = b"nothing"
        entry = {"digest": self.put(text), "bytes": len(text), "media_type": "text/plain"}
        lines = [canonical_json({"sample_id": f"s-{i:05}", "input": entry}) for i in range(samples)]
        return run_pb2.RunPlan(
            suite_id="null-suite",
            suite_digest=digest_bytes(b"suite"),
            inputs_digest=self.put(b"".join(lines)),
            model_id="null",
            model_digest=self.put(canonical_json(model)),
        )

    def create(self, plan: run_pb2.RunPlan, request_id: str | None = None) -> run_pb2.Run:
        """Submit a plan."""
        request = run_pb2.CreateRunRequest(request_id=request_id or uuid.uuid4().hex, plan=plan)
        return self.runs.CreateRun(request).run

    def get(self, name: str) -> run_pb2.Run:
        """Return a run as it is now."""
        return self.runs.GetRun(run_pb2.GetRunRequest(name=name)).run

    def watch(self, name: str, after_seq: int = 0) -> Iterator[record_pb2.Record]:
        """Yield the durable records of a run until the stream ends."""
        for page in self.runs.WatchRun(run_pb2.WatchRunRequest(name=name, after_seq=after_seq)):
            yield from (record for record in page.records if record.seq)

    def bookmarks(self, name: str) -> Iterator[record_pb2.ProgressRecord]:
        """Yield the bookmarks of a run's stream until it ends."""
        for page in self.runs.WatchRun(run_pb2.WatchRunRequest(name=name)):
            yield from (body(record).progress for record in page.records if not record.seq)

    def until_sample(self, name: str, index: int) -> list[record_pb2.Record]:
        """Follow a run until a sample's result is there; return what was seen."""
        stream = self.runs.WatchRun(run_pb2.WatchRunRequest(name=name))
        seen: list[record_pb2.Record] = []
        for page in stream:
            seen += [record for record in page.records if record.seq]
            if any(body(r).sample.index >= index for r in seen if r.kind == record_pb2.RECORD_KIND_SAMPLE):
                stream.cancel()
                return seen
        raise AssertionError(f"the stream ended before sample {index}: {[body(r) for r in seen[-2:]]}")


def connect(daemon: Daemon) -> Wire:
    """Connect to a daemon's Unix socket."""
    return Wire(f"unix:{daemon.socket}")


def check_history(records: list[record_pb2.Record], samples: int) -> record_pb2.FinishedRecord:
    """Hold the history of a run that got all its samples against every promise; return its verdict."""
    assert len(samples_of(records)) == samples
    return whole(records, finished_of(records).planned_samples)


def reason_of(error: grpc.RpcError) -> tuple[grpc.StatusCode, str, dict[str, str]]:
    """Return (code, reason, metadata) of an error, which must carry exactly one ErrorInfo."""
    call: Any = error
    trailing = dict(call.trailing_metadata())
    status = status_pb2.Status.FromString(trailing["grpc-status-details-bin"])
    (detail,) = status.details
    info = error_details_pb2.ErrorInfo()
    assert detail.Unpack(info)
    assert info.domain == "orinbench.v1"
    return call.code(), info.reason, dict(info.metadata)


def to_toml(values: dict[str, Any], prefix: str = "") -> str:
    """Write plain values, lists and tables as TOML."""
    plain, tables = [], []
    for key, value in values.items():
        if isinstance(value, dict):
            tables.append(f"[{prefix}{key}]\n" + to_toml(value, f"{prefix}{key}."))
        elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
            tables += [f"[[{prefix}{key}]]\n" + to_toml(item, f"{prefix}{key}.") for item in value]
        else:
            plain.append(f"{key} = {json.dumps(value)}\n")
    return "".join(plain + tables)
