"""The checks. Each returns what it found in words; raises Failed with what is wrong, or Skipped with why."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from orinbench.v1 import record_pb2 as pb
from orinbenchd.board.identity import is_tegra
from orinbenchd.board.rootfs import Root

from gpu_check.bench import Bench, Ended
from tests.contract.worker.graphs import VOCABULARY, ctc_graph, sound
from tests.integration.harness import body

_TEXTS = ["ab a", "b", "ba" * 8]
_HEARD = ["aba", "b", "ba" * 8]
_PROFILE = {"audio": {"min": [1, 400], "opt": [1, 8_000], "max": [1, 32_000]}}


class Failed(Exception):
    """What was found is not what must be."""


class Skipped(Exception):
    """This cannot be checked here."""


class Checks:
    """All checks of one machine, on one daemon. A later one may look at an earlier one's run."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self._bench = bench
        self._folder = folder
        self._torch: Ended | None = None
        self._files: dict[str, bytes] = {}

    def __iter__(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yield name and check, in order."""
        yield "torch", self.torch
        yield "torch memory", self.torch_memory
        yield "torch determinism", self.torch_determinism
        yield "out of memory", self.out_of_memory
        yield "NVML", self.nvml
        yield "pool", self.pool
        yield "ONNX Runtime", self.onnxruntime
        yield "TensorRT", self.tensorrt

    def torch(self) -> str:
        """See that torch computes on the device."""
        return _alone("torch")

    def torch_memory(self) -> str:
        """See that a run's reserved peak is torch's own; the witness inside the worker compares at every sample."""
        ended = self._torch = self._run_torch()
        memory = _succeeded(ended, pb.MEMORY_METHOD_TORCH_RESERVED)
        return f"reserved {memory.peak_reserved_bytes} B, allocated {memory.peak_allocated_bytes} B, as torch says"

    def torch_determinism(self) -> str:
        """See that another process gives the same texts."""
        if self._torch is None or not self._torch.texts:
            raise Skipped("the first run gave no texts")
        again = self._run_torch()
        _must(again.texts == self._torch.texts, f"{self._torch.texts} and then {again.texts}")
        same = _succeeded(again, pb.MEMORY_METHOD_TORCH_RESERVED).peak_reserved_bytes
        return f"{len(again.texts)} texts are the same in two runs; reserved {same} B in the second"

    def out_of_memory(self) -> str:
        """See that a tensor of twice the device's memory ends a run as out of device memory, and final."""
        ended = self._bench.run("too-much", "none", {}, [b"x"])
        failure = ended.verdict.failure
        found = (failure.failure_class, failure.oom_scope)
        _must(found == (pb.FAILURE_CLASS_OOM, pb.OOM_SCOPE_DEVICE), f"the run ended as {ended.state}")
        _must(len(ended.run.segments) == 1, f"it was tried {len(ended.run.segments)} times")
        return failure.message.splitlines()[0]

    def nvml(self) -> str:
        """See that the first run's telemetry has the GPU's memory and power."""
        if is_tegra(Root(Path("/"))):
            raise Skipped("a Jetson has no NVML: its sources are sysfs and tegrastats")
        if self._torch is None:
            raise Skipped("there was no run to look at")
        records = [body(record) for record in self._torch.records if record.kind == pb.RECORD_KIND_TELEMETRY]
        readings = [record.telemetry.telemetry for record in records]
        full = [reading for reading in readings if reading.gpu_memory_total_bytes and reading.module_power_w]
        _must(bool(full), f"none of {len(readings)} readings has the GPU's memory and power")
        last = full[-1]
        return f"{len(full)} of {len(readings)} readings; {last.module_power_w:.1f} W, {last.gpu_load_pct:.0f} % load"

    def pool(self) -> str:
        """See that the pool's peaks are what was taken, and that too much is told and not raised."""
        if find_spec("pycuda") is None:
            raise Skipped("pycuda is not installed (extra tensorrt)")
        return _alone("pool")

    def onnxruntime(self) -> str:
        """See that the graph runs on the CUDA provider, hears right, and that its memory is the pool's."""
        if find_spec("onnxruntime") is None:
            raise Skipped("ONNX Runtime is not installed (extra onnx-gpu)")
        import onnxruntime

        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            raise Skipped(f"ONNX Runtime {onnxruntime.__version__} has no CUDA provider (extra onnx-gpu)")
        ended = self._run_graph("onnxruntime", {})
        if find_spec("pycuda") is None:
            _must(ended.verdict.state == pb.RUN_STATE_SUCCEEDED, f"the run ended as {ended.state}")
            raise Skipped("the run works; its memory is not measured, pycuda is not installed (extra tensorrt)")
        memory = _succeeded(ended, pb.MEMORY_METHOD_ONNXRUNTIME_POOL)
        nodes = ended.run.environment.settings["nodes_on_cpu"] or "not told"
        return f"{onnxruntime.__version__}: reserved {memory.peak_reserved_bytes} B; nodes on the CPU: {nodes}"

    def tensorrt(self) -> str:
        """See that a plan is built, found again, hears right, and measures the same from the cache."""
        for package in ("tensorrt", "pycuda"):
            if find_spec(package) is None:
                raise Skipped(f"{package} is not installed (extra tensorrt)")
        runs = [self._run_graph("tensorrt", {"profile": _PROFILE}) for _ in range(2)]
        plans = [ended.run.environment.settings["plan"] for ended in runs]
        _must(plans == ["built", "cached"], f"the plan was {plans[0]}, then {plans[1]}")
        peaks = [_succeeded(ended, pb.MEMORY_METHOD_TENSORRT_POOL).peak_reserved_bytes for ended in runs]
        _must(peaks[0] == peaks[1], f"reserved {peaks[0]} B with a new plan, {peaks[1]} B with the same from the cache")
        return f"built and found again; reserved {peaks[0]} B both times"

    def _run_torch(self) -> Ended:
        if not self._files:
            from gpu_check.models import ctc_checkpoint

            self._files = ctc_checkpoint(self._folder)
        return self._bench.run("witnessed-torch", "ctc", self._files, list(map(sound, _TEXTS)))

    def _run_graph(self, engine: str, options: dict[str, object]) -> Ended:
        files = {"graph.onnx": ctc_graph(), "vocabulary.json": VOCABULARY}
        ended = self._bench.run(engine, "ctc", files, list(map(sound, _TEXTS)), options)
        _must(ended.texts == _HEARD, f"heard {ended.texts}, the run ended as {ended.state}")
        return ended


def _succeeded(ended: Ended, method: pb.MemoryMethod) -> pb.MemoryReading:
    """Return the memory of a run that succeeded and measured by this method. Raises Failed."""
    _must(ended.verdict.state == pb.RUN_STATE_SUCCEEDED, f"the run ended as {ended.state}")
    memory = ended.run.memory
    _must(memory.method == method, f"memory was measured by {pb.MemoryMethod.Name(memory.method)}")
    _must(memory.peak_reserved_bytes > 0, "no reserved bytes were measured")
    reasons = [violation.reason for violation in ended.verdict.violations]
    _must("MEMORY_METHOD" not in reasons, "the profile does not count this method")
    return memory


def _alone(check: str) -> str:
    """Run a check in a process of its own: this one must not be on the GPU, it would be the runs' competitor."""
    ended = subprocess.run([sys.executable, "-m", "gpu_check.alone", check], capture_output=True, text=True)
    _must(ended.returncode == 0, ended.stderr.strip().splitlines()[-1] if ended.stderr else f"exit {ended.returncode}")
    return ended.stdout.strip()


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Failed(otherwise)
