"""ONNX Runtime, on the CPU or on one CUDA device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import onnxruntime
from orinbench.v1.record_pb2 import MEMORY_METHOD_ONNXRUNTIME_POOL, MemoryReading, ModelFacts
from pydantic import Field

from orinbench_engines.contract import SEED, Engine, GraphSession, Model, Options
from orinbench_engines.device import check_one_visible
from orinbench_engines.failures import WorkerFailure, board_failure, model_failure
from orinbench_engines.graphs import GraphFile, Shapes, check_batch, graph_file
from orinbench_engines.memory import Meter, PoolMeter, RssMeter

if TYPE_CHECKING:
    from orinbench_engines.engines.onnx_allocator import ExternalAllocator

Array = np.ndarray[Any, Any]
_CPU = "CPUExecutionProvider"
_CUDA = "CUDAExecutionProvider"
# Plain float32 and no search by stopwatch: both would make results depend on more than the model.
_CUDA_OPTIONS = {"device_id": "0", "use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC"}
# Asks the runtime to remember which provider it gave each node; releases that do not know it pass over it.
_RECORD_NODES = "session.record_ep_graph_assignment_info"
# Where the data files of a graph given as bytes lie. As links beside a file they would be refused: newer releases
# look where a link leads.
_DATA_FOLDER = "session.model_external_initializers_file_folder_path"
_DATA_FOLDER_SINCE = (1, 21)


class OnnxOptions(Options):
    """`graph` names the graph among the model's files; not needed where only one .onnx is there.

    `threads` compute one operator together. One is the default: sums are then always taken in the same order,
    and on a small machine a core is left for the daemon.
    """

    graph: str | None = None
    threads: Annotated[int, Field(ge=1, le=256)] = 1


class OnnxSession(GraphSession):
    """A graph loaded into ONNX Runtime; `allocator` is what gives it device memory, if that is ours."""

    def __init__(self, session: onnxruntime.InferenceSession, allocator: ExternalAllocator | None) -> None:
        self._session = session
        self._allocator = allocator
        self.inputs: Shapes = {item.name: _shape(item.shape) for item in session.get_inputs()}
        self.outputs: Shapes = {item.name: _shape(item.shape) for item in session.get_outputs()}
        self.types = {item.name: _type(item.name, item.type) for item in session.get_inputs()}
        self._names = list(self.outputs)
        self._device = "cuda" if session.get_providers()[0] == _CUDA else "cpu"

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        """Run the graph once. Returns when the outputs are in host memory."""
        with self._failing():
            return dict(zip(self._names, self._session.run(self._names, inputs), strict=True))

    def advance(
        self, inputs: dict[str, Array], state: Mapping[str, Any], kept: Collection[str]
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """Run the graph once; what is kept stays on the device, as values of the runtime."""
        with self._failing():
            binding = self._session.io_binding()
            for name, value in {**inputs, **state}.items():
                bind = binding.bind_cpu_input if isinstance(value, np.ndarray) else binding.bind_ortvalue_input
                bind(name, value)
            for name in self._names:
                binding.bind_output(name, self._device if name in kept else "cpu", 0)
            self._session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            values = dict(zip(self._names, binding.get_outputs(), strict=True))
        host = {name: value.numpy() for name, value in values.items() if name not in kept}
        return host, {name: values[name] for name in kept}

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            if self._allocator is not None:
                self._allocator.pool.raise_failure()
            raise


class OnnxEngine(Engine[OnnxOptions]):
    """Runs one .onnx file with the execution provider that the device asks for, or not at all."""

    options_schema = OnnxOptions
    packages = ("numpy", "onnxruntime", "onnxruntime-gpu", "pycuda")

    def __init__(self, options: OnnxOptions) -> None:
        super().__init__(options)
        self._meter: Meter = RssMeter()
        self._allocator: ExternalAllocator | None = None
        self._session: OnnxSession | None = None
        self._settings = {
            "threads": str(options.threads),
            "execution_mode": "sequential",
            "graph_optimization": "default",
        }

    def load(self, model: Model) -> tuple[OnnxSession, ModelFacts]:
        """Load the graph. Raises WorkerFailure: provider missing, batch other than 1, what `graph_file` refuses."""
        graph = graph_file(model, model.only(".onnx", self.options.graph, "graph"))
        provider = _provider(model.device)
        provider_options = self._provider_options(provider)
        np.random.seed(SEED)
        onnxruntime.set_seed(SEED)
        self._meter.start()
        session = self._open(graph, provider, provider_options)
        _check_in_force(session, provider, provider_options)
        self._session = OnnxSession(session, self._allocator)
        check_batch(graph.name, self._session.inputs)
        self._settings |= {"memory_peak_since": self._meter.since, **_nodes_elsewhere(session, provider)}
        facts = ModelFacts(
            devices=session.get_providers(), batch_size=1, checkpoint_bytes=graph.size, notes=graph.notes
        )
        return self._session, facts

    def memory(self) -> MemoryReading:
        """Return the peaks of the pool behind the runtime, or of the resident set where there is no such pool."""
        return self._meter.read()

    def settings(self) -> dict[str, str]:
        """Return threads, modes, providers' options, who allocates, and what runs elsewhere than asked."""
        return self._settings

    def close(self) -> None:
        """Let the session go, then what gave it memory."""
        self._session = None
        if self._allocator is not None:
            self._allocator.close()

    def _provider_options(self, provider: str) -> dict[str, str]:
        if provider != _CUDA:
            return {}
        check_one_visible()
        if hasattr(onnxruntime, "preload_dlls"):  # from 1.21 on
            # CUDA's libraries may have come with pip: the loader does not look there by itself.
            onnxruntime.preload_dlls()
        if find_spec("pycuda") is None:
            # The runtime does not tell what its own arena holds, and the resident set is another method: a
            # profile that counts device memory then leaves this run out of its memory board, and says so.
            self._settings["gpu_allocator"] = "onnxruntime's own arena, unmeasured: pycuda is not installed"
            return _CUDA_OPTIONS
        from orinbench_engines.engines.onnx_allocator import ExternalAllocator

        self._allocator = ExternalAllocator()
        self._meter = PoolMeter(MEMORY_METHOD_ONNXRUNTIME_POOL, self._allocator.pool)
        self._settings["gpu_allocator"] = "pycuda pool"
        return {**_CUDA_OPTIONS, **self._allocator.options}

    def _open(self, graph: GraphFile, provider: str, provider_options: dict[str, str]) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.options.threads
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.add_session_config_entry(_RECORD_NODES, "1")
        if graph.folder is not None:
            _check_takes_data_files(graph.name)
            options.add_session_config_entry(_DATA_FOLDER, str(graph.folder))
        try:
            # With its fallback a provider that fails would be swapped for the CPU, at load or in mid-run.
            source = str(graph.path) if graph.data is None else graph.data
            return onnxruntime.InferenceSession(source, options, [provider], [provider_options], enable_fallback=False)
        except Exception as error:
            if self._allocator is not None:
                self._allocator.pool.raise_failure()
            problem = str(error).replace(str(graph.folder or graph.path), graph.name)
            raise model_failure("CHECKPOINT_UNREADABLE", f"ONNX Runtime cannot load {graph.name}: {problem}") from error


def _shape(dimensions: list[int | str | None]) -> tuple[int | None, ...]:
    return tuple(dimension if isinstance(dimension, int) else None for dimension in dimensions)


def _type(name: str, kind: str) -> np.dtype[Any]:
    found = kind.removeprefix("tensor(").removesuffix(")")
    try:
        return np.dtype("float32" if found == "float" else found)
    except TypeError:
        raise model_failure("GRAPH_INTERFACE", f"input {name!r} is {kind}: it must be of a type of NumPy") from None


def _check_takes_data_files(name: str) -> None:
    found = onnxruntime.__version__
    if tuple(map(int, found.split(".")[:2])) < _DATA_FOLDER_SINCE:
        problem = f"{name} has data files, which need ONNX Runtime 1.21 or newer; this runtime has {found}"
        raise model_failure("RUNTIME_OUTDATED", f"{problem}: install a newer one, or save the graph as one file")


def _provider(device: str) -> str:
    available = onnxruntime.get_available_providers()
    if device == "cuda" and _CUDA not in available:
        raise _provider_missing("available", available)
    return _CUDA if device != "cpu" and _CUDA in available else _CPU


def _check_in_force(session: onnxruntime.InferenceSession, wanted: str, options: dict[str, str]) -> None:
    # Further providers can only stand behind it: the CPU takes what the device cannot.
    found = session.get_providers()
    if found[0] != wanted:
        raise _provider_missing("in force after the load", found)
    in_force = session.get_provider_options().get(wanted, {})
    wrong = [f"{name} is {in_force.get(name)!r}" for name, value in options.items() if in_force.get(name) != value]
    if wrong:
        raise board_failure(
            "PROVIDER_OPTION", f"{wanted} did not take what it was told: {', '.join(wrong)}; use another release of it"
        )


def _nodes_elsewhere(session: onnxruntime.InferenceSession, wanted: str) -> dict[str, str]:
    """Return how many nodes another provider has than the one asked for, and which.

    No reason to refuse: the runtime computes shapes on the CPU on purpose, and does not tell those from nodes
    that have no kernel on the device. Whoever reads the record can.
    """
    if wanted == _CPU or not hasattr(session, "get_provider_graph_assignment_info"):
        return {}
    try:
        subgraphs = session.get_provider_graph_assignment_info()
    except Exception as error:  # noqa: BLE001  it only informs: no run fails for it
        return {"nodes_on_cpu": f"not told: {error}"}
    elsewhere = Counter(node.op_type for part in subgraphs if part.ep_name != wanted for node in part.get_nodes())
    nodes = sum(len(part.get_nodes()) for part in subgraphs)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(elsewhere.items()))
    return {"nodes_on_cpu": f"{elsewhere.total()} of {nodes}" + (f": {kinds}" if kinds else "")}


def _provider_missing(when: str, found: list[str]) -> WorkerFailure:
    return board_failure(
        "PROVIDER_MISSING",
        f"the run needs {_CUDA}, but ONNX Runtime has only these {when}: {', '.join(found)}; "
        "install an ONNX Runtime for CUDA in this runtime, or use a hardware profile without CUDA",
    )
