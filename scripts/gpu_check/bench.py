"""A daemon on the profile cuda-dev, with a runtime in which the engines of these checks are installed."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orinbench.v1 import record_pb2, run_pb2
from orinbench_profiles import canonical_json, digest_bytes

from tests.integration.harness import Wire, connect, finished_of, running, samples_of

PROFILE = "cuda-dev"
_ENGINES = """[orinbench.engines]
witnessed-torch = gpu_check_engines:WitnessedTorch
too-much = gpu_check_engines:TooMuch
"""


class Ended:
    """A run that has ended: what the records and the run say."""

    def __init__(self, records: list[record_pb2.Record], run: run_pb2.Run) -> None:
        self.records = records
        self.run = run
        self.verdict = finished_of(records)
        self.texts = [sample.text for sample in samples_of(records)]

    @property
    def state(self) -> str:
        """The state's name, with the failure if it failed."""
        failure = self.verdict.failure
        state = record_pb2.RunState.Name(self.verdict.state).removeprefix("RUN_STATE_")
        return f"{state}: {failure.reason}: {failure.message}" if failure.reason else state


class Bench:
    """Runs models on the daemon."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def run(
        self,
        engine: str,
        adapter: str,
        files: Mapping[str, bytes],
        inputs: list[bytes],
        options: Mapping[str, Any] | None = None,
    ) -> Ended:
        """Submit a run over the inputs, follow it to its end."""
        media_type = "audio/flac" if adapter == "ctc" else "text/plain"
        model = {
            "id": engine,
            "title": engine,
            "license": "Apache-2.0",
            "engine": engine,
            "adapter": adapter,
            "dtype": "float32",
            "options": dict(options or {}),
            "files": [self._file(name, data) for name, data in files.items()],
        }
        lines = []
        for index, data in enumerate(inputs):
            entry = {"digest": self._wire.put(data), "bytes": len(data), "media_type": media_type}
            lines.append(canonical_json({"sample_id": f"s-{index}", "input": entry}))
        plan = run_pb2.RunPlan(
            suite_id="gpu-check",
            suite_digest=digest_bytes(b"gpu-check"),
            inputs_digest=self._wire.put(b"".join(lines)),
            model_id=engine,
            model_digest=self._wire.put(canonical_json(model)),
        )
        name = self._wire.create(plan).name
        return Ended(list(self._wire.watch(name)), self._wire.get(name))

    def _file(self, name: str, data: bytes) -> dict[str, Any]:
        return {"path": name, "digest": self._wire.put(data), "bytes": len(data)}


@contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    """A running daemon in a folder; the engines of these checks are found as any third party's are."""
    site = folder / "site"
    information = site / "gpu_check_engines-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: gpu-check-engines\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(_ENGINES)
    shutil.copy(Path(__file__).with_name("engines.py"), site / "gpu_check_engines.py")
    path = shlex.quote(os.pathsep.join([str(site), *filter(None, sys.path)]))
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexport PYTHONPATH={path}\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    runtimes = {"default": {"python": str(python)}}
    with running(folder, profile=PROFILE, runtimes=runtimes) as daemon, connect(daemon) as wire:
        yield Bench(wire)
