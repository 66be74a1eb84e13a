"""ONNX Runtime, on the CPU or on one CUDA device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import onnxruntime
from orinbench.v1.record_pb2 import MemoryReading, ModelFacts
from pydantic import Field

from orinbench_engines.contract import SEED, Engine, GraphSession, Model, Options
from orinbench_engines.failures import WorkerFailure, board_failure, model_failure, policy_failure
from orinbench_engines.memory import RssMeter

Shapes = dict[str, tuple[int | None, ...]]

_CPU = "CPUExecutionProvider"
_CUDA = "CUDAExecutionProvider"
# Plain float32 and no search by stopwatch: both would make results depend on more than the model.
_CUDA_OPTIONS = {"device_id": "0", "use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC"}


class OnnxOptions(Options):
    """`graph` names the graph among the model's files; not needed where only one .onnx is there.

    `threads` compute one operator together. One is the default: sums are then always taken in the same order,
    and on a small machine a core is left for the daemon.
    """

    graph: str | None = None
    threads: Annotated[int, Field(ge=1, le=256)] = 1


class OnnxSession(GraphSession):
    """A graph loaded into ONNX Runtime."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self.inputs: Shapes = {item.name: _shape(item.shape) for item in session.get_inputs()}
        self.outputs: Shapes = {item.name: _shape(item.shape) for item in session.get_outputs()}
        self._names = list(self.outputs)

    def run(self, inputs: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        """Run the graph once. Returns when the outputs are in host memory."""
        return dict(zip(self._names, self._session.run(self._names, inputs), strict=True))


class OnnxEngine(Engine[OnnxOptions]):
    """Runs one .onnx file with the execution provider that the device asks for, or not at all."""

    options_schema = OnnxOptions
    packages = ("numpy", "onnxruntime", "onnxruntime-gpu")

    def __init__(self, options: OnnxOptions) -> None:
        super().__init__(options)
        self._meter = RssMeter()

    def load(self, model: Model) -> tuple[OnnxSession, ModelFacts]:
        """Load the graph. Raises WorkerFailure: provider missing, unreadable graph, batch other than 1."""
        name = model.only(".onnx", self.options.graph, "graph")
        path = model.files[name]
        provider = _provider(model.device)
        np.random.seed(SEED)
        onnxruntime.set_seed(SEED)
        self._meter.start()
        session = self._open(name, path, provider)
        _check_provider(session, provider)
        loaded = OnnxSession(session)
        _check_batch(name, loaded.inputs)
        size = path.stat().st_size
        return loaded, ModelFacts(devices=session.get_providers(), batch_size=1, checkpoint_bytes=size)

    def memory(self) -> MemoryReading:
        """Return the peak resident set. On CUDA too: the runtime does not tell what its own arena holds."""
        return self._meter.read()

    def settings(self) -> dict[str, str]:
        """Return threads, execution mode, optimisation level and what the memory peak counts from."""
        return {
            "threads": str(self.options.threads),
            "execution_mode": "sequential",
            "graph_optimization": "default",
            "memory_peak_since": self._meter.since,
        }

    def _open(self, name: str, path: Path, provider: str) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.options.threads
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        provider_options = [_CUDA_OPTIONS if provider == _CUDA else {}]
        try:
            # With its fallback a provider that fails would be swapped for the CPU, at load or in mid-run.
            return onnxruntime.InferenceSession(str(path), options, [provider], provider_options, enable_fallback=False)
        except Exception as error:
            problem = str(error).replace(str(path), name)
            raise model_failure("CHECKPOINT_UNREADABLE", f"ONNX Runtime cannot load {name}: {problem}") from error


def _shape(dimensions: list[int | str | None]) -> tuple[int | None, ...]:
    return tuple(dimension if isinstance(dimension, int) else None for dimension in dimensions)


def _provider(device: str) -> str:
    available = onnxruntime.get_available_providers()
    if device == "cuda" and _CUDA not in available:
        raise _provider_missing("available", available)
    return _CUDA if device != "cpu" and _CUDA in available else _CPU


def _check_provider(session: onnxruntime.InferenceSession, wanted: str) -> None:
    # Further providers can only stand behind it: the CPU takes what the device cannot.
    found = session.get_providers()
    if found[0] != wanted:
        raise _provider_missing("in force after the load", found)


def _provider_missing(when: str, found: list[str]) -> WorkerFailure:
    return board_failure(
        "PROVIDER_MISSING",
        f"the run needs {_CUDA}, but ONNX Runtime has only these {when}: {', '.join(found)}; "
        "install an ONNX Runtime for CUDA in this runtime, or use a hardware profile without CUDA",
    )


def _check_batch(name: str, inputs: Shapes) -> None:
    for field, shape in inputs.items():
        if shape and shape[0] not in (None, 1):
            problem = f"{name}: input {field!r} takes a batch of {shape[0]}: one sample at a time is the rule"
            raise policy_failure("BATCH_SIZE", problem)
