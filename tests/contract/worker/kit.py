"""Plays the daemon: an artifact folder, a real worker process, the other end of its socket pair."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import soundfile
from orinbench.internal.v1.worker_pb2 import Ack, FromWorker, Prepare, Stop, ToWorker
from orinbench.v1.record_pb2 import Failure, RecordBody, SampleRecord
from orinbench_engines.artifacts import Artifacts
from orinbench_engines.contract import Output, Sample
from orinbench_engines.pipeline import Pipeline, load, read_declaration
from orinbench_engines.protocol import daemon_channel
from orinbench_profiles import ModelDeclaration, ModelFile, canonical_json, digest_bytes


class Store:
    """An artifact folder as the daemon keeps it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Store bytes, return their digest."""
        digest = digest_bytes(data)
        path = self.path(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return digest

    def path(self, digest: str) -> Path:
        """Where an artifact lies."""
        name = digest.removeprefix("sha256:")
        return self.folder / name[:2] / name

    def put_inputs(
        self, inputs: list[bytes], media_type: str = "text/plain", attached: list[bytes] | None = None, **bounds: float
    ) -> str:
        """Store inputs named s-0, s-1 … and their manifest, the same files attached to each; return its digest."""
        extra: dict[str, Any] = dict(bounds)
        if attached is not None:
            extra["attachments"] = [self._artifact(data, "audio/wav") for data in attached]
        lines = []
        for index, data in enumerate(inputs):
            lines.append(
                canonical_json({"sample_id": f"s-{index}", "input": self._artifact(data, media_type), **extra})
            )
        return self.put(b"".join(lines))

    def _artifact(self, data: bytes, media_type: str) -> dict[str, Any]:
        return {"digest": self.put(data), "bytes": len(data), "media_type": media_type}

    def put_model(
        self,
        engine: str,
        adapter: str = "none",
        files: Mapping[str, bytes] | None = None,
        options: Mapping[str, Any] | None = None,
        warmup: int = 1,
        dtype: str = "float32",
    ) -> str:
        """Store a model's files and declaration; return the digest of the declaration."""
        declaration = ModelDeclaration(
            id="trial",
            title="Trial",
            license="Apache-2.0",
            engine=engine,
            adapter=adapter,
            dtype=dtype,
            files=[
                ModelFile(path=path, digest=self.put(data), bytes=len(data)) for path, data in (files or {}).items()
            ],
            warmup=warmup,
            options=dict(options or {}),
        )
        return self.put(canonical_json(declaration.model_dump(mode="json", exclude_none=True)))

    def prepare(self, model: str, inputs: str, planned: int, **fields: Any) -> Prepare:
        """Return a Prepare for the first segment, with a window that never fills unless told otherwise."""
        known: dict[str, Any] = {"segment": 1, "window": 1_000_000, "device": "cpu", "isolation": "none"}
        return Prepare(
            artifacts_path=str(self.folder),
            scratch_path=tempfile.mkdtemp(prefix="scratch-", dir=self.folder.parent),
            model_digest=model,
            inputs_digest=inputs,
            planned_samples=planned,
            **{**known, **fields},
        )


def opened(store: Store, model: str) -> Pipeline:
    """Load a stored model in this very process."""
    artifacts = Artifacts(store.folder)
    scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=store.folder.parent))
    return load(read_declaration(artifacts, model), artifacts, "cpu", scratch, None)


def noise(seconds: float, seed: int = 1) -> tuple[np.ndarray[Any, Any], bytes]:
    """Return seconds of noise, as float32 and as the FLAC file that holds it."""
    levels = np.random.default_rng(seed).integers(-8000, 8000, int(seconds * 16_000), dtype=np.int16)
    file = io.BytesIO()
    soundfile.write(file, levels, 16_000, format="FLAC")
    return levels.astype(np.float32) / 32768, file.getvalue()


def heard(pipeline: Pipeline, data: bytes, **bounds: Any) -> Output:
    """Compute one recording."""
    output: Output = pipeline.adapter.infer(Sample(0, "s-0", data, "audio/flac", **bounds))
    return output


def environment(extra_path: Path | None = None, warnings: str = "error") -> dict[str, str]:
    """Return an environment in which a child process finds what this one finds, and what lies in extra_path."""
    paths = [str(extra_path)] if extra_path else []
    path = os.pathsep.join([*paths, *filter(None, sys.path)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": warnings}


class RunningWorker:
    """A worker process and the daemon's end of its socket; killed when left, whatever happened."""

    def __init__(self, extra_path: Path | None = None, warnings: str = "error") -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "orinbench_engines.worker", "--fd", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(extra_path, warnings),
            )
        self.socket = ours
        self.channel = daemon_channel(ours)

    def __enter__(self) -> RunningWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hang_up()
        self.process.kill()
        self.process.communicate()

    @property
    def process_folder(self) -> Path:
        """The process in /proc."""
        return Path("/proc") / str(self.process.pid)

    def hang_up(self) -> None:
        """Close the daemon's end, as its death would."""
        self.channel.close()

    def prepare(self, prepare: Prepare) -> None:
        """Say what to do."""
        self.channel.send(ToWorker(prepare=prepare))

    def acknowledge(self, index: int) -> None:
        """Say that everything up to index is durable."""
        self.channel.send(ToWorker(ack=Ack(index=index)))

    def stop(self) -> None:
        """Ask to stop."""
        self.channel.send(ToWorker(stop=Stop()))

    def messages(self) -> Iterator[FromWorker]:
        """Yield what the worker says until it says nothing more."""
        while (message := self.channel.receive()) is not None:
            yield message

    def until(self, kind: str) -> FromWorker:
        """Read on to the first message of this kind."""
        return next(message for message in self.messages() if message.WhichOneof("message") == kind)

    def end(self) -> tuple[int, str]:
        """Wait for the process to end by itself; return its exit code and standard error."""
        stdout, stderr = self.process.communicate()
        assert stdout == b"", "the worker's standard output is the daemon's"
        return self.process.returncode, stderr.decode()


def run(prepare: Prepare, extra_path: Path | None = None, warnings: str = "error") -> list[FromWorker]:
    """Run a worker to its end, acknowledging every result; return all it said."""
    said = []
    with RunningWorker(extra_path, warnings) as worker:
        worker.prepare(prepare)
        for message in worker.messages():
            said.append(message)
            if message.HasField("result"):
                worker.acknowledge(message.result.index)
        code, stderr = worker.end()
    assert code == (0 if said[-1].HasField("done") else 1), stderr
    return said


def fail(prepare: Prepare, extra_path: Path | None = None) -> Failure:
    """Run a worker that must fail; return the failure."""
    said = run(prepare, extra_path)
    assert said[-1].HasField("failure"), said[-1]
    return said[-1].failure


def samples(said: list[FromWorker]) -> list[SampleRecord]:
    """Return the sample records among the messages."""
    return [RecordBody.FromString(message.result.body).sample for message in said if message.HasField("result")]


def kinds(said: list[FromWorker]) -> list[str]:
    """Return the kinds of the messages but log lines."""
    return [kind for message in said if (kind := str(message.WhichOneof("message"))) != "log"]
