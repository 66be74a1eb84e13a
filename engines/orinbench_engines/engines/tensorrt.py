"""TensorRT on one CUDA device, at the checkpoint's own precision, from plans built on this board."""

from __future__ import annotations

from typing import Any

import numpy as np
import pycuda.driver as driver
import tensorrt as trt
from orinbench.v1.record_pb2 import MEMORY_METHOD_TENSORRT_POOL, MemoryReading, ModelFacts
from pydantic import Field

from orinbench_engines.contract import SEED, Engine, GraphSession, Model, Options
from orinbench_engines.cuda import CudaDevice, DevicePool
from orinbench_engines.engines.tensorrt_plan import GpuAllocator, Logger, Plan, Range, Recipe, plan_of, shape_of
from orinbench_engines.failures import board_failure, infrastructure_failure, model_failure
from orinbench_engines.graphs import Shapes, check_batch, graph_file
from orinbench_engines.memory import PoolMeter

Array = np.ndarray[Any, Any]


class TensorRtOptions(Options):
    """`graph` names the graph among the model's files; not needed where only one .onnx is there.

    `profile` gives, for each input with open sizes, the shapes the plan is built for: {min, opt, max}.
    """

    graph: str | None = None
    profile: dict[str, Range] = Field(default_factory=dict)


class TensorRtSession(GraphSession):
    """An engine with its context and stream. Device memory of inputs and outputs comes from the run's pool."""

    def __init__(self, engine: Any, pool: DevicePool, logger: Logger) -> None:
        names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
        modes = {name: engine.get_tensor_mode(name) for name in names}
        shapes = {name: shape_of(engine.get_tensor_shape(name)) for name in names}
        self.inputs: Shapes = {name: shapes[name] for name in names if modes[name] == trt.TensorIOMode.INPUT}
        self.outputs: Shapes = {name: shapes[name] for name in names if modes[name] == trt.TensorIOMode.OUTPUT}
        self.types = {name: np.dtype(trt.nptype(engine.get_tensor_dtype(name))) for name in names}
        self._pool = pool
        self._logger = logger
        self._stream = driver.Stream()
        self._context = engine.create_execution_context()
        if self._context is None:
            pool.raise_failure()
            raise model_failure("CHECKPOINT_UNREADABLE", f"TensorRT makes no context: {logger.errors()}")

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        """Run the engine once and return all outputs in host memory. Raises WorkerFailure (model)."""
        addresses: list[int] = []
        try:
            for name, value in inputs.items():
                self._put(name, value, addresses)
            outputs = {name: self._take(name, addresses) for name in self.outputs}
            if not self._context.execute_async_v3(self._stream.handle):
                raise self._failed("execution failed")
            for value, address in outputs.values():
                driver.memcpy_dtoh_async(value, address, self._stream)
            self._stream.synchronize()
            return {name: value for name, (value, _) in outputs.items()}
        finally:
            for address in addresses:
                self._pool.free(address)

    def close(self) -> None:
        """Let the context go: it gives memory back that must still have an owner."""
        self._context = self._stream = None

    def _put(self, name: str, value: Array, addresses: list[int]) -> None:
        wanted = self.types[name]
        if value.dtype != wanted:
            raise model_failure("GRAPH_INTERFACE", f"input {name!r} takes {wanted}, the adapter gives {value.dtype}")
        if not self._context.set_input_shape(name, value.shape):
            raise model_failure(
                "SHAPE_OUTSIDE_PROFILE",
                f"input {name!r} of shape {list(value.shape)} is outside the option 'profile' the plan was built for",
            )
        address = self._bind(name, value.nbytes, addresses)
        if value.nbytes:
            driver.memcpy_htod_async(address, np.ascontiguousarray(value), self._stream)

    def _take(self, name: str, addresses: list[int]) -> tuple[Array, int]:
        shape = tuple(map(int, self._context.get_tensor_shape(name)))
        if min(shape, default=0) < 0:
            problem = f"the size of output {name!r} depends on the data: it must follow from the inputs' shapes"
            raise model_failure("GRAPH_INTERFACE", problem)
        value = np.empty(shape, self.types[name])
        return value, self._bind(name, value.nbytes, addresses)

    def _bind(self, name: str, size: int, addresses: list[int]) -> int:
        address = self._pool.allocate(size)
        if not address:
            self._pool.raise_failure()
        addresses.append(address)
        if not self._context.set_tensor_address(name, address):
            raise self._failed(f"the address of {name!r} is refused")
        return address

    def _failed(self, what: str) -> Exception:
        self._pool.raise_failure()
        return RuntimeError(f"TensorRT: {what}: {self._logger.errors()}")


class TensorRtEngine(Engine[TensorRtOptions]):
    """Runs one .onnx file by a plan that is built for this board when it is not in the cache."""

    options_schema = TensorRtOptions
    packages = ("numpy", "tensorrt", "pycuda")

    def __init__(self, options: TensorRtOptions) -> None:
        super().__init__(options)
        self._logger = Logger()
        self._settings = {"precision": "strongly typed, TF32 off"}
        self._device: CudaDevice | None = None
        self._pool: DevicePool | None = None
        self._meter: PoolMeter | None = None
        self._session: TensorRtSession | None = None
        # TensorRT keeps no reference of its own to any of these.
        self._kept: list[Any] = []

    def load(self, model: Model) -> tuple[TensorRtSession, ModelFacts]:
        """Build or find the plan, load it. Raises WorkerFailure: no device, a batch, what `graph_file` refuses."""
        if model.device == "cpu":
            raise board_failure("DEVICE_UNAVAILABLE", "engine tensorrt needs CUDA; the hardware profile gives the CPU")
        if model.cache is None:
            raise infrastructure_failure("PREPARE_INVALID", "the daemon names no folder for plans (cache_path)")
        np.random.seed(SEED)
        graph = graph_file(model, model.only(".onnx", self.options.graph, "graph"))
        device = self._device = CudaDevice()
        recipe = Recipe(graph.name, graph.read(), graph.folder, self.options.profile, device.name)
        plan = plan_of(recipe, model.cache, device, self._logger)
        pool = self._pool = DevicePool(device)
        self._meter = PoolMeter(MEMORY_METHOD_TENSORRT_POOL, pool)
        self._meter.start()
        session = self._open(graph.name, plan, pool)
        self._settings |= {**plan.settings, "memory_peak_since": self._meter.since}
        devices = [f"cuda:0 {device.name}"]
        return session, ModelFacts(devices=devices, batch_size=1, checkpoint_bytes=graph.size, notes=graph.notes)

    def memory(self) -> MemoryReading:
        """Return the peaks of the pool that TensorRT takes all its memory from. After `load` only."""
        assert self._meter is not None  # noqa: S101
        return self._meter.read()

    def settings(self) -> dict[str, str]:
        """Return precision, the plan's digest and origin, and from when memory counts."""
        return self._settings

    def close(self) -> None:
        """Let the engine go, then its memory, then the device."""
        if self._session is not None:
            self._session.close()
        self._kept.clear()
        if self._pool is not None:
            self._pool.close()
        if self._device is not None:
            self._device.close()

    def _open(self, name: str, plan: Plan, pool: DevicePool) -> TensorRtSession:
        allocator = GpuAllocator(pool)
        runtime = trt.Runtime(self._logger)
        runtime.gpu_allocator = allocator
        engine = runtime.deserialize_cuda_engine(plan.data)
        if engine is None:
            pool.raise_failure()
            plan.path.unlink(missing_ok=True)
            problem = f"TensorRT cannot load the plan of {name}, which is now out of the cache"
            raise board_failure("PLAN_UNREADABLE", f"{problem}: {self._logger.errors()}; run it again")
        self._kept += [allocator, runtime, engine]
        session = self._session = TensorRtSession(engine, pool, self._logger)
        _check_profiles(name, session, engine)
        return session


def _check_profiles(name: str, session: TensorRtSession, engine: Any) -> None:
    for field in session.inputs:
        for profile in range(engine.num_optimization_profiles):
            for shape in engine.get_tensor_profile_shape(field, profile):
                check_batch(name, {field: tuple(shape)})
